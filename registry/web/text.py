"""Texts for pages: hidden characters made visible, times and numbers for people."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from markupsafe import Markup, escape

from registry.core.formats import FORMAT_BY_SLUG
from registry.core.merging.trust import IDENTITIES
from registry.core.model.listing import TrustLevel
from registry.core.names.domains import parse_url
from registry.core.names.inside import inside_host
from registry.core.reading.plain_text import ELLIPSIS, is_needed

_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that show nothing or change the order of what others show: controls, direction marks, tags, fillers.
Joiners in words and emoji, which `is_needed` knows, are shown as they are."""


def visible(value: Any) -> Any:
    """Return a value as templates print it: with a mark such as `[U+202E]` for each hidden character.

    The environment calls it for every printed expression. Markup that this package made is left unchanged.
    """
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return _HIDDEN.sub(_mark, value)  # guard: pages-hidden-characters


def _mark(found: re.Match[str]) -> str:
    return found[0] if _is_needed(found) else f"[U+{ord(found[0]):04X}]"


def _is_needed(found: re.Match[str]) -> bool:
    return is_needed(found.string, found.start())


def short(value: Any, chars: int) -> str:
    """Return a value as text with at most this many characters, cut at the end; empty for None.

    Documents hold numbers, lists and objects in place of texts. Their content is shown.
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else as_json(value, chars) if isinstance(value, dict | list) else str(value)
    return text if len(text) <= chars else text[: chars - 1].rstrip() + ELLIPSIS


def as_json(value: Any, chars: int = 20_000) -> str:
    """Return a value as indented JSON for reading and copying, with hidden characters escaped as JSON does."""
    return short(hidden_escaped(json.dumps(value, indent=2, ensure_ascii=False)), chars)


def hidden_escaped(text: str) -> str:
    """Return JSON with hidden characters escaped as JSON does."""
    return _HIDDEN.sub(_json_escape, text)


def as_line(value: Any) -> str:
    """Return a value as JSON on one line, with hidden characters escaped as JSON does."""
    return hidden_escaped(json.dumps(value, ensure_ascii=False))


def _json_escape(found: re.Match[str]) -> str:
    return found[0] if found[0] in "\n\t" or _is_needed(found) else json.dumps(found[0])[1:-1]


def number(value: float) -> str:
    """Return a number with thousands separated by commas and at most one decimal."""
    return f"{value:,.1f}".removesuffix(".0")


def plural(count: int, one: str, many: str | None = None) -> str:
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def day(text: str) -> str:
    """Return the day and the minute in UTC, as `26 Nov 2026, 08:15 UTC`."""
    at = datetime.fromisoformat(text)
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def duration(seconds: float) -> str:
    """Return a length of time, rounded down to one unit."""
    for length, unit in _UNITS:
        if seconds >= length:
            return plural(int(seconds // length), unit)
    return plural(int(seconds), "second")


def waiting(seconds: int) -> str:
    """Return how long to wait, rounded up to one unit: `12 seconds`, `43 minutes`."""
    for length, unit in ((3_600, "hour"), (60, "minute")):
        if seconds > 2 * length:
            return plural(-(-seconds // length), unit)
    return plural(max(1, seconds), "second")


def relative(text: str, now: datetime) -> str:
    """Return how long ago a time is, or how far ahead, rounded down to one unit."""
    distance = now - datetime.fromisoformat(text)
    ahead, seconds = distance < timedelta(0), abs(distance.total_seconds())
    if seconds < 60:
        return "in a moment" if ahead else "just now"
    return f"in {duration(seconds)}" if ahead else f"{duration(seconds)} ago"


_UNITS: Final = (
    (365 * 86_400, "year"), (30 * 86_400, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"),
)  # fmt: skip


def coded(text: str) -> Markup:
    """Return a text of this registry with the parts in backticks as code."""
    parts = [
        Markup("<code>{}</code>").format(visible(part)) if index % 2 else escape(visible(part))
        for index, part in enumerate(text.split("`"))
    ]
    return Markup("").join(parts)


def words(name: Any) -> str:
    """Return an identifier such as `auth_type` or `tls-error` as words, with abbreviations in their usual spelling."""
    return " ".join(_ABBREVIATIONS.get(word, word) for word in str(name).replace("_", " ").replace("-", " ").split(" "))


_ABBREVIATIONS: Final = {
    "api": "API", "dns": "DNS", "http": "HTTP", "https": "HTTPS", "id": "ID", "ip": "IP", "json": "JSON",
    "mcp": "MCP", "mtls": "mTLS", "oauth2": "OAuth 2", "openid": "OpenID", "tls": "TLS", "url": "URL",
}  # fmt: skip


def format_name(slug: str) -> str:
    """Return the name of a format; of an unknown one, its slug."""
    return FORMAT_BY_SLUG[slug].title if slug in FORMAT_BY_SLUG else slug


def value_name(name: str, value: str) -> str:
    """Return the value of a filter in words; `name` is the filter's."""
    if (name, value) in _VALUES:
        return _VALUES[name, value]
    if name == "format":
        return format_name(value)
    if name == "protocol" and len(value) <= _MAX_ACRONYM:
        return value.upper()
    return words(value).capitalize() if name == "category" else words(value) if name in _WORDED else value


