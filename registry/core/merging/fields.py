"""Unite the fields of several documents: the first value or all values, each with the place it comes from.

Provenance keys are field names of Service, and paths below them ("protocols/1", "policies/terms_url") for parts that
come from another document than the field's first one.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Final, cast

from registry.core.format_support.security import NOTHING_NEEDED
from registry.core.merging import capabilities
from registry.core.merging.access import united_auth
from registry.core.model.services import (
    Auth,
    Identity,
    Origin,
    Pointer,
    Policies,
    Pricing,
    Protocol,
    Relations,
    Service,
)
from registry.core.names.authority import Relation, relation
from registry.core.names.domains import host_of, is_confusable, registrable_domain
from registry.core.names.impersonation import hosts_in

Parts = Sequence[tuple[Origin, Service]]

_FIRST_WINS: Final = (
    "name", "description", "version", "base_url", "homepage", "docs_url", "icon_url", "repository", "license",
    "provider", "confidence",
)  # fmt: skip
_ALL: Final = ("languages", "tags", "examples", "groups", "packages")
_BY_FIELD: Final[dict[str, object]] = {"pricing": Pricing(), "policies": Policies(), "relations": Relations()}
_MAX_READINGS: Final = 20  # entries for one address if documents disagree
_NOTHING: Final[tuple[object, ...]] = (None, "", ())
_BLANK: Final = Service()


def unite_parts(parts: Parts) -> Service:
    """Return one service from `parts`, which are in order of precedence."""
    services = [service for _, service in parts]
    provenance: dict[str, Origin] = {}
    values: dict[str, object] = {}
    for name in _FIRST_WINS:
        for origin, service in sorted(parts, key=_has_no_real_name) if name == "name" else parts:
            if (value := getattr(service, name)) not in _NOTHING:
                values[name] = _own_name(origin, value) if name == "name" else value
                provenance[name] = place(origin, service, name)
                break
    for name in _ALL:
        origins: dict[Hashable, Origin] = {}  # everything that any document lists, once
        for origin, service in parts:
            source = place(origin, service, name)
            for item in getattr(service, name):
                origins.setdefault(item, source)
        _record_origins(name, origins.values(), provenance)
        values[name] = tuple(origins)
    for name in _BY_FIELD:
        values[name] = _by_field(name, parts, provenance)
    values["relations"] = capabilities.with_known_ids(cast(Relations, values["relations"]), services)
    auth, auth_provenance = united_auth([(place(*part, "auth"), part[1].auth) for part in parts])
    provenance |= auth_provenance
    united_capabilities = capabilities.merge_capabilities(services)
    calls = [call for capability in united_capabilities for call in capability.invocations]
    if auth == Auth() and calls and all(call.auth is not None and call.auth.required is False for call in calls):
        auth = NOTHING_NEEDED  # as every call of every capability says
    first_with_capabilities = next((part for part in parts if part[1].capabilities), None)
    if first_with_capabilities:
        provenance["capabilities"] = place(*first_with_capabilities, "capabilities")
    return Service(
        **values,  # type: ignore[arg-type]  # names and values are those of Service's own fields
        capabilities=united_capabilities,
        auth=auth,
        protocols=_protocols(parts, provenance),
        pointers=_pointers(services),
        identity=_identity(parts, provenance),
        claims=_claims(parts, provenance),
        native=_native(parts, provenance),
        synthetic=all(s.synthetic for s in services),
        provenance=provenance,
    )


def place(origin: Origin, service: Service, *names: str) -> Origin:
    """Return the most precise place that the document records for the first known of `names`, else `origin`."""
    return next((service.provenance[name] for name in names if name in service.provenance), origin)


def is_host_name(origin: Origin, name: str | None) -> bool:
    """Return whether the name is the host's: AWP and WoA have no name for a service, so their readers use it."""
    host = host_of(origin.document)
    return name is not None and name.casefold() in (host, registrable_domain(host or ""))


def _has_no_real_name(part: tuple[Origin, Service]) -> bool:
    """Return whether the part is named like a host, or without a showable name."""
    origin, name = part[0], part[1].name
    return is_host_name(origin, name) or _own_name(origin, name) != name


