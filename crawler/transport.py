"""One request over verified TLS to a pinned address: bytes out, bytes in, every cap enforced while they come.

The only module that drives pyreqwest. What it may do is little: https on port 443, HTTP/1.1, no redirects, no proxy,
no cookies, no decompression of its own. Failures leave as pyreqwest's exceptions or as `Broken`; what they mean is
`translate.py`'s business.

Certificates: the platform's trust store. `SSL_CERT_FILE` (and `SSL_CERT_DIR`, a list of folders of hashed names) take
its place, as with OpenSSL; a client reads them when it is built.
"""

import asyncio
import atexit
import contextlib
import re
import time
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, cast

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import BuilderError, ReadTimeoutError, RequestTimeoutError
from pyreqwest.http import HeaderMap
from pyreqwest.response import ResponseBodyReader

from crawler.guards import BadSetup, Pin
from crawler.room import OWN, NoRoom, Share

HEADER_CAP: Final = 64 * 1024
"""Bytes of the header section (probe-plan.md section 6). The parser below us stops at about 400 KiB or 100 fields."""

DOCUMENT: Final = frozenset({200, 203})
"""Statuses whose body counts. Of other pages the head tells enough (challenge marks, comparison with a control)."""

PAGE_KEPT: Final = 64 * 1024
PAGE_DRAINED: Final = 256 * 1024
"""Bytes of a page that is no document: kept; and read at most, because a connection with a rest is a lost one."""

READ_AHEAD: Final = 16 * 1024
"""Bytes of a body, for servers that have not broken one off yet: most pages are shorter."""

MAX_CHUNKS: Final = 8_192
"""Pieces of one body: a byte at a time, a body within its cap would cost as much CPU as a thousand hosts."""

GATHER: Final = (0.02, 0.25)
"""Seconds in which pins are gathered for one client, because building one parses the trust store: 0.8 ms of CPU and
0.1 MB, 3.5 ms where the store is a folder of files. At least and at most: a quarter of the pause between requests."""

IDLE: Final = 2.0
"""Seconds beyond the pause for which a connection is kept: those of hosts that had more to say than was foreseen hold
40 KB each until then."""

# The transport's own thread may be delivering a last result when the interpreter ends, and that aborts the process
# (exit code 134, seen in nearly every run that left a request unfinished): give it a moment while threads still run.
atexit.register(time.sleep, 0.1)


class NoTrust(BadSetup):
    """No certificate authority could be read, so that no server could be trusted."""


