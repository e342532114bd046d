"""The visit of a host: order, controls, conditions, pointers, budgets, endings. Sites are dictionaries.

Longer than other modules because one plan is walked for every rule, on the same few sites.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core import probes
from registry.core.documents import Fetched, Outcome, Probe, Purpose, Via
from registry.core.domains import host_of, same_site
from registry.core.plan import HostPlan
from registry.core.visits import Answer, HostJob, KnownDocument, RobotsRecord, Visit
from tests.support.web import NONCE, NOW, Broken, Page, Site, Web, moved, page, visit

HOST = "shop.example"
HOME = "https://shop.example"
AWP = json.dumps(
    {
        "awp_version": "0.2",
        "domain": HOST,
        "intent": "Sell garden tools",
        "actions": [{"id": "buy", "description": "Buy a tool", "endpoint": "/api/buy", "method": "POST"}],
    }
)


def adp(count: int, detail: str = "/d/{}") -> str:
    return json.dumps(
        {
            "spec_version": "1.0",
            "name": "Mail",
            "description": "Sends electronic mail for programs.",
            "base_url": "https://shop.example",
            "auth": {"type": "none"},
            "capabilities": [
                {"name": f"cap_{n}", "description": f"Capability number {n}", "detail_url": detail.format(n)}
                for n in range(count)
            ],
        }
    )


def detail(path: str) -> Page:
    return page(json.dumps({"name": path[3:], "endpoint": f"/v1{path}", "method": "GET", "parameters": []}))


def card(**more: object) -> str:
    return json.dumps({"name": "Agent", "url": f"{HOME}/rpc", "skills": [], "capabilities": {}, **more})


def paths(visit: Visit, host: str = HOST) -> list[str]:
    return [a.probe.url.removeprefix(f"https://{host}") for a in visit.answers]


def answer(visit: Visit, path: str) -> Answer:
    url = path if path.startswith("https://") else HOME + path
    return next(a for a in visit.answers if a.probe.url == url)


def verdict(visit: Visit, path: str) -> tuple[Outcome, str]:
    assessment = answer(visit, path).assessment
    return assessment.outcome, assessment.reason


# --- order and conditions


def test_a_cold_host_costs_twenty_requests_in_the_order_of_the_plan() -> None:
    web = Web({HOST: {}})
    done = visit(web)
    assert paths(done) == [
        "/robots.txt",
        "/",
        f"/.well-known/{NONCE}.json",
        *(step.path for step in probes.STEPS),
    ]
    assert (done.outcome, done.requests, len(web.asked)) == (Outcome.ABSENT, 20, 20)
    assert done.address == "203.0.113.9" and done.pending == () and done.candidates == ()


@pytest.mark.parametrize(
    ("site", "job", "last"),
    [
        ({}, HostJob(HOST, whole_plan=True), True),
        ({}, HostJob("mcp.shop.example", whole_plan=True, short=True), True),
        ({"/agent.json": page(AWP)}, HostJob(HOST, whole_plan=True), False),
        ({"/": page('<link rel="service-desc" href="/api.json">', "text/html")}, HostJob(HOST, True), False),
        ({"/robots.txt": page(f"Agentmap: {HOME}/map.json\n", "text/plain")}, HostJob(HOST, True), False),
        ({"/robots.txt": page("User-agent: *\nDisallow: /\n", "text/plain")}, HostJob(HOST, True), False),
    ],
)
def test_the_last_request_is_known_only_where_nothing_leads_on(site: Site, job: HostJob, last: bool) -> None:
    """A connection closed too early costs another one; one that is left open costs memory."""
    web = Web({job.host: site})
    plan = HostPlan(job, now=NOW, nonce=NONCE, exempt=frozenset(web.sites))
    told = []
    while (probe := plan.next()) is not None:
        told.append(plan.is_last)
        plan.take(probe, web.fetch(plan, probe))
    assert told == [False] * (len(told) - last) + [True] * last


@pytest.mark.parametrize(
    ("first", "fallback", "status", "asked"),
    [
        ("/.well-known/ard.json", "/.well-known/ai-catalog.json", 404, True),
        ("/.well-known/ard.json", "/.well-known/ai-catalog.json", 410, True),
        ("/.well-known/ard.json", "/.well-known/ai-catalog.json", 500, False),
        ("/.well-known/mcp/server-card.json", "/.well-known/mcp.json", 404, True),
        ("/.well-known/mcp/server-card.json", "/.well-known/mcp.json", 403, False),
    ],
)
def test_fallbacks_are_asked_only_where_the_first_is_absent(
    first: str, fallback: str, status: int, asked: bool
) -> None:
    done = visit(Web({HOST: {first: page("gone", "text/plain", status)}}))
    assert (fallback in paths(done)) is asked


def test_conditional_paths_need_a_hit() -> None:
    done = visit(Web({HOST: {"/agent.json": page(AWP)}}))
    assert (done.outcome, done.reason) == (Outcome.FOUND, "awp")
    assert [a.probe.url.removeprefix(HOME) for a in done.answers if a.probe.stage == "S4"] == [
        "/.well-known/ai-plugin.json",
        "/.well-known/agents.json",
        "/.well-known/agent-permissions.json",
    ]


def test_what_a_document_names_decides_what_else_is_asked() -> None:
    awp = json.loads(AWP) | {"description": "Speaks MCP, takes USDC, has skills; see /auth.md and openapi"}
    done = visit(Web({HOST: {"/agent.json": page(json.dumps(awp))}}))
    asked = {a.probe.url.removeprefix(HOME) for a in done.answers if a.probe.stage == "S4"}
    assert {
        "/openapi.json",
        "/openapi.yaml",
        "/.well-known/mcp",
        "/.well-known/x402",
        "/auth.md",
        "/.well-known/skills/index.json",
    } <= asked
    assert "/pricing.md" not in asked and len(asked) <= probes.MAX_CONDITIONAL


def test_openapi_in_yaml_is_asked_only_where_json_is_absent() -> None:
    openapi = json.dumps({"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {}})
    done = visit(
        Web({"api.shop.example": {"/agent.json": page(AWP), "/openapi.json": page(openapi)}}), "api.shop.example"
    )
    assert "/openapi.json" in paths(done, "api.shop.example")
    assert "/openapi.yaml" not in paths(done, "api.shop.example")


@pytest.mark.parametrize(("label", "count"), [("mcp", 4), ("api", 5), ("docs", 5)])
def test_sub_hosts_of_a_hit_get_their_short_list(label: str, count: int) -> None:
    host = f"{label}.shop.example"
    web = Web({host: {}})
    done = visit(web, host, job=HostJob(host, whole_plan=True, short=True))
    assert len(web.asked) == 3 + count
    assert paths(done, host)[3:] == [step.path for step in probes.SHORT[label]]


def test_a_host_that_only_refuses_is_not_asked_for_siblings() -> None:
    done = visit(Web({HOST: lambda path: page("no", "text/plain", 404 if path == "/robots.txt" else 403)}))
    assert "/.well-known/awas.json" in paths(done)
    assert "/.well-known/agent-card.json" not in paths(done)
    assert done.outcome is Outcome.REFUSED


# --- controls


def test_a_catch_all_page_is_an_absence() -> None:
    done = visit(
        Web({HOST: lambda path: page(f"<!doctype html><title>Shop</title><a href='{path}'>here</a>", "text/html")})
    )
    assert done.outcome is Outcome.ABSENT
    assert {a.assessment.reason for a in done.answers if a.probe.purpose is Purpose.MANIFEST} == {"control_equal"}
    assert done.requests == 20  # no further control: nothing hangs on it


def test_an_extension_less_hit_is_held_against_an_extension_less_control() -> None:
    def site(path: str) -> Page:
        extension_less = path.startswith("/.well-known/") and "." not in path.rpartition("/")[2]
        return page(adp(1)) if extension_less else page("", "text/plain", 404)

    done = visit(Web({HOST: site}))
    controls = [a.probe.url for a in done.answers if a.probe.purpose is Purpose.CONTROL]
    assert len(controls) == 2 and "." not in controls[1].rpartition("/")[2]
    # Everything answers with one real manifest: it counts once, at its own path.
    assert verdict(done, "/.well-known/agent")[0] is Outcome.FOUND
    assert verdict(done, "/.well-known/ucp") == (Outcome.ABSENT, "control_equal")
    assert verdict(done, "/.well-known/api-catalog") == (Outcome.ABSENT, "control_equal")


def test_a_platform_that_refuses_every_unknown_text_is_not_refusing_us() -> None:
    def site(path: str) -> Page:
        if path == "/":
            return page("<p>Welcome", "text/html")
        return page("denied", "text/plain", 403 if path.endswith(".txt") and path != "/robots.txt" else 404)

    done = visit(Web({HOST: site}))
    assert verdict(done, "/llms.txt") == (Outcome.ABSENT, "control_equal")
    assert sum(a.probe.purpose is Purpose.CONTROL for a in done.answers) == 2


def test_a_real_refusal_stays_one() -> None:
    site = {"/": page("<p>Welcome", "text/html"), "/.well-known/agent": page("log in first", "text/plain", 401)}
    assert verdict(visit(Web({HOST: site})), "/.well-known/agent") == (Outcome.REFUSED, "status_401")


def test_a_json_echo_may_hide_one_real_document() -> None:
    def site(path: str) -> Page:
        if path == "/agent.json":
            return page(AWP)
        if path == "/.well-known/ai-actions.json":  # only a weak test would take this for a catalogue
            return page(
                '{"actions": [{"id": "x", "path": "/x"}], "different": "from the echo altogether, in many words"}'
            )
        return page(json.dumps({"ok": True, "path": path, "message": "nothing here, but have a nice day"}))

    done = visit(Web({HOST: site}))
    assert verdict(done, "/agent.json") == (Outcome.FOUND, "echo_host")
    assert verdict(done, "/.well-known/ai-actions.json") == (Outcome.NOT_A_MANIFEST, "echo_host")
    assert verdict(done, "/.well-known/agent.json") == (Outcome.ABSENT, "control_equal")


def test_unknown_names_that_lead_to_another_site_are_absences() -> None:
    """The front page is here, everything else goes away: that says nothing about this host's documents but no."""

    def site(path: str) -> Page:
        if path in ("/", "/robots.txt"):
            return page("<p>Welcome", "text/html")
        return page(AWP) if path == "/agent.json" else moved(f"https://other.example{path}")

    done = visit(Web({HOST: site, "other.example": {}}))
    assert verdict(done, "/.well-known/woa.json") == (Outcome.ABSENT, "control_equal")
    assert verdict(done, "/agent.json")[0] is Outcome.FOUND
    assert "other.example" in [c.host for c in done.candidates]
    elsewhere = visit(Web({HOST: lambda path: moved("https://third.example/") if "woa" in path else site(path)}))
    assert verdict(elsewhere, "/.well-known/woa.json") == (Outcome.REDIRECTED_AWAY, "to third.example")


