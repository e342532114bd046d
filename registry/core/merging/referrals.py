"""Merge the entries of catalogues into the documents they name, and report named documents that are missing.

An entry for a document of this host adds its texts to that document and is then removed: sample queries and tags are
the best texts for search. An entry for another host is left to that host. If a named document is missing, or the live
server answers instead of its card, that is a finding of the document that names it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from registry.core.format_support.format import Role
from registry.core.format_support.manifest import MAX_TEXTS
from registry.core.formats import adp, ai_catalog, api_catalog
from registry.core.merging import rules
from registry.core.merging.capabilities import flags_of, origin_of
from registry.core.merging.held import ANSWERED, HeldDocument, LocatedFinding, finding, path_of, role_of
from registry.core.merging.listing import describes_service
from registry.core.model.documents import Outcome
from registry.core.model.services import Capability, Invocation, Origin, Protocol, Service
from registry.core.names.domains import host_of, same_site

_NAMED: Final = frozenset(
    {"entry", "service-desc", "service-meta", "describedby", "api-catalog", "item", "api.url", "source", "agent_card",
     "openapi", "discovery", "server", "serverCard", "server_card", "ucp-profile", "acp-discovery", "jku"}
)  # fmt: skip
"""Relations of pointers whose URL the document itself states. Others are inferred here, so a miss is not its fault."""
_REFERRING: Final = frozenset({"pointer", "instructions"})
_PUBLISHER: Final = re.compile(r"urn:air?:([a-z0-9.-]+\.[a-z0-9-]+):", re.IGNORECASE)
"""The publisher in the identifier of an entry (ARD 0.91)."""
_REGISTRY: Final = "ard"
_CARD_TYPES: Final = (
    ("a2a-agent-card", "a2a"), ("agent-card", "a2a"), ("mcp-server", "mcp"), ("ai-registry", _REGISTRY),
)  # fmt: skip
_LIVE: Final = frozenset({"status_405", "status_406", "event_stream"})
_LIVE_ENDINGS: Final = ("/mcp", "/sse")
_Holder = TypeVar("_Holder", Capability, Service)


@dataclass(slots=True)
class _HostContext:
    """The other documents of the host: `found` or `missed` by URL, `carried` by the place that names them."""

    host: str
    found: dict[str, int] = field(default_factory=dict)
    carried: dict[tuple[str, str], int] = field(default_factory=dict)
    skills: dict[str, tuple[int, int]] = field(default_factory=dict)  # docs_url -> indexes of document and capability
    missed: dict[str, HeldDocument] = field(default_factory=dict)
    covered: set[str] = field(default_factory=set)  # addresses that other documents describe, and those above them
    is_alone: bool = True  # no document but catalogues, and what they carry, says what the host offers


def with_referrals(
    documents: Sequence[HeldDocument], host_documents: Sequence[HeldDocument], host: str
) -> tuple[list[HeldDocument], list[LocatedFinding]]:
    """Return the documents with their entries resolved, and findings about named documents that did not answer.
    `documents` are the found ones in order of precedence, `host_documents` all of the host in that order."""
    context = _host_context(documents, host_documents, host)
    services = [document.assessment.service or Service() for document in documents]
    entries_by_target: dict[int, list[Capability]] = defaultdict(list)
    for index, document in enumerate(documents):
        is_catalogue = role_of(document) is Role.POINTERS
        capabilities, protocols = [], [*services[index].protocols]
        for capability in services[index].capabilities:
            calls, url = capability.invocations, _url(capability)
            # a capability may only refer to another document; ADP's own details are joined in details.py
            is_reference = bool(calls) and all(call.kind == "pointer" for call in calls)
            is_referral = is_catalogue or (is_reference and document.assessment.format != adp.FORMAT.slug)
            target = _target(capability, document, context) if is_referral else None
            missed = context.missed.get(url or "") if is_catalogue else None
            if target is not None and target != index:
                entries_by_target[target].append(capability)
            elif url is not None and missed is not None and _is_live(missed):
                call = Invocation("rpc", url, "POST", origin=origin_of(capability))
                capabilities.append(replace(capability, invocations=(call,)))
                protocols.append(Protocol("mcp", None, url))
            elif not is_catalogue:
                capabilities.append(capability)
            elif _is_own(capability, context):
                protocol = _card_protocol(capability)
                # a registry is searched by its protocol, which describes no call; alone, it is the host's offer
                if context.is_alone or protocol is None or protocol.id != _REGISTRY:
                    capabilities.append(capability)
                protocols += [protocol] if protocol else []
        services[index] = replace(services[index], capabilities=tuple(capabilities), protocols=tuple(protocols))
    for index, entries in entries_by_target.items():
        if role_of(documents[index]) is not Role.POINTERS:  # a nested catalogue is not a service
            services[index] = _with_entries(services[index], entries)
    resolved = [document.with_service(service) for document, service in zip(documents, services, strict=True)]
    return resolved, list(_missing_targets(documents, context))


def _host_context(documents: Sequence[HeldDocument], host_documents: Sequence[HeldDocument], host: str) -> _HostContext:
    context = _HostContext(host)
    has_api_catalogue = any(document.assessment.format == api_catalog.FORMAT.slug for document in documents)
    for index, document in enumerate(documents):
        # a document with a fragment is an entry's value, judged separately: it says nothing of the host itself
        if describes_service(document) and (document.via is None or "#" not in document.url):
            context.is_alone = False
        for url in (document.url, document.requested, *document.copies):
            context.found.setdefault(url, index)
        if document.via is not None:
            context.carried.setdefault((document.via.document, document.via.pointer.rpartition("/")[0]), index)
        service = document.assessment.service or Service()
        if has_api_catalogue and role_of(document) is not Role.POINTERS:
            context.covered.update(_covered(service))
        if role_of(document) is Role.SERVICE:
            for position, capability in enumerate(service.capabilities):
                if _is_instruction(capability) and capability.docs_url:
                    context.skills.setdefault(capability.docs_url, (index, position))
    for document in documents:  # the anchors whose descriptions were read
        groups = document.assessment.service.groups if document.assessment.service else ()
        context.covered.update(
            one.url.rstrip("/") for one in groups if not context.found.keys().isdisjoint(one.documents)
        )
    for document in host_documents:
        if document.assessment.outcome not in ANSWERED:
            context.missed.setdefault(document.requested, document)
    return context


def _covered(service: Service) -> Iterator[str]:
    """Yield the address of each call and protocol without query, and all addresses above it."""
    calls = (call.endpoint for capability in service.capabilities for call in capability.invocations)
    for url in dict.fromkeys((*calls, *(protocol.endpoint for protocol in service.protocols))):
        place = re.split(r"[?#]", url or "", maxsplit=1)[0].rstrip("/")
        while place.count("/") > 1:
            yield place
            place = place.rpartition("/")[0]


# --- what an entry refers to ----------------------------------------------------------------------------------------


def _target(capability: Capability, document: HeldDocument, context: _HostContext) -> int | None:
    origin, url = origin_of(capability), _url(capability)
    if origin is not None and (index := context.carried.get((document.url, origin.pointer))) is not None:
        return index
    if url is None:
        return None
    return context.skills[url][0] if url in context.skills else context.found.get(url)


def _url(capability: Capability) -> str | None:
    """Return the URL that an entry is about: its first endpoint, else its documentation."""
    return next((call.endpoint for call in capability.invocations if call.endpoint), capability.docs_url)


def _is_own(capability: Capability, context: _HostContext) -> bool:
    """Return whether the entry is the host's own. If the host has other documents, an own entry is on this host and not
    known to be missing. A catalogue that stands alone states itself what its publisher offers: its own are the entries
    of its registrable domain, by their address or their publisher's name, and entries that it describes in full."""
    if any(call.kind not in _REFERRING for call in capability.invocations):
        return True
    url, origin = _url(capability), origin_of(capability)
    is_api = origin is not None and origin.format == api_catalog.FORMAT.slug
    if is_api and url is not None and url.rstrip("/") in context.covered:
        return False  # described in full by another document
    if url is not None and host_of(url) == context.host:
        missed = context.missed.get(url)
        return context.is_alone or missed is None or missed.assessment.outcome not in (Outcome.ABSENT, Outcome.GONE)
    if not context.is_alone:
        return False
    if url is None or same_site(host_of(url) or "", context.host):
        return True
    publisher = _PUBLISHER.match(capability.id)
    is_described = any(call.auth is not None for call in capability.invocations) or capability.docs_url is not None
    is_described = is_described and origin is not None and "/apis/" in origin.pointer
    return (publisher is not None and same_site(publisher[1].lower(), context.host)) or (is_api and is_described)


