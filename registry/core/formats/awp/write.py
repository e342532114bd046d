"""Write a synthetic AWP 0.2 document (section 14): actions by plain HTTP, or `via` a declared protocol (5.5).

Addresses are absolute, because a synthetic file is not served by the host that it describes. Required members whose
values are unknown (`auth_required`, `inputs`, `outputs`, a protocol's version) are left out.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from registry.core.format_support.manifest import ID_CHARS, MAX_TEXTS, NAME_CHARS
from registry.core.format_support.vocabulary import ACTION_METHODS, SAFE_METHODS
from registry.core.format_support.writing import calls
from registry.core.format_support.writing import task as writing
from registry.core.formats.awp.read import SLUG
from registry.core.model import services
from registry.core.reading.plain_text import line

VERSION: Final = "0.2"

_AUTH: Final[tuple[services.AuthType, ...]] = (
    "oauth2",
    "api_key",
    "bearer",
)  # section 7; `_write_auth_kind` handles `none`
_VIA: Final = {"mcp_tool": "mcp", "a2a_skill": "a2a"}
_TYPES: Final = {"string": "string", "integer": "integer", "number": "float", "boolean": "boolean"}
_DATES: Final = frozenset({"date", "date-time", "ISO8601"})
_URLS: Final = frozenset({"uri", "url"})
_UNITS: Final = {"1s": "second", "1m": "minute", "1h": "hour", "1d": "day"}
_KEY = re.compile(r"[a-z0-9][a-z0-9._-]*")
_MAX_PROTOCOLS: Final = 50
_RESERVED: Final = frozenset({"string", "integer", "float", "number", "boolean", "url", "array", "object", "enum"})
_MAX_DEPTH: Final = 3
_MAX_ENTITIES: Final = 200


@dataclass(slots=True)
class _Surface:
    """State shared by all actions. `ids` maps capability ids to action ids in the file."""

    task: writing.Task
    protocols: dict[str, services.Protocol]
    ids: dict[str, str] = field(default_factory=dict)
    entities: dict[str, dict[str, Any]] = field(default_factory=dict)  # name -> fields


def write(task: writing.Task) -> writing.WrittenDocument:
    surface = _Surface(task, _write_protocols(task))
    used_names: set[str] = set()
    actions: list[dict[str, Any]] = []
    sources: list[writing.EntrySource] = []
    for index, capability, call in task.entries(partial(_write_call, surface)):
        name = writing.unique(writing.plain_id(capability.id), used_names, "_")
        surface.ids.setdefault(capability.id, name)
        actions.append(_write_action(surface, name, index, capability, call))
        sources.append(call.source)
    # protocols alone justify a document, but no empty list of actions for a service that has capabilities
    if not actions and (task.service.capabilities or not surface.protocols):
        raise task.nothing_written("AWP declares actions and protocols")
    auth_kind = _write_auth_kind(task.service, [writing.call_at(task, source) for source in sources])
    document: dict[str, Any] = {
        "awp_version": VERSION,
        "domain": task.host,
        "intent": writing.service_description(task),
        "protocols": {key: _write_protocol(protocol) for key, protocol in surface.protocols.items()} or None,
        "auth": {"type": auth_kind} if auth_kind else None,
        "entities": {name: {"fields": fields} for name, fields in surface.entities.items()} or None,
        "actions": actions,
        **_write_relations(surface),
    }
    return writing.WrittenDocument(writing.with_native(SLUG, task.service, document), sources)


# --- protocols and authentication -----------------------------------------------------------------------------------


def _write_protocols(task: writing.Task) -> dict[str, services.Protocol]:
    """Return each protocol with its first address; one without address and version is omitted (5.5)."""
    protocols: dict[str, services.Protocol] = {}
    for protocol in task.service.protocols:
        key, url = protocol.id.lower(), calls.callable_address(protocol.endpoint, task.host)
        is_usable = _KEY.fullmatch(key) and len(key) <= ID_CHARS and (url or protocol.version)
        is_better = key not in protocols or (protocols[key].endpoint is None and url)
        if is_usable and is_better and len(protocols) < _MAX_PROTOCOLS:
            protocols[key] = services.Protocol(key, protocol.version, url, protocol.transport, protocol.card_url)
    return protocols


def _write_protocol(protocol: services.Protocol) -> dict[str, Any]:
    return writing.stated({
        "version": writing.clean_text(protocol.version),
        "endpoint": protocol.endpoint,
        "transport": writing.clean_text(protocol.transport),
        "agent_card": protocol.card_url,
    })  # fmt: skip


def _write_auth_kind(service: services.Service, invocations: list[services.Invocation]) -> str | None:
    """Return the kind of section 7 that all calls with credentials accept; `none` only where documents state it. A file
    declares one kind for all actions, so none is declared where no kind fits them all."""
    auths = [calls.auth_of_call(service, call) for call in invocations] or [service.auth]
    kinds = [kinds for auth in auths if auth.required is not False and (kinds := _write_credential_types(auth))]
    if kinds:
        return next((kind for kind in _AUTH if all(kind in accepted for accepted in kinds)), None)
    is_stated = service.auth.required is False or bool(service.auth.schemes)
    return "none" if is_stated and not _write_credential_types(service.auth) else None


def _write_credential_types(auth: services.Auth) -> set[services.AuthType]:
    return {scheme.type for scheme in auth.schemes if scheme.type != "none"}


# --- actions --------------------------------------------------------------------------------------------------------


def _write_call(surface: _Surface, index: int, capability: services.Capability) -> calls.HttpCall | str:
    """Return the plain HTTP call, else one through a protocol (`url` empty, `method` its key), else the reason."""
    direct = calls.http_call(surface.task.host, ACTION_METHODS, index, capability)
    if not isinstance(direct, str):
        return direct
    reason = direct
    for invocation_index, call in enumerate(capability.invocations):
        key = _VIA.get(call.kind) or _write_other_protocol(surface, call)
        if key is None:
            continue
        url = calls.callable_address(call.endpoint, surface.task.host)
        name = call.name or capability.id
        if url is None:
            reason = f"called through {key}, which has no known public address"
        elif line(name, ID_CHARS) != name or "{{" in name:
            reason = "AWP readers would alter the name of its operation"
        elif _declare_address(surface, key, url) != url:
            reason = f"called at another {key} address than the first: AWP declares one for each protocol"
        else:
            pointer = f"{writing.capability_pointer(index)}/invocations/{invocation_index}/method"
            surface.task.reasons[pointer] = f"fixed by {key}"
            return calls.HttpCall(writing.EntrySource(index, invocation_index), call, "", key, capability.params)
    return reason


def _write_other_protocol(surface: _Surface, call: services.Invocation) -> str | None:
    """Return the key of a declared protocol other than MCP and A2A with the address of the call."""
    if call.kind != "rpc" or call.endpoint is None:
        return None
    others = ((key, protocol) for key, protocol in surface.protocols.items() if key not in _VIA.values())
    return next((key for key, protocol in others if protocol.endpoint == call.endpoint), None)


def _declare_address(surface: _Surface, key: str, url: str) -> str | None:
    """Return the address that the file declares for the protocol; declare `url` if it has none yet."""
    protocol = surface.protocols.get(key, services.Protocol(key))
    if protocol.endpoint is None:
        surface.protocols[key] = protocol = replace(protocol, endpoint=url)
    return protocol.endpoint


def _write_action(
    surface: _Surface, name: str, index: int, capability: services.Capability, call: calls.HttpCall
) -> dict[str, Any]:
    task, is_direct = surface.task, bool(call.url)
    action: dict[str, Any] = {
        "id": name,
        "description": writing.capability_description(task, index, capability, name),
        "auth_required": calls.auth_of_call(task.service, call.call).required,
        "inputs": _write_members(surface, call.params, _write_input),
        "outputs": _write_members(surface, capability.result, _write_output),
        "endpoint": call.url or None,
        "method": call.method if is_direct else None,
        "via": None if is_direct else call.method,
        "operation": None if is_direct else call.call.name,
        "rate_limit": _write_rate_limit(call.call.rate_limit),
        "idempotency": None if capability.idempotency_key is None else {"supported": capability.idempotency_key},
        "execution_model": "async" if "async" in capability.tags else None,
        "sensitivity": _write_sensitivity(capability, call.method if is_direct else None),
        "reversible": capability.reversible,
        "poll_endpoint": capability.polling_url,
        "requires_human_confirmation": capability.confirmation.required if capability.confirmation else None,
    }
    return writing.with_native(SLUG, capability, action)


def _write_sensitivity(capability: services.Capability, method: str | None) -> str | None:
    """Return the document's value, else `destructive` if the call deletes data, or changes data and its method does
    not show that (section 9)."""
    if capability.sensitivity is not None:
        return writing.clean_text(capability.sensitivity, NAME_CHARS)
    hidden = method is None or method in SAFE_METHODS
    return "destructive" if capability.side_effects and (hidden or method == "DELETE") else None


def _write_members(
    surface: _Surface, schema: Mapping[str, Any] | None, write: Callable[[calls.WrittenParameter, str | None], Any]
) -> dict[str, Any] | None:
    members = calls.parameters(schema)
    if members is None:
        return None
    return {
        member.name: write(member, _write_type(surface, member.name, member.rules, member.type)) for member in members
    }


def _write_input(parameter: calls.WrittenParameter, kind: str | None) -> dict[str, Any]:
    options = parameter.choices
    return writing.stated({
        "type": "enum" if options and kind == "string" else kind,
        "required": True if parameter.required else None,
        "default": parameter.value("default"),
        "options": options or None,
        "description": parameter.text("description"),
    })  # fmt: skip


def _write_output(parameter: calls.WrittenParameter, kind: str | None) -> Any:
    """Return the name of the type, or an object if the result has a description or no type."""
    description = parameter.text("description")
    has_only_type = kind is not None and description is None
    return kind if has_only_type else writing.stated({"type": kind, "description": description})


def _write_type(surface: _Surface, name: str, rules: Mapping[str, Any], kind: str | None, depth: int = 0) -> str | None:
    """Return the type (section 8). Objects with known members become entities, as deep as readers inline them."""
    if kind == "array":
        items = rules.get("items")
        items = items if isinstance(items, Mapping) else {}
        item_type = calls.certain_type(items)
        item_entity = _write_entity(surface, name, items, depth) if item_type == "object" else None
        item_name = item_entity or _write_type(surface, name, items, item_type, depth)
        return f"array[{item_name}]" if item_name else kind
    if kind == "object":
        entity = _write_entity(surface, name, rules, depth)
        return f"object[{entity}]" if entity else kind
    if kind == "string" and rules.get("format") in _DATES:
        return "ISO8601"
    if kind == "string" and rules.get("format") in _URLS:
        return "url"
    return _TYPES.get(kind or "", kind)


def _write_entity(surface: _Surface, name: str, rules: Mapping[str, Any], depth: int) -> str | None:
    """Return the name of the entity with these members, declaring it if it is new; None where it cannot be declared."""
    members = calls.parameters(rules)
    if not members or depth >= _MAX_DEPTH or len(surface.entities) >= _MAX_ENTITIES:
        return None
    fields: dict[str, Any] = {
        member.name: _write_type(surface, member.name, member.rules, member.type, depth + 1) or {} for member in members
    }
    entity_name = next((key for key, entity in surface.entities.items() if entity == fields), None)
    if entity_name is None:
        entity_name = writing.unique(writing.snake_case(name), {*surface.entities, *_RESERVED}, "_")
        surface.entities[entity_name] = fields
    return entity_name


def _write_rate_limit(limit: services.RateLimit | None) -> str | None:
    if limit is None:
        return None
    if limit.requests is not None and limit.window:
        unit = _UNITS.get(limit.window)
        return f"{limit.requests}/{unit}" if unit else f"{limit.requests} per {limit.window}"
    return writing.clean_text(limit.note)


# --- relations ------------------------------------------------------------------------------------------------------


def _write_relations(surface: _Surface) -> dict[str, Any]:
    """Return the members of sections 10 to 13, restricted to actions of the file."""
    relations, ids = surface.task.service.relations, surface.ids
    dependencies = {
        ids[action]: [ids[prerequisite] for prerequisite in prerequisites]
        for action, prerequisites in relations.dependencies.items()
        if action in ids and prerequisites and all(prerequisite in ids for prerequisite in prerequisites)
    }
    status = {
        "operational": relations.operational,
        "degraded_actions": [ids[action] for action in relations.degraded if action in ids] or None,
        "status_endpoint": relations.status_url,
    }
    members: dict[str, Any] = {
        "errors": {code: {"recovery": text} for code, text in list(relations.errors.items())[:MAX_TEXTS]},
        "dependencies": dependencies,
        "agent_hints": dict(list(surface.task.service.policies.hints.items())[:MAX_TEXTS]),
        "agent_status": writing.stated(status),
    }
    return {key: value for key, value in members.items() if value}


WRITER: Final = writing.Writer("AWP", write)