def test_lazy_controls_make_twenty_two_requests_at_most() -> None:
    def site(path: str) -> Page:
        if path == "/":
            return page("<p>Welcome", "text/html")
        name = path.rpartition("/")[2]
        return page("denied", "text/plain", 404 if name.endswith(".json") or name == "robots.txt" else 403)

    done = visit(Web({HOST: site}))
    assert sum(a.probe.purpose is Purpose.CONTROL for a in done.answers) == 3
    assert (done.outcome, done.requests) == (Outcome.ABSENT, 22)
    assert {verdict(done, path) for path in ("/llms.txt", "/.well-known/agent", "/.well-known/ucp")} == {
        (Outcome.ABSENT, "control_equal")
    }


def test_a_control_unmasks_what_was_found_before_it() -> None:
    """The catch-all answers names without extension only; what it said first was taken for a document."""

    def site(path: str) -> Page:
        return page(adp(1)) if "." not in path.rpartition("/")[2] and path != "/" else page("", "text/plain", 404)

    done = visit(Web({HOST: site}))
    assert verdict(done, "/.well-known/api-catalog") == (Outcome.ABSENT, "control_equal")
    assert answer(done, "/.well-known/api-catalog").fetched.body == b""


# --- what a visit holds


def test_a_page_in_the_place_of_robots_txt_is_not_kept() -> None:
    done = visit(Web({HOST: lambda path: page("<html><p>Our shop", "text/html")}))
    assert done.robots == RobotsRecord(200, b"", NOW)


