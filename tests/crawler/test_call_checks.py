"""Checks of addresses for calls over real TLS: what is sent, and how hostile answers end."""

import pytest

from registry.core.visiting.call_checks import CallAddress, CallCheck
from registry.core.visiting.visits import HostJob
from tests.crawler.support import Visiting, far, hasty, silent
from tests.support.sites import Answer, Exchange, Reply, Sites, moved

pytestmark = pytest.mark.slow  # servers and deadlines

HOST = "shop.example"
API = "api.shop.example"
AWAY = "lamps-elsewhere.com"


async def checked(
    visiting: Visiting, pages: dict[str, Answer], *urls: str, is_read: bool = False
) -> tuple[Sites, dict[str, CallCheck]]:
    """Visit a host that has these addresses to check; return the sites and the checks by URL."""
    job = HostJob(HOST, whole_plan=False, calls=tuple(CallAddress(url, is_read) for url in urls))
    sites = {HOST: pages, API: {"/v1": Reply(status=405)}, AWAY: Reply(b"{}")}
    async with visiting(sites) as (served, visitor):
        visit = await visitor.visit_host(job, visitor.new_pacer(), far())
        return served, {check.url: check for check in visit.calls}


async def test_a_check_sends_neither_parameters_nor_credentials_nor_a_body(visiting: Visiting) -> None:
    routes = {"/buy": Reply(status=204), "/list": Reply(status=404)}
    urls = [f"https://{HOST}/buy", f"https://{HOST}/list", f"https://{API}/v1"]
    served, checks = await checked(visiting, dict(routes), *urls, is_read=True)
    sent = [(one.host, one.method, one.path) for one in served.seen if one.path != "/robots.txt"]
    assert sent == [
        (HOST, "OPTIONS", "/buy"), (HOST, "OPTIONS", "/list"), (HOST, "HEAD", "/list"), (API, "OPTIONS", "/v1"),
    ]  # fmt: skip
    for one in served.seen:
        assert one.body == b"" and one.headers.get("content-length", "0") == "0"
        assert not one.headers.keys() & {"authorization", "cookie", "origin", "access-control-request-method"}
        assert one.headers["user-agent"].startswith("WaypostBot/")
    assert [(checks[url].answers, checks[url].status) for url in urls] == [(True, 204), (False, 404), (True, 405)]


async def headers_of_a_body(exchange: Exchange) -> None:
    """Answer HEAD as RFC 9110 section 8.6 allows: with the length and the coding that GET would have."""
    status = 404 if exchange.method == "OPTIONS" else 200
    length = 0 if exchange.method == "OPTIONS" else 5_000_000
    coding = "" if exchange.method == "OPTIONS" else "Content-Encoding: gzip\r\n"
    await exchange.send(f"HTTP/1.1 {status} Status\r\n{coding}Content-Length: {length}\r\n\r\n".encode())


async def large(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 90000000\r\n\r\n" + b"x" * 400_000)


async def strange_location(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 302 Found\r\nLocation: https://x.example/\xff\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "answers", "status"),
    [
        (headers_of_a_body, True, 200),
        (large, True, 200),
        (strange_location, True, 302),
        (moved("https://10.0.0.1/"), True, 301),
        (moved("https://169.254.169.254/latest/meta-data/"), True, 301),
        (moved(f"https://{AWAY}/"), True, 301),
        (moved("/elsewhere"), True, 301),
    ],
)
async def test_one_request_is_enough_whatever_the_answer(
    visiting: Visiting, answer: Answer, answers: bool, status: int
) -> None:
    url = f"https://{HOST}/buy"
    served, checks = await checked(visiting, {"/buy": answer}, url, is_read=True)
    assert (checks[url].answers, checks[url].status) == (answers, status)
    assert {(one.host, one.path) for one in served.seen} == {(HOST, "/robots.txt"), (HOST, "/buy")}
    assert all(one.method != "GET" for one in served.seen if one.path == "/buy"), "a redirect is not read again"


async def test_a_silent_address_ends_at_its_deadline(visiting: Visiting, monkeypatch: pytest.MonkeyPatch) -> None:
    hasty(monkeypatch, 0.5, lambda url: url.endswith("/buy"))
    urls = [f"https://{HOST}/buy", f"https://{HOST}/other"]
    served, checks = await checked(visiting, {"/buy": silent, "/other": Reply(status=405)}, *urls)
    assert (checks[urls[0]].answers, checks[urls[0]].reason) == (False, "request_timeout")
    assert "/other" not in served.paths(HOST)
