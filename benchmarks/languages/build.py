"""`python -m benchmarks.languages.build FOLDER`: fit registry/core/wording/languages.bin on texts of interfaces.

FOLDER holds the packages of SOURCES, as their indexes publish them. Their translations are short texts of everyday
things in all the languages. A text is cut to one to six words in a row, as questions have. The classifier is a softmax
regression on hashed parts of words, which needs `scipy` (group `embedding`). The same packages give the same table.
"""

import argparse
import hashlib
import json
import random
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped]  # the package ships no types

from registry.core.wording.language import BUCKETS, LATIN, SCALE, TABLE, buckets
from registry.core.wording.text import without_accents

SOURCES: Final = {
    "cldr-annotations-full-48.2.0.tgz": "Unicode-3.0",
    "django-6.1.3-py3-none-any.whl": "BSD-3-Clause",
    "home_assistant_frontend-20261028.8-py3-none-any.whl": "Apache-2.0",
    "openstreetmap-id-tagging-schema-6.19.2.tgz": "ISC",
    "wagtail-8.0.1-py3-none-any.whl": "BSD-3-Clause",
}
"""The packages and their licences; `build` prints their sha256."""

_FILES: Final = re.compile(
    r"hass_frontend/static/translations/(?:\w+/)?([A-Za-z-]+)-[0-9a-f]{20,}\.json$"
    r"|annotations/([A-Za-z-]+)/annotations\.json$"
    r"|dist/translations/([A-Za-z-]+)\.json$"
    r"|/locale/([A-Za-z_]+)/LC_MESSAGES/django\.po$"
)
_ALSO: Final = {"nb": "no", "pt-br": "pt", "en-us": "en"}
_MARKUP: Final = re.compile(r"%\(\w+\)\w|%\w|\{[^}]*\}|<[^>]*>|https?:\S+|\\n|&\w+;|\$\w+")
_WORD: Final = re.compile(r"[^\W\d_]+")
_MESSAGE: Final = re.compile(r'msgid ((?:".*"\n)+)msgstr ((?:".*"\n?)+)')
_LENGTHS: Final = (1, 2, 2, 3, 3, 4, 5, 6)
_SNIPPETS: Final = 40_000  # of each language, of English three times as many: most questions are English
_PLAIN: Final = 0.3  # share of the texts that are written without accents, as many people type
_NAMED: Final = 0.08  # share of the English texts that end with a foreign word
_BEFORE_NAMES: Final = ("in", "to", "from", "at", "for", "of", "on", "by")
_ROUNDS: Final = 4
_BATCH: Final = 1_024
_STEP: Final = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.languages.build", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    for name in SOURCES:
        print(hashlib.sha256((folder / name).read_bytes()).hexdigest(), name)
    texts = read([folder / name for name in sorted(SOURCES)])
    rows = fit(texts)
    packed = np.clip(np.rint(rows / SCALE), -127, 127).astype(np.int8)
    Path("registry/core/wording", TABLE).write_bytes(packed.tobytes())
    print({language: len(found) for language, found in texts.items()})


def read(packages: list[Path]) -> dict[str, list[list[str]]]:
    """Return the words of each different text, by language. A text that is also an English one is not translated."""
    found: dict[str, set[str]] = {language: set() for language in LATIN}
    for path in packages:
        for name, raw in _members(path):
            groups = next(iter(_FILES.finditer(name)), None)
            tag = "" if groups is None else next(filter(None, groups.groups())).lower().replace("_", "-")
            if (language := _ALSO.get(tag, tag)) in found:
                text = raw.decode("utf-8", "replace")
                for is_english, string in _strings(text, name):
                    found["en" if is_english else language].add(" ".join(_WORD.findall(_clean(string))))
    english = found["en"]
    return {
        language: [text.split() for text in sorted(texts if language == "en" else texts - english) if text]
        for language, texts in found.items()
    }


def _clean(text: str) -> str:
    return _MARKUP.sub(" ", text).lower()


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in sorted(wheel.namelist()):
                if _FILES.search(name):
                    yield name, wheel.read(name)
        return
    with tarfile.open(path) as package:
        for member in sorted(package.getmembers(), key=lambda member: member.name):
            if _FILES.search(member.name) and (file := package.extractfile(member)) is not None:
                yield member.name, file.read()


def _strings(text: str, name: str) -> Iterator[tuple[bool, str]]:
    """Yield (is English, text) of a file of messages, or of all strings of a JSON document."""
    if name.endswith(".json"):
        yield from ((False, string) for string in _values(json.loads(text)))
        return
    for message in _MESSAGE.finditer(text):
        english, translated = (_unquoted(part) for part in message.groups())
        yield True, english
        if translated != english:
            yield False, translated


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _values(inner)


def _unquoted(lines: str) -> str:
    return "".join(line.strip()[1:-1] for line in lines.strip().split("\n")).replace('\\"', '"')


def snippets(texts: dict[str, list[list[str]]]) -> list[tuple[list[str], int]]:
    rng = random.Random(7)
    drawn: list[tuple[list[str], int]] = []
    for label, language in enumerate(LATIN):
        found = texts[language]
        times = _SNIPPETS * (3 if language == "en" else 1)
        for written in rng.choices(found, weights=[min(len(text), 12) for text in found], k=times):
            length = rng.choice(_LENGTHS)
            start = rng.randrange(max(1, len(written) - length + 1))
            chosen = written[start : start + length]
            if language == "en" and rng.random() < _NAMED:  # "hotel in Kyoto"
                chosen = [*chosen, rng.choice(_BEFORE_NAMES), rng.choice(rng.choice(texts[rng.choice(LATIN)]))]
            drawn.append(([without_accents(word) for word in chosen] if rng.random() < _PLAIN else chosen, label))
    rng.shuffle(drawn)
    return drawn


def fit(texts: dict[str, list[list[str]]]) -> NDArray[np.float32]:
    """Return (BUCKETS, languages) weights, by AdaGrad."""
    drawn = snippets(texts)
    hashed = [buckets(written) for written, _ in drawn]
    starts = np.cumsum([0, *map(len, hashed)])
    values = np.concatenate([np.full(len(row), len(row) ** -0.5, np.float32) for row in hashed])
    columns = np.array([bucket for row in hashed for bucket in row])
    matrix = sparse.csr_matrix((values, columns, starts), (len(drawn), BUCKETS))
    matrix.sum_duplicates()
    wanted = np.eye(len(LATIN), dtype=np.float32)[[label for _, label in drawn]]
    weights = np.zeros((BUCKETS, len(LATIN)), np.float32)
    squares = np.full_like(weights, 1e-6)
    for _ in range(_ROUNDS):
        for start in range(0, len(drawn), _BATCH):
            rows = matrix[start : start + _BATCH]
            scores = rows @ weights
            odds = np.exp(scores - scores.max(axis=1, keepdims=True))
            errors = odds / odds.sum(axis=1, keepdims=True) - wanted[start : start + _BATCH]
            touched = np.unique(rows.indices)
            gradient = np.asarray(rows.T @ errors)[touched]
            squares[touched] += gradient * gradient
            weights[touched] -= _STEP * gradient / np.sqrt(squares[touched])
    return weights


if __name__ == "__main__":
    main()
