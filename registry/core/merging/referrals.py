"""What catalogues and other pointing documents say about documents that are at hand, elsewhere, or nowhere.

An entry that stands for a document of this host lends it its texts and goes: sample queries and tags are the best
search text that anybody writes. An entry for another host is that host's affair. What is named and is not there, or is
the live server instead of its card, is a finding of the document that names it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from registry.core.documents import Outcome
from registry.core.domains import host_of
from registry.core.findings import Reason
from registry.core.format import Role
from registry.core.formats import adp
from registry.core.manifest import MAX_TEXTS
from registry.core.merging.capabilities import place_of
from registry.core.merging.held import ANSWERED, Held, Noted, finding, path_of, role_of
from registry.core.services import Capability, Invocation, Origin, Protocol, Service

_NAMED: Final = frozenset(
    {"entry", "service-desc", "service-meta", "describedby", "api-catalog", "item", "api.url", "source", "agent_card",
     "openapi", "discovery", "server", "serverCard", "server_card", "ucp-profile", "acp-discovery", "jku"}
)  # fmt: skip
"""Pointers whose URL the document writes itself; others are our conclusions, and a miss is nobody's fault."""
_LIVE: Final = frozenset({"status_405", "status_406", "event_stream"})
_LIVE_ENDINGS: Final = ("/mcp", "/sse")


@dataclass(slots=True)
class _Around:
    """What else is known of the host: `found` by URL, by the place that carried or named it; `missed` by URL."""

    host: str
    found: dict[str, int] = field(default_factory=dict)
    carried: dict[tuple[str, str], int] = field(default_factory=dict)
    skills: dict[str, tuple[int, int]] = field(default_factory=dict)  # docs_url -> document, capability
    missed: dict[str, Held] = field(default_factory=dict)


def with_referrals(documents: Sequence[Held], held: Sequence[Held], host: str) -> tuple[list[Held], list[Noted]]:
    """`documents` are the found ones in order of precedence, `held` all of the host in that order."""
    around = _around(documents, held, host)
    services = [one.assessment.service or Service() for one in documents]
    lent: dict[int, list[Capability]] = defaultdict(list)
    for index, one in enumerate(documents):
        kept, live = [], []
        for capability in services[index].capabilities:
            target = _target(capability, one, around) if _refers(one, capability) else None
            if target is not None and target != index:
                lent[target].append(capability)
            elif (server := _live_server(capability, one, around)) is not None:
                kept.append(server[0])
                live.append(server[1])
            elif role_of(one) is not Role.POINTERS or _is_own(capability, around):
                kept.append(capability)
        protocols = (*services[index].protocols, *live)
        services[index] = replace(services[index], capabilities=tuple(kept), protocols=protocols)
    for index, entries in lent.items():
        if role_of(documents[index]) is not Role.POINTERS:  # a nested catalogue is nobody's service
            services[index] = _told(services[index], entries)
    merged = [
        replace(one, assessment=replace(one.assessment, service=service))
        for one, service in zip(documents, services, strict=True)
    ]
    return merged, list(_unanswered(documents, around))


def _around(documents: Sequence[Held], held: Sequence[Held], host: str) -> _Around:
    around = _Around(host)
    for index, one in enumerate(documents):
        around.found.setdefault(one.url, index)
        around.found.setdefault(one.requested, index)
        if one.via is not None:
            around.carried.setdefault((one.via.document, one.via.pointer.rpartition("/")[0]), index)
        if role_of(one) is Role.SERVICE and one.assessment.service is not None:
            for place, capability in enumerate(one.assessment.service.capabilities):
                if _is_instruction(capability) and capability.docs_url:
                    around.skills.setdefault(capability.docs_url, (index, place))
    for one in held:
        if one.assessment.outcome not in ANSWERED:
            around.missed.setdefault(one.requested, one)
    return around


# --- what an entry stands for ---------------------------------------------------------------------------------------


def _refers(one: Held, capability: Capability) -> bool:
    """Whether a capability only stands for another document. ADP's own details are joined elsewhere."""
    if role_of(one) is Role.POINTERS:
        return True
    pointing = bool(capability.invocations) and all(call.kind == "pointer" for call in capability.invocations)
    return pointing and one.assessment.format != adp.FORMAT.slug


def _target(capability: Capability, one: Held, around: _Around) -> int | None:
    origin, url = place_of(capability), _url(capability)
    if origin is not None and (carried := around.carried.get((one.url, origin.pointer))) is not None:
        return carried
    if url is None:
        return None
    return around.skills[url][0] if url in around.skills else around.found.get(url)


