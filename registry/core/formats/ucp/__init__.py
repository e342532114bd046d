"""Read UCP profiles (Universal Commerce Protocol). The release is recognised by the shape, not by the version."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from registry.core.format_support import manifest
from registry.core.format_support.account import EITHER, Part
from registry.core.format_support.endpoints import Endpoint, callable_url, endpoint, first_link, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.loose import homepage_of, provider_of
from registry.core.format_support.loose_card import loose_card
from registry.core.format_support.manifest import (
    MAX_TEXTS,
    Notes,
    Object,
    first_text,
    list_of,
    map_of,
    native,
    short_text_of,
    text_of,
    texts_of,
)
from registry.core.format_support.mcp_parts import card_pointer
from registry.core.format_support.named_addresses import named_documents
from registry.core.format_support.probing import ProbePath
from registry.core.format_support.security import own_auth
from registry.core.format_support.shapes import TEXT
from registry.core.format_support.signatures import public_keys
from registry.core.formats.ucp import rules
from registry.core.model import services
from registry.core.model.documents import Document, Json
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, AuthScheme, Capability, Identity, Invocation, Pointer, Protocol, Service
from registry.core.names.domains import host_of, same_site
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = "ucp"
_AD_HOC: Final = "adhoc"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TRANSPORTS: Final = ("rest", "mcp", "a2a", "embedded")
_TARGETS: Final = ("endpoint", "url", "base_url", "baseUrl", "uri")
_TRANSPORTS_OR_LISTS: Final = frozenset({*_TRANSPORTS, "transport", "transports"})
_NOTHING: Final = re.compile(r"(?!)")
_SCHEMAS: Final = {
    "rest": ("openapi", re.compile("")),
    "mcp": ("mcp-server-card", re.compile(r"/(?:mcp|server-card)\.json$|/server-card$")),
    "a2a": ("a2a", re.compile(r"/agent(?:-card)?\.json$")),
}
"""What the `schema` of a site's own service describes, by transport. OpenRPC is not read."""
_NAMES: Final = ("name", "id", "namespace", "capability", "service", "type")
_BUSINESS: Final = ("business", "merchant", "seller", "store", "shop", "provider")
_ADDRESSES: Final = ("commerce_endpoint", "endpoint", "api_endpoint", "ucp_endpoint")
_OWN_KEYS: Final = frozenset({
    "ucp_version", "services", "payment_handlers", "endpoints", "supported_versions", *_BUSINESS[:3],
    *_ADDRESSES,
})  # fmt: skip
_FIRST_RELEASE: Final = "2026-01-11"
"""The release that demands capabilities."""
_IDENTITY: Final = "identity_linking"
_READ: Final = frozenset({"version", "signing_keys", "keys"})
_CAPABILITY_READ: Final = frozenset({"name", "spec", "title", "description"})


