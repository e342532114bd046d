"""Check the members of objects, recognise texts by their paths, and read fixed phrases about access and payment.

Each format keeps its own tables of members; the loops that check types, enumerated words and addresses are here. A
null member counts as absent. Text formats are recognised by path alone, because no grammar for them is enforced. Of
sentences only fixed phrases count: a text that merely mentions a price, a key or something free says nothing.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import jsonschema_rs

from registry.core.format_support.endpoints import parse_short
from registry.core.format_support.manifest import Notes, Object, text_of
from registry.core.model.documents import Document, Json
from registry.core.model.findings import Rule
from registry.core.model.services import PricingModel
from registry.core.reading.json_pointer import at

DRAFT_2020_12: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_AGE: Final = re.compile(r"(?:^|[\s,])max-age=\"?(\d{1,9})\b", re.IGNORECASE)
MAX_MAIL: Final = 320  # RFC 5321 section 4.5.3.1: 64, an at sign, 255
HOUR: Final = 3_600
"""Seconds that ATP (2.2), AWAS (Best Practices) and ADP (1) recommend for Cache-Control: max-age."""

_WRITTEN = re.compile(r"[^\s<>\"\\^`|]+")
_MAIL = re.compile(r"(?:mailto:)?[^@\s]+@[^@\s]+\.[^@\s]+")


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of a member: how a requirement names it, its test, and the words of an enumeration."""

    says: str
    holds: Callable[[Json], bool]
    words: tuple[str, ...] = ()


TEXT: Final = Kind("text", lambda value: isinstance(value, str))
FLAG: Final = Kind("true or false", lambda value: isinstance(value, bool))
NUMBER: Final = Kind("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool))
INTEGER: Final = Kind("an integer", lambda value: isinstance(value, int) and not isinstance(value, bool))
LIST: Final = Kind("a list", lambda value: isinstance(value, list))
OBJECT: Final = Kind("an object", lambda value: isinstance(value, dict))
TEXTS: Final = Kind(
    "a list of texts", lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value)
)
IDS: Final = Kind("a list of ids", TEXTS.holds)


def one_of(*words: str) -> Kind:
    """Return the kind of a text that is one of these words."""
    return Kind(f"{', '.join(words[:-1])} or {words[-1]}", TEXT.holds, words)


def check_types(
    holder: Json, kinds: Mapping[str, Kind], pointer: str, rule: Rule, notes: Notes, *, words: Rule | None = None
) -> None:
    """Note `rule` for every member of `holder` that is present but of the wrong type, `words` for other words."""
    if not isinstance(holder, dict):
        return
    for key, kind in kinds.items():
        value = holder.get(key)
        if value is not None and not kind.holds(value):
            notes.add(rule, at(pointer, key), value)
        elif words is not None and value is not None and kind.words and value not in kind.words:
            notes.add(words, at(pointer, key), value)


def check_words(holder: Json, words: Mapping[str, Collection[str]], pointer: str, rule: Rule, notes: Notes) -> None:
    """Note `rule` for every text of `holder` that is not an allowed word of its member; `check_types` reports other
    types."""
    if isinstance(holder, dict):
        for key, allowed in words.items():
            value = holder.get(key)
            if isinstance(value, str) and value not in allowed:
                notes.add(rule, at(pointer, key), value)


def missing_texts(holder: Json, keys: Iterable[str], pointer: str, rule: Rule, notes: Notes) -> list[str]:
    """Return the members that hold no text, and note `rule` for each."""
    missing = [key for key in keys if not text_of(holder, key)]
    for key in missing:
        notes.add(rule, at(pointer, key), holder.get(key, "") if isinstance(holder, dict) else "")
    return missing


def check_addresses(
    holder: Json, keys: Collection[str], base: str | None, pointer: str, rule: Rule, notes: Notes
) -> None:
    """Note `rule` for every member of `holder` that is present but not a URI. A `base` makes relative ones valid."""
    if isinstance(holder, dict):
        for key in keys:
            value = holder.get(key)
            if value is not None and not is_address(value, base):
                notes.add(rule, at(pointer, key), value)


