"""Sends one request over verified TLS to a pinned address, and enforces every size cap while the answer arrives.

The only module that uses pyreqwest, and only in part: https on port 443, HTTP/1.1, no redirects, no proxy, no cookies,
no decompression by the library. It cannot return field values outside ASCII; `read_fields` reads the important ones.
Failures are exceptions of pyreqwest or `UnusableAnswer`; `outcomes.py` translates them. Certificates are verified with
the platform's trust store. `SSL_CERT_FILE` (and `SSL_CERT_DIR`, a list of folders of hashed names) replace it, as with
OpenSSL; a client reads them when it is built.
"""

import asyncio
import atexit
import contextlib
import ssl
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Final, cast

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import BuilderError, ReadTimeoutError, RequestTimeoutError
from pyreqwest.http import HeaderMap
from pyreqwest.response import ResponseBodyReader

from crawler.guards import BadSetup, Pin
from crawler.response_body import Body, BodyMemoryReservation, ReplyWatch, UnusableAnswer
from registry.core.model.documents import Post

HEADER_CAP: Final = 64 * 1024
"""Bytes of the header section (docs/safety.md). The HTTP parser itself stops at about 400 KiB or 100 fields."""

DOCUMENT: Final = frozenset({200, 203})
"""Statuses whose whole body is needed. Of others the beginning suffices (challenge marks, control comparison)."""

PARTIAL: Final = 206  # the status of an answer to a request for a range, whose whole body is needed too
PAGE_KEPT: Final = 64 * 1024
PAGE_DRAINED: Final = 256 * 1024
"""Bytes of other pages that are kept, and that are read at most: an undrained connection cannot be reused."""

READ_AHEAD: Final = 16 * 1024
"""Bytes of a body that are read together with the head; most pages are shorter. Off for servers that truncate."""

MAX_CHUNKS: Final = 8_192
"""Maximum chunks of one body: sent byte by byte, a body within its cap would cost as much CPU as a thousand hosts."""

GATHER_SECONDS: Final = (0.02, 0.25)
"""Minimum and maximum seconds in which pins are gathered for one client; within them, a quarter of the pause between
requests. Building a client parses the trust store: 0.8 ms of CPU and 0.1 MB, 3.5 ms if the store is a folder."""

IDLE_SECONDS: Final = 2.0
"""Seconds beyond the pause for which an idle connection is kept. One takes 40 KB; the last request of a host closes its
connection if it is known to be the last."""

# The transport's thread may still deliver a result when the interpreter exits, which aborts the process (exit code 134,
# seen in nearly every run that left a request unfinished). So wait briefly while threads still run.
atexit.register(time.sleep, 0.1)