@dataclass(frozen=True, slots=True)
class _Binding:
    """One transport of one service, from either shape. `address`: None if it cannot be called."""

    namespace: str
    transport: str | None
    version: str | None
    address: Endpoint | None
    pointer: str
    schema: str | None = None
    auth: Auth | None = None


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
    """Recognise a profile without `ucp`: its members stand at the top, or it follows no release."""
    value = document.members
    names_it = (text_of(value, "protocol") or "").lower() == SLUG
    return _AD_HOC if names_it or not _OWN_KEYS.isdisjoint(value) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    profile = _Profile(value)
    if dialect == _AD_HOC:
        notes.add(rules.SHAPE)
        if "ucp" in value:
            notes.add(rules.NOT_AN_OBJECT, "/ucp", value["ucp"])
        if not profile.has_bindings():
            return _read_ad_hoc(value, document, notes)
    else:
        _grade(profile, notes)
    bindings = list(_read_bindings(profile, document, notes))
    # keys were renamed and moved between releases
    held = [
        (at(pointer, key), list_of(holder, key))
        for holder, pointer in ((profile.own, "/ucp"), (value, ""))
        for key in ("keys", "signing_keys")
    ]
    keys_pointer, keys = next(((pointer, keys) for pointer, keys in held if keys), ("", []))
    business = _read_business(value)
    service = Service(
        name=short_text_of(value, "name") or short_text_of(business, "name"),
        description=text_of(value, "description") or text_of(business, "description"),
        provider=provider_of({**value, "provider": business}, document.url) if business else None,
        homepage=homepage_of(business, document.url) or link(business.get("url"), document.url),
        version=short_text_of(profile.own or value, "version"),
        capabilities=tuple(_read_capabilities(profile, bindings, document, notes)),
        auth=_read_auth(profile, document, notes),
        protocols=tuple(_read_protocols(bindings)),
        pointers=tuple(_read_pointers(bindings, value, document))[:MAX_TEXTS],
        identity=Identity(keys=public_keys(keys)),
        native=native(SLUG, {**{key: item for key, item in value.items() if key != SLUG}, **profile.own}, _READ),
    )
    places = {
        "version": "/ucp/version" if profile.own else "/version",
        "capabilities": profile.place("capabilities"),
        "protocols": profile.place("services"),
        "auth": profile.place("capabilities"),
        "identity": keys_pointer,
        **dict.fromkeys(("name", "description", "provider", "homepage"), ""),
    }
    return manifest.with_provenance(service, document, SLUG, places)


class _Profile:
    """The members of a profile. In flat dialects they stand beside `ucp` or without it."""

    def __init__(self, value: Object) -> None:
        self.own = map_of(value, SLUG)
        self._beside = value

    def member(self, key: str) -> Json:
        return self.own[key] if key in self.own else self._beside.get(key)

    def place(self, key: str) -> str:
        return at("", SLUG, key) if key in self.own or key not in self._beside else at("", key)

    def has_bindings(self) -> bool:
        """Return whether the services are those of the protocol, not entries with addresses of their own."""
        return any(
            isinstance(entry, dict) and not _TRANSPORTS_OR_LISTS.isdisjoint(entry)
            for _, item, _ in _entries_of(self, "services")
            for entry in (item if isinstance(item, list) else [item])
        )


def _entries_of(profile: _Profile, key: str) -> Iterator[tuple[str | None, Json, str]]:
    """Yield name, value and JSON Pointer of the services or capabilities, which are a map or a list."""
    held, place = profile.member(key), profile.place(key)
    if isinstance(held, dict):
        yield from ((name, item, at(place, name)) for name, item in list(held.items())[: manifest.MAX_CAPABILITIES])
    for index, item in enumerate(held[: manifest.MAX_CAPABILITIES] if isinstance(held, list) else ()):
        name = item if isinstance(item, str) else first_text(item, *_NAMES, chars=manifest.ID_CHARS)
        yield name, {} if isinstance(item, str) else item, at(place, index)


def _grade(profile: _Profile, notes: Notes) -> None:
    held = profile.member("services")
    if not isinstance(held, dict | list):
        notes.add(rules.NO_SERVICES, profile.place("services"), held or "")
    elif "services" not in profile.own:
        notes.add(rules.SHAPE, profile.place("services"))
    version = text_of(profile.own, "version") or ""
    if not _DATE.fullmatch(version):
        notes.add(rules.VERSION, "/ucp/version", profile.own.get("version", ""))
    elif version <= _FIRST_RELEASE and profile.member("capabilities") is None:
        notes.add(rules.NO_CAPABILITIES, "/ucp/capabilities")


def _read_bindings(profile: _Profile, document: Document, notes: Notes) -> Iterator[_Binding]:
    for namespace, service, place in _entries_of(profile, "services"):
        items = [(at(place, index), item) for index, item in enumerate(service)] if isinstance(service, list) else []
        for pointer, item in items[:MAX_TEXTS] or [(place, service)]:
            yield from _read_service_bindings(namespace or "", item, bool(items), pointer, document, notes)


