"""Addresses for calls are asked whether they answer, never called."""

from dataclasses import replace
from datetime import timedelta

import pytest

from registry.core.model.documents import Outcome, Purpose
from registry.core.model.services import Capability, Invocation
from registry.core.visiting.call_checks import (
    AGAIN_AFTER,
    MAX_ADDRESSES,
    MAX_REQUESTS,
    CallAddress,
    CallCheck,
    call_address,
    choose_addresses,
)
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.visits import HostJob, Visit
from tests.core.plan.sites import AWP, HOME, HOST, known
from tests.support.web import NONCE, NOW, Broken, Page, Site, Web, page, visit

API = "https://api.shop.example"
ALLOWS = page("User-agent: *\nAllow: /\n", "text/plain")


def capability(endpoint: str | None, method: str | None = "POST", **more: object) -> Capability:
    return Capability("buy", "buy", invocations=(Invocation("http", endpoint, method, **more),))  # type: ignore[arg-type]  # tests


def checked(pages: Site, *urls: str, is_read: bool = False, sites: dict[str, Site] | None = None) -> tuple[Web, Visit]:
    """Return the web and a revisit of the shop that has these addresses to check."""
    own = {"/agent.json": page(AWP, etag='"1"'), "/robots.txt": ALLOWS}
    web = Web({HOST: {**own, **pages} if isinstance(pages, dict) else pages, **(sites or {})})
    calls = tuple(CallAddress(url, is_read) for url in urls)
    job = HostJob(HOST, whole_plan=False, known=(known("/agent.json", AWP),), calls=calls)
    return web, visit(web, job=job)


def results(done: Visit) -> list[tuple[str, bool | None, int | None, str]]:
    return [(check.method, check.answers, check.status, check.reason) for check in done.calls]


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [
        (f"{HOME}/api/buy", f"{HOME}/api/buy"),
        (f"{HOME}:443/api/buy?key=1&drop=all#now", f"{HOME}/api/buy"),
        (f"{API}/v1", f"{API}/v1"),
        (HOME, f"{HOME}/"),
        (f"{HOME}/api/{{id}}", None),
        (f"{HOME}/api/%7Bid%7D", None),
        ("https://{region}.shop.example/api", None),
        ("https://other.example/api", None),
        ("https://shop.example.evil.com/api", None),
        ("https://evilshop.example/api", None),
        ("https://10.0.0.1/api", None),
        ("https://[::1]/api", None),
        ("https://0x7f000001/api", None),
        ("https://user:secret@shop.example/api", None),
        (f"{HOME}:8443/api", None),
        ("http://shop.example/api", None),
        ("wss://shop.example/api", None),
        ("https://localhost/api", None),
        ("", None),
        (None, None),
    ],
)
def test_only_addresses_of_the_site_without_parameters_are_checked(endpoint: str | None, address: str | None) -> None:
    found = call_address(HOST, capability(endpoint))
    assert found == (None if address is None else CallAddress(address, is_read=False))


def test_of_many_addresses_a_few_take_turns() -> None:
    capabilities = [capability(f"{HOME}/api/{number}") for number in range(10_000)]
    first = choose_addresses(HOST, capabilities, {}, NOW)
    assert [address.url for address in first] == [f"{HOME}/api/{number}" for number in range(MAX_ADDRESSES)]
    last = {address.url: NOW for address in first}
    second = choose_addresses(HOST, capabilities, last, NOW + AGAIN_AFTER)
    assert not {address.url for address in second} & last.keys(), "addresses that were never checked come first"
    few = capabilities[: MAX_ADDRESSES + 2]
    later = {f"{HOME}/api/{number}": NOW - number * AGAIN_AFTER for number in range(2, MAX_ADDRESSES + 2)}
    assert [address.url[-1] for address in choose_addresses(HOST, few, later, NOW)] == ["0", "1", "6", "5", "4"]


def test_an_address_is_checked_once_a_day() -> None:
    one = [capability(f"{HOME}/api"), capability(f"{HOME}/api", "GET")]
    assert choose_addresses(HOST, one, {f"{HOME}/api": NOW}, NOW + AGAIN_AFTER - timedelta(seconds=1)) == ()
    due = choose_addresses(HOST, one, {f"{HOME}/api": NOW}, NOW + AGAIN_AFTER)
    assert due == (CallAddress(f"{HOME}/api", is_read=True),)


@pytest.mark.parametrize(
    ("status", "answers", "reason"),
    [
        (200, True, ""), (204, True, ""), (301, True, ""), (400, True, ""), (401, True, ""), (403, True, ""),
        (405, True, ""), (415, True, ""), (429, True, ""),
        (410, False, "status_410"), (500, False, "status_500"), (503, False, "status_503"),
        (501, None, "method_not_known"), (404, None, "options_not_routed"),
    ],
)  # fmt: skip
def test_the_status_says_whether_an_address_answers(status: int, answers: bool | None, reason: str) -> None:
    web, done = checked({"/api": Page(status, headers={"location": "https://elsewhere.example/"})}, f"{HOME}/api")
    assert results(done) == [("OPTIONS", answers, status, reason)]
    assert web.asked[-1] == f"{HOME}/api", "a redirect is an answer, and is not followed"


def test_404_counts_where_the_host_routes_options() -> None:
    _, done = checked({"/live": Page(405)}, f"{HOME}/gone", f"{HOME}/live", f"{API}/gone", sites={API[8:]: {}})
    assert results(done) == [
        ("OPTIONS", False, 404, "status_404"),
        ("OPTIONS", True, 405, ""),
        ("OPTIONS", None, 404, "options_not_routed"),
    ]


