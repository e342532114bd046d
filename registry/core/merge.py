"""The documents of one host -> one service with per-field provenance (formats.md section 4).

Every finding that needs two documents is made here: a capability detail that did not answer, documents that contradict
each other, endpoints on another site. Documents come in with their assessments; nothing is read or fetched.

Longer than other modules, because the fields of one service are united here by rules that share their order.
"""

import hashlib
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import chain
from typing import TypeVar

from registry.core.assess import Assessment
from registry.core.documents import Outcome, Via
from registry.core.domains import host_of, registrable_domain
from registry.core.findings import EVIDENCE_CHARS, Finding, Reason
from registry.core.format import Role
from registry.core.formats import adp
from registry.core.manifest import unique_name
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.services import (
    Auth,
    Capability,
    Invocation,
    Origin,
    Policies,
    Pricing,
    Relations,
    Service,
)
from registry.core.visits import Answer

PRECEDENCE = (
    "adp", "awp", "atp", "awas", "woa",
    "a2a", "mcp-server-card", "mcp-json", "mcp-server-json",
    "openapi", "agents-json", "ucp", "acp", "x402", "agent-skills-index", "anp", "aid",
    "ai-catalog", "api-catalog",
    "ai-plugin", "agent-permissions", "llms-txt",
)  # fmt: skip
"""Whose word counts when documents of one host differ: native manifests, cards, descriptions, catalogues, texts."""

DETAIL = "adp-detail"
_FIRST_WINS = (
    "name", "description", "version", "base_url", "homepage", "docs_url", "icon_url", "provider", "confidence",
)  # fmt: skip
_UNITED = ("capabilities", "auth", "pricing", "policies", "protocols", "relations")
_NOTHING: tuple[object, ...] = (None, "", ())
_NOT_ASKED = frozenset({Outcome.SKIPPED, Outcome.DISALLOWED})
_MAX_OFF_SITE = 5
_T = TypeVar("_T")
_H = TypeVar("_H", bound=Hashable)


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


def held_from(answer: Answer) -> Held:
    """What the crawler brought back, as a document that its host holds."""
    fetched = answer.fetched
    digest = hashlib.sha256(fetched.body).digest()
    return Held(fetched.final_url, answer.probe.url, answer.assessment, digest, fetched.at, answer.probe.via)


def merge(host: str, held: Sequence[Held]) -> Merged:
    """One service from all current documents of `host`; never raises on assessed documents."""
    details: dict[Via | None, Held] = {
        one.via: one for one in held if one.via is not None and one.via.rel == "detail_url"
    }
    found = _without_copies(sorted(_found(held), key=_rank))
    noted = [Noted(f, one.url) for one in chain(found, _broken(held)) for f in one.assessment.findings]
    found, about_details = _with_details(_without_referrals(found, host), details)
    noted += about_details
    if not any(_offers(one) for one in found):
        return Merged(None, tuple(noted), _formats(found), tuple(one.url for one in found))
    service, conflicts = _united(found)
    service, strangers = _mark_off_site(service, registrable_domain(host))
    noted += (Noted(f) for f in chain(conflicts, strangers))
    return Merged(service, tuple(noted), _formats(found), tuple(one.url for one in found))


def _found(held: Iterable[Held]) -> Iterator[Held]:
    for one in held:
        judged = one.assessment
        if judged.outcome is Outcome.FOUND and judged.service is not None and judged.format != DETAIL:
            yield one


def _broken(held: Iterable[Held]) -> Iterator[Held]:
    """What looked like a document and was not readable: its findings tell the operator why it does not count."""
    return (one for one in held if one.assessment.outcome in (Outcome.MALFORMED, Outcome.NEGATIVE))


def _rank(one: Held) -> tuple[bool, int, int, str]:
    """Native before synthetic (AWP section 14), then the table, then the format's preferred path."""
    slug = one.assessment.format or ""
    form = FORMAT_BY_SLUG.get(slug)
    synthetic = one.assessment.service is not None and one.assessment.service.synthetic
    place = PRECEDENCE.index(slug) if slug in PRECEDENCE else len(PRECEDENCE)
    paths = form.paths if form else ()
    at = "/" + one.url.partition("://")[2].partition("/")[2]
    return synthetic, place, paths.index(at) if at in paths else len(paths), one.url


