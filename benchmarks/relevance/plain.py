"""Plain BM25, implemented independently of the product: the baseline.

One text of name, description and capabilities, English stems, no stop list, names not split, Okapi BM25 with k1 1.2 and
b 0.75 (Robertson and Zaragoza 2009): what a search library does by default.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
import Stemmer  # type: ignore[import-not-found]  # a C extension without stubs
from numpy.typing import NDArray

from registry.core.model.listing import Listing

_K1, _B = 1.2, 0.75
_WORD: Final = re.compile(r"\w+")


class PlainBM25:
    """An inverted index in memory."""

    def __init__(self, listings: Sequence[Listing]) -> None:
        self._stemmer = Stemmer.Stemmer("english")
        self._hosts = [listing.host for listing in listings]
        counts = [Counter(self._stems(_text(listing))) for listing in listings]
        lengths = np.array([sum(counter.values()) for counter in counts], dtype=np.float64)
        self._norm = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1.0))
        postings: dict[str, tuple[list[int], list[int]]] = {}
        for number, stem_counts in enumerate(counts):
            for stem, times in stem_counts.items():
                rows, tfs = postings.setdefault(stem, ([], []))
                rows.append(number)
                tfs.append(times)
        self._postings = {stem: self._weighed(rows, tfs) for stem, (rows, tfs) in postings.items()}

    def ranked(self, text: str, limit: int) -> list[str]:
        """Return at most `limit` hosts that share a word with the text, best first, ties by host."""
        scores = np.zeros(len(self._hosts))
        for stem in self._stems(text):
            if stem in self._postings:
                rows, weights = self._postings[stem]
                scores[rows] += weights
        best = sorted(np.flatnonzero(scores), key=lambda row: (-scores[row], self._hosts[row]))
        return [self._hosts[row] for row in best[:limit]]

    def _weighed(self, rows: list[int], tfs: list[int]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        idf = np.log1p((len(self._hosts) - len(rows) + 0.5) / (len(rows) + 0.5))
        row_numbers, tf = np.array(rows), np.array(tfs, dtype=np.float64)
        return row_numbers, idf * tf * (_K1 + 1) / (tf + self._norm[row_numbers])

    def _stems(self, text: str) -> list[str]:
        stems: list[str] = self._stemmer.stemWords(_WORD.findall(text.lower()))
        return stems


def _text(listing: Listing) -> str:
    parts = [listing.name, listing.description]
    for capability in listing.capabilities:
        parts += [capability.name, capability.description]
    return " ".join(parts)
