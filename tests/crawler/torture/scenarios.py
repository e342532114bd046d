"""Misbehaving servers, one for each rule that a server can break, each with the expected outcome and reason.

A scenario is served at one path of an otherwise quiet site (robots.txt and front page work). Where it ends the
connection before HTTP begins, it is served by a port of its own.
"""

import asyncio
import gzip
import json
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import brotli  # type: ignore[import-untyped]  # the package ships no types

from registry.core.model.documents import Outcome
from tests.support.sites import Answer, Behaviour, Exchange, Reply, moved, pours

PATH: Final = "/.well-known/agent"
OK: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
MANIFEST: Final = {
    "aid_version": "0.1",
    "name": "Cranes",
    "domain": "x.example",
    "description": "Folds paper cranes",
    "base_url": "https://x.example",
    "auth": {"type": "none"},
    "capabilities": [],
}
JSON: Final = json.dumps(MANIFEST).encode()

Raw: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Scenario:
    """`answer` is the response at PATH, `certificate` a kind of `tests.support.sites`, `raw` a server without TLS."""

    outcome: Outcome
    reason: str
    answer: Answer | None = None
    raw: Raw | None = None
    certificate: str | None = None


def sends(*pieces: bytes, close: bool = False, pause: float = 0.0) -> Behaviour:
    async def answer(exchange: Exchange) -> None:
        for piece in pieces:
            await exchange.send(piece)
            await asyncio.sleep(pause)
        if close:
            exchange.writer.close()

    return answer


def drips(data: bytes, pause: float = 0.1) -> Behaviour:
    """Send one byte at a time, and then nothing more."""

    async def answer(exchange: Exchange) -> None:
        for byte in data:
            await exchange.send(bytes((byte,)))
            await asyncio.sleep(pause)
        await asyncio.sleep(3600)

    return answer


def resets(head: bytes) -> Behaviour:
    async def answer(exchange: Exchange) -> None:
        await exchange.send(head)
        await asyncio.sleep(0.05)
        exchange.reset()

    return answer