def _without_copies(found: Iterable[Held]) -> list[Held]:
    """The same bytes at several paths are one document, known by its most preferred path."""
    first: dict[bytes, Held] = {}
    for one in found:
        first.setdefault(one.sha256, one)
    return list(first.values())


def _without_referrals(found: Sequence[Held], host: str) -> list[Held]:
    """Entries of a catalogue are not what this host can do where another host, or a document merged here, does it."""
    merged = {one.url for one in found}
    return [_own_entries(one, host, merged) if _role(one) is Role.POINTERS else one for one in found]


def _own_entries(catalogue: Held, host: str, merged: Collection[str]) -> Held:
    service = catalogue.assessment.service
    if service is None:
        return catalogue
    own = tuple(
        capability
        for capability in service.capabilities
        if all(i.endpoint and host_of(i.endpoint) == host and i.endpoint not in merged for i in capability.invocations)
    )
    judged = replace(catalogue.assessment, service=replace(service, capabilities=own))
    return replace(catalogue, assessment=judged)


def _role(one: Held) -> Role | None:
    form = FORMAT_BY_SLUG.get(one.assessment.format or "")
    return form.role if form else None


def _offers(one: Held) -> bool:
    """Does the document by itself make its host a service? A list of other servers, say, does not."""
    service = one.assessment.service
    if _role(one) is not Role.SERVICE or service is None:
        return False
    return bool(service.capabilities or service.protocols or service.name)


def _formats(found: Iterable[Held]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.assessment.format for one in found if one.assessment.format))


# --- fields ---------------------------------------------------------------------------------------------------------


def _united(found: Sequence[Held]) -> tuple[Service, list[Finding]]:
    parts = [(_origin(one), one.assessment.service) for one in found if one.assessment.service is not None]
    services = [service for _, service in parts]
    chosen: dict[str, object] = {}
    provenance: dict[str, Origin] = {}
    for name in _FIRST_WINS:
        for origin, service in _named_first(parts) if name == "name" else parts:
            if (value := getattr(service, name)) not in _NOTHING:
                chosen[name] = value
                provenance[name] = service.provenance.get(name, origin)
                break
    merged = Service(
        **chosen,  # type: ignore[arg-type]  # names and values are those of Service's own fields
        languages=_distinct(chain.from_iterable(s.languages for s in services)),
        capabilities=_capabilities(services),
        auth=_auth([s.auth for s in services]),
        pricing=_pricing([s.pricing for s in services]),
        policies=_overlaid(Policies(), [s.policies for s in services]),
        protocols=_distinct(chain.from_iterable(s.protocols for s in services)),
        pointers=tuple({(p.url, p.rel, p.pointer): p for s in services for p in s.pointers}.values()),
        relations=_overlaid(Relations(), [s.relations for s in services]),
        claims=dict(chain.from_iterable(s.claims.items() for s in reversed(services))),
        synthetic=all(s.synthetic for s in services),
        provenance=provenance | _provenance_of_parts(parts),
    )
    return merged, _conflicts(parts)


def _named_first(parts: Sequence[tuple[Origin, Service]]) -> list[tuple[Origin, Service]]:
    """AWP and WoA have no name of a service and give the host's: any real name tells more."""
    return sorted(parts, key=lambda part: _is_host_name(part[0], part[1].name))


def _is_host_name(origin: Origin, name: str | None) -> bool:
    return name is not None and name.casefold() in (
        host_of(origin.document),
        registrable_domain(host_of(origin.document) or ""),
    )


def _origin(one: Held) -> Origin:
    return Origin(one.url, "", one.assessment.format or "")


def _distinct(items: Iterable[_H]) -> tuple[_H, ...]:
    return tuple(dict.fromkeys(items))


def _provenance_of_parts(parts: Sequence[tuple[Origin, Service]]) -> dict[str, Origin]:
    """United parts (auth, pricing ...) name the most telling document that says anything about them."""
    blank = Service()
    return {
        name: service.provenance.get(name, origin)
        for name in _UNITED
        for origin, service in reversed(parts)
        if getattr(service, name) != getattr(blank, name)
    }