def test_only_bodies_that_are_stored_are_held() -> None:
    here = {
        "/robots.txt": page("User-agent: *\nAllow: /", "text/plain"),
        "/": page("<html><head></head><p>Welcome", "text/html", set_cookie="a=b"),
        "/agent.json": page(AWP, etag='"1"', set_cookie="a=b"),
        "/.well-known/agent.json": page('{"awp_version": '),
        "/.well-known/woa.json": page('{"error": "none", "available": false}'),
        "/.well-known/awas.json": page('{"jsonrpc": "2.0", "id": 1, "result": {}}'),
        "/llms.txt": page("<html><p>Not here", "text/html"),
    }
    done = visit(Web({HOST: here}))
    held = {path for path in here if answer(done, path).fetched.body}
    assert held == {"/agent.json", "/.well-known/agent.json", "/.well-known/woa.json", "/.well-known/awas.json"}
    for path, served in here.items():
        fetched = answer(done, path).fetched
        assert (fetched.size, fetched.sha256) == (len(served.body), sha256(served.body).digest())
    assert answer(done, "/agent.json").fetched.headers == {"content-type": "application/json", "etag": '"1"'}
    assert answer(done, "/").fetched.headers == {"content-type": "text/html"}


# --- endings


@pytest.mark.parametrize(
    ("broken", "outcome", "reason"),
    [
        (Broken(Outcome.UNREACHABLE, "nxdomain"), Outcome.UNREACHABLE, "nxdomain"),
        (Broken(Outcome.UNREACHABLE, "connect_timeout"), Outcome.UNREACHABLE, "connect_timeout"),
        (Broken(Outcome.UNREACHABLE, "refused"), Outcome.UNREACHABLE, "refused"),
        (Broken(Outcome.TLS_ERROR, "certificate_expired"), Outcome.TLS_ERROR, "certificate_expired"),
        (Broken(Outcome.REFUSED_ADDRESS, "Loopback (127.0.0.0/8)"), Outcome.REFUSED_ADDRESS, "Loopback (127.0.0.0/8)"),
        (Broken(Outcome.UNREACHABLE, "request_timeout"), Outcome.DISALLOWED, "robots_request_timeout"),
        (page("", status=503), Outcome.DISALLOWED, "robots_503"),
        (page("", status=429, retry_after="120"), Outcome.RATE_LIMITED, "robots_429"),
        (page("User-agent: WaypostBot\nDisallow: /", "text/plain"), Outcome.DISALLOWED, "opt_out"),
    ],
)
def test_the_first_request_may_be_the_last(broken: Page | Broken, outcome: Outcome, reason: str) -> None:
    web = Web({HOST: lambda path: broken})
    done = visit(web)
    assert (done.outcome, done.reason, len(web.asked)) == (outcome, reason, 1)


def test_robots_of_everybody_else_leave_a_verdict_for_every_path_without_a_request() -> None:
    web = Web({HOST: {"/robots.txt": page("User-agent: *\nDisallow: /", "text/plain"), "/agent.json": page(AWP)}})
    done = visit(web)
    assert len(web.asked) == done.requests == 1
    assert (done.outcome, done.reason) == (Outcome.DISALLOWED, "robots")
    assert verdict(done, "/agent.json") == (Outcome.DISALLOWED, "robots")
    assert done.robots is not None and done.robots.status == 200


