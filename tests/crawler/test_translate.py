"""Every way in which a server can fail, against a server that fails in exactly that way, and the name we give it.

The transport tells its failures in texts only: after an upgrade these tests say whether they still mean the same.
"""

import asyncio
import gzip
from pathlib import Path

import pytest

from crawler.visit import Visitor
from registry.core.documents import Outcome, Purpose
from tests.crawler.support import JSON_CAP, fetch, probe, settings, visiting
from tests.support.sites import LOOPBACK, Answer, Behaviour, Exchange, Reply, closed_port, moved, pours, raw_port

pytestmark = pytest.mark.slow  # servers that keep silent until the deadline

HOST = "site.example"
OK = b"HTTP/1.1 200 OK\r\n"
FULL = gzip.compress(b'{"a": 1}')


def says(data: bytes, *, then_close: bool = False) -> Behaviour:
    """Sends these bytes as they stand, and may end the connection."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(data)
        if then_close:
            exchange.writer.close()

    return answer


def resets(head: bytes = b"") -> Behaviour:
    async def answer(exchange: Exchange) -> None:
        await exchange.send(head)
        await asyncio.sleep(0.05)
        exchange.reset()

    return answer


async def silent(_: Exchange) -> None:
    await asyncio.sleep(60)


async def ends_without_goodbye(exchange: Exchange) -> None:
    """No length and no close_notify: an attacker may have cut the body (RFC 8446 section 6.1)."""
    await exchange.send(OK + b"\r\n{}")
    await asyncio.sleep(0.05)
    exchange.writer.transport.abort()


def zipped(body: bytes) -> Reply:
    return Reply(body, headers=(("Content-Encoding", "gzip"),))


def coded(coding: str) -> Reply:
    return Reply(b"{}", headers=(("Content-Encoding", coding),))


ANSWERS: dict[str, tuple[Answer, Outcome, str]] = {
    "silent": (silent, Outcome.UNREACHABLE, "request_timeout"),
    "slow headers": (pours(OK, b"X-A: b\r\n", 0.1), Outcome.UNREACHABLE, "request_timeout"),
    "endless 1xx": (pours(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.01), Outcome.UNREACHABLE, "request_timeout"),
    "slow body": (pours(OK + b"Content-Length: 9999\r\n\r\n", b"x", 0.1), Outcome.UNREACHABLE, "read_timeout"),
    "closed": (says(b"", then_close=True), Outcome.UNREACHABLE, "closed"),
    "closed in headers": (says(OK + b"X-A", then_close=True), Outcome.UNREACHABLE, "closed"),
    "reset": (resets(), Outcome.UNREACHABLE, "reset"),
    "reset in body": (resets(OK + b"Content-Length: 9\r\n\r\nabc"), Outcome.UNREACHABLE, "reset"),
    "length too long": (
        says(OK + b"Content-Length: 9\r\n\r\nabc", then_close=True),
        Outcome.UNREACHABLE,
        "incomplete_body",
    ),
    "no goodbye": (ends_without_goodbye, Outcome.UNREACHABLE, "incomplete_body"),
    "chunk cut": (
        says(OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nabc", then_close=True),
        Outcome.UNREACHABLE,
        "incomplete_body",
    ),
    "bad chunk": (
        says(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"),
        Outcome.UNREACHABLE,
        "protocol_error",
    ),
    "two lengths": (
        says(OK + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde"),
        Outcome.UNREACHABLE,
        "protocol_error",
    ),
    "no http": (says(b"SSH-2.0-OpenSSH_9\r\n\r\n", then_close=True), Outcome.UNREACHABLE, "protocol_error"),
    "http 0.9": (says(b"<html>hello</html>", then_close=True), Outcome.UNREACHABLE, "protocol_error"),
    "status 000": (says(b"HTTP/1.1 000 No\r\n\r\n"), Outcome.UNREACHABLE, "protocol_error"),
    "endless headers": (pours(OK, b"X-A: " + b"b" * 1000 + b"\r\n"), Outcome.TOO_LARGE, "headers"),
    "70 KB of headers": (
        Reply(b"{}", headers=tuple((f"X-{n}", "b" * 990) for n in range(70))),
        Outcome.TOO_LARGE,
        "headers",
    ),
    "endless body": (pours(OK + b"\r\n", b"x" * 60_000), Outcome.TOO_LARGE, "body"),
    "a byte too many": (Reply(b"x" * (JSON_CAP + 1)), Outcome.TOO_LARGE, "body"),
    "bomb": (zipped(gzip.compress(bytes(50_000_000))), Outcome.TOO_LARGE, "body"),
    "gzip cut": (zipped(FULL[:-5]), Outcome.MALFORMED, "gzip_truncated"),
    "gzip bad sum": (zipped(FULL[:-8] + b"\0" * 8), Outcome.MALFORMED, "gzip_corrupt"),
    "gzip is none": (zipped(b'{"a": 1}'), Outcome.MALFORMED, "gzip_corrupt"),
    "gzip twice over": (zipped(FULL + FULL), Outcome.MALFORMED, "gzip_trailing_data"),
    "brotli": (coded("br"), Outcome.UNSUPPORTED_ENCODING, "encoding:br"),
    "gzip in gzip": (coded("gzip, gzip"), Outcome.UNSUPPORTED_ENCODING, "encoding:other"),
    "odd coding": (coded("\"<b>\""), Outcome.UNSUPPORTED_ENCODING, "encoding:other"),
    "two locations": (
        Reply(status=302, headers=(("Location", "/a"), ("Location", "/b"))),
        Outcome.SERVER_ERROR,
        "redirect_two_locations",
    ),
    "no location": (Reply(status=302), Outcome.SERVER_ERROR, "redirect_without_location"),
    "to itself": (moved(f"https://{HOST}/x"), Outcome.SERVER_ERROR, "redirect_loop"),
    "to http": (moved(f"http://{HOST}/y"), Outcome.REFUSED_ADDRESS, "redirect_http"),
    "to an address": (moved("https://127.0.0.1/y"), Outcome.REFUSED_ADDRESS, "redirect_address"),
    "to another port": (moved(f"https://{HOST}:8443/y"), Outcome.REFUSED_ADDRESS, "redirect_port"),
    "to a stranger": (moved("https://stranger.invalid/y"), Outcome.REDIRECTED_AWAY, "to stranger.invalid"),
    "to no host of the table": (moved("https://gone.site.example/y"), Outcome.UNREACHABLE, "nxdomain"),
}  # fmt: skip


DEADLINES = (1, 5, 25)
"""Seconds: on a busy machine even the head of an answer may come too late for the first of them."""


@pytest.mark.parametrize("case", ANSWERS)
async def test_answers(case: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answer, outcome, reason = ANSWERS[case]
    for patience in DEADLINES if reason.endswith("_timeout") else (100,):
        async with visiting(monkeypatch, tmp_path, {HOST: answer}, request_timeout=patience) as (_, visitor):
            [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
        if fetched.reason == reason:
            break
    assert (fetched.failure, fetched.reason) == (outcome, reason)
    assert fetched.status is None and fetched.body == b""


CERTIFICATES = {
    "expired": "certificate_expired",
    "not_yet": "certificate_not_yet_valid",
    "wrong_name": "certificate_wrong_name",
    "untrusted": "certificate_untrusted",
}


@pytest.mark.parametrize("kind", CERTIFICATES)
async def test_certificates(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with visiting(monkeypatch, tmp_path, {HOST: Reply(b"{}")}, {HOST: kind}) as (sites, visitor):
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.failure, fetched.reason) == (Outcome.TLS_ERROR, CERTIFICATES[kind])
    assert sites.seen == []  # not a byte of a request before the certificate is verified


async def _http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await writer.drain()


async def _hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)


async def _knows_no_tls_12(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    writer.write(bytes.fromhex("15 0303 0002 02 46"))  # fatal alert: protocol_version (RFC 8446 section 6.2)
    await writer.drain()


async def _never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


HANDSHAKES = {
    "plain http": (_http, Outcome.TLS_ERROR, "tls_protocol"),
    "legacy tls": (_knows_no_tls_12, Outcome.TLS_ERROR, "tls_protocol"),
    "hangs up": (_hangs_up, Outcome.TLS_ERROR, "tls_closed"),
    "never answers": (_never, Outcome.UNREACHABLE, "connect_timeout"),
}


@pytest.mark.parametrize("case", HANDSHAKES)
async def test_handshakes(case: str) -> None:
    serve, outcome, reason = HANDSHAKES[case]
    patience = 0.3 if reason == "connect_timeout" else 20
    async with (
        raw_port(serve) as port,
        Visitor(settings(f"{HOST}:443:{LOOPBACK}:{port}", connect_timeout=patience)) as visitor,
    ):
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.failure, fetched.reason) == (outcome, reason)


async def test_nobody_listens() -> None:
    with closed_port() as port:
        async with Visitor(settings(f"{HOST}:443:{LOOPBACK}:{port}")) as visitor:
            [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.failure, fetched.reason) == (Outcome.UNREACHABLE, "connection_refused")
    assert fetched.address == LOOPBACK


async def test_name_that_does_not_resolve() -> None:
    async with Visitor(settings()) as visitor:
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.failure, fetched.reason) == (Outcome.UNREACHABLE, "nxdomain")
    assert fetched.address is None


@pytest.mark.parametrize("status", [404, 403, 500])
async def test_pages_that_are_no_documents_may_be_broken(
    status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """ "Not found" is said by the status: a page that breaks off, is huge or oddly coded changes nothing about it."""
    odd: dict[str, Answer] = {
        "/br": Reply(b"junk", status, headers=(("Content-Encoding", "br"),)),
        "/cut": says(f"HTTP/1.1 {status} X\r\nContent-Length: 99\r\n\r\nshort".encode(), then_close=True),
        "/huge": Reply(b"x" * 1_000_000, status),
    }
    async with visiting(monkeypatch, tmp_path, {HOST: odd}) as (_, visitor):
        all_fetched = await fetch(visitor, *(probe(f"https://{HOST}{path}") for path in odd))
    assert [one.status for one in all_fetched] == [status] * 3
    assert all(one.truncated and one.failure is None for one in all_fetched)
    assert [len(one.body) for one in all_fetched] == [0, 5, 64 * 1024]


async def test_endless_page_that_is_no_document_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After a quarter of a megabyte, and not at the deadline, which would take its status away."""

    async def page(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 404 Not Found\r\n\r\n" + b"x" * 400_000)
        await silent(exchange)

    async with visiting(monkeypatch, tmp_path, {HOST: page}) as (_, visitor):
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.status, fetched.truncated) == (404, True)


