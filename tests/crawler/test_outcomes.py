"""Every way in which a server can fail, against a server that fails in exactly that way, with its outcome and reason.

The transport reports its failures as texts only. After an upgrade these tests show whether the texts still match.
"""

import asyncio
import gzip

import pytest

from crawler.visit import Visitor
from registry.core.model.documents import Outcome, Purpose
from tests.crawler.support import JSON_CAP, Visiting, fetch, probe, settings
from tests.support.sites import LOOPBACK, Answer, Behaviour, Exchange, Reply, closed_port, moved, pours, raw_port

pytestmark = pytest.mark.slow  # servers that keep silent until the deadline

HOST = "site.example"
OK = b"HTTP/1.1 200 OK\r\n"
FULL = gzip.compress(b'{"a": 1}')


def sends(data: bytes, *, then_close: bool = False) -> Behaviour:
    """Send these bytes unchanged, then optionally end the connection."""

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
    """End without length and without close_notify: an attacker may have cut the body (RFC 8446 section 6.1)."""
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
    "closed": (sends(b"", then_close=True), Outcome.UNREACHABLE, "closed"),
    "closed in headers": (sends(OK + b"X-A", then_close=True), Outcome.UNREACHABLE, "closed"),
    "reset": (resets(), Outcome.UNREACHABLE, "reset"),
    "reset in body": (resets(OK + b"Content-Length: 9\r\n\r\nabc"), Outcome.UNREACHABLE, "reset"),
    "length too long": (
        sends(OK + b"Content-Length: 9\r\n\r\nabc", then_close=True),
        Outcome.UNREACHABLE,
        "incomplete_body",
    ),
    "no goodbye": (ends_without_goodbye, Outcome.UNREACHABLE, "incomplete_body"),
    "chunk cut": (
        sends(OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nabc", then_close=True),
        Outcome.UNREACHABLE,
        "incomplete_body",
    ),
    "bad chunk": (
        sends(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"),
        Outcome.UNREACHABLE,
        "protocol_error",
    ),
    "two lengths": (
        sends(OK + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde"),
        Outcome.UNREACHABLE,
        "protocol_error",
    ),
    "no http": (sends(b"SSH-2.0-OpenSSH_9\r\n\r\n", then_close=True), Outcome.UNREACHABLE, "protocol_error"),
    "http 0.9": (sends(b"<html>hello</html>", then_close=True), Outcome.UNREACHABLE, "protocol_error"),
    "status 000": (sends(b"HTTP/1.1 000 No\r\n\r\n"), Outcome.UNREACHABLE, "protocol_error"),
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
"""Seconds, tried in turn: on a busy machine even the headers may come too late for the first of them."""


@pytest.mark.parametrize("case", ANSWERS)
async def test_a_failing_response_has_its_outcome_and_reason(visiting: Visiting, case: str) -> None:
    answer, outcome, reason = ANSWERS[case]
    for patience in DEADLINES if reason.endswith("_timeout") else (100,):
        async with visiting({HOST: answer}, request_timeout=patience) as (_, visitor):
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
async def test_a_bad_certificate_has_its_outcome_and_reason(visiting: Visiting, kind: str) -> None:
    async with visiting({HOST: Reply(b"{}")}, {HOST: kind}) as (sites, visitor):
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.failure, fetched.reason) == (Outcome.TLS_ERROR, CERTIFICATES[kind])
    assert sites.seen == []  # no request is sent before the certificate is verified


async def _answers_plain_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await writer.drain()


async def _hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)


async def _knows_no_tls_12(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(10)
    writer.write(bytes.fromhex("15 0303 0002 02 46"))  # fatal alert: protocol_version (RFC 8446 section 6.2)
    await writer.drain()


async def _never_answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


HANDSHAKES = {
    "plain http": (_answers_plain_http, Outcome.TLS_ERROR, "tls_protocol"),
    "legacy tls": (_knows_no_tls_12, Outcome.TLS_ERROR, "tls_protocol"),
    "hangs up": (_hangs_up, Outcome.TLS_ERROR, "tls_closed"),
    "never answers": (_never_answers, Outcome.UNREACHABLE, "connect_timeout"),
}


@pytest.mark.parametrize("case", HANDSHAKES)
async def test_a_failing_handshake_has_its_outcome_and_reason(case: str) -> None:
    serve, outcome, reason = HANDSHAKES[case]
    patience = 0.3 if reason == "connect_timeout" else 20
    async with (
        raw_port(serve) as port,
        Visitor(settings(f"{HOST}:443:{LOOPBACK}:{port}", connect_timeout=patience)) as visitor,
    ):
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.failure, fetched.reason) == (outcome, reason)


async def test_a_closed_port_is_a_refused_connection() -> None:
    with closed_port() as port:
        async with Visitor(settings(f"{HOST}:443:{LOOPBACK}:{port}")) as visitor:
            [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.failure, fetched.reason) == (Outcome.UNREACHABLE, "connection_refused")
    assert fetched.address == LOOPBACK


async def test_a_name_that_does_not_resolve_is_unreachable() -> None:
    async with Visitor(settings()) as visitor:
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.failure, fetched.reason) == (Outcome.UNREACHABLE, "nxdomain")
    assert fetched.address is None


