"""The Public Suffix List: its rules, how a host is cut by them, and whether a newer list can be believed.

Source: the list's own format (publicsuffix.org, sections "specification" and "algorithm"). Rules are kept as A-labels,
as hosts are. The list in force is the one of the package until `domains.use_suffixes` is told another one.
"""

import re
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Final, Protocol, cast

import idna

LEAST_SHARE: Final = 0.8
MOST_TIMES: Final = 4
"""Of the shipped list: a newer one with fewer rules than the share, or more than so many times as many, is refused."""

KNOWN: Final = ("com", "org", "net", "de", "uk", "co.uk", "jp", "github.io")
"""Rules without which no list is the list; the last one is of the private section."""

_MARKERS: Final = (
    "// ===BEGIN ICANN DOMAINS===",
    "// ===END ICANN DOMAINS===",
    "// ===BEGIN PRIVATE DOMAINS===",
    "// ===END PRIVATE DOMAINS===",
)
_LABEL: Final = r"(?:[a-z0-9_](?:[a-z0-9-]{0,61}[a-z0-9])?)"
_RULE: Final = re.compile(rf"(?P<mark>!|\*\.)?(?P<name>{_LABEL}(?:\.{_LABEL}){{0,9}})")
_VERSION: Final = re.compile(r"^// VERSION: ([0-9A-Za-z_.:-]{1,40})$", re.MULTILINE)


class BadReference(ValueError):
    """Reference data that is not what it should be. The message says why, in our words only."""


@dataclass(frozen=True, slots=True)
class SuffixList:
    """`names`: plain rules; `wildcards`: below which every name is a suffix; `exceptions`: the names that are none."""

    names: frozenset[str]
    wildcards: frozenset[str] = frozenset()
    exceptions: frozenset[str] = frozenset()
    version: str = field(default="", compare=False)

    def __len__(self) -> int:
        return len(self.names) + len(self.wildcards) + len(self.exceptions)

    def cut(self, host: str) -> tuple[str, str]:
        """(public suffix, registrable domain) of a canonical host; "" for what it does not have.

        Without the default rule `*`: a name below a top level that the list does not know has neither.
        """
        below, tail = "", host
        while tail:
            _, _, parent = tail.partition(".")
            if tail in self.exceptions:
                return parent, tail
            if tail in self.names or parent in self.wildcards:
                return tail, below
            below, tail = tail, parent
        return "", ""


def parse_suffixes(body: bytes) -> SuffixList:
    """The list as it is published. Raises BadReference for anything else: another document, or a part of the list."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadReference("the list is not UTF-8") from None
    places = [text.find(marker) for marker in _MARKERS]
    if -1 in places or places != sorted(places):
        raise BadReference("the list does not have its sections, whole and in order")
    found: dict[str | None, set[str]] = {None: set(), "*.": set(), "!": set()}
    for number, line in enumerate(text.splitlines(), 1):
        rule = line.partition(" ")[0].partition("\t")[0]
        if not rule or line.startswith("//"):
            continue
        matched = _RULE.fullmatch(_as_labels(rule, number))
        if matched is None:
            raise BadReference(f"line {number} of the list is no rule")
        found[matched["mark"]].add(matched["name"])
    version = _VERSION.search(text)
    return SuffixList(
        frozenset(found[None]), frozenset(found["*."]), frozenset(found["!"]), version[1] if version else ""
    )


def believable(suffixes: SuffixList, shipped: SuffixList) -> SuffixList:
    """The same list. Raises BadReference for one that cannot be today's, given the one that we were shipped with."""
    if len(suffixes) < LEAST_SHARE * len(shipped):
        raise BadReference(f"the list has {len(suffixes)} rules, the shipped one {len(shipped)}")
    if len(suffixes) > MOST_TIMES * len(shipped):
        raise BadReference(f"the list has {len(suffixes)} rules, the shipped one {len(shipped)}")
    if missing := [name for name in KNOWN if name not in suffixes.names]:
        raise BadReference(f"the list does not know {missing[0]}")
    if not suffixes.wildcards or not suffixes.exceptions:
        raise BadReference("the list has no wildcards, or no exceptions to them")
    return suffixes


def _as_labels(rule: str, number: int) -> str:
    if rule.isascii():
        return rule.lower()
    try:
        return ".".join(label if label.isascii() else idna.alabel(label).decode() for label in rule.lower().split("."))
    except (idna.IDNAError, UnicodeError):
        raise BadReference(f"line {number} of the list is no rule") from None


class _Files(Protocol):
    def get_data(self, path: str, /) -> bytes: ...


def _shipped() -> bytes:
    """Data of a package, of the version that the lock file names. Read past the package itself: to import that brings
    an HTTP client of 10 MB along, and the crawler counts its memory."""
    spec = find_spec("tldextract")
    if spec is None or not spec.submodule_search_locations:
        return b""
    return cast(_Files, spec.loader).get_data(f"{spec.submodule_search_locations[0]}/.tld_set_snapshot")


SHIPPED: Final = parse_suffixes(_shipped())
"""Read once, never fetched."""
