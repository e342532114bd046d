"""What AWP says of members that the common model does not need (sections 4 to 14): types, words, names, graphs."""

import re
from collections.abc import Mapping
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Final

from registry.core.documents import Json
from registry.core.findings import Reason
from registry.core.manifest import (
    ID_CHARS,
    MAX_CAPABILITIES,
    MAX_TEXTS,
    NAME_CHARS,
    Notes,
    Object,
    at,
    list_of,
    map_of,
    text_of,
    texts_of,
    word_of,
)
from registry.core.params import type_of
from registry.core.plain_text import line
from registry.core.shapes import Kind, check_types, check_words, is_flag, is_list, is_map, is_number, is_text, is_texts

NEEDING_ENDPOINT: Final = frozenset({"a2a", "mcp", "acp"})
"""Registered identifiers of transports and of tool protocols (section 5.5); payments and API descriptions differ."""

CHANGING: Final = frozenset({"PUT", "PATCH", "DELETE"})
"""Methods that replace, modify or delete (RFC 9110 section 9.3, RFC 5789)."""

_PROTOCOL_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ENUM = re.compile(r"enum\[(.*)\]")
_NESTED = re.compile(r"(array|object)\[(.+)\]")
_PRIMITIVES: Final = frozenset({"string", "integer", "float", "boolean", "ISO8601", "url", "enum"})

_TOP: Final[Mapping[str, Kind]] = dict.fromkeys(
    ("protocols", "capabilities", "auth", "entities", "errors", "dependencies", "agent_hints", "agent_status"), is_map
)
_MEMBERS: Final[Mapping[str, Mapping[str, Kind]]] = {
    "capabilities": {
        **dict.fromkeys(("streaming", "batch_actions", "webhooks", "idempotency"), is_flag),
        "pagination": is_text,
    },
    "auth": {
        **dict.fromkeys(("required_for", "optional_for"), is_texts),
        **dict.fromkeys(("type", "token_expiry", "refresh_endpoint"), is_text),
    },
    "agent_status": {"operational": is_flag, "degraded_actions": is_texts, "status_endpoint": is_text},
}
_ACTION: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("auth_required", "requires_human_confirmation", "reversible"), is_flag),
    **dict.fromkeys(("inputs", "outputs", "idempotency"), is_map),
    **dict.fromkeys(
        ("description", "method", "operation", "rate_limit", "execution_model", "poll_endpoint", "sensitivity"), is_text
    ),
}
_INPUT: Final[Mapping[str, Kind]] = {"required": is_flag, "options": is_list, "description": is_text}
_WORDS: Final = {
    "capabilities": {"pagination": ("cursor", "offset", "page", "none")},
    "auth": {"type": ("oauth2", "api_key", "bearer", "none")},
}
_ACTION_WORDS: Final = {
    "execution_model": ("sync", "async"),
    "sensitivity": ("standard", "destructive", "irreversible"),
}


def check(body: Object, notes: Notes) -> None:
    """The document as a whole; its actions are checked one by one with `check_action`."""
    check_types(body, _TOP, "", Reason.AWP_MEMBER_TYPE, notes)
    for key, kinds in _MEMBERS.items():
        check_types(body.get(key), kinds, at("", key), Reason.AWP_MEMBER_TYPE, notes)
    for key, words in _WORDS.items():
        check_words(body.get(key), words, at("", key), Reason.AWP_WORD, notes)
    _check_names(body, notes)
    _check_entities(body, notes)
    _check_errors(body, notes)
    _check_cycles(body, notes)
    _check_synthetic(body, notes)


def check_protocol(key: str, entry: Json, pointer: str, notes: Notes) -> None:
    """Section 5.5, Field structure."""
    if not _PROTOCOL_ID.fullmatch(key):
        notes.add(Reason.AWP_PROTOCOL_ID, pointer, key)
    if not isinstance(entry, dict):
        notes.add(Reason.AWP_MEMBER_TYPE, pointer, entry)
        return
    check_types(entry, {"endpoint": is_text}, pointer, Reason.AWP_MEMBER_TYPE, notes)
    if key in NEEDING_ENDPOINT and not text_of(entry, "endpoint"):
        notes.add(Reason.AWP_PROTOCOL_ENDPOINT, at(pointer, "endpoint"), key)


def check_action(action: Object, pointer: str, entities: Mapping[str, Json], notes: Notes) -> None:
    """Section 9: types and words of one action, what it takes and gives, and whether its consequences are told."""
    check_types(action, _ACTION, pointer, Reason.AWP_MEMBER_TYPE, notes)
    check_words(action, _ACTION_WORDS, pointer, Reason.AWP_WORD, notes)
    for name, field in list(map_of(action, "inputs").items())[:MAX_TEXTS]:
        _check_input(field, at(pointer, "inputs", name), entities, notes)
    for name, field in list(map_of(action, "outputs").items())[:MAX_TEXTS]:
        _check_type(field, at(pointer, "outputs", name), entities, notes)
    changes = (word_of(action, "method") or "").upper() in CHANGING and "via" not in action
    if "sensitivity" not in action and (changes or action.get("reversible") is False):
        notes.add(Reason.AWP_SENSITIVITY, at(pointer, "sensitivity"))