_VALUES: Final[Mapping[tuple[str, str], str]] = {
    ("side_effects", "true"): "has some", ("side_effects", "false"): "has none",
    ("side_effects", "unknown"): "not said",
    ("callable", "true"): "yes", ("callable", "false"): "no", ("callable", "unknown"): "not read yet",
    ("category", "ai-ml"): "AI and machine learning", ("category", "crm"): "Customer relations",
    ("category", "e-commerce"): "E-commerce",
    ("auth_type", "none"): "no credentials", ("auth_type", "unknown"): "not said",
    ("pricing_type", "unknown"): "not said",
    ("include_unverified", "true"): "yes", ("unique", "false"): "no",
    **{(name, word): about.label for name in ("identity", "trust_level") for word, about in IDENTITIES.items()},
    **{  # a level, in the address of a page: the words that clients of ADP read as it
        ("trust_level", level): " or ".join(about.label for about in IDENTITIES.values() if about.trust_level is level)
        for level in TrustLevel
    },
}  # fmt: skip
_MAX_ACRONYM: Final = 4
_WORDED: Final = frozenset({"auth_type", "pricing_type"})


def kind(name: str) -> str:
    """Return the kind of a call in words."""
    return _KINDS.get(name, words(name))


_KINDS: Final = {
    "http": "HTTP request", "mcp_tool": "MCP tool", "mcp_server": "MCP server", "a2a_skill": "A2A skill",
    "woa_operation": "Web of Agents operation", "rpc": "remote procedure", "navigation": "page to open",
    "pointer": "pointer to another document",
}  # fmt: skip


def listed(values: Iterable[Any], most: int = 5) -> str:
    """Return values as a list in words: at most `most` of them, and how many more there are; objects by their name."""
    every = [short(one.get("name", one) if isinstance(one, dict) else one, 80) for one in values]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def specific(reasons: Iterable[str], outcome: str | None) -> list[str]:
    """Return the reasons except any that only names the outcome: the next step says that in a sentence."""
    said = words(outcome or "none")
    return [reason for reason in reasons if not words(reason).startswith(said)]


def outside(url: Any) -> str | None:
    """Return a URL of a listed site as our parser writes it, if a page may link to it, else None.

    Only http and https to public hosts may be linked to.
    """
    if not isinstance(url, str) or not url or len(url) > _MAX_URL_CHARS:
        return None
    parsed = parse_url(url)
    if parsed is None or parsed.scheme not in ("https", "http") or parsed.has_user:  # guard: pages-foreign-links
        return None
    return None if inside_host(parsed.href, is_address=True) else parsed.href


_MAX_URL_CHARS: Final = 2_000