def test_robots_may_forbid_some_paths_only() -> None:
    robots = page("User-agent: *\nDisallow: /.well-known/\nAllow: /.well-known/agent$", "text/plain")
    web = Web({HOST: {"/robots.txt": robots, "/.well-known/agent": page(adp(0)), "/.well-known/woa.json": page("{}")}})
    done = visit(web)
    assert HOME + "/.well-known/agent" in web.asked and HOME + "/.well-known/woa.json" not in web.asked
    assert verdict(done, "/.well-known/woa.json")[0] is Outcome.DISALLOWED


def test_a_challenge_ends_the_host() -> None:
    challenge = page("<html><script>window._cf_chl_opt={}</script>", "text/html", 403)
    web = Web({HOST: {"/": challenge, "/agent.json": page(AWP)}})
    done = visit(web)
    assert (done.outcome, done.reason, len(web.asked)) == (Outcome.REFUSED, "challenge", 2)


@pytest.mark.parametrize(("reason", "requests"), [("request_timeout", 6), ("reset", 6), ("refused", 2)])
def test_timeouts_end_the_host_after_five_in_a_row(reason: str, requests: int) -> None:
    web = Web(
        {HOST: lambda path: page("", "text/plain", 404) if "robots" in path else Broken(Outcome.UNREACHABLE, reason)}
    )
    done = visit(web)
    assert (done.outcome, done.reason, len(web.asked)) == (Outcome.UNREACHABLE, reason, requests)


def test_single_timeouts_do_not() -> None:
    def site(path: str) -> Page | Broken:
        if path in ("/", "/llms.txt", "/.well-known/woa.json"):
            return Broken(Outcome.UNREACHABLE, "request_timeout")
        return page(AWP) if path == "/agent.json" else page("", "text/plain", 404)

    assert visit(Web({HOST: site})).outcome is Outcome.FOUND


def test_a_host_that_limits_us_twice_is_left_alone() -> None:
    def site(path: str) -> Page:
        if path.endswith("woa.json") or path.endswith("ai-actions.json"):
            return page("slow down", "text/plain", 429, retry_after="7200" if "woa" in path else "60")
        return page(AWP) if path == "/agent.json" else page("", "text/plain", 404)

    done = visit(Web({HOST: site}))
    assert paths(done)[-1] == "/.well-known/ai-actions.json"
    assert (done.outcome, done.reason, done.retry_after) == (Outcome.FOUND, "awp", 7200)


def test_a_cut_visit_leaves_the_rest_for_later() -> None:
    web = Web({HOST: details_site(9)})
    whole = visit(web)
    cut = visit(web, steps=len([a for a in whole.answers if a.probe.purpose is not Purpose.DETAIL]) + 4)
    assert [p.url for p in cut.pending] == [f"{HOME}/d/{n}" for n in range(4, 9)]


# --- redirects and attribution


def test_a_host_that_moved_to_www_is_an_alias() -> None:
    web = Web(
        {HOST: lambda path: moved(f"https://www.shop.example{path}"), "www.shop.example": {"/agent.json": page(AWP)}}
    )
    done = visit(web)
    assert (done.outcome, done.reason, done.alias_of) == (Outcome.REDIRECTED_AWAY, "alias", "www.shop.example")
    assert [c.host for c in done.candidates] == ["www.shop.example"]
    assert len(web.asked) == done.requests <= 6 and done.pending == ()
    assert visit(web, "www.shop.example").outcome is Outcome.FOUND


def test_a_front_page_that_moved_leaves_the_host_where_it_is() -> None:
    web = Web({HOST: {"/": moved("https://www.shop.example/"), "/agent.json": page(AWP)}, "www.shop.example": {}})
    done = visit(web)
    assert (done.outcome, done.alias_of) == (Outcome.FOUND, None)
    # robots.txt of the other host was read before its page was asked for
    assert web.asked.index("https://www.shop.example/robots.txt") < web.asked.index("https://www.shop.example/")


def test_robots_of_the_final_host_must_allow_the_final_path() -> None:
    sites: dict[str, Site] = {
        HOST: {"/agent.json": moved("https://api.shop.example/agent.json")},
        "api.shop.example": {"/robots.txt": page("User-agent: *\nDisallow: /", "text/plain"), "/agent.json": page(AWP)},
    }
    web = Web(sites)
    done = visit(web)
    assert "https://api.shop.example/agent.json" not in web.asked
    assert verdict(done, "https://api.shop.example/agent.json")[0] is Outcome.DISALLOWED
    assert "api.shop.example" in [c.host for c in done.candidates]


def test_a_document_belongs_to_the_host_that_served_it() -> None:
    sites: dict[str, Site] = {
        HOST: {"/agent.json": moved("https://api.shop.example/agent.json")},
        "api.shop.example": {"/agent.json": page(AWP)},
    }
    done = visit(Web(sites))
    assert answer(done, "https://api.shop.example/agent.json").assessment.outcome is Outcome.FOUND
    assert done.outcome is not Outcome.FOUND


