"""Seeds: the names that a source yields, and the entries that it refuses."""

from collections.abc import AsyncIterable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

OWN_LISTS: Final = frozenset({"file", "csv", "tranco"})
"""Sources whose referrer names a private list of the operator; it is not shown to the public."""


class Seed(NamedTuple):
    """A name from some source. It is not canonical yet, and may be malformed."""

    name: str
    referrer: str | None = None  # the file, list, sitemap or server that names it
    line: int = 0  # in the file, 0 if the source has no lines


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry that was not accepted. `code`: InvalidName.code, "opted_out", or one of the source's own."""

    name: str
    code: str
    message: str
    referrer: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A place from which a source can be read on: everything before it was yielded. Only the source can read it.
    `is_complete`: the source was read to its end; a later run reads new entries from this place."""

    position: str
    is_complete: bool = False


Seeds: TypeAlias = Iterable[str | Seed | Refusal] | AsyncIterable[Seed | Refusal | Checkpoint]
"""Input of `actions.seed`: plain names, Seeds, and Refusals by the source itself, which go into the report. A source of
several pages yields a Checkpoint after each."""
