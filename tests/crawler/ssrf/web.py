"""The web inside the namespace: sites that send the crawler somewhere, each in one way, and names to send it to.

The first label of a name determines its addresses: `c7` has the seventh refused address, `n7` is an alias of an alias
of it, `m7` has it beside a public one, `r7` has it every other time, and every other name is public. The site of a way
is `w-<way>-<number>.com`; names on its own domain are below it, names elsewhere are `c7-<way>.com`. The last URL on
each site is a public control; a request to it shows that the crawler read everything before it.
"""

import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final

from registry.core.visiting.call_checks import MAX_ADDRESSES
from registry.core.visiting.probes import STEPS
from tests.crawler.namespace import Records
from tests.crawler.ssrf.spellings import REFUSED
from tests.support.sites import Answer, Reply, Site, moved

CLASSES: Final = tuple(REFUSED)
TARGET_PATH: Final = "/.well-known/agent-card.json"  # a path for which the crawler searches texts
CONTROL_LABEL: Final = "p0"
CALLS_ROOM: Final = MAX_ADDRESSES - 1  # beside the control

_LABEL: Final = re.compile(r"([cnmr])(\d+)(-[a-z0-9-]+)?")


@dataclass
class Names:
    """The records of the name server; `public` collects every public address that it returned."""

    public: set[str] = field(default_factory=set)
    turns: Counter[str] = field(default_factory=Counter)

    def find(self, name: str) -> Records | None:
        label, _, parent = name.partition(".")
        if label == "nobody" or not parent:
            return None
        label_match = _LABEL.fullmatch(label)
        if label_match is None:
            return self._public(name)
        refused_address = REFUSED[CLASSES[int(label_match[2])]]
        if label_match[1] == "n":
            return [("CNAME", f"alias-{name}")] if not name.startswith("alias") else None
        if label_match[1] == "m":
            return sorted(
                [_record(refused_address), *self._public(name)],
                key=lambda record: (int(label_match[2]) % 2) ^ (record[1] != refused_address),
            )
        if label_match[1] == "r":
            turn = self.turns[name] // 2 + zlib.crc32(name.encode())  # a look-up has two questions: A and AAAA
            self.turns[name] += 1
            return [_record(refused_address)] if turn % 2 else self._public(name)
        return [_record(refused_address)]

    def _public(self, name: str) -> Records:
        """Return a different address for each name, so that no limit per address slows the test down."""
        if name.startswith("alias-n"):
            return [("CNAME", f"last-{name}")]
        if alias_match := re.match(r"last-alias-n(\d+)", name):
            return [_record(REFUSED[CLASSES[int(alias_match[1])]])]
        a, b, c, d = zlib.crc32(name.encode()).to_bytes(4, "big")
        address = f"2606:2800:{a:x}{b:x}:{c:x}::{d:x}" if name.startswith("six") else f"{23 + a % 60}.{b}.{c}.{d}"
        self.public.add(str(ip_address(address)))
        return [_record(address)]


def _record(address: str) -> tuple[str, str]:
    return ("AAAA" if ":" in address else "A"), address


def _json(path: str, value: object) -> Mapping[str, Answer]:
    return {path: Reply(json.dumps(value))}


def _adp(host: str, urls: Sequence[str]) -> Mapping[str, Answer]:
    capabilities = [{"name": f"c{n}", "description": "Folds.", "detail_url": url} for n, url in enumerate(urls)]
    return _json(
        "/.well-known/agent",
        {
            "aid_version": "0.1",
            "name": "Cranes",
            "domain": host,
            "description": "Folds paper cranes",
            "base_url": f"https://{host}",
            "auth": {"type": "none"},
            "capabilities": capabilities,
        },
    )


def _catalogue(host: str, urls: Sequence[str]) -> Mapping[str, Answer]:
    kind = "application/a2a-agent-card+json"
    entries = [{"identifier": f"urn:air:{host}:{n}", "type": kind, "url": url} for n, url in enumerate(urls)]
    return _json("/.well-known/ard.json", {"specVersion": "1.0", "host": {"displayName": "Many"}, "entries": entries})


