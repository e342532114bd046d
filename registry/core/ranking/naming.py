"""Find the hosts that a question names: they are always among the answers, even as copies that would be folded.

A full host name or registrable domain, also inside a URL, comes first. The label of a domain ("pigeonpost" of
pigeonpost.example) also names a host if it is the whole question, has a hyphen, or is a word that neither the embedder
knows nor many services use. A label never lifts the rank, because it can be registered below another suffix.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from registry.core.names.domains import InvalidName, host_syntax
from registry.core.ranking.record import CorpusStats, term_ids

MOST_NAMED: Final = 5  # services that are added to the candidates of one question because it names them
_NAMES: Final = 8  # names that are looked up of one question
_USED_BY_FEW: Final = 50
_USED_BY_MANY: Final = 100
"""A word that at most so many services, or at most one in so many, use may be the name of one."""

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{0,20}://(?:[^/@\s]*@)?", re.IGNORECASE)
_AFTER_HOST: Final = re.compile(r"[/?#:]")
_AROUND: Final = ".,;:!?()[]{}<>'\"`*_~"


def names_in(text: str, unknown_words: Sequence[str]) -> tuple[str, ...]:
    """Return the hosts, domains and labels that the text may name, canonical, at most _NAMES. `unknown_words`: its
    words that the embedder does not know."""
    tokens = [token.strip(_AROUND) for token in text.split()]
    in_full = [token for token in tokens if "." in token or "-" in token or len(tokens) == 1]
    read_already = " ".join(in_full).lower()
    names: dict[str, None] = {}
    for token in (*in_full, *(word for word in unknown_words if word not in read_already)):
        name = _AFTER_HOST.split(_SCHEME.sub("", token), maxsplit=1)[0].strip(_AROUND) if "." in token else token
        with suppress(InvalidName):
            names[host_syntax(name)] = None
        if len(names) == _NAMES:
            break
    return tuple(names)


def sought(names: Sequence[str], terms: Mapping[str, str], stats: CorpusStats) -> Sequence[str]:
    """Return the names to look up. In a question of several `terms` (stem -> word), a word is not a name if more than
    one service in _USED_BY_MANY uses it."""
    stem_of = {word: stem for stem, word in terms.items()} if names and len(terms) > 1 else {}
    labels = [name for name in names if name in stem_of]
    if not labels:
        return names
    used_by = stats.document_frequency(term_ids([stem_of[label] for label in labels])).tolist()
    most = max(_USED_BY_FEW, stats.services / _USED_BY_MANY)
    common = {label for label, services in zip(labels, used_by, strict=True) if services > most}
    return [name for name in names if name not in common] if common else names


def addressed(hosts: Sequence[str], named: Sequence[int], names: Sequence[str]) -> list[int]:
    """Return the `named` positions in `hosts` whose host, or a domain above it, is among the names."""
    parents = tuple(f".{name}" for name in names if "." in name)
    return [position for position in named if hosts[position] in names or hosts[position].endswith(parents)]
