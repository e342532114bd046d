"""A network of the test's own, in which every address is local and nothing leads outside.

Run as a program by `in_namespace`, inside fresh network and mount namespaces; it refuses to go on anywhere else. All
addresses are made local there, so that the guard with its real rules can be watched dialling, or not dialling, real
addresses: listeners note the address at which each connection arrived. A name server of our own answers from NAMES.
"""

import asyncio
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from crawler.visit import Session, Visitor
from registry.core.redirects import redirect
from registry.settings import Settings
from tests.crawler.support import far, probe
from tests.support.sites import Exchange, Reply, Sites, moved

PUBLIC, PUBLIC_V6 = "93.184.215.14", "2606:2800:21f:cb07::1"
REFUSED = {
    "loopback": "127.0.0.1",
    "loopback-far": "127.77.0.1",
    "this-network": "0.0.0.0",
    "private-a": "10.0.0.1",
    "private-b": "172.16.0.1",
    "private-c": "192.168.0.1",
    "shared": "100.64.0.1",
    "metadata": "169.254.169.254",
    "metadata-shared": "100.100.100.200",
    "metadata-oracle": "192.0.0.192",
    "azure": "168.63.129.16",
    "benchmark": "198.18.0.1",
    "documentation": "203.0.113.1",
    "multicast": "224.0.0.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "v6-loopback": "::1",
    "v6-unspecified": "::",
    "v6-mapped": "::ffff:127.0.0.1",
    "v6-compatible": "::127.0.0.1",
    "v6-translated": "::ffff:0:127.0.0.1",
    "v6-nat64": "64:ff9b::7f00:1",
    "v6-6to4": "2002:7f00:1::1",
    "v6-teredo": "2001:0:7f00:1::1",
    "v6-local": "fc00::1",
    "v6-link": "fe80::1",
    "v6-site": "fec0::1",
    "v6-documentation": "3fff::1",
    "v6-unallocated": "4000::1",
    "v6-multicast": "ff02::1",
}
ZONE = "probe-target.com"
NAMES: dict[str, list[str]] = {f"{name}.{ZONE}": [address] for name, address in REFUSED.items()} | {
    f"control.{ZONE}": [PUBLIC],
    f"control6.{ZONE}": [PUBLIC_V6],
    f"mixed.{ZONE}": ["10.0.0.1", "::1", PUBLIC],
    f"redirects.{ZONE}": [PUBLIC],
}
REBINDS = f"rebinds.{ZONE}"  # public and private in turn
LITERALS = (
    "https://127.0.0.1/x",
    "https://127.1/x",
    "https://2130706433/x",
    "https://[::1]/x",
    "https://[::ffff:7f00:1]/x",
)


def in_namespace() -> dict[str, object]:
    """What the visits in there came to and where connections arrived; skips, saying so, where it cannot be done."""
    if sys.platform != "linux" or not shutil.which("unshare") or not shutil.which("ip"):
        pytest.skip("needs Linux with unshare and ip")
    unshare = ["unshare", "--user", "--map-root-user", "--net", "--mount"]
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine does not allow network namespaces")
    done = subprocess.run(
        [*unshare, sys.executable, "-m", __name__],
        cwd=Path(__file__).parents[2],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


@dataclass
class NameServer(asyncio.DatagramProtocol):
    """Answers A and AAAA from NAMES with TTL 0; REBINDS is public for one question and private for the next."""

    asked: set[str] = field(default_factory=set)
    turns: "count[int]" = field(default_factory=count)

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 1
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        self.asked.add(".".join(labels).lower())
        (kind,) = struct.unpack("!H", data[end : end + 2])
        name = ".".join(labels).lower()
        records = [packed for packed in map(_packed, self._addresses(name)) if len(packed) == (4 if kind == 1 else 16)]
        code = 0 if name in NAMES or name == REBINDS else 3
        head = data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        body = b"".join(struct.pack("!HHHIH", 0xC00C, kind, 1, 0, len(one)) + one for one in records)
        self.transport.sendto(head + data[12 : end + 4] + body, addr)

    def _addresses(self, name: str) -> list[str]:
        if name == REBINDS:
            return [(PUBLIC, "127.0.0.1")[next(self.turns) // 2 % 2]]  # two questions for each look-up: A and AAAA
        return NAMES.get(name, [])


def _packed(address: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def _enclose(folder: Path) -> None:
    """Makes every address local; refuses to go on where there is any other way out."""
    if _interfaces() != ["lo"]:
        sys.exit("there is more than loopback here: not a namespace of our own")
    for command in (
        "link set lo up",
        "route add local 0.0.0.0/0 dev lo",
        "-6 route add local ::/0 dev lo",
    ):
        subprocess.run(["ip", *command.split()], check=True)
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\nsearch example.org\n")
    subprocess.run(["mount", "--bind", str(folder / "resolv.conf"), "/etc/resolv.conf"], check=True)


def _interfaces() -> list[str]:
    shown = subprocess.run(["ip", "-o", "link"], check=True, capture_output=True, text=True).stdout
    return [line.split(": ")[1].split("@")[0] for line in shown.splitlines()]


async def _arrivals(sites: Sites, port: int, arrived: list[str]) -> None:
    """Notes the address at which each connection arrives, then serves the sites there."""

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.append(writer.get_extra_info("sockname")[0])
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", sites.port)
        await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer), return_exceptions=True)

    for host in ("0.0.0.0", "::"):
        await asyncio.start_server(note, host, port)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
    writer.close()


async def _run(folder: Path) -> dict[str, object]:
    async def to_the_inside(exchange: Exchange) -> None:
        name = exchange.path.removeprefix("/")
        target = f"https://{name}.{ZONE}/x" if name in REFUSED else f"https://{name}/x"
        await exchange.send(moved(target).encode())

    everywhere = {name: Reply(b"{}") for name in (*NAMES, REBINDS)}
    async with Sites(everywhere | {f"redirects.{ZONE}": to_the_inside}) as sites:
        os.environ["SSL_CERT_FILE"] = str(sites.write_authority(folder))
        os.environ.pop("SSL_CERT_DIR", None)
        loop = asyncio.get_running_loop()
        _, names = await loop.create_datagram_endpoint(NameServer, local_addr=("127.0.0.1", 53))
        arrived: list[str] = []
        for port in (443, 80, 8443):
            await _arrivals(sites, port, arrived)
        settings = Settings(request_delay=0, connect_timeout=2, request_timeout=3)
        async with Visitor(settings) as visitor:
            urls = [f"https://{name}/x" for name in NAMES]
            urls += [f"https://redirects.{ZONE}/{name}" for name in (*REFUSED, "127.0.0.1", "[::1]")]
            urls += [*LITERALS, *([f"https://{REBINDS}/x"] * 30), f"https://nobody.{ZONE}/x"]
            outcomes = [[url, *(await _fetch(visitor, url))] for url in urls]
        return {"outcomes": outcomes, "arrived": arrived, "names": sorted(names.asked)}


async def _fetch(visitor: Visitor, url: str) -> tuple[str, str]:
    async with Session(visitor, visitor.pace(), far()) as session:
        fetched = await session.fetch(probe(url), lambda p, at, location, hops: redirect(at, location, hops, p.purpose))
    return (fetched.failure.value, fetched.reason) if fetched.failure else ("answered", str(fetched.status))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        _enclose(Path(scratch))
        print(json.dumps(asyncio.run(_run(Path(scratch)))))  # noqa: T201
