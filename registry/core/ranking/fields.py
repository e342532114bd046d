"""What of a listing is read at all: its texts within bounds, so that nobody ranks by writing more."""

from collections.abc import Iterator, Sequence
from typing import Final

from registry.core.listing import Listing
from registry.core.text import name_text, split_name, stems, visible

NAME_CHARS: Final = 200
DESCRIPTION_CHARS: Final = 4_000
CAPABILITY_CHARS: Final = 2_000
CAPABILITIES: Final = 200
CAPABILITIES_CHARS: Final = 40_000
"""Bounds per service: characters of a name, of the description, of one capability's description, number of
capabilities, and characters of all their descriptions together."""

EMBEDDED_CAPABILITIES: Final = 50
"""Capabilities that have a vector of their own: each is one more draw for the best one, so a service of hundreds
would win by their number."""

_EMBEDDED_CHARS: Final = 4_000
"""An embedder reads 256 tokens; there are no more in fewer characters than this, in text that has words."""

# Weights in halves, so that counts are whole numbers: name 2, description 1, capability name 1, its description 0.5.
NAME, DESCRIPTION, CAPABILITY_NAME, CAPABILITY_DESCRIPTION = 4, 2, 2, 1
HALVES: Final = 2.0


def weighted_texts(listing: Listing) -> Iterator[tuple[int, str]]:
    """(weight in halves, text) of every field."""
    yield NAME, name_text(listing.name[:NAME_CHARS])
    yield DESCRIPTION, _own_text(listing)
    for name, text in capability_texts(listing):
        yield CAPABILITY_NAME, name_text(name)
        yield CAPABILITY_DESCRIPTION, text


def capability_texts(listing: Listing) -> Iterator[tuple[str, str]]:
    """(name, description and keywords) of each capability that counts, in the listing's order."""
    left = CAPABILITIES_CHARS
    for capability in listing.capabilities[:CAPABILITIES]:
        text = _with_keywords(capability.description, capability.keywords, min(CAPABILITY_CHARS, left))
        left -= len(text)
        yield capability.name[:NAME_CHARS], text


def _own_text(listing: Listing) -> str:
    return _with_keywords(listing.description, listing.keywords, DESCRIPTION_CHARS)


def _with_keywords(description: str, keywords: Sequence[str], chars: int) -> str:
    """Inside of the description's own bound: who has keywords cannot say more than who has none. A tag may be written
    as a name is (`trip:book_flight`)."""
    said = [description, *(keyword if " " in keyword else split_name(keyword) for keyword in keywords)]
    return " ".join(filter(None, said))[:chars]


def indexed_text(listing: Listing) -> str:
    """What an engine's single text field holds: stems, the name twice, separated by spaces."""
    repeated = ((2 if weight == NAME else 1, text) for weight, text in weighted_texts(listing))
    return " ".join(stem for times, text in repeated for stem in stems(text) * times)


def texts_of(listing: Listing) -> list[str]:
    """What is embedded, row by row: the whole service, its own text, and each capability with the service's name.

    A capability's text alone does not say whose it is ("list": of what?), so the name of the service goes with it.
    """
    name = split_name(listing.name[:NAME_CHARS])
    own = f"{name}. {_own_text(listing)}"
    parts = [f"{split_name(one)}: {text}" for one, text in capability_texts(listing)]
    rows = [f"{own} {' '.join(parts)}", own, *(f"{name} {part}" for part in parts[:EMBEDDED_CAPABILITIES])]
    return [visible(row)[:_EMBEDDED_CHARS] for row in rows]
