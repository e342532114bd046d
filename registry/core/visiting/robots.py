"""robots.txt after RFC 9309: one small parser that reads each file once, in time linear in its size.

Written instead of wrapping a library: of those tried, one raises on lines without a separator and parses the file again
for every URL, one needs minutes for 100,000 agents, and one errs towards fetching. Where RFC 9309 is silent (a missing
colon, misspelt keys, `index.html` for a folder) it does what the most used parser does, in favour of the site. Rules in
a web page, or behind a server's warning in HTML, count as well: section 2.2 asks to parse each line.
"""

import codecs
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
_BOM = codecs.BOM_UTF8
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_STRAY_CHARS: Final = ((_BOM, b""), ("\u00a0".encode(), b" "), ("\u200b".encode(), b""))
"""Left by editors and by joining files. No key is recognised behind them."""

_TAG = re.compile(
    rb"<(?:/?(?:a|b|body|br|center|code|div|em|font|h[1-6]|head|hr|html|i|li|meta|ol|p|pre|span|strong|table|tbody|td"
    rb"|title|tr|tt|u|ul)(?:[\s/][^<>]*)?|!--[^<>]*--|!doctype[^<>]*)>",
    re.IGNORECASE,
)
"""Elements that a server or an editor wraps around rules. Other brackets belong to a pattern."""

_PLAIN_URL = re.compile(r"https?://[^/?#]*(/[^#%]*)")
_URL_PREFIX = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#]*")
_AGENT = re.compile(rb"[a-zA-Z_-]*")
_TRIPLET = re.compile(r"%[0-9a-fA-F]{2}")
_AGENTIC = re.compile(rb"#\s*agentic-manifest\s*:\s*(\S+)", re.IGNORECASE)
_UNRESERVED = re.compile(r"%(2D|2E|5F|7E|3[0-9]|[46][1-9A-F]|[57][0-9A])")
_NORMAL_ALREADY = re.compile(r"[\w/.*~?&=:;,@!+-]*\$?", re.ASCII)
_NOT_IN_URLS = re.compile(r"""[\x00-\x20"<>\\^`{|}\x7f-\U0010ffff]""")
_KEYS: Final = (
    (b"user-agent", "agent"), (b"useragent", "agent"), (b"user agent", "agent"), (b"allow", "allow"),
    (b"disallow", "disallow"), (b"dissallow", "disallow"), (b"dissalow", "disallow"), (b"disalow", "disallow"),
    (b"diasllow", "disallow"), (b"disallaw", "disallow"), (b"crawl-delay", "delay"), (b"agentmap", "agentmap"),
)  # fmt: skip
_NAMES: Final = dict(_KEYS)


@dataclass(frozen=True, slots=True)
class RobotsRule:
    """`*` matches anything, a final `$` the end of the path. A `pattern` that disallows is in the form of `_normal`,
    one that allows is as the site writes it, percent-encoded."""

    pattern: str
    allow: bool

    @property
    def octets(self) -> int:
        return len(_normal(self.pattern) if self.allow else self.pattern)

    @property
    def matches_all(self) -> bool:
        return self.pattern.removesuffix("*$").strip("*") in ("", "/")

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
        """Return the rules of a body that was served with 2xx. Never raises. `reason` is "html" for a web page without
        rules."""
        if len(body) >= CAP:  # without the last line: half of "Allow: /public" would allow everything
            head = body[:CAP]  # guard: robots-size
            body = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]
        body = _decoded(body)
        may_be_page = _begins_with_markup(body)
        if may_be_page and b"agent" not in body.lower():  # most catch-alls name no robot
            return cls(reason="html")
        reading = _Reading(agent)
        for line in _lines(body):
            reading.take(line)
        if may_be_page and not reading.has_content:
            return cls(reason="html")
        group = reading.own if reading.own_seen else reading.everyone
        rules = group.rules
        decisive_first = sorted(set(rules), key=lambda rule: (-rule.octets, not rule.allow, rule.pattern))
        disallows_all = any(rule.matches_all for rule in rules) and not any(rule.allow for rule in rules)
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
        """Return whether the URL (or path) may be requested. The longest matching pattern decides, at a tie `allow`.
        Rules that disallow compare decoded octets (RFC 9309 section 2.2.2). Rules that allow compare what is written,
        as the most used parser does: it errs on the side of the site."""
        if not self.reachable or not self.rules:
            return self.reachable
        path = _path(url)
        normal = _normal_path(path)
        for rule in self.rules:
            if rule.matches(path if rule.allow else normal):
                return rule.allow
        return True


