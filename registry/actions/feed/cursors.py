"""Cursors of the change feed: a place and the filter that it was read with, as opaque text.

A cursor holds the id of the last event that was looked at, not only its number: after a restore from a backup, other
events have the same numbers.
"""

import base64
import hashlib
from typing import Final
from uuid import UUID

from registry.core.changes.kinds import Types
from registry.store.feed import Place

CURSOR_CHARS: Final = 40
_VERSION: Final = b"\x01"
_FILTER_BYTES: Final = 8
_BYTES: Final = len(_VERSION) + 16 + _FILTER_BYTES
_PLACE_BITS: Final = 40  # of an event's id, see store/feed.py


class InvalidCursor(ValueError):
    """The text is no cursor, or belongs to another filter. The message says which, and repeats nothing."""


def encode(place: Place, types: Types) -> str:
    """Return the cursor after this place."""
    return base64.urlsafe_b64encode(_VERSION + place.event_id.bytes + _filter(types)).rstrip(b"=").decode()


def decode(cursor: str, types: Types) -> Place:
    """Return the place of a cursor. Raise InvalidCursor unless `encode` made it for the same filter."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise InvalidCursor("it was not made by this registry") from None
    if len(raw) != _BYTES or not raw.startswith(_VERSION):
        raise InvalidCursor("it was not made by this registry")
    event_id, own_filter = UUID(bytes=raw[1:17]), raw[17:]
    if own_filter != _filter(types):
        raise InvalidCursor("it belongs to another value of `types`")
    return Place(event_id.int & ((1 << _PLACE_BITS) - 1), event_id)


def _filter(types: Types) -> bytes:
    return hashlib.sha256(",".join(types.patterns).encode()).digest()[:_FILTER_BYTES]