def test_what_is_called_with_get_is_asked_for_its_head() -> None:
    methods: list[str | None] = []

    class Routing(Web):
        def fetch(self, plan, probe):  # type: ignore[no-untyped-def]  # as in Web
            if probe.purpose is Purpose.CALL:
                methods.append(probe.method)
                self.sites[HOST]["/api"] = Page(404 if probe.method == "OPTIONS" else 400)  # type: ignore[index]  # tests
            return super().fetch(plan, probe)

    web = Routing({HOST: {"/agent.json": page(AWP, etag='"1"'), "/robots.txt": ALLOWS}})
    calls = (CallAddress(f"{HOME}/api", is_read=True),)
    done = visit(web, job=HostJob(HOST, whole_plan=False, known=(known("/agent.json", AWP),), calls=calls))
    assert methods == ["OPTIONS", "HEAD"] and results(done) == [("HEAD", True, 400, "")]
    web.sites[HOST] = {"/agent.json": page(AWP, etag='"1"'), "/robots.txt": ALLOWS}
    needing = (CallAddress(f"{HOME}/api", is_read=True, needs_values=True),)
    done = visit(Web(web.sites), job=HostJob(HOST, whole_plan=False, known=(known("/agent.json", AWP),), calls=needing))
    assert results(done) == [("HEAD", None, 404, "needs_values")]
    _, done = checked({}, f"{HOME}/api", is_read=True)
    assert results(done) == [("HEAD", False, 404, "status_404")], "HEAD has the status of GET"


def test_robots_txt_is_obeyed_on_every_host() -> None:
    own, other = (page("User-agent: WaypostBot\nDisallow: /api\n", "text/plain") for _ in range(2))
    web, done = checked({"/robots.txt": own}, f"{HOME}/api", f"{API}/api", sites={API[8:]: {"/robots.txt": other}})
    assert results(done) == [("OPTIONS", None, None, "robots")] * 2
    assert not [url for url in web.asked if url.endswith("/api")]


@pytest.mark.parametrize(
    ("fault", "answers"),
    [
        (Broken(Outcome.UNREACHABLE, "nxdomain"), False),
        (Broken(Outcome.TLS_ERROR, "certificate_expired"), False),
        (Broken(Outcome.REFUSED_ADDRESS, "private_address"), None),
    ],
)
def test_a_host_without_an_answer_costs_one_request(fault: Broken, answers: bool | None) -> None:
    urls = [f"{API}/{number}" for number in range(3)]
    web, done = checked({"/live": Page(405)}, *urls, f"{HOME}/live", sites={API[8:]: lambda _: fault})
    assert [url for url in web.asked if url.startswith(API)] == [f"{API}/robots.txt"]
    assert {check.answers for check in done.calls if check.url.startswith(API)} == {answers}
    assert done.calls[-1] == CallCheck(f"{HOME}/live", "OPTIONS", True, 405, "", NOW)
    assert done.outcome is Outcome.FOUND


def test_what_calls_have_side_effects_or_need_values_is_known() -> None:
    get = capability(f"{HOME}/api", "GET")
    assert call_address(HOST, get) == CallAddress(f"{HOME}/api", is_read=True)
    assert call_address(HOST, replace(get, side_effects=True)) == CallAddress(f"{HOME}/api", is_read=False)
    needing = replace(get, params={"type": "object", "required": ["id"]})
    assert call_address(HOST, needing) == CallAddress(f"{HOME}/api", is_read=True, needs_values=True)
    for capabilities in ([needing, get], [get, needing], [capability(f"{HOME}/api"), needing, get]):
        assert choose_addresses(HOST, capabilities, {}, NOW) == (CallAddress(f"{HOME}/api", is_read=True),)


def test_a_host_that_asks_for_patience_is_left_alone() -> None:
    web, done = checked({"/a": Page(429), "/b": Page(405)}, f"{HOME}/a", f"{HOME}/b")
    assert results(done) == [("OPTIONS", True, 429, "")] and f"{HOME}/b" not in web.asked
    assert done.retry_after is None, "it decides nothing about the host"


def test_a_slow_address_is_not_waited_for_twice() -> None:
    slow = Broken(Outcome.UNREACHABLE, "request_timeout")
    web, done = checked({"/a": slow, "/b": Page(405)}, f"{HOME}/a", f"{HOME}/b")
    assert results(done) == [("OPTIONS", False, None, "request_timeout")] and f"{HOME}/b" not in web.asked


def test_checks_stay_within_the_budget_of_the_visit() -> None:
    web = Web({HOST: {"/agent.json": page(AWP, etag='"1"'), "/robots.txt": ALLOWS}})
    calls = tuple(CallAddress(f"{HOME}/{number}", is_read=True) for number in range(MAX_ADDRESSES))
    job = HostJob(HOST, whole_plan=False, known=(known("/agent.json", AWP),), calls=calls)
    done = visit(web, job=job, budget=2)
    assert done.requests == len(web.asked) == 2 + MAX_REQUESTS and len(done.calls) == MAX_ADDRESSES
    plan = HostPlan(job, now=NOW, nonce=NONCE, total_budget=5)
    while (probe := plan.next()) is not None:
        plan.take(probe, web.fetch(plan, probe))
    done = plan.finish(NOW, NOW)
    assert (done.requests, len(done.calls), done.pending) == (5, 2, ())


def test_a_visit_that_ended_checks_nothing() -> None:
    _, done = checked(lambda _: Broken(Outcome.UNREACHABLE, "connection_refused"), f"{HOME}/api")
    assert done.calls == () and done.outcome is Outcome.UNREACHABLE
