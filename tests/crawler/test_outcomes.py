"""Every way in which a server can fail, against a server that fails in exactly that way, with its outcome and reason.

The transport reports its failures as texts only. After an upgrade these tests show whether the texts still match.
`test_torture.py` sends a whole crawl through all scenarios.
"""

import gzip
from contextlib import AsyncExitStack

import pytest

from crawler.visit import Visitor
from registry.core.model.documents import Outcome, Purpose
from tests.crawler.support import JSON_CAP, Visiting, fetch, probe, settings, silent
from tests.crawler.torture.scenarios import OK, PATH, SCENARIOS, coded, sends
from tests.crawler.torture.servers import site_of
from tests.support.sites import LOOPBACK, Answer, Exchange, Reply, closed_port, moved, raw_port

pytestmark = pytest.mark.slow  # servers that keep silent until the deadline

HOST = "site.example"

FAILURES = (
    "silent", "a header now and then", "body by drips", "closed before the status", "closed in the headers",
    "reset before the status", "reset in the body", "length too long", "no length and no goodbye", "chunks cut",
    "chunk without a size", "two lengths", "another protocol", "no status line", "status 099", "endless headers",
    "70 KB in many headers", "endless body", "gzip bomb", "gzip cut", "gzip with a wrong sum", "gzip that is none",
    "gzip of two members", "brotli bomb", "gzip bomb said twice", "coding nobody knows", "coding of markup",
    "redirect to two places", "redirect to nothing", "redirect to itself", "redirect to http", "redirect to a port",
    "TLS: expired", "TLS: not yet valid", "TLS: another name", "TLS: unknown authority", "TLS: plain HTTP",
    "TLS: no common protocol", "TLS: closed", "TLS: silent",
)  # fmt: skip

DEADLINES = (1, 5, 25)
"""Seconds, tried in turn: on a busy machine even the headers may come too late for the first of them."""


@pytest.mark.parametrize("name", FAILURES)
async def test_a_failing_response_has_its_outcome_and_reason(visiting: Visiting, name: str) -> None:
    scenario = SCENARIOS[name]
    for patience in DEADLINES if scenario.reason.endswith("_timeout") else (100,):
        limits = {"connect_timeout" if scenario.reason == "connect_timeout" else "request_timeout": patience}
        async with AsyncExitStack() as stack:
            seen = None
            if scenario.raw is not None:
                port = await stack.enter_async_context(raw_port(scenario.raw))
                config = settings(f"{HOST}:443:{LOOPBACK}:{port}", **limits)
                visitor = await stack.enter_async_context(Visitor(config))
            else:
                certificates = {HOST: scenario.certificate} if scenario.certificate else None
                served = visiting({HOST: site_of(name)}, certificates, **limits)
                sites, visitor = await stack.enter_async_context(served)
                seen = sites.seen
            [fetched] = await fetch(visitor, probe(f"https://{HOST}{PATH}"))
        if fetched.reason == scenario.reason:
            break
    assert (fetched.failure, fetched.reason) == (scenario.outcome, scenario.reason)
    assert fetched.status is None and fetched.body == b""
    assert scenario.certificate is None or seen == []  # no request is sent before the certificate is verified


@pytest.mark.parametrize(
    ("location", "outcome", "reason"),
    [
        ("https://127.0.0.1/y", Outcome.REFUSED_ADDRESS, "redirect_address"),
        ("https://stranger.invalid/y", Outcome.REDIRECTED_AWAY, "to stranger.invalid"),
        ("https://gone.site.example/y", Outcome.UNREACHABLE, "nxdomain"),
    ],
)
async def test_a_redirect_that_is_not_followed_has_its_outcome_and_reason(
    visiting: Visiting, location: str, outcome: Outcome, reason: str
) -> None:
    async with visiting({HOST: moved(location)}) as (_, visitor):
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.failure, fetched.reason, fetched.status) == (outcome, reason, None)


def _octets(text: str) -> str:
    """Return the characters that `Reply` sends as the UTF-8 of a text."""
    return text.encode().decode("latin-1")


