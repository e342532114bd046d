"""Pages of rows in the order of their ids, the latest first. A cursor is the id of the last row of a page."""

from collections.abc import Sequence
from typing import Protocol, TypeVar
from uuid import UUID


class BadCursor(ValueError):
    """It was not made by this registry."""


class Identified(Protocol):
    @property
    def id(self) -> UUID: ...


Row = TypeVar("Row", bound=Identified)


def before(cursor: str | None) -> UUID | None:
    """Return the id that the rows of the page come before; None: of the first page. Raise BadCursor."""
    try:
        return None if cursor is None else UUID(hex=cursor)
    except ValueError:
        raise BadCursor("not a cursor of this registry") from None


def page_of(rows: Sequence[Row], limit: int) -> tuple[Sequence[Row], str | None]:
    """Return at most `limit` rows and the cursor of the next page, None where more were not found. `rows`: up to one
    more than `limit`."""
    shown = rows[:limit]
    return shown, shown[-1].id.hex if shown and len(rows) > limit else None
