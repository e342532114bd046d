"""Recognise AWP documents, read them into a service and check what AWP demands (AWP sections 4 to 14)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from registry.core.format_support.endpoints import claim, endpoint, link, origin_of
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
    is_repeated,
    list_of,
    map_of,
    members,
    native,
    own_members,
    required_text,
    short_text_of,
    text_of,
    texts_of,
    with_provenance,
)
from registry.core.format_support.params import Definitions, object_schema, property_of, type_of
from registry.core.format_support.security import NOTHING_NEEDED
from registry.core.format_support.shapes import FLAG, IDS, LIST, OBJECT, TEXT, check_types, one_of
from registry.core.format_support.vocabulary import ACTION_METHODS, auth_type, http_method, rate_limit_text
from registry.core.formats.awp import rules
from registry.core.model import services
from registry.core.model.documents import Document, Json
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = "awp"

_ACTION_READ: Final = frozenset({
    "id", "name", "title", "description", "intent", "inputs", "parameters", "outputs", "endpoint", "method", "via",
    "operation", "auth_required", "rate_limit", "execution_model", "poll_endpoint", "sensitivity", "reversible",
    "requires_human_confirmation",
})  # fmt: skip
_ENTITY_DEPTH: Final = 3  # entities may refer to each other in a cycle
_KINDS: Final[dict[str, services.InvocationKind]] = {"mcp": "mcp_tool", "a2a": "a2a_skill"}
PATHS: Final = ("/agent.json", "/.well-known/agent.json")
KNOWN_VERSIONS: Final = ("0.1", "0.2")
LEGACY: Final = "legacy"

_MAX_PROTOCOLS: Final = 50
_VERSION = re.compile(r"\d{1,3}\.\d{1,3}")
_NO_AUTH = re.compile(r"(?:none|no auth(?:entication)?|public)\b", re.IGNORECASE)
_AT_ROOT = re.compile(r"https://[^/]+/agent\.json(?:\?.*)?")
_POINTERS: Final = {
    **own_members("auth", "protocols", "confidence"),
    "name": "/domain",
    "description": "/intent",
    "pricing": "/protocols",
    "policies": "/agent_hints",
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

NEEDING_ENDPOINT: Final = frozenset({"a2a", "mcp", "acp"})
"""Registered identifiers of transports and tool protocols (section 5.5). Others, such as payments, need no endpoint."""

CHANGING: Final = frozenset({"PUT", "PATCH", "DELETE"})
"""Methods that replace, modify or delete (RFC 9110 section 9.3, RFC 5789)."""

_PROTOCOL_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
ENUM: Final = re.compile(r"enum\[(.*)\]")
NESTED: Final = re.compile(r"(array|object)\[(.+)\]")
_PRIMITIVES: Final = frozenset({"string", "integer", "float", "boolean", "ISO8601", "url", "enum"})

TOP: Final = dict.fromkeys(
    ("protocols", "capabilities", "auth", "entities", "errors", "dependencies", "agent_hints", "agent_status"), OBJECT
)
CAPABILITIES: Final = {
    **dict.fromkeys(("streaming", "batch_actions", "webhooks", "idempotency"), FLAG),
    "pagination": one_of("cursor", "offset", "page", "none"),
}
AUTH: Final = {
    **dict.fromkeys(("required_for", "optional_for"), IDS),
    **dict.fromkeys(("token_expiry", "refresh_endpoint"), TEXT),
    "type": one_of("oauth2", "api_key", "bearer", "none"),
}
STATUS: Final = {"operational": FLAG, "degraded_actions": IDS, "status_endpoint": TEXT}
ACTION: Final = {
    "description": TEXT,
    "auth_required": FLAG,
    "inputs": OBJECT,
    "outputs": OBJECT,
    "method": TEXT,
    "operation": TEXT,
    "rate_limit": TEXT,
    "idempotency": OBJECT,
    "poll_endpoint": TEXT,
    "requires_human_confirmation": FLAG,
    "reversible": FLAG,
    "execution_model": one_of("sync", "async"),
    "sensitivity": one_of("standard", "destructive", "irreversible"),
}
INPUT: Final = {"required": FLAG, "options": LIST, "description": TEXT}


def dialect(document: Document) -> str | None:
    """Return the declared MAJOR.MINOR, "other" for any other version, None for a document that is not AWP."""
    value = document.members
    if "awp_version" not in value:
        return None
    if not ("actions" in value or "intent" in value) or "workstate_id" in value or "modules" in value:
        return None
    version = str(value["awp_version"])
    return version if _VERSION.fullmatch(version) else "other"


def legacy_dialect(document: Document) -> str | None:
    """Return LEGACY for a document in the format from before version 0.1, None for any other."""
    protocol = document.members.get("protocol")
    return LEGACY if isinstance(protocol, str) and protocol.startswith("awp/") else None


def read(document: Document, dialect: str, notes: Notes) -> services.Service:
    body = document.members
    if dialect == LEGACY:
        notes.add(rules.LEGACY, "/protocol", body.get("protocol"))
        holder, actions_pointer, key = map_of(body, "capabilities"), "/capabilities/actions", "name"
        domain, auth = None, _read_auth(text_of(holder, "auth", NAME_CHARS), {})
    else:
        _check_version(body, dialect, document, notes)
        _check(body, notes)
        holder, actions_pointer, key = body, "/actions", "id"
        declared = map_of(body, "auth")
        domain = required_text(body, "domain", rules.DOMAIN, notes, NAME_CHARS)
        domain = claim(body["domain"], document, "/domain", notes) if domain else None
        auth = _read_auth(short_text_of(declared, "type"), declared)
    protocols = {protocol.id: protocol for protocol in _read_protocols(body, document, notes)}
    entities = Definitions(map_of(body, "entities"))
    needing_auth = {
        action: is_required
        for member, is_required in (("optional_for", False), ("required_for", True))
        for action in texts_of(map_of(body, "auth"), member, ID_CHARS, MAX_CAPABILITIES)
    }
    surface = Surface(document, auth, needing_auth, protocols, entities, key, notes)
    declared_hints = map_of(body, "agent_hints")
    hints = ((line(key, ID_CHARS), text_of(declared_hints, key)) for key in list(declared_hints)[:MAX_TEXTS])
    service = services.Service(
        name=domain,
        description=required_text(body, "intent", rules.INTENT, notes),
        capabilities=tuple(capabilities(surface, holder, actions_pointer)),
        auth=auth,
        pricing=_read_pricing(body),
        policies=services.Policies(hints={key: text for key, text in hints if key and text}),
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


def _read_auth(type_name: str | None, declared: Object) -> services.Auth:
    """Return the scheme that a type names; "none" also in a sentence that begins so ("none required for search")."""
    kind = auth_type(type_name)
    if kind is None:
        return services.Auth()
    if kind == "custom" and _NO_AUTH.match(type_name or ""):
        return services.Auth((services.AuthScheme("none", note=type_name),), None)
    expiry = short_text_of(declared, "token_expiry")
    notes = (type_name if kind == "custom" else None, f"tokens are valid for {expiry}" if expiry else None)
    note = "; ".join(text for text in notes if text) or None
    return services.Auth((services.AuthScheme(kind, note=note),), False if kind == "none" else None)


def _read_protocols(body: Object, document: Document, notes: Notes) -> Iterator[services.Protocol]:
    for key, entry in list(map_of(body, "protocols").items())[:_MAX_PROTOCOLS]:
        pointer = at("/protocols", key)
        version = short_text_of(entry, "version")
        if version is None:
            notes.add(rules.PAYMENT_VERSION if key == "payment" else rules.PROTOCOL_VERSION, pointer)
        if not _PROTOCOL_ID.fullmatch(key):
            notes.add(rules.PROTOCOL_ID, pointer, key)
        if not isinstance(entry, dict):
            notes.add(rules.MEMBER_TYPE, pointer, entry)
        check_types(entry, {"endpoint": TEXT}, pointer, rules.MEMBER_TYPE, notes)
        if isinstance(entry, dict) and key in NEEDING_ENDPOINT and not text_of(entry, "endpoint"):
            notes.add(rules.PROTOCOL_ENDPOINT, at(pointer, "endpoint"), key)
        holder = entry if isinstance(entry, dict) else {}
        address = endpoint(holder.get("endpoint"), document.url, document, at(pointer, "endpoint"), notes)
        yield services.Protocol(
            id=line(key, ID_CHARS).lower(),
            version=version,
            endpoint=address.url if address else None,
            transport=short_text_of(entry, "transport"),
            card_url=link(holder.get("agent_card"), document.url),
        )


def _read_pricing(body: Object) -> services.Pricing:
    protocols = map_of(body, "protocols")
    payment = first_text(protocols.get("payment"), "type", "note", chars=NAME_CHARS)
    note = f"payment: {payment}" if payment else None
    terms = payment_of(map_of(protocols, "x402"))
    model: services.PricingModel = "pay_per_call" if "x402" in protocols else "unknown"
    return services.Pricing(model, note=note, payments=(terms,) if terms else ())


def _read_pointers(body: Object, document: Document) -> Iterator[services.Pointer]:
    protocols = map_of(body, "protocols")
    for key, field, rel, suffix, expected in _FOLLOWED:
        declared_url = map_of(protocols, key).get(field)
        target = link(declared_url, document.url)
        if target is not None and "{" not in str(declared_url):
            target = target.rstrip("/") + suffix if suffix else target
            yield services.Pointer(target, rel, at("/protocols", key, field), expected)


def _read_relations(body: Object, document: Document, notes: Notes) -> services.Relations:
    status = map_of(body, "agent_status")
    return services.Relations(
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
    action_ids = _action_ids(body)
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
    value = body.get("confidence")
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        return None
    return float(value)


# --- actions (section 9; `via`: section 5.5) --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Surface:
    """The facts that all actions of a document share. `key` is the member with an action's id in this dialect."""

    document: Document
    auth: services.Auth
    needing_auth: Mapping[str, bool]  # action id -> whether the top-level `auth` requires credentials for it
    protocols: Mapping[str, services.Protocol]
    entities: Definitions
    key: str
    notes: Notes