class NoTrustStore(BadSetup):
    """No certificate authority could be read, so no server can be verified."""


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An HTTP response: `body` is decoded and cut at the cap. `truncated`: it was longer, or its transfer broke off.
    `headers`: by lower-case name; the values of a `repeated` field are joined by ", " (RFC 9110 section 5.2).
    `unread`: names of fields that are missing in `headers`, because a value has octets outside ASCII."""

    status: int
    headers: Mapping[str, str]
    repeated: Collection[str] = ()
    body: bytes = b""
    truncated: bool = False
    unread: Collection[str] = ()


@dataclass(slots=True)
class SharedClient:
    """A client and the number of its users. Its pins are fixed when it is built, which is why pins are gathered."""

    client: Client
    pins: Mapping[str, Pin]
    users: int


class ClientPool:
    """Clients with pinned addresses. Pins requested at about the same time share one; unused ones are closed."""

    def __init__(self, *, user_agent: str, connect_timeout: float, pause: float) -> None:
        """`pause`: seconds between two requests to a host."""
        self._user_agent = user_agent
        self._connect_timeout = timedelta(seconds=connect_timeout)
        self._gather_seconds = min(max(pause / 4, GATHER_SECONDS[0]), GATHER_SECONDS[1])
        self._keep_idle = timedelta(seconds=pause + IDLE_SECONDS)
        self._pending: list[tuple[Pin, asyncio.Future[SharedClient]]] = []
        self.in_use: dict[int, SharedClient] = {}

    async def check(self) -> None:
        """Raise NoTrustStore if no visit could succeed: once at the start instead of for each host."""
        try:
            await self._client(()).close()
        except BuilderError as error:
            raise NoTrustStore("no certificate authority in SSL_CERT_FILE, SSL_CERT_DIR or the trust store") from error

    def addresses(self) -> set[tuple[str, int]]:
        """Return the addresses and ports to which clients in use are pinned. Thread-safe."""
        return {(pin.address, pin.port) for shared in list(self.in_use.values()) for pin in shared.pins.values()}

    @contextlib.asynccontextmanager
    async def pinned(self, pin: Pin) -> AsyncIterator[Client]:
        """Yield a client that dials `pin.host` only at the pinned address."""
        shared = await self.acquire(pin)
        try:
            yield shared.client
        finally:
            await self.release(shared)

    async def acquire(self, pin: Pin) -> SharedClient:
        """Return a client that dials `pin.host` only at the pinned address; the caller releases it with `release`."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[SharedClient] = loop.create_future()
        if not self._pending:
            loop.call_later(self._gather_seconds, self._build_clients)
        self._pending.append((pin, ready))
        try:
            shared = await ready
        except asyncio.CancelledError:
            if ready.done() and not ready.cancelled() and not ready.exception():
                await self.release(ready.result())
            raise
        if shared.pins.get(pin.host) != pin:
            await self.release(shared)
            raise AssertionError(f"{pin.host} is not pinned")
        return shared

    def _build_clients(self) -> None:
        gathered, self._pending = [pending for pending in self._pending if not pending[1].cancelled()], []
        while gathered:
            pins: dict[str, Pin] = {}
            waiting: list[asyncio.Future[SharedClient]] = []
            conflicting = []
            for pin, ready in gathered:  # two visits may pin one name to two addresses, which needs two clients
                if pins.setdefault(pin.host, pin) == pin:  # guard: pin-per-visit
                    waiting.append(ready)
                else:
                    conflicting.append((pin, ready))
            gathered = conflicting
            try:
                shared = SharedClient(self._client(pins.values()), pins, len(waiting))
            except Exception as error:
                for ready in waiting:
                    ready.set_exception(error)
                continue
            self.in_use[id(shared)] = shared
            for ready in waiting:
                ready.set_result(shared)

    async def release(self, shared: SharedClient) -> None:
        shared.users -= 1
        if not shared.users:
            self.in_use.pop(id(shared), None)
            await shared.client.close()

    def _client(self, pins: Iterable[Pin]) -> Client:
        builder = (
            ClientBuilder()
            .user_agent(self._user_agent)
            .default_headers({"Accept-Encoding": "gzip"})
            .https_only(True)  # guard: verified-certificate
            .http1_only()
            .follow_redirects(False)  # guard: redirect-decided-here
            .no_proxy()  # guard: no-proxy
            .referer(False)
            .default_cookie_store(False)  # guard: no-cookies
            .gzip(False).brotli(False).zstd(False).deflate(False)
            .min_tls_version("TLSv1.2")
            .connect_timeout(self._connect_timeout)  # guard: connect-timeout
            .pool_max_idle_per_host(1)
            .pool_idle_timeout(self._keep_idle)
        )  # fmt: skip
        for pin in pins:
            builder = builder.resolve(pin.host, pin.address, pin.port)  # guard: pinned-address
        return builder.build()


async def ask(
    client: Client, pin: Pin, url: str, headers: Mapping[str, str], *, cap: int, keep_head: bool, seconds: float,
    memory: BodyMemoryReservation, ahead: int, last: bool = False, post: Post | None = None,
    needed: Collection[int] = DOCUMENT, method: str = "GET",
) -> RawAnswer:  # fmt: skip
    """Send `method` to `url`, which must be on `pin.host`, or `post` to it, within `seconds` and `cap` decoded bytes.

    `needed`: statuses whose whole body is needed. `ahead`: bytes of the body that are read before the head is returned,
    which saves a thread switch for each small page. If the body breaks off within them, the status is lost too; with 0
    it is kept. `last`: the connection is closed after the answer (RFC 9112 section 9.6). `memory` is the reservation
    that the body counts against; when it is exhausted, raise UnusableAnswer("no_room").

    An event stream that answers a `post` is read as far as the reply, since its server may never end it. A body over
    the cap is cut and marked `truncated` with `keep_head`, else it is UnusableAnswer("body"). Of answers that are not
    documents only a short beginning is kept, even if the rest breaks off: their status suffices. Raise pyreqwest's
    exceptions and UnusableAnswer.
    """
    # The transport enforces the deadline: an asyncio timeout costs 10 us, as much as the rest of this function.
    if not url.startswith(f"https://{pin.host}/"):  # guard: pinned-host
        raise AssertionError(f"{pin.host} is not the host of the URL")  # the pin would not apply, so do not connect
    builder = client.request(method, url) if post is None else client.post(url).body_bytes(post.body)
    # guard: request-timeout
    request = builder.timeout(timedelta(seconds=seconds)).streamed_read_buffer_limit(ahead)
    for name, value in headers.items():
        request = request.header(name, value)
    if last:
        request = request.header("Connection", "close")
    try:
        async with request.build_streamed() as response:
            fields, repeated, unread = _fields(response.headers)
            status = response.status
            is_needed = status in needed or (status == PARTIAL and "Range" in headers)
            collector = Body(cap if is_needed else min(cap, PAGE_KEPT), memory)  # guard: page-size
            watch = ReplyWatch.of(post, fields)
            body, truncated = await _read(response.body_reader, fields, collector, is_needed, keep_head, watch)
            return RawAnswer(status, fields, repeated, body, truncated, unread)
    except ReadTimeoutError:  # while reading the body; the head has arrived
        raise UnusableAnswer("read_timeout") from None