def _check_input(field: Json, pointer: str, entities: Mapping[str, Json], notes: Notes) -> None:
    if not isinstance(field, dict):
        if isinstance(field, str):
            _check_type(field, pointer, entities, notes)
        else:
            notes.add(Reason.AWP_MEMBER_TYPE, pointer, field)
        return
    check_types(field, _INPUT, pointer, Reason.AWP_MEMBER_TYPE, notes)
    if not text_of(field, "type"):
        notes.add(Reason.AWP_INPUT_TYPE, at(pointer, "type"), field.get("type", ""))
    elif field["type"] == "enum" and not list_of(field, "options"):
        notes.add(Reason.AWP_OPTIONS, at(pointer, "options"), field.get("options", ""))
    else:
        _check_type(field["type"], at(pointer, "type"), entities, notes)


def _check_type(kind: Json, pointer: str, entities: Mapping[str, Json], notes: Notes) -> None:
    """Section 8, Supported primitive types; the specification's own examples use others, which are noted only."""
    if not isinstance(kind, str) or kind in _PRIMITIVES or kind in entities:
        return
    choices, nested = _ENUM.fullmatch(kind), _NESTED.fullmatch(kind)
    if choices is not None:
        if not choices[1].strip():
            notes.add(Reason.AWP_OPTIONS, pointer, kind)
    elif nested is None:
        notes.add(Reason.AWP_TYPE_UNKNOWN, pointer, kind)
    elif nested[2] not in entities and (nested[1] == "object" or not _is_plain(nested[2])):
        notes.add(Reason.AWP_ENTITY_UNKNOWN, pointer, kind)


def _is_plain(kind: str) -> bool:
    """Whether an array of it needs no entity: any type that JSON, too, could have meant, or something nested."""
    return kind in _PRIMITIVES or "[" in kind or "format" not in type_of(kind)


def _check_names(body: Object, notes: Notes) -> None:
    """Actions that `auth` and `agent_status` speak of."""
    known = _actions(body)
    for holder, key in (("auth", "required_for"), ("auth", "optional_for"), ("agent_status", "degraded_actions")):
        for name in texts_of(map_of(body, holder), key, ID_CHARS, MAX_CAPABILITIES):
            if name not in known:
                notes.add(Reason.AWP_ACTION_UNKNOWN, at("", holder, key), name)


def _actions(body: Object) -> frozenset[str | None]:
    return frozenset(text_of(action, "id", ID_CHARS) for action in list_of(body, "actions"))


def _check_entities(body: Object, notes: Notes) -> None:
    """Section 8: an entity has typed fields."""
    entities = map_of(body, "entities")
    for name, entity in list(entities.items())[:MAX_TEXTS]:
        pointer = at("/entities", name)
        fields = map_of(entity, "fields")
        if not isinstance(entity, dict) or ("fields" in entity and not isinstance(entity["fields"], dict)):
            notes.add(Reason.AWP_MEMBER_TYPE, pointer, entity)
        for key, kind in list(fields.items())[:MAX_TEXTS]:
            _check_type(kind, at(pointer, "fields", key), entities, notes)


def _check_errors(body: Object, notes: Notes) -> None:
    """Section 10: what a machine cannot even read, it cannot act on."""
    errors = body.get("errors")
    if errors is None or errors == {}:
        notes.add(Reason.AWP_NO_ERRORS, "/errors")
    for code, entry in list(map_of(body, "errors").items())[:MAX_CAPABILITIES]:
        if not text_of(entry, "recovery"):
            said = entry.get("recovery", "") if isinstance(entry, dict) else entry
            notes.add(Reason.AWP_RECOVERY, at("/errors", code, "recovery"), said)


def _check_cycles(body: Object, notes: Notes) -> None:
    """Section 11: prerequisites come first, so what waits for itself can never be done."""
    said = map_of(body, "dependencies")
    kinds = dict.fromkeys(list(said)[:MAX_CAPABILITIES], is_texts)
    check_types(said, kinds, "/dependencies", Reason.AWP_MEMBER_TYPE, notes)
    try:
        TopologicalSorter({line(name, ID_CHARS): texts_of(said, name, ID_CHARS) for name in kinds}).prepare()
    except CycleError as found:
        circle = list(reversed(found.args[1]))
        notes.add(Reason.AWP_DEPENDENCY_CYCLE, at("/dependencies", circle[0]), " needs ".join(circle))


def _check_synthetic(body: Object, notes: Notes) -> None:
    """Section 14: who made the file, how sure, and when it was last verified."""
    generated = "generated_by" in body and "confidence" in body
    if body.get("source") != "synthetic":
        if generated:
            notes.add(Reason.AWP_SYNTHETIC_ORIGIN, "/source", body.get("source", ""))
        return
    if not text_of(body, "generated_by", NAME_CHARS):
        notes.add(Reason.AWP_SYNTHETIC_ORIGIN, "/generated_by", body.get("generated_by", ""))
    sure = body.get("confidence")
    if not isinstance(sure, int | float) or not is_number(sure) or not 0 <= sure <= 1:
        notes.add(Reason.AWP_SYNTHETIC_ORIGIN, "/confidence", "" if sure is None else sure)
    if not _is_moment(body.get("last_verified")):
        notes.add(Reason.AWP_SYNTHETIC_ORIGIN, "/last_verified", body.get("last_verified", ""))


def _is_moment(value: Json) -> bool:
    """A date or a point in time as ISO 8601 writes it."""
    if not isinstance(value, str):
        return False
    try:
        datetime.fromisoformat(value.strip())
    except ValueError:
        return False
    return True
