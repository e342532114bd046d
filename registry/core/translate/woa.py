"""WoA draft-00: agents of a service that is called by the draft's REST transport, and nothing else.

A service that speaks plain HTTP is not a WoA host: its endpoints do not take the draft's envelope.
"""

from typing import Any, Final

import jsonschema_rs

from registry.core.manifest import NAME_CHARS
from registry.core.services import Capability
from registry.core.translate.calls import address, woa_ids
from registry.core.translate.parameters import portable
from registry.core.translate.said import capability_description, said
from registry.core.translate.task import Built, CannotSay, Place, Task, at_capability

VERSION: Final = "1"
PROTOCOL: Final = "woa-rest"

_DRAFT_2020_12: Final = "https://json-schema.org/draft/2020-12/schema"
_ANY_OBJECT: Final[dict[str, Any]] = {"type": "object", "properties": {}}


def build(task: Task) -> Built:
    template, base, path = _transport(task)
    agents: dict[str, dict[str, Any]] = {}
    places: dict[str, list[Place]] = {}
    for index, capability in task.capabilities():
        found = _call(task, index, capability, template)
        if found is None:
            task.drop(index, "not called by the REST transport of the Web of Agents")
            continue
        place, name, operation = found
        if name in agents and (operation is None or "operations" not in agents[name]):
            task.drop(index, "has the id of another agent")
            continue
        if operation is None:
            agents[name] = _agent(task, index, capability, name)
        else:
            own = _operation(task, index, capability, operation)
            agents.setdefault(name, _agent_of_operations(capability, name, operation))["operations"].append(own)
        places.setdefault(name, []).append(place)
    if not agents:
        raise task.nothing_left("a WoA agent is called by the draft's REST transport")
    for agent in agents.values():
        if agent.get("operations"):
            agent["description"] = f"Operations: {', '.join(one['name'] for one in agent['operations'])}"[:1000]
    document = {
        "woa_version": VERSION,
        "agents": list(agents.values()),
        "transports": {"rest": {"base": base, "invoke_path": path}},
    }
    return Built(document, [place for name in agents for place in places[name]])


def _transport(task: Task) -> tuple[str, str, str]:
    """The declared template, split into base and invoke_path, which a client joins again (section 4.3.1)."""
    for protocol in task.service.protocols:
        if protocol.id == PROTOCOL and address(protocol.endpoint, task.host):
            template = protocol.endpoint or ""
            parts = template.split("/", 3)
            if template.startswith("https://") and len(parts) == 4 and "{" not in parts[2]:
                return template, "/".join(parts[:3]), f"/{parts[3]}"
    raise CannotSay("no document of the host names a REST transport of the Web of Agents")


def _call(task: Task, index: int, capability: Capability, template: str) -> tuple[Place, str, str | None] | None:
    for number, call in enumerate(capability.invocations):
        ids = woa_ids(capability, call)
        if ids and call.endpoint == address(template.replace("{agent_id}", ids[0]), task.host):
            return Place(index, number), *ids
    return None


def _agent(task: Task, index: int, capability: Capability, name: str) -> dict[str, Any]:
    agent: dict[str, Any] = {
        "id": name,
        "name": said(capability.name, NAME_CHARS) or name,
        "description": capability_description(task, index, capability, name),
        **_schemas(task, index, capability),
        "transports": ["rest"],
    }
    return {**agent, "capabilities": list(capability.tags)} if capability.tags else agent


def _agent_of_operations(capability: Capability, name: str, operation: str) -> dict[str, Any]:
    """What its operations do not tell is left as open as the draft allows; its description becomes their names."""
    label = capability.name.removesuffix(f": {operation}")
    agent: dict[str, Any] = {
        "id": name,
        "name": said(label if label != capability.name else name, NAME_CHARS) or name,
        "description": "",
        "inputs": _ANY_OBJECT,
        "outputs": _ANY_OBJECT,
        "transports": ["rest"],
        "operations": [],
    }
    return {**agent, "capabilities": list(capability.tags)} if capability.tags else agent


def _operation(task: Task, index: int, capability: Capability, operation: str) -> dict[str, Any]:
    description = capability_description(task, index, capability, operation)
    return {"name": operation, "description": description, **_schemas(task, index, capability)}


def _schemas(task: Task, index: int, capability: Capability) -> dict[str, Any]:
    """Section 4.2: required, so what nobody knows is the schema of any object."""
    found = {}
    for member, field in (("inputs", "params"), ("outputs", "result")):
        schema = portable(getattr(capability, field))
        if schema is None or not jsonschema_rs.meta.is_valid({**schema, "$schema": _DRAFT_2020_12}):
            why = "WoA demands a JSON Schema 2020-12 and none is known: that of any object stands in"
            known = getattr(capability, field) is not None
            task.stand_in(f"{at_capability(index)}/{field}", member, why, known=known)
            schema = _ANY_OBJECT
        found[member] = schema
    return found
