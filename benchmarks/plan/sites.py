"""Simulated typical hosts, mostly without a manifest, each kind with its own answers. No network."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from benchmarks.assess.documents import Maker, documents

Reply = tuple[int, dict[str, str], bytes]


@dataclass(frozen=True, slots=True)
class Kind:
    """`share`: per cent of a mixed list. `reply`: function of host and path that returns the answer."""

    name: str
    share: int
    reply: Callable[[str, str], Reply]


_WORDS: Final = Maker(7, "")
_TEXT: Final = " ".join(_WORDS.sentence() for _ in range(200))
_SERVED: Final = {
    "server": "nginx",
    "date": "Sat, 21 Nov 2026 10:00:00 GMT",
    "connection": "keep-alive",
    "vary": "Accept-Encoding",
    "strict-transport-security": "max-age=63072000",
}
_PLAIN: Final = (
    b"<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n"
    b"<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)
_ROBOTS: Final = (
    "User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\nSitemap: https://{}/sitemap.xml\n"
)
_LONG_ROBOTS: Final = "".join(
    f"User-agent: {agent}\n" + "".join(f"Disallow: /{name}/*?sort={n}\n" for n, name in enumerate(_TEXT.split()[:30]))
    for agent in ("*", "GPTBot", "CCBot", "Bytespider")
)
_CARD: Final = next(document for document in documents(1) if document.kind == "a2a").raw


def _reply(status: int, kind: str, body: str | bytes, **headers: str) -> Reply:
    raw = body.encode() if isinstance(body, str) else bytes(bytearray(body))
    return status, {**_SERVED, "content-type": kind, "content-length": str(len(raw)), **headers}, raw


def _home(host: str) -> Reply:
    """Return a home page of 20 KB: a head of 2 KB with styles, scripts and links, then text."""
    files = "".join(f'<link rel="stylesheet" href="/a/{n}.css"><script src="/a/{n}.js"></script>' for n in range(20))
    head = f'<title>{host}</title><meta name="description" content="{_TEXT[:150]}"><link rel="icon" href="/i">{files}'
    body = "".join(f'<p><a href="/page/{n}">{_TEXT[n * 40 : n * 40 + 400]}</a></p>' for n in range(40))
    page = f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"
    return _reply(200, "text/html; charset=utf-8", page)


def bare(host: str, path: str) -> Reply:
    """Answer like nginx without files: a 404 of 146 bytes."""
    return _home(host) if path == "/" else _reply(404, "text/html", _PLAIN)


def plain(host: str, path: str) -> Reply:
    """Answer like `bare`, with a small robots.txt: the most common kind of host."""
    if path == "/robots.txt":
        return _reply(200, "text/plain", _ROBOTS.format(host))
    return bare(host, path)


def long_robots(host: str, path: str) -> Reply:
    return _reply(200, "text/plain", _LONG_ROBOTS) if path == "/robots.txt" else bare(host, path)


def designed(host: str, path: str) -> Reply:
    """Answer with a 404 page of 5 KB in the site's own design, which contains the path."""
    if path == "/":
        return _home(host)
    page = f"<!doctype html><title>Not found</title><p>{path} is not here</p><p>{_TEXT[:4800]}</p>"
    return _reply(404, "text/html; charset=utf-8", page)


def catch_all(host: str, path: str) -> Reply:
    """Answer like a single-page application: a 200 of 20 KB for every path."""
    return _home(host)


def echoing(host: str, path: str) -> Reply:
    """Answer like `catch_all`, with the path and a nonce in the page, so that no two answers are equal."""
    status, headers, body = _home(host)
    spelt = f"<head><script nonce={crc32(path.encode()):08x} data-path={path!r}></script>"
    return status, headers, body.replace(b"<head>", spelt.encode(), 1)


def refusing(host: str, path: str) -> Reply:
    return _reply(403, "text/html", _PLAIN.replace(b"404 Not Found", b"403 Forbidden"))


def speaking(host: str, path: str) -> Reply:
    """Answer with an agent card at its path, otherwise like `plain`."""
    return _reply(200, "application/json", _CARD) if path == "/.well-known/agent-card.json" else plain(host, path)


KINDS: Final = (
    Kind("404, bare", 30, bare),
    Kind("404, robots.txt", 35, plain),
    Kind("404, long robots.txt", 5, long_robots),
    Kind("404, own page", 12, designed),
    Kind("200 for all", 5, catch_all),
    Kind("200 for all, echo", 3, echoing),
    Kind("403 for all", 7, refusing),
    Kind("a hit", 3, speaking),
)