@pytest.mark.parametrize("status", [404, 403, 500])
async def test_a_broken_error_page_keeps_its_status(visiting: Visiting, status: int) -> None:
    """The status alone decides for such pages: a body that breaks off, is huge or oddly encoded changes nothing."""
    error_pages: dict[str, Answer] = {
        "/br": Reply(b"junk", status, headers=(("Content-Encoding", "br"),)),
        "/cut": sends(f"HTTP/1.1 {status} X\r\nContent-Length: 99\r\n\r\nshort".encode(), then_close=True),
        "/huge": Reply(b"x" * 1_000_000, status),
    }
    async with visiting({HOST: error_pages}) as (_, visitor):
        all_fetched = await fetch(visitor, *(probe(f"https://{HOST}{path}") for path in error_pages))
    assert [fetched.status for fetched in all_fetched] == [status] * 3
    assert all(fetched.truncated and fetched.failure is None for fetched in all_fetched)
    assert [len(fetched.body) for fetched in all_fetched] == [0, 5, 64 * 1024]


async def test_an_endless_error_page_is_abandoned_with_its_status(visiting: Visiting) -> None:
    """The body is abandoned after 256 KiB; waiting for the deadline would lose the status."""

    async def page(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 404 Not Found\r\n\r\n" + b"x" * 400_000)
        await silent(exchange)

    async with visiting({HOST: page}) as (_, visitor):
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.status, fetched.truncated) == (404, True)


async def test_a_truncated_response_is_requested_again_once_per_host(visiting: Visiting) -> None:
    """When a response breaks off, what was read along with its headers is lost, and the status with it."""
    cut_response = sends(b"HTTP/1.1 404 X\r\nContent-Length: 99\r\n\r\nshort", then_close=True)
    async with visiting({HOST: {"/a": cut_response, "/b": cut_response}}) as (sites, visitor):
        all_fetched = await fetch(visitor, *(probe(f"https://{HOST}{path}") for path in ("/a", "/b")))
    assert [fetched.status for fetched in all_fetched] == [404, 404]
    assert sites.paths(HOST) == ["/a", "/a", "/b"]


async def test_a_text_over_its_cap_is_truncated_and_a_manifest_refused(visiting: Visiting) -> None:
    long_text = "User-agent: *\nDisallow: /x\n" + "#" * 5_000
    async with visiting({HOST: Reply(long_text, type="text/plain")}) as (_, visitor):
        robots, manifest = await fetch(
            visitor,
            probe(f"https://{HOST}/robots.txt", Purpose.ROBOTS, cap=1_000),
            probe(f"https://{HOST}/agent.json", cap=1_000),
        )
    assert robots.truncated and robots.body == long_text[:1_000].encode()
    assert manifest.failure is Outcome.TOO_LARGE


async def test_a_complete_response_is_returned_unchanged(visiting: Visiting) -> None:
    big = b'{"a": "%s"}' % (b"x" * (JSON_CAP - 9))
    raw_response = OK + b'Content-Length: 2\r\nX-Name: caf\xc3\xa9\r\nLink: </a>\r\nLink: </b>\r\nETag: "1"\r\n\r\n{}'
    site: dict[str, Answer] = {
        "/zipped": zipped(gzip.compress(big)),
        "/fields": sends(raw_response),
        "/short": sends(OK + b"Content-Length: 2\r\n\r\n{}trailing lies"),
        "/empty": Reply(b"", 204, headers=(("Content-Encoding", "gzip"),)),
        "/chunked": sends(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"),
    }
    async with visiting({HOST: site}) as (_, visitor):
        zip_, fields, short, empty, chunked = await fetch(visitor, *(probe(f"https://{HOST}{path}") for path in site))
    assert len(big) == JSON_CAP and zip_.body == big and not zip_.truncated
    assert fields.headers["link"] == "</a>, </b>" and fields.headers["etag"] == '"1"'
    assert "x-name" not in fields.headers  # not ASCII: unreadable through this transport, but no failure
    assert short.body == b"{}"
    assert (empty.status, empty.body, empty.truncated) == (204, b"", False)
    assert chunked.body == b"{}"
    assert {fetched.address for fetched in (zip_, fields, short)} == {LOOPBACK}