def capabilities(surface: Surface, holder: Object, actions_pointer: str) -> Iterator[services.Capability]:
    """Yield the usable actions in `holder["actions"]`; `actions_pointer` is the JSON Pointer of that array."""
    actions = holder.get("actions")
    if not isinstance(actions, list):
        surface.notes.add(rules.ACTIONS, actions_pointer, holder.get("actions", ""))
        return
    if not actions:
        surface.notes.add(rules.NO_ACTIONS, actions_pointer)
    seen: set[str] = set()
    for pointer, action in members(actions, actions_pointer, rules.ACTION, surface.notes):
        name = _read_name(surface, action, pointer, seen)
        call = _read_call(surface, action, name, pointer) if name else None
        if name and call:
            yield _read_capability(surface, action, name, pointer, call)


def _read_name(surface: Surface, action: Object, pointer: str, seen: set[str]) -> str | None:
    """Return the action's id; None where it is missing or repeated, or the action is an unrendered template."""
    key, notes = surface.key, surface.notes
    name = text_of(action, key, ID_CHARS)
    if name is None:
        notes.add(rules.ACTION_ID, at(pointer, key), action.get(key, ""))
        return None
    if is_repeated(name, seen, at(pointer, key), notes):
        return None
    texts = (key, "description", "method")
    return None if has_template(action, texts, pointer, notes, url="endpoint") else name