def _read_service_bindings(
    namespace: str, item: Json, is_listed: bool, pointer: str, document: Document, notes: Notes
) -> Iterator[_Binding]:
    """Yield the bindings of a service: one `transport` with its `endpoint`, or one member per transport (older). Some
    publishers name several transports at once, or write an address instead of an object."""
    entry: Object = {"endpoint": item} if isinstance(item, str) else item if isinstance(item, dict) else {}
    words = [first_text(entry, "transport"), *texts_of(entry, "transport"), *texts_of(entry, "transports")]
    stated = [word.lower() for word in words if word]
    nested = [key for key in _TRANSPORTS if isinstance(entry.get(key), dict | str) and entry[key] != ""]
    holders: list[tuple[str | None, Json, str]] = [(word, entry, pointer) for word in stated]
    holders += [(key, entry[key], at(pointer, key)) for key in nested if not stated]
    if not stated and (is_listed or not nested):
        notes.add(rules.TRANSPORT, pointer)
    if not holders:
        holders = [(None, entry, pointer)] if any(key in entry for key in _TARGETS) else []
    for name, holder, place in holders:
        key = next((key for key in _TARGETS if isinstance(holder, dict) and holder.get(key)), "endpoint")
        target = holder.get(key) if isinstance(holder, dict) else holder
        target_pointer = at(place, key) if isinstance(holder, dict) else place
        if not target and name != "embedded":
            notes.add(rules.TRANSPORT, target_pointer, name)
        address = endpoint(target, document.url, document, target_pointer, notes)
        if address is not None or name == "embedded":
            notes.mark_read(place)
        described = holder if isinstance(holder, dict) else {}
        schema = link(described.get("schema"), document.url)
        auth = own_auth(described, document.url) or own_auth(entry, document.url)
        yield _Binding(namespace, name, short_text_of(entry, "version"), address, target_pointer, schema, auth)


