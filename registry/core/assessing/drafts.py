"""Judge a document before any host serves it: a file of its author, or a body sent to be checked.

It is judged as if the host that it names served it, so a local file is not blamed for being local. Because no pointer
led to it, formats that are usually found by pointers are tried if nothing else matches.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.format_support import common_rules
from registry.core.formats import FORMAT_BY_SLUG, awas
from registry.core.model.documents import Json, Outcome
from registry.core.names.domains import InvalidName, canonical_host, host_of
from registry.core.reading.reader import Unreadable, read_json

UNKNOWN_HOST: Final = "unknown.invalid"
"""The host of a document that does not name its host. The name is special-use (RFC 6761), so it has no owner."""

_OWN_NAMES: Final = ("domain", "base_url", "baseUrl", "url", "origin")
_WITHOUT_POINTER: Final = ("adp-detail", "openapi")
"""Formats whose documents are usually found by pointers, at paths that their publishers choose."""

_UNKNOWN: Final = frozenset({"unrecognised", "text"})
_ABOUT_SERVING: Final = frozenset({
    common_rules.CLAIM_ELSEWHERE, common_rules.CLAIM_OF_SITE, common_rules.PROVIDER_ELSEWHERE,
})  # fmt: skip
"""Rules that compare what the document claims with the host that serves it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A document that is not yet published. `host`: None if the document names no possible host; `url` is then on
    UNKNOWN_HOST."""

    host: str | None
    url: str
    assessment: Assessment


def judge_draft(
    raw: bytes, path: str | None, media_type: str | None = None, expected: str | None = None, host: str | None = None
) -> Draft:
    """Judge the document as if its own host served it at `path` (absolute). Never raises.

    `path` None: at the path that its format prescribes. `expected` is the format slug that its author intends, treated
    like the promise of a pointer. `host`, canonical, is the host that will serve it, if its author says so; then what
    the document names counts as a claim. Without `host` no site serves the document yet: no claim is about another one.
    """
    is_served = host is not None
    if path is None:
        path = _prescribed_path(raw, media_type, expected)
    host = host or _first_host(_list_claims(raw))
    assessment = _assess_at(raw, host, path, media_type, expected)
    service = assessment.service
    if host is None and service is not None:  # the host of the first call or protocol, else of the provider
        endpoints = [call.endpoint for capability in service.capabilities for call in capability.invocations]
        endpoints += [protocol.endpoint for protocol in service.protocols]
        host = _first_host([*endpoints, service.provider.url if service.provider else None])
        if host is not None:
            assessment = _assess_at(raw, host, path, media_type, expected)
    if not is_served:
        findings = (finding for finding in assessment.findings if finding.rule not in _ABOUT_SERVING)
        assessment = replace(assessment, findings=tuple(findings))
    return Draft(host, f"https://{host or UNKNOWN_HOST}{path}", assessment)


def _prescribed_path(raw: bytes, media_type: str | None, expected: str | None) -> str:
    """Return the preferred path of the format that the content shows, "/" for an unknown or pathless format. AWAS
    otherwise counts only at its own path. It is tried here as well, because its published versions are distinct enough
    for a document that a user submits, though not for a document that a crawler finds anywhere."""
    assessment = _assess_at(raw, None, "/", media_type, expected)
    if assessment.format is not None:
        return next(iter(FORMAT_BY_SLUG[assessment.format].paths), "/")
    path = awas.FORMAT.paths[0]
    if expected is None and _assess_at(raw, None, path, media_type, None).dialect in awas.PUBLISHED:
        return path
    return "/"


def _assess_at(raw: bytes, host: str | None, path: str, media_type: str | None, expected: str | None) -> Assessment:
    url = f"https://{host or UNKNOWN_HOST}{path}"
    assessment = assess_body(raw, url, media_type, expected=expected)
    for slug in _WITHOUT_POINTER if expected is None else ():
        if assessment.outcome is not Outcome.NOT_A_MANIFEST or assessment.reason not in _UNKNOWN:
            break
        promised_assessment = assess_body(raw, url, media_type, expected=slug)
        assessment = promised_assessment if promised_assessment.outcome is Outcome.FOUND else assessment
    return assessment


def _list_claims(raw: bytes) -> list[Json]:
    """Return what the document names as its own host, in the members that formats use for that."""
    try:
        value = read_json(raw)
    except Unreadable:
        return []
    return [value.get(key) for key in _OWN_NAMES] if isinstance(value, dict) else []


def _first_host(claims: Iterable[Json]) -> str | None:
    """Return the first public host of some names and URLs; other values are ignored."""
    for claim in claims:
        if isinstance(claim, str) and claim:
            name = (host_of(claim) or "") if "://" in claim else claim.lower()
            exempt = {name} if name.endswith(".example") else ()  # RFC 6761: reserved for documentation
            with suppress(InvalidName):
                return canonical_host(name, exempt=exempt).host
    return None
