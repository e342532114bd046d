"""A name server for the hosts of the list: a separate process that computes each answer from the requested name.

It also serves the slow hosts: an HTTP server that waits half a second before it answers 404.
"""

import asyncio
import contextlib
import socket
import struct
import sys
from typing import cast

from benchmarks.crawl import web

TTL = 300
ADDRESSES = ("127.0.0.1", "198.51.100.53")  # of port 53; the second for crawlers in namespaces of their own
SLOW_PORT, SLOW_SECONDS = 8081, 0.5
_A, _AAAA = 1, 28
_NO_SUCH_NAME = 3


class NameServer(asyncio.DatagramProtocol):
    """A and AAAA records over UDP."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.transport.sendto(answer(data), addr)


def answer(question: bytes) -> bytes:
    """Return the answer to one DNS query (RFC 1035); additional records of the query (EDNS) are ignored."""
    end = question.index(b"\0", 12) + 1
    labels, offset = [], 12
    while length := question[offset]:
        labels.append(question[offset + 1 : offset + 1 + length].decode("ascii", "replace"))
        offset += 1 + length
    (kind,) = struct.unpack_from("!H", question, end)
    host = web.read(".".join(labels).lower())
    address = web.address(*host) if host else None
    code = 0 if address else _NO_SUCH_NAME
    record = b""
    if address is not None and kind == (_AAAA if ":" in address else _A):
        packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
        record = struct.pack("!HHHIH", 0xC00C, kind, 1, TTL, len(packed)) + packed
    head = question[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, int(bool(record)), 0, 0)
    return head + question[12 : end + 4] + record


async def serve_slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(SLOW_SECONDS)
        writer.write(b"HTTP/1.0 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\nNot found")
        await writer.drain()
    writer.close()


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    for address in ADDRESSES:
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        udp.bind((address, 53))
        await loop.create_datagram_endpoint(NameServer, sock=udp)
    await asyncio.start_server(serve_slowly, "127.0.0.1", SLOW_PORT, backlog=2_000)
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.buffer.read)  # until the parent process ends


if __name__ == "__main__":
    asyncio.run(_serve())
