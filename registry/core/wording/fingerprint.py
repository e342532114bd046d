"""A fingerprint of what a service offers, wherever it is served: equal for copies, however these are decorated.

Read are the words of name, description and capabilities, within the bounds of fields.py. The order of capabilities,
case, punctuation, white space, invisible characters, and which hosts and URLs the texts name make no difference.

The label of the service's own domain is a word like all others. If it were left out, a copier could choose domains that
are named after words of the text: each copy would lack another word, and no two would be equal.
"""

import hashlib
import re
from typing import Final

from registry.core.model.listing import ListedCapability, Listing
from registry.core.wording.fields import CAPABILITIES, CAPABILITY_CHARS, DESCRIPTION_CHARS, NAME_CHARS
from registry.core.wording.text import name_text, visible, words

LEAST_WORDS: Final = 8
"""Different words in name and descriptions from which on equal services are copies. Names of capabilities do not count:
they are often those of a standard, and all shops of one platform have the same."""

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
    if len(set(of_its_own.split())) < LEAST_WORDS:  # guard: least-words-of-a-copy
        return 0
    text = "\n".join(field for pair in (own, *capabilities) for field in pair)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _capability(capability: ListedCapability) -> tuple[str, str]:
    name = _FILLERS.sub("", visible(capability.name[:NAME_CHARS]))
    return " ".join(words(name_text(name))), _words(capability.description[:CAPABILITY_CHARS])


def _words(text: str) -> str:
    return " ".join(words(_PLACE.sub(_SOMEWHERE, _FILLERS.sub("", visible(text)).lower())))