def sized(body: bytes, *fields: bytes) -> Behaviour:
    head = OK + b"".join(field + b"\r\n" for field in fields)
    return sends(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def coded(coding: str, body: bytes) -> Reply:
    return Reply(body, headers=(("Content-Encoding", coding),))


def manifest_with(raw: str) -> Reply:
    """Return a valid manifest with one member that a JSON library would not write."""
    return Reply(JSON[:-1] + f', "more": {raw}}}'.encode("utf-8", "surrogatepass"))


def zstd_bomb(megabytes: int) -> bytes:
    """Return a frame of RLE blocks of 128 KiB (RFC 8878 section 3.1.1.2), four bytes each."""
    block = (128 * 1024 << 3) | (1 << 1)
    return b"\x28\xb5\x2f\xfd\x00\x70" + (block.to_bytes(3, "little") + b"[") * (8 * megabytes)


async def silent(_: Exchange) -> None:
    await asyncio.sleep(3600)


async def ends_without_close_notify(exchange: Exchange) -> None:
    """End without close_notify of TLS: an attacker may have cut the body."""
    await exchange.send(OK + b"\r\n" + JSON)
    await asyncio.sleep(0.05)
    exchange.writer.transport.abort()


async def redirects_deeper(exchange: Exchange) -> None:
    await exchange.send(moved(f"{exchange.path}x").encode())


ZIPPED: Final = gzip.compress(JSON)
BOMB: Final = gzip.compress(b"[" * 50_000_000, 9)
_T, _U, _S = Outcome.TLS_ERROR, Outcome.UNREACHABLE, Outcome.SERVER_ERROR
_L, _M, _N, _E = Outcome.TOO_LARGE, Outcome.MALFORMED, Outcome.NOT_A_MANIFEST, Outcome.UNSUPPORTED_ENCODING
_R = Outcome.REFUSED_ADDRESS
_CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

_HTTP: Final[Mapping[str, tuple[Answer, Outcome, str]]] = {
    # time
    "silent": (silent, _U, "request_timeout"),
    "status by drips": (drips(b"HTTP/1.1 200 OK\r\n"), _U, "request_timeout"),
    "headers by drips": (pours(OK, b"X", 0.05), _U, "request_timeout"),
    "a header now and then": (pours(OK, b"X-A: b\r\n", 0.2), _U, "request_timeout"),
    "body by drips": (pours(OK + b"Content-Length: 9999\r\n\r\n", b" ", 0.1), _U, "read_timeout"),
    "chunks by drips": (pours(_CHUNKED, b"1\r\n \r\n", 0.1), _U, "read_timeout"),
    "body that never comes": (sends(OK + b"Content-Length: 9\r\n\r\n"), _U, "read_timeout"),
    "chunk that never ends": (sends(_CHUNKED + b"5\r\n{"), _U, "read_timeout"),
    "gzip that never ends": (
        sends(OK + b"Content-Encoding: gzip\r\nContent-Length: 9999\r\n\r\n" + ZIPPED[:-4]), _U, "read_timeout"),
    # floods
    "endless headers": (pours(OK, b"X-A: " + b"b" * 1000 + b"\r\n"), _L, "headers"),
    "one endless header": (pours(OK + b"X-A: ", b"b" * 10_000), _L, "headers"),
    "endless status line": (pours(b"HTTP/1.1 200 ", b"O" * 10_000), _L, "headers"),
    "endless 100": (pours(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2_500), _U, "flood"),
    "endless 103": (pours(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1_500), _U, "flood"),
    "endless body": (pours(OK + b"\r\n", b"[" * 65_536), _L, "body"),
    "endless length": (pours(OK + b"Content-Length: 9223372036854775807\r\n\r\n", b"[" * 65_536), _L, "body"),
    "endless chunks": (pours(_CHUNKED, b"10000\r\n" + b"[" * 65_536 + b"\r\n"), _L, "body"),
    "endless small chunks": (pours(_CHUNKED, b"1\r\n[\r\n" * 5_000), _L, "chunks"),
    "endless chunk extension": (pours(_CHUNKED + b"1;", b"a" * 10_000), _U, "protocol_error"),
    "endless trailers": (pours(_CHUNKED + b"0\r\n", b"X-A: " + b"b" * 1000 + b"\r\n"), _U, "protocol_error"),
    "300 KB in one header": (Reply(JSON, headers=(("X-A", "b" * 300_000),)), _L, "headers"),
    "70 KB in many headers": (Reply(JSON, headers=tuple((f"X-{n}", "b" * 990) for n in range(70))), _L, "headers"),
    "2,000 headers": (Reply(JSON, headers=tuple((f"X-{n}", "b") for n in range(2_000))), _L, "headers"),
    # bombs and codings
    "gzip bomb": (coded("gzip", BOMB), _L, "body"),
    "gzip bomb in gzip": (coded("gzip", gzip.compress(BOMB)), _M, "encoding"),
    "gzip bomb said twice": (coded("gzip, gzip", gzip.compress(BOMB)), _E, "encoding:other"),
    "deflate bomb": (coded("deflate", zlib.compress(b"[" * 50_000_000, 9)), _E, "encoding:deflate"),
    "brotli bomb": (coded("br", brotli.compress(b"[" * 50_000_000, quality=5)), _E, "encoding:br"),
    "zstd bomb": (coded("zstd", zstd_bomb(1_000)), _E, "encoding:zstd"),
    "brotli that is none": (coded("br", JSON), _E, "encoding:br"),
    "gzip that is none": (coded("gzip", JSON), _M, "gzip_corrupt"),
    "gzip unannounced": (Reply(ZIPPED), _M, "encoding"),
    "gzip cut": (coded("gzip", ZIPPED[:-9]), _M, "gzip_truncated"),
    "gzip with a wrong sum": (coded("gzip", ZIPPED[:-8] + b"\0" * 8), _M, "gzip_corrupt"),
    "gzip of two members": (coded("gzip", ZIPPED + ZIPPED), _M, "gzip_trailing_data"),
    "gzip and more": (coded("gzip", ZIPPED + b"junk"), _M, "gzip_trailing_data"),
    "coding nobody knows": (coded("x" * 60, JSON), _E, "encoding:other"),
    "coding of control characters": (coded("g\tzip", JSON), _E, "encoding:other"),
    "coding of markup": (coded('"<b>"', JSON), _E, "encoding:other"),
    # lengths and chunks
    "length too long": (sends(OK + b"Content-Length: 9999\r\n\r\n" + JSON, close=True), _U, "incomplete_body"),
    "length too short": (sends(OK + b"Content-Length: 9\r\n\r\n" + JSON, close=True), _M, "truncated"),
    "length below nothing": (sends(OK + b"Content-Length: -1\r\n\r\n" + JSON), _U, "protocol_error"),
    "length of words": (sends(OK + b"Content-Length: many\r\n\r\n" + JSON), _U, "protocol_error"),
    "length beyond 64 bits": (sends(OK + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n"), _U, "protocol_error"),
    "two lengths": (sends(OK + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\n{}   "), _U, "protocol_error"),
    "no length and no goodbye": (ends_without_close_notify, _U, "incomplete_body"),
    "chunk without a size": (sends(_CHUNKED + b"zz\r\n{}\r\n"), _U, "protocol_error"),
    "chunk beyond 64 bits": (sends(_CHUNKED + b"f" * 17 + b"\r\n{}\r\n"), _U, "protocol_error"),
    "chunk below nothing": (sends(_CHUNKED + b"-1\r\n{}\r\n"), _U, "protocol_error"),
    "chunk longer than said": (sends(_CHUNKED + b"1\r\n{}\r\n0\r\n\r\n"), _U, "protocol_error"),
    "chunks cut": (sends(_CHUNKED + b"9\r\n{", close=True), _U, "incomplete_body"),
    "chunks of an unknown coding": (
        sends(OK + b"Transfer-Encoding: gzip\r\n\r\n" + JSON, close=True), _N, "unrecognised"),
    # redirects
    "redirect to itself": (moved(PATH), _S, "redirect_loop"),
    "redirects in a ring": (moved("/ring-a"), _S, "redirect_loop"),
    "redirects for ever": (redirects_deeper, _S, "redirect_loop"),
    "redirect to nothing": (Reply(status=302), _S, "redirect_without_location"),
    "redirect to two places": (
        Reply(status=302, headers=(("Location", "/a"), ("Location", "/b"))), _S, "redirect_two_locations"),
    "redirect to http": (moved("http://x.example/"), _R, "redirect_http"),
    "redirect to a file": (moved("file:///etc/passwd"), _R, "redirect_scheme"),
    "redirect to a port": (moved("https://x.example:8443/"), _R, "redirect_port"),
    "redirect with a user": (moved("https://u:p@x.example/"), _R, "redirect_userinfo"),
    "redirect of 60 KB": (moved("/" + "a" * 60_000), _R, "redirect_name"),
    "redirect of NULs": (
        sends(b"HTTP/1.1 302 F\r\nLocation: /\x00a\r\nContent-Length: 0\r\n\r\n"), _U, "protocol_error"),
    # the connection ends, in every phase
    "reset before the status": (resets(b""), _U, "reset"),
    "reset in the status": (resets(b"HTTP/1.1 2"), _U, "reset"),
    "reset in the headers": (resets(OK + b"X-A"), _U, "reset"),
    "reset in the body": (resets(OK + b"Content-Length: 99\r\n\r\n{"), _U, "reset"),
    "reset in a chunk": (resets(_CHUNKED + b"9\r\n{"), _U, "reset"),
    "closed before the status": (sends(b"", close=True), _U, "closed"),
    "closed in the headers": (sends(OK + b"X-A", close=True), _U, "closed"),
    # what is no HTTP, or odd HTTP
    "another protocol": (sends(b"SSH-2.0-OpenSSH_9\r\n\r\n", close=True), _U, "protocol_error"),
    "garbage": (sends(bytes(range(256)) * 40, close=True), _U, "protocol_error"),
    "no status line": (sends(JSON, close=True), _U, "protocol_error"),
    "HTTP/2 unasked": (sends(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18)), _U, "protocol_error"),
    "status 099": (sends(b"HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\n{}"), _U, "protocol_error"),
    "status 999": (Reply(JSON, 999), _S, "status_999"),
    "header with a NUL": (sends(OK + b"X-A: a\x00b\r\nContent-Length: 2\r\n\r\n{}"), _U, "protocol_error"),
    "header without a colon": (sends(OK + b"nonsense\r\nContent-Length: 2\r\n\r\n{}"), _U, "protocol_error"),
    "header on two lines": (sends(OK + b"X-A: a\r\n b\r\nContent-Length: 2\r\n\r\n{}"), _U, "protocol_error"),
    "header beyond ASCII": (sized(JSON[:-1], b"X-A: caf\xc3\xa9\xff"), _M, "truncated"),
    "type beyond ASCII": (Reply(JSON[:-1], type="caf\xe9/json; x=\xff"), _M, "truncated"),
    "switching protocols": (
        sends(b"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", close=True), _S, "status_101"),
    "304 unasked": (sends(b"HTTP/1.1 304 Not Modified\r\n\r\n"), _S, "status_304"),
    # bodies
    "100,000 levels": (manifest_with("[" * 100_000 + "]" * 100_000), _L, "depth"),
    "100 levels": (manifest_with("[" * 100 + "]" * 100), _N, "unrecognised"),
    "1e999": (manifest_with("1e999"), _N, "unrecognised"),
    "1e5000": (manifest_with("1e5000"), _N, "unrecognised"),
    "a number of 5,000 digits": (manifest_with("9" * 5_000), _M, "number"),
    "not a number": (manifest_with("NaN"), _M, "not_json"),
    "infinity": (manifest_with("-Infinity"), _M, "not_json"),
    "a key twice": (manifest_with('1, "name": "Another"'), _M, "duplicate_key"),
    "a key twice, escaped": (manifest_with('1, "n\\u0061me": "Another"'), _M, "duplicate_key"),
    "NUL escaped": (manifest_with('"\\u0000"'), _M, "nul"),
    "NUL bare": (manifest_with('"\0"'), _M, "not_json"),
    "half a surrogate": (manifest_with('"\\ud800"'), _M, "not_json"),
    "half a surrogate in UTF-8": (manifest_with('"\ud800"'), _M, "encoding"),
    "UTF-16": (Reply(json.dumps(MANIFEST).encode("utf-16")), _M, "encoding"),
    "UTF-32": (Reply(json.dumps(MANIFEST).encode("utf-32")), _M, "encoding"),
    "Latin-1": (Reply(json.dumps(MANIFEST | {"name": "\xe9"}, ensure_ascii=False).encode("latin-1")), _M, "encoding"),
    "20,000 keys": (manifest_with(json.dumps({f"k{n}": n for n in range(20_000)})), _N, "unrecognised"),
    "20,000 items": (manifest_with(json.dumps([0] * 20_000)), _N, "unrecognised"),
    "a text of 200,000": (manifest_with(json.dumps("x" * 200_000)), _N, "unrecognised"),
    "2 MB": (manifest_with(json.dumps(["x" * 90_000] * 22)), _L, "body"),
    "cut JSON": (Reply(JSON[:40]), _M, "truncated"),
    "empty": (Reply(b""), _M, "empty"),
    "a page": (Reply("<!doctype html><title>App</title>"), _N, "html"),
}  # fmt: skip


def raw(*pieces: bytes, pause: float = 0.0, wait: bool = True, hold: bool = False) -> Raw:
    """Send these bytes unchanged; with `wait` after the client's first bytes, with `hold` without closing then."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if wait:
            await reader.read(10)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        if hold:
            await asyncio.sleep(3600)

    return serve


def _pours_raw(data: bytes) -> Raw:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0)

    return serve


async def _resets_raw(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    Exchange("", "", {}, 0, writer).reset()


_RECORD = bytes.fromhex("16 0303 4000")  # a handshake record that announces 16 KiB
_ALERT = bytes.fromhex("15 0303 0002 02")  # fatal alert: the description follows (RFC 8446 section 6)

_RAW: Final[Mapping[str, tuple[Raw, Outcome, str]]] = {
    "TLS: plain HTTP": (raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"), _T, "tls_protocol"),
    "TLS: plain HTTP, unasked": (raw(b"HTTP/1.1 200 OK\r\n\r\n{}", wait=False, hold=True), _T, "tls_protocol"),
    "TLS: garbage": (raw(bytes(range(256)) * 8, hold=True), _T, "tls_protocol"),
    "TLS: endless garbage": (_pours_raw(b"\x16\x03\x03" + b"\x00" * 65_000), _T, "tls_protocol"),
    "TLS: no common protocol": (raw(_ALERT + b"\x46"), _T, "tls_protocol"),
    "TLS: no common cipher": (raw(_ALERT + b"\x28"), _T, "tls_protocol"),
    "TLS: name not known": (raw(_ALERT + b"\x70"), _T, "tls_protocol"),
    "TLS: closed": (raw(), _T, "tls_closed"),
    "TLS: closed half-way": (raw(_RECORD + b"\x02"), _T, "tls_closed"),
    "TLS: reset": (_resets_raw, _U, "connect_reset"),
    "TLS: silent": (raw(hold=True), _U, "connect_timeout"),
    "TLS: stalls half-way": (raw(_RECORD + b"\x02", hold=True), _U, "connect_timeout"),
    "TLS: by drips": (raw(*(bytes((byte,)) for byte in _RECORD + bytes(16_000)), pause=0.1), _U, "connect_timeout"),
}  # fmt: skip

_CERTIFICATES: Final = {
    "TLS: expired": ("expired", "certificate_expired"),
    "TLS: not yet valid": ("not_yet", "certificate_not_yet_valid"),
    "TLS: another name": ("wrong_name", "certificate_wrong_name"),
    "TLS: unknown authority": ("untrusted", "certificate_untrusted"),
    "TLS: signed by itself": ("self_signed", "certificate_untrusted"),
}

SCENARIOS: Final[Mapping[str, Scenario]] = MappingProxyType(
    {name: Scenario(outcome, reason, answer=answer) for name, (answer, outcome, reason) in _HTTP.items()}
    | {name: Scenario(outcome, reason, raw=serve) for name, (serve, outcome, reason) in _RAW.items()}
    | {name: Scenario(_T, reason, certificate=kind) for name, (kind, reason) in _CERTIFICATES.items()}
)