def _read_capabilities(
    profile: _Profile, bindings: list[_Binding], document: Document, notes: Notes
) -> Iterator[Capability]:
    """Yield the capabilities. Names are reversed domains; the service with that namespace answers a capability."""
    usable = [binding for binding in bindings if binding.address is not None and not _is_card(binding)]
    seen: set[str] = set()
    for name, item, pointer in _entries_of(profile, "capabilities"):
        identifier = line(name, manifest.ID_CHARS) if name else ""
        if not identifier:
            notes.add(rules.CAPABILITY, pointer, item)
        if identifier in seen or item is False:
            notes.mark_read(pointer)  # another version of the same capability, or a refusal
            continue
        if not identifier or identifier.endswith(_IDENTITY):
            continue
        seen.add(identifier)
        first = item[0] if isinstance(item, list) and item else item
        binding = _binding_of(identifier, first, usable)
        call = Invocation(
            "rpc",
            binding.address.url if binding and binding.address else None,
            "POST" if binding and binding.transport in ("mcp", "a2a") else None,
            identifier,
            auth=binding.auth if binding else None,
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


def _binding_of(identifier: str, item: Json, usable: list[_Binding]) -> _Binding | None:
    """Return the binding that answers a capability: of the service in whose namespace it or a capability that it
    extends is, else of the only service."""
    names = [identifier, *texts_of(item, "extends"), text_of(item, "extends")]
    for name in names:
        found = [one for one in usable if name and one.namespace and f".{one.namespace}." in f".{name}."]
        if found:
            return found[0]
    return usable[0] if len({binding.namespace for binding in usable}) == 1 else None


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


def _read_pointers(bindings: list[_Binding], value: Object, document: Document) -> Iterator[Pointer]:
    """Yield the cards and descriptions of the services. A `schema` on another site describes the protocol itself."""
    serving_host = host_of(document.url) or ""
    for binding in bindings:
        if binding.transport == "mcp":
            yield from card_pointer(binding.address, binding.pointer)
        elif binding.address is not None and _is_card(binding):
            yield Pointer(binding.address.url, "a2a", binding.pointer, "a2a")
        expected, pattern = _SCHEMAS.get(binding.transport or "", ("", _NOTHING))
        host = host_of(binding.schema) if binding.schema else None
        if binding.schema and pattern.search(binding.schema) and host and same_site(host, serving_host):
            place = f"{binding.pointer.rpartition('/')[0]}/schema"
            yield Pointer(binding.schema, "service", place, expected)
    yield from named_documents(value, document)


def _read_auth(profile: _Profile, document: Document, notes: Notes) -> Auth:
    """Return optional OAuth where identity linking is offered: buying without a linked account stays possible."""
    linking = []
    for name, item, pointer in _entries_of(profile, "capabilities"):
        if (name or "").endswith(_IDENTITY):
            notes.mark_read(pointer)
            linking.append(item)
    for item in linking:
        first = item[0] if isinstance(item, list) and item else item
        for providers in map_of(map_of(first, "config"), "providers").values():
            provider = providers[0] if isinstance(providers, list) and providers else providers
            setup_url = first_link(provider, ("auth_url",), document.url)
            return Auth((AuthScheme("oauth2", setup_url=setup_url),), False)
    return Auth((AuthScheme("oauth2"),), False) if linking else Auth()


def _read_business(value: Object) -> Object:
    """Return the shop, which no release of the protocol describes."""
    holders = (value, map_of(value, SLUG))
    return next((held for holder in holders for key in _BUSINESS if (held := map_of(holder, key))), {})


def _read_ad_hoc(value: Object, document: Document, notes: Notes) -> Service:
    pointers = tuple(_read_ad_hoc_pointers(value, document))[:MAX_TEXTS]
    target = first_text(value, *_ADDRESSES)
    address = callable_url(target, document.url, document.url) if target else None
    protocol = Protocol(
        SLUG, first_text(value, "ucp_version", "protocol_version", "version"), address.url if address else None
    )
    return loose_card(value, document, SLUG, notes, pointers=pointers, protocol=protocol)


def _read_ad_hoc_pointers(value: Object, document: Document) -> Iterator[Pointer]:
    for index, item in enumerate(list_of(value, "services")[:MAX_TEXTS]):
        if target := first_link(item, ("url",), document.url):
            yield Pointer(target, "service", at("", "services", index, "url"))


FORMAT: Final = Format(
    slug=SLUG,
    title="UCP profile",
    spec="UCP 2026-04-08, Discovery",
    cited_as="UCP ",
    about=(
        "A shop names the commerce services that it offers to agents, such as checkout, and where they are. "
        "Shopping agents read it before they buy."
    ),
    link="https://ucp.dev/",
    example={
        "ucp": {
            "version": "2026-04-08",
            "services": {
                "dev.ucp.shopping": [
                    {
                        "version": "2026-04-08",
                        "transport": "rest",
                        "endpoint": "https://example.com/ucp",
                        "spec": "https://ucp.dev/2026-04-08/specification/overview",
                        "schema": "https://ucp.dev/2026-04-08/services/shopping/rest.openapi.json",
                    },
                ],
            },
            "capabilities": {
                "dev.ucp.shopping.checkout": [
                    {
                        "version": "2026-04-08",
                        "spec": "https://ucp.dev/2026-04-08/specification/checkout",
                        "schema": "https://ucp.dev/2026-04-08/schemas/shopping/checkout.json",
                    },
                ],
            },
            "payment_handlers": {},
        },
    },
    paths=("/.well-known/ucp",),
    role=Role.SERVICE,
    read=read,
    parts=(Part("/ucp/services/{}", "service", EITHER), Part("/ucp/capabilities/*", "capability", EITHER)),
    types={"/ucp/version": TEXT, "/ucp/services/{}/*/transport": TEXT, "/ucp/services/{}/*/endpoint": TEXT},
    rules=rules_in(rules),
    probe_paths=(ProbePath("S3", 50, "/.well-known/ucp"),),
    absence_member="ucp",
    precedence=130,
)
