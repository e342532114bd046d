"""A private network for a test, in which every address is local and nothing leads outside.

`run_enclosed` runs a module of the tests inside fresh network and mount namespaces; that module calls `enclose`, which
exits anywhere else. There all addresses are local, so that a test can watch whether the guard with its real rules
dials real addresses: `Wire` records every attempt on any port, and `NameServer` returns whatever records a test needs.
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
"""The records of one name, in order: ("A", "10.0.0.1"), ("AAAA", "::1"), ("CNAME", "other.name")."""

# Root needs no user namespace; inside one it could no longer reach the sockets of other accounts.
_USER: Final = () if os.geteuid() == 0 else ("--user", "--map-root-user")
_UNSHARE: Final = ("unshare", *_USER, "--net", "--mount")


def why_not() -> str | None:
    """Return why this machine allows no namespace; None if it does."""
    if sys.platform != "linux" or not shutil.which("unshare") or not shutil.which("ip"):
        return "needs Linux with unshare and ip"
    if subprocess.run([*_UNSHARE, "true"], check=False, capture_output=True).returncode:
        return "this machine does not allow network namespaces"
    return None


def run_enclosed(module: str, *arguments: str, seconds: float = 300) -> Any:
    """Run `module` as a program in new namespaces; return the JSON on the last line of its output."""
    completed = subprocess.run(
        [*_UNSHARE, sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert completed.returncode == 0, completed.stderr[-5000:]
    return json.loads(completed.stdout.splitlines()[-1])


def enclose(folder: Path, hosts_file: str = "") -> None:
    """Make every address local; exit if there is any other network interface or route."""
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
    """Answers A and AAAA with TTL 0 from `find(name)`, which returns the records of a name, or None for NXDOMAIN."""

    def __init__(self, find: Callable[[str], Records | None]) -> None:
        self.asked: Counter[str] = Counter()
        self._find = find

    @classmethod
    def start(cls, find: Callable[[str], Records | None]) -> Self:
        """Serve in a separate thread until the process ends, so that a busy crawler does not delay its own look-ups."""
        server, ready = cls(find), threading.Event()

        async def serve() -> None:
            loop = asyncio.get_running_loop()
            await loop.create_datagram_endpoint(lambda: server, local_addr=("127.0.0.1", 53))
            ready.set()
            await asyncio.Event().wait()

        threading.Thread(target=asyncio.run, args=(serve(),), daemon=True).start()
        if not ready.wait(10):
            raise RuntimeError("port 53 is taken")
        return server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        end = data.index(b"\0", 12) + 1
        labels, offset = [], 12
        while data[offset]:
            labels.append(data[offset + 1 : offset + 1 + data[offset]].decode("latin-1"))
            offset += 1 + data[offset]
        name = ".".join(labels).lower()
        self.asked[name] += 1
        (kind,) = struct.unpack("!H", data[end : end + 2])
        name_records = self._find(name)
        records = self._chain(name, name_records or (), "AAAA" if kind == 28 else "A")
        header = data[:2] + struct.pack(
            "!HHHHH", 0x8180 | (0 if name_records is not None else 3), 1, len(records), 0, 0
        )
        self.transport.sendto(header + data[12 : end + 4] + b"".join(records), addr)

    def _chain(self, name: str, records: Records, record_type: str) -> list[bytes]:
        """Return the records, following aliases as a recursive server does, eight at most."""
        answers: list[bytes] = []
        for _ in range(8):
            answers += (_record(name, kind, value) for kind, value in records if kind in (record_type, "CNAME"))
            alias = next((value for kind, value in records if kind == "CNAME"), None)
            if alias is None:
                break
            name, records = alias, self._find(alias) or ()
        return answers


def _record(name: str, kind: str, value: str) -> bytes:
    data = _wire_name(value) if kind == "CNAME" else ip_address(value).packed
    number = {"A": 1, "CNAME": 5, "AAAA": 28}[kind]
    return _wire_name(name) + struct.pack("!HHIH", number, 1, 0, len(data)) + data


def _wire_name(name: str) -> bytes:
    return b"".join(bytes((len(label),)) + label.encode() for label in name.split(".")) + b"\0"


class Wire:
    """Records every attempt to reach anything, on any port: TCP by its first packet, all else packet by packet.

    `dialled` counts (protocol, address, port). A filter in the kernel drops TCP packets with payload.
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
        """Return the number of packets dropped by the kernel; if there are any, the counts prove nothing."""
        self._read()
        statistics = self._socket.getsockopt(263, 6, 8)  # SOL_PACKET, PACKET_STATISTICS
        return int(struct.unpack("II", statistics)[1])

    def _filter(self) -> None:
        """Attach a classic BPF program: of TCP only SYN without ACK passes, everything else passes whole."""
        program = (
            (0x30, 0, 0, 0), (0x54, 0, 0, 0xF0), (0x15, 6, 0, 0x60),  # IP version 6: jump to the tenth instruction
            (0x30, 0, 0, 9), (0x15, 0, 9, 6), (0xB1, 0, 0, 0), (0x50, 0, 0, 13), (0x54, 0, 0, 0x12), (0x15, 5, 6, 2),
            (0x30, 0, 0, 6), (0x15, 0, 3, 6), (0x30, 0, 0, 53), (0x54, 0, 0, 0x12), (0x15, 0, 1, 2),
            (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0),
        )  # fmt: skip
        code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
        self._code = ctypes.create_string_buffer(code, len(code))
        attached = struct.pack("HL", len(program), ctypes.addressof(self._code))
        self._socket.setsockopt(socket.SOL_SOCKET, 26, attached)  # SO_ATTACH_FILTER

    def _read(self) -> None:
        while True:
            try:
                packet, (_, _, direction, *_) = self._socket.recvfrom(256)
            except BlockingIOError:
                return
            if direction == 4 and (attempt := _attempt_in(packet)):  # PACKET_OUTGOING: each packet of `lo` comes twice
                self.dialled[attempt] += 1


def _attempt_in(packet: bytes) -> tuple[str, str, int] | None:
    """Return (protocol, address, port) of an attempt; None for responses of the name server and for ICMP."""
    if packet[0] >> 4 == 4:
        protocol, target, payload = packet[9], packet[16:20], packet[(packet[0] & 15) * 4 :]
    else:
        protocol, target, payload = packet[6], packet[24:40], packet[40:]
    if protocol in (1, 58) or len(payload) < 4:
        return None
    source_port, port = struct.unpack("!HH", payload[:4])
    if protocol == 17 and source_port == 53:
        return None
    return {6: "tcp", 17: "udp"}.get(protocol, str(protocol)), str(ip_address(target)), port
