"""A network of a test's own, in which every address is local and nothing leads outside.

`run_enclosed` runs a module of the tests inside fresh network and mount namespaces; that module calls `enclose`, which
refuses to go on anywhere else. All addresses are made local there, so that the guard with its real rules can be
watched dialling, or not dialling, real addresses: `Wire` sees every attempt, whatever the port, and `NameServer` gives
whatever answers a test needs.
"""

import asyncio
import ctypes
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Self, TypeAlias, cast

from tests.support.shared import ROOT

Records: TypeAlias = Sequence[tuple[str, str]]
"""What a name server says of one name, in order: ("A", "10.0.0.1"), ("AAAA", "::1"), ("CNAME", "other.name")."""

# Root needs no user namespace, in which it could no longer reach the sockets of other accounts.
_USER: Final = () if os.geteuid() == 0 else ("--user", "--map-root-user")
_UNSHARE: Final = ("unshare", *_USER, "--net", "--mount")


def why_not() -> str | None:
    """Why there can be no namespace on this machine; None where there can."""
    if sys.platform != "linux" or not shutil.which("unshare") or not shutil.which("ip"):
        return "needs Linux with unshare and ip"
    if subprocess.run([*_UNSHARE, "true"], check=False, capture_output=True).returncode:
        return "this machine does not allow network namespaces"
    return None


def run_enclosed(module: str, *arguments: str, seconds: float = 300) -> Any:
    """What `module`, run as a program in there, prints on its last line, as JSON."""
    done = subprocess.run(
        [*_UNSHARE, sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return json.loads(done.stdout.splitlines()[-1])


def enclose(folder: Path, hosts_file: str = "") -> None:
    """Makes every address local; refuses to go on where there is any other way out."""
    if _ip("-o", "link").count("\n") != 1 or ": lo:" not in _ip("-o", "link"):
        sys.exit("there is more than loopback here: not a namespace of our own")
    if _ip("route") or _ip("-6", "route"):
        sys.exit("there is a route out of here: not a namespace of our own")
    for command in ("link set lo up", "route add local 0.0.0.0/0 dev lo", "-6 route add local ::/0 dev lo"):
        _ip(*command.split())
    for name, text in (
        ("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\nsearch example.org\n"),
        ("hosts", hosts_file),
    ):
        (folder / name).write_text(text)
        subprocess.run(["mount", "--bind", str(folder / name), f"/etc/{name}"], check=True)


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


class NameServer(asyncio.DatagramProtocol):
    """Answers A and AAAA with TTL 0 from `find(name)`: its records, or None for a name that nobody has."""

    def __init__(self, find: Callable[[str], Records | None]) -> None:
        self.asked: Counter[str] = Counter()
        self._find = find

    @classmethod
    def start(cls, find: Callable[[str], Records | None]) -> Self:
        """In a thread of its own, so that a busy crawler does not wait for itself; until the process ends."""
        made, ready = cls(find), threading.Event()

        async def serve() -> None:
            loop = asyncio.get_running_loop()
            await loop.create_datagram_endpoint(lambda: made, local_addr=("127.0.0.1", 53))
            ready.set()
            await asyncio.Event().wait()

        threading.Thread(target=asyncio.run, args=(serve(),), daemon=True).start()
        if not ready.wait(10):
            raise RuntimeError("port 53 is taken")
        return made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 1
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode("latin-1"))
            at += 1 + data[at]
        name = ".".join(labels).lower()
        self.asked[name] += 1
        (kind,) = struct.unpack("!H", data[end : end + 2])
        known = self._find(name)
        records = self._chain(name, known or (), "AAAA" if kind == 28 else "A")
        head = data[:2] + struct.pack("!HHHHH", 0x8180 | (0 if known is not None else 3), 1, len(records), 0, 0)
        self.transport.sendto(head + data[12 : end + 4] + b"".join(records), addr)

    def _chain(self, name: str, records: Records, wanted: str) -> list[bytes]:
        """Aliases are followed as a recursive server does, eight at most."""
        made: list[bytes] = []
        for _ in range(8):
            made += (_record(name, kind, value) for kind, value in records if kind in (wanted, "CNAME"))
            alias = next((value for kind, value in records if kind == "CNAME"), None)
            if alias is None:
                break
            name, records = alias, self._find(alias) or ()
        return made


def _record(name: str, kind: str, value: str) -> bytes:
    data = _wire_name(value) if kind == "CNAME" else ip_address(value).packed
    number = {"A": 1, "CNAME": 5, "AAAA": 28}[kind]
    return _wire_name(name) + struct.pack("!HHIH", number, 1, 0, len(data)) + data


def _wire_name(name: str) -> bytes:
    return b"".join(bytes((len(label),)) + label.encode() for label in name.split(".")) + b"\0"


class Wire:
    """Notes every attempt to reach anything, on whatever port: TCP by its first packet, the rest packet by packet.

    `dialled` counts (protocol, address, port). Payload never gets here: a filter in the kernel drops it.
    """

    def __init__(self) -> None:
        self.dialled: Counter[tuple[str, str, int]] = Counter()
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0003))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
        self._filter()
        self._socket.bind(("lo", 0))
        self._socket.setblocking(False)
        asyncio.get_running_loop().add_reader(self._socket, self._read)

    def lost(self) -> int:
        """Packets that came too fast to be noted: with any, nothing is proven."""
        self._read()
        statistics = self._socket.getsockopt(263, 6, 8)  # SOL_PACKET, PACKET_STATISTICS
        return int(struct.unpack("II", statistics)[1])

    def _filter(self) -> None:
        """Classic BPF: of TCP only SYN without ACK, everything else whole."""
        program = (
            (0x30, 0, 0, 0), (0x54, 0, 0, 0xF0), (0x15, 6, 0, 0x60),  # version 6: on to the ninth line
            (0x30, 0, 0, 9), (0x15, 0, 9, 6), (0xB1, 0, 0, 0), (0x50, 0, 0, 13), (0x54, 0, 0, 0x12), (0x15, 5, 6, 2),
            (0x30, 0, 0, 6), (0x15, 0, 3, 6), (0x30, 0, 0, 53), (0x54, 0, 0, 0x12), (0x15, 0, 1, 2),
            (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0),
        )  # fmt: skip
        code = b"".join(struct.pack("HBBI", *one) for one in program)
        self._code = ctypes.create_string_buffer(code, len(code))
        attached = struct.pack("HL", len(program), ctypes.addressof(self._code))
        self._socket.setsockopt(socket.SOL_SOCKET, 26, attached)  # SO_ATTACH_FILTER

    def _read(self) -> None:
        while True:
            try:
                packet, (_, _, direction, *_) = self._socket.recvfrom(256)
            except BlockingIOError:
                return
            if direction == 4 and (seen := _seen(packet)):  # PACKET_OUTGOING: each packet of `lo` comes twice
                self.dialled[seen] += 1


def _seen(packet: bytes) -> tuple[str, str, int] | None:
    """Answers of the name server and what the kernel says about packets that nobody took are no attempts."""
    if packet[0] >> 4 == 4:
        protocol, target, rest = packet[9], packet[16:20], packet[(packet[0] & 15) * 4 :]
    else:
        protocol, target, rest = packet[6], packet[24:40], packet[40:]
    if protocol in (1, 58) or len(rest) < 4:
        return None
    source_port, port = struct.unpack("!HH", rest[:4])
    if protocol == 17 and source_port == 53:
        return None
    return {6: "tcp", 17: "udp"}.get(protocol, str(protocol)), str(ip_address(target)), port
