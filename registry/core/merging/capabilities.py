"""Capabilities of several documents: the same thing once, with every way to call it and where each part comes from."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Final

from registry.core.manifest import unique_name
from registry.core.merging.held import same_name
from registry.core.services import Capability, Invocation, Origin, Service

_NOTHING: Final[tuple[object, ...]] = (None, "", ())
_OWN: Final = frozenset({"id", "name", "invocations", "origin", "provenance"})
_FILLED: Final = tuple(f.name for f in fields(Capability) if f.name not in _OWN)


def merged(services: Sequence[Service]) -> tuple[Capability, ...]:
    """The same call, or the same id AND name, is one capability; a shared name alone is not (formats.md section 4).

    No invocation is lost: two capabilities of one document stay two, whatever they share. Names are unique.
    """
    found: list[Capability] = []
    told_by: list[set[int]] = []  # one document's own capabilities are never folded: two may share an RPC endpoint
    places: dict[Hashable, int] = {}
    for document, service in enumerate(services):
        for capability in service.capabilities:
            keys = _identities(capability)
            place = next((places[key] for key in keys if key in places and document not in told_by[places[key]]), None)
            if place is None:
                place = len(found)
                found.append(_placed(capability))
                told_by.append({document})
            else:
                found[place] = joined(found[place], capability)
                told_by[place].add(document)
            for key in keys:
                places.setdefault(key, place)
    return _named_apart(found)


def joined(first: Capability, second: Capability) -> Capability:
    """`first` with what only `second` tells, and every invocation of both."""
    calls = _distinct((*first.invocations, *second.invocations))
    return replace(overlaid(first, second), invocations=calls)


def overlaid(first: Capability, second: Capability) -> Capability:
    """`first` with the fields that only `second` fills; their provenance is the second's document."""
    given = {
        name: value
        for name in _FILLED
        if getattr(first, name) in _NOTHING and (value := getattr(second, name)) not in _NOTHING
    }
    return replace(first, **given, provenance={**first.provenance, **sources(second, given)})


def sources(capability: Capability, names: Iterable[str]) -> dict[str, Origin]:
    """Where the named fields of a capability come from, as far as it is known."""
    default = place_of(capability)
    known = ((name, capability.provenance.get(name, default)) for name in names)
    return {name: origin for name, origin in known if origin is not None}


def place_of(capability: Capability) -> Origin | None:
    """The place that describes the capability."""
    return capability.origin or next((call.origin for call in capability.invocations if call.origin), None)


def _placed(capability: Capability) -> Capability:
    return capability if capability.origin else replace(capability, origin=place_of(capability))


def _identities(capability: Capability) -> list[Hashable]:
    calls: list[Hashable] = [
        ("call", i.method, i.endpoint) for i in capability.invocations if i.kind == "http" and i.endpoint and i.method
    ]
    return [*calls, ("id", capability.id, same_name(capability.name))]


def _distinct(invocations: Iterable[Invocation]) -> tuple[Invocation, ...]:
    """Each way to call is kept once; documents that repeat it do not multiply it."""
    return tuple({(i.kind, i.endpoint, i.method, i.name): i for i in reversed(list(invocations))}.values())[::-1]


def _named_apart(capabilities: Sequence[Capability]) -> tuple[Capability, ...]:
    """Names are segments of our URLs, so they are unique within the service: a second one gets a suffix."""
    taken = {".", ".."}  # clients resolve these before they ask (RFC 3986 section 5.2.4)
    return tuple(replace(one, name=unique_name(one.name, taken)) for one in capabilities)
