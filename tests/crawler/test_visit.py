"""Visits of one domain over real TLS: the plan asks, the transport moves bytes, politeness and deadlines hold."""

import asyncio
import gc
import json
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import pytest

from crawler.guards import Guard, Pin
from crawler.handler import results
from crawler.visit import OFF_LOOP_BYTES, Cut, Visitor
from registry.core.documents import Fetched, Outcome, Probe, Purpose
from registry.core.plan import HostPlan
from registry.core.visits import DomainJob, FinishedDomain, HostJob, KnownDocument, Lease, Visit
from tests.crawler.support import far, fetch, hasty, probe, visiting
from tests.support.sites import Answer, Exchange, Reply, Site, closed_port, moved

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
    return await visitor.visit_host(job, visitor.pace(), far())


async def test_one_host_one_connection_and_the_document_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with visiting(monkeypatch, tmp_path, {HOST: SHOP}) as (sites, visitor):
        seen = await visit(visitor, HostJob(HOST, whole_plan=True))
    asked = sites.paths(HOST)
    assert seen.outcome is Outcome.FOUND
    assert [one.probe.url for one in seen.answers if one.assessment.outcome is Outcome.FOUND] == [
        f"https://{HOST}{CARD_PATH}"
    ]
    assert asked[0] == "/robots.txt" and len(asked) == len(set(asked)) == seen.requests
    assert "/llms.txt" not in asked
    assert sites.connections == 1
    first = sites.seen[0].headers
    assert first["user-agent"].startswith("WaypostBot/") and "(+http" in first["user-agent"]
    assert first["accept-encoding"] == "gzip" and "cookie" not in first and "referer" not in first


async def test_connection_of_a_host_that_has_nothing_is_closed_with_its_last_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Thousands of hosts in flight: a connection that is kept for nothing takes as much memory as the rest of one."""
    async with visiting(monkeypatch, tmp_path, {HOST: {}}) as (sites, visitor):
        seen = await visit(visitor, HostJob(HOST, whole_plan=True))
    asked_for = [one.headers.get("connection") for one in sites.seen]
    assert asked_for == [None] * (len(asked_for) - 1) + ["close"]
    assert sites.connections == 1 and seen.requests == len(asked_for)


async def test_a_visit_that_is_done_is_held_by_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """While the slowest of its lease goes on: twenty answers each, of ninety-nine domains."""
    open_up = asyncio.Event()

    async def slow(exchange: Exchange) -> None:
        await open_up.wait()
        await exchange.send(Reply(b"", 403).encode())

    quick = [f"q{number}.example" for number in range(5)]
    sites: dict[str, Site] = {"slow.example": slow, **dict.fromkeys(quick, Reply(b"", 403))}
    async with visiting(monkeypatch, tmp_path, sites, request_timeout=100) as (_, visitor):
        jobs = tuple(DomainJob(host, (HostJob(host, whole_plan=True),)) for host in sites)
        finished = 0
        async for done in results(visitor, Lease(uuid4(), far(), jobs)):
            assert done.finished is not None
            finished += 1
            if finished == len(quick):
                del done
                gc.collect()
                assert len(visitor.running) == 1
                held = [one for one in gc.get_objects() if isinstance(one, FinishedDomain) and one.domain in quick]
                assert len(held) <= 1  # the latest may still be on its way
                open_up.set()
    assert not visitor.running


async def test_nothing_is_asked_where_robots_disallows_everything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed = SHOP | {"/robots.txt": Reply("User-agent: *\nDisallow: /\n", type="text/plain")}
    async with visiting(monkeypatch, tmp_path, {HOST: closed}) as (sites, visitor):
        seen = await visit(visitor, HostJob(HOST, whole_plan=True))
    assert sites.paths(HOST) == ["/robots.txt"]
    assert seen.outcome is Outcome.DISALLOWED


async def test_known_document_is_asked_for_conditionally(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def card(exchange: Exchange) -> None:
        fresh = exchange.headers.get("if-none-match") == '"v1"'
        await exchange.send(Reply(status=304, type=None).encode() if fresh else Reply(CARD).encode())

    url = f"https://{HOST}{CARD_PATH}"
    known = KnownDocument(url, "a2a", Outcome.FOUND, b"", etag='"v1"')
    async with visiting(monkeypatch, tmp_path, {HOST: SHOP | {CARD_PATH: card}}) as (sites, visitor):
        seen = await visit(visitor, HostJob(HOST, whole_plan=False, known=(known,)))
        [odd] = await fetch(visitor, probe(url, etag='"v1"\r\nX-Evil: 1'))
    [answer] = [one for one in seen.answers if one.probe.url == url]
    assert (answer.fetched.status, answer.fetched.body) == (304, b"")
    assert answer.assessment.outcome is Outcome.FOUND
    assert odd.status == 200  # a validator that is no field value is left out, not sent and not fatal
    assert "x-evil" not in sites.seen[-1].headers


async def test_cookies_are_not_sent_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sets = Reply(b"{}", headers=(("Set-Cookie", "seen=1; Path=/"),))
    async with visiting(monkeypatch, tmp_path, {HOST: sets}) as (sites, visitor):
        await fetch(visitor, probe(f"https://{HOST}/first"), probe(f"https://{HOST}/second"))
    assert sites.paths(HOST) == ["/first", "/second"]
    assert "cookie" not in sites.seen[-1].headers


async def test_large_bodies_are_judged_in_a_thread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A megabyte of JSON takes tens of milliseconds, in which nobody else would be served."""
    on_the_loop: dict[str, bool] = {}
    take = HostPlan.take

    def noted(plan: HostPlan, asked: Probe, fetched: Fetched) -> None:
        on_the_loop[asked.url] = threading.current_thread() is threading.main_thread()
        take(plan, asked, fetched)

    monkeypatch.setattr(HostPlan, "take", noted)
    large = json.dumps(json.loads(CARD) | {"more": "x" * OFF_LOOP_BYTES})
    async with visiting(monkeypatch, tmp_path, {HOST: SHOP | {CARD_PATH: Reply(large)}}) as (_, visitor):
        seen = await visit(visitor, HostJob(HOST, whole_plan=True))
    assert seen.outcome is Outcome.FOUND
    assert [url for url, on_loop in on_the_loop.items() if not on_loop] == [f"https://{HOST}{CARD_PATH}"]


