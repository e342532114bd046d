"""Read UCP profiles (Universal Commerce Protocol). The release is recognised by the shape, not by the version."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from registry.core.format_support import manifest
from registry.core.format_support.account import EITHER, Part
from registry.core.format_support.endpoints import Endpoint, endpoint, first_link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.loose_card import loose_card
from registry.core.format_support.manifest import MAX_TEXTS, Notes, Object, list_of, map_of, native, short_text_of
from registry.core.format_support.mcp_parts import card_pointer
from registry.core.format_support.probing import ProbePath
from registry.core.format_support.shapes import TEXT
from registry.core.format_support.signatures import public_keys
from registry.core.formats.ucp import rules
from registry.core.model import services
from registry.core.model.documents import Document, Json
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, AuthScheme, Capability, Identity, Invocation, Pointer, Protocol, Service
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = "ucp"
_AD_HOC: Final = "adhoc"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TRANSPORTS: Final = ("rest", "mcp", "a2a", "embedded")
_IDENTITY: Final = "identity_linking"
_READ: Final = frozenset({"version", "signing_keys", "keys"})
_CAPABILITY_READ: Final = frozenset({"name", "spec", "title", "description"})
_POINTERS = {
    "version": "/ucp/version",
    "capabilities": "/ucp/capabilities",
    "protocols": "/ucp/services",
    "auth": "/ucp/capabilities",
}


@dataclass(frozen=True, slots=True)
class _Binding:
    """One transport of one service, from either shape. `address`: None if it cannot be called."""

    namespace: str
    transport: str
    version: str | None
    address: Endpoint | None
    pointer: str


def dialect(document: Document) -> str | None:
    """Return "list" (2026-01-11) or "map" (later) by the type of `capabilities`, "no-capabilities" without them, or
    "adhoc" for a text instead of a profile."""
    profile = document.members.get("ucp")
    if isinstance(profile, str):
        return _AD_HOC
    if not isinstance(profile, dict):
        return None
    capabilities = profile.get("capabilities")
    return "list" if isinstance(capabilities, list) else "map" if isinstance(capabilities, dict) else "no-capabilities"


def at_own_path(document: Document) -> str | None:
    value = document.members
    return _AD_HOC if "ucp_version" in value else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    if dialect == _AD_HOC:
        notes.add(rules.SHAPE)
        if "ucp" in value:
            notes.add(rules.NOT_AN_OBJECT, "/ucp", value["ucp"])
        pointers = tuple(_read_ad_hoc_pointers(value, document))[:MAX_TEXTS]
        protocol = Protocol(SLUG, short_text_of(value, "ucp_version"))
        return loose_card(value, document, SLUG, notes, pointers=pointers, protocol=protocol)
    profile = map_of(value, "ucp")
    _grade(profile, dialect, notes)
    bindings = list(_read_bindings(profile, document, notes))
    # keys were renamed and moved between releases
    held = [
        (at(pointer, key), list_of(holder, key))
        for holder, pointer in ((profile, "/ucp"), (value, ""))
        for key in ("keys", "signing_keys")
    ]
    keys_pointer, keys = next(((pointer, keys) for pointer, keys in held if keys), ("", []))
    service = Service(
        version=short_text_of(profile, "version"),
        capabilities=tuple(_read_capabilities(profile, bindings, document)),
        auth=_read_auth(profile, document, notes),
        protocols=tuple(_read_protocols(bindings)),
        pointers=tuple(_read_pointers(bindings))[:MAX_TEXTS],
        identity=Identity(keys=public_keys(keys)),
        native=native(SLUG, {**{key: item for key, item in value.items() if key != SLUG}, **profile}, _READ),
    )
    return manifest.with_provenance(service, document, SLUG, {**_POINTERS, "identity": keys_pointer})


def _grade(profile: Object, dialect: str, notes: Notes) -> None:
    if not isinstance(profile.get("services"), dict):
        notes.add(rules.NO_SERVICES, "/ucp/services")
    if not _DATE.fullmatch(manifest.text_of(profile, "version") or ""):
        notes.add(rules.VERSION, "/ucp/version", profile.get("version", ""))
    if dialect == "no-capabilities":
        notes.add(rules.NO_CAPABILITIES, "/ucp/capabilities")


def _read_bindings(profile: Object, document: Document, notes: Notes) -> Iterator[_Binding]:
    for namespace, service in list(map_of(profile, "services").items())[:MAX_TEXTS]:
        service_pointer = at("", "ucp", "services", namespace)
        items = list(enumerate(service)) if isinstance(service, list) else [(None, service)]
        for index, item in items[:MAX_TEXTS]:
            pointer = service_pointer if index is None else at(service_pointer, index)
            yield from _read_service_bindings(namespace, item, index is not None, pointer, document, notes)


def _read_service_bindings(
    namespace: str, item: Json, is_listed: bool, pointer: str, document: Document, notes: Notes
) -> Iterator[_Binding]:
    """Yield the bindings of a service: one `transport` with its `endpoint`, or one member per transport (older)."""
    transport = short_text_of(item, "transport")
    transport_keys = [key for key in _TRANSPORTS if isinstance(item, dict) and isinstance(item.get(key), dict)]
    if transport is None and (is_listed or not transport_keys):
        notes.add(rules.TRANSPORT, pointer)
    holders: list[tuple[str, Json, str]] = [(key, map_of(item, key), at(pointer, key)) for key in transport_keys]
    for name, holder, holder_pointer in [(transport, item, pointer)] if transport else holders:
        target = holder.get("endpoint") if isinstance(holder, dict) else None
        endpoint_pointer = at(holder_pointer, "endpoint")
        if not target and name != "embedded":
            notes.add(rules.TRANSPORT, endpoint_pointer, name)
        address = endpoint(target, document.url, document, endpoint_pointer, notes)
        if address is not None or name == "embedded":
            notes.mark_read(holder_pointer)
        yield _Binding(namespace, name, short_text_of(item, "version"), address, endpoint_pointer)


def _read_capabilities(profile: Object, bindings: list[_Binding], document: Document) -> Iterator[Capability]:
    """Yield the capabilities. Names are reversed domains; the service with that namespace answers a capability."""
    capabilities = profile.get("capabilities")
    entries: list[tuple[str | None, Json, str]] = []
    if isinstance(capabilities, dict):
        entries = [(name, item, at("", "ucp", "capabilities", name)) for name, item in capabilities.items()]
    elif isinstance(capabilities, list):
        numbered = enumerate(capabilities)
        entries = [(short_text_of(item, "name"), item, at("", "ucp", "capabilities", i)) for i, item in numbered]
    usable = [binding for binding in bindings if binding.address is not None and not _is_card(binding)]
    seen: set[str] = set()
    for name, item, pointer in entries[:MAX_TEXTS]:
        identifier = line(name, manifest.ID_CHARS) if name else ""
        if not identifier or identifier in seen or identifier.endswith(_IDENTITY):
            continue
        seen.add(identifier)
        first = item[0] if isinstance(item, list) and item else item
        in_namespace = [binding for binding in usable if identifier.startswith(f"{binding.namespace}.")]
        binding = next(iter(in_namespace or usable), None)
        call = Invocation(
            "rpc",
            binding.address.url if binding and binding.address else None,
            "POST" if binding and binding.transport != "rest" else None,
            identifier,
            templated=bool(binding and binding.address and binding.address.templated),
            origin=services.Origin(document.url, pointer, SLUG),
        )
        yield Capability(
            identifier,
            identifier,
            short_text_of(first, "description"),
            title=short_text_of(first, "title"),
            docs_url=first_link(first, ("spec",), document.url),
            invocations=(call,),
            native=native(SLUG, first, _CAPABILITY_READ),
        )


def _is_card(binding: _Binding) -> bool:
    """Return whether the binding names an agent card, as the a2a transport often does instead of the agent."""
    return binding.transport == "a2a" and binding.address is not None and binding.address.url.endswith(".json")


def _read_protocols(bindings: list[_Binding]) -> Iterator[Protocol]:
    for binding in bindings:
        if binding.address is None:
            continue
        if binding.transport in ("mcp", "a2a"):
            card_url = binding.address.url if _is_card(binding) else None
            yield Protocol(binding.transport, None, None if card_url else binding.address.url, card_url=card_url)
        else:
            yield Protocol(SLUG, binding.version, binding.address.url, binding.transport)


def _read_pointers(bindings: list[_Binding]) -> Iterator[Pointer]:
    for binding in bindings:
        if binding.transport == "mcp":
            yield from card_pointer(binding.address, binding.pointer)
        elif binding.address is not None and _is_card(binding):
            yield Pointer(binding.address.url, "a2a", binding.pointer, "a2a")


def _read_auth(profile: Object, document: Document, notes: Notes) -> Auth:
    """Return optional OAuth where identity linking is offered: buying without a linked account stays possible."""
    linking = []
    for name, item in map_of(profile, "capabilities").items():
        if name.endswith(_IDENTITY):
            notes.mark_read(at("", "ucp", "capabilities", name))
            linking.append(item)
    for item in linking:
        first = item[0] if isinstance(item, list) and item else item
        for providers in map_of(map_of(first, "config"), "providers").values():
            provider = providers[0] if isinstance(providers, list) and providers else providers
            setup_url = first_link(provider, ("auth_url",), document.url)
            return Auth((AuthScheme("oauth2", setup_url=setup_url),), False)
    return Auth((AuthScheme("oauth2"),), False) if linking else Auth()


def _read_ad_hoc_pointers(value: Object, document: Document) -> Iterator[Pointer]:
    for index, item in enumerate(list_of(value, "services")[:MAX_TEXTS]):
        if target := first_link(item, ("url",), document.url):
            yield Pointer(target, "service", at("", "services", index, "url"))


FORMAT: Final = Format(
    slug=SLUG,
    title="UCP profile",
    spec="UCP 2026-04-08, Discovery",
    paths=("/.well-known/ucp",),
    role=Role.SERVICE,
    read=read,
    parts=(Part("/ucp/services/{}", "service", EITHER), Part("/ucp/capabilities/*", "capability", EITHER)),
    types={"/ucp/version": TEXT},
    rules=rules_in(rules),
    probe_paths=(ProbePath("S3", 50, "/.well-known/ucp"),),
    absence_member="ucp",
    precedence=130,
)
