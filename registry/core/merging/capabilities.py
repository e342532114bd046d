"""Unite the capabilities of several documents: each once, with every way to call it and the source of each part."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Final

from registry.core.format_support.manifest import unique_name
from registry.core.format_support.params import with_path_variables
from registry.core.merging.held import same_name
from registry.core.model.services import Capability, Origin, Relations, Service

_NOTHING: Final[tuple[object, ...]] = (None, "", (), {})
_OWN: Final = {"id", "name", "whole_server", "invocations", "native", "injection_flags", "origin", "provenance"}
_FILLED: Final = tuple(f.name for f in fields(Capability) if f.name not in _OWN)


def merge_capabilities(services: Sequence[Service]) -> tuple[Capability, ...]:
    """Return the capabilities of all services, with unique names. The same call, or the same id AND name, is one
    capability (docs/merge.md). No invocation is lost: two capabilities of one document stay separate. A capability
    whose name gets a suffix keeps the document's name as its title."""
    used_names = {".", ".."}  # clients resolve these before a request (RFC 3986 section 5.2.4)
    result = []
    for capability in _unite(services)[0]:
        params = capability.params
        for call in capability.invocations:
            if call.kind == "http" and call.templated:  # a caller must fill the variables
                params = with_path_variables(params, call.endpoint)
        name = unique_name(capability.name, used_names)  # names are segments of this registry's URLs
        title = capability.title or (capability.name if name != capability.name else None)
        result.append(replace(capability, name=name, title=title, params=params))
    return tuple(result)


def with_known_ids(relations: Relations, services: Sequence[Service]) -> Relations:
    """Return relations with the capability ids of the merged service. A capability that two documents describe keeps
    the first one's id; relations of the second document are renamed."""
    ids = {name: kept for name, kept in _unite(services)[1].items() if name != kept}
    if not ids:
        return relations

    def known(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(ids.get(name, name) for name in names)

    return replace(
        relations,
        workflows=tuple(replace(workflow, steps=known(workflow.steps)) for workflow in relations.workflows),
        dependencies={ids.get(name, name): known(names) for name, names in relations.dependencies.items()},
        degraded=known(relations.degraded),
    )


def _unite(services: Sequence[Service]) -> tuple[list[Capability], dict[str, str]]:
    """Return the capabilities, and for each id in any document the id of the capability that it became. A kept id keeps
    its meaning, even where another document uses the same id for another capability."""
    ids: dict[str, str] = {}
    result: list[Capability] = []
    documents_of: list[set[int]] = []  # capabilities of one document are never united: two may share an RPC endpoint
    positions: dict[Hashable, int] = {}
    for document_index, service in enumerate(services):
        for capability in service.capabilities:
            keys = _identities(capability)
            known = (positions[key] for key in keys if key in positions)
            position = next((one for one in known if document_index not in documents_of[one]), None)
            if position is None:
                position = len(result)
                result.append(replace(capability, origin=origin_of(capability)))
                documents_of.append({document_index})
            else:
                first = result[position]
                calls = reversed((*first.invocations, *capability.invocations))
                distinct = {(call.kind, call.endpoint, call.method, call.name): call for call in calls}
                result[position] = replace(overlaid(first, capability), invocations=tuple(reversed(distinct.values())))
                documents_of[position].add(document_index)
            ids.setdefault(capability.id, result[position].id)
            for key in keys:
                positions.setdefault(key, position)
    return result, ids | {capability.id: capability.id for capability in result}


def overlaid(first: Capability, second: Capability) -> Capability:
    """Return `first` with the fields that only `second` fills; their provenance is the second's document. Flags of both
    stay: the documents of both can be read."""
    empty = [name for name in _FILLED if getattr(first, name) in _NOTHING]
    added = {name: value for name in empty if (value := getattr(second, name)) not in _NOTHING}
    native = {**second.native, **first.native}
    provenance = {**first.provenance, **sources(second, added)}
    flags = flags_of(first, second)  # guard: injection-detail
    return replace(first, **added, native=native, injection_flags=flags, provenance=provenance)


def flags_of(*capabilities: Capability) -> tuple[str, ...]:
    return tuple(sorted({flag for capability in capabilities for flag in capability.injection_flags}))


def sources(capability: Capability, names: Iterable[str]) -> dict[str, Origin]:
    """Return the known sources of a capability's named fields."""
    default = origin_of(capability)
    origins = ((name, capability.provenance.get(name, default)) for name in names)
    return {name: origin for name, origin in origins if origin is not None}


def origin_of(capability: Capability) -> Origin | None:
    """Return the origin of the capability's description."""
    return capability.origin or next((call.origin for call in capability.invocations if call.origin), None)


def _identities(capability: Capability) -> list[Hashable]:
    http_calls = [call for call in capability.invocations if call.kind == "http" and call.endpoint and call.method]
    key = ("id", capability.id, same_name(capability.name), capability.whole_server)
    return [*(("call", call.method, call.endpoint) for call in http_calls), key]
