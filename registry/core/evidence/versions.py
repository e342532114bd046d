"""What changed between two versions of a document, as operations with JSON Pointers."""

from collections.abc import Mapping
from typing import Final, Literal

from registry.core.changes.difference import Difference, difference
from registry.core.model.documents import Outcome
from registry.core.reading.reader import Unreadable, read_json

What = Literal["first", "content", "outcome", "reading"]
WhyNot = Literal["first", "no_document", "same_bytes", "not_kept", "forbidden", "too_large", "not_json_objects"]

WHY_NOT: Final[Mapping[WhyNot, str]] = {
    "first": "There is no earlier version to compare with.",
    "no_document": "One of the two versions is no document: it was absent, or the host did not answer.",
    "same_bytes": "The bytes are the same; this registry reads them in another way.",
    "not_kept": "The bytes of one of the two versions are not kept any more.",
    "forbidden": "The site asks that no copies of its documents are shown.",
    "too_large": "The two versions are too large to be compared here.",
    "not_json_objects": "One of the two versions is not a JSON object.",
}
"""Why there is no difference, by code, in one sentence."""

_BODIES: Final = frozenset({Outcome.FOUND, Outcome.NEGATIVE, Outcome.MALFORMED})


def has_bytes(outcome: Outcome, reason: str) -> bool:
    """Return whether the bytes of such a version are stored for some time (`assess.keeps_body`)."""
    return outcome in _BODIES or (outcome is Outcome.NOT_A_MANIFEST and reason.startswith("foreign:"))


def compared(before: bytes, after: bytes) -> Difference | WhyNot:
    """Return what makes `after` of `before`, or why that cannot be said."""
    try:
        old, new = read_json(before), read_json(after)
    except Unreadable:
        return "not_json_objects"
    if not isinstance(old, dict) or not isinstance(new, dict):
        return "not_json_objects"
    return difference(old, new)
