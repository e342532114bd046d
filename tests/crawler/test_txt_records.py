"""TXT records through the real resolver, from a name server on loopback that sends what a test wants."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from crawler import guards
from crawler.guards import RESOLVER_AWAY, AddressGuard, ConnectTo, ResolutionError, Resolver
from tests.support.hang import HANG_SECONDS

NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3


class NameServer(asyncio.DatagramProtocol):
    def __init__(self, code: int, texts: tuple[bytes, ...]) -> None:
        self.code, self.texts = code, texts
        self.codes: dict[str, int] = {}
        self.asked: list[str] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        labels, offset = [], 12
        while data[offset]:
            labels.append(data[offset + 1 : offset + 1 + data[offset]].decode())
            offset += 1 + data[offset]
        self.asked.append(".".join(labels))
        question = data[12 : offset + 5]
        header = data[:2] + struct.pack(
            "!HHHHH", 0x8180 | self.codes.get(self.asked[-1], self.code), 1, len(self.texts), 0, 0
        )
        answers = b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", 16, 1, 3_600, len(text) + 1) + bytes([len(text)]) + text
            for text in self.texts
        )
        self.transport.sendto(header + question + answers, address)


@asynccontextmanager
async def resolver(code: int, *texts: bytes) -> AsyncIterator[tuple[AddressGuard, NameServer]]:
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: NameServer(code, texts), local_addr=("127.0.0.1", 0)
    )
    port = transport.get_extra_info("sockname")[1]
    dns_resolver = Resolver(120, nameservers=["127.0.0.1"], udp_port=port, tries=1)
    try:
        yield AddressGuard(ConnectTo.parse(()), dns_resolver), server
    finally:
        await dns_resolver.close()
        transport.close()


async def test_every_record_is_returned_as_bytes() -> None:
    async with resolver(NOERROR, b"v=spf1 -all", b"opt-out", b"\xff\x00") as (guard, server):
        assert set(await guard.txt_records("_waypost.shop.com")) == {b"v=spf1 -all", b"opt-out", b"\xff\x00"}
        assert server.asked == ["_waypost.shop.com"]


@pytest.mark.parametrize("code", [NXDOMAIN, NOERROR])
async def test_a_name_without_records_has_none(code: int) -> None:
    async with resolver(code) as (guard, _):
        assert await guard.txt_records("_waypost.shop.com") == ()


async def test_a_failing_name_server_raises_unresolved() -> None:
    async with resolver(SERVFAIL) as (guard, _):
        with pytest.raises(ResolutionError):
            await guard.txt_records("_waypost.shop.com")


@pytest.mark.parametrize(("others", "reason"), [(SERVFAIL, RESOLVER_AWAY), (NXDOMAIN, "dns_servfail")])
async def test_a_resolver_that_answers_nothing_is_told_from_a_name_that_fails(others: int, reason: str) -> None:
    async with resolver(others) as (guard, server):
        server.codes["_waypost.shop.com"] = SERVFAIL
        for _ in range(2):
            with pytest.raises(ResolutionError, match=reason):
                await guard.txt_records("_waypost.shop.com")
        assert len(set(server.asked)) == 2  # one question about the resolver for both


async def test_the_dns_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library keeps responses without a limit, so a list of millions of names would fill the memory."""
    monkeypatch.setattr(guards, "CACHE_RESET_EVERY", 3)
    async with resolver(NOERROR, b"v=spf1 -all") as (guard, server):
        for _ in range(2):
            await guard.txt_records("shop.com")
        assert server.asked == ["shop.com"]  # cached
        async with asyncio.timeout(HANG_SECONDS):
            while server.asked == ["shop.com"]:  # a thread empties the cache a moment later
                await guard.txt_records("shop.com")


async def test_without_a_resolver_there_are_no_records() -> None:
    assert await AddressGuard(ConnectTo.parse(()), None).txt_records("_waypost.shop.com") == ()