def _linkset(host: str, urls: Sequence[str]) -> Mapping[str, Answer]:
    described = [{"href": url, "type": "application/openapi+json"} for url in urls]
    return _json(
        "/.well-known/api-catalog", {"linkset": [{"anchor": f"https://{host}/api", "service-desc": described}]}
    )


def _llms(host: str, urls: Sequence[str]) -> Mapping[str, Answer]:
    lines = [f"- [A card]({url.strip()}): talk\n- {url.strip()}" for url in urls]
    return {"/llms.txt": Reply("# Cranes\n\n> Folds.\n\n" + "\n".join(lines) + "\n", type="text/plain")}


def _agentmap(host: str, urls: Sequence[str]) -> Mapping[str, Answer]:
    lines = [f"Agentmap: {url.strip()}" for url in urls]
    return {"/robots.txt": Reply("User-agent: *\nAllow: /\n" + "\n".join(lines) + "\n", type="text/plain")}


def _header(host: str, urls: Sequence[str]) -> Mapping[str, Answer]:
    sendable = [url for url in urls if url.isascii() and url.isprintable()]
    links = tuple(("Link", f'<{url}>; rel="service-desc"') for url in sendable)
    return {"/": Reply("<title>Cranes</title>", type="text/html", headers=links)}


def _html(host: str, urls: Sequence[str]) -> Mapping[str, Answer]:
    links = "".join(f'<link rel="ai-catalog" href="{url}">' for url in urls)
    return {"/": Reply(f"<head>{links}</head>", type="text/html")}


def _redirects(host: str, urls: Sequence[str]) -> Mapping[str, Answer]:
    paths = [step.path for step in STEPS if step.fallback_of is None]
    return {path: moved(_sendable(url)) for path, url in zip(paths, urls, strict=False)}


def _robots_redirect(host: str, urls: Sequence[str]) -> Mapping[str, Answer]:
    return {"/robots.txt": moved(_sendable(urls[0]))}


def _fields(host: str, urls: Sequence[str]) -> Mapping[str, Answer]:
    """Serve URLs as fields of documents, which are stored but never fetched; the API must not publish them."""
    card = {
        "name": "Cranes",
        "description": "Folds.",
        "url": urls[0],
        "version": "1.0.0",
        "protocolVersion": "0.3.0",
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "additionalInterfaces": [{"url": url, "transport": "JSONRPC"} for url in urls],
        "skills": [{"id": "fold", "name": "Fold", "description": "Folds a crane.", "tags": ["paper"]}],
    }
    awp = {
        "awp_version": "0.2",
        "domain": host,
        "intent": "Folds paper cranes",
        "protocols": {
            "a2a": {"version": "0.3", "endpoint": urls[0], "agent_card": urls[-1]},
            "mcp": {"version": "2025-06-18", "endpoint": urls[1 % len(urls)], "transport": "http"},
            "openapi": {"version": "3.1.0", "endpoint": urls[2 % len(urls)]},
        },
    }
    services = {f"dev.ucp.s{number}": {"rest": {"endpoint": url}} for number, url in enumerate(urls)}
    ucp = {"ucp": {"version": "2026-01-11", "services": services}}
    return {
        **_json("/.well-known/agent-card.json", card),
        **_json("/agent.json", awp),
        **_json("/.well-known/ucp", ucp),
    }


def _calls(host: str, urls: Sequence[str]) -> Mapping[str, Answer]:
    """Serve URLs as addresses for calls, which a later visit checks."""
    actions = [
        {"id": f"fold_{number}", "description": "Folds a crane.", "endpoint": url, "method": "GET"}
        for number, url in enumerate(urls)
    ]
    return _json(
        "/agent.json", {"awp_version": "0.2", "domain": host, "intent": "Folds paper cranes", "actions": actions}
    )