def _read_call(surface: Surface, action: Object, name: str, pointer: str) -> services.Invocation | None:
    """Return the call through the protocol that `via` names, else by plain HTTP; None, with a finding, without one."""
    document, notes = surface.document, surface.notes
    kind: services.InvocationKind
    if "via" in action:
        via = (short_text_of(action, "via") or "").lower()
        protocol = surface.protocols.get(via)
        if protocol is None:
            notes.add(rules.VIA_UNKNOWN, at(pointer, "via"), action["via"])
            return None
        if protocol.endpoint is None:
            notes.add(rules.VIA_WITHOUT_ENDPOINT, at(pointer, "via"), via)
        kind, url, is_templated = _KINDS.get(via, "rpc"), protocol.endpoint, False
        method, operation = None, text_of(action, "operation", ID_CHARS) or name
    else:
        if not short_text_of(action, "endpoint") or not short_text_of(action, "method"):
            notes.add(rules.ACTION_CALL, pointer, name)
            return None
        method, operation = http_method(action), None
        if method not in ACTION_METHODS:
            notes.add(rules.METHOD, at(pointer, "method"), action["method"])
        address = endpoint(action["endpoint"], origin_of(document.url), document, at(pointer, "endpoint"), notes)
        kind, url, is_templated = "http", address.url if address else None, address is not None and address.templated
    return services.Invocation(
        kind,
        url,
        method,
        operation,
        auth=_read_action_auth(surface, action, name),
        rate_limit=rate_limit_text(short_text_of(action, "rate_limit")),
        templated=is_templated,
        origin=services.Origin(document.url, pointer, SLUG),
    )


