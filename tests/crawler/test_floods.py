"""What the kernel counted on a connection: who pours what no answer is made of is shut out, and nobody else is."""

import asyncio
import socket
from pathlib import Path

import pytest

from crawler.room import LARGEST
from registry.core.documents import Outcome
from registry.core.visits import HostJob
from tests.crawler.support import far, fetch, probe, visiting
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


async def test_a_host_that_pours_interim_responses_is_left_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pouring = _only_at(MANIFEST, pours(b"", INTERIM))
    async with visiting(monkeypatch, tmp_path, {HOST: pouring}, request_timeout=100) as (sites, visitor):
        async with asyncio.timeout(120):
            seen = await visitor.visit_host(HostJob(HOST, whole_plan=True), visitor.pace(), far())
    assert (seen.outcome, seen.reason) == (Outcome.UNREACHABLE, "flood")
    assert sites.paths(HOST)[-1] == MANIFEST and sites.paths(HOST).count(MANIFEST) == 1


async def test_what_pours_slowly_is_shut_when_it_comes_to_too_much_in_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("crawler.floods.AT_ONCE", 1 << 40)
    monkeypatch.setattr("crawler.floods.IN_ALL", 3 * len(INTERIM))
    pouring = _only_at(MANIFEST, pours(b"", INTERIM, 0.2))
    async with visiting(monkeypatch, tmp_path, {HOST: pouring}, request_timeout=100) as (_, visitor):
        async with asyncio.timeout(120):
            [answer] = await fetch(visitor, probe(f"https://{HOST}{MANIFEST}"))
    assert (answer.failure, answer.reason) == (Outcome.UNREACHABLE, "flood")


@pytest.mark.parametrize("size", [LARGEST, 12 * 1024 * 1024])
async def test_large_documents_are_no_flood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: int) -> None:
    """As large as any that is read, one after the other on one connection, with the usual pause, however late somebody
    looks."""
    body = b"[" + b" " * (size - 2) + b"]"
    many = [probe(f"https://{HOST}/{n}", cap=len(body)) for n in range(3)]
    patient = {"request_delay": 1, "request_timeout": 100}
    async with visiting(monkeypatch, tmp_path, {HOST: Reply(body)}, **patient) as (sites, visitor):
        answers = await fetch(visitor, *many)
    assert [len(one.body) for one in answers] == [len(body)] * 3
    assert len({exchange.connection for exchange in sites.seen}) == 1


async def test_other_connections_of_the_process_are_nobodys_business(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A database or a search server may send as much as it likes."""
    monkeypatch.setattr("crawler.floods.AT_ONCE", 1_000)
    monkeypatch.setattr("crawler.floods.IN_ALL", 1_000)
    async with visiting(monkeypatch, tmp_path, {HOST: Reply(b"{}")}) as (_, visitor):
        await fetch(visitor, probe(f"https://{HOST}/"))
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname()) as ours,
            server.accept()[0] as theirs,
        ):
            theirs.sendall(b"x" * 50_000)
            visitor.floods.look()
            theirs.shutdown(socket.SHUT_WR)
            received = b"".join(iter(lambda: ours.recv(65_536), b""))
            ours.sendall(b"still open")
    assert len(received) == 50_000
