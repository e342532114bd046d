"""Recognise A2A agent cards 0.1 to 1.0 (a2a-protocol.org) and read them into the common model."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from registry.core.format_support import common_rules, loose, manifest
from registry.core.format_support.account import TEXT_OR_OBJECT, Part
from registry.core.format_support.endpoints import claims, first_link, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import NAME_CHARS, Notes, Object, first_text, list_of, map_of, text_of
from registry.core.format_support.named_addresses import named_documents
from registry.core.format_support.probing import CARD_CAP, ProbePath
from registry.core.format_support.security import NOTHING_NEEDED, loose_auth, required_auth, schemes_of
from registry.core.format_support.shapes import LIST, OBJECT, TEXT, says_no_auth, stated_pricing
from registry.core.format_support.signatures import canonical, header_of, signatures_of
from registry.core.formats.a2a import addresses, rules
from registry.core.formats.a2a.skills import MODES, REQUIRED, REQUIRED_LATER, skills_of
from registry.core.formats.a2a.write import WRITER
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, Identity, Pointer, Pricing, Service
from registry.core.names.domains import host_of, same_site
from registry.core.reading.json_pointer import at

MAX_SIGNATURES = 20

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_OLDEST = ("name", "url", "version", "capabilities", "skills")
_REQUIRED = {
    "0.1": _OLDEST,
    "0.2": (*_OLDEST, "description", *MODES),
    "0.3": (*_OLDEST, "description", *MODES, "protocolVersion"),
    "1.0": ("name", "description", "version", "supportedInterfaces", "capabilities", "skills", *MODES),
}
"""Required members of a card by graded version; 0.2.5 and 0.2.6 require the same as 0.3.0."""
_KINDS = {"capabilities": dict, "skills": list, "supportedInterfaces": list, **dict.fromkeys(MODES, list)}
_COMPOUND = frozenset({
    "protocolVersion", "preferredTransport", "additionalInterfaces", "supportedInterfaces", "documentationUrl",
    "iconUrl", *MODES, "securitySchemes", "securityRequirements", "supportsAuthenticatedExtendedCard",
})  # fmt: skip
"""Members of a card whose names have several words. Publishers may write their own members in snake_case."""
_ASKS = frozenset({
    "service.unnamed", "service.undescribed", "service.unversioned", "service.without_capabilities",
    "capability.undescribed", "capability.unreachable",
})  # fmt: skip
_PAID = ("x402", "ap2")
_DISPLAYED = ("displayName", "name")
_TAGS = ("registryTags", "tags", "keywords", "categories")
_DOCS = ("documentationUrl", "documentation", "docs", "docsUrl")
_LANGUAGES = ("languages", "availableLanguage", "availableLanguages", "supportedLanguages")
_READ: Final = frozenset({
    "name", "displayName", "description", "version", "skills", "url", "supportedInterfaces", "additionalInterfaces",
    "preferredTransport", "protocolVersion", "documentationUrl", "iconUrl", "securitySchemes", "security",
    "securityRequirements", "signatures", "homepage", "license", "author", *MODES, *_TAGS, *_LANGUAGES,
})  # fmt: skip


def dialect(document: Document) -> str | None:
    card = document.members
    if any(isinstance(card.get(key), list | dict) for key in ("supportedInterfaces", "supported_interfaces")):
        return "1.0-hybrid" if isinstance(card.get("url"), str) else "1.0"
    skills = card.get("skills")
    is_versioned = "defaultInputModes" in card or "protocolVersion" in card
    has_url_or_capabilities = isinstance(card.get("url"), str) or isinstance(card.get("capabilities"), dict)
    if not (isinstance(skills, list) and (is_versioned or has_url_or_capabilities)) and not (
        isinstance(skills, dict) and is_versioned and has_url_or_capabilities
    ):
        return None
    version = addresses.version_of(card)
    if version is not None and _VERSION.fullmatch(version):
        return version
    if "authentication" in card:
        return "0.1"
    return "0.2" if "securitySchemes" in card or "security" in card else "0.1/0.2"


def without_skills(document: Document) -> str | None:
    """Return "no-skills" for flags of the protocol and an address without skills. A weak test, for a card's paths."""
    card = document.value
    flags = map_of(card, "capabilities")
    has_flags = "streaming" in flags or "pushNotifications" in flags
    return "no-skills" if has_flags and text_of(card, "url") else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    raw = document.members
    card = addresses.camel(raw)
    if snake_case_keys := [key for key in raw if key not in card and addresses.camel_name(key) in _COMPOUND]:
        notes.add(rules.SNAKE_CASE, "", ", ".join(sorted(snake_case_keys)))
    version = _read_graded_version(card, dialect)
    _check_card(card, raw, dialect, version, notes)
    interfaces = addresses.interfaces_of(card, raw, document, notes)
    identity = _read_identity(raw, notes)
    provider = card.get("provider")
    if isinstance(provider, dict) and "organization" not in provider:
        notes.add(rules.PROVIDER_NAME if "name" in provider else rules.REQUIRED, "/provider/organization")
    provider_url = map_of(card, "provider").get("url")
    is_plain_provider = set(map_of(raw, "provider")) <= {"organization", "name", "url"}  # all of it is expressed
    expressed = {key for key in raw if addresses.camel_name(key) in _READ or (key == "provider" and is_plain_provider)}
    service = Service(
        name=first_text(card, *_DISPLAYED, chars=NAME_CHARS),
        description=text_of(card, "description"),
        provider=loose.provider_of(card, document.url),
        version=manifest.short_text_of(card, "version"),
        homepage=loose.homepage_of(card, document.url) or addresses.home_of(card, interfaces, document),
        docs_url=first_link(card, _DOCS, document.url),
        icon_url=link(card.get("iconUrl"), document.url),
        repository=loose.repository_of(card, document.url),
        license=loose.license_of(card),
        languages=_read_texts(card, _LANGUAGES),
        tags=_read_texts(card, _TAGS),
        capabilities=tuple(skills_of(card, version, interfaces, document, notes)),
        auth=_read_auth(card, document),
        pricing=_read_pricing(card, document),
        protocols=tuple(addresses.protocols_of(interfaces, card, document)),
        pointers=(*_key_set_pointers(identity, document), *named_documents(card, document)),
        identity=identity,
        claims=claims("provider", provider_url, document, "/provider/url", notes, common_rules.PROVIDER_ELSEWHERE),
        native=manifest.native(addresses.SLUG, raw, expressed),
    )
    if not service.capabilities:
        notes.add(rules.NO_SKILL, "/skills")
    pointers = {
        **_POINTERS,
        "name": next((at("", key) for key in _DISPLAYED if key in card), ""),
        "auth": next((f"/{key}" for key in _SECURITY if key in raw), ""),
        "protocols": addresses.endpoint_pointer(raw),
        **{
            field: next((at("", key) for key in keys if key in raw), pointer)
            for field, (keys, pointer) in _SPELLINGS.items()
        },
    }
    return manifest.with_provenance(service, document, addresses.SLUG, pointers)


