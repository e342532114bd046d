"""Recognise AWP documents and read them into a service (AWP sections 5 to 7 and 10 to 14)."""

import re
from collections.abc import Iterator
from typing import Final

from registry.core.format_support.endpoints import claim, endpoint, link
from registry.core.format_support.loose import payment_of
from registry.core.format_support.manifest import (
    ID_CHARS,
    MAX_CAPABILITIES,
    MAX_TEXTS,
    NAME_CHARS,
    Notes,
    Object,
    first_text,
    flag_of,
    has_template,
    list_of,
    map_of,
    native,
    short_text_of,
    text_of,
    texts_of,
    with_provenance,
)
from registry.core.format_support.params import Definitions
from registry.core.format_support.vocabulary import auth_type
from registry.core.formats.awp import rules
from registry.core.formats.awp.actions import SLUG, Surface, capabilities
from registry.core.formats.awp.checks import check, check_protocol
from registry.core.model.documents import Document
from registry.core.model.services import Auth, AuthScheme, Pointer, Policies, Pricing, Protocol, Relations, Service
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

PATHS: Final = ("/agent.json", "/.well-known/agent.json")
KNOWN_VERSIONS: Final = ("0.1", "0.2")
LEGACY: Final = "legacy"

_MAX_PROTOCOLS: Final = 50
_VERSION = re.compile(r"\d{1,3}\.\d{1,3}")
_NO_AUTH = re.compile(r"(?:none|no auth(?:entication)?|public)\b", re.IGNORECASE)
_AT_ROOT = re.compile(r"https://[^/]+/agent\.json(?:\?.*)?")
_POINTERS: Final = {
    "name": "/domain",
    "description": "/intent",
    "auth": "/auth",
    "pricing": "/protocols",
    "policies": "/agent_hints",
    "protocols": "/protocols",
    "confidence": "/confidence",
}
_READ: Final = frozenset({
    "awp_version", "domain", "intent", "actions", "protocol", "source", "confidence", "dependencies", "errors",
    "agent_hints", "agent_status", "entities",
})  # fmt: skip
"""Members that the model expresses; entities stand in the schemas of the actions that refer to them."""
_FOLLOWED: Final = (
    ("a2a", "agent_card", "agent_card", "", "a2a"),
    ("mcp", "endpoint", "server-card", "/server-card", "mcp-server-card"),
    ("openapi", "endpoint", "service-desc", "", "openapi"),
)


def dialect(document: Document) -> str | None:
    """Return the declared MAJOR.MINOR, "other" for any other version, None for a document that is not AWP."""
    value = document.value
    if not isinstance(value, dict) or "awp_version" not in value:
        return None
    if not ("actions" in value or "intent" in value) or "workstate_id" in value or "modules" in value:
        return None
    version = str(value["awp_version"])
    return version if _VERSION.fullmatch(version) else "other"


def legacy_dialect(document: Document) -> str | None:
    """Return LEGACY for a document in the format from before version 0.1, None for any other."""
    protocol = document.value.get("protocol") if isinstance(document.value, dict) else None
    return LEGACY if isinstance(protocol, str) and protocol.startswith("awp/") else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    body = document.value if isinstance(document.value, dict) else {}
    if dialect == LEGACY:
        notes.add(rules.LEGACY, "/protocol", body.get("protocol"))
        holder, actions_pointer, key = map_of(body, "capabilities"), "/capabilities/actions", "name"
        domain, auth = None, _read_auth(text_of(holder, "auth", NAME_CHARS), {})
    else:
        _check_version(body, dialect, document, notes)
        check(body, notes)
        holder, actions_pointer, key = body, "/actions", "id"
        declared = map_of(body, "auth")
        domain, auth = _read_domain(body, document, notes), _read_auth(short_text_of(declared, "type"), declared)
    protocols = {protocol.id: protocol for protocol in _read_protocols(body, document, notes)}
    entities = Definitions(map_of(body, "entities"))
    surface = Surface(document, auth, _needing_auth(body), protocols, entities, key, notes)
    service = Service(
        name=domain,
        description=_read_intent(body, notes),
        capabilities=tuple(capabilities(surface, holder, actions_pointer)),
        auth=auth,
        pricing=_read_pricing(body),
        policies=Policies(hints=_read_hints(body)),
        protocols=tuple(protocols.values()),
        pointers=tuple(_read_pointers(body, document)),
        relations=_read_relations(body, document, notes),
        claims={"domain": domain} if domain else {},
        native=native(SLUG, body, _READ),
        synthetic=body.get("source") == "synthetic",
        confidence=_read_confidence(body),
    )
    return with_provenance(service, document, SLUG, {"capabilities": actions_pointer, **_POINTERS})


def _check_version(body: Object, dialect: str, document: Document, notes: Notes) -> None:
    version = body.get("awp_version")
    if not isinstance(version, str) or not version:
        notes.add(rules.VERSION, "/awp_version", version)
    elif not _VERSION.fullmatch(version):
        notes.add(rules.VERSION_FORM, "/awp_version", version)
    elif dialect not in KNOWN_VERSIONS:
        notes.add(rules.VERSION_UNKNOWN, "/awp_version", version)
    # an equal copy at the root does not get this finding, and merge keeps that one: it folds equal bytes by path
    if not _AT_ROOT.fullmatch(document.url):
        notes.add(rules.PATH, "", document.url)


