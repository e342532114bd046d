"""Select the one-line summaries of software packages that are useful for the fit.

Packages do similar things as services, and their authors describe them in one line. Most of a package index is useless
here: empty templates, trivial lines, long families with the same text. Kept are English lines about topics of services,
at most a few per family of names and per opening phrase.
"""

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_HERE = Path(__file__).parent

WORDS = range(4, 41)
"""The number of words that a line may have."""

PER_FAMILY = 25
"""Maximum lines with the same beginning of the name, and with the same first three words."""

_FUNCTION_WORDS = frozenset((_HERE / "function_words.txt").read_text().split())
"""A line without any of these is not taken as an English sentence."""

_DOMAINS = frozenset((_HERE / "domains.txt").read_text().split())
"""General words for the topics of services; lines with more of them are preferred."""

_TOOLS = frozenset((_HERE / "tools.txt").read_text().split())
"""Words that only software developers need; lines with them rank lower."""

_WORD = re.compile(r"[a-z0-9]+")
_NAME_SEAM = re.compile(r"[-_./]+")
_MARKUP = re.compile(r"<[^>]*>|https?://\S+|[`*|\[\]{}]+")


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield pairs (name, summary) of a tab-separated list with one header line that names those two columns."""
    with path.open(encoding="utf-8", newline="") as table:
        rows = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        for row in rows:
            name, summary = row["name"] or "", row["summary"] or ""
            yield name, " ".join(_MARKUP.sub(" ", summary).split())


def chosen(paths: list[Path], limit: int) -> list[tuple[str, str]]:
    """Return at most `limit` pairs (name, summary), those about services first, otherwise ordered by name hash."""
    ranked: list[tuple[int, bytes, str, str]] = []
    seen: set[str] = set()
    families: Counter[tuple[str, ...]] = Counter()
    ordered = sorted((pair for path in paths for pair in lines(path)), key=lambda pair: _order(pair[0]))
    for name, line in ordered:
        words = _WORD.findall(line.lower())
        key = " ".join(words)
        if key in seen or not _readable(line, words):
            continue
        seen.add(key)
        groups = (("name", _family(name)), ("phrase", *words[:3]))
        if any(families[group] >= PER_FAMILY for group in groups):
            continue
        families.update(groups)
        ranked.append((_about_services(frozenset(words)), _order(name), name, line))
    ranked.sort(key=lambda entry: (-entry[0], entry[1], entry[3]))
    return [(name, line) for _, _, name, line in ranked[:limit]]


def _about_services(words: frozenset[str]) -> int:
    return min(len(words & _DOMAINS), 3) - min(len(words & _TOOLS), 3)


def _order(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def _readable(line: str, words: list[str]) -> bool:
    """True when a line looks like an English sentence, judged by its characters, length and function words."""
    return line.isascii() and len(line.split()) in WORDS and len(words) >= 4 and not _FUNCTION_WORDS.isdisjoint(words)


def _family(name: str) -> str:
    """Return the part of a name that a family shares: the scope, else the first part."""
    return name.partition("/")[0] if name.startswith("@") else _NAME_SEAM.split(name)[0]
