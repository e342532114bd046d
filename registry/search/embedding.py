"""Sentence vectors without a model: the gated sum of the rows of a text's WordPiece tokens, scaled to length 1.

The table (gated_table.py) ships with the package and was fitted so that the sum approximates the vector of a sentence
model (MODEL_CARD.md beside it, made by benchmarks/embedding). Texts in other languages have a table of their own in the
same space (other_languages.py). Nothing is downloaded, neither here nor by the imported libraries.
"""

import hashlib
import mmap
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from registry.core.model.listing import SearchUnavailable
from registry.core.ranking.vectors import units
from registry.core.wording.language import language_of
from registry.search.column_store import read_arrays
from registry.search.gated_table import GatedTable
from registry.search.other_languages import READ, BadTable, OtherLanguages

MODEL = Path(__file__).parent / "model"
TABLE = "table.safetensors"
TOKENIZER = "tokenizer.json"
LANGUAGES = "languages.safetensors"
TABLE_SHA256 = "6c5f1a713a46d84d41f44d6dad50e54cd3efa29a405ff61f46aa8c099e64862c"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""Checksums of the files that this version of the code was measured with; other files are refused."""

LANGUAGES_SHA256 = "8fd8001f9d4b1e5b95ec5edf4752bef1d93abc7808c871618eeffea9f2dda9d9"

RECIPE = "1"  # version of the formula above, part of the model's id, so vectors of two recipes are never compared
TOKENS = 256  # a text is truncated to this many tokens
TEXT_CHARS = 4_096
"""A text is truncated to this before it is tokenised, to bound the work; TOKENS tokens of any language fit."""


_PLAIN = re.compile(r"[\t\n\r -Z\\-~]*")
"""ASCII without control characters, which join words, and without the bracket that begins a special token ("[CLS]")."""

_WORDS = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_PIECED_CHARS = 101  # the tokenizer knows no word of more than 100 characters

_ENDINGS = ("s", "es", "ed", "ing", "er", "ers", "ly", "ings")
_LONG_BASE = 5
_PLURAL_BASE = 3
"""Letters of a word that is known without its ending; shorter ones often double their last letter before it."""


class ModelFileError(SearchUnavailable):
    """A model file is missing, damaged, or differs from the measured version."""


class WordPieces:
    """The part of an Embedder that its tokenizer suffices for."""

    def __init__(self, tokenizer: bytes) -> None:
        """Load a tokenizer that truncates to TOKENS and does not pad. Raise ModelFileError."""
        try:
            self._tokenizer: Any = Tokenizer.from_buffer(tokenizer)
        except Exception as error:  # the library raises bare Exception
            raise ModelFileError(f"the tokenizer cannot be read: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(TOKENS)

    @lru_cache(maxsize=10_000)  # noqa: B019  (a process has one or two)
    def knows(self, word: str) -> bool:
        """Return whether the word, or its base form, is a token. Only long words with one ending count: "grooming"
        comes from "groom", but "shiping" not from "ship"."""
        bases = [word, *(word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending))]
        bases += [f"{base}e" for base in bases[1:]]
        return any(
            self._tokenizer.token_to_id(base) is not None
            for base in bases
            if base == word or len(base) >= _LONG_BASE or (word == f"{base}s" and len(base) >= _PLURAL_BASE)
        )

    def english(self, _text: str) -> Mapping[str, str]:
        """Return English words for the words of a text in another language: none, the tokenizer knows only English."""
        return {}

    def _tokens(self, text: str) -> list[int]:
        """Return at most TOKENS tokens, none special. The tokenizer splits ASCII text as here, and words recur: with
        their tokens kept, the document of a service takes a quarter less CPU."""
        if _PLAIN.fullmatch(text):
            found = [token for word in _WORDS.findall(text.lower()) for token in self._pieces(word[:_PIECED_CHARS])]
            return found[:TOKENS]
        # One by one: a batch would start threads, and a process that forks later gets a deadlock warning.
        ids: list[int] = self._tokenizer.encode(unicode_text(text), add_special_tokens=False).ids
        return ids

    @lru_cache(maxsize=20_000)  # noqa: B019  (a process has one or two)
    def _pieces(self, word: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(word, add_special_tokens=False).ids)


class StaticEmbedder(WordPieces):
    """The table as an Embedder (registry/core/ranking); safe to use from several threads."""

    def __init__(self, table: memoryview, tokenizer: bytes) -> None:
        """Load the model. Raise ModelFileError if the table or the tokenizer is unreadable, or their sizes differ."""
        super().__init__(tokenizer)
        try:
            arrays = read_arrays(table)
            self._table = GatedTable(arrays)
            self.basis: NDArray[np.float16] = arrays["basis"]
        except (ValueError, KeyError, IndexError) as error:
            raise ModelFileError(f"the embedding table cannot be read: {error}") from error
        size, rows = self._tokenizer.get_vocab_size(), self._table.tokens
        if size != rows:
            raise ModelFileError(f"the embedding table has {rows} rows, its tokenizer {size} tokens")
        self.id = model_id(table, tokenizer, RECIPE)  # an index keeps only the vectors of one model
        self.dims = self._table.dims

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dims) float32. Any text is accepted; lone surrogates are replaced, see `unicode_text`."""
        vectors = np.zeros((len(texts), self.dims), np.float32)
        for row, text in enumerate(texts):
            if tokens := self._tokens(text[:TEXT_CHARS]):
                vectors[row] = self._table.sum(np.array(tokens))  # tokens without meaning have rows of zeros
        return units(vectors)


