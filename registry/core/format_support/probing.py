"""A format's part of the probe plan: the paths to request, and their conditions."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from registry.core.model.documents import Outcome

ABSENT: Final = frozenset({Outcome.ABSENT, Outcome.GONE, Outcome.NOT_A_MANIFEST})
"""Outcomes after which the fallback of a path is requested."""

JSON_CAP: Final = 1024 * 1024
CARD_CAP: Final = 4 * 1024 * 1024
TEXT_CAP: Final = 512 * 1024
"""Most bytes of a body that are read."""


@dataclass(frozen=True, slots=True)
class HostFacts:
    """Facts about a host after the earlier stages, for the conditions of stage S4."""

    label: str  # first label of the host
    formats: frozenset[str]  # slugs of the documents found on this host
    outcomes: Mapping[str, Outcome]  # by path of this host
    words: frozenset[str]  # names of the topics that its documents and its front page mention
    rpc_here: bool  # a document names an MCP or A2A endpoint on this same host

    def absent(self, *paths: str) -> bool:
        return all(self.outcomes.get(path) in ABSENT for path in paths)


@dataclass(frozen=True, slots=True)
class ProbePath:
    """A path that is requested although no document points to it (docs/crawler.md, "Paths").

    Each costs one request to every visited host, unless it is a fallback or has a condition. Within a stage, paths are
    requested in ascending `order`. Paths with a condition whose format can describe or name a service are requested
    without their condition too: all of them if a user asked for the host, else a few in each revisit.
    """

    stage: str  # "S1" to "S4"
    order: int
    path: str
    fallback_of: str | None = None  # requested only when that path is absent
    when: Callable[[HostFacts], bool] | None = None  # stage S4: requested only from hosts that meet this condition
    sub_host: str | None = None  # requested only from sub-hosts with this first label, instead of the whole plan


@dataclass(frozen=True, slots=True)
class Topic:
    """A subject that justifies a request when a text mentions it. `words`, in lower case, are a quick test: `pattern`
    is tried only if the text has one. `in_home`: front pages, which every host has, are searched too."""

    name: str
    words: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    in_home: bool = False


def never(facts: HostFacts) -> bool:
    """Return False: the condition of a path that few sites use, requested only from named hosts and in revisits."""
    return False


def always(facts: HostFacts) -> bool:
    """Return True: the condition of a path that is requested from every host with a document."""
    return True
