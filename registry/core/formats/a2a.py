"""A2A agent cards 0.1 to 1.0 (a2a-protocol.org): an agent's skills and the addresses that answer for them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from registry.core.documents import Document, Json
from registry.core.domains import host_of, same_site
from registry.core.endpoints import Endpoint, claim, endpoint, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    ID_CHARS,
    Notes,
    Object,
    at,
    first_text,
    flag_of,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    slug,
    sourced,
    text_of,
    texts_of,
    word_of,
)
from registry.core.security import declared, demanded, demanded_by, schemes_of
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
    Provider,
    Service,
)
from registry.core.signatures import canonical, header_of, signatures_of

MAX_INTERFACES = 50
MAX_SIGNATURES = 20

_SLUG = "a2a"
_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_MODES = ("defaultInputModes", "defaultOutputModes")
_OLDEST = ("name", "url", "version", "capabilities", "skills")
_REQUIRED = {
    "0.1": _OLDEST,
    "0.2": (*_OLDEST, "description", *_MODES),
    "0.3": (*_OLDEST, "description", *_MODES, "protocolVersion"),
    "1.0": ("name", "description", "version", "supportedInterfaces", "capabilities", "skills", *_MODES),
}
"""Required members of a card by the nearest graded version; 0.2.5 and 0.2.6 require what 0.3.0 does."""
_KINDS = {"capabilities": dict, "skills": list, "supportedInterfaces": list, **dict.fromkeys(_MODES, list)}
_SKILL = {"0.1": ("id", "name")}
_SKILL_LATER = ("id", "name", "description", "tags")
_SNAKE = re.compile(r"_([a-z])")
_COMPOUND = frozenset({
    "protocolVersion", "preferredTransport", "additionalInterfaces", "supportedInterfaces", "documentationUrl",
    "iconUrl", *_MODES, "securitySchemes", "securityRequirements", "supportsAuthenticatedExtendedCard",
})  # fmt: skip
"""The members of a card whose names have several words; what else a publisher adds is named as they like."""
_PAGE = re.compile(r"\.html?$", re.IGNORECASE)
_PAID = ("x402", "ap2")


@dataclass(frozen=True, slots=True)
class _Interface:
    address: Endpoint
    binding: str
    version: str | None
    pointer: str


# --- recognition ----------------------------------------------------------------------------------------------------


def dialect(document: Document) -> str | None:
    card = document.value
    if not isinstance(card, dict):
        return None
    if isinstance(card.get("supportedInterfaces"), list):
        return "1.0-hybrid" if isinstance(card.get("url"), str) else "1.0"
    shaped = isinstance(card.get("url"), str) or isinstance(card.get("capabilities"), dict)
    if not isinstance(card.get("skills"), list) or not (
        shaped or "defaultInputModes" in card or "protocolVersion" in card
    ):
        return None
    version = card.get("protocolVersion")
    if isinstance(version, str) and _VERSION.fullmatch(version.strip()):
        return version.strip()
    if "authentication" in card:
        return "0.1"
    return "0.2" if "securitySchemes" in card or "security" in card else "0.1/0.2"


def without_skills(document: Document) -> str | None:
    """Only at an agent card's path: flags of the protocol and an address, but nothing that the agent can do."""
    card = document.value
    flags = map_of(card, "capabilities")
    known = "streaming" in flags or "pushNotifications" in flags
    return "no-skills" if known and text_of(card, "url") else None


