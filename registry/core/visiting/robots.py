"""robots.txt after RFC 9309: one small parser that reads each file once, in time linear in its size.

Written instead of wrapping a library: of those tried, one raises on lines without a separator and parses the file again
for every URL, one needs minutes for 100,000 agents, and one errs towards fetching. Where RFC 9309 is silent (a missing
colon, misspelt keys, `index.html` for a folder) it does what the most used parser does, in favour of the site.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Final

from registry.core.model.services import Pointer

PRODUCT: Final = "WaypostBot"
CAP: Final = 500 * 1024  # bytes read of a robots.txt; the rest is ignored (RFC 9309 section 2.5)
MAX_DELAY: Final = 30.0  # seconds of Crawl-delay that are honoured
MAX_POINTERS: Final = 10

_MAX_LINE = 2083 * 8 - 1  # bytes of a line that count
_BOM = b"\xef\xbb\xbf"
_PLAIN_URL = re.compile(r"https?://[^/?#]*(/[^#%]*)")
_URL_PREFIX = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#]*")
_AGENT = re.compile(rb"[a-zA-Z_-]*")
_TRIPLET = re.compile(r"%[0-9a-fA-F]{2}")
_AGENTIC = re.compile(rb"#\s*agentic-manifest\s*:\s*(\S+)", re.IGNORECASE)
_MATCH_ALL = frozenset({"/", "*", "/*"})
_KEYS: Final = (
    (b"user-agent", "agent"), (b"useragent", "agent"), (b"user agent", "agent"), (b"allow", "allow"),
    (b"disallow", "disallow"), (b"dissallow", "disallow"), (b"dissalow", "disallow"), (b"disalow", "disallow"),
    (b"diasllow", "disallow"), (b"disallaw", "disallow"), (b"crawl-delay", "delay"), (b"agentmap", "agentmap"),
)  # fmt: skip
_NAMES: Final = dict(_KEYS)


@dataclass(frozen=True, slots=True)
class RobotsRule:
    """`pattern` as the site writes it, percent-encoded; `*` matches anything, a final `$` the end of the path."""

    pattern: str
    allow: bool

    def matches(self, path: str) -> bool:
        if "*" not in self.pattern and not self.pattern.endswith("$"):
            return path.startswith(self.pattern)
        anchored = self.pattern.endswith("$")
        prefix, *pieces = (self.pattern[:-1] if anchored else self.pattern).split("*")
        if not path.startswith(prefix):
            return False
        if not pieces:
            return not anchored or len(path) == len(prefix)
        return _has_in_order(path, len(prefix), pieces, anchored)


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one robots.txt for one product token. `rules` are the rules that apply, the decisive one first.
    `reachable` False: request nothing. `crawl_delay` is seconds between requests, at most MAX_DELAY. `opted_out`: a
    group names the token itself and disallows everything."""

    rules: tuple[RobotsRule, ...] = ()
    reachable: bool = True
    reason: str = ""
    crawl_delay: float | None = None
    opted_out: bool = False
    pointers: tuple[Pointer, ...] = ()

    @classmethod
    def parse(cls, body: bytes, agent: str = PRODUCT) -> "Robots":
        """Return the rules of a body that was served with 2xx. Never raises. A web page contains no rules."""
        body = body[:CAP]  # guard: robots-size
        if is_page(body):
            return cls(reason="html")
        reading = _Reading(agent)
        for line in _lines(body):
            reading.take(line)
        group = reading.own if reading.own_seen else reading.everyone
        rules = group.rules
        decisive_first = sorted(set(rules), key=lambda rule: (-len(rule.pattern), not rule.allow, rule.pattern))
        disallows_all = any(rule.pattern in _MATCH_ALL for rule in rules) and not any(rule.allow for rule in rules)
        return cls(
            rules=tuple(decisive_first),
            crawl_delay=group.delay,
            opted_out=reading.own_seen and disallows_all,  # guard: robots-opt-out
            pointers=tuple(reading.pointers),
        )

    @classmethod
    def from_answer(cls, status: int | None, body: bytes, reason: str = "", agent: str = PRODUCT) -> "Robots":
        """Apply RFC 9309 section 2.3.1: 2xx is parsed, 3xx that led nowhere and 4xx allow, 5xx and no answer disallow.
        429 counts as no answer: a host that limits requests must not receive more. `status` None: not reachable."""
        if status is None:
            return cls(reachable=False, reason=reason or "robots_unreachable")
        if 200 <= status < 300:
            return cls.parse(body, agent)
        if 300 <= status < 500 and status != 429:  # guard: robots-429
            return cls(reason=f"robots_{status}")
        return cls(reachable=False, reason=f"robots_{status}")  # guard: robots-unavailable

    def allowed(self, url: str) -> bool:
        """Return whether the URL (or path) may be requested. The longest matching pattern decides, at a tie `allow`."""
        if not self.reachable or not self.rules:
            return self.reachable
        path = _path(url)
        for rule in self.rules:
            if rule.matches(path):
                return rule.allow
        return True


