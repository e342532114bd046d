"""Recognise A2A agent cards 0.1 to 1.0 (a2a-protocol.org) and read them into the common model."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from registry.core.format_support import common_rules
from registry.core.format_support.endpoints import Endpoint, claim, endpoint, link
from registry.core.format_support.manifest import (
    ID_CHARS,
    Notes,
    Object,
    first_text,
    flag_of,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    short_text_of,
    slug,
    text_of,
    texts_of,
    with_provenance,
)
from registry.core.format_support.security import loose_auth, operation_auth, required_auth, schemes_of
from registry.core.format_support.signatures import canonical, header_of, signatures_of
from registry.core.formats.a2a import rules
from registry.core.model.documents import Document, Json
from registry.core.model.services import (
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
from registry.core.names.domains import host_of, same_site
from registry.core.reading.json_pointer import at

MAX_INTERFACES = 50
MAX_SIGNATURES = 20

SLUG = "a2a"
PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_MODES = ("defaultInputModes", "defaultOutputModes")
_OLDEST = ("name", "url", "version", "capabilities", "skills")
_REQUIRED = {
    "0.1": _OLDEST,
    "0.2": (*_OLDEST, "description", *_MODES),
    "0.3": (*_OLDEST, "description", *_MODES, "protocolVersion"),
    "1.0": ("name", "description", "version", "supportedInterfaces", "capabilities", "skills", *_MODES),
}
"""Required members of a card by graded version; 0.2.5 and 0.2.6 require the same as 0.3.0."""
_KINDS = {"capabilities": dict, "skills": list, "supportedInterfaces": list, **dict.fromkeys(_MODES, list)}
_SKILL = {"0.1": ("id", "name")}
_SKILL_LATER = ("id", "name", "description", "tags")
_SNAKE = re.compile(r"_([a-z])")
_COMPOUND = frozenset({
    "protocolVersion", "preferredTransport", "additionalInterfaces", "supportedInterfaces", "documentationUrl",
    "iconUrl", *_MODES, "securitySchemes", "securityRequirements", "supportsAuthenticatedExtendedCard",
})  # fmt: skip
"""Members of a card whose names have several words. Publishers may write their own members in snake_case."""
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
    has_url_or_capabilities = isinstance(card.get("url"), str) or isinstance(card.get("capabilities"), dict)
    if not isinstance(card.get("skills"), list) or not (
        has_url_or_capabilities or "defaultInputModes" in card or "protocolVersion" in card
    ):
        return None
    version = card.get("protocolVersion")
    if isinstance(version, str) and _VERSION.fullmatch(version.strip()):
        return version.strip()
    if "authentication" in card:
        return "0.1"
    return "0.2" if "securitySchemes" in card or "security" in card else "0.1/0.2"


def without_skills(document: Document) -> str | None:
    """Return "no-skills" for flags of the protocol and an address without skills. A weak test, for a card's paths."""
    card = document.value
    flags = map_of(card, "capabilities")
    has_flags = "streaming" in flags or "pushNotifications" in flags
    return "no-skills" if has_flags and text_of(card, "url") else None


# --- reading --------------------------------------------------------------------------------------------------------


def read(document: Document, dialect: str, notes: Notes) -> Service:
    raw = document.value if isinstance(document.value, dict) else {}
    card = _camel(raw)
    if snake_case_keys := [key for key in raw if key not in card and _camel_name(key) in _COMPOUND]:
        notes.add(rules.SNAKE_CASE, "", ", ".join(sorted(snake_case_keys)))
    version = _graded_version(card, dialect)
    _check_card(card, raw, dialect, version, notes)
    interfaces = _interfaces(card, document, notes)
    auth = _auth(card, document)
    interface = interfaces[0] if interfaces else None
    identity = _identity(raw, notes)
    service = Service(
        name=short_text_of(card, "name"),
        description=text_of(card, "description"),
        provider=_provider(card, document, notes),
        version=short_text_of(card, "version"),
        docs_url=link(card.get("documentationUrl"), document.url),
        icon_url=link(card.get("iconUrl"), document.url),
        capabilities=tuple(_skills(card, version, interface, document, notes)),
        auth=auth,
        pricing=_pricing(card),
        protocols=tuple(_protocols(interfaces, card, document)),
        pointers=tuple(_key_set_pointers(identity, document)),
        identity=identity,
        claims=_claims(card, document, notes),
    )
    if not service.capabilities:
        notes.add(rules.NO_SKILL, "/skills")
    security_pointer = next((f"/{key}" for key in _SECURITY if key in raw), "")
    return with_provenance(
        service, document, SLUG, {**_POINTERS, "auth": security_pointer, "protocols": _endpoint_pointer(card)}
    )


