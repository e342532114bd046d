"""Visits of one domain over real TLS: the plan asks, the transport moves bytes, politeness and deadlines hold."""

import asyncio
import json
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace

import pytest

from crawler.guards import AddressGuard, Pin
from crawler.politeness import max_connections
from crawler.session import InterruptedVisit
from crawler.visit import OFF_LOOP_BYTES, Visitor
from registry.core.model.documents import FetchResult, Outcome, Probe, Purpose
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.visits import DomainJob, HostJob, KnownDocument, Visit
from tests.crawler.support import Visiting, far, fetch, hasty, probe
from tests.support.sites import Answer, Exchange, Reply, closed_port, moved

pytestmark = pytest.mark.slow  # pauses and deadlines

HOST = "shop.example"
CARD = json.dumps(
    {
        "name": "Shop",
        "description": "Sells lamps.",
        "url": f"https://{HOST}/a2a",
        "version": "1.0.0",
        "protocolVersion": "0.3.0",
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "order", "name": "Order", "description": "Orders a lamp.", "tags": ["lamps"]}],
    }
)
CARD_PATH = "/.well-known/agent-card.json"
SHOP: dict[str, Answer] = {
    "/robots.txt": Reply("User-agent: *\nDisallow: /llms.txt\n", type="text/plain"),
    "/": Reply("<title>Shop</title>", type="text/html"),
    CARD_PATH: Reply(CARD, headers=(("ETag", '"v1"'),)),
}


async def visit(visitor: Visitor, job: HostJob) -> Visit:
    return await visitor.visit_host(job, visitor.new_pacer(), far())


async def test_a_visit_finds_the_document_over_one_connection(visiting: Visiting) -> None:
    async with visiting({HOST: SHOP}) as (sites, visitor):
        host_visit = await visit(visitor, HostJob(HOST, whole_plan=True))
    paths = sites.paths(HOST)
    assert host_visit.outcome is Outcome.FOUND
    assert [answer.probe.url for answer in host_visit.answers if answer.assessment.outcome is Outcome.FOUND] == [
        f"https://{HOST}{CARD_PATH}"
    ]
    assert paths[0] == "/robots.txt" and len(paths) == len(set(paths)) == host_visit.requests
    assert "/llms.txt" not in paths
    assert sites.connections == 1
    headers = sites.seen[0].headers
    assert headers["user-agent"].startswith("WaypostBot/") and "(+http" in headers["user-agent"]
    assert headers["accept-encoding"] == "gzip" and "cookie" not in headers and "referer" not in headers


async def test_the_last_request_to_a_host_without_documents_closes_the_connection(visiting: Visiting) -> None:
    """With thousands of hosts in flight, an idle connection takes as much memory as the rest of a visit."""
    async with visiting({HOST: {}}) as (sites, visitor):
        host_visit = await visit(visitor, HostJob(HOST, whole_plan=True))
    connection_headers = [exchange.headers.get("connection") for exchange in sites.seen]
    assert connection_headers == [None] * (len(connection_headers) - 1) + ["close"]
    assert sites.connections == 1 and host_visit.requests == len(connection_headers)


async def test_nothing_is_requested_where_robots_disallows_everything(visiting: Visiting) -> None:
    closed = SHOP | {"/robots.txt": Reply("User-agent: *\nDisallow: /\n", type="text/plain")}
    async with visiting({HOST: closed}) as (sites, visitor):
        host_visit = await visit(visitor, HostJob(HOST, whole_plan=True))
    assert sites.paths(HOST) == ["/robots.txt"]
    assert host_visit.outcome is Outcome.DISALLOWED


async def test_a_known_document_is_requested_conditionally(visiting: Visiting) -> None:
    async def card(exchange: Exchange) -> None:
        is_current = exchange.headers.get("if-none-match") == '"v1"'
        await exchange.send(Reply(status=304, type=None).encode() if is_current else Reply(CARD).encode())

    url = f"https://{HOST}{CARD_PATH}"
    known = KnownDocument(url, "a2a", Outcome.FOUND, b"", etag='"v1"')
    async with visiting({HOST: SHOP | {CARD_PATH: card}}) as (sites, visitor):
        host_visit = await visit(visitor, HostJob(HOST, whole_plan=False, known=(known,)))
        [fetched_unconditionally] = await fetch(visitor, probe(url, etag='"v1"\r\nX-Evil: 1'))
    [answer] = [candidate for candidate in host_visit.answers if candidate.probe.url == url]
    assert (answer.fetched.status, answer.fetched.body) == (304, b"")
    assert answer.assessment.outcome is Outcome.FOUND
    assert fetched_unconditionally.status == 200  # a validator that is no valid field value is neither sent nor fatal
    assert "x-evil" not in sites.seen[-1].headers