def _read_domain(body: Object, document: Document, notes: Notes) -> str | None:
    if not short_text_of(body, "domain"):
        notes.add(rules.DOMAIN, "/domain", body.get("domain", ""))
        return None
    return None if has_template(body, ("domain",), "", notes) else claim(body["domain"], document, "/domain", notes)


def _read_intent(body: Object, notes: Notes) -> str | None:
    intent = text_of(body, "intent")
    if intent is None:
        notes.add(rules.INTENT, "/intent", body.get("intent", ""))
        return None
    return None if has_template(body, ("intent",), "", notes) else intent


def _read_auth(type_name: str | None, declared: Object) -> Auth:
    """Return the scheme that a type names; "none" also in a sentence that begins so ("none required for search")."""
    kind = auth_type(type_name)
    if kind is None:
        return Auth()
    if kind == "custom" and _NO_AUTH.match(type_name or ""):
        return Auth((AuthScheme("none", note=type_name),), None)
    expiry = short_text_of(declared, "token_expiry")
    notes = (type_name if kind == "custom" else None, f"tokens are valid for {expiry}" if expiry else None)
    note = "; ".join(text for text in notes if text) or None
    return Auth((AuthScheme(kind, note=note),), False if kind == "none" else None)


def _needing_auth(body: Object) -> dict[str, bool]:
    auth = map_of(body, "auth")
    optional, required = (texts_of(auth, key, ID_CHARS, MAX_CAPABILITIES) for key in ("optional_for", "required_for"))
    return {**dict.fromkeys(optional, False), **dict.fromkeys(required, True)}


def _read_protocols(body: Object, document: Document, notes: Notes) -> Iterator[Protocol]:
    for key, entry in list(map_of(body, "protocols").items())[:_MAX_PROTOCOLS]:
        pointer = at("/protocols", key)
        version = short_text_of(entry, "version")
        if version is None:
            notes.add(rules.PAYMENT_VERSION if key == "payment" else rules.PROTOCOL_VERSION, pointer)
        check_protocol(key, entry, pointer, notes)
        holder = entry if isinstance(entry, dict) else {}
        address = endpoint(holder.get("endpoint"), document.url, document, at(pointer, "endpoint"), notes)
        yield Protocol(
            id=line(key, ID_CHARS).lower(),
            version=version,
            endpoint=address.url if address else None,
            transport=short_text_of(entry, "transport"),
            card_url=link(holder.get("agent_card"), document.url),
        )


def _read_pricing(body: Object) -> Pricing:
    protocols = map_of(body, "protocols")
    payment = first_text(protocols.get("payment"), "type", "note", chars=NAME_CHARS)
    note = f"payment: {payment}" if payment else None
    payment_entry = map_of(protocols, "x402")
    payment_terms = payment_of(payment_entry)
    return Pricing(
        model="pay_per_call" if "x402" in protocols else "unknown",
        note=note,
        payments=(payment_terms,) if payment_terms else (),
    )


def _read_pointers(body: Object, document: Document) -> Iterator[Pointer]:
    protocols = map_of(body, "protocols")
    for key, field, rel, suffix, expected in _FOLLOWED:
        declared_url = map_of(protocols, key).get(field)
        target = link(declared_url, document.url)
        if target is not None and "{" not in str(declared_url):
            url = target.rstrip("/") + suffix if suffix else target
            yield Pointer(url, rel, at("/protocols", key, field), expected)


def _read_hints(body: Object) -> dict[str, str]:
    hints = map_of(body, "agent_hints")
    texts = ((line(key, ID_CHARS), text_of(hints, key)) for key in list(hints)[:MAX_TEXTS])
    return {key: text for key, text in texts if key and text}


def _read_relations(body: Object, document: Document, notes: Notes) -> Relations:
    status = map_of(body, "agent_status")
    return Relations(
        dependencies=_read_dependencies(body, notes),
        errors={
            line(code, ID_CHARS): recovery
            for code, entry in list(map_of(body, "errors").items())[:MAX_TEXTS]
            if (recovery := text_of(entry, "recovery"))
        },
        operational=flag_of(status, "operational"),
        degraded=texts_of(status, "degraded_actions", ID_CHARS),
        status_url=link(status.get("status_endpoint"), document.url),
    )


def _read_dependencies(body: Object, notes: Notes) -> dict[str, tuple[str, ...]]:
    action_ids = {text_of(action, "id", ID_CHARS) for action in list_of(body, "actions")}
    dependencies = map_of(body, "dependencies")
    prerequisites_by_action = {}
    for name in list(dependencies)[:MAX_CAPABILITIES]:
        action, prerequisites = line(name, ID_CHARS), texts_of(dependencies, name, ID_CHARS)
        for action_id in (action, *prerequisites):
            if action_id not in action_ids:
                notes.add(rules.DEPENDENCY_UNKNOWN, at("/dependencies", name), action_id)
        if prerequisites:
            prerequisites_by_action[action] = prerequisites
    return prerequisites_by_action


def _read_confidence(body: Object) -> float | None:
    confidence = body.get("confidence")
    if not isinstance(confidence, int | float) or isinstance(confidence, bool):
        return None
    return float(confidence) if 0 <= confidence <= 1 else None