def _overlaid(blank: _T, parts: Sequence[_T]) -> _T:
    """Field by field the first document that says something."""
    result = blank
    for name in (f.name for f in fields(blank)):  # type: ignore[arg-type]  # a dataclass of services.py
        said = [value for part in parts if (value := getattr(part, name)) != getattr(blank, name)]
        if said:
            result = replace(result, **{name: said[0]})  # type: ignore[type-var]
    return result


def _auth(parts: Sequence[Auth]) -> Auth:
    schemes = _distinct(scheme for part in parts for scheme in part.schemes)
    if any(scheme.type != "none" for scheme in schemes):
        schemes = tuple(scheme for scheme in schemes if scheme.type != "none")
    said = [part.required for part in parts if part.required is not None]
    return Auth(schemes, any(said) if said else None)


def _pricing(parts: Sequence[Pricing]) -> Pricing:
    told = [part for part in parts if part.model != "unknown"]
    return _overlaid(Pricing(), told + [part for part in parts if part.model == "unknown"])


def _conflicts(parts: Sequence[tuple[Origin, Service]]) -> list[Finding]:
    """What the documents of one host contradict each other in; precedence has decided, the operator should know."""
    found = []
    services = [service for _, service in parts]
    names = _distinct(s.name.strip() for origin, s in parts if s.name and not _is_host_name(origin, s.name))
    if len({name.casefold() for name in names}) > 1:
        found.append(_finding(Reason.CONFLICT_NAME, "/name", " | ".join(names)))
    open_and_closed = {s.auth.required for s in services} >= {True, False}
    if open_and_closed or len({_gated(s.auth) for s in services} - {None}) > 1:
        found.append(_finding(Reason.CONFLICT_AUTH, "/auth", " | ".join(_auth_words(s.auth) for s in services)))
    models = _distinct(s.pricing.model for s in services if s.pricing.model != "unknown")
    if len(models) > 1:
        found.append(_finding(Reason.CONFLICT_PRICING, "/pricing", " | ".join(models)))
    return found


def _gated(auth: Auth) -> bool | None:
    return any(scheme.type != "none" for scheme in auth.schemes) if auth.schemes else None


def _auth_words(auth: Auth) -> str:
    return ",".join(scheme.type for scheme in auth.schemes) or "-"


def _finding(reason: Reason, pointer: str, evidence: str = "") -> Finding:
    return Finding(reason, pointer, evidence[:EVIDENCE_CHARS])


# --- capabilities ---------------------------------------------------------------------------------------------------


def _capabilities(services: Sequence[Service]) -> tuple[Capability, ...]:
    """The same call, or the same id AND name, is one capability; a shared name alone is not (formats.md section 4)."""
    merged: list[Capability] = []
    told_by: list[set[int]] = []  # one document's own capabilities are never folded: two may share an RPC endpoint
    places: dict[Hashable, int] = {}
    for document, service in enumerate(services):
        for capability in service.capabilities:
            keys = _identities(capability)
            place = next((places[key] for key in keys if key in places), None)
            if place is None or document in told_by[place]:
                place = len(merged)
                merged.append(capability)
                told_by.append({document})
            else:
                merged[place] = _joined(merged[place], capability)
                told_by[place].add(document)
            for key in keys:
                places.setdefault(key, place)
    return _named_apart(merged)


def _identities(capability: Capability) -> list[Hashable]:
    calls: list[Hashable] = [
        ("call", i.method, i.endpoint) for i in capability.invocations if i.kind == "http" and i.endpoint and i.method
    ]
    return [*calls, ("id", capability.id, " ".join(capability.name.casefold().split()))]


def _joined(first: Capability, second: Capability) -> Capability:
    invocations = _distinct_invocations((*first.invocations, *second.invocations))
    return replace(_overlaid_capability(first, second), invocations=invocations)


def _distinct_invocations(invocations: Iterable[Invocation]) -> tuple[Invocation, ...]:
    """Each way to call is kept once; documents that repeat it do not multiply it."""
    return tuple({(i.kind, i.endpoint, i.method, i.name): i for i in reversed(list(invocations))}.values())[::-1]