def _sendable(url: str) -> str:
    """Return the URL as a field value: without line ends, its UTF-8 bytes sent as Latin-1, which browsers accept."""
    return re.sub(r"[\r\n]", "", url).encode("utf-8").decode("latin-1")


@dataclass(frozen=True)
class Way:
    """One way in. `room` is how many URLs one site may name before the plan's own limits hide some of them."""

    name: str
    site: Callable[[str, Sequence[str]], Mapping[str, Answer]]
    room: int
    elsewhere: bool = True  # names on other sites are visited later, as hosts of their own
    control_path: str = TARGET_PATH


WAYS: Final = (
    Way("redirect", _redirects, 13),
    Way("robots-redirect", _robots_redirect, 1, control_path="/robots.txt"),
    Way("llms", _llms, 40),
    Way("catalogue", _catalogue, 200),
    Way("linkset", _linkset, 90),
    Way("adp-detail", _adp, 200, elsewhere=False),
    Way("link-header", _header, 60),
    Way("html-link", _html, 200),
    Way("agentmap", _agentmap, 9),
    Way("fields", _fields, 40),
    Way("calls", _calls, CALLS_ROOM, elsewhere=False, control_path="/call"),
)

_AT_ONCE: Final = 8
"""Names on its own domain that one site lists; a visit follows ten pointers."""


@dataclass(frozen=True)
class Web:
    sites: Mapping[str, Site]
    roots: tuple[str, ...]  # hosts to seed
    controls: Mapping[str, tuple[tuple[str, str], ...]]  # way -> (host, path) of public targets that must be reached
    named: int  # number of URLs on all sites


def web(urls: Sequence[str], classes: Sequence[int]) -> Web:
    """Return sites for every way; together they name all `urls`, and names of the classes on own and other domains."""
    sites: dict[str, Site] = {}
    controls: dict[str, tuple[tuple[str, str], ...]] = {}
    roots: list[str] = []
    url_count = 0
    for way in WAYS:
        reached: list[tuple[str, str]] = []
        for number, batch in enumerate(_url_batches(way, urls, classes)):
            host = f"w-{way.name}-{number}.com"
            control = f"{CONTROL_LABEL}.{host}"
            own_urls = [url.replace("HOST", host) for url in batch]
            url_count += len(own_urls)
            control_url = f"https://{control}{way.control_path}"
            site_urls = own_urls[: way.room] if way.room == 1 else [*own_urls, control_url]
            sites[host] = way.site(host, site_urls)
            roots.append(host)
            if way.room == 1:
                continue
            sites[control] = {way.control_path: Reply("{}")}
            reached.append((control, way.control_path))
        if way.room == 1:
            host, control = f"w-{way.name}-control.com", f"{CONTROL_LABEL}.w-{way.name}-control.com"
            sites[host] = way.site(host, [f"https://{control}{way.control_path}"])
            sites[control] = {way.control_path: Reply("User-agent: *\nAllow: /\n", type="text/plain")}
            roots.append(host)
            reached.append((control, way.control_path))
        controls[way.name] = tuple(reached)
    return Web(sites, tuple(roots), controls, url_count)


def _url_batches(way: Way, urls: Sequence[str], classes: Sequence[int]) -> Iterator[Sequence[str]]:
    path = way.control_path
    target_urls = [url[:-2] + path if url.endswith("/x") else url for url in urls]
    yield from _batched(
        target_urls[::8] if way.room <= CALLS_ROOM else target_urls, way.room
    )  # a few need a site of their own, so single requests try the rest
    own_urls = [f"https://{kind}{number}.HOST{path}" for number in classes for kind in "cn"]
    yield from _batched(own_urls, min(way.room, _AT_ONCE))
    if way.elsewhere:
        elsewhere_urls = [f"https://{kind}{number}-{way.name}.com{path}" for number in classes for kind in "cn"]
        yield from _batched(elsewhere_urls, min(way.room, _AT_ONCE))


def _batched(urls: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    yield from (urls[start : start + size] for start in range(0, len(urls), size))