_POINTERS = {
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


def _endpoint_pointer(card: Object) -> str:
    return "/supportedInterfaces" if "supportedInterfaces" in card else "/url"


def _camel(card: Object) -> Object:
    """Return the card with members renamed from snake_case to camelCase; a member in camelCase takes precedence."""
    renamed = {_camel_name(key): value for key, value in card.items()}
    return {**renamed, **{key: value for key, value in card.items() if key in renamed}}


def _camel_name(key: str) -> str:
    return _SNAKE.sub(lambda match: match[1].upper(), key)


def _graded_version(card: Object, dialect: str) -> str:
    """Return the version that the card is graded by.

    A card that declares none is graded by whichever of 0.1 and 0.2 finds fewer required members missing.
    """
    if "supportedInterfaces" in card:
        return "1.0"
    if dialect in ("0.1", "0.2"):
        return dialect
    if dialect in ("0.1/0.2", "no-skills"):
        return min(("0.2", "0.1"), key=lambda version: len(_missing(card, version)))
    return "0.3"


def _missing(card: Object, version: str) -> list[str]:
    missing = [key for key in _REQUIRED[version] if not isinstance(card.get(key), _KINDS.get(key, str))]
    required = set(_SKILL.get(version, _SKILL_LATER))
    skills = [skill for skill in list_of(card, "skills") if isinstance(skill, dict)]
    return missing + [key for key in required if any(key not in skill for skill in skills)]


def _check_card(card: Object, raw: Object, dialect: str, version: str, notes: Notes) -> None:
    if not text_of(card, "name"):
        notes.add(rules.UNNAMED, "/name")
    capabilities = card.get("capabilities")
    if "capabilities" in card and not isinstance(capabilities, dict):
        notes.add(rules.CAPABILITIES, "/capabilities", capabilities)
    graded_elsewhere = {"name", "skills", "url", *({"capabilities"} if "capabilities" in card else ())}
    for key in _REQUIRED[version]:
        if key not in graded_elsewhere and not isinstance(card.get(key), _KINDS.get(key, str)):
            notes.add(rules.REQUIRED, at("", key))
    if dialect.startswith("1.") and "supportedInterfaces" not in card:
        notes.add(rules.MISDECLARED, "/protocolVersion", dialect)
    if "supportedInterfaces" in card and ("url" in card or "additionalInterfaces" in card):
        notes.add(rules.HYBRID, "/url" if "url" in card else "/additionalInterfaces")
    if flag_of(raw, "enabled") is False:
        notes.add(common_rules.DECLARED_INACTIVE, "/enabled", False)


# --- addresses ------------------------------------------------------------------------------------------------------


def _interfaces(card: Object, document: Document, notes: Notes) -> list[_Interface]:
    """Return the callable interfaces in order of preference; addresses that are not public are left out."""
    declared = list(_declared_interfaces(card, notes))
    if not declared:
        notes.add(rules.NO_ENDPOINT, _endpoint_pointer(card))
    interfaces = []
    seen: set[tuple[str, str]] = set()
    for target, binding, version, pointer in declared:
        if not isinstance(target, str) or (target, binding) in seen:
            continue
        seen.add((target, binding))
        address = endpoint(target, document.url, document, pointer, notes)
        if address is not None:
            if _is_doubtful(address.url, document.url):
                notes.add(rules.ENDPOINT_DOUBTFUL, pointer, target)
            interfaces.append(_Interface(address, binding, version, pointer))
    return interfaces


def _declared_interfaces(card: Object, notes: Notes) -> Iterator[tuple[Json, str, str | None, str]]:
    """Yield (url, binding, version, pointer).

    The default binding is JSON-RPC (0.2.5 preferredTransport, 1.0 in practice).
    """
    supported = list_of(card, "supportedInterfaces")[:MAX_INTERFACES]
    for pointer, entry in members(supported, "/supportedInterfaces", rules.INTERFACE, notes):
        item = _camel(entry)
        missing = [key for key in ("url", "protocolBinding", "protocolVersion") if not text_of(item, key)]
        if missing:
            notes.add(rules.INTERFACE, pointer, ", ".join(missing))
        if text_of(item, "url"):
            binding = first_text(item, "protocolBinding", "transport") or "JSONRPC"
            yield item["url"], binding, short_text_of(item, "protocolVersion"), at(pointer, "url")
    version = short_text_of(card, "protocolVersion")
    if text_of(card, "url"):
        yield card["url"], short_text_of(card, "preferredTransport") or "JSONRPC", version, "/url"
    additional = list_of(card, "additionalInterfaces")[:MAX_INTERFACES]
    for pointer, item in members(additional, "/additionalInterfaces", rules.INTERFACE, notes):
        yield item.get("url"), short_text_of(item, "transport") or "JSONRPC", version, at(pointer, "url")


def _is_doubtful(url: str, card_url: str) -> bool:
    without_query = re.split(r"[?#]", url, maxsplit=1)[0]
    is_bare_site = without_query.partition("://")[2].rstrip("/").count("/") == 0
    return is_bare_site or url == card_url or without_query.endswith(PATHS) or _PAGE.search(without_query) is not None


def _protocols(interfaces: list[_Interface], card: Object, document: Document) -> Iterator[Protocol]:
    for interface in interfaces:
        if interface.binding.upper() == "MCP":
            yield Protocol("mcp", None, interface.address.url)
        else:
            version = interface.version or short_text_of(card, "protocolVersion")
            yield Protocol(SLUG, version, interface.address.url, interface.binding, document.url)


# --- parts ----------------------------------------------------------------------------------------------------------


def _skills(
    card: Object, version: str, interface: _Interface | None, document: Document, notes: Notes
) -> Iterator[Capability]:
    seen: set[str] = set()
    schemes = schemes_of(card.get("securitySchemes"), document.url)
    modes = [texts_of(card, key) for key in _MODES]
    for pointer, item in members(_as_objects(card, notes), "/skills", rules.SKILL, notes):
        item = _camel(item)
        name, declared_id = short_text_of(item, "name"), text_of(item, "id", ID_CHARS)
        if name is None and declared_id is None:
            notes.add(rules.SKILL, pointer)
            continue
        identifier = declared_id or slug(name or "")
        if is_repeated(identifier, seen, at(pointer, "id"), notes):
            continue
        if has_template(item, ("name", "description"), pointer, notes):
            continue
        for key in _SKILL.get(version, _SKILL_LATER):
            if key not in item:
                notes.add(rules.REQUIRED, at(pointer, key))
        yield Capability(
            identifier,
            name or identifier,
            text_of(item, "description"),
            tags=texts_of(item, "tags"),
            examples=texts_of(item, "examples", 500),
            input_modes=texts_of(item, "inputModes") or modes[0],
            output_modes=texts_of(item, "outputModes") or modes[1],
            invocations=(_call(item, identifier, interface, schemes, Origin(document.url, pointer, SLUG)),),
        )


def _as_objects(card: Object, notes: Notes) -> list[Json]:
    """Return the skills, with each bare text replaced by an object of that name."""
    items = list_of(card, "skills")
    if any(isinstance(item, str) for item in items):
        notes.add(rules.SKILL_TEXT, "/skills")
    return [
        {"id": slug(item), "name": item, "description": item, "tags": []} if isinstance(item, str) else item
        for item in items
    ]


def _call(
    item: Object, identifier: str, interface: _Interface | None, schemes: dict[str, AuthScheme], origin: Origin
) -> Invocation:
    """Return the call of a skill. JSON-RPC and HTTP+JSON use POST; other bindings have no method."""
    uses_post = interface is not None and interface.binding.upper() in ("JSONRPC", "HTTP+JSON", "REST")
    return Invocation(
        "a2a_skill",
        interface.address.url if interface else None,
        "POST" if uses_post else None,
        identifier,
        auth=operation_auth(item, schemes),
        templated=interface.address.templated if interface else False,
        origin=origin,
    )


def _auth(card: Object, document: Document) -> Auth:
    schemes = schemes_of(card.get("securitySchemes"), document.url)
    declared = required_auth(card.get("securityRequirements", card.get("security")), schemes)
    if declared is not None:
        return declared
    return (
        Auth(tuple(dict.fromkeys(schemes.values())))
        if schemes
        else loose_auth(card.get("authentication"), document.url)
    )


def _provider(card: Object, document: Document, notes: Notes) -> Provider | None:
    provider = card.get("provider")
    if not isinstance(provider, dict):
        return None
    if "organization" not in provider:
        rule = rules.PROVIDER_NAME if "name" in provider else rules.REQUIRED
        notes.add(rule, "/provider/organization")
    name = first_text(provider, "organization", "name")
    return Provider(name, link(provider.get("url"), document.url)) if name or provider.get("url") else None


def _identity(raw: Object, notes: Notes) -> Identity:
    """Return the signatures and the signed text: the card as served, before members are renamed."""
    items = list_of(raw, "signatures")[:MAX_SIGNATURES]
    signatures = signatures_of(items, "/signatures")
    pointers = {signature.pointer for signature in signatures}
    for index in range(len(items)):
        if at("", "signatures", index) not in pointers:
            notes.add(rules.SIGNATURE, at("", "signatures", index))
    return Identity(signatures=signatures, signed=canonical(raw, "signatures")) if signatures else Identity()


def _key_set_pointers(identity: Identity, document: Document) -> Iterator[Pointer]:
    """Yield pointers to key sets named by `jku` (RFC 7515 section 4.1.2), except those of other sites.

    A key of another site proves nothing about this one.
    """
    for signature in identity.signatures:
        header = header_of(signature.protected) or {}
        target = link(header.get("jku"), document.url)
        if target and same_site(host_of(target) or "", host_of(document.url) or ""):
            yield Pointer(target, "jku", at(signature.pointer, "protected"), "jwks")


def _claims(card: Object, document: Document, notes: Notes) -> dict[str, str]:
    claimed = claim(map_of(card, "provider").get("url"), document, "/provider/url", notes)
    return {"provider": claimed} if claimed else {}


def _pricing(card: Object) -> Pricing:
    """Return pay-per-call pricing if an extension for payments is declared; this is only a claim of the card."""
    for extension in list_of(map_of(card, "capabilities"), "extensions"):
        uri = text_of(extension, "uri")
        if uri and any(name in uri.lower() for name in _PAID):
            return Pricing("pay_per_call", note=uri)
    return Pricing()
