"""One-line summaries of software packages: which of them are worth fitting on.

What packages do is what services do, said in one line by whoever wrote them. Most of an index is of no use for that:
empty templates, hobby lines, long families that all say the same. Kept are lines in English that name something a
service could be about, at most a few of each family of names and of each opening phrase.
"""

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_HERE = Path(__file__).parent

WORDS = range(4, 41)
"""How many words a line may have."""

PER_FAMILY = 25
"""At most so many lines with the same beginning of the name, and with the same first three words."""

_FUNCTION_WORDS = frozenset((_HERE / "function_words.txt").read_text().split())
"""A line with none of them is no English sentence."""

_DOMAINS = frozenset((_HERE / "domains.txt").read_text().split())
"""What services are about, in general words; the more of them a line has, the earlier it comes."""

_TOOLS = frozenset((_HERE / "tools.txt").read_text().split())
"""What only makers of software ask for: such a line comes after one that speaks of the world."""

_WORD = re.compile(r"[a-z0-9]+")
_NAME_SEAM = re.compile(r"[-_./]+")
_MARKUP = re.compile(r"<[^>]*>|https?://\S+|[`*|\[\]{}]+")


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Pairs (name, summary) of a tab-separated list with one header line that names those two columns."""
    with path.open(encoding="utf-8", newline="") as table:
        rows = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
        for row in rows:
            name, summary = row["name"] or "", row["summary"] or ""
            yield name, " ".join(_MARKUP.sub(" ", summary).split())


def chosen(paths: list[Path], limit: int) -> list[tuple[str, str]]:
    """At most `limit` pairs (name, summary), those about services first, in an order that only the names decide."""
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
    """Whether a line is a sentence of English, as far as its letters and its small words tell."""
    return line.isascii() and len(line.split()) in WORDS and len(words) >= 4 and not _FUNCTION_WORDS.isdisjoint(words)


def _family(name: str) -> str:
    """The part of a name that a family shares: a scope, else the first part."""
    return name.partition("/")[0] if name.startswith("@") else _NAME_SEAM.split(name)[0]