async def test_redirects_inside_the_domain_are_followed_hop_by_hop(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    www = f"www.{HOST}"
    sites = {
        HOST: {"/a": moved("/b", 302), "/b": moved(f"https://{www}/c", 308)},
        www: {"/c": Reply(b"{}"), "/again": moved("/again2"), "/again2": moved("/again")},
    }
    async with visiting(monkeypatch, tmp_path, sites) as (served, visitor):
        followed, looped = await fetch(visitor, probe(f"https://{HOST}/a"), probe(f"https://{www}/again"))
    assert followed.final_url == f"https://{www}/c"
    assert followed.hops == (f"https://{HOST}/a", f"https://{HOST}/b")
    assert followed.body == b"{}"
    assert (looped.failure, looped.reason) == (Outcome.SERVER_ERROR, "redirect_loop")
    assert served.paths(www) == ["/c", "/again", "/again2"]


async def test_connection_closed_between_two_requests_is_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Servers close idle connections whenever they like, also at the moment in which one is used again."""
    dropped = 0

    async def impatient(exchange: Exchange) -> None:
        nonlocal dropped
        if exchange.path == "/second" and dropped == 0:
            dropped += 1
            exchange.reset()
        else:
            await exchange.send(Reply(b"{}").encode())

    async with visiting(monkeypatch, tmp_path, {HOST: impatient}) as (sites, visitor):
        first, second = await fetch(visitor, probe(f"https://{HOST}/first"), probe(f"https://{HOST}/second"))
    assert (first.body, second.body) == (b"{}", b"{}")
    assert sites.paths(HOST) == ["/first", "/second", "/second"]


async def test_host_that_never_lets_go_is_left_at_its_deadline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each answer takes ten minutes by the visitor's clock, which leaves the host after 59: six, of the plan's 18."""
    waited = 0.0

    async def crawls(exchange: Exchange) -> None:
        nonlocal waited
        waited += 600
        await exchange.send(Reply(b"none", 404).encode())

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + waited)
    async with visiting(monkeypatch, tmp_path, {HOST: crawls}, host_deadline=3_540) as (sites, visitor):
        monkeypatch.setattr("crawler.visit.time", clock)
        until = datetime.now(UTC) + timedelta(days=1)
        seen = await visitor.visit_host(HostJob(HOST, whole_plan=True), visitor.pace(), until)
    assert (seen.outcome, seen.reason) == (Outcome.SKIPPED, "host_deadline")
    assert len(sites.paths(HOST)) == 6