async def test_cookies_are_not_sent_back(visiting: Visiting) -> None:
    cookie_reply = Reply(b"{}", headers=(("Set-Cookie", "seen=1; Path=/"),))
    async with visiting({HOST: cookie_reply}) as (sites, visitor):
        await fetch(visitor, probe(f"https://{HOST}/first"), probe(f"https://{HOST}/second"))
    assert sites.paths(HOST) == ["/first", "/second"]
    assert "cookie" not in sites.seen[-1].headers


async def test_large_bodies_are_judged_in_a_thread(visiting: Visiting, monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte of JSON takes tens of milliseconds, which would block the event loop."""
    on_the_loop: dict[str, bool] = {}
    original_take = HostPlan.take

    def recording_take(plan: HostPlan, current_probe: Probe, fetched: FetchResult) -> None:
        on_the_loop[current_probe.url] = threading.current_thread() is threading.main_thread()
        original_take(plan, current_probe, fetched)

    monkeypatch.setattr(HostPlan, "take", recording_take)
    large = json.dumps(json.loads(CARD) | {"more": "x" * OFF_LOOP_BYTES})
    async with visiting({HOST: SHOP | {CARD_PATH: Reply(large)}}) as (_, visitor):
        host_visit = await visit(visitor, HostJob(HOST, whole_plan=True))
    assert host_visit.outcome is Outcome.FOUND
    assert [url for url, on_loop in on_the_loop.items() if not on_loop] == [f"https://{HOST}{CARD_PATH}"]


async def test_redirects_inside_the_domain_are_followed_hop_by_hop(visiting: Visiting) -> None:
    www = f"www.{HOST}"
    sites = {
        HOST: {"/a": moved("/b", 302), "/b": moved(f"https://{www}/c", 308)},
        www: {"/c": Reply(b"{}"), "/again": moved("/again2"), "/again2": moved("/again")},
    }
    async with visiting(sites) as (served, visitor):
        followed, looped = await fetch(visitor, probe(f"https://{HOST}/a"), probe(f"https://{www}/again"))
    assert followed.final_url == f"https://{www}/c"
    assert followed.hops == (f"https://{HOST}/a", f"https://{HOST}/b")
    assert followed.body == b"{}"
    assert (looped.failure, looped.reason) == (Outcome.SERVER_ERROR, "redirect_loop")
    assert served.paths(www) == ["/c", "/again", "/again2"]


async def test_connection_closed_between_two_requests_is_made_again(visiting: Visiting) -> None:
    """Servers may close idle connections at any time, also at the moment when one is used again."""
    dropped = 0

    async def resets_once(exchange: Exchange) -> None:
        nonlocal dropped
        if exchange.path == "/second" and dropped == 0:
            dropped += 1
            exchange.reset()
        else:
            await exchange.send(Reply(b"{}").encode())

    async with visiting({HOST: resets_once}) as (sites, visitor):
        first, second = await fetch(visitor, probe(f"https://{HOST}/first"), probe(f"https://{HOST}/second"))
    assert (first.body, second.body) == (b"{}", b"{}")
    assert sites.paths(HOST) == ["/first", "/second", "/second"]


async def test_a_slow_host_is_abandoned_at_its_deadline(visiting: Visiting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each response takes ten minutes by the visitor's clock. The deadline is 59 minutes, after six of 18 requests."""
    waited = 0.0

    async def answer_slowly(exchange: Exchange) -> None:
        nonlocal waited
        waited += 600
        await exchange.send(Reply(b"none", 404).encode())

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + waited)
    async with visiting({HOST: answer_slowly}, host_deadline=3_540) as (sites, visitor):
        monkeypatch.setattr("crawler.session.time", clock)
        lease_end = datetime.now(UTC) + timedelta(days=1)
        host_visit = await visitor.visit_host(HostJob(HOST, whole_plan=True), visitor.new_pacer(), lease_end)
    assert (host_visit.outcome, host_visit.reason) == (Outcome.SKIPPED, "host_deadline")
    assert len(sites.paths(HOST)) == 6