async def read_fields(
    pin: Pin, url: str, headers: Mapping[str, str], names: Collection[str], seconds: float
) -> dict[str, list[str]]:
    """GET `url` again over a new connection, and return the values of the named fields: UTF-8, else with each
    octet outside ASCII percent-encoded, as browsers read `Location`. Fields that cannot be read are missing. The
    address is the pinned one, and the certificate is verified."""
    found: dict[str, list[str]] = {}
    lines = [f"GET {url.removeprefix(f'https://{pin.host}')} HTTP/1.1", f"Host: {pin.host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with contextlib.suppress(OSError, EOFError, asyncio.LimitOverrunError):  # OSError: also TimeoutError, SSLError
        async with asyncio.timeout(seconds):
            context = _tls_context(ssl.get_default_verify_paths())
            reader, writer = await asyncio.open_connection(
                pin.address, pin.port, ssl=context, server_hostname=pin.host, limit=HEADER_CAP
            )
            try:
                writer.write("\r\n".join([*lines, "", ""]).encode("ascii", "replace"))
                head = b" 100 "
                while head[head.find(b" ") :].startswith(b" 1"):  # interim answers come first
                    head = await reader.readuntil(b"\r\n\r\n")
            finally:
                writer.close()
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if (key := name.decode("ascii", "replace").lower()) in names:
                found.setdefault(key, []).append(_text(value.strip()))
    return found


@lru_cache(maxsize=2)
def _tls_context(_store: ssl.DefaultVerifyPaths) -> ssl.SSLContext:
    """Return what verifies certificates, made once for each trust store: reading one takes 20 ms of CPU, which a site
    could ask for with each redirect."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "".join(chr(octet) if octet < 0x80 else f"%{octet:02X}" for octet in value)


def _fields(headers: HeaderMap) -> tuple[dict[str, str], list[str], list[str]]:
    """Return all fields as text, and the names of repeated and of unreadable ones. Raise UnusableAnswer("headers")
    above HEADER_CAP."""
    texts: dict[str, str | list[str]] = {}
    unread: list[str] = []
    try:
        texts = headers.dict_multi_value()
    except ValueError:  # a non-ASCII value, which this transport cannot read: leave its field out
        for name in dict.fromkeys(headers.keys()):
            try:
                values = headers.getall(name)
            except ValueError:
                unread.append(name)
            else:
                texts[name] = values[0] if len(values) == 1 else values
    repeated: list[str] = []
    if list in map(type, texts.values()):
        repeated = [name for name, values in texts.items() if isinstance(values, list)]
        texts |= {name: ", ".join(texts[name]) for name in repeated}
    fields = cast("dict[str, str]", texts)
    # sum and map instead of a Python loop: a crawl reads hundreds of millions of fields, nearly all of them small
    if sum(map(len, fields)) + sum(map(len, fields.values())) + 4 * len(fields) > HEADER_CAP:  # guard: header-size
        raise UnusableAnswer("headers")
    return fields, repeated, unread


async def _read(
    reader: ResponseBodyReader, fields: Mapping[str, str], body: Body, is_needed: bool, keep_head: bool,
    watch: ReplyWatch | None = None,
) -> tuple[bytes, bool]:  # fmt: skip
    """Return the body and whether it is truncated. Stop at Content-Length, which saves a quarter of all reads."""
    received = chunk_count = 0
    stated = fields.get("content-length", "")  # one plain number, else unknown; the parser refused contradictory ones
    length = int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 16 else None
    try:
        if coding := fields.get("content-encoding"):
            body.decode(coding)
        while received != length and (chunk := await reader.read_chunk()) is not None:
            received += len(chunk)
            chunk_count += 1
            if chunk_count > MAX_CHUNKS:  # guard: body-chunks
                raise UnusableAnswer("chunks")
            piece = chunk.to_bytes()
            body.feed(piece)
            if watch is not None and watch.is_over(piece):
                return body.head, False
            if body.full and (is_needed or received > PAGE_DRAINED):  # guard: page-drain
                break
        body.finish()
    except Exception as error:
        if is_needed or isinstance(error, RequestTimeoutError):
            raise
        return body.head, True
    if body.full and is_needed and not keep_head:  # guard: body-cap
        raise UnusableAnswer("body")
    return body.head, body.full
