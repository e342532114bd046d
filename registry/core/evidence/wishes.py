"""Whether a site allows that copies of its documents are shown.

Two sources: `X-Robots-Tag` of the document (`noarchive`, `none`), and the word that its documents use for caching
(`policies.caching`, ATP 0.1 section 3.8). What a site says about training is passed on with the bytes, not judged here.
"""

import re
from collections.abc import Mapping
from typing import Final

_NO_COPIES: Final = frozenset({"noarchive", "none"})
_REFUSED: Final = frozenset({"forbidden", "disallowed", "prohibited", "denied", "no", "none", "no-store", "never"})
_BETWEEN: Final = re.compile(r"[\s,;:]+")


def forbids_copies(headers: Mapping[str, str], caching: str | None) -> bool:
    """Return whether the bytes of a document must not be shown. `headers`: as it was served, by lower-case name."""
    directives = _BETWEEN.split(headers.get("x-robots-tag", "").lower())
    return not _NO_COPIES.isdisjoint(directives) or (caching or "").strip().lower() in _REFUSED
