"""Choose the texts of a listing that search reads, and compute the fingerprint of its offer.

Texts are bounded, so that writing more does not improve the rank. Copies have equal fingerprints: the order of
capabilities, case, punctuation, white space, invisible characters, and the hosts and URLs in the texts do not count.
The label of the service's own domain counts as a word. Otherwise a copier could choose domains named after words of
the text: each copy would lack another word, and no two would be equal.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Final

from registry.core.model.listing import ListedCapability, Listing
from registry.core.reading.plain_text import split_name
from registry.core.wording.language import ENGLISH, language_of
from registry.core.wording.text import STEMMED, name_text, stems, visible, words

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
    languages = other_languages(listing)
    repeated = ((2 if weight == NAME else 1, text) for weight, text in weighted_texts(listing))
    return " ".join(stem for times, text in repeated for stem in (stems(text) + stems_besides(text, languages)) * times)


MAX_LANGUAGES: Final = 2
"""Languages besides English in which the texts of one listing are stemmed."""


def other_languages(listing: Listing) -> tuple[str, ...]:
    """Return the languages besides English in the listing's texts: the language of its words, then the languages of its
    documents. Only languages with a stemmer."""
    name, description = own_text(listing)
    capabilities = " ".join(text or capability for capability, text in capability_texts(listing))
    found = [language_of(text) for text in (f"{name} {description}", capabilities) if text]
    declared = [language for language in listing.languages if language in STEMMED]
    others = [language for language in dict.fromkeys((*found, *declared)) if language in STEMMED - {ENGLISH}]
    return tuple(others[:MAX_LANGUAGES])


def stems_besides(text: str, languages: Sequence[str]) -> list[str]:
    """Return the stems of a text in these languages that it does not have in English, in order, with repeats."""
    if not languages:
        return []
    english = set(stems(text))
    return [stem for language in languages for stem in stems(text, language) if stem not in english]


def texts_of(listing: Listing) -> list[str]:
    """Return the texts to embed, row by row: the whole service, its own text, and capabilities with its name. A
    capability's own text often lacks its subject ("list": of what?), so the service's name is added."""
    name, description = own_text(listing)
    name = split_name(name)
    own = f"{name}. {description}"
    parts = [f"{split_name(capability_name)}: {text}" for capability_name, text in capability_texts(listing)]
    rows = [f"{own} {' '.join(parts)}", own, *(f"{name} {part}" for part in parts[:EMBEDDED_CAPABILITIES])]
    return [visible(row)[:_EMBEDDED_CHARS] for row in rows]


MIN_WORDS: Final = 8
"""Minimum different words in name and descriptions for equal services to be copies. Names of capabilities do not count:
they often come from a standard, and all shops of one platform have the same."""

_PLACE: Final = re.compile(
    r"(?:\b[a-z][a-z0-9+-]{0,20}:)?//[^\s<>\"')\]]+"  # a URL
    r"|(?<![\w.-])[\w-]{1,63}(?:\.[\w-]{1,63})*\.[^\W\d_][\w-]{1,62}(?:/[^\s<>\"')\]]*)?"  # a host name, maybe a path
)
_SOMEWHERE: Final = " 0 "
_FILLERS: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0f]")
"""Characters without ink that `visible` keeps, because they are no format characters."""


def fingerprint(listing: Listing) -> int:
    """Return 64 bits of a hash of the words; 0 if there are too few to tell a copy from a coincidence."""
    own = _words(listing.name[:NAME_CHARS]), _words(listing.description[:DESCRIPTION_CHARS])
    capabilities = sorted({_capability(capability) for capability in listing.capabilities[:CAPABILITIES]})
    of_its_own = " ".join([*own, *(description for _, description in capabilities)])
    if len(set(of_its_own.split())) < MIN_WORDS:  # guard: least-words-of-a-copy
        return 0
    text = "\n".join(field for pair in (own, *capabilities) for field in pair)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _capability(capability: ListedCapability) -> tuple[str, str]:
    name = _FILLERS.sub("", visible(capability.name[:NAME_CHARS]))
    return " ".join(words(name_text(name))), _words(capability.description[:CAPABILITY_CHARS])


def _words(text: str) -> str:
    return " ".join(words(_PLACE.sub(_SOMEWHERE, _FILLERS.sub("", visible(text)).lower())))