def _card_protocol(capability: Capability) -> Protocol | None:
    """Return the protocol of an entry that names only a card or a registry."""
    members = capability.native.get(ai_catalog.FORMAT.slug, {})
    kind = str(members.get("type") or members.get("mediaType") or "")
    url = _url(capability)
    protocol = next((protocol for word, protocol in _CARD_TYPES if word in kind.lower()), None)
    if protocol is None or not url:
        return None
    return Protocol(protocol, endpoint=url) if protocol == _REGISTRY else Protocol(protocol, card_url=url)


def _is_instruction(capability: Capability) -> bool:
    return bool(capability.invocations) and all(call.kind == "instructions" for call in capability.invocations)


def _is_live(missed: HeldDocument) -> bool:
    """Return whether the server answered instead of its card, with POST or event streams: the URL is its endpoint."""
    is_promised = missed.via is not None and missed.via.expected == "mcp-server-card"
    has_live_ending = path_of(missed.requested).partition("?")[0].rstrip("/").endswith(_LIVE_ENDINGS)
    return missed.assessment.reason in _LIVE and (is_promised or has_live_ending)


# --- what an entry adds ---------------------------------------------------------------------------------------------


def _with_entries(service: Service, entries: Sequence[Capability]) -> Service:
    """Add the texts of the entries to the skill they name, to the only capability, or to the whole service."""
    capabilities = list(service.capabilities)
    skills: dict[str | None, int] = {}
    for place, capability in enumerate(capabilities):
        if _is_instruction(capability):
            skills.setdefault(capability.docs_url, place)
    for entry in entries:
        skill_index = skills.get(entry.docs_url) if entry.docs_url else None
        index = 0 if skill_index is None and len(capabilities) == 1 else skill_index
        if index is None:
            service = _with_texts(service, entry)
        else:
            own = capabilities[index]
            flags = flags_of(own, entry)
            capabilities[index] = replace(_with_texts(own, entry), injection_flags=flags, origin=origin_of(own))
        if service.name is None and skill_index is None:
            provenance = _with_origin_of(service.provenance, entry, ("name",))
            service = replace(service, name=entry.name, provenance=provenance)
    return replace(service, capabilities=tuple(capabilities))


