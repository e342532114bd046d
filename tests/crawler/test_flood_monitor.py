"""Connections that receive more than any valid response are shut down, and no others."""

import asyncio
import socket

import pytest

from crawler.response_body import LARGEST_BODY
from registry.core.model.documents import Outcome
from registry.core.visiting.visits import HostJob
from tests.crawler.support import Visiting, far, fetch, probe
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Behaviour, Exchange, Reply, pours

HOST = "pours.example"
MANIFEST = "/.well-known/agent"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1_500


def _only_at(path: str, behaviour: Behaviour) -> Behaviour:
    async def answer(exchange: Exchange) -> None:
        if exchange.path == path:
            await behaviour(exchange)
        else:
            await exchange.send(Reply(b"nothing here", 404, "text/plain").encode())

    return answer


async def test_a_flood_of_interim_responses_ends_the_visit_at_once(visiting: Visiting) -> None:
    flooding_site = _only_at(MANIFEST, pours(b"", INTERIM))
    async with visiting({HOST: flooding_site}, request_timeout=100) as (sites, visitor):
        async with asyncio.timeout(HANG_SECONDS):
            host_visit = await visitor.visit_host(HostJob(HOST, whole_plan=True), visitor.new_pacer(), far())
    assert (host_visit.outcome, host_visit.reason) == (Outcome.UNREACHABLE, "flood")
    assert sites.paths(HOST)[-1] == MANIFEST and sites.paths(HOST).count(MANIFEST) == 1


async def test_a_slow_flood_is_shut_down_at_its_total_limit(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.flood_monitor.MAX_PER_WINDOW", 1 << 40)
    monkeypatch.setattr("crawler.flood_monitor.MAX_PER_CONNECTION", 3 * len(INTERIM))
    flooding_site = _only_at(MANIFEST, pours(b"", INTERIM, 0.2))
    async with visiting({HOST: flooding_site}, request_timeout=100) as (_, visitor):
        async with asyncio.timeout(HANG_SECONDS):
            [fetched] = await fetch(visitor, probe(f"https://{HOST}{MANIFEST}"))
    assert (fetched.failure, fetched.reason) == (Outcome.UNREACHABLE, "flood")


@pytest.mark.parametrize("size", [LARGEST_BODY, 12 * 1024 * 1024])
async def test_large_documents_are_no_flood(visiting: Visiting, size: int) -> None:
    """The largest documents that are read, one after the other on one connection with the usual pause, are never taken
    for a flood, however late the monitor scans."""
    body = b"[" + b" " * (size - 2) + b"]"
    probes = [probe(f"https://{HOST}/{n}", cap=len(body)) for n in range(3)]
    overrides = {"request_delay": 1, "request_timeout": 100}
    async with visiting({HOST: Reply(body)}, **overrides) as (sites, visitor):
        answers = await fetch(visitor, *probes)
    assert [len(answer.body) for answer in answers] == [len(body)] * 3
    assert len({exchange.connection for exchange in sites.seen}) == 1


async def test_other_connections_of_the_process_are_not_limited(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections to the database or a search server may receive any amount."""
    monkeypatch.setattr("crawler.flood_monitor.MAX_PER_WINDOW", 1_000)
    monkeypatch.setattr("crawler.flood_monitor.MAX_PER_CONNECTION", 1_000)
    async with visiting({HOST: Reply(b"{}")}) as (_, visitor):
        await fetch(visitor, probe(f"https://{HOST}/"))
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname()) as client_socket,
            server.accept()[0] as server_socket,
        ):
            server_socket.sendall(b"x" * 50_000)
            visitor.flood_monitor.scan()
            server_socket.shutdown(socket.SHUT_WR)
            received = b"".join(iter(lambda: client_socket.recv(65_536), b""))
            client_socket.sendall(b"still open")
    assert len(received) == 50_000
