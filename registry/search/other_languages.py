"""Questions and services in other languages than English, without a model: a second table in the English table's space.

The vector of a text is the gated sum of the rows of its pieces (gated_table.py), and was fitted so that it is near
the English table's vector of the English translation. So a question in one language finds services in another, and the
vectors of English texts stay as they are. Each piece also has up to three English words that it stands for, by which
the words of the question are found in English texts.

Nothing is translated for the reader: the words and vectors only find services. MODEL_CARD.md says what the table was
fitted on.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from registry.search.column_store import read_arrays
from registry.search.gated_table import GatedTable

READ: Final = frozenset(["de", "fr", "es", "pt", "it", "nl", "pl", "ja", "zh", "ar"])
"""The languages that the table was fitted on; texts in others are read as English."""

PIECES: Final = 256  # a text is truncated to this many pieces
TEXT_CHARS: Final = 2_048
"""A text is truncated to this before it is split, to bound the work."""

_WORD_START: Final = "\u2581"
_UNKNOWN: Final = 0  # the first piece
_MEANING_LETTERS: Final = 4
"""Least letters of a part of a word that has a meaning; shorter ones are mostly endings."""

_ENGLISH_WORDS: Final = 24  # English words of a text, at most
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


class BadTable(ValueError):
    """The bytes are not a table of this kind."""


class Piece(NamedTuple):
    """A piece of a text: its number, its place, and whether it is a whole word."""

    number: int
    start: int
    end: int
    is_whole: bool


class OtherLanguages:
    """The table; safe to use from several threads."""

    def __init__(self, raw: memoryview) -> None:
        """Read the table. Raise BadTable."""
        try:
            arrays = read_arrays(raw)
            self._table = GatedTable(arrays)
            self._basis: NDArray[np.float32] = arrays["basis"].astype(np.float32)
            self._english: NDArray[np.uint16] = arrays["english"]
            self._words = bytes(arrays["english_words"]).decode().split("\n")
            pieces = bytes(arrays["pieces"]).decode().split("\n")
            self._tokenizer = tokenizer_of(pieces, arrays["piece_scores"])
        except (ValueError, KeyError, IndexError) as error:
            raise BadTable(f"the table of other languages cannot be read: {error}") from error
        if (
            {self._table.tokens, len(self._english)} != {len(pieces)}
            or self._basis.shape[:1] != (self._table.dims,)
            or int(self._english.max()) >= len(self._words)
        ):
            raise BadTable("the parts of the table of other languages differ in size")
        self.dims = int(self._basis.shape[1])

    def encode(self, text: str) -> NDArray[np.float32]:
        """Return the text's vector (dims,), not normalised; zeros if no piece is known. Any text is accepted."""
        numbers = np.array([piece.number for piece in self._pieces(text)], np.int64)
        if not len(numbers):
            return np.zeros(self.dims, np.float32)
        total: NDArray[np.float32] = self._table.sum(numbers) @ self._basis
        return total

    def english(self, text: str) -> dict[str, str]:
        """Return the English words that the text's words stand for -> the word of the text, in the text's order."""
        found: dict[str, str] = {}
        for piece in self._pieces(text):
            written = text[piece.start : piece.end]
            letters = len(written.strip())
            if not piece.is_whole and letters < _MEANING_LETTERS and not _UNSPACED.search(written):
                continue
            for word in self._english[piece.number].tolist():
                if word and len(found) < _ENGLISH_WORDS:
                    found.setdefault(self._words[word], _whole_word(text, piece))
        return found

    def _pieces(self, text: str) -> Iterator[Piece]:
        readable = text[:TEXT_CHARS].encode("utf-8", "replace").decode()
        encoding = self._tokenizer.encode(readable, add_special_tokens=False)
        tokens, offsets = encoding.tokens[:PIECES], encoding.offsets[:PIECES]
        for place, (number, token, (start, end)) in enumerate(zip(encoding.ids, tokens, offsets, strict=False)):
            if number == _UNKNOWN or token == _WORD_START:
                continue
            ends_word = place + 1 == len(tokens) or tokens[place + 1].startswith(_WORD_START)
            yield Piece(number, start, end, token.startswith(_WORD_START) and ends_word)


_LETTERS: Final = re.compile(r"[^\W\d_]+")


def _whole_word(text: str, piece: Piece) -> str:
    """Return the word of the text that holds the piece; in scripts without spaces the piece itself."""
    written = text[piece.start : piece.end].strip()
    if _UNSPACED.search(written):
        return written
    return next((word.group() for word in _LETTERS.finditer(text) if word.end() > piece.start), written)


def tokenizer_of(pieces: list[str], scores: NDArray[Any]) -> Tokenizer:
    """Return the tokenizer: a unigram model (Kudo 2018) of lower-case text without accents, since people type both."""
    tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores.tolist(), strict=True)), unk_id=_UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.NFKC(),
            normalizers.Lowercase(),
            normalizers.NFD(),
            normalizers.StripAccents(),
            normalizers.NFC(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.UnicodeScripts(),
            pre_tokenizers.Whitespace(),
            pre_tokenizers.Punctuation("removed"),
            pre_tokenizers.Metaspace(prepend_scheme="always"),
        ]
    )
    tokenizer.no_padding()
    tokenizer.enable_truncation(PIECES)
    return tokenizer
