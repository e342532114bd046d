"""UCP profiles (Universal Commerce Protocol): the shape decides which release a profile follows, not its version."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import Endpoint, endpoint, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    Notes,
    Object,
    at,
    list_of,
    map_of,
    sourced,
    text_of,
    word_of,
)
from registry.core.mcp_parts import card_pointer
from registry.core.plain_text import line
from registry.core.services import (
    Auth,
    AuthScheme,
    Capability,
    Identity,
    Invocation,
    Origin,
    Pointer,
    Pricing,
    Protocol,
    Service,
)
from registry.core.signatures import public_keys

_SLUG: Final = "ucp"
_AD_HOC: Final = "adhoc"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TRANSPORTS: Final = ("rest", "mcp", "a2a", "embedded")
_IDENTITY: Final = "identity_linking"


@dataclass(frozen=True, slots=True)
class _Binding:
    """One transport of one service, as either shape writes it. `address` is None where it cannot be called."""

    namespace: str
    transport: str
    version: str | None
    address: Endpoint | None
    pointer: str


def dialect(document: Document) -> str | None:
    """ "list" (2026-01-11) or "map" (later) by the capabilities; a text instead of a profile is ad hoc."""
    value = document.value
    profile = value.get("ucp") if isinstance(value, dict) else None
    if isinstance(profile, str):
        return _AD_HOC
    if not isinstance(profile, dict):
        return None
    capabilities = profile.get("capabilities")
    return "list" if isinstance(capabilities, list) else "map" if isinstance(capabilities, dict) else "no-capabilities"


def at_own_path(document: Document) -> str | None:
    value = document.value
    return _AD_HOC if isinstance(value, dict) and "ucp_version" in value else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    if dialect == _AD_HOC:
        notes.add(Reason.UCP_SHAPE)
        if "ucp" in value:
            notes.add(Reason.UCP_NOT_AN_OBJECT, "/ucp", value["ucp"])
        return Service(pointers=tuple(_loose(value, document))[:MAX_TEXTS])
    profile = map_of(value, "ucp")
    _grade(profile, dialect, notes)
    bindings = list(_bindings(profile, document, notes))
    keys_at, keys = _keys(value, profile)
    service = Service(
        version=word_of(profile, "version"),
        capabilities=tuple(_capabilities(profile, bindings, document)),
        auth=_auth(profile, document),
        pricing=_pricing(value, profile),
        protocols=tuple(_protocols(bindings)),
        pointers=tuple(_pointers(bindings))[:MAX_TEXTS],
        identity=Identity(keys=public_keys(keys)),
    )
    places = {"version": "/ucp/version", "capabilities": "/ucp/capabilities", "protocols": "/ucp/services"}
    paid = "/ucp/payment_handlers" if map_of(profile, "payment_handlers") else "/payment/handlers"
    others = {"auth": "/ucp/capabilities", "pricing": paid, "identity": keys_at}
    return sourced(service, document, _SLUG, {**places, **others})


def _grade(profile: Object, dialect: str, notes: Notes) -> None:
    if not isinstance(profile.get("services"), dict):
        notes.add(Reason.UCP_NO_SERVICES, "/ucp/services")
    if not _DATE.fullmatch(text_of(profile, "version") or ""):
        notes.add(Reason.UCP_VERSION, "/ucp/version", profile.get("version", ""))
    if dialect == "no-capabilities":
        notes.add(Reason.UCP_NO_CAPABILITIES, "/ucp/capabilities")


def _bindings(profile: Object, document: Document, notes: Notes) -> Iterator[_Binding]:
    for namespace, given in list(map_of(profile, "services").items())[:MAX_TEXTS]:
        place = at("", "ucp", "services", namespace)
        items = list(enumerate(given)) if isinstance(given, list) else [(None, given)]
        for index, item in items[:MAX_TEXTS]:
            pointer = place if index is None else at(place, index)
            yield from _of_service(namespace, item, index is not None, pointer, document, notes)


def _of_service(
    namespace: str, item: Json, listed: bool, pointer: str, document: Document, notes: Notes
) -> Iterator[_Binding]:
    """A transport by name with its endpoint beside it, or one member per transport (the older shape)."""
    transport = word_of(item, "transport")
    nested = [key for key in _TRANSPORTS if isinstance(item, dict) and isinstance(item.get(key), dict)]
    if transport is None and (listed or not nested):
        notes.add(Reason.UCP_TRANSPORT, pointer)
    for name, holder, place in (
        [(transport, item, pointer)] if transport else [(key, map_of(item, key), at(pointer, key)) for key in nested]
    ):
        target = holder.get("endpoint") if isinstance(holder, dict) else None
        if not target and name != "embedded":
            notes.add(Reason.UCP_TRANSPORT, at(place, "endpoint"), name)
        address = endpoint(target, document.url, document, at(place, "endpoint"), notes)
        yield _Binding(namespace, name, word_of(item, "version"), address, at(place, "endpoint"))


def _capabilities(profile: Object, bindings: list[_Binding], document: Document) -> Iterator[Capability]:
    """Names are reversed domains; each is answered by the service whose namespace it lies in."""
    given = profile.get("capabilities")
    named: list[tuple[str | None, Json, str]] = []
    if isinstance(given, dict):
        named = [(name, item, at("", "ucp", "capabilities", name)) for name, item in given.items()]
    elif isinstance(given, list):
        named = [(word_of(item, "name"), item, at("", "ucp", "capabilities", i)) for i, item in enumerate(given)]
    seen: set[str] = set()
    for name, item, pointer in named[:MAX_TEXTS]:
        identifier = line(name, ID_CHARS) if name else ""
        if not identifier or identifier in seen or identifier.endswith(_IDENTITY):
            continue
        seen.add(identifier)
        first = item[0] if isinstance(item, list) and item else item
        binding = _answering(identifier, bindings)
        call = Invocation(
            "rpc",
            binding.address.url if binding and binding.address else None,
            "POST" if binding and binding.transport != "rest" else None,
            identifier,
            templated=bool(binding and binding.address and binding.address.templated),
            origin=Origin(document.url, pointer, _SLUG),
        )
        specification = link(first.get("spec"), document.url) if isinstance(first, dict) else None
        yield Capability(identifier, identifier, docs_url=specification, invocations=(call,))


def _answering(name: str, bindings: list[_Binding]) -> _Binding | None:
    usable = [one for one in bindings if one.address is not None and not _is_card(one)]
    own = [one for one in usable if name.startswith(f"{one.namespace}.")]
    return next(iter(own or usable), None)


def _is_card(binding: _Binding) -> bool:
    """The a2a transport names an agent card as often as the agent itself."""
    return binding.transport == "a2a" and binding.address is not None and binding.address.url.endswith(".json")


def _protocols(bindings: list[_Binding]) -> Iterator[Protocol]:
    for one in bindings:
        if one.address is None:
            continue
        if one.transport in ("mcp", "a2a"):
            card = one.address.url if _is_card(one) else None
            yield Protocol(one.transport, None, None if card else one.address.url, card_url=card)
        else:
            yield Protocol(_SLUG, one.version, one.address.url, one.transport)


def _pointers(bindings: list[_Binding]) -> Iterator[Pointer]:
    for one in bindings:
        if one.transport == "mcp":
            yield from card_pointer(one.address, one.pointer)
        elif one.address is not None and _is_card(one):
            yield Pointer(one.address.url, "a2a", one.pointer, "a2a")


def _auth(profile: Object, document: Document) -> Auth:
    """Identity linking is OAuth for the buyer's account; buying without one stays possible."""
    given = profile.get("capabilities")
    linking = [item for name, item in given.items() if name.endswith(_IDENTITY)] if isinstance(given, dict) else []
    for item in linking:
        first = item[0] if isinstance(item, list) and item else item
        for providers in map_of(map_of(first, "config"), "providers").values():
            provider = providers[0] if isinstance(providers, list) and providers else providers
            setup = link(provider.get("auth_url"), document.url) if isinstance(provider, dict) else None
            return Auth((AuthScheme("oauth2", setup_url=setup),), False)
    return Auth((AuthScheme("oauth2"),), False) if linking else Auth()


def _keys(value: Object, profile: Object) -> tuple[str, list[Json]]:
    """Where the keys stand, which moved twice, and the keys."""
    for holder, place in ((profile, "/ucp"), (value, "")):
        for key in ("keys", "signing_keys"):
            if keys := list_of(holder, key):
                return at(place, key), keys
    return "", []


def _pricing(value: Object, profile: Object) -> Pricing:
    named: list[str | None] = list(map_of(profile, "payment_handlers"))
    named += [word_of(item, "name") for item in list_of(map_of(value, "payment"), "handlers")]
    note = ", ".join(name for name in named[:MAX_TEXTS] if name)
    return Pricing(note=line(f"payment handlers: {note}", ID_CHARS)) if note else Pricing()


def _loose(value: Object, document: Document) -> Iterator[Pointer]:
    for index, item in enumerate(list_of(value, "services")[:MAX_TEXTS]):
        target = link(item.get("url"), document.url) if isinstance(item, dict) else None
        if target:
            yield Pointer(target, "service", at("", "services", index, "url"))


FORMAT = Format(
    slug=_SLUG,
    title="UCP profile",
    spec="UCP 2026-04-08, Discovery",
    paths=("/.well-known/ucp",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=_read,
)
