"""Write a WoA draft-00 document: the agents of a service that is called over the draft's REST transport.

A service with a plain HTTP API is not a WoA host: its endpoints do not accept the draft's envelope.
"""

from collections.abc import Mapping
from typing import Any, Final

from registry.core.format_support.manifest import NAME_CHARS
from registry.core.format_support.shapes import is_schema
from registry.core.format_support.writing import task as writing
from registry.core.format_support.writing.calls import agent_and_operation, callable_address, drop_references
from registry.core.formats.woa.read import REST, SLUG, VERSION
from registry.core.model.services import Capability

_ANY_OBJECT: Final[dict[str, Any]] = {"type": "object", "properties": {}}


def write(task: writing.Task) -> writing.WrittenDocument:
    template, base, path = _write_transport(task)
    agents: dict[str, dict[str, Any]] = {}
    sources: dict[str, list[writing.EntrySource]] = {}
    for index, capability in task.capabilities():
        agent_call = _write_call(task, index, capability, template)
        if agent_call is None:
            task.leave_out(index, "not called by the REST transport of the Web of Agents")
            continue
        source, agent_id, operation = agent_call
        if agent_id in agents and (operation is None or "operations" not in agents[agent_id]):
            task.leave_out(index, "has the id of another agent")
            continue
        if operation is None:
            agents[agent_id] = _write_agent(task, index, capability, agent_id)
        else:
            agent = agents.setdefault(agent_id, _write_operations_agent(capability, agent_id, operation))
            agent["operations"].append(_write_operation(task, index, capability, operation))
        sources.setdefault(agent_id, []).append(source)
    if not agents:
        raise task.nothing_written("a WoA agent is called by the draft's REST transport")
    for agent in agents.values():
        if agent.get("operations"):
            agent["description"] = f"Operations: {', '.join(entry['name'] for entry in agent['operations'])}"[:1000]
    document = {
        "woa_version": VERSION,
        "agents": list(agents.values()),
        "transports": {"rest": {"base": base, "invoke_path": path}},
    }
    ordered = [source for agent_id in agents for source in sources[agent_id]]
    return writing.WrittenDocument(writing.with_native(SLUG, task.service, document), ordered)


def _write_transport(task: writing.Task) -> tuple[str, str, str]:
    """Return the declared URL template, and its base and invoke_path, which a client joins (section 4.3.1)."""
    for protocol in task.service.protocols:
        if protocol.id == REST and callable_address(protocol.endpoint, task.host):
            template = protocol.endpoint or ""
            parts = template.split("/", 3)
            if template.startswith("https://") and len(parts) == 4 and "{" not in parts[2]:
                return template, "/".join(parts[:3]), f"/{parts[3]}"
    raise writing.CannotWrite("no document of the host names a REST transport of the Web of Agents")


def _write_call(
    task: writing.Task, index: int, capability: Capability, template: str
) -> tuple[writing.EntrySource, str, str | None] | None:
    for invocation_index, call in enumerate(capability.invocations):
        ids = agent_and_operation(capability, call)
        if ids and call.endpoint == callable_address(template.replace("{agent_id}", ids[0]), task.host):
            return writing.EntrySource(index, invocation_index), *ids
    return None


def _write_agent(task: writing.Task, index: int, capability: Capability, agent_id: str) -> dict[str, Any]:
    agent = {
        "id": agent_id,
        "name": writing.clean_text(capability.name, NAME_CHARS) or agent_id,
        "description": writing.capability_description(task, index, capability, agent_id),
        **_write_schemas(task, index, capability),
        "transports": ["rest"],
        "capabilities": list(capability.tags) or None,
    }
    return writing.with_native(SLUG, capability, agent)


def _write_operations_agent(capability: Capability, agent_id: str, operation: str) -> dict[str, Any]:
    """Return an agent that only has operations. Its own schemas accept any object; `write` adds its description."""
    label = capability.name.removesuffix(f": {operation}")
    agent = {
        "id": agent_id,
        "name": writing.clean_text(label if label != capability.name else agent_id, NAME_CHARS) or agent_id,
        "description": "",
        "inputs": _ANY_OBJECT,
        "outputs": _ANY_OBJECT,
        "transports": ["rest"],
        "operations": [],
        "capabilities": list(capability.tags) or None,
    }
    return {**_own_members(capability).get("agent", {}), **writing.stated(agent)}


def _write_operation(task: writing.Task, index: int, capability: Capability, operation: str) -> dict[str, Any]:
    description = writing.capability_description(task, index, capability, operation)
    members = {"name": operation, "description": description, **_write_schemas(task, index, capability)}
    kept = {key: value for key, value in _own_members(capability).items() if key != "agent"}
    return {**kept, **members}


def _own_members(capability: Capability) -> Mapping[str, Any]:
    """Return the operation's members that the reader keeps, and below `agent` the members of its agent."""
    return capability.native.get(SLUG, {})


def _write_schemas(task: writing.Task, index: int, capability: Capability) -> dict[str, Any]:
    """Return `inputs` and `outputs`, which section 4.2 requires; the schema of any object replaces an unknown one."""
    schemas = {}
    for member, field in (("inputs", "params"), ("outputs", "result")):
        schema = drop_references(getattr(capability, field))
        if schema is None or not is_schema(schema):
            reason = "WoA requires a JSON Schema 2020-12 and none is known: a schema for any object is used"
            has_value = getattr(capability, field) is not None
            task.substitute(f"{writing.capability_pointer(index)}/{field}", member, reason, has_value=has_value)
            schema = _ANY_OBJECT
        schemas[member] = schema
    return schemas


WRITER: Final = writing.Writer("WoA", write)