def is_page(body: bytes) -> bool:
    """Return whether a web page was served instead of the file; it contains no rules."""
    return body.removeprefix(_BOM).lstrip()[:1] == b"<"


@dataclass(slots=True)
class _Group:
    rules: list[RobotsRule]
    delay: float | None = None


class _Reading:
    """The state of the parser: which groups the current line belongs to (RFC 9309 section 2.2.1)."""

    def __init__(self, agent: str) -> None:
        self._agent = agent.lower().encode("utf-8", "replace")
        self.own, self.everyone = _Group([]), _Group([])
        self.own_seen = False
        self.pointers: list[Pointer] = []
        self._current: dict[bytes, _Group] = {}
        self._rules_began = False

    def take(self, line: bytes) -> None:
        if b"#" in line and (comment := _AGENTIC.match(line.lstrip())):
            self._add_pointer(comment[1], "agentic-manifest", "awas")
        key, value = _key_and_value(line)
        if key == "agent":
            if self._rules_began:
                self._current, self._rules_began = {}, False
            if value[:1] == b"*" and (len(value) == 1 or value[1:2].isspace()):
                self._current[b"*"] = self.everyone
            elif (token := _AGENT.match(value)) is not None and token[0].lower() == self._agent:
                self._current[self._agent], self.own_seen = self.own, True
        elif key in ("allow", "disallow"):
            self._rules_began = True
            if self._current:
                self._add_rule(_pattern(value), key == "allow")
        elif key == "delay":
            self._set_delay(value)
        elif key == "agentmap":
            self._add_pointer(value, "agentmap", "ai-catalog")

    def _add_rule(self, pattern: str, allow: bool) -> None:
        rules = [RobotsRule(pattern, allow)] if pattern else []  # an empty "Disallow:" is no rule
        folder, slash, page = pattern.rpartition("/")
        if allow and slash and page.startswith("index.htm"):
            rules.append(RobotsRule(f"{folder}/$", allow))
        for group in self._current.values():
            group.rules += rules

    def _set_delay(self, value: bytes) -> None:
        try:
            seconds = float(value[:20])
        except ValueError:
            return
        if not isfinite(seconds) or seconds < 0:
            return
        for group in self._current.values():
            group.delay = min(max(seconds, group.delay or 0.0), MAX_DELAY)  # guard: crawl-delay-limit

    def _add_pointer(self, value: bytes, rel: str, expected: str) -> None:
        url = value.decode("utf-8", "replace")
        if url and len(self.pointers) < MAX_POINTERS:  # guard: robots-pointers
            self.pointers.append(Pointer(url, rel, "", expected))


def _lines(body: bytes) -> Iterator[bytes]:
    for size in (3, 2, 1):  # also an incomplete byte order mark
        if body.startswith(_BOM[:size]):
            body = body[size:]
            break
    for line in body.splitlines():
        yield line[:_MAX_LINE]


def _key_and_value(line: bytes) -> tuple[str | None, bytes]:
    line = line.partition(b"#")[0].strip()
    key, colon, value = line.partition(b":")
    if not colon:
        words = line.split()
        if len(words) != 2:
            return None, b""
        key, value = words
    key = key.strip().lower()
    name = _NAMES.get(key)
    if name is None:
        name = next((name for prefix, name in _KEYS if key.startswith(prefix)), None)
    return name, value.strip()


def _pattern(value: bytes) -> str:
    """Percent-encode octets outside ASCII, and write triplets in upper case (RFC 9309 section 2.2.2)."""
    if not value.isascii():
        value = b"".join(b"%%%02X" % byte if byte > 0x7F else bytes((byte,)) for byte in value)
    return _upper_triplets(value.decode("ascii"))


def _upper_triplets(text: str) -> str:
    return _TRIPLET.sub(lambda triplet: triplet[0].upper(), text) if "%" in text else text


def _path(url: str) -> str:
    if plain := _PLAIN_URL.fullmatch(url):
        return plain[1]
    start = _URL_PREFIX.match(url)
    path = (url[start.end() :] if start else url).partition("#")[0]
    return _upper_triplets(path if path.startswith("/") else "/" + path)


def _has_in_order(path: str, at: int, pieces: list[str], anchored: bool) -> bool:
    """Return whether `path` holds the pieces between stars in order, from `at`, without backtracking."""
    last = pieces.pop() if anchored else ""
    for piece in pieces:
        at = path.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return not anchored or (len(path) - len(last) >= at and path.endswith(last))
