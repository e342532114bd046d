"""`view=brief` of `/api/discover`: rows for which a model has room, at most 250 tokens each without the call.

Texts are cut by their bytes, because tokens of other scripts than Latin have fewer characters.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from registry.actions.queries.discover import DiscoverPage, FoundCapability, SearchResult
from registry.api.rows import CALLABLE
from registry.api.schemas import discovery as schemas
from registry.core.merging.trust import doubt_of
from registry.core.reading.plain_text import line_of_bytes
from registry.edge.responses import capability_url

MAX_NEAREST: Final = 3
"""Rows of an answer that is not confident."""

MAX_ALSO: Final = 2
ROW_BYTES: Final = 800
"""Bytes of a row as JSON, about 250 tokens. Names and addresses that clients send back are never cut, so a row with
very long ones may have more; it has no description then."""

_NAME_BYTES: Final = 80
_DESCRIPTION_BYTES: Final = 200
_ADDRESS_BYTES: Final = 160
_WORDS: Final = 5
_WORD_BYTES: Final = 30

# guard: untrusted-brief
_UNTRUSTED: Final = (
    "data.name", "data.description", "data.why", "data.also", "data.capability.name", "data.capability.description",
    "data.capability.address", "data.capability.record_url", "data.capability.call", "corrected",
    "suggestions.spelling",
)  # fmt: skip


def brief(
    page: DiscoverPage, text: str, base: str, calls: Mapping[tuple[str, str], Any] | None
) -> schemas.BriefDiscovered:
    """Return the answer in few words. `calls`: by host and name of the capability, if wanted."""
    results = page.hits if page.confident else page.hits[:MAX_NEAREST]
    return {
        "success": True,
        "query": text,
        "confident": page.confident,
        "nearest": not page.confident,
        "data": [_row(result, base, calls) for result in results],
        "next_cursor": page.next_cursor if page.confident else None,
        "corrected": page.corrected,
        "untrusted_text": _UNTRUSTED,
    }


def _row(result: SearchResult, base: str, calls: Mapping[tuple[str, str], Any] | None) -> schemas.BriefRow:
    card = result.card
    found, *others = result.capabilities or (None,)
    row: schemas.BriefRow = {
        "domain": card.host,
        "name": line_of_bytes(card.name, _NAME_BYTES),
        "why": _why(result.matched_terms if found is None else found.matched_terms or result.matched_terms),
        "trust": card.trust_level,
        "identity": card.identity,
        "confident": result.hit.confident,
        "capability": None if found is None else _capability(found, card.host, base),
        "also": [other.name for other in others[:MAX_ALSO] if other is not None],
    }
    if found is None:
        row["description"] = line_of_bytes(card.description, _DESCRIPTION_BYTES)
    if (doubt := doubt_of(card.trust)) is not None:
        row["doubt"] = doubt
    if card.injection_flags:
        row["injection_flags"] = card.injection_flags
    _fit(row)
    if row["capability"] is not None and found is not None and calls is not None:
        row["capability"]["call"] = calls.get((card.host, found.name))
    return row


def _capability(found: FoundCapability, host: str, base: str) -> schemas.BriefCapability:
    reach = found.reach
    shown: schemas.BriefCapability = {
        "name": found.name,
        "description": line_of_bytes(found.description, _DESCRIPTION_BYTES),
        "callable": CALLABLE[reach["callable"]],
        "kind": reach.get("kind"),
        "method": reach.get("method"),
        "address": _address(reach.get("address")),
        "record_url": capability_url(base, host, found.name),
        "side_effects": found.side_effects,
        "confident": found.confident,
    }
    if (reason := reach.get("reason")) is not None:
        shown["not_callable"] = reason
    if found.injection_flags:
        shown["injection_flags"] = found.injection_flags
    return shown


def _address(address: str | None) -> str | None:
    """Return an address of few bytes: without the names of its query where these are many, else None."""
    if address is not None and len(address.encode()) > _ADDRESS_BYTES and address.endswith("}"):
        address = address.rpartition("{")[0]
    return address if address is None or len(address.encode()) <= _ADDRESS_BYTES else None


def _why(terms: Sequence[str]) -> str:
    words = ", ".join(line_of_bytes(term, _WORD_BYTES) for term in terms[:_WORDS])
    return f"Matches: {words}." if words else "Nearest in meaning; no word of the query matches."


def _fit(row: schemas.BriefRow) -> None:
    """Drop what is needed least while the row has too many bytes."""
    shown: Any = row["capability"] or row
    if _size(row) > ROW_BYTES:
        row["also"] = []
    over = _size(row) - ROW_BYTES
    if over > 0:
        shown["description"] = line_of_bytes(shown["description"], max(0, len(shown["description"].encode()) - over))


def _size(row: Any) -> int:
    """Return the bytes of a row; an encoded byte of an address (`%E3`) counts as five, because it is 1.5 tokens."""
    text = orjson.dumps(row)
    return len(text) + 2 * text.count(b"%")
