"""Input and output of a merge: the documents of a host, their order of precedence, findings, and the result."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from registry.core.assessing.assess import Assessment
from registry.core.format_support.format import Role
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
from registry.core.model.documents import Observation, Outcome, Via
from registry.core.model.findings import EVIDENCE_CHARS, Finding, Rule
from registry.core.model.services import Origin, Service
from registry.core.reading.injection import injection_flags

_RANKED: Final = sorted((form.precedence, form.slug) for form in FORMATS if form.precedence is not None)
PRECEDENCE: Final = tuple(slug for _, slug in _RANKED)
"""Order in which a host's differing documents count: native manifests, cards, descriptions, catalogues, texts."""

_AD_HOC: Final = "adhoc"
_LAST_SPECIFIED: Final = max(
    PRECEDENCE.index(form.slug) for form in FORMATS if form.slug in PRECEDENCE and form.role is not Role.TEXT
)
DETAIL: Final = "adp-detail"
_BETWEEN = re.compile(r"[\W_]+")
ANSWERED: Final = frozenset({Outcome.FOUND, Outcome.NEGATIVE, Outcome.MALFORMED})


@dataclass(frozen=True, slots=True)
class HeldDocument:
    """One current document of a host, found or not. `url` answered; `requested` is the URL before redirects."""

    url: str
    requested: str
    assessment: Assessment
    sha256: bytes
    seen_at: datetime
    via: Via | None = None
    observed: frozenset[Observation] = frozenset()
    copies: tuple[str, ...] = ()  # URLs of the host with the same bytes; references to one refer to this

    def with_service(self, service: Service) -> "HeldDocument":
        """Return the document with another service in its assessment."""
        return replace(self, assessment=replace(self.assessment, service=service))


@dataclass(frozen=True, slots=True)
class LocatedFinding:
    """A finding and the URL of its document; None for findings about the merged service."""

    finding: Finding
    document: str | None = None


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The merged service; None if no document describes one. `formats` are slugs, in order of precedence."""

    service: Service | None
    findings: tuple[LocatedFinding, ...]
    formats: tuple[str, ...]
    documents: tuple[str, ...]  # URLs of the documents merged, in order of precedence

    @property
    def injection_flags(self) -> tuple[str, ...]:
        """Return the codes of the patterns of prompt injection found in any of the documents."""
        return injection_flags(located.finding.rule.code for located in self.findings)


def distinct_descriptions(documents: Iterable[HeldDocument]) -> list[HeldDocument]:
    """Return the documents that describe the host; capability details count only through their manifest. The same bytes
    at several paths are one document, known by its most preferred path."""
    by_digest: dict[bytes, HeldDocument] = {}
    for document in documents:
        assessment = document.assessment
        if assessment.outcome is not Outcome.FOUND or assessment.service is None or assessment.format == DETAIL:
            continue
        first = by_digest.setdefault(document.sha256, document)
        if first is not document:
            copies = (*first.copies, document.url, document.requested)
            by_digest[document.sha256] = replace(first, copies=tuple(dict.fromkeys(copies)))
    return list(by_digest.values())


def role_of(document: HeldDocument) -> Role | None:
    form = FORMAT_BY_SLUG.get(document.assessment.format or "")
    return form.role if form else None


def origin_of(document: HeldDocument) -> Origin:
    return Origin(document.url, "", document.assessment.format or "")


def observations_of(documents: Iterable[HeldDocument]) -> Iterator[LocatedFinding]:
    """Yield what earlier and other answers showed about each document, where its format has a rule about that."""
    for document in documents:
        form = FORMAT_BY_SLUG.get(document.assessment.format or "")
        for observation, rule in form.observations.items() if form else ():
            if observation in document.observed:
                yield LocatedFinding(Finding(rule), document.url)


def finding(rule: Rule, pointer: str, evidence: str = "") -> Finding:
    return Finding(rule, pointer, evidence[:EVIDENCE_CHARS])


def same_name(name: str) -> str:
    """Return what spellings of one name have in common: letters and digits, in any script."""
    return _BETWEEN.sub(" ", name.casefold()).strip() or name


def path_of(url: str) -> str:
    """Return the path of a URL, which identifies a document on its host."""
    return "/" + url.partition("://")[2].partition("/")[2]


def precedence_of(document: HeldDocument) -> tuple[object, ...]:
    """Return the sort key: native before synthetic (AWP section 14), then PRECEDENCE, then preferred paths, then URLs
    and bytes. A document at a format's path in an unspecified shape comes after all that follow a specification, before
    texts."""
    slug = document.assessment.format or ""
    form = FORMAT_BY_SLUG.get(slug)
    synthetic = document.assessment.service is not None and document.assessment.service.synthetic
    precedence = PRECEDENCE.index(slug) if slug in PRECEDENCE else len(PRECEDENCE)
    is_ad_hoc = document.assessment.dialect == _AD_HOC and slug in PRECEDENCE
    rank = max(precedence, _LAST_SPECIFIED) if is_ad_hoc else precedence
    paths = form.paths if form else ()
    path = path_of(document.url)
    place = paths.index(path) if path in paths else len(paths)
    urls_and_bytes = document.url, document.requested, document.sha256, str(document.via)
    return synthetic, rank, precedence, place, *urls_and_bytes