# --- reading --------------------------------------------------------------------------------------------------------


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    raw = document.value if isinstance(document.value, dict) else {}
    card = _camel(raw)
    if snakes := [key for key in raw if key not in card and _camel_name(key) in _COMPOUND]:
        notes.add(Reason.A2A_SNAKE_CASE, "", ", ".join(sorted(snakes)))
    version = _graded(card, dialect)
    _grade(card, raw, dialect, version, notes)
    interfaces = _interfaces(card, document, notes)
    auth = _auth(card, document)
    address = interfaces[0] if interfaces else None
    identity = _identity(raw, notes)
    service = Service(
        name=word_of(card, "name"),
        description=text_of(card, "description"),
        provider=_provider(card, document, notes),
        version=word_of(card, "version"),
        docs_url=link(card.get("documentationUrl"), document.url),
        icon_url=link(card.get("iconUrl"), document.url),
        capabilities=tuple(_skills(card, version, address, document, notes)),
        auth=auth,
        pricing=_pricing(card),
        protocols=tuple(_protocols(interfaces, card, document)),
        pointers=tuple(_key_sets(identity, document)),
        identity=identity,
        claims=_claims(card, document, notes),
    )
    if not service.capabilities:
        notes.add(Reason.A2A_NO_SKILL, "/skills")
    security = next((f"/{key}" for key in _SECURITY if key in raw), "")
    return sourced(service, document, _SLUG, {**_PLACES, "auth": security, "protocols": _endpoint_place(card)})


_PLACES = {
    "name": "/name",
    "description": "/description",
    "provider": "/provider",
    "version": "/version",
    "docs_url": "/documentationUrl",
    "icon_url": "/iconUrl",
    "capabilities": "/skills",
    "pricing": "/capabilities/extensions",
    "identity": "/signatures",
    "claims": "/provider/url",
}
_SECURITY = ("securityRequirements", "security", "securitySchemes", "authentication")


def _endpoint_place(card: Object) -> str:
    return "/supportedInterfaces" if "supportedInterfaces" in card else "/url"


def _camel(card: Object) -> Object:
    """Members in snake_case under the name that the specification gives them, unless that one is there too."""
    renamed = {_camel_name(key): value for key, value in card.items()}
    return {**renamed, **{key: value for key, value in card.items() if key in renamed}}


def _camel_name(key: str) -> str:
    return _SNAKE.sub(lambda match: match[1].upper(), key)


def _graded(card: Object, dialect: str) -> str:
    """Which version's rules count: the one that the card declares, or the older one where it declares none."""
    if "supportedInterfaces" in card:
        return "1.0"
    if dialect in ("0.1", "0.2"):
        return dialect
    if dialect in ("0.1/0.2", "no-skills"):
        return min(("0.2", "0.1"), key=lambda version: len(_missing(card, version)))
    return "0.3"


def _missing(card: Object, version: str) -> list[str]:
    wrong = [key for key in _REQUIRED[version] if not isinstance(card.get(key), _KINDS.get(key, str))]
    untold = set(_SKILL.get(version, _SKILL_LATER))
    skills = [item for item in list_of(card, "skills") if isinstance(item, dict)]
    return wrong + [key for key in untold if any(key not in item for item in skills)]


def _grade(card: Object, raw: Object, dialect: str, version: str, notes: Notes) -> None:
    if not text_of(card, "name"):
        notes.add(Reason.A2A_UNNAMED, "/name")
    capabilities = card.get("capabilities")
    if "capabilities" in card and not isinstance(capabilities, dict):
        notes.add(Reason.A2A_CAPABILITIES, "/capabilities", capabilities)
    graded_elsewhere = {"name", "skills", "url", *({"capabilities"} if "capabilities" in card else ())}
    for key in _REQUIRED[version]:
        if key not in graded_elsewhere and not isinstance(card.get(key), _KINDS.get(key, str)):
            notes.add(Reason.A2A_REQUIRED, at("", key))
    if dialect.startswith("1.") and "supportedInterfaces" not in card:
        notes.add(Reason.A2A_MISDECLARED, "/protocolVersion", dialect)
    if "supportedInterfaces" in card and ("url" in card or "additionalInterfaces" in card):
        notes.add(Reason.A2A_HYBRID, "/url" if "url" in card else "/additionalInterfaces")
    if flag_of(raw, "enabled") is False:
        notes.add(Reason.DECLARED_INACTIVE, "/enabled", False)


# --- addresses ------------------------------------------------------------------------------------------------------


