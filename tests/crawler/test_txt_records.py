"""TXT records by the real resolver, from a name server on loopback that answers what a test wants."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from crawler import guards
from crawler.guards import ConnectTo, Guard, Resolver, Unresolved

NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3


class NameServer(asyncio.DatagramProtocol):
    def __init__(self, code: int, texts: tuple[bytes, ...]) -> None:
        self.code, self.texts = code, texts
        self.asked: list[str] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        self.asked.append(".".join(labels))
        question = data[12 : at + 5]
        head = data[:2] + struct.pack("!HHHHH", 0x8180 | self.code, 1, len(self.texts), 0, 0)
        answers = b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", 16, 1, 3_600, len(text) + 1) + bytes([len(text)]) + text
            for text in self.texts
        )
        self.transport.sendto(head + question + answers, address)


@asynccontextmanager
async def resolver(code: int, *texts: bytes) -> AsyncIterator[tuple[Guard, NameServer]]:
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: NameServer(code, texts), local_addr=("127.0.0.1", 0)
    )
    made = Resolver()
    await made._dns.close()
    port = transport.get_extra_info("sockname")[1]
    made._dns = guards._Dns(nameservers=["127.0.0.1"], udp_port=port, timeout=60, tries=1)
    try:
        yield Guard(ConnectTo.parse(()), made), server
    finally:
        await made.close()
        transport.close()


async def test_every_record_is_given_as_its_bytes() -> None:
    async with resolver(NOERROR, b"v=spf1 -all", b"opt-out", b"\xff\x00") as (guard, server):
        assert set(await guard.texts("_waypost.shop.com")) == {b"v=spf1 -all", b"opt-out", b"\xff\x00"}
        assert server.asked == ["_waypost.shop.com"]


@pytest.mark.parametrize("code", [NXDOMAIN, NOERROR])
async def test_a_name_without_records_has_none(code: int) -> None:
    async with resolver(code) as (guard, _):
        assert await guard.texts("_waypost.shop.com") == ()


async def test_a_name_server_that_fails_is_not_taken_for_silence() -> None:
    async with resolver(SERVFAIL) as (guard, _):
        with pytest.raises(Unresolved):
            await guard.texts("_waypost.shop.com")


async def test_answers_are_forgotten_while_their_time_to_live_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library keeps them without a limit: a list of millions of names would fill the memory."""
    monkeypatch.setattr(guards, "FORGET", 3)
    async with resolver(NOERROR, b"v=spf1 -all") as (guard, server):
        for _ in range(2):
            await guard.texts("shop.com")
        assert server.asked == ["shop.com"]  # remembered
        async with asyncio.timeout(120):
            while server.asked == ["shop.com"]:  # it is forgotten in a thread, a moment later
                await guard.texts("shop.com")


async def test_without_a_resolver_nobody_is_asked() -> None:
    assert await Guard(ConnectTo.parse(()), None).texts("_waypost.shop.com") == ()