def _overlaid_capability(first: Capability, second: Capability) -> Capability:
    given = {
        f.name: getattr(second, f.name)
        for f in fields(Capability)
        if getattr(first, f.name) in _NOTHING and getattr(second, f.name) not in _NOTHING
    }
    return replace(first, **given)


def _named_apart(capabilities: Sequence[Capability]) -> tuple[Capability, ...]:
    """Names are segments of our URLs, so they are unique within the service: a second one gets a suffix."""
    taken: set[str] = set()
    return tuple(replace(one, name=unique_name(one.name, taken)) for one in capabilities)


# --- what needs two documents ---------------------------------------------------------------------------------------


def _with_details(found: Sequence[Held], details: Mapping[Via | None, Held]) -> tuple[list[Held], list[Noted]]:
    """ADP sections 5 and 7: details join the capability whose `detail_url` asked for them, never by name.

    Before documents are united, so that a capability is known by the call that its detail describes.
    """
    noted: list[Noted] = []
    result = []
    for one in found:
        service = one.assessment.service
        if service is None or one.assessment.format != adp.FORMAT.slug:
            result.append(one)
            continue
        capabilities = []
        for capability in service.capabilities:
            detail = details.get(_asking(capability))
            joined, about = _joined_detail(capability, detail, service.base_url) if detail else (capability, [])
            capabilities.append(joined)
            noted += about
        detailed = replace(service, capabilities=tuple(capabilities))
        result.append(replace(one, assessment=replace(one.assessment, service=detailed)))
    return result, noted


def _asking(capability: Capability) -> Via | None:
    """How the plan named the place that asked for the capability's detail."""
    origin = next((i.origin for i in capability.invocations if i.kind == "pointer"), None)
    return Via(origin.document, f"{origin.pointer}/detail_url", "detail_url", DETAIL) if origin else None


def _joined_detail(capability: Capability, one: Held, base_url: str | None) -> tuple[Capability, list[Noted]]:
    judged = one.assessment
    if judged.outcome is Outcome.FOUND and judged.format == DETAIL:
        return _detailed(capability, one, base_url), [Noted(finding, one.url) for finding in judged.findings]
    if judged.outcome in _NOT_ASKED or one.via is None:
        return capability, []
    evidence = f"{capability.detail_url} {judged.outcome} {judged.reason}".strip()
    return capability, [Noted(_finding(Reason.ADP_DETAIL_UNANSWERED, one.via.pointer, evidence), one.via.document)]


def _detailed(capability: Capability, one: Held, base_url: str | None) -> Capability:
    described = one.assessment.service.capabilities if one.assessment.service else ()
    if not described:
        return capability
    detail = described[0]
    calls = tuple(
        replace(i, endpoint=joined, templated="{" in joined)
        for i in detail.invocations
        if (joined := adp.endpoint(base_url, i.endpoint)) is not None
    )
    kept = tuple(i for i in capability.invocations if i.kind != "pointer" or not calls)
    known = replace(_overlaid_capability(capability, detail), detail=detail.detail, invocations=(*kept, *calls))
    return replace(known, description=detail.description or capability.description)


def _mark_off_site(service: Service, domain: str) -> tuple[Service, list[Finding]]:
    """Endpoints on another registrable domain stay, marked: the host can only speak for itself (safety.md 7)."""
    strangers: dict[str, str] = {}
    capabilities = []
    for capability in service.capabilities:
        calls = []
        for call in capability.invocations:
            host = host_of(call.endpoint) if call.endpoint else None
            foreign = host is not None and registrable_domain(host) != domain
            if foreign and host is not None:
                strangers.setdefault(registrable_domain(host), host)
            calls.append(replace(call, off_site=foreign))
        capabilities.append(replace(capability, invocations=tuple(calls)))
    findings = [_finding(Reason.ENDPOINT_OFF_SITE, "", host) for host in list(strangers.values())[:_MAX_OFF_SITE]]
    return replace(service, capabilities=tuple(capabilities)), findings