@pytest.mark.parametrize(
    ("location", "path"),
    [
        (_octets("/caf\u00e9/x"), "/caf%C3%A9/x"),
        (_octets("/\u65e5\u672c?q=\u8a9e"), "/%E6%97%A5%E6%9C%AC?q=%E8%AA%9E"),
        ("/caf\u00e9/x", "/caf%E9/x"),  # Latin-1
    ],
)
async def test_a_location_outside_ascii_is_followed(visiting: Visiting, location: str, path: str) -> None:
    async with visiting({HOST: {"/start": moved(location), path: Reply(b"{}")}}) as (sites, visitor):
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/start"))
    assert (fetched.final_url, fetched.status, fetched.body) == (f"https://{HOST}{path}", 200, b"{}")
    assert fetched.hops == (f"https://{HOST}/start",)
    assert {exchange.headers["user-agent"][:11] for exchange in sites.seen} == {"WaypostBot/"}


@pytest.mark.parametrize(
    ("headers", "outcome", "reason"),
    [
        ([("Location", _octets("https://127.0.0.1/\u00e9"))], Outcome.REFUSED_ADDRESS, "redirect_address"),
        ([("Location", _octets("http://site.example/\u00e9"))], Outcome.REFUSED_ADDRESS, "redirect_http"),
        ([("Location", _octets("/\u00e9")), ("Location", "/x")], Outcome.SERVER_ERROR, "redirect_two_locations"),
    ],
)
async def test_a_location_outside_ascii_is_judged_as_any_other(
    visiting: Visiting, headers: list[tuple[str, str]], outcome: Outcome, reason: str
) -> None:
    async with visiting({HOST: Reply(status=302, type=None, headers=tuple(headers))}) as (_, visitor):
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.failure, fetched.reason) == (outcome, reason)


async def test_a_location_that_is_not_read_the_second_time_has_a_reason_of_its_own(visiting: Visiting) -> None:
    async def once(exchange: Exchange) -> None:
        if exchange.connection == 1:
            await exchange.send(moved(_octets("/\u00e9")).encode())
        else:
            exchange.reset()

    async with visiting({HOST: once}) as (sites, visitor):
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert (fetched.failure, fetched.reason, len(sites.seen)) == (Outcome.SERVER_ERROR, "redirect_not_ascii", 2)


async def test_a_link_field_outside_ascii_is_read_on_the_front_page(visiting: Visiting) -> None:
    reply = Reply(b"<p>", headers=(("Link", _octets("</ard.json>; rel=ard; title=\u00e9")), ("X-Name", "\u00e9")))
    async with visiting({HOST: reply}) as (sites, visitor):
        home, other = await fetch(visitor, probe(f"https://{HOST}/", Purpose.HOME), probe(f"https://{HOST}/x"))
    assert home.headers["link"] == "</ard.json>; rel=ard; title=\u00e9" and home.body == b"<p>"
    assert "link" not in other.headers and len(sites.seen) == 3


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
        "/cut": sends(f"HTTP/1.1 {status} X\r\nContent-Length: 99\r\n\r\nshort".encode(), close=True),
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
    cut_response = sends(b"HTTP/1.1 404 X\r\nContent-Length: 99\r\n\r\nshort", close=True)
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
            probe(f"https://{HOST}/agent.json", cap=len(long_text) - 1),
        )
    assert robots.truncated and robots.body == long_text[:1_000].encode()
    assert manifest.failure is Outcome.TOO_LARGE


async def test_a_complete_response_is_returned_unchanged(visiting: Visiting) -> None:
    big = b'{"a": "%s"}' % (b"x" * (JSON_CAP - 9))
    raw_response = OK + b'Content-Length: 2\r\nX-Name: caf\xc3\xa9\r\nLink: </a>\r\nLink: </b>\r\nETag: "1"\r\n\r\n{}'
    site: dict[str, Answer] = {
        "/zipped": coded("gzip", gzip.compress(big)),
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
