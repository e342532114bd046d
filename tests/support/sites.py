"""Web sites on loopback for tests: real TLS, one listener, many host names, and as badly behaved as a test needs.

The server is raw asyncio, because no web framework can send a false length, send headers without end or reset a
connection in the middle of a word. Certificates come from a throw-away authority; one certificate names every host
(rustls refuses wildcards directly below a public suffix). Nothing here is reachable from outside.
"""

import asyncio
import contextlib
import datetime
import socket
import ssl
import struct
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypeAlias

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

LOOPBACK = "127.0.0.1"
MANY = 50  # names in one certificate; with more hosts each gets its own on its first connection


@dataclass(frozen=True)
class Reply:
    """A well-behaved response: length and status line are filled in, `headers` are added unchanged."""

    body: bytes | str = b""
    status: int = 200
    type: str | None = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    def encode(self) -> bytes:
        body = self.body.encode() if isinstance(self.body, str) else self.body
        lines = [f"HTTP/1.1 {self.status} Status"]
        if self.type is not None:
            lines.append(f"Content-Type: {self.type}")
        if self.status != 304:
            lines.append(f"Content-Length: {len(body)}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def moved(location: str, status: int = 301) -> Reply:
    """A redirect."""
    return Reply(status=status, type=None, headers=(("Location", location),))


@dataclass
class Exchange:
    """One request as the server saw it, and the raw way to answer it."""

    host: str
    path: str
    headers: Mapping[str, str]  # lower-case names
    connection: int  # number of the connection, from 1
    writer: asyncio.StreamWriter = field(repr=False)
    method: str = "GET"
    body: bytes = b""

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def pour(self, chunk: bytes, pause: float = 0.0) -> None:
        """Send the same bytes until the peer closes the connection."""
        while True:
            await self.send(chunk)
            await asyncio.sleep(pause)

    def reset(self) -> None:
        """End the connection with RST instead of FIN."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Behaviour: TypeAlias = Callable[[Exchange], Awaitable[None]]
Answer: TypeAlias = Reply | Behaviour
Site: TypeAlias = Mapping[str, Answer] | Answer  # by path (anything else is 404), or one answer for every path


class Sites:
    """An async context manager that listens, answers by Host header, and records every request in `seen`.

    `certificates` assigns single hosts another certificate than the valid one: "expired", "not_yet",
    "wrong_name", "untrusted", "self_signed". `places` and `port` are what it listens on; port 0 is any free one.
    """

    def __init__(
        self,
        sites: Mapping[str, Site],
        certificates: Mapping[str, str] | None = None,
        *,
        places: Sequence[str] = (LOOPBACK,),
        port: int = 0,
    ) -> None:
        self.sites = dict(sites)
        self.authority = trustme.CA()
        self.seen: list[Exchange] = []
        self.connections = 0
        self.places, self.port = places, port
        self._contexts = {name: self._certificate(kind, name) for name, kind in (certificates or {}).items()}
        self._good = self._certificate("good", *list(self.sites)[:MANY])
        self._tasks: set[asyncio.Task[None]] = set()
        self._request = asyncio.Event()

    def _certificate(self, kind: str, *names: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if kind == "self_signed":
            return _self_signed(names[0])
        authority = trustme.CA() if kind == "untrusted" else self.authority
        now, days = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=3)
        leaf = authority.issue_cert(
            *(("somebody-else.example",) if kind == "wrong_name" else names),
            not_before=now + days if kind == "not_yet" else None,
            not_after=now - days if kind == "expired" else None,
        )
        leaf.configure_cert(context)
        return context

    def write_authority(self, folder: Path) -> Path:
        """Write the authority's certificate as a PEM file, for SSL_CERT_FILE."""
        path = folder / "authority.pem"
        self.authority.cert_pem.write_to_path(str(path))
        return path

    def connect_to(self, *names: str) -> tuple[str, ...]:
        """Return entries of the connect-to table for these names, by default for every site."""
        return tuple(f"{name}:443:{LOOPBACK}:{self.port}" for name in names or self.sites)

    def paths(self, host: str) -> list[str]:
        """Return every path requested from a host, in order."""
        return [exchange.path for exchange in self.seen if exchange.host == host]

    async def asked(self, number: int) -> None:
        """Wait until this many requests have arrived in all."""
        while len(self.seen) < number:
            self._request.clear()
            await self._request.wait()

    async def __aenter__(self) -> Self:
        context = self._good

        def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            if name is not None and name not in self._contexts and len(self.sites) > MANY:
                self._contexts[name] = self._certificate("good", name)
            if name in self._contexts:
                connection.context = self._contexts[name]

        context.sni_callback = choose
        self._server = await asyncio.start_server(self._spawn, self.places, self.port, ssl=context, backlog=1_000)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Start the tasks here: the server would wait for its own connections to end before it closes.
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, ssl.SSLError):
            try:
                while not writer.is_closing():
                    head = await reader.readuntil(b"\r\n\r\n")
                    exchange = _exchange(head, number, writer)
                    exchange.body = await reader.readexactly(int(exchange.headers.get("content-length", "0")))
                    await self._answer(exchange)
            finally:
                writer.close()

    async def _answer(self, exchange: Exchange) -> None:
        self.seen.append(exchange)
        self._request.set()
        answer = _choose(self.sites.get(exchange.host, Reply(status=421, type=None)), exchange.path)
        if isinstance(answer, Reply):
            await exchange.send(answer.encode())
        else:
            await answer(exchange)


def _self_signed(name: str) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now, days = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=3)
    builder = x509.CertificateBuilder(
        subject, subject, key.public_key(), x509.random_serial_number(), now - days, now + days
    )
    alternative = x509.SubjectAlternativeName([x509.DNSName(name)])
    certificate = builder.add_extension(alternative, critical=False).sign(key, hashes.SHA256())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate.public_bytes(Encoding.PEM))
        file.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _choose(site: Site, path: str) -> Answer:
    return site.get(path, Reply(b"nothing here", 404, "text/plain")) if isinstance(site, Mapping) else site


def _exchange(head: bytes, number: int, writer: asyncio.StreamWriter) -> Exchange:
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    method, path, _ = lines[0].split(" ")
    return Exchange(headers.get("host", ""), path, headers, number, writer, method)


@contextlib.asynccontextmanager
async def raw_port(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """Yield a TCP port without TLS whose connections go to `serve`, for what happens before or without a handshake."""
    tasks: set[asyncio.Task[None]] = set()

    def spawn(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def run() -> None:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await serve(reader, writer)
            writer.close()

        task = asyncio.ensure_future(run())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(spawn, LOOPBACK, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """Yield a loopback port that refuses connections: bound, so that no other process takes it, but not listening."""
    with socket.socket() as holder:
        holder.bind((LOOPBACK, 0))
        yield holder.getsockname()[1]


def pours(head: bytes, chunk: bytes, pause: float = 0.0) -> Behaviour:
    """Send the head, then the chunk again and again until the peer closes the connection."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(head)
        await exchange.pour(chunk, pause)

    return answer