def _with_texts(holder: _Holder, entry: Capability) -> _Holder:
    """Return a capability or service with the texts that the entry adds, and where they come from."""
    added: dict[str, Any] = {}
    if holder.description is None and entry.description:
        added["description"] = entry.description
    if (tags := _joined(holder.tags, entry.tags)) != holder.tags:
        added["tags"] = tags
    if (examples := _joined(holder.examples, entry.examples)) != holder.examples:
        added["examples"] = examples
    return replace(holder, **added, provenance=_with_origin_of(holder.provenance, entry, added))


def _joined(texts: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*texts, *more)))[:MAX_TEXTS]


def _with_origin_of(provenance: Mapping[str, Origin], entry: Capability, names: Iterable[str]) -> dict[str, Origin]:
    origin = origin_of(entry)
    return {**provenance, **{name: origin for name in names if origin is not None}}


# --- what is missing ------------------------------------------------------------------------------------------------


def _missing_targets(documents: Sequence[HeldDocument], context: _HostContext) -> Iterator[LocatedFinding]:
    document_urls = {document.url for document in documents}
    for url, missed in context.missed.items():
        via = missed.via
        if via is None or via.document not in document_urls or via.rel not in _NAMED:
            continue
        if _is_live(missed):
            yield LocatedFinding(finding(rules.POINTER_LIVE_ENDPOINT, via.pointer, url), via.document)
        elif missed.assessment.outcome in (Outcome.ABSENT, Outcome.GONE):
            evidence = f"{url} {missed.assessment.reason}".strip()
            yield LocatedFinding(finding(rules.POINTER_UNANSWERED, via.pointer, evidence), via.document)