def _read_action_auth(surface: Surface, action: Object, name: str) -> services.Auth | None:
    """Return the action's own declaration, else the declaration in the top-level lists, else None."""
    declared = flag_of(action, "auth_required")
    is_required = declared if declared is not None else surface.needing_auth.get(name)
    if is_required is None:
        return None
    return services.Auth(surface.auth.schemes, True) if is_required else NOTHING_NEEDED


def _read_capability(
    surface: Surface, action: Object, name: str, pointer: str, call: services.Invocation
) -> services.Capability:
    if surface.key == "id":
        _check_action(action, pointer, surface.entities.named, surface.notes)
    base, polling_pointer = origin_of(surface.document.url), at(pointer, "poll_endpoint")
    polling = endpoint(action.get("poll_endpoint"), base, surface.document, polling_pointer, surface.notes)
    return services.Capability(
        id=name,
        name=name,
        title=first_text(action, "title", *(("name",) if surface.key == "id" else ()), chars=NAME_CHARS),
        description=first_text(action, "description", "intent"),
        params=_read_schema(action.get("inputs", action.get("parameters")), surface.entities),
        result=_read_schema(action.get("outputs"), surface.entities),
        result_note=text_of(action, "outputs") or text_of(action, "returns"),
        # the levels above "standard" say that data is modified or deleted (section 9); nothing else says it
        side_effects=True if action.get("sensitivity") in ("destructive", "irreversible") else None,
        confirmation=_read_confirmation(action),
        idempotency_key=flag_of(map_of(action, "idempotency"), "supported"),
        reversible=flag_of(action, "reversible"),
        sensitivity=short_text_of(action, "sensitivity"),
        polling_url=polling.url if polling else None,
        tags=("async",) if action.get("execution_model") == "async" else (),
        invocations=(call,),
        native=native(SLUG, action, _ACTION_READ),
    )


def _read_confirmation(action: Object) -> services.Confirmation | None:
    is_required = flag_of(action, "requires_human_confirmation")
    if is_required or action.get("sensitivity") == "irreversible":
        return services.Confirmation(True)
    return services.Confirmation(False) if is_required is False else None


# --- inputs and outputs as JSON Schema (sections 8 and 9) ------------------------------------------------------------


def _read_schema(fields: Json, entities: Definitions, depth: int = _ENTITY_DEPTH) -> dict[str, Any] | None:
    """Return the object schema of `{name: {type, required, ...}}` or `{name: type}`; None for anything but a map."""
    if not isinstance(fields, dict):
        return None
    entries = [(line(name, NAME_CHARS), field) for name, field in fields.items()]
    required = [name for name, field in entries if isinstance(field, dict) and field.get("required") is True]
    return object_schema([(name, _read_field_schema(field, entities, depth)) for name, field in entries], required)


def _read_field_schema(field: Json, entities: Definitions, depth: int) -> dict[str, Any]:
    if not isinstance(field, dict):
        return _read_type_schema(field, entities, depth)
    property_schema = property_of({**field, "type": None, "enum": field.get("options", field.get("enum"))})
    return {**_read_type_schema(field.get("type"), entities, depth), **property_schema}