def is_address(value: Json, base: str | None) -> bool:
    """Return whether `value` is a URI reference (RFC 3986 section 4.1); without `base`, an absolute URI."""
    return isinstance(value, str) and bool(_WRITTEN.fullmatch(value)) and parse_short(value, base or value) is not None


def is_email(value: Json) -> bool:
    return isinstance(value, str) and len(value) <= MAX_MAIL and _MAIL.fullmatch(value.strip()) is not None


def is_schema(schema: Object) -> bool:
    """Return whether `schema` is a valid JSON Schema 2020-12, regardless of its `$schema`. It is checked as data
    against the built-in meta-schema: nothing is compiled or fetched."""
    return jsonschema_rs.meta.is_valid({**schema, "$schema": DRAFT_2020_12})


def max_age(headers: Mapping[str, str]) -> int | None:
    """Return the seconds of `Cache-Control: max-age` (RFC 9111 section 5.2.2.1), or None."""
    match = MAX_AGE.search(headers.get("cache-control", ""))
    return int(match[1]) if match else None


def check_origin(headers: Mapping[str, str], rule: Rule, notes: Notes) -> None:
    """Note unless pages of every origin may read the answer (Fetch Standard, CORS protocol)."""
    allowed = headers.get("access-control-allow-origin", "")
    if allowed.strip() != "*":
        notes.add(rule, "", allowed)


TEXT_TYPES: Final = ("text/plain", "text/markdown")


def any_text(document: Document) -> str | None:
    """Return "" for every text, None for JSON. The test is applied only at the paths of a format."""
    return "" if document.text is not None else None


_CHARS: Final = 4_000
_NEEDS = r"(?:auth(?:entication|orization)?|credentials?|api[- ]?keys?|keys?|log-?in|sign-?up|accounts?|registration)"
_NO_AUTH = re.compile(
    rf"\bno {_NEEDS}(?:(?:,| or| and|/)* (?:no )?{_NEEDS})* (?:is |are )?(?:required|needed|necessary)\b"
    rf"|\b(?:does not|doesn't|do not|don't) require (?:any |an )?{_NEEDS}\b|\bno[- ]auth\b(?! server)",
    re.IGNORECASE,
)
_CURRENCY = r"(?:USDC?|USDT|EUR|GBP|XRP|ETH|BTC|SOL|DAI|sats?|cents?)"
_UNITS = r"(?:call|request|query|audit|task|job|scan|search|check|image|lookup|message|minute|transaction|use|report)"
_PER_CALL = re.compile(
    rf"\bpa(?:y|id)[- ]per[- ](?:call|use|request|query|task|job|scan|crawl|report)\b"
    rf"|\bpay[- ]as[- ]you[- ]go\b|\bx402 (?:micro-?)?payments?\b"
    rf"|(?:[$€£]\s?\d[\d.,]*|\b\d[\d.,]*\s?{_CURRENCY})\s*(?:/|per|a|each)\s*(?:API )?{_UNITS}\b",
    re.IGNORECASE,
)
_FREE_TIER = re.compile(r"\bfree (?:tier|plan|quota)\b|\bfreemium\b", re.IGNORECASE)
_FREE = re.compile(
    r"\b(?:free of charge|completely free|100% free|free to use|free for (?:all|everyone|any)\b|no charge|at no cost)",
    re.IGNORECASE,
)


_SOME_FREE = re.compile(r"(?<!feel )(?<![-\w])free(?![-\w]| (?:of|from|form|text|will)\b)", re.IGNORECASE)


def says_no_auth(texts: Iterable[str | None]) -> bool:
    """Return whether one of the texts says that no authentication is required."""
    return any(_NO_AUTH.search(text[:_CHARS]) for text in texts if text)


def stated_pricing(texts: Iterable[str | None]) -> PricingModel | None:
    """Return the pricing model that the texts state, or None. Free and paid offers together are "freemium". The word
    "free" alone counts only if no price is stated."""
    whole = "\n".join(text[:_CHARS] for text in texts if text)
    if _FREE_TIER.search(whole):
        return "freemium"
    if _PER_CALL.search(whole):
        return "freemium" if _SOME_FREE.search(whole) else "pay_per_call"
    return "free" if _FREE.search(whole) else None