def _read_texts(card: Object, keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for key in keys for text in manifest.texts_of(card, key)))


_POINTERS = {
    "name": "/name",
    "description": "/description",
    "provider": "/provider",
    "version": "/version",
    "docs_url": "/documentationUrl",
    "icon_url": "/iconUrl",
    "capabilities": "/skills",
    "identity": "/signatures",
    "claims": "/provider/url",
}
_SPELLINGS = {
    "provider": (("provider", "author", "contact"), ""),
    "homepage": (("homepage", "website", "websiteUrl", "url"), ""),
    "repository": (("repository",), ""),
    "license": (("license",), ""),
    "tags": (_TAGS, ""),
    "languages": (_LANGUAGES, ""),
    "pricing": (("pricing",), "/capabilities/extensions"),
}
_SECURITY = ("securityRequirements", "security", "securitySchemes", "authentication")


def _read_graded_version(card: Object, dialect: str) -> str:
    """Return the version that the card is graded by; undeclared, the one of 0.1 and 0.2 that demands less of it."""
    if "supportedInterfaces" in card:
        return "1.0"
    if dialect in ("0.1", "0.2"):
        return dialect
    if dialect in ("0.1/0.2", "no-skills"):
        return min(("0.2", "0.1"), key=lambda version: len(_find_missing(card, version)))
    return "0.3"


def _find_missing(card: Object, version: str) -> list[str]:
    missing = [key for key in _REQUIRED[version] if not isinstance(card.get(key), _KINDS.get(key, str))]
    required = set(REQUIRED.get(version, REQUIRED_LATER))
    held = card.get("skills")
    skills = [
        one for one in (held.values() if isinstance(held, dict) else list_of(card, "skills")) if isinstance(one, dict)
    ]
    return missing + [key for key in required if any(key not in skill for skill in skills)]


def _check_card(card: Object, raw: Object, dialect: str, version: str, notes: Notes) -> None:
    if not text_of(card, "name"):
        notes.add(rules.UNNAMED, "/name")
    capabilities = card.get("capabilities")
    if "capabilities" in card and not isinstance(capabilities, dict):
        notes.add(rules.CAPABILITIES, "/capabilities", capabilities)
    graded_elsewhere = {"name", "skills", "url", *({"capabilities", "supportedInterfaces"} & card.keys())}
    for key in _REQUIRED[version]:
        if key not in graded_elsewhere and not isinstance(card.get(key), _KINDS.get(key, str)):
            notes.add(
                rules.REQUIRED if card.get(key) is None else common_rules.WRONG_TYPE, at("", key), card.get(key, "")
            )
    if dialect.startswith("1.") and "supportedInterfaces" not in card:
        notes.add(rules.MISDECLARED, "/protocolVersion", dialect)
    if "supportedInterfaces" in card and ("url" in card or "additionalInterfaces" in card):
        notes.add(rules.HYBRID, "/url" if "url" in card else "/additionalInterfaces")
    if manifest.flag_of(raw, "enabled") is False:
        notes.add(common_rules.DECLARED_INACTIVE, "/enabled", False)