def _interfaces(card: Object, document: Document, notes: Notes) -> list[_Interface]:
    """In the order of preference; nothing that is not public https is kept."""
    named = list(_named_interfaces(card, notes))
    if not named:
        notes.add(Reason.A2A_NO_ENDPOINT, _endpoint_place(card))
    found = []
    seen: set[tuple[str, str]] = set()
    for target, binding, version, pointer in named:
        if not isinstance(target, str) or (target, binding) in seen:
            continue
        seen.add((target, binding))
        address = endpoint(target, document.url, document, pointer, notes)
        if address is not None:
            if _is_doubtful(address.url, document.url):
                notes.add(Reason.A2A_ENDPOINT_DOUBTFUL, pointer, target)
            found.append(_Interface(address, binding, version, pointer))
    return found


def _named_interfaces(card: Object, notes: Notes) -> Iterator[tuple[Json, str, str | None, str]]:
    """(url, binding, version, pointer). The default binding is JSON-RPC (0.2.5 preferredTransport, 1.0 in practice)."""
    declares = list_of(card, "supportedInterfaces")[:MAX_INTERFACES]
    for pointer, given in members(declares, "/supportedInterfaces", Reason.A2A_INTERFACE, notes):
        item = _camel(given)
        absent = [key for key in ("url", "protocolBinding", "protocolVersion") if not text_of(item, key)]
        if absent:
            notes.add(Reason.A2A_INTERFACE, pointer, ", ".join(absent))
        if text_of(item, "url"):
            binding = first_text(item, "protocolBinding", "transport") or "JSONRPC"
            yield item["url"], binding, word_of(item, "protocolVersion"), at(pointer, "url")
    version = word_of(card, "protocolVersion")
    if text_of(card, "url"):
        yield card["url"], word_of(card, "preferredTransport") or "JSONRPC", version, "/url"
    others = list_of(card, "additionalInterfaces")[:MAX_INTERFACES]
    for pointer, item in members(others, "/additionalInterfaces", Reason.A2A_INTERFACE, notes):
        yield item.get("url"), word_of(item, "transport") or "JSONRPC", version, at(pointer, "url")


def _is_doubtful(url: str, card_url: str) -> bool:
    place = re.split(r"[?#]", url, maxsplit=1)[0]
    bare = place.partition("://")[2].rstrip("/").count("/") == 0
    return bare or url == card_url or place.endswith(tuple(FORMAT.paths)) or _PAGE.search(place) is not None


def _protocols(interfaces: list[_Interface], card: Object, document: Document) -> Iterator[Protocol]:
    for one in interfaces:
        if one.binding.upper() == "MCP":
            yield Protocol("mcp", None, one.address.url)
        else:
            version = one.version or word_of(card, "protocolVersion")
            yield Protocol(_SLUG, version, one.address.url, one.binding, document.url)


# --- parts ----------------------------------------------------------------------------------------------------------


def _skills(
    card: Object, version: str, interface: _Interface | None, document: Document, notes: Notes
) -> Iterator[Capability]:
    seen: set[str] = set()
    known = schemes_of(card.get("securitySchemes"), document.url)
    modes = [texts_of(card, key) for key in _MODES]
    for pointer, item in members(_as_objects(card, notes), "/skills", Reason.A2A_SKILL, notes):
        item = _camel(item)
        name, given = word_of(item, "name"), text_of(item, "id", ID_CHARS)
        if name is None and given is None:
            notes.add(Reason.A2A_SKILL, pointer)
            continue
        identifier = given or slug(name or "")
        if is_repeated(identifier, seen, at(pointer, "id"), notes):
            continue
        if has_template(item, ("name", "description"), pointer, notes):
            continue
        for key in _SKILL.get(version, _SKILL_LATER):
            if key not in item:
                notes.add(Reason.A2A_REQUIRED, at(pointer, key))
        yield Capability(
            identifier,
            name or identifier,
            text_of(item, "description"),
            tags=texts_of(item, "tags"),
            examples=texts_of(item, "examples", 500),
            input_modes=texts_of(item, "inputModes") or modes[0],
            output_modes=texts_of(item, "outputModes") or modes[1],
            invocations=(_call(item, identifier, interface, known, Origin(document.url, pointer, _SLUG)),),
        )