def is_page(body: bytes) -> bool:
    """Return whether a web page without any rule was served instead of the file."""
    return _begins_with_markup(_decoded(body)) and Robots.parse(body).reason == "html"


def _begins_with_markup(body: bytes) -> bool:
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
        self._agent_seen = False
        self.has_content = False
        """Whether a rule of a group, for any crawler, or a pointer was read."""

    def take(self, line: bytes) -> None:
        if b"#" in line and (comment := _AGENTIC.match(line.lstrip())):
            self._add_pointer(comment[1], "agentic-manifest", "awas")
        key, value = _key_and_value(line)
        if key == "agent":
            self._agent_seen = True
            if self._rules_began:
                self._current, self._rules_began = {}, False
            if value[:1] == b"*" and (len(value) == 1 or value[1:2].isspace()):
                self._current[b"*"] = self.everyone
            elif (token := _AGENT.match(value)) is not None and token[0].lower() == self._agent:
                self._current[self._agent], self.own_seen = self.own, True
        elif key in ("allow", "disallow"):
            self._rules_began = True
            self.has_content = self.has_content or self._agent_seen
            if self._current:
                self._add_rule(_pattern(value), key == "allow")
        elif key == "delay":
            self._set_delay(value)
        elif key == "agentmap":
            self._add_pointer(value, "agentmap", "ai-catalog")

    def _add_rule(self, pattern: str, allow: bool) -> None:
        if not allow:
            pattern = _normal(pattern)
        rules = [RobotsRule(pattern, allow)] if pattern else []  # an empty "Disallow:" is no rule
        folder, slash, page = pattern.rpartition("/")
        if allow and slash and page.startswith("index.htm"):
            rules.append(RobotsRule(f"{folder}/$", allow))
        for group in self._current.values():
            group.rules += rules

    def _set_delay(self, value: bytes) -> None:
        self.has_content = self.has_content or self._agent_seen
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
            self.has_content = True


def _decoded(body: bytes) -> bytes:
    """Return a file in UTF-16, with or without byte order mark, as UTF-8 or ASCII."""
    if body.startswith(_UTF_16):
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    return body.replace(b"\0", b"") if b"\0" in body else body


def _lines(body: bytes) -> Iterator[bytes]:
    for size in (3, 2, 1):  # also an incomplete byte order mark
        if body.startswith(_BOM[:size]):
            body = body[size:]
            break
    if not body.isascii():
        for char, replacement in _STRAY_CHARS:
            body = body.replace(char, replacement)
    for line in body.splitlines():
        if b"<" in line:
            yield from (piece[:_MAX_LINE] for piece in _TAG.split(line))
        else:
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


def _normal(pattern: str) -> str:
    """Return a pattern for comparison with `_normal_path`: triplets of unreserved characters decoded, other characters
    that no URL contains encoded (RFC 9309 section 2.2.2)."""
    if _NORMAL_ALREADY.fullmatch(pattern):
        return pattern
    if "$" in pattern[:-1]:
        pattern = pattern[:-1].replace("$", "%24") + pattern[-1]
    pattern = _NOT_IN_URLS.sub(lambda char: _triplets(char[0].encode("utf-8", "replace")), pattern)
    pattern = _UNRESERVED.sub(lambda triplet: chr(int(triplet[1], 16)), pattern)
    path, mark, query = pattern.partition("?")  # "https://" in a query is written in both ways (the table of 2.2.2)
    return path + mark + query.replace("%3A", ":").replace("%2F", "/") if mark else path


def _normal_path(path: str) -> str:
    if "*" in path or "$" in path:
        path = path.replace("*", "%2A").replace("$", "%24")  # not special in a path (section 2.2.3)
    return _normal(path)


def _triplets(octets: bytes) -> str:
    return "".join(f"%{octet:02X}" for octet in octets)


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
