"""Check what AWP demands beyond the common model (sections 4 to 14): types, words, names, dependency cycles."""

import re
from collections.abc import Mapping
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Final

from registry.core.format_support.manifest import (
    ID_CHARS,
    MAX_CAPABILITIES,
    MAX_TEXTS,
    NAME_CHARS,
    Notes,
    Object,
    list_of,
    map_of,
    short_text_of,
    text_of,
    texts_of,
)
from registry.core.format_support.params import type_of
from registry.core.format_support.shapes import FLAG, IDS, LIST, OBJECT, TEXT, check_types, one_of
from registry.core.formats.awp import rules
from registry.core.model.documents import Json
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

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


def check(body: Object, notes: Notes) -> None:
    """Check the document apart from its actions, which `check_action` checks one by one."""
    check_types(body, TOP, "", rules.MEMBER_TYPE, notes)
    for key, kinds in (("capabilities", CAPABILITIES), ("auth", AUTH), ("agent_status", STATUS)):
        check_types(body.get(key), kinds, at("", key), rules.MEMBER_TYPE, notes, words=rules.WORD)
    _check_names(body, notes)
    _check_entities(body, notes)
    _check_errors(body, notes)
    _check_cycles(body, notes)
    _check_synthetic(body, notes)


def check_protocol(key: str, entry: Json, pointer: str, notes: Notes) -> None:
    """Check the declaration of a protocol (section 5.5, Field structure)."""
    if not _PROTOCOL_ID.fullmatch(key):
        notes.add(rules.PROTOCOL_ID, pointer, key)
    if not isinstance(entry, dict):
        notes.add(rules.MEMBER_TYPE, pointer, entry)
        return
    check_types(entry, {"endpoint": TEXT}, pointer, rules.MEMBER_TYPE, notes)
    if key in NEEDING_ENDPOINT and not text_of(entry, "endpoint"):
        notes.add(rules.PROTOCOL_ENDPOINT, at(pointer, "endpoint"), key)


def check_action(action: Object, pointer: str, entities: Mapping[str, Json], notes: Notes) -> None:
    """Check one action (section 9): types and words, inputs and outputs, and whether it declares its sensitivity."""
    check_types(action, ACTION, pointer, rules.MEMBER_TYPE, notes, words=rules.WORD)
    for name, field in list(map_of(action, "inputs").items())[:MAX_TEXTS]:
        _check_input(field, at(pointer, "inputs", name), entities, notes)
    for name, field in list(map_of(action, "outputs").items())[:MAX_TEXTS]:
        _check_type(field, at(pointer, "outputs", name), entities, notes)
    changes = (short_text_of(action, "method") or "").upper() in CHANGING and "via" not in action
    if "sensitivity" not in action and (changes or action.get("reversible") is False):
        notes.add(rules.SENSITIVITY, at(pointer, "sensitivity"))


def _check_input(field: Json, pointer: str, entities: Mapping[str, Json], notes: Notes) -> None:
    if not isinstance(field, dict):
        if isinstance(field, str):
            _check_type(field, pointer, entities, notes)
        else:
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
    elif nested[2] not in entities and (nested[1] == "object" or not _is_plain(nested[2])):
        notes.add(rules.ENTITY_UNKNOWN, pointer, kind)


def _is_plain(kind: str) -> bool:
    """Return whether an array of `kind` needs no entity: a primitive, a JSON type or its synonym, or a nested type."""
    return kind in _PRIMITIVES or "[" in kind or "format" not in type_of(kind)


def _check_names(body: Object, notes: Notes) -> None:
    """Check that `auth` and `agent_status` name declared actions only."""
    action_ids = _action_ids(body)
    for holder, key in (("auth", "required_for"), ("auth", "optional_for"), ("agent_status", "degraded_actions")):
        for name in texts_of(map_of(body, holder), key, ID_CHARS, MAX_CAPABILITIES):
            if name not in action_ids:
                notes.add(rules.ACTION_UNKNOWN, at("", holder, key), name)


def _action_ids(body: Object) -> frozenset[str | None]:
    return frozenset(text_of(action, "id", ID_CHARS) for action in list_of(body, "actions"))


def _check_entities(body: Object, notes: Notes) -> None:
    """Check that entities have typed fields (section 8)."""
    entities = map_of(body, "entities")
    for name, entity in list(entities.items())[:MAX_TEXTS]:
        pointer = at("/entities", name)
        fields = map_of(entity, "fields")
        if not isinstance(entity, dict) or ("fields" in entity and not isinstance(entity["fields"], dict)):
            notes.add(rules.MEMBER_TYPE, pointer, entity)
        for key, kind in list(fields.items())[:MAX_TEXTS]:
            _check_type(kind, at(pointer, "fields", key), entities, notes)


def _check_errors(body: Object, notes: Notes) -> None:
    """Check that errors are declared and that each recovery is a text, so that agents can act on it (section 10)."""
    errors = body.get("errors")
    if errors is None or errors == {}:
        notes.add(rules.NO_ERRORS, "/errors")
    for code, entry in list(map_of(body, "errors").items())[:MAX_CAPABILITIES]:
        if not text_of(entry, "recovery"):
            recovery = entry.get("recovery", "") if isinstance(entry, dict) else entry
            notes.add(rules.RECOVERY, at("/errors", code, "recovery"), recovery)


def _check_cycles(body: Object, notes: Notes) -> None:
    """Check the prerequisites for cycles (section 11): actions in a cycle can never be called."""
    dependencies = map_of(body, "dependencies")
    kinds = dict.fromkeys(list(dependencies)[:MAX_CAPABILITIES], IDS)
    check_types(dependencies, kinds, "/dependencies", rules.MEMBER_TYPE, notes)
    try:
        TopologicalSorter({line(name, ID_CHARS): texts_of(dependencies, name, ID_CHARS) for name in kinds}).prepare()
    except CycleError as error:
        cycle = list(reversed(error.args[1]))
        notes.add(rules.DEPENDENCY_CYCLE, at("/dependencies", cycle[0]), " needs ".join(cycle))


def _check_synthetic(body: Object, notes: Notes) -> None:
    """Check that a generated file declares its generator, confidence and last verification (section 14)."""
    is_generated = "generated_by" in body and "confidence" in body
    if body.get("source") != "synthetic":
        if is_generated:
            notes.add(rules.SYNTHETIC_ORIGIN, "/source", body.get("source", ""))
        return
    if not text_of(body, "generated_by", NAME_CHARS):
        notes.add(rules.SYNTHETIC_ORIGIN, "/generated_by", body.get("generated_by", ""))
    confidence = body.get("confidence")
    if not isinstance(confidence, int | float) or isinstance(confidence, bool) or not 0 <= confidence <= 1:
        notes.add(rules.SYNTHETIC_ORIGIN, "/confidence", "" if confidence is None else confidence)
    if not _is_iso_time(body.get("last_verified")):
        notes.add(rules.SYNTHETIC_ORIGIN, "/last_verified", body.get("last_verified", ""))


def _is_iso_time(value: Json) -> bool:
    """Return whether `value` is a date or a point in time in ISO 8601."""
    if not isinstance(value, str):
        return False
    try:
        datetime.fromisoformat(value.strip())
    except ValueError:
        return False
    return True
