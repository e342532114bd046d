"""The Public Suffix List: parse it, cut hosts by its rules, and decide whether a newer list is plausible.

Source: the list's own format (publicsuffix.org, sections "specification" and "algorithm"). Rules are kept as A-labels,
like hosts. The list shipped with the package is in force until `domains.use_suffixes` replaces it.
"""

import pkgutil
import re
from dataclasses import dataclass, field
from typing import Final

import idna

MIN_RULE_SHARE: Final = 0.8
MAX_RULE_FACTOR: Final = 4
"""A newer list is refused if its number of rules is below this share, or above this multiple, of the shipped list's."""

REQUIRED_RULES: Final = ("com", "org", "net", "de", "uk", "co.uk", "jp", "github.io")
"""Rules that every real list contains; the last one is in the private section."""

_MARKERS: Final = [f"// ==={edge} {part} DOMAINS===" for part in ("ICANN", "PRIVATE") for edge in ("BEGIN", "END")]
_LABEL: Final = r"(?:[a-z0-9_](?:[a-z0-9-]{0,61}[a-z0-9])?)"
_RULE: Final = re.compile(rf"(?P<mark>!|\*\.)?(?P<name>{_LABEL}(?:\.{_LABEL}){{0,9}})")
_VERSION: Final = re.compile(r"^// VERSION: ([0-9A-Za-z_.:-]{1,40})$", re.MULTILINE)


class BadReference(ValueError):
    """Reference data that is malformed or implausible. The message states why and contains no raw text of the data."""


@dataclass(frozen=True, slots=True)
class SuffixList:
    """Plain rules, wildcards (every name under one is a suffix), and exceptions (names exempt from a wildcard).
    `private` holds the names of the rules in the private section: platforms below which customers have sites."""

    names: frozenset[str]
    wildcards: frozenset[str] = frozenset()
    exceptions: frozenset[str] = frozenset()
    version: str = field(default="", compare=False)
    private: frozenset[str] = field(default=frozenset(), compare=False)

    def __len__(self) -> int:
        return len(self.names) + len(self.wildcards) + len(self.exceptions)

    def cut(self, host: str) -> tuple[str, str]:
        """Return (public suffix, registrable domain) of a canonical host; "" for a missing one. The default rule `*` is
        not applied: a name under an unknown top level has neither."""
        child, name = "", host
        while name:
            _, _, parent = name.partition(".")
            if name in self.exceptions:
                return parent, name
            if name in self.names or parent in self.wildcards:
                return name, child
            child, name = name, parent
        return "", ""


def shipped_body() -> bytes:
    """Return the unchanged list that publicsuffixlist ships, in the version that the lock file pins."""
    return pkgutil.get_data("publicsuffixlist", "public_suffix_list.dat") or b""


def parse_suffixes(body: bytes) -> SuffixList:
    """Return the list from its published form. Raise BadReference for another document or an incomplete list."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadReference("the list is not UTF-8") from None
    offsets = [text.find(marker) for marker in _MARKERS]
    if -1 in offsets or offsets != sorted(offsets):
        raise BadReference("the list's sections are missing or out of order")
    rules_by_mark: dict[str | None, set[str]] = {None: set(), "*.": set(), "!": set()}
    private: set[str] = set()
    is_private = False
    for number, line in enumerate(text.splitlines(), 1):
        is_private = is_private or line == _MARKERS[2]
        rule = line.partition(" ")[0].partition("\t")[0]
        if not rule or line.startswith("//"):
            continue
        match = _RULE.fullmatch(_as_labels(rule, number))
        if match is None:
            raise BadReference(f"line {number} of the list is no rule")
        rules_by_mark[match["mark"]].add(match["name"])
        if is_private:
            private.add(match["name"])
    version = _VERSION.search(text)
    names, wildcards, exceptions = map(frozenset, rules_by_mark.values())
    return SuffixList(names, wildcards, exceptions, version[1] if version else "", frozenset(private))


def require_plausible(suffixes: SuffixList, shipped: SuffixList) -> SuffixList:
    """Return `suffixes` unchanged. Raise BadReference if they are implausible compared with the `shipped` list."""
    if not MIN_RULE_SHARE * len(shipped) <= len(suffixes) <= MAX_RULE_FACTOR * len(shipped):
        raise BadReference(f"the list has {len(suffixes)} rules, the shipped one {len(shipped)}")
    if missing := [name for name in REQUIRED_RULES if name not in suffixes.names]:
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


SHIPPED: Final = parse_suffixes(shipped_body())  # read once, at import; never fetched
