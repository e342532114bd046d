"""The probe plan as data: the requests to a host, their order and their conditions (docs/crawler.md).

A request URL is always a canonical host with one of these paths, or a pointer that passed `parse_https`. `plan.py`
walks through this table.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from registry.core.format_support.format import Role
from registry.core.format_support.probing import JSON_CAP, TEXT_CAP, HostFacts, ProbePath
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
from registry.core.model.documents import Probe, Purpose, Via
from registry.core.visiting.robots import CAP as ROBOTS_CAP

BUDGET: Final = 42  # requests of one visit, robots.txt and redirects included, capability details apart
DETAIL_BUDGET: Final = 25
MAX_POINTERS: Final = 10  # followed in one visit
MAX_DEPTH: Final = 4  # documents between a path of this table and the last pointer followed

_ANY_JSON = "application/json, */*;q=0.1"
_TEXT_ACCEPT = "text/markdown, text/plain, */*;q=0.1"


@dataclass(frozen=True, slots=True)
class Step:
    """One path of the plan. `format` is the expected one; it sets `Accept` and the cap, never the verdict."""

    stage: str
    path: str
    format: str | None = None
    fallback_of: str | None = None  # requested only when that path of this table is absent


def _steps(sub_host: str | None, *, conditional: bool = False) -> tuple[tuple[Step, ProbePath], ...]:
    """Return the paths of all formats in the order of their requests."""
    chosen = [
        (Step(probe_path.stage, probe_path.path, form.slug, probe_path.fallback_of), probe_path)
        for form in FORMATS
        for probe_path in form.probe_paths
        if probe_path.sub_host == sub_host and (probe_path.when is not None) is conditional
    ]
    return tuple(sorted(chosen, key=lambda pair: (pair[1].stage, pair[1].order)))


STEPS: Final = tuple(step for step, _ in _steps(None))

SHORT: Final[Mapping[str, tuple[Step, ...]]] = MappingProxyType(
    {label: tuple(step for step, _ in _steps(label)) for label in ("mcp", "api", "docs")}
)
"""Paths for sub-hosts of a domain that served a document, by first label."""

CONDITIONAL: Final[tuple[tuple[Step, Callable[[HostFacts], bool]], ...]] = tuple(
    (step, path.when) for step, path in _steps(None, conditional=True) if path.when is not None
)
"""Requested only where something was found, each under its own condition (docs/crawler.md, "Conditions")."""

MAX_CONDITIONAL: Final = 9

FURTHER: Final = tuple(
    step for step, _ in CONDITIONAL if FORMAT_BY_SLUG[step.format or ""].role in (Role.SERVICE, Role.POINTERS)
)
"""Conditional paths whose documents can list a host that serves nothing else. They are requested without a condition:
all of them if a user asked for the host, else a few in each revisit (limits.py). Texts and enrichers keep their
condition: they say nothing without a service."""

_TOPICS: Final = tuple(topic for form in FORMATS for topic in form.topics)
_HOME_TOPICS: Final = tuple(topic for topic in _TOPICS if topic.in_home)
_SEARCHED: Final = 64 * 1024  # bytes of a document that are searched for words
_SEARCHED_HOME: Final = 16 * 1024  # bytes of a front page: fewer, because every host has one and few matter

NO_WORDS: Final = frozenset[str]()


def words_in(text: bytes, *, is_home: bool = False) -> frozenset[str]:
    """Return the topics that a document, or a front page, names."""
    text = text[: _SEARCHED_HOME if is_home else _SEARCHED].lower()
    topics = _HOME_TOPICS if is_home else _TOPICS
    names = [topic.name for topic in topics if any(word in text for word in topic.words) and topic.pattern.search(text)]
    return frozenset(names) if names else NO_WORDS  # shared, to save memory: nearly all pages name none


def robots_probe(host: str) -> Probe:
    return Probe(f"https://{host}/robots.txt", Purpose.ROBOTS, "S0", "text/plain, */*;q=0.1", ROBOTS_CAP)


def home_probe(host: str) -> Probe:
    return Probe(f"https://{host}/", Purpose.HOME, "S0", "text/html, */*;q=0.1", TEXT_CAP)


def control_probe(host: str, path: str) -> Probe:
    return Probe(f"https://{host}{path}", Purpose.CONTROL, "S0", _ANY_JSON, TEXT_CAP)


def control_like(url: str, nonce: str) -> str | None:
    """Return the path of a further control for a URL without an extension or with a text's extension, or None. The name
    is random, and equal for all URLs of one kind."""
    name = url.rpartition("/")[2]
    if name.endswith((".txt", ".md")):
        return f"/{_random_name(nonce, 'text')}.txt"
    return None if "." in name else f"/.well-known/{_random_name(nonce, 'bare')}"


def _random_name(nonce: str, kind: str) -> str:
    return hashlib.sha256(f"{nonce} {kind}".encode()).hexdigest()[:32]


def manifest_probe(host: str, step: Step) -> Probe:
    return Probe(f"https://{host}{step.path}", Purpose.MANIFEST, step.stage, *_accept_and_cap(step.format))


def pointer_probe(url: str, via: Via | None, expected: str | None) -> Probe:
    """Return the request for a pointer. `url` is canonical (`parse_https`)."""
    return Probe(url, Purpose.POINTER, "S5", *_accept_and_cap(expected), via)


def detail_probe(url: str, via: Via | None) -> Probe:
    return Probe(url, Purpose.DETAIL, "S5", _ANY_JSON, JSON_CAP, via)


def keeps_head(probe: Probe) -> bool:
    """Return whether a body over the cap is cut and marked `truncated`; others are TOO_LARGE: cut JSON is not JSON."""
    return probe.purpose in (Purpose.ROBOTS, Purpose.HOME, Purpose.CONTROL) or probe.accept == _TEXT_ACCEPT


@lru_cache(maxsize=64)
def _accept_and_cap(format_slug: str | None) -> tuple[str, int]:
    """Return `Accept` and the cap for a path where this format is expected."""
    form = FORMAT_BY_SLUG.get(format_slug or "")
    if form is None:
        return _ANY_JSON, JSON_CAP
    if form.role is Role.TEXT:
        return _TEXT_ACCEPT, TEXT_CAP
    return f"{form.accept}, {_ANY_JSON}" if form.accept else _ANY_JSON, form.cap