def test_another_site_gets_a_candidate_and_nothing_else() -> None:
    web = Web({HOST: lambda path: moved(f"https://other.example{path}"), "other.example": {"/agent.json": page(AWP)}})
    done = visit(web)
    assert (done.outcome, done.reason) == (Outcome.REDIRECTED_AWAY, "to other.example")
    assert [c.host for c in done.candidates] == ["other.example"]
    assert all(host_of(url) == HOST for url in web.asked) and len(web.asked) == 3


def test_a_path_that_redirects_to_a_path_of_the_plan_is_asked_once() -> None:
    web = Web({HOST: {"/agent.json": moved("/.well-known/agent.json"), "/.well-known/agent.json": page(AWP)}})
    done = visit(web)
    assert web.asked.count(HOME + "/.well-known/agent.json") == 1
    assert done.outcome is Outcome.FOUND


def test_a_redirect_that_the_budget_has_no_request_for_is_not_followed() -> None:
    def site(path: str) -> Page:
        hop = path.partition("?")[2] or "0"
        return (
            moved(f"{path.partition('?')[0]}?{int(hop) + 1}")
            if path.startswith("/.well-known/ard")
            else page("", status=404)
        )

    web = Web({HOST: site})
    done = visit(web, budget=5)
    assert len(web.asked) == done.requests == 5
    assert verdict(done, "/.well-known/ard.json") == (Outcome.SKIPPED, "redirect_budget")


def test_robots_count_for_the_end_of_a_redirect_too() -> None:
    robots = page("User-agent: *\nDisallow: /private/", "text/plain")
    web = Web({HOST: {"/robots.txt": robots, "/agent.json": moved("/private/a.json"), "/private/a.json": page(AWP)}})
    assert verdict(visit(web), "/agent.json") == (Outcome.DISALLOWED, "robots")
    assert f"{HOME}/private/a.json" not in web.asked


def test_a_dead_host_at_the_end_of_a_redirect_is_not_this_host() -> None:
    site = {"/agent.json": moved("https://gone.shop.example/a"), "/.well-known/agent.json": page(AWP)}
    done = visit(Web({HOST: site}))
    assert done.outcome is Outcome.FOUND and "/.well-known/ucp" in paths(done)


@pytest.mark.parametrize(
    ("location", "outcome", "reason"),
    [
        ("/", Outcome.ABSENT, "redirect_home"),
        ("/login?next=/agent.json", Outcome.ABSENT, "redirect_home"),
        ("http://shop.example/agent.json", Outcome.REFUSED_ADDRESS, "redirect_http"),
        ("https://127.0.0.1/agent.json", Outcome.REFUSED_ADDRESS, "redirect_address"),
        ("/agent.json", Outcome.SERVER_ERROR, "redirect_loop"),
    ],
)
def test_bad_redirects_of_one_path_do_not_end_the_host(location: str, outcome: Outcome, reason: str) -> None:
    done = visit(Web({HOST: {"/agent.json": moved(location), "/.well-known/agent.json": page(AWP)}}))
    assert verdict(done, "/agent.json") == (outcome, reason)
    assert done.outcome is Outcome.FOUND


# --- pointers


def test_links_of_the_front_page_are_followed() -> None:
    home = page(
        '<html><head><link rel="ai-actions" href="/actions.json">',
        "text/html",
        link='</deep/agent.json>; rel="agent-manifest"',
    )
    action = {"id": "a", "path": "/a", "method": "GET"}
    actions = page(json.dumps({"version": "1.0", "name": "Shop", "description": "d", "actions": [action]}))
    done = visit(Web({HOST: {"/": home, "/deep/agent.json": page(AWP), "/actions.json": actions}}))
    assert answer(done, "/deep/agent.json").assessment.format == "awp"
    assert answer(done, "/deep/agent.json").probe.via == Via(f"{HOME}/", "", "agent-manifest", None)
    assert answer(done, "/actions.json").assessment.format == "awas"
    assert done.outcome is Outcome.FOUND
    assert "/.well-known/agents.json" in paths(done)  # a hit by pointer is a hit


def test_pointers_in_robots() -> None:
    robots = page("Agentmap: https://shop.example/map.json\n# agentic-manifest: /acts.json\n", "text/plain")
    asked = paths(visit(Web({HOST: {"/robots.txt": robots}})))
    assert asked[-2:] == ["/map.json", "/acts.json"]


def catalogue(*entries: dict[str, object]) -> str:
    return json.dumps({"specVersion": "1.0", "entries": list(entries)})


def entry(
    name: str, url: str | None = None, kind: str = "application/a2a-agent-card+json", **more: object
) -> dict[str, object]:
    where: dict[str, object] = {"url": url} if url else {}
    return {"identifier": f"urn:air:shop.example:{name}", "displayName": name, "type": kind, **where, **more}


def test_a_catalogue_leads_to_documents_here_and_candidates_elsewhere() -> None:
    listed = catalogue(
        entry("a", f"{HOME}/cards/a.json"),
        entry("b", "https://agents.other.example/card.json"),
        entry("c", "https://api.shop.example/card.json"),
        entry("d", f"{HOME}/cards/{{tenant}}.json"),
        entry("e", "https://10.0.0.1/card.json"),
    )
    web = Web(
        {
            HOST: {"/.well-known/ard.json": page(listed), "/cards/a.json": page(card())},
            "api.shop.example": {"/card.json": page(card())},
            "agents.other.example": {},
        }
    )
    done = visit(web)
    assert answer(done, "/cards/a.json").probe.via is not None
    assert answer(done, "https://api.shop.example/card.json").assessment.outcome is Outcome.FOUND
    assert {c.host for c in done.candidates} == {"agents.other.example", "api.shop.example"}
    assert not any("tenant" in url or "other.example" in url for url in web.asked)


