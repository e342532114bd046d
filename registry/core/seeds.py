"""What a source of names hands over: names as they stand in it, and what in it is no name."""

from collections.abc import AsyncIterable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

OWN_LISTS: Final = frozenset({"file", "csv", "tranco"})
"""Sources whose referrer is what the operator of a registry calls a list of his own: nothing for the public."""


class Seed(NamedTuple):
    """A name that some source gives. It is not canonical yet, and may be anything."""

    name: str
    referrer: str | None = None  # the file, list, sitemap or server that names it
    place: int = 0  # line in the file, 0 where there are none


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that was not taken. `code`: InvalidName.code, "opted_out", or one of the source's own."""

    name: str
    code: str
    message: str
    referrer: str | None = None
    place: int = 0


Seeds: TypeAlias = Iterable[str | Seed | Refusal] | AsyncIterable[Seed | Refusal]
"""What `actions.seed` takes: plain names will do; what a source refused by itself is passed on to the report."""