def relation_in(origin: Origin, name: str | None) -> Relation:
    """Return the relation of the serving host to the remotest host in a name; SAME if the name has no host."""
    serving_host = host_of(origin.document)
    relations = (relation(serving_host, host) for host in hosts_in(name or "")) if serving_host else ()
    return min(relations, default=Relation.SAME)


def _own_name(origin: Origin, name: str | None) -> str | None:
    """Return the name, or the serving host instead of a name that speaks of another host, or shows a look-alike."""
    # guard: name-elsewhere
    if relation_in(origin, name) < Relation.BELOW or any(map(is_confusable, hosts_in(name or ""))):
        return host_of(origin.document)
    return name


def _record_origins(name: str, origins: Iterable[Origin], provenance: dict[str, Origin]) -> None:
    """Record the first origin for the field, and the origin of each part from another document."""
    for index, origin in enumerate(origins):
        if provenance.setdefault(name, origin).document != origin.document:
            provenance[f"{name}/{index}"] = origin


def _by_field(name: str, parts: Parts, provenance: dict[str, Origin]) -> object:
    """Take each member from the first document that states it. Prices of a document with a pricing model come first."""
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
    """Return one entry per address: documents that name the same one complete each other unless they disagree."""
    protocols: list[Protocol] = []
    origins: list[Origin] = []
    indexes_by_address: dict[tuple[str, str | None], list[int]] = defaultdict(list)
    for origin, service in parts:
        for protocol in dict.fromkeys(service.protocols):
            if _is_card_of(protocol, protocols):
                continue
            indexes = indexes_by_address[protocol.id, protocol.endpoint]
            index = next((i for i in indexes if _agree(protocols[i], protocol)), None)
            if index is not None:
                empty = [f.name for f in fields(Protocol) if getattr(protocols[index], f.name) in _NOTHING]
                protocols[index] = replace(protocols[index], **{name: getattr(protocol, name) for name in empty})
            elif len(indexes) < _MAX_READINGS:
                indexes.append(len(protocols))
                protocols.append(protocol)
                origins.append(place(origin, service, "protocols"))
    _record_origins("protocols", origins, provenance)
    return tuple(protocols)


def _is_card_of(protocol: Protocol, known: Iterable[Protocol]) -> bool:
    """Return whether a protocol names only a card that one of `known` was read from."""
    pairs = ((one.id, one.card_url) for one in known if one.endpoint)
    return protocol.endpoint is None and protocol.card_url is not None and (protocol.id, protocol.card_url) in pairs


def _agree(first: Protocol, second: Protocol) -> bool:
    """Return whether the two entries of one address differ in nothing that both state."""
    pairs = ((getattr(first, name), getattr(second, name)) for name in ("version", "transport", "card_url"))
    return all(a is None or b is None or a == b for a, b in pairs)


def _pointers(services: Iterable[Service]) -> tuple[Pointer, ...]:
    """Return all pointers once, without payloads: each payload has become a separate document by now."""
    pointers = {(one.url, one.rel, one.pointer): one for service in services for one in service.pointers}
    return tuple(replace(pointer, payload=None) for pointer in pointers.values())


def _identity(parts: Parts, provenance: dict[str, Origin]) -> Identity:
    """Return DIDs, keys and signatures of all documents, once. Merge has judged the signatures before."""
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
    dids = dict.fromkeys(did for _, service in parts for did in service.identity.dids)
    signatures = dict.fromkeys(signature for _, service in parts for signature in service.identity.signatures)
    return Identity(tuple(dids), tuple(keys.values()), tuple(signatures))


def _claims(parts: Parts, provenance: dict[str, Origin]) -> dict[str, str]:
    claims: dict[str, str] = {}
    for origin, service in parts:
        for key, value in service.claims.items():
            if key not in claims:
                claims[key] = value
                provenance[f"claims/{key}"] = place(origin, service, f"claims/{key}", "claims")
    return claims


def _native(parts: Parts, provenance: dict[str, Origin]) -> dict[str, dict[str, object]]:
    """Return the members that only one format knows; of two documents of one format, the first value of a member."""
    native: dict[str, dict[str, object]] = {}
    for origin, service in parts:
        for slug, members in service.native.items():
            if slug not in native and provenance.setdefault("native", origin) != origin:
                provenance[f"native/{slug}"] = origin
            native[slug] = {**members, **native.get(slug, {})}
    return native