def _read_auth(card: Object, document: Document) -> Auth:
    schemes = schemes_of(card.get("securitySchemes"), document.url)
    declared = required_auth(card.get("securityRequirements", card.get("security")), schemes)
    if declared is not None and (declared.schemes or not schemes):
        return declared
    if schemes:
        distinct = tuple(dict.fromkeys(schemes.values()))
        return Auth(distinct, False if all(scheme.type == "none" for scheme in distinct) else None)
    auth = loose_auth(card.get("authentication", card.get("auth")), document.url)
    return NOTHING_NEEDED if auth == Auth() and says_no_auth([text_of(card, "description")]) else auth


def _read_identity(raw: Object, notes: Notes) -> Identity:
    """Return the signatures and the signed text: the card as served, before members are renamed."""
    items = list_of(raw, "signatures")[:MAX_SIGNATURES]
    signatures = signatures_of(items, "/signatures")
    pointers = {signature.pointer for signature in signatures}
    for index in range(len(items)):
        if at("", "signatures", index) not in pointers:
            notes.add(rules.SIGNATURE, at("", "signatures", index))
    return Identity(signatures=signatures, signed=canonical(raw, "signatures")) if signatures else Identity()


def _key_set_pointers(identity: Identity, document: Document) -> Iterator[Pointer]:
    """Yield pointers to key sets named by `jku` (RFC 7515 section 4.1.2). A key of another site would prove nothing."""
    for signature in identity.signatures:
        header = header_of(signature.protected) or {}
        target = link(header.get("jku"), document.url)
        if target and same_site(host_of(target) or "", host_of(document.url) or ""):
            yield Pointer(target, "jku", at(signature.pointer, "protected"), "jwks")


def _read_pricing(card: Object, document: Document) -> Pricing:
    """Return the prices in a pricing member, a payment extension (only a claim of the card), or the description."""
    pricing = loose.with_payments(loose.pricing_of(card.get("pricing"), document.url), card)
    if pricing.model != "unknown":
        return pricing
    for extension in list_of(map_of(card, "capabilities"), "extensions"):
        uri = text_of(extension, "uri")
        if uri and any(name in uri.lower() for name in _PAID):
            paid = loose.with_payments(pricing, {"x402": map_of(extension, "params")})
            return replace(paid, model="pay_per_call", note=pricing.note or uri)
    return replace(pricing, model=stated_pricing([pricing.note, text_of(card, "description")]) or "unknown")


_SKILL: Final = {**dict.fromkeys(("id", "name", "description"), TEXT), "tags": LIST, "examples": LIST}

FORMAT: Final = Format(
    slug=addresses.SLUG,
    title="A2A agent card",
    spec="A2A 1.0, AgentCard",
    cited_as="A2A ",
    mistakes={"/version": None, "/skills/0/tags": None, "/skills/0/description": None},
    about=(
        "An agent says what it can do, where it answers and how to sign in. Other agents read the card "
        "before they send it a task."
    ),
    link="https://a2a-protocol.org/latest/specification/",
    example={
        "name": "City weather",
        "description": "Tells the weather of any city.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": "https://example.com/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [
            {
                "id": "get_weather",
                "name": "Get weather",
                "description": "Tell the weather of a city.",
                "tags": ["weather"],
            },
        ],
    },
    paths=addresses.PATHS,
    media_types=("application/json", "application/a2a+json", "application/a2a-agent-card+json"),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/skills/[]", "skill", TEXT_OR_OBJECT, _SKILL),
        Part("/supportedInterfaces|additionalInterfaces/[]", "interface", members={"url": TEXT}),
    ),
    types={
        **dict.fromkeys(("/name", "/description", "/version", "/url", "/documentationUrl", "/iconUrl"), TEXT),
        **dict.fromkeys((f"/{key}" for key in MODES), LIST),
        "/provider": OBJECT,
        "/securitySchemes": OBJECT,
    },
    rules=rules_in(rules),
    asks=_ASKS,
    promised_paths=("/.well-known/agent-card.json",),
    accept="application/a2a-agent-card+json",
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S3", 10, "/.well-known/agent-card.json"),
        ProbePath("S1", 30, "/.well-known/agent-card.json", sub_host="api"),
    ),
    absence_member="a2a",
    precedence=70,
    writer=WRITER,
)