async def test_silent_host_is_given_up_after_a_few_timeouts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def silent(exchange: Exchange) -> None:
        if exchange.path in ("/robots.txt", "/"):
            await exchange.send(Reply(b"").encode())
        else:
            await asyncio.sleep(60)

    hasty(monkeypatch, 0.3, lambda url: not url.endswith(("/robots.txt", f"{HOST}/")))
    async with visiting(monkeypatch, tmp_path, {HOST: silent}) as (_, visitor):
        seen = await visit(visitor, HostJob(HOST, whole_plan=True))
    assert (seen.outcome, seen.reason) == (Outcome.UNREACHABLE, "request_timeout")
    assert seen.requests == 2 + 5


async def test_pauses_between_requests_over_all_hosts_of_a_domain(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    times: list[float] = []

    async def timed(exchange: Exchange) -> None:
        times.append(asyncio.get_running_loop().time())
        await exchange.send(Reply(b"no", 403).encode())

    hosts = (HOST, f"api.{HOST}")
    job = DomainJob(HOST, tuple(HostJob(host, whole_plan=True) for host in hosts))
    async with visiting(monkeypatch, tmp_path, dict.fromkeys(hosts, timed), request_delay=0.05) as (_, visitor):
        done = await visitor.visit_domain(job, far())
    assert done is not None and [one.host for one in done.visits] == list(hosts)
    assert len(times) > 10
    assert min(later - earlier for earlier, later in pairwise(times)) >= 0.05


async def test_budget_of_the_day_is_kept_over_all_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hosts = (HOST, f"api.{HOST}", f"docs.{HOST}")
    job = DomainJob(HOST, tuple(HostJob(host, whole_plan=True) for host in hosts), spent=85)
    async with visiting(monkeypatch, tmp_path, dict.fromkeys(hosts, SHOP)) as (sites, visitor):
        done = await visitor.visit_domain(job, far())
    assert done is not None
    assert len(sites.seen) <= 120 - 85
    assert sum(one.requests for one in done.visits) == len(sites.seen)
    assert [(one.outcome, one.reason, one.requests) for one in done.visits][-1] == (
        Outcome.SKIPPED,
        "domain_budget",
        0,
    )


class InOneBlock(Guard):
    """Places sites of loopback at public addresses of one block, as far as politeness is concerned."""

    async def pin(self, host: str) -> Pin:
        return replace(await super().pin(host), place=f"8.8.8.{len(host)}")


async def test_budget_of_a_block_of_addresses_is_kept_over_its_hosts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hosts = ("a.example", "bb.example", "ccc.example")
    pending = (probe(f"https://{hosts[2]}/left.json"),)
    sites = dict.fromkeys(hosts, SHOP)
    async with visiting(monkeypatch, tmp_path, sites, block_daily_budget=25) as (served, visitor):
        visitor.guard = InOneBlock(visitor.guard.table, None)
        first, second = [await visit(visitor, HostJob(host, whole_plan=True)) for host in hosts[:2]]
        third = await visit(visitor, HostJob(hosts[2], whole_plan=True, pending=pending))
    assert first.outcome is second.outcome is Outcome.FOUND, "a visit that has begun is finished"
    assert (third.outcome, third.reason, third.requests) == (Outcome.SKIPPED, "block_budget", 0)
    assert third.pending == pending and served.paths(hosts[2]) == []


async def test_connections_to_a_block_of_addresses_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody is answered until three are there; the others wait for a place then."""
    hosts = [f"{'x' * number}.example" for number in range(1, 9)]
    now = most = waited = 0
    three = asyncio.Event()

    async def slow(exchange: Exchange) -> None:
        nonlocal now, most, waited
        now += 1
        most = max(most, now)
        if now == 3:
            waited = max(waited, visitor.places.waiting)
            three.set()
        await three.wait()
        now -= 1
        await exchange.send(Reply(b"no", 403).encode())

    async with visiting(monkeypatch, tmp_path, dict.fromkeys(hosts, slow), block_connections=3) as (_, visitor):
        visitor.guard = InOneBlock(visitor.guard.table, None)
        await asyncio.gather(*(fetch(visitor, probe(f"https://{host}/x")) for host in hosts))
    assert (most, waited) == (3, 5)


async def test_visit_is_cut_before_the_lease_runs_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with visiting(monkeypatch, tmp_path, {HOST: SHOP}) as (sites, visitor):
        with pytest.raises(Cut):
            await visitor.visit_host(
                HostJob(HOST, whole_plan=True), visitor.pace(), datetime.now(UTC) + timedelta(seconds=20)
            )
    assert sites.seen == []


async def test_visit_is_cut_between_two_hosts_and_keeps_the_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    second = f"api.{HOST}"

    async def stops(exchange: Exchange) -> None:
        visitor.stop.set()
        await exchange.send(Reply(b"").encode())

    job = DomainJob(HOST, (HostJob(HOST, whole_plan=True), HostJob(second, whole_plan=True)))
    async with visiting(monkeypatch, tmp_path, {HOST: SHOP, second: stops}) as (sites, visitor):
        done = await visitor.visit_domain(job, far())
    assert done is not None and [one.host for one in done.visits] == [HOST]
    assert sites.paths(second) == ["/robots.txt"]


async def test_what_a_visit_took_is_given_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with visiting(monkeypatch, tmp_path, {HOST: SHOP, "b.example": SHOP}) as (_, visitor):
        await asyncio.gather(*(visit(visitor, HostJob(host, whole_plan=True)) for host in (HOST, "b.example")))
        assert len(visitor.places) == 0
        assert len(visitor.clients) == 0


async def test_hosts_that_are_visited_together_share_a_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Building one parses the trust store: one for each host would double the cost of a visit."""
    most = 0
    hosts = [f"h{number}.example" for number in range(20)]

    async def answer(exchange: Exchange) -> None:
        nonlocal most
        most = max(most, len(visitor.clients))
        await exchange.send(Reply(b"", 404).encode())

    async with visiting(monkeypatch, tmp_path, dict.fromkeys(hosts, answer)) as (_, visitor):
        await asyncio.gather(*(fetch(visitor, probe(f"https://{host}/x", Purpose.HOME)) for host in hosts))
    assert 1 <= most <= 3


async def test_one_name_at_two_addresses_is_two_clients(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with visiting(monkeypatch, tmp_path, {HOST: SHOP}) as (_, visitor):
        here = await visitor.guard.pin(HOST)
        async with visitor.clients.pinned(here) as one, visitor.clients.pinned(here) as other:
            assert one is not other  # pins of a client are fixed when it is built
        elsewhere = replace(here, port=1)
        held = await asyncio.gather(*(visitor.clients.pinned(pin).__aenter__() for pin in (here, here, elsewhere)))
    assert held[0] is held[1] and held[0] is not held[2]


async def test_other_address_is_tried_once_where_nobody_listens(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    urls = [probe(f"https://{HOST}/{n}") for n in range(3)]
    async with visiting(monkeypatch, tmp_path, {HOST: Reply(b"{}")}) as (sites, visitor):
        good = replace(await visitor.guard.pin(HOST), place="good")
        with closed_port() as port:
            dead = replace(good, address="127.0.0.2", port=port, place="dead")
            for pin, expected in (
                (replace(dead, instead=good), [(200, good.address)] * 3),
                (replace(dead, instead=replace(dead, address="127.0.0.3")), [(None, dead.address)] * 3),
                (replace(good, instead=dead), [(200, good.address)] * 3),
            ):

                async def pinned(host: str, pin: Pin = pin) -> Pin:
                    return pin

                monkeypatch.setattr(visitor.guard, "pin", pinned)
                fetched = await fetch(visitor, *urls)
                assert [(one.status, one.address) for one in fetched] == expected
        assert sites.connections == 2
        assert len(visitor.places) == len(visitor.clients) == 0
