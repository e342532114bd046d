"""AWP 0.2, synthetic (section 14): actions by plain HTTP, or `via` a protocol that the surface declares (5.5).

Addresses are written absolute: whoever reads a synthetic file did not get it from the host it speaks of. What AWP
calls required and nobody knows (`auth_required`, `inputs`, `outputs`, a protocol's version) is left out.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from registry.core.manifest import ID_CHARS, MAX_TEXTS
from registry.core.plain_text import line
from registry.core.services import Auth, AuthType, Capability, Invocation, Protocol, RateLimit, Service
from registry.core.translate.calls import HttpCall, address, http_call
from registry.core.translate.compare import access
from registry.core.translate.parameters import Parameter, parameters, type_in
from registry.core.translate.said import (
    capability_description,
    plain_id,
    said,
    service_description,
    snake_case,
    unique,
)
from registry.core.translate.task import Built, Place, Task, at_capability, call_at
from registry.core.vocabulary import SAFE_METHODS

VERSION: Final = "0.2"
METHODS: Final = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH"})

_AUTH: Final[tuple[AuthType, ...]] = ("oauth2", "api_key", "bearer")  # section 7; `none` is said where it is known
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
    """What actions share; `ids` are those in the file by those of the service."""

    task: Task
    protocols: dict[str, Protocol]
    ids: dict[str, str] = field(default_factory=dict)
    entities: dict[str, dict[str, Any]] = field(default_factory=dict)  # name -> fields


def build(task: Task) -> Built:
    surface = _Surface(task, _protocols(task))
    taken: set[str] = set()
    actions: list[dict[str, Any]] = []
    places: list[Place] = []
    for index, capability in task.capabilities():
        call = _call(surface, index, capability)
        if isinstance(call, str):
            task.drop(index, call)
            continue
        name = unique(plain_id(capability.id), taken, "_")
        surface.ids.setdefault(capability.id, name)
        actions.append(_action(surface, name, index, capability, call))
        places.append(call.place)
    # protocols alone are worth telling; beside capabilities that could not be told, no actions would be a lie
    if not actions and (task.service.capabilities or not surface.protocols):
        raise task.nothing_left("AWP declares actions and protocols")
    document: dict[str, Any] = {"awp_version": VERSION, "domain": task.host, "intent": service_description(task)}
    if surface.protocols:
        document["protocols"] = {key: _protocol(one) for key, one in surface.protocols.items()}
    kind = _auth_kind(task.service, [call_at(task, one) for one in places])
    if kind is not None:
        document["auth"] = {"type": kind}
    if surface.entities:
        document["entities"] = {name: {"fields": fields} for name, fields in surface.entities.items()}
    document["actions"] = actions
    return Built({**document, **_relations(surface)}, places)


# --- protocols and authentication -----------------------------------------------------------------------------------


def _protocols(task: Task) -> dict[str, Protocol]:
    """The first address of each protocol; what has neither address nor version is no declaration (5.5)."""
    found: dict[str, Protocol] = {}
    for protocol in task.service.protocols:
        key, url = protocol.id.lower(), address(protocol.endpoint, task.host)
        usable = _KEY.fullmatch(key) and len(key) <= ID_CHARS and (url or protocol.version)
        if usable and (key not in found or (found[key].endpoint is None and url)) and len(found) < _MAX_PROTOCOLS:
            found[key] = Protocol(key, protocol.version, url, protocol.transport, protocol.card_url)
    return found


def _protocol(protocol: Protocol) -> dict[str, Any]:
    entry = {
        "version": said(protocol.version),
        "endpoint": protocol.endpoint,
        "transport": said(protocol.transport),
        "agent_card": protocol.card_url,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _auth_kind(service: Service, calls: list[Invocation]) -> str | None:
    """The kind that section 7 knows and that each call with credentials takes; `none` only where that is said.

    A file declares one kind for all of its actions: where they differ, any one would mislead.
    """
    needs = [access(service, call) for call in calls] or [service.auth]
    kinds = [kinds for one in needs if one.required is not False and (kinds := _kinds(one))]
    if kinds:
        return next((kind for kind in _AUTH if all(kind in each for each in kinds)), None)
    free = service.auth.required is False or bool(service.auth.schemes)
    return "none" if free and not _kinds(service.auth) else None


def _kinds(auth: Auth) -> set[AuthType]:
    return {one.type for one in auth.schemes if one.type != "none"}


# --- actions --------------------------------------------------------------------------------------------------------


def _call(surface: _Surface, index: int, capability: Capability) -> HttpCall | str:
    """By plain HTTP where that is known, else through a protocol: then `url` is empty and `method` its key."""
    direct = http_call(index, capability, surface.task.host, METHODS)
    if not isinstance(direct, str):
        return direct
    why = direct
    for number, call in enumerate(capability.invocations):
        key = _VIA.get(call.kind) or _custom(surface, call)
        if key is None:
            continue
        url = address(call.endpoint, surface.task.host)
        name = call.name or capability.id
        if url is None:
            why = f"called through {key}, of which no public address is known"
        elif line(name, ID_CHARS) != name or "{{" in name:
            why = "its operation has a name that AWP readers would not keep"
        elif _declared(surface, key, url) != url:
            why = f"called at another {key} address than the first: AWP declares one for each protocol"
        else:
            surface.task.because[f"{at_capability(index)}/invocations/{number}/method"] = f"{key} fixes it"
            return HttpCall(Place(index, number), call, "", key, capability.params)
    return why


def _custom(surface: _Surface, call: Invocation) -> str | None:
    """A declared protocol of another kind that answers at the very address of the call."""
    if call.kind != "rpc" or call.endpoint is None:
        return None
    own = (key for key, one in surface.protocols.items() if key not in _VIA.values() and one.endpoint == call.endpoint)
    return next(own, None)


def _declared(surface: _Surface, key: str, url: str) -> str | None:
    """The address that the file declares for the protocol; a call's own address declares it where nothing else does."""
    known = surface.protocols.get(key, Protocol(key))
    if known.endpoint is None:
        known = Protocol(key, known.version, url, known.transport, known.card_url)
        surface.protocols[key] = known
    return known.endpoint