def test_at_most_ten_pointers_are_followed() -> None:
    listed = catalogue(*(entry(f"n{n}", f"{HOME}/cards/{n}.json") for n in range(30)))
    done = visit(Web({HOST: {"/.well-known/ard.json": page(listed)}}), budget=100)
    assert sum(a.probe.purpose is Purpose.POINTER for a in done.answers) == probes.MAX_POINTERS
    assert done.pending == ()


def test_catalogues_that_name_catalogues_end_at_depth_four() -> None:
    def site(path: str) -> Page:
        if path == "/.well-known/ard.json" or path.startswith("/level/"):
            level = int(path.rpartition("/")[2]) if path.startswith("/level/") else 0
            return page(catalogue(entry(f"l{level}", f"{HOME}/level/{level + 1}", "application/ai-catalog+json")))
        return page("", "text/plain", 404)

    levels = [path for path in paths(visit(Web({HOST: site}))) if path.startswith("/level/")]
    assert levels == [f"/level/{n}" for n in range(1, probes.MAX_DEPTH + 1)]


def test_a_payload_inside_a_catalogue_is_judged_without_a_request() -> None:
    data = {"name": "Agent", "url": f"{HOME}/rpc", "skills": [], "capabilities": {}, "version": "1"}
    listed = catalogue(entry("inner", data=data))
    web = Web({HOST: {"/.well-known/ard.json": page(listed)}})
    done = visit(web)
    inner = next(a for a in done.answers if "#" in a.probe.url)
    assert (inner.assessment.outcome, inner.assessment.format) == (Outcome.FOUND, "a2a")
    assert inner.probe.url.startswith(f"{HOME}/.well-known/ard.json#/entries/0/")
    assert not any("#" in url for url in web.asked) and done.requests == len(web.asked)


# --- capability details


def details_site(count: int) -> Callable[[str], Page]:
    def site(path: str) -> Page:
        if path == "/.well-known/agent":
            return page(adp(count), etag='"1"')
        return detail(path) if path.startswith("/d/") else page("", "text/plain", 404)

    return site


def test_details_have_a_budget_of_their_own_and_go_on_next_time() -> None:
    web = Web({HOST: details_site(60)})
    first = visit(web)
    details = [a for a in first.answers if a.probe.purpose is Purpose.DETAIL]
    assert len(details) == 25 and all(a.assessment.format == "adp-detail" for a in details)
    assert details[0].probe.via == Via(
        f"{HOME}/.well-known/agent", "/capabilities/0/detail_url", "detail_url", "adp-detail"
    )
    assert [p.url for p in first.pending] == [f"{HOME}/d/{n}" for n in range(25, 60)]
    second = visit(web, job=HostJob(HOST, whole_plan=False, pending=first.pending, robots=first.robots))
    third = visit(web, job=HostJob(HOST, whole_plan=False, pending=second.pending, robots=first.robots))
    assert [v.requests for v in (second, third)] == [25, 10]
    assert third.pending == ()


def test_details_on_another_site_are_never_asked_for() -> None:
    web = Web({HOST: {"/.well-known/agent": page(adp(3, "https://other.example/d/{}"))}, "other.example": {}})
    done = visit(web)
    assert not any("/d/" in url for url in web.asked)
    assert "other.example" not in [c.host for c in done.candidates]


# --- later visits


def known(path: str, body: str, slug: str = "awp", etag: str | None = '"1"', via: Via | None = None) -> KnownDocument:
    digest = sha256(body.encode()).digest()
    return KnownDocument(HOME + path, slug, Outcome.FOUND, digest, etag=etag, via=via)


def test_a_later_visit_asks_only_for_what_is_known() -> None:
    web = Web({HOST: {"/agent.json": page(AWP, etag='"1"')}})
    done = visit(web, job=HostJob(HOST, whole_plan=False, known=(known("/agent.json", AWP),)))
    assert paths(done) == ["/robots.txt", "/agent.json"]
    assert (done.outcome, done.reason) == (Outcome.FOUND, "awp")
    held = answer(done, "/agent.json")
    assert (held.fetched.status, held.assessment.reason, held.assessment.format) == (304, "unchanged", "awp")


def test_a_whole_plan_reads_what_is_known_again() -> None:
    """What a document says decides what else is asked: an unchanged one would say nothing."""
    body = json.dumps(json.loads(AWP) | {"description": "Takes USDC"})
    web = Web({HOST: {"/agent.json": page(body, etag='"1"')}})
    done = visit(web, job=HostJob(HOST, whole_plan=True, known=(known("/agent.json", body),)))
    assert answer(done, "/agent.json").fetched.status == 200
    assert "/.well-known/x402" in paths(done)


def test_a_negative_that_did_not_change_keeps_its_reason() -> None:
    web = Web({HOST: {"/agent.json": page('{"error": "none"}', etag='"1"')}})
    said = replace(known("/agent.json", "", "awp"), outcome=Outcome.NEGATIVE, reason="stated_absence")
    done = visit(web, job=HostJob(HOST, whole_plan=False, known=(said,)))
    assert answer(done, "/agent.json").fetched.status == 304
    assert (done.outcome, done.reason) == (Outcome.NEGATIVE, "stated_absence")