def _read_type_schema(kind: Json, entities: Definitions, depth: int) -> dict[str, Any]:
    """Return the schema of a primitive type, `enum[a, b]`, `array[x]` or `object[entity]`; entities are inlined."""
    if not isinstance(kind, str) or len(kind) > NAME_CHARS:  # limits the recursion for array[array[...
        return {}
    if (choices := ENUM.fullmatch(kind)) is not None:
        return {"type": "string", "enum": [line(choice, NAME_CHARS) for choice in choices[1].split(",")][:MAX_TEXTS]}
    if (nested := NESTED.fullmatch(kind)) is not None:
        nested_schema = _read_type_schema(nested[2], entities, depth)
        return {"type": "array", "items": nested_schema} if nested[1] == "array" else nested_schema
    if kind in entities.named:
        fields = map_of(entities.taken(kind), "fields") if depth > 0 else {}
        return (_read_schema(fields, entities, depth - 1) if fields else None) or {"type": "object"}
    return {"type": "string"} if kind == "enum" else type_of(kind)


# --- what AWP demands beyond the common model: types, words, names, dependency cycles ---------------------------------


def _check(body: Object, notes: Notes) -> None:
    """Check the document apart from its actions, which `_check_action` checks one by one."""
    check_types(body, TOP, "", rules.MEMBER_TYPE, notes)
    for key, kinds in (("capabilities", CAPABILITIES), ("auth", AUTH), ("agent_status", STATUS)):
        check_types(body.get(key), kinds, at("", key), rules.MEMBER_TYPE, notes, words=rules.WORD)
    action_ids = _action_ids(body)
    for holder, key in (("auth", "required_for"), ("auth", "optional_for"), ("agent_status", "degraded_actions")):
        for name in texts_of(map_of(body, holder), key, ID_CHARS, MAX_CAPABILITIES):
            if name not in action_ids:
                notes.add(rules.ACTION_UNKNOWN, at("", holder, key), name)
    _check_entities(map_of(body, "entities"), notes)
    if body.get("errors") in (None, {}):
        notes.add(rules.NO_ERRORS, "/errors")
    for code, entry in list(map_of(body, "errors").items())[:MAX_CAPABILITIES]:
        if not text_of(entry, "recovery"):  # section 10: so that agents can act on it
            recovery = entry.get("recovery", "") if isinstance(entry, dict) else entry
            notes.add(rules.RECOVERY, at("/errors", code, "recovery"), recovery)
    _check_cycles(map_of(body, "dependencies"), notes)
    _check_synthetic(body, notes)


def _check_action(action: Object, pointer: str, entities: Mapping[str, Json], notes: Notes) -> None:
    """Check one action (section 9): members, types and words, inputs and outputs, and its sensitivity."""
    # warnings and no errors: section 9 requires the four, but the published schema and reference site do not
    for key, alias, rule in (
        ("description", "intent", rules.ACTION_DESCRIPTION),
        ("inputs", "parameters", rules.ACTION_INPUTS),
        ("outputs", "", rules.ACTION_OUTPUTS),
        ("auth_required", "", rules.ACTION_AUTH),
    ):
        if key in action:
            continue
        if alias in action:
            notes.add(rules.ALIAS, at(pointer, alias), alias)
        else:
            notes.add(rule, pointer)
    if "payment" in action:
        notes.add(rules.ALIAS, at(pointer, "payment"), "payment")
    check_types(action, ACTION, pointer, rules.MEMBER_TYPE, notes, words=rules.WORD)
    for name, field in list(map_of(action, "inputs").items())[:MAX_TEXTS]:
        _check_input(field, at(pointer, "inputs", name), entities, notes)
    for name, field in list(map_of(action, "outputs").items())[:MAX_TEXTS]:
        _check_type(field, at(pointer, "outputs", name), entities, notes)
    changes = (short_text_of(action, "method") or "").upper() in CHANGING and "via" not in action
    if "sensitivity" not in action and (changes or action.get("reversible") is False):
        notes.add(rules.SENSITIVITY, at(pointer, "sensitivity"))