def _url(capability: Capability) -> str | None:
    """The document that an entry is about: what may be asked for, or read."""
    return next((call.endpoint for call in capability.invocations if call.endpoint), capability.docs_url)


def _is_own(capability: Capability, around: _Around) -> bool:
    """Whether this host itself has what the entry names, as far as anybody knows."""
    url = _url(capability)
    if url is None or host_of(url) != around.host:
        return False
    missed = around.missed.get(url)
    return missed is None or missed.assessment.outcome not in (Outcome.ABSENT, Outcome.GONE)


def _is_instruction(capability: Capability) -> bool:
    return bool(capability.invocations) and all(call.kind == "instructions" for call in capability.invocations)


def _live_server(capability: Capability, one: Held, around: _Around) -> tuple[Capability, Protocol] | None:
    """Where a card was promised, a server that wants POST or streams events answered: the address is the server's."""
    url = _url(capability)
    missed = around.missed.get(url or "")
    if url is None or missed is None or role_of(one) is not Role.POINTERS or not _is_live(missed):
        return None
    call = Invocation("rpc", url, "POST", origin=place_of(capability))
    return replace(capability, invocations=(call,)), Protocol("mcp", None, url)


def _is_live(missed: Held) -> bool:
    promised = missed.via is not None and missed.via.expected == "mcp-server-card"
    ending = path_of(missed.requested).partition("?")[0].rstrip("/").endswith(_LIVE_ENDINGS)
    return missed.assessment.reason in _LIVE and (promised or ending)


# --- what an entry tells --------------------------------------------------------------------------------------------


def _told(service: Service, entries: Sequence[Capability]) -> Service:
    """The texts of the entries, on the skill they name, on the only capability there is, or on the whole service."""
    capabilities = list(service.capabilities)
    skills = {one.docs_url: index for index, one in reversed(list(enumerate(capabilities))) if _is_instruction(one)}
    for entry in entries:
        named = skills.get(entry.docs_url) if entry.docs_url else None
        index = 0 if named is None and len(capabilities) == 1 else named
        if index is None:
            service = _service_told(service, entry)
        else:
            capabilities[index] = _capability_told(capabilities[index], entry)
        if service.name is None and named is None:
            service = replace(service, name=entry.name, provenance=_sourced(service.provenance, entry, ("name",)))
    return replace(service, capabilities=tuple(capabilities))


def _capability_told(capability: Capability, entry: Capability) -> Capability:
    told = dict(_new(capability, entry))
    provenance = _sourced(capability.provenance, entry, told)
    return replace(capability, **told, origin=place_of(capability), provenance=provenance)  # type: ignore[arg-type]  # told holds fields of it


def _service_told(service: Service, entry: Capability) -> Service:
    told = dict(_new(service, entry))
    return replace(service, **told, provenance=_sourced(service.provenance, entry, told))  # type: ignore[arg-type]  # told holds fields of it


def _new(holder: Capability | Service, entry: Capability) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """Fields of the holder that the entry adds to, with their new values."""
    if holder.description is None and entry.description:
        yield "description", entry.description
    for name, mine, more in (("tags", holder.tags, entry.tags), ("examples", holder.examples, entry.examples)):
        united = tuple(dict.fromkeys((*mine, *more)))[:MAX_TEXTS]
        if united != mine:
            yield name, united


def _sourced(
    known: Mapping[str, Origin], entry: Capability, names: Mapping[str, object] | Sequence[str]
) -> dict[str, Origin]:
    origin = place_of(entry)
    return {**known, **{name: origin for name in names if origin is not None}}


# --- what led nowhere -----------------------------------------------------------------------------------------------


def _unanswered(documents: Sequence[Held], around: _Around) -> Iterator[Noted]:
    speaking = {one.url for one in documents}
    for url, missed in around.missed.items():
        via = missed.via
        if via is None or via.document not in speaking or via.rel not in _NAMED:
            continue
        if _is_live(missed):
            yield Noted(finding(Reason.POINTER_LIVE_ENDPOINT, via.pointer, url), via.document)
        elif missed.assessment.outcome in (Outcome.ABSENT, Outcome.GONE):
            evidence = f"{url} {missed.assessment.reason}".strip()
            yield Noted(finding(Reason.POINTER_UNANSWERED, via.pointer, evidence), via.document)