def test_a_known_document_is_not_held_against_a_control_every_day() -> None:
    body = adp(0)
    web = Web({HOST: {"/.well-known/agent": page(body)}})
    visit(web, job=HostJob(HOST, whole_plan=False, known=(known("/.well-known/agent", body, "adp"),)))
    assert web.asked == [f"{HOME}/robots.txt", f"{HOME}/.well-known/agent"]


def test_a_lost_document_is_the_outcome_of_the_visit() -> None:
    done = visit(Web({HOST: {}}), job=HostJob(HOST, whole_plan=True, known=(known("/agent.json", AWP),)))
    assert (done.outcome, done.reason) == (Outcome.ABSENT, "status_404")
    broken = {"/agent.json": page("", "text/plain", 500)}
    done = visit(Web({HOST: broken}), job=HostJob(HOST, whole_plan=False, known=(known("/agent.json", AWP),)))
    assert (done.outcome, done.reason) == (Outcome.SERVER_ERROR, "status_500")


def test_a_known_pointer_keeps_its_promise() -> None:
    via = Via(f"{HOME}/", "", "ai-actions", "awas")
    weak = (
        '{"actions": [{"id": "a", "path": "/a", "method": "GET"}], "name": "x", "description": "y", "version": "1.0"}'
    )
    done = visit(
        Web({HOST: {"/odd.json": page(weak)}}),
        job=HostJob(HOST, whole_plan=False, known=(known("/odd.json", "older", "awas", via=via),)),
    )
    assert answer(done, "/odd.json").assessment.format == "awas"
    assert answer(done, "/odd.json").probe.via == via


def test_details_are_asked_again_when_their_manifest_changed_or_with_the_whole_plan() -> None:
    via = Via(f"{HOME}/.well-known/agent", "/capabilities/0/detail_url", "detail_url", "adp-detail")
    held = (known("/.well-known/agent", adp(1), "adp"), known("/d/0", "{}", "adp-detail", etag=None, via=via))
    web = Web({HOST: details_site(1)})
    unchanged = visit(web, job=HostJob(HOST, whole_plan=False, known=held))
    assert "/d/0" not in paths(unchanged)
    whole = visit(web, job=HostJob(HOST, whole_plan=True, known=held))
    assert answer(whole, "/d/0").assessment.format == "adp-detail"
    without_validator = (replace(held[0], etag=None), held[1])
    changed = visit(Web({HOST: details_site(2)}), job=HostJob(HOST, whole_plan=False, known=without_validator))
    assert {"/d/0", "/d/1"} <= set(paths(changed))


@pytest.mark.parametrize(
    ("age", "status", "cached"), [(23, 200, True), (25, 200, False), (1, 404, True), (1, 503, False), (1, None, False)]
)
def test_robots_of_an_earlier_visit_hold_for_a_day(age: int, status: int | None, cached: bool) -> None:
    record = RobotsRecord(status, b"User-agent: *\nDisallow: /agent.json", NOW - timedelta(hours=age))
    web = Web({HOST: {}})
    done = visit(web, job=HostJob(HOST, whole_plan=True, robots=record))
    assert (f"{HOME}/robots.txt" not in web.asked) is cached
    assert (verdict(done, "/agent.json")[0] is Outcome.DISALLOWED) is (cached and status == 200)


@pytest.mark.parametrize("whole_plan", [True, False])
def test_a_host_that_wants_long_pauses_is_visited_in_parts(whole_plan: bool) -> None:
    site = {
        "/robots.txt": page("User-agent: *\nCrawl-delay: 10", "text/plain"),
        "/.well-known/agent-card.json": page(card()),
    }
    web = Web({HOST: site})
    first = visit(web)
    assert len(web.asked) == 12 and first.pending
    second = visit(web, job=HostJob(HOST, whole_plan, pending=first.pending, robots=first.robots))
    assert second.outcome is Outcome.FOUND and second.requests <= 12
    assert any(a.probe.purpose is Purpose.CONTROL for a in second.answers)  # its yardstick again
    asked = {*paths(first), *paths(second), *(p.url.removeprefix(HOME) for p in second.pending)}
    assert {step.path for step in probes.STEPS} <= asked


def test_sub_hosts_of_a_hit_become_candidates_where_they_may_exist() -> None:
    sites: dict[str, Site] = {HOST: {"/agent.json": page(AWP)}, "mcp.shop.example": {}, "elsewhere.example": {}}
    done = visit(Web(sites))
    assert [(c.host, c.rel) for c in done.candidates] == [("mcp.shop.example", "sub-host")]
    below: dict[str, Site] = {"mcp.shop.example": {"/agent.json": page(AWP)}, "docs.shop.example": {}}
    assert [c.host for c in visit(Web(below), "mcp.shop.example").candidates] == ["docs.shop.example"]
    assert visit(Web({HOST: {}, "mcp.shop.example": {}})).candidates == ()


# --- the machine itself


