"""ADP sections 5 and 7: what a capability's detail document adds, and that it did not answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from registry.core.documents import Outcome, Via
from registry.core.findings import Reason
from registry.core.formats import adp
from registry.core.merging.capabilities import overlaid, place_of, sources
from registry.core.merging.held import DETAIL, Held, Noted, finding
from registry.core.services import Capability

_REL: Final = "detail_url"
_NOT_ASKED: Final = frozenset({Outcome.SKIPPED, Outcome.DISALLOWED})


def details_of(held: Iterable[Held]) -> dict[Via, Held]:
    """The details by who asked for them; `held` in order of precedence."""
    found: dict[Via, Held] = {}
    for one in held:
        if one.via is not None and one.via.rel == _REL:
            found.setdefault(one.via, one)
    return found


def with_details(documents: Sequence[Held], details: Mapping[Via, Held]) -> tuple[list[Held], list[Noted]]:
    """Details join the capability whose `detail_url` asked for them, never by name.

    Before documents are united, so that a capability is known by the call that its detail describes.
    """
    noted: list[Noted] = []
    result = []
    for one in documents:
        service = one.assessment.service
        if service is None or one.assessment.format != adp.FORMAT.slug:
            result.append(one)
            continue
        capabilities = []
        for capability in service.capabilities:
            via = _asking(capability)
            detail = details.get(via) if via else None
            joined, about = _joined(capability, detail, service.base_url) if detail else (capability, [])
            capabilities.append(joined)
            noted += about
        detailed = replace(service, capabilities=tuple(capabilities))
        result.append(replace(one, assessment=replace(one.assessment, service=detailed)))
    return result, noted


def _asking(capability: Capability) -> Via | None:
    """How the plan named the place that asked for the capability's detail."""
    origin = next((i.origin for i in capability.invocations if i.kind == "pointer"), None)
    return Via(origin.document, f"{origin.pointer}/detail_url", _REL, DETAIL) if origin else None


def _joined(capability: Capability, one: Held, base_url: str | None) -> tuple[Capability, list[Noted]]:
    judged = one.assessment
    if judged.outcome is Outcome.FOUND and judged.format == DETAIL:
        return _detailed(capability, one, base_url), [Noted(finding, one.url) for finding in judged.findings]
    if judged.outcome in _NOT_ASKED or one.via is None:
        return capability, []
    evidence = f"{capability.detail_url} {judged.outcome} {judged.reason}".strip()
    return capability, [Noted(finding(Reason.ADP_DETAIL_UNANSWERED, one.via.pointer, evidence), one.via.document)]


def _detailed(capability: Capability, one: Held, base_url: str | None) -> Capability:
    """The manifest's text is a teaser: the detail's own is longer."""
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
    known = overlaid(replace(capability, origin=place_of(capability)), detail)
    told = ("detail", "description") if detail.description else ("detail",)
    return replace(
        known,
        detail=detail.detail,
        description=detail.description or capability.description,
        invocations=(*kept, *calls),
        provenance={**known.provenance, **sources(detail, told)},
    )