async def test_a_silent_host_is_abandoned_after_a_few_timeouts(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(exchange: Exchange) -> None:
        if exchange.path in ("/robots.txt", "/"):
            await exchange.send(Reply(b"").encode())
        else:
            await asyncio.sleep(60)

    hasty(monkeypatch, 0.3, lambda url: not url.endswith(("/robots.txt", f"{HOST}/")))
    async with visiting({HOST: silent}) as (_, visitor):
        host_visit = await visit(visitor, HostJob(HOST, whole_plan=True))
    assert (host_visit.outcome, host_visit.reason) == (Outcome.UNREACHABLE, "request_timeout")
    assert host_visit.requests == 2 + 5


async def test_pauses_are_kept_across_all_hosts_of_a_domain(visiting: Visiting) -> None:
    times: list[float] = []

    async def record_time(exchange: Exchange) -> None:
        times.append(asyncio.get_running_loop().time())
        await exchange.send(Reply(b"no", 403).encode())

    hosts = (HOST, f"api.{HOST}")
    job = DomainJob(HOST, tuple(HostJob(host, whole_plan=True) for host in hosts))
    async with visiting(dict.fromkeys(hosts, record_time), request_delay=0.05) as (_, visitor):
        finished = await visitor.visit_domain(job, far())
    assert finished is not None and [host_visit.host for host_visit in finished.visits] == list(hosts)
    assert len(times) > 10
    assert min(later - earlier for earlier, later in pairwise(times)) >= 0.05


async def test_the_time_of_an_answer_is_the_sites_time(visiting: Visiting) -> None:
    """The pause between two requests, and the wait for a connection slot, say nothing about the site."""
    pause, site_seconds = 0.6, 0.2

    async def answer_after_a_moment(exchange: Exchange) -> None:
        if exchange.path == "/slow":
            await asyncio.sleep(site_seconds)
        await exchange.send((moved("/slow") if exchange.path == "/moved" else Reply(b"{}")).encode())

    urls = (f"https://{HOST}/{name}" for name in ("first", "quick", "slow", "moved"))
    async with visiting({HOST: answer_after_a_moment}, request_delay=pause) as (_, visitor):
        key = (await visitor.guard.pin(HOST)).limiter_key
        taken = [await visitor.acquire_slot(key) for _ in range(max_connections(key))]
        fetching = asyncio.create_task(fetch(visitor, *map(probe, urls)))
        await asyncio.sleep(2 * pause)
        for slot in taken:
            visitor.limiter.release(slot)
        first, quick, slow, redirected = await fetching
    assert first.elapsed_ms < 1000 * pause and quick.elapsed_ms < 1000 * pause
    for answer in (slow, redirected):
        assert 1000 * site_seconds <= answer.elapsed_ms < 1000 * (site_seconds + pause)


class InOneBlock(AddressGuard):
    """Assign sites of loopback to public addresses of one block, for the limiter only."""

    async def pin(self, host: str) -> Pin:
        return replace(await super().pin(host), limiter_key=f"8.8.8.{len(host)}")


async def test_the_budget_of_an_address_block_is_kept_across_its_hosts(visiting: Visiting) -> None:
    hosts = ("a.example", "bb.example", "ccc.example")
    pending = (probe(f"https://{hosts[2]}/left.json"),)
    sites = dict.fromkeys(hosts, SHOP)
    async with visiting(sites, block_daily_budget=25) as (served, visitor):
        visitor.guard = InOneBlock(visitor.guard.connect_to, None)
        first, second = [await visit(visitor, HostJob(host, whole_plan=True)) for host in hosts[:2]]
        third = await visit(visitor, HostJob(hosts[2], whole_plan=True, pending=pending))
    assert first.outcome is second.outcome is Outcome.FOUND, "a visit that has begun is finished"
    assert (third.outcome, third.reason, third.requests) == (Outcome.SKIPPED, "block_budget", 0)
    assert third.pending == pending and served.paths(hosts[2]) == []


async def test_connections_to_a_block_of_addresses_are_bounded(visiting: Visiting) -> None:
    """No response is sent until three requests are there; the others then wait for a slot."""
    hosts = [f"{'x' * number}.example" for number in range(1, 9)]
    current = peak = waited = 0
    three_arrived = asyncio.Event()

    async def answer_slowly(exchange: Exchange) -> None:
        nonlocal current, peak, waited
        current += 1
        peak = max(peak, current)
        if current == 3:
            waited = max(waited, visitor.limiter.waiting)
            three_arrived.set()
        await three_arrived.wait()
        current -= 1
        await exchange.send(Reply(b"no", 403).encode())

    async with visiting(dict.fromkeys(hosts, answer_slowly), block_connections=3) as (
        _,
        visitor,
    ):
        visitor.guard = InOneBlock(visitor.guard.connect_to, None)
        await asyncio.gather(*(fetch(visitor, probe(f"https://{host}/x")) for host in hosts))
    assert (peak, waited) == (3, 5)


async def test_a_visit_is_interrupted_before_its_lease_expires(visiting: Visiting) -> None:
    async with visiting({HOST: SHOP}) as (sites, visitor):
        with pytest.raises(InterruptedVisit):
            await visitor.visit_host(
                HostJob(HOST, whole_plan=True), visitor.new_pacer(), datetime.now(UTC) + timedelta(seconds=20)
            )
    assert sites.seen == []


async def test_a_stopped_visit_keeps_the_hosts_already_finished(visiting: Visiting) -> None:
    second_host = f"api.{HOST}"

    async def stop_and_answer(exchange: Exchange) -> None:
        visitor.stop.set()
        await exchange.send(Reply(b"").encode())

    job = DomainJob(HOST, (HostJob(HOST, whole_plan=True), HostJob(second_host, whole_plan=True)))
    async with visiting({HOST: SHOP, second_host: stop_and_answer}) as (sites, visitor):
        finished = await visitor.visit_domain(job, far())
    assert finished is not None and [host_visit.host for host_visit in finished.visits] == [HOST]
    assert sites.paths(second_host) == ["/robots.txt"]


async def test_a_visit_releases_its_slots_and_clients(visiting: Visiting) -> None:
    async with visiting({HOST: SHOP, "b.example": SHOP}) as (_, visitor):
        await asyncio.gather(*(visit(visitor, HostJob(host, whole_plan=True)) for host in (HOST, "b.example")))
        assert not visitor.limiter.limits and not visitor.clients.in_use


async def test_hosts_that_are_visited_together_share_a_client(visiting: Visiting) -> None:
    """Building a client parses the trust store; one for each host would double the cost of a visit."""
    peak = 0
    hosts = [f"h{number}.example" for number in range(20)]

    async def answer(exchange: Exchange) -> None:
        nonlocal peak
        peak = max(peak, len(visitor.clients.in_use))
        await exchange.send(Reply(b"", 404).encode())

    async with visiting(dict.fromkeys(hosts, answer)) as (_, visitor):
        await asyncio.gather(*(fetch(visitor, probe(f"https://{host}/x", Purpose.HOME)) for host in hosts))
    assert 1 <= peak <= 3


async def test_a_client_is_shared_only_for_the_same_pin(visiting: Visiting) -> None:
    async with visiting({HOST: SHOP}) as (_, visitor):
        first_pin = await visitor.guard.pin(HOST)
        async with (
            visitor.clients.pinned(first_pin) as first_client,
            visitor.clients.pinned(first_pin) as second_client,
        ):
            assert first_client is not second_client  # the pins of a client are fixed when it is built
        second_pin = replace(first_pin, port=1)
        clients = await asyncio.gather(*(visitor.clients.acquire(pin) for pin in (first_pin, first_pin, second_pin)))
    assert clients[0] is clients[1] and clients[0] is not clients[2]


async def test_the_alternative_address_is_tried_once_after_a_refused_connection(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    probes = [probe(f"https://{HOST}/{n}") for n in range(3)]
    async with visiting({HOST: Reply(b"{}")}) as (sites, visitor):
        working_pin = replace(await visitor.guard.pin(HOST), limiter_key="good")
        with closed_port() as port:
            dead_pin = replace(working_pin, address="127.0.0.2", port=port, limiter_key="dead")
            for pin, expected in (
                (replace(dead_pin, instead=working_pin), [(200, working_pin.address)] * 3),
                (replace(dead_pin, instead=replace(dead_pin, address="127.0.0.3")), [(None, dead_pin.address)] * 3),
                (replace(working_pin, instead=dead_pin), [(200, working_pin.address)] * 3),
            ):

                async def pinned(host: str, pin: Pin = pin) -> Pin:
                    return pin

                monkeypatch.setattr(visitor.guard, "pin", pinned)
                fetched = await fetch(visitor, *probes)
                assert [(response.status, response.address) for response in fetched] == expected
        assert sites.connections == 2
        assert not visitor.limiter.limits and not visitor.clients.in_use
