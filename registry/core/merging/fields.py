"""Fields of several documents in one service: first word, or all words; each with the place it comes from.

Provenance keys are field names of Service, and places below them ("protocols/1", "policies/terms_url") where a part
comes from another document than the field's first one.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Final, TypeVar

from registry.core.domains import host_of, registrable_domain
from registry.core.merging import capabilities
from registry.core.merging.access import united_auth
from registry.core.services import Identity, Origin, Pointer, Policies, Pricing, Protocol, Relations, Service

Parts = Sequence[tuple[Origin, Service]]

_FIRST_WINS: Final = (
    "name", "description", "version", "base_url", "homepage", "docs_url", "icon_url", "provider", "confidence",
)  # fmt: skip
_ALL: Final = ("languages", "tags", "examples", "groups")
_BY_FIELD: Final[dict[str, object]] = {"pricing": Pricing(), "policies": Policies(), "relations": Relations()}
_MAX_READINGS: Final = 20  # of one address by documents that disagree
_NOTHING: Final[tuple[object, ...]] = (None, "", ())
_BLANK: Final = Service()
_T = TypeVar("_T")
_H = TypeVar("_H", bound=Hashable)


def united(parts: Parts) -> Service:
    """`parts` in order of precedence."""
    services = [service for _, service in parts]
    provenance: dict[str, Origin] = {}
    chosen: dict[str, object] = {}
    for name in _FIRST_WINS:
        for origin, service in _named_first(parts) if name == "name" else parts:
            if (value := getattr(service, name)) not in _NOTHING:
                chosen[name] = value
                provenance[name] = place(origin, service, name)
                break
    for name in _ALL:
        chosen[name] = _listed(name, [(_places(part, name), getattr(part[1], name)) for part in parts], provenance)
    for name in _BY_FIELD:
        chosen[name] = _by_field(name, parts, provenance)
    auth, sources = united_auth([(place(*part, "auth"), part[1].auth) for part in parts])
    provenance |= sources
    speaking = next((part for part in parts if part[1].capabilities), None)
    if speaking:
        provenance["capabilities"] = place(*speaking, "capabilities")
    return Service(
        **chosen,  # type: ignore[arg-type]  # names and values are those of Service's own fields
        capabilities=capabilities.merged(services),
        auth=auth,
        protocols=_protocols(parts, provenance),
        pointers=_pointers(services),
        identity=_identity(parts, provenance),
        claims=_claims(parts, provenance),
        synthetic=all(s.synthetic for s in services),
        provenance=provenance,
    )


def place(origin: Origin, service: Service, *names: str) -> Origin:
    """The most telling place that the document gives for the first known of `names`."""
    return next((service.provenance[name] for name in names if name in service.provenance), origin)


def is_host_name(origin: Origin, name: str | None) -> bool:
    """AWP and WoA have no name of a service and give the host's."""
    return name is not None and name.casefold() in (
        host_of(origin.document),
        registrable_domain(host_of(origin.document) or ""),
    )


def _named_first(parts: Parts) -> list[tuple[Origin, Service]]:
    """Any real name tells more than the host's."""
    return sorted(parts, key=lambda part: is_host_name(part[0], part[1].name))


def _places(part: tuple[Origin, Service], name: str) -> Origin:
    return place(*part, name)


def _listed(name: str, told: Iterable[tuple[Origin, Sequence[_H]]], provenance: dict[str, Origin]) -> tuple[_H, ...]:
    """Everything that any document lists, once."""
    first: dict[_H, Origin] = {}
    for origin, items in told:
        for item in items:
            first.setdefault(item, origin)
    _note(name, first.values(), provenance)
    return tuple(first)


def _note(name: str, origins: Iterable[Origin], provenance: dict[str, Origin]) -> None:
    """The first origin speaks for the field, another document's for its own part."""
    for index, origin in enumerate(origins):
        if provenance.setdefault(name, origin).document != origin.document:
            provenance[f"{name}/{index}"] = origin


def _by_field(name: str, parts: Parts, provenance: dict[str, Origin]) -> object:
    """Field by field the first document that says something. Prices of a document that has a model come first."""
    result = blank = _BY_FIELD[name]
    if name == "pricing":
        parts = sorted(parts, key=lambda part: part[1].pricing.model == "unknown")
    for key in (f.name for f in fields(blank)):  # type: ignore[arg-type]  # a dataclass of services.py
        for origin, service in parts:
            value = getattr(getattr(service, name), key)
            if value != getattr(blank, key):
                result = replace(result, **{key: value})  # type: ignore[type-var]  # as above
                source = place(origin, service, f"{name}/{key}", name)
                if provenance.setdefault(name, source) != source:
                    provenance[f"{name}/{key}"] = source
                break
    return result


def _protocols(parts: Parts, provenance: dict[str, Origin]) -> tuple[Protocol, ...]:
    """One entry for each address: documents that name the same one complete each other unless they disagree."""
    found: list[Protocol] = []
    origins: list[Origin] = []
    places: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for origin, service in parts:
        for one in dict.fromkeys(service.protocols):
            named = places[one.id, one.endpoint]
            index = next((i for i in named if _agree(found[i], one)), None)
            if index is not None:
                found[index] = _completed(found[index], one)
            elif len(named) < _MAX_READINGS:
                named.append(len(found))
                found.append(one)
                origins.append(place(origin, service, "protocols"))
    _note("protocols", origins, provenance)
    return tuple(found)


def _agree(first: Protocol, second: Protocol) -> bool:
    """Of one address: nothing that both tell differs."""
    pairs = ((getattr(first, name), getattr(second, name)) for name in ("version", "transport", "card_url"))
    return all(a is None or b is None or a == b for a, b in pairs)


def _completed(first: Protocol, second: Protocol) -> Protocol:
    given = {f.name: getattr(second, f.name) for f in fields(Protocol) if getattr(first, f.name) is None}
    return replace(first, **given)


def _pointers(services: Iterable[Service]) -> tuple[Pointer, ...]:
    """What was carried inside is a document of its own by now."""
    found = {(p.url, p.rel, p.pointer): p for service in services for p in service.pointers}
    return tuple(replace(one, payload=None) for one in found.values())


def _identity(parts: Parts, provenance: dict[str, Origin]) -> Identity:
    """Signatures are those that merge has judged; each stays with the card that carries it."""
    keys: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
    origins: list[Origin] = []
    for origin, service in parts:
        source = place(origin, service, "identity")
        if service.identity != _BLANK.identity:
            provenance.setdefault("identity", source)
        for key in service.identity.keys:
            if keys.setdefault(tuple(sorted(key.items())), key) is key:
                origins.append(source)
    for index, source in enumerate(origins):
        if source.document != provenance["identity"].document:
            provenance[f"identity/keys/{index}"] = source
    dids = _distinct(did for _, service in parts for did in service.identity.dids)
    signatures = _distinct(one for _, service in parts for one in service.identity.signatures)
    return Identity(dids, tuple(keys.values()), signatures)


def _claims(parts: Parts, provenance: dict[str, Origin]) -> dict[str, str]:
    found: dict[str, str] = {}
    for origin, service in parts:
        for key, value in service.claims.items():
            if key not in found:
                found[key] = value
                provenance[f"claims/{key}"] = place(origin, service, f"claims/{key}", "claims")
    return found


def _distinct(items: Iterator[_H]) -> tuple[_H, ...]:
    return tuple(dict.fromkeys(items))
