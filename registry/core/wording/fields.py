"""Which texts of a listing are read: within bounds, so that writing more does not improve the rank."""

from collections.abc import Iterator, Sequence
from typing import Final

from registry.core.model.listing import Listing
from registry.core.reading.plain_text import split_name
from registry.core.wording.text import name_text, stems, visible

NAME_CHARS: Final = 200
DESCRIPTION_CHARS: Final = 4_000
CAPABILITY_CHARS: Final = 2_000
CAPABILITIES: Final = 200
CAPABILITIES_CHARS: Final = 40_000
"""Bounds per service: characters of a name, of the description, of one capability's description, number of
capabilities, and characters of all their descriptions together."""

EMBEDDED_CAPABILITIES: Final = 50
"""Capabilities with a vector of their own. Each is one more chance to be the best one, so a service of hundreds would
win by their number."""

_EMBEDDED_CHARS: Final = 4_000
"""An embedder reads 256 tokens, which fit into this many characters in any text made of words."""

# Weights in halves, so that counts are whole numbers: name 2, description 1, capability name 1, its description 0.5.
NAME, DESCRIPTION, CAPABILITY_NAME, CAPABILITY_DESCRIPTION = 4, 2, 2, 1
WEIGHT_UNIT: Final = 2.0


def weighted_texts(listing: Listing) -> Iterator[tuple[int, str]]:
    """Yield (weight in halves, text) of every field."""
    name, description = own_text(listing)
    yield NAME, name_text(name)
    yield DESCRIPTION, description
    for name, text in capability_texts(listing):
        yield CAPABILITY_NAME, name_text(name)
        yield CAPABILITY_DESCRIPTION, text


def capability_texts(listing: Listing) -> Iterator[tuple[str, str]]:
    """Yield (name, description and keywords) of each capability within the bounds, in the listing's order."""
    chars_left = CAPABILITIES_CHARS
    for capability in listing.capabilities[:CAPABILITIES]:
        text = _with_keywords(capability.description, capability.keywords, min(CAPABILITY_CHARS, chars_left))
        chars_left -= len(text)
        yield capability.name[:NAME_CHARS], text


def own_text(listing: Listing) -> tuple[str, str]:
    """Return the service's name, and its description and keywords, within the bounds."""
    return listing.name[:NAME_CHARS], _with_keywords(listing.description, listing.keywords, DESCRIPTION_CHARS)


def _with_keywords(description: str, keywords: Sequence[str], chars: int) -> str:
    """Return description and keywords within the description's own bound: keywords add no length. A keyword without
    spaces may be written like a name (`trip:book_flight`)."""
    texts = [description, *(keyword if " " in keyword else split_name(keyword) for keyword in keywords)]
    return " ".join(filter(None, texts))[:chars]


def indexed_text(listing: Listing) -> str:
    """Return the text of an engine's single text field: stems, the name twice, separated by spaces."""
    repeated = ((2 if weight == NAME else 1, text) for weight, text in weighted_texts(listing))
    return " ".join(stem for times, text in repeated for stem in stems(text) * times)


def texts_of(listing: Listing) -> list[str]:
    """Return what is embedded, row by row: the whole service, its own text, and capabilities with the service's name.

    The text of a capability alone does not say what it is about ("list": of what?), so the service's name is added.
    """
    name, description = own_text(listing)
    name = split_name(name)
    own = f"{name}. {description}"
    parts = [f"{split_name(capability_name)}: {text}" for capability_name, text in capability_texts(listing)]
    rows = [f"{own} {' '.join(parts)}", own, *(f"{name} {part}" for part in parts[:EMBEDDED_CAPABILITIES])]
    return [visible(row)[:_EMBEDDED_CHARS] for row in rows]