def _as_objects(card: Object, notes: Notes) -> list[Json]:
    """Skills that are mere texts become objects with that name."""
    items = list_of(card, "skills")
    if any(isinstance(item, str) for item in items):
        notes.add(Reason.A2A_SKILL_TEXT, "/skills")
    return [
        {"id": slug(item), "name": item, "description": item, "tags": []} if isinstance(item, str) else item
        for item in items
    ]


def _call(
    item: Object, identifier: str, interface: _Interface | None, known: dict[str, AuthScheme], origin: Origin
) -> Invocation:
    """JSON-RPC and HTTP+JSON are both called by POST; other bindings have no method."""
    by_post = interface is not None and interface.binding.upper() in ("JSONRPC", "HTTP+JSON", "REST")
    return Invocation(
        "a2a_skill",
        interface.address.url if interface else None,
        "POST" if by_post else None,
        identifier,
        auth=demanded_by(item, known),
        templated=interface.address.templated if interface else False,
        origin=origin,
    )


def _auth(card: Object, document: Document) -> Auth:
    known = schemes_of(card.get("securitySchemes"), document.url)
    said = demanded(card.get("securityRequirements", card.get("security")), known)
    if said is not None:
        return said
    return Auth(tuple(dict.fromkeys(known.values()))) if known else declared(card.get("authentication"), document.url)


def _provider(card: Object, document: Document, notes: Notes) -> Provider | None:
    given = card.get("provider")
    if not isinstance(given, dict):
        return None
    if "organization" not in given:
        reason = Reason.A2A_PROVIDER_NAME if "name" in given else Reason.A2A_REQUIRED
        notes.add(reason, "/provider/organization")
    name = first_text(given, "organization", "name")
    return Provider(name, link(given.get("url"), document.url)) if name or given.get("url") else None


def _identity(raw: Object, notes: Notes) -> Identity:
    """Signatures cover the card as it is served, whatever its members are called."""
    items = list_of(raw, "signatures")[:MAX_SIGNATURES]
    found = signatures_of(items, "/signatures")
    places = {one.pointer for one in found}
    for index in range(len(items)):
        if at("", "signatures", index) not in places:
            notes.add(Reason.A2A_SIGNATURE, at("", "signatures", index))
    return Identity(signatures=found, signed=canonical(raw, "signatures")) if found else Identity()


def _key_sets(identity: Identity, document: Document) -> Iterator[Pointer]:
    """RFC 7515 section 4.1.2: where the key lies. Keys of another site would prove nothing about this one."""
    for one in identity.signatures:
        header = header_of(one.protected) or {}
        target = link(header.get("jku"), document.url)
        if target and same_site(host_of(target) or "", host_of(document.url) or ""):
            yield Pointer(target, "jku", at(one.pointer, "protected"), "jwks")


def _claims(card: Object, document: Document, notes: Notes) -> dict[str, str]:
    claimed = claim(map_of(card, "provider").get("url"), document, "/provider/url", notes)
    return {"provider": claimed} if claimed else {}


def _pricing(card: Object) -> Pricing:
    """An extension for payments is a claim: few that make it ask for a payment (formats.md 3.12)."""
    for extension in list_of(map_of(card, "capabilities"), "extensions"):
        uri = text_of(extension, "uri")
        if uri and any(name in uri.lower() for name in _PAID):
            return Pricing("pay_per_call", note=uri)
    return Pricing()


FORMAT = Format(
    slug=_SLUG,
    title="A2A agent card",
    spec="A2A 1.0, AgentCard",
    paths=("/.well-known/agent-card.json", "/.well-known/agent.json"),
    media_types=("application/json", "application/a2a+json", "application/a2a-agent-card+json"),
    role=Role.SERVICE,
    read=_read,
)
