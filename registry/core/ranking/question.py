"""What is asked: the text, its words and, where an embedder is at work, where it points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from registry.core.text import QUERY_CHARS, query_terms, sentences, visible

_READ_AT_MOST: Final = 10 * QUERY_CHARS
"""Characters that nobody sees do not count; a bound on them all the same."""


class Embedder(Protocol):
    """Texts to vectors. `id` names the model and its recipe, at most 16 ASCII characters: vectors of two models can
    then never be compared by accident."""

    @property
    def id(self) -> str: ...

    @property
    def dims(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dims) of what is asked: rows of length 1; a zero row for a text of which no token is known."""

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dims) of what may answer, likewise."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """`terms`: stem -> the user's word. `whole` (dims,) is the text's vector, `needs` (k, dims) those of its sentences.

    Both are None without an embedder, and where nothing of the text is known to it; `model` is then empty.
    """

    text: str
    terms: Mapping[str, str]
    whole: NDArray[np.float32] | None = None
    needs: NDArray[np.float32] | None = None
    model: str = ""


def ask(text: str, embedder: Embedder | None = None) -> Question:
    """A text of any bytes and length; what is over QUERY_CHARS visible ones is not read."""
    said = visible(text[:_READ_AT_MOST])[:QUERY_CHARS]
    terms = query_terms(said)
    parts = sentences(said)
    if embedder is None or not parts:
        return Question(said, terms)
    alone = len(parts) == 1 and parts[0] == " ".join(said.split())
    rows = embedder.encode(parts if alone else [said, *parts])
    if not rows[0].any():
        return Question(said, terms)
    return Question(said, terms, rows[0], rows if alone else rows[1:], embedder.id)