def _check_input(field: Json, pointer: str, entities: Mapping[str, Json], notes: Notes) -> None:
    if isinstance(field, str):
        _check_type(field, pointer, entities, notes)
        return
    if not isinstance(field, dict):
        notes.add(rules.MEMBER_TYPE, pointer, field)
        return
    check_types(field, INPUT, pointer, rules.MEMBER_TYPE, notes)
    if not text_of(field, "type"):
        notes.add(rules.INPUT_TYPE, at(pointer, "type"), field.get("type", ""))
    elif field["type"] == "enum" and not list_of(field, "options"):
        notes.add(rules.OPTIONS, at(pointer, "options"), field.get("options", ""))
    else:
        _check_type(field["type"], at(pointer, "type"), entities, notes)


def _check_type(kind: Json, pointer: str, entities: Mapping[str, Json], notes: Notes) -> None:
    """Check a type (section 8, Supported primitive types). An unknown type is only an INFO finding, because the
    specification's own examples use such types."""
    if not isinstance(kind, str) or kind in _PRIMITIVES or kind in entities:
        return
    choices, nested = ENUM.fullmatch(kind), NESTED.fullmatch(kind)
    if choices is not None:
        if not choices[1].strip():
            notes.add(rules.OPTIONS, pointer, kind)
    elif nested is None:
        notes.add(rules.TYPE_UNKNOWN, pointer, kind)
    elif (inner := nested[2]) not in entities:
        # an array of a primitive, a JSON type or its synonym, or a nested type needs no entity
        is_plain = inner in _PRIMITIVES or "[" in inner or "format" not in type_of(inner)
        if nested[1] == "object" or not is_plain:
            notes.add(rules.ENTITY_UNKNOWN, pointer, kind)


def _action_ids(body: Object) -> frozenset[str | None]:
    return frozenset(text_of(action, "id", ID_CHARS) for action in list_of(body, "actions"))


def _check_entities(entities: Object, notes: Notes) -> None:
    """Check that entities have typed fields (section 8)."""
    for name, entity in list(entities.items())[:MAX_TEXTS]:
        pointer = at("/entities", name)
        if not isinstance(entity, dict) or ("fields" in entity and not isinstance(entity["fields"], dict)):
            notes.add(rules.MEMBER_TYPE, pointer, entity)
        for key, kind in list(map_of(entity, "fields").items())[:MAX_TEXTS]:
            _check_type(kind, at(pointer, "fields", key), entities, notes)


def _check_cycles(dependencies: Object, notes: Notes) -> None:
    """Check the prerequisites for cycles (section 11): actions in a cycle can never be called."""
    kinds = dict.fromkeys(list(dependencies)[:MAX_CAPABILITIES], IDS)
    check_types(dependencies, kinds, "/dependencies", rules.MEMBER_TYPE, notes)
    try:
        TopologicalSorter({line(name, ID_CHARS): texts_of(dependencies, name, ID_CHARS) for name in kinds}).prepare()
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        notes.add(rules.DEPENDENCY_CYCLE, at("/dependencies", cycle[0]), " needs ".join(cycle))


def _check_synthetic(body: Object, notes: Notes) -> None:
    """Check that a generated file declares its generator, confidence and last verification (section 14)."""
    if body.get("source") != "synthetic":
        if "generated_by" in body and "confidence" in body:
            notes.add(rules.SYNTHETIC_ORIGIN, "/source", body.get("source", ""))
        return
    if not text_of(body, "generated_by", NAME_CHARS):
        notes.add(rules.SYNTHETIC_ORIGIN, "/generated_by", body.get("generated_by", ""))
    if _read_confidence(body) is None:
        confidence = body.get("confidence")
        notes.add(rules.SYNTHETIC_ORIGIN, "/confidence", "" if confidence is None else confidence)
    verified = body.get("last_verified", "")
    try:
        datetime.fromisoformat(verified.strip() if isinstance(verified, str) else "")
    except ValueError:
        notes.add(rules.SYNTHETIC_ORIGIN, "/last_verified", verified)