def _action(surface: _Surface, name: str, index: int, capability: Capability, call: HttpCall) -> dict[str, Any]:
    task, direct = surface.task, bool(call.url)
    inputs, outputs = parameters(call.params), parameters(capability.result)
    action: dict[str, Any] = {
        "id": name,
        "description": capability_description(task, index, capability, name),
        "auth_required": access(task.service, call.call).required,
        "inputs": None if inputs is None else {one.name: _input(surface, one) for one in inputs},
        "outputs": None if outputs is None else {one.name: _output(surface, one) for one in outputs},
        "endpoint": call.url or None,
        "method": call.method if direct else None,
        "via": None if direct else call.method,
        "operation": None if direct else call.call.name,
        "rate_limit": _rate(call.call.rate_limit),
        "idempotency": None if capability.idempotent is None else {"supported": capability.idempotent},
        "execution_model": "async" if "async" in capability.tags else None,
        "sensitivity": _sensitivity(capability, call.method if direct else None),
        "requires_human_confirmation": capability.confirmation.required if capability.confirmation else None,
    }
    return {key: value for key, value in action.items() if value is not None}


def _sensitivity(capability: Capability, method: str | None) -> str | None:
    """Said where data is deleted, or modified without the method showing it: what `destructive` means (section 9)."""
    hidden = method is None or method in SAFE_METHODS
    return "destructive" if capability.side_effects and (hidden or method == "DELETE") else None


def _input(surface: _Surface, one: Parameter) -> dict[str, Any]:
    kind = _type(surface, one.name, one.rules, one.type)
    options = one.choices
    entry = {
        "type": "enum" if options and kind == "string" else kind,
        "required": True if one.required else None,
        "default": one.value("default"),
        "options": options or None,
        "description": one.text("description"),
    }
    return {key: value for key, value in entry.items() if value is not None}


def _output(surface: _Surface, one: Parameter) -> Any:
    """A type's name; an object where there is more, or less, to say."""
    kind, described = _type(surface, one.name, one.rules, one.type), one.text("description")
    if kind is not None and described is None:
        return kind
    return {key: value for key, value in (("type", kind), ("description", described)) if value is not None}


def _type(surface: _Surface, name: str, rules: Mapping[str, Any], kind: str | None, depth: int = 0) -> str | None:
    """Section 8. Objects with known members become entities, as deep as readers write them out."""
    if kind == "array":
        items = rules.get("items")
        items = items if isinstance(items, Mapping) else {}
        item = type_in(items)
        named = _entity(surface, name, items, depth) if item == "object" else None
        inner = named or _type(surface, name, items, item, depth)
        return f"array[{inner}]" if inner else kind
    if kind == "object":
        entity = _entity(surface, name, rules, depth)
        return f"object[{entity}]" if entity else kind
    if kind == "string" and rules.get("format") in _DATES:
        return "ISO8601"
    if kind == "string" and rules.get("format") in _URLS:
        return "url"
    return _TYPES.get(kind or "", kind)


def _entity(surface: _Surface, name: str, rules: Mapping[str, Any], depth: int) -> str | None:
    """The name of the entity with these members; equal ones are declared once."""
    members = parameters(rules)
    if not members or depth >= _MAX_DEPTH or len(surface.entities) >= _MAX_ENTITIES:
        return None
    fields: dict[str, Any] = {
        one.name: _type(surface, one.name, one.rules, one.type, depth + 1) or {} for one in members
    }
    known = next((key for key, told in surface.entities.items() if told == fields), None)
    if known is None:
        known = unique(snake_case(name), {*surface.entities, *_RESERVED}, "_")
        surface.entities[known] = fields
    return known


def _rate(limit: RateLimit | None) -> str | None:
    if limit is None:
        return None
    if limit.requests is not None and limit.window:
        unit = _UNITS.get(limit.window)
        return f"{limit.requests}/{unit}" if unit else f"{limit.requests} per {limit.window}"
    return said(limit.note)


# --- relations ------------------------------------------------------------------------------------------------------


def _relations(surface: _Surface) -> dict[str, Any]:
    """Sections 10 to 13, as far as they speak of actions that are in the file."""
    told, ids = surface.task.service.relations, surface.ids
    needs = {
        ids[action]: [ids[one] for one in needed]
        for action, needed in told.dependencies.items()
        if action in ids and needed and all(one in ids for one in needed)
    }
    status = {
        "operational": told.operational,
        "degraded_actions": [ids[one] for one in told.degraded if one in ids] or None,
        "status_endpoint": told.status_url,
    }
    parts: dict[str, Any] = {
        "errors": {code: {"recovery": text} for code, text in list(told.errors.items())[:MAX_TEXTS]},
        "dependencies": needs,
        "agent_hints": dict(list(surface.task.service.policies.hints.items())[:MAX_TEXTS]),
        "agent_status": {key: value for key, value in status.items() if value is not None},
    }
    return {key: value for key, value in parts.items() if value}
