"""What goes into a merge and what comes out: documents of a host, their order of precedence, findings, the result."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from registry.core.assess import Assessment
from registry.core.documents import Outcome, Via
from registry.core.findings import EVIDENCE_CHARS, Finding, Reason
from registry.core.format import Role
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.services import Origin, Service

PRECEDENCE: Final = (
    "adp", "awp", "atp", "awas", "woa",
    "a2a", "mcp-server-card", "mcp-json", "mcp-server-json",
    "openapi", "agents-json", "ucp", "acp", "x402", "agent-skills-index", "anp", "aid",
    "ai-catalog", "api-catalog",
    "ai-plugin", "agent-permissions", "llms-txt",
)  # fmt: skip
"""Whose word counts when documents of one host differ: native manifests, cards, descriptions, catalogues, texts."""

DETAIL: Final = "adp-detail"
_BETWEEN = re.compile(r"[\W_]+")
ANSWERED: Final = frozenset({Outcome.FOUND, Outcome.NEGATIVE, Outcome.MALFORMED})


@dataclass(frozen=True, slots=True)
class Held:
    """One current document of a host, found or not. `url` answered; `requested` was asked for (redirects differ)."""

    url: str
    requested: str
    assessment: Assessment
    sha256: bytes
    seen_at: datetime
    via: Via | None = None


@dataclass(frozen=True, slots=True)
class Noted:
    """A finding and the URL of its document; None for findings about the merged service."""

    finding: Finding
    document: str | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """`service` is None when no document makes the host a service. `formats` are "slug" values, most telling first."""

    service: Service | None
    findings: tuple[Noted, ...]
    formats: tuple[str, ...]
    documents: tuple[str, ...]  # URLs of the documents merged, in order of precedence


def in_order(held: Iterable[Held]) -> list[Held]:
    """By precedence; documents that nothing tells apart are ordered by their addresses and bytes."""
    return sorted(held, key=lambda one: (*_rank(one), one.requested, one.sha256, str(one.via)))


def found(held: Iterable[Held]) -> Iterator[Held]:
    """The documents that say something about the host. Capability details speak through their manifest."""
    for one in held:
        judged = one.assessment
        if judged.outcome is Outcome.FOUND and judged.service is not None and judged.format != DETAIL:
            yield one


def without_copies(documents: Iterable[Held]) -> list[Held]:
    """The same bytes at several paths are one document, known by its most preferred path."""
    first: dict[bytes, Held] = {}
    for one in documents:
        first.setdefault(one.sha256, one)
    return list(first.values())


def role_of(one: Held) -> Role | None:
    form = FORMAT_BY_SLUG.get(one.assessment.format or "")
    return form.role if form else None


def formats_of(documents: Iterable[Held]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.assessment.format for one in documents if one.assessment.format))


def origin_of(one: Held) -> Origin:
    return Origin(one.url, "", one.assessment.format or "")


def described(documents: Sequence[Held]) -> list[tuple[Origin, Service]]:
    """Each document as what it says and where."""
    return [(origin_of(one), one.assessment.service) for one in documents if one.assessment.service is not None]


def finding(reason: Reason, pointer: str, evidence: str = "") -> Finding:
    return Finding(reason, pointer, evidence[:EVIDENCE_CHARS])


def same_name(name: str) -> str:
    """What two spellings of one name share: letters and digits, in any script."""
    return _BETWEEN.sub(" ", name.casefold()).strip() or name


def path_of(url: str) -> str:
    """How a document is named among those of its host."""
    return "/" + url.partition("://")[2].partition("/")[2]


def _rank(one: Held) -> tuple[bool, int, int, str]:
    """Native before synthetic (AWP section 14), then the table, then the format's preferred path."""
    slug = one.assessment.format or ""
    form = FORMAT_BY_SLUG.get(slug)
    synthetic = one.assessment.service is not None and one.assessment.service.synthetic
    place = PRECEDENCE.index(slug) if slug in PRECEDENCE else len(PRECEDENCE)
    paths = form.paths if form else ()
    at = path_of(one.url)
    return synthetic, place, paths.index(at) if at in paths else len(paths), one.url
