"""The texts to fit on, in the shapes that the registry embeds: requests, services, capabilities.

The registry embeds "name. what it does", "name part: what that part does" and requests, so most summaries of packages
are brought into one of these shapes. The shape of each package is drawn with a seed.
"""

import hashlib
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.embedding.packages import chosen
from benchmarks.embedding.sources import SOURCES, read
from registry.core.reading.plain_text import split_name

SEED = 0

PACKAGES = 56_000
"""Maximum summaries of packages; more of them change nothing."""

TEXT_CHARS = 1_200
"""Longer texts are truncated; the teacher reads only 96 tokens."""

_ASKED = (
    "I need {}",
    "I need to {}",
    "I want {}",
    "I'm looking for {}",
    "Can you help me with {}?",
    "Is there anything for {}?",
    "How do I {}?",
    "Please help me find {}",
    "We need a service: {}",
    "What can I use for {}?",
)
_WORD = re.compile(r"[a-z0-9]+")


def key(text: str) -> str:
    """Return a key that is equal for texts that differ only in case, spaces and punctuation."""
    return " ".join(_WORD.findall(text.lower()))


def digest(text: str) -> str:
    """Return the first 16 hex digits of the sha256 of `key`, which identify a text without revealing it."""
    return hashlib.sha256(key(text).encode()).hexdigest()[:16]


def candidates(root: Path, packages: int) -> Iterator[tuple[str, str, str]]:
    """Yield (source, text, its original part) of all texts that could be fitted on, with duplicates."""
    for source in SOURCES:
        requests, described = read(root, source)
        yield from ((source.folder, _clean(text), text) for text in requests)
        yield from (
            (source.folder, f"{split_name(name)}: {_clean(description)}", description)
            for name, description in described
        )
    for text, line in _shaped(chosen(sorted((root / "packages").glob("*.tsv")), packages)):
        yield "packages", text, line


def all_texts(root: Path, apart: frozenset[str], packages: int = PACKAGES) -> tuple[list[str], Counter[str]]:
    """Return distinct texts in a seeded order, and counts by source. `apart`: digests of texts to leave out."""
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    texts: list[str] = []
    for source, text, original in candidates(root, packages):
        if digest(original) in apart or digest(text) in apart:
            counts["left out, in an evaluation set"] += 1
        elif (name := key(text)) and name not in seen and not text.startswith(("{", "[")):
            seen.add(name)
            texts.append(text[:TEXT_CHARS])
            counts[source] += 1
    random.Random(SEED).shuffle(texts)
    return texts, counts


def _shaped(pairs: list[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Yield (text, original line) for each package: the line alone, as a service, as a capability, or as a request."""
    draw = random.Random(SEED)
    for name, line in pairs:
        title = split_name(name.lstrip("@"))
        shape = draw.random()
        if shape < 0.3:
            yield line, line
        elif shape < 0.5:
            yield f"{title}. {line}", line
        elif shape < 0.7:
            first, _, remainder = title.partition(" ")
            yield f"{first} {remainder or title}: {line}", line
        else:
            yield draw.choice(_ASKED).format(line[0].lower() + line[1:].rstrip(".")), line


def _clean(text: str) -> str:
    return " ".join(text.replace("\\n", " ").split())