def test_taking_another_probe_is_a_mistake_of_the_caller() -> None:
    plan = HostPlan(HostJob(HOST, whole_plan=True), now=NOW, nonce=NONCE, exempt={HOST})
    first = plan.next()
    assert first is not None and plan.next() == first
    other = first._replace(url=f"{HOME}/else")
    with pytest.raises(ValueError, match="not the probe"):
        plan.take(other, Fetched(other.url, other.url, NOW, 404))


def test_a_visit_that_never_began_has_an_outcome() -> None:
    done = visit(Web({HOST: {}}), steps=0)
    assert (done.outcome, done.reason, done.requests) == (Outcome.SKIPPED, "nothing_asked", 0)


LOCATIONS = st.sampled_from(
    ["/", "/agent.json", "/x", "https://www.shop.example/", "https://www.shop.example/agent.json", "http://shop.example/",
     "https://other.example/", "https://127.0.0.1/", "", "https://shop.example/.well-known/agent"]
)  # fmt: skip
POINTING = st.lists(
    st.sampled_from(["/a", "/b", "/agent.json", "https://www.shop.example/c", "https://other.example/d"]), max_size=5
)
BODIES = st.one_of(
    st.just(AWP),
    st.integers(0, 40).map(adp),
    POINTING.map(lambda urls: catalogue(*(entry(f"e{n}", HOME + u if u[0] == "/" else u) for n, u in enumerate(urls)))),
    st.just("<html><head><link rel=ard href=/a><link rel=api-catalog href=https://www.shop.example/b>"),
    st.just("{}"),
    st.just("not json"),
    st.just("User-agent: *\nDisallow: /a\nCrawl-delay: 9"),
)
ANSWERS = st.one_of(
    st.builds(
        lambda body, status: page(body, status=status), BODIES, st.sampled_from([200, 200, 200, 203, 404, 403, 500])
    ),
    st.builds(moved, LOCATIONS, st.sampled_from([301, 302, 307, 308])),
    st.builds(
        Broken,
        st.sampled_from([Outcome.UNREACHABLE, Outcome.TLS_ERROR, Outcome.TOO_LARGE]),
        st.sampled_from(["request_timeout", "reset", "body"]),
    ),
    st.builds(lambda: page("later", status=429, retry_after="9")),
)
NAMES = ["/", "/robots.txt", "/llms.txt", "/a", "/b", "/c", *(step.path for step in probes.STEPS)]
SITES = st.builds(
    lambda given, rest: lambda path: given.get(path, rest),
    st.dictionaries(st.sampled_from(NAMES), ANSWERS, max_size=12),
    ANSWERS,
)


@settings(max_examples=150, deadline=None)
@given(SITES, SITES, st.integers(1, 45), st.integers(0, 30), st.booleans())
def test_whatever_a_host_answers_the_visit_ends_within_its_bounds(
    here: Site, there: Site, budget: int, detail_budget: int, whole_plan: bool
) -> None:
    web = Web({HOST: here, "www.shop.example": there, "other.example": there})
    pending = (probes.detail_probe(f"{HOME}/d/1", None), probes.pointer_probe(f"{HOME}/p", None, None))
    job = HostJob(HOST, whole_plan=whole_plan, known=(known("/agent.json", AWP),), pending=pending)
    first_asked: list[str] = []
    plan = HostPlan(job, now=NOW, nonce=NONCE, exempt=set(web.sites), budget=budget, detail_budget=detail_budget)
    spent = {True: 0, False: 0}
    while (probe := plan.next()) is not None:
        first_asked.append(probe.url)
        fetched = web.fetch(plan, probe)
        spent[probe.purpose is Purpose.DETAIL] += 1 + len(fetched.hops)
        plan.take(probe, fetched)
        assert len(first_asked) < 200
    done = plan.finish(NOW, NOW)
    assert len(first_asked) == len(set(first_asked))
    assert spent[False] <= budget and spent[True] <= detail_budget
    assert done.requests == len(web.asked)
    assert all(same_site(host_of(url) or "", HOST) for url in web.asked)
    assert isinstance(done.outcome, Outcome)
    asked_again = {p.url for p in done.pending} & set(first_asked)
    assert not asked_again
    assert_robots_read_first(web, done)


def assert_robots_read_first(web: Web, done: Visit) -> None:
    read = [a.fetched for a in done.answers if a.probe.purpose is Purpose.ROBOTS]
    hosts = {host_of(url) for fetched in read for url in (fetched.url, *fetched.hops, fetched.final_url)}
    assert {host_of(url) for url in web.asked if not url.endswith("/robots.txt")} <= hosts


def probe_of(visit: Visit, path: str) -> Probe:
    return answer(visit, path).probe


def test_accept_and_caps() -> None:
    done = visit(Web({HOST: {}}))
    assert probe_of(done, "/.well-known/woa.json").accept == "application/woa+json, application/json, */*;q=0.1"
    assert probe_of(done, "/agent.json").cap == 1024 * 1024
    assert probe_of(done, "/.well-known/agent-card.json").cap == 4 * 1024 * 1024
    assert probe_of(done, "/llms.txt").cap == 512 * 1024 and probes.keeps_head(probe_of(done, "/llms.txt"))
    assert probes.keeps_head(probe_of(done, "/")) and not probes.keeps_head(probe_of(done, "/agent.json"))
    assert probe_of(done, "/robots.txt").cap == 500 * 1024