async def test_a_host_that_breaks_a_page_off_is_asked_again_once_and_then_read_with_care(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is read ahead of the head takes the status with it when it breaks off."""
    cut = says(b"HTTP/1.1 404 X\r\nContent-Length: 99\r\n\r\nshort", then_close=True)
    async with visiting(monkeypatch, tmp_path, {HOST: {"/a": cut, "/b": cut}}) as (sites, visitor):
        all_fetched = await fetch(visitor, *(probe(f"https://{HOST}{path}") for path in ("/a", "/b")))
    assert [one.status for one in all_fetched] == [404, 404]
    assert sites.paths(HOST) == ["/a", "/a", "/b"]


async def test_texts_are_cut_where_manifests_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    long = "User-agent: *\nDisallow: /x\n" + "#" * 5_000
    async with visiting(monkeypatch, tmp_path, {HOST: Reply(long, type="text/plain")}) as (_, visitor):
        robots, manifest = await fetch(
            visitor,
            probe(f"https://{HOST}/robots.txt", Purpose.ROBOTS, cap=1_000),
            probe(f"https://{HOST}/agent.json", cap=1_000),
        )
    assert robots.truncated and robots.body == long[:1_000].encode()
    assert manifest.failure is Outcome.TOO_LARGE


async def test_what_comes_whole_comes_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    big = b'{"a": "%s"}' % (b"x" * (JSON_CAP - 9))
    head = OK + b'Content-Length: 2\r\nX-Name: caf\xc3\xa9\r\nLink: </a>\r\nLink: </b>\r\nETag: "1"\r\n\r\n{}'
    site: dict[str, Answer] = {
        "/zipped": zipped(gzip.compress(big)),
        "/fields": says(head),
        "/short": says(OK + b"Content-Length: 2\r\n\r\n{}trailing lies"),
        "/empty": Reply(b"", 204, headers=(("Content-Encoding", "gzip"),)),
        "/chunked": says(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"),
    }
    async with visiting(monkeypatch, tmp_path, {HOST: site}) as (_, visitor):
        zip_, fields, short, empty, chunked = await fetch(visitor, *(probe(f"https://{HOST}{path}") for path in site))
    assert len(big) == JSON_CAP and zip_.body == big and not zip_.truncated
    assert fields.headers["link"] == "</a>, </b>" and fields.headers["etag"] == '"1"'
    assert "x-name" not in fields.headers  # not ASCII: unreadable through this transport, and no reason to fail
    assert short.body == b"{}"
    assert (empty.status, empty.body, empty.truncated) == (204, b"", False)
    assert chunked.body == b"{}"
    assert {one.address for one in (zip_, fields, short)} == {LOOPBACK}
