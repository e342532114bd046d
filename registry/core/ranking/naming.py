"""Questions that name a host: it is then always among the answers, also as a copy that would be folded.

A host is named by its full name or its registrable domain, also inside a URL, and then comes first. It is also named by
the label of its domain ("pigeonpost" of pigeonpost.example), if that is the whole question or no word that the embedder
knows. This never lifts its rank, because anybody may register the label below another suffix.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from registry.core.names.domains import InvalidName, host_syntax

MOST_NAMED: Final = 5
"""Services that are added to the candidates of one question because it names them."""

_NAMES: Final = 8
"""Names that are looked up of one question."""

_LABEL: Final = re.compile(r"[^\W_][\w-]{1,61}[^\W_]")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{0,20}://(?:[^/@\s]*@)?", re.IGNORECASE)
_AFTER_HOST: Final = re.compile(r"[/?#:]")
_AROUND: Final = ".,;:!?()[]{}<>'\"`*"


def names_in(text: str, is_word: Callable[[str], bool] | None) -> tuple[str, ...]:
    """Return the hosts, domains and labels that the text may name, canonical, at most _NAMES. `is_word`: whether the
    embedder knows a word in lower case; without one, a label is named only if it is the whole text."""
    tokens = text.split()
    names: dict[str, None] = {}
    for token in map(_name_in, tokens):
        if "." not in token:
            if not _LABEL.fullmatch(token):
                continue
            if len(tokens) > 1 and (is_word is None or is_word(token.lower())):
                continue
        with suppress(InvalidName):
            names[host_syntax(token)] = None
        if len(names) == _NAMES:
            break
    return tuple(names)


def _name_in(token: str) -> str:
    """Return a word without punctuation around it, and the host of a URL."""
    token = token.strip(_AROUND)
    if "." in token:
        token = _AFTER_HOST.split(_SCHEME.sub("", token), maxsplit=1)[0]
    return token.strip(_AROUND)


def is_addressed(host: str, names: Sequence[str]) -> bool:
    """Return whether one of the names is the host or a domain above it."""
    return host in names or any("." in name and host.endswith(f".{name}") for name in names)