class Broken(Exception):
    """The server answered, and the answer cannot be used. `reason` is one of translate.BROKEN."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Wire:
    """An answer as it came: `body` decoded and at most the cap. `truncated`: there was more of it, or it broke off.

    `headers`: by lower-case name; a field that was `repeated` is joined by ", " (RFC 9110 section 5.2).
    """

    status: int
    headers: Mapping[str, str]
    repeated: Collection[str] = ()
    body: bytes = b""
    truncated: bool = False


@dataclass(slots=True)
class _Shared:
    """A client and how many pins still use it. Its pins are fixed at birth: that is why pins are gathered."""

    client: Client
    pins: Mapping[str, Pin]
    users: int


@dataclass(slots=True)
class _Wanted:
    pin: Pin
    ready: asyncio.Future[_Shared] = field(repr=False)


class Clients:
    """Clients with pinned addresses. Pins that are asked for within a moment share one; unused ones are closed."""

    def __init__(self, *, user_agent: str, connect_timeout: float, pause: float) -> None:
        """`pause`: seconds between two requests to a host."""
        self._user_agent = user_agent
        self._connect_timeout = timedelta(seconds=connect_timeout)
        self._gather = min(max(pause / 4, GATHER[0]), GATHER[1])
        self._keep_idle = timedelta(seconds=pause + IDLE)
        self._wanted: list[_Wanted] = []
        self._alive: dict[int, _Shared] = {}

    async def check(self) -> None:
        """Raises NoTrust where no visit could succeed: better once at the start than for each host."""
        try:
            await self._client(()).close()
        except BuilderError as error:
            says = "no certificate authority could be read (SSL_CERT_FILE, SSL_CERT_DIR, or the system's trust store)"
            raise NoTrust(says) from error

    def __len__(self) -> int:
        """Clients in use."""
        return len(self._alive)

    def addresses(self) -> set[tuple[str, int]]:
        """Addresses and ports that clients in use are pinned to. May be asked from any thread."""
        return {(pin.address, pin.port) for shared in list(self._alive.values()) for pin in shared.pins.values()}

    def pinned(self, pin: Pin) -> "Pinned":
        """Gives, as a context, a client that dials `pin.host` at the pinned address and nothing else for that name."""
        return Pinned(self, pin)

    async def shared(self, pin: Pin) -> _Shared:
        """Is to be given back by `let_go`."""
        loop = asyncio.get_running_loop()
        wanted = _Wanted(pin, loop.create_future())
        if not self._wanted:
            loop.call_later(self._gather, self._build)
        self._wanted.append(wanted)
        try:
            return await wanted.ready
        except asyncio.CancelledError:
            if wanted.ready.done() and not wanted.ready.cancelled() and not wanted.ready.exception():
                await self.let_go(wanted.ready.result())
            raise

    def _build(self) -> None:
        gathered, self._wanted = self._wanted, []
        while gathered:
            pins: dict[str, Pin] = {}
            mine: list[_Wanted] = []
            rest: list[_Wanted] = []
            for wanted in gathered:  # the same name at two addresses (two visits, two answers) needs two clients
                if wanted.ready.cancelled():
                    continue
                fits = pins.setdefault(wanted.pin.host, wanted.pin) == wanted.pin
                (mine if fits else rest).append(wanted)
            self._hand_out(mine, pins)
            gathered = rest

    def _hand_out(self, gathered: Sequence[_Wanted], pins: Mapping[str, Pin]) -> None:
        if not gathered:
            return
        try:
            shared = _Shared(self._client(pins.values()), pins, len(gathered))
        except Exception as error:
            for wanted in gathered:
                wanted.ready.set_exception(error)
            return
        self._alive[id(shared)] = shared
        for wanted in gathered:
            wanted.ready.set_result(shared)

    async def let_go(self, shared: _Shared) -> None:
        shared.users -= 1
        if not shared.users:
            self._alive.pop(id(shared), None)
            await shared.client.close()

    def _client(self, pins: Iterable[Pin]) -> Client:
        builder = (
            ClientBuilder()
            .user_agent(self._user_agent)
            .default_headers({"Accept-Encoding": "gzip"})
            .https_only(True)
            .http1_only()
            .follow_redirects(False)
            .no_proxy()
            .referer(False)
            .default_cookie_store(False)
            .gzip(False).brotli(False).zstd(False).deflate(False)
            .min_tls_version("TLSv1.2")
            .connect_timeout(self._connect_timeout)
            .pool_max_idle_per_host(1)
            .pool_idle_timeout(self._keep_idle)
        )  # fmt: skip
        for pin in pins:
            builder = builder.resolve(pin.host, pin.address, pin.port)
        return builder.build()


class Pinned:
    """The use of a client for one pin, once. No generator: every host in flight has one, and they take 1 KB."""

    __slots__ = ("_clients", "_pin", "_shared")

    def __init__(self, clients: Clients, pin: Pin) -> None:
        self._clients, self._pin = clients, pin
        self._shared: _Shared | None = None

    async def __aenter__(self) -> Client:
        self._shared = shared = await self._clients.shared(self._pin)
        if shared.pins.get(self._pin.host) != self._pin:
            await self.__aexit__()
            raise AssertionError(f"{self._pin.host} is not pinned")
        return shared.client

    async def __aexit__(self, *failure: object) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            await self._clients.let_go(shared)


async def ask(
    client: Client,
    pin: Pin,
    url: str,
    headers: Mapping[str, str],
    *,
    cap: int,
    keep_head: bool,
    seconds: float,
    share: Share,
    ahead: int,
    last: bool = False,
) -> Wire:
    """GET `url`, which must be on `pin.host`. At most `seconds` for everything and `cap` decoded bytes of body.

    `ahead`: bytes of the body that are read before the head is looked at, which saves a change of threads for each
    small page. A body that breaks off among them takes its status with it; with 0 the status stays.

    `last`: the connection is closed with the answer (RFC 9112 section 9.6). `share` is told how much of the body is
    here; where it has no room, Broken("no_room").

    Over the cap: the head is kept with `truncated` where `keep_head` says so, else Broken("body"). Of answers that are
    no document only a short head is kept, and it may be broken: a "not found" page that breaks off still says so.
    Raises pyreqwest's exceptions and Broken.
    """
    # The deadline is the transport's: one of asyncio costs 10 us, as much as the rest of this function.
    if not url.startswith(f"https://{pin.host}/"):
        raise AssertionError(f"{pin.host} is not the host of the URL")  # the pin would not apply: never dial
    request = client.get(url).timeout(timedelta(seconds=seconds)).streamed_read_buffer_limit(ahead)
    for name, value in headers.items():
        request = request.header(name, value)
    if last:
        request = request.header("Connection", "close")
    try:
        async with request.build_streamed() as response:
            fields, repeated = _fields(response.headers)
            status = response.status
            kept = _Body(cap if status in DOCUMENT else min(cap, PAGE_KEPT), share)
            body, truncated = await _read(response.body_reader, status, fields, kept, keep_head)
            return Wire(status, fields, repeated, body, truncated)
    except ReadTimeoutError:  # of the body: the head was there
        raise Broken("read_timeout") from None


def _fields(headers: HeaderMap) -> tuple[dict[str, str], list[str]]:
    """All fields as text, and the names of those that were repeated. Raises Broken("headers")."""
    texts = _texts(headers)
    repeated: list[str] = []
    if list in map(type, texts.values()):
        repeated = [name for name, found in texts.items() if isinstance(found, list)]
        texts |= {name: ", ".join(texts[name]) for name in repeated}
    fields = cast("dict[str, str]", texts)
    # no loop of Python's own: there are hundreds of millions of fields, and nearly all of them are small
    if sum(map(len, fields)) + sum(map(len, fields.values())) + 4 * len(fields) > HEADER_CAP:
        raise Broken("headers")
    return fields, repeated


def _texts(headers: HeaderMap) -> dict[str, str | list[str]]:
    """Without the fields that have a value that is not ASCII, which cannot be read through this transport."""
    with contextlib.suppress(ValueError):
        return headers.dict_multi_value()
    texts: dict[str, str | list[str]] = {}
    for name in dict.fromkeys(headers.keys()):
        with contextlib.suppress(ValueError):
            values = headers.getall(name)
            texts[name] = values[0] if len(values) == 1 else values
    return texts


async def _read(
    reader: ResponseBodyReader, status: int, fields: Mapping[str, str], body: "_Body", keep_head: bool
) -> tuple[bytes, bool]:
    """The body, and whether it is only a part. At its announced length nobody asks on: a quarter of all hops."""
    document = status in DOCUMENT
    raw = pieces = 0
    length = _length(fields.get("content-length"))
    try:
        if coding := fields.get("content-encoding"):
            body.decode(_coding(coding))
        while raw != length and (chunk := await reader.read_chunk()) is not None:
            raw += len(chunk)
            pieces += 1
            if pieces > MAX_CHUNKS:
                raise Broken("chunks")
            body.feed(chunk.to_bytes())
            if body.full and (document or raw > PAGE_DRAINED):
                break
        body.finish()
    except Exception as error:
        if document or isinstance(error, RequestTimeoutError):
            raise
        return body.head, True
    if body.full and document and not keep_head:
        raise Broken("body")
    return body.head, body.full


def _length(field: str | None) -> int | None:
    """Of a Content-Length that is one plain number; the parser below us has refused what contradicts itself."""
    return int(field) if field and field.isascii() and field.isdigit() and len(field) < 16 else None


_TOKEN = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,20}")


def _coding(field: str) -> str:
    """Either identity or gzip, the codings that were offered. Raises Broken("encoding")."""
    codings = [coding for part in field.split(",") if (coding := part.strip().lower()) not in ("", "identity")]
    if not codings:
        return "identity"
    if codings in (["gzip"], ["x-gzip"]):
        return "gzip"
    raise Broken("encoding", codings[0] if len(codings) == 1 and _TOKEN.fullmatch(codings[0]) else "other")


class _Body:
    """Takes a body in pieces and keeps at most `cap` decoded bytes; `full` when there was more.

    gzip: exactly one complete member. A decoder that is only asked for what still fits never unpacks a bomb.
    """

    def __init__(self, cap: int, share: Share) -> None:
        self._cap = cap
        self._share = share
        self._parts: list[bytes] = []
        self._size = 0
        self._gzip: zlib._Decompress | None = None
        self._fed = False
        self.full = False

    @property
    def head(self) -> bytes:
        return b"".join(self._parts)[: self._cap]

    def decode(self, coding: str) -> None:
        if coding == "gzip":
            self._gzip = zlib.decompressobj(wbits=31)

    def feed(self, chunk: bytes) -> None:
        if self.full:
            return
        if self._gzip is None:
            self._keep(chunk)
        else:
            self._fed = self._fed or bool(chunk)
            self._unpack(self._gzip, chunk)

    def finish(self) -> None:
        """The stream has ended: was it whole? An empty body needs no gzip frame (204 and 304 have none)."""
        if self._gzip is not None and self._fed and not self.full and not self._gzip.eof:
            raise Broken("gzip_truncated")

    def _unpack(self, gzip: "zlib._Decompress", chunk: bytes) -> None:
        if gzip.eof and chunk:
            raise Broken("gzip_trailing_data")
        try:
            self._keep(gzip.decompress(chunk, self._cap + 1 - self._size))
        except zlib.error:
            raise Broken("gzip_corrupt") from None
        if gzip.unused_data:
            raise Broken("gzip_trailing_data")

    def _keep(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        self.full = self._size > self._cap
        if self._size > OWN:
            self._told()

    def _told(self) -> None:
        try:
            self._share.reading(self._size)
        except NoRoom:
            raise Broken("no_room") from None
