"""The last checks before a request is sent and while its response arrives."""

import asyncio
import gzip

import pytest

from crawler import response_body, transport
from crawler.response_body import BodyMemoryBudget, BodyMemoryReservation, UnusableAnswer
from crawler.transport import ask
from tests.crawler.support import Visiting, fetch, probe
from tests.support.sites import LOOPBACK, Reply, raw_port

HOST = "site.example"


@pytest.mark.parametrize(
    "url", ["https://other.example/", "https://127.0.0.1/", "https://site.example:8443/", "http://site.example/"]
)
async def test_a_url_that_the_pin_does_not_cover_is_never_dialled(visiting: Visiting, url: str) -> None:
    async with visiting({HOST: Reply(b"{}")}) as (sites, visitor):
        pin = await visitor.guard.pin(HOST)
        async with visitor.clients.pinned(pin) as client:
            with pytest.raises((AssertionError, ValueError)):
                await ask(
                    client,
                    pin,
                    url,
                    {},
                    cap=9,
                    keep_head=False,
                    seconds=1,
                    memory=BodyMemoryReservation(BodyMemoryBudget(1)),
                    ahead=0,
                )
    assert sites.connections == 0


async def test_proxies_of_the_environment_are_not_used(visiting: Visiting, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy resolves and dials for the client, without the guard."""
    proxy_connections = 0

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal proxy_connections
        proxy_connections += 1

    async with raw_port(proxy) as port:
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://{LOOPBACK}:{port}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        async with visiting({HOST: Reply(b"{}")}) as (_, visitor):
            [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.body, proxy_connections) == (b"{}", 0)


def test_a_decompression_bomb_is_unpacked_only_up_to_its_cap() -> None:
    body = response_body.Body(1_000, BodyMemoryReservation(BodyMemoryBudget(1)))
    body.decode("gzip")
    body.feed(gzip.compress(b"[" * 10_000_000))
    assert body.full and sum(map(len, body._parts)) == 1_001


async def test_a_body_in_too_many_chunks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_CHUNKS", 10)

    class Drips:
        read = 0

        async def read_chunk(self) -> "bytes | None":
            self.read += 1
            return _Chunk(b" ") if self.read <= 20 else None

    for pieces, is_refused in ((10, False), (20, True)):
        source = Drips()
        source.read = 20 - pieces
        body = response_body.Body(1_000, BodyMemoryReservation(BodyMemoryBudget(1)))
        if is_refused:
            with pytest.raises(UnusableAnswer, match="chunks"):
                await transport._read(source, {}, body, True, False)  # type: ignore[arg-type]  # a reader of ours
        else:
            await transport._read(source, {}, body, True, False)  # type: ignore[arg-type]  # a reader of ours


class _Chunk(bytes):
    def to_bytes(self) -> bytes:
        return bytes(self)