def model_id(table: memoryview | bytes, tokenizer: bytes, recipe: str) -> str:
    """Return `wp_` and the first 12 hex digits of the sha256 of table, tokenizer and recipe version."""
    digest = hashlib.sha256(table)
    digest.update(tokenizer)
    digest.update(recipe.encode())
    return f"wp_{digest.hexdigest()[:12]}"


def load(folder: Path, table_sha256: str, tokenizer_sha256: str) -> StaticEmbedder:
    """Load the model from a folder. Raise ModelFileError if a file is missing or has another sha256."""
    table = verified(folder / TABLE, table_sha256)
    return StaticEmbedder(table, bytes(verified(folder / TOKENIZER, tokenizer_sha256)))


class AllLanguages(StaticEmbedder):
    """The English table, and the one of other languages, loaded when the first text in another language comes."""

    def __init__(self, folder: Path) -> None:
        """Load the English table. Raise ModelFileError."""
        table = verified(folder / TABLE, TABLE_SHA256)
        tokenizer = bytes(verified(folder / TOKENIZER, TOKENIZER_SHA256))
        super().__init__(table, tokenizer)
        self.id = model_id(table, tokenizer, f"{RECIPE} {LANGUAGES_SHA256}")
        self._folder = folder

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dims) float32, each text by the table of its language. Raise ModelFileError at the first text in
        another language if its table is missing, damaged or differs."""
        is_other = np.array([language_of(text) in READ for text in texts], np.bool_)
        if not is_other.any():
            return super().encode(texts)
        vectors = np.zeros((len(texts), self.dims), np.float32)
        vectors[~is_other] = super().encode([text for text, other in zip(texts, is_other, strict=True) if not other])
        vectors[is_other] = units(
            np.stack([self._others.encode(text) for text, other in zip(texts, is_other, strict=True) if other])
        )
        return vectors

    def english(self, text: str) -> Mapping[str, str]:
        """Return English words -> the word of the text that each stands for; none for an English text. Raise
        ModelFileError as `encode`."""
        return self._others.english(text) if language_of(text) in READ else {}

    @cached_property
    def _others(self) -> OtherLanguages:
        path = self._folder / LANGUAGES
        try:
            others = OtherLanguages(verified(path, LANGUAGES_SHA256))
        except BadTable as error:
            raise ModelFileError(f"{path}: {error}") from error
        if others.dims != self.dims:
            raise ModelFileError(f"{path}: {others.dims} dimensions, not {self.dims}")
        return others


@cache
def default_embedder() -> AllLanguages:
    """Return the packaged model, loaded and verified once per process. Raise ModelFileError."""
    return AllLanguages(MODEL)


def unicode_text(text: str) -> str:
    """Replace each lone surrogate, which the tokenizer would refuse, with a question mark."""
    return text.encode("utf-8", "replace").decode()


def verified(path: Path, expected: str) -> memoryview:
    """Return the bytes of a file. Raise ModelFileError if it cannot be read or has another sha256."""
    try:
        with path.open("rb") as file:
            raw = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:  # ValueError: the file is empty
        raise ModelFileError(f"{path}: cannot be read ({error})") from error
    digest = hashlib.sha256(raw).hexdigest()
    if digest != expected:
        raise ModelFileError(f"{path}: sha256 is {digest}, this version needs {expected}; install the package again")
    return raw
