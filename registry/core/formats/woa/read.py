"""Recognise WoA documents and read them into a service (draft-00 sections 4, 5, 7, 8.1 and 9)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from registry.core.format_support import shapes
from registry.core.format_support.endpoints import callable_url, endpoint, link
from registry.core.format_support.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    NAME_CHARS,
    TEXT_CHARS,
    Notes,
    Object,
    cap_capabilities,
    clean_json,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    native,
    other_members,
    short_text_of,
    text_of,
    texts_of,
    with_provenance,
)
from registry.core.format_support.params import Definitions
from registry.core.formats.woa import rules
from registry.core.model.documents import Document, Json
from registry.core.model.services import Auth, AuthScheme, Capability, Invocation, Origin, Protocol, Service
from registry.core.names.domains import host_of
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = "woa"
VERSION: Final = "1"
REST: Final = "woa-rest"
MCP: Final = "mcp"
INHERITED: Final = ("inputs", "outputs", "capabilities")
MAX_TRANSPORTS: Final = 8

_AGENT_READ: Final = frozenset({"id", "name", "description", "inputs", "outputs", "capabilities", "operations"})
_OPERATION_READ: Final = frozenset({"name", "description", "inputs", "outputs"})
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_MISSPELT: Final = frozenset({"agent_id", "agentid", "agent-id"})
"""Common misspellings of the placeholder, whose spelling and case are fixed (section 4.3.1); compared in lower case."""

_REVERSE_DNS = re.compile(r"[a-z][a-z0-9-]*(?:\.[A-Za-z0-9-]+)+")
_ID = re.compile(r"[A-Za-z0-9_-]+")
_WHITESPACE = re.compile(r"\s")
_OPTIONAL: Final = {"version": shapes.TEXT, "capabilities": shapes.TEXTS, "operations": shapes.LIST}
_REQUIRED: Final = (("name", str), ("description", str), ("inputs", dict), ("outputs", dict), ("transports", list))
_PATH = re.compile(r"https?://[^/]+/\.well-known/woa\.json(?:\?.*)?")
_READ: Final = frozenset({"woa_version", "agents"})
_CACHING: Final = ("etag", "last-modified", "cache-control")
_POINTERS: Final = {
    **dict.fromkeys(("name", "description", "version", "capabilities"), "/agents"),
    "auth": "/authz",
    "protocols": "/transports",
}

Transport: TypeAlias = tuple[Protocol, str | None]
"""A way to call agents, and the tool field of MCP, whose server may be an identifier that only a client can resolve.
The endpoint of REST is base and invoke_path, concatenated (section 4.3.1); it may contain `{agent_id}`."""


def dialect(document: Document) -> str | None:
    """Return VERSION, "other" for any other declared version, None for a document that is not WoA."""
    value = document.members
    if "woa_version" in value:
        return VERSION if str(value["woa_version"]) == VERSION else "other"
    agents = [agent for agent in list_of(value, "agents") if isinstance(agent, dict)]
    has_transports = any(isinstance(agent.get("transports"), list) for agent in agents)
    return VERSION if has_transports and isinstance(value.get("transports"), dict) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    body = document.members
    _check_top(body, document, notes)
    transports = dict(_read_transports(body, document, notes))
    configured = map_of(body, "transports") if isinstance(body.get("transports"), dict) else None
    if configured is None:
        notes.add(rules.TRANSPORTS, "/transports", body.get("transports", ""))
    agents = [agent for agent in list_of(body, "agents") if isinstance(agent, dict)]
    inherited: Object = {
        agent_id: {key: agent.get(key) for key in INHERITED} for agent in agents if (agent_id := text_of(agent, "id"))
    }
    context = AgentContext(document, configured, transports, Definitions(inherited), notes)
    found = cap_capabilities(capabilities(context, body.get("agents")), "/agents", notes)
    # the draft names no service: a single agent stands for it, and the names of several describe it
    usable_ids = {capability.id.partition(".")[0] for capability in found}
    usable = list({agent_id: agent for agent in agents if (agent_id := text_of(agent, "id")) in usable_ids}.values())
    single_agent = usable[0] if len(usable) == 1 else {}
    names = dict.fromkeys(name for agent in usable if (name := short_text_of(agent, "name")))
    service = Service(
        name=short_text_of(single_agent, "name") or host_of(document.url),
        description=text_of(single_agent, "description") or line(", ".join(names), TEXT_CHARS) or None,
        version=short_text_of(single_agent, "version"),
        capabilities=found,
        auth=authz(body, document) or Auth(),
        protocols=tuple(protocol for protocol, _ in transports.values()),
        native=native(SLUG, body, _READ),
    )
    return with_provenance(service, document, SLUG, _POINTERS)


def _check_top(body: Object, document: Document, notes: Notes) -> None:
    version = body.get("woa_version", "")
    if version == 1 and not isinstance(version, bool):
        notes.add(rules.VERSION_NUMBER, "/woa_version", version)
    elif version != VERSION:
        notes.add(rules.VERSION, "/woa_version", version)
    if document.url.startswith("http://"):
        notes.add(rules.HTTP, "", document.url)
    if not _PATH.fullmatch(document.url):
        notes.add(rules.PATH, "", document.url)
    if document.media_type == "application/json":
        notes.add(rules.MEDIA_TYPE, "", document.media_type)
    if document.headers and not any(name in document.headers for name in _CACHING):
        notes.add(rules.CACHING)


# --- transports (section 4.3) -----------------------------------------------------------------------------------------


def _read_transports(body: Object, document: Document, notes: Notes) -> Iterator[tuple[str, Transport]]:
    """Yield the usable transports with their names; a broken one is noted and left out."""
    for name, value in list(map_of(body, "transports").items())[:MAX_TEXTS]:
        pointer, config = at("/transports", name), value if isinstance(value, dict) else {}
        transport: Transport | None
        if name == "rest":
            transport = _read_rest(config, pointer, document, notes)
        elif name == "mcp":
            transport = _read_mcp(config, pointer, document, notes)
        else:  # private: described elsewhere, a client has to know it
            transport = Protocol(line(name, ID_CHARS).lower()), None
            if not _REVERSE_DNS.fullmatch(name):
                notes.add(rules.TRANSPORT_NAME, pointer, name)
            if not isinstance(value, dict):
                notes.add(rules.MEMBER_TYPE, pointer, value)
        if transport is not None:
            notes.mark_read(pointer)
            yield name, transport


def _read_rest(config: Object, pointer: str, document: Document, notes: Notes) -> Transport | None:
    base, path = config.get("base"), config.get("invoke_path")
    if not isinstance(base, str) or not base.startswith("https://"):
        notes.add(rules.REST, at(pointer, "base"), config.get("base", ""))
        return None
    if not isinstance(path, str) or not path.startswith("/"):
        notes.add(rules.REST, at(pointer, "invoke_path"), config.get("invoke_path", ""))
        return None
    if any(name != "agent_id" and name.casefold() in _MISSPELT for name in _VARIABLE.findall(path)):
        notes.add(rules.PLACEHOLDER, at(pointer, "invoke_path"), path)
    resolved = endpoint(base, document.url, document, at(pointer, "base"), notes)
    return (Protocol(REST, VERSION, base + path), None) if resolved else None


def _read_mcp(config: Object, pointer: str, document: Document, notes: Notes) -> Transport | None:
    if shapes.missing_texts(config, ("server", "tool_namespace", "tool_field"), pointer, rules.MCP, notes):
        return None
    server = str(config["server"])
    resolved = endpoint(server, document.url, document, at(pointer, "server"), notes) if "://" in server else None
    return Protocol(MCP, endpoint=resolved.url if resolved else None), short_text_of(config, "tool_field")


# --- agents and their operations (sections 4.1, 4.2 and 5) ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentContext:
    """The facts that all agents of a document share."""

    document: Document
    configured: Object | None  # the top-level transports as written; None without any, which is noted once
    transports: Mapping[str, Transport]  # the usable ones
    inherited: Definitions  # agent id -> members that its operations inherit
    notes: Notes


def capabilities(context: AgentContext, agents: Json) -> Iterator[Capability]:
    """Yield one capability per agent, or per operation where it has any; unusable agents are noted and left out."""
    if not isinstance(agents, list):
        context.notes.add(rules.AGENTS, "/agents", agents if agents is not None else "")
        return
    seen: set[str] = set()
    for pointer, agent in members(agents, "/agents", rules.AGENT, context.notes):
        if _is_usable(agent, pointer, seen, context.notes):
            transports = _find_transports(context, agent, pointer)
            if transports:
                yield from _read_agent_capabilities(context, agent, pointer, transports)


def authz(holder: Object, document: Document) -> Auth | None:
    """Read `authz{scheme, policy_uri, token_header}` of an agent or of the document (Appendix A)."""
    authorization = map_of(holder, "authz")
    if not authorization:
        return None
    header = short_text_of(authorization, "token_header")
    setup_url = link(authorization.get("policy_uri"), document.url)
    place, note = "header" if header else None, short_text_of(authorization, "scheme")
    return Auth((AuthScheme("custom", place, header, setup_url=setup_url, note=note),), True)


def _is_usable(agent: Object, pointer: str, seen: set[str], notes: Notes) -> bool:
    agent_id = agent.get("id")
    if not isinstance(agent_id, str) or not _ID.fullmatch(agent_id) or len(agent_id) > ID_CHARS:
        notes.add(rules.AGENT_ID, at(pointer, "id"), agent.get("id", ""))
        return False
    missing = [key for key, kind in _REQUIRED if not isinstance(agent.get(key), kind) or agent[key] == ""]
    if "transports" not in missing and not texts_of(agent, "transports"):
        missing.append("transports")
    for key in missing:
        notes.add(rules.AGENT_REQUIRED, at(pointer, key), agent.get(key, ""))
    shapes.check_types(agent, _OPTIONAL, pointer, rules.MEMBER_TYPE, notes)
    if missing or is_repeated(agent_id, seen, at(pointer, "id"), notes):
        return False
    return not has_template(agent, ("name", "description"), pointer, notes)


def _find_transports(context: AgentContext, agent: Object, pointer: str) -> dict[str, Transport]:
    transports = {}
    for name in texts_of(agent, "transports", most=MAX_TRANSPORTS):
        if context.configured is not None and name not in context.configured:
            context.notes.add(rules.TRANSPORT_UNKNOWN, at(pointer, "transports"), name)
        elif name in context.transports:
            transports[name] = context.transports[name]
    return transports


def _read_agent_capabilities(
    context: AgentContext, agent: Object, pointer: str, transports: Mapping[str, Transport]
) -> Iterator[Capability]:
    agent_id, auth = str(agent["id"]), authz(agent, context.document)
    agent_capability = Capability(
        id=agent_id,
        name=short_text_of(agent, "name") or agent_id,
        description=text_of(agent, "description"),
        params=_read_schema(agent["inputs"], at(pointer, "inputs"), context.notes),
        result=_read_schema(agent["outputs"], at(pointer, "outputs"), context.notes),
        title=short_text_of(agent, "name"),
        tags=texts_of(agent, "capabilities"),
        native=native(SLUG, agent, _AGENT_READ),
    )
    operations = list(_read_operations(agent, pointer, context.notes))
    if not operations:
        yield replace(agent_capability, invocations=_read_calls(context, agent_id, None, transports, auth, pointer))
    for operation_pointer, operation in operations:
        operation_name = str(operation["name"])
        kept = {"agent": {"id": agent_id, **agent_capability.native.get(SLUG, {})}}
        # the operation's own description and schemas override the agent's, which it inherits within a budget
        inherits = context.inherited.taken(agent_id) is not None
        schemas = {
            field: _read_schema(operation[key], at(operation_pointer, key), context.notes)
            for key, field in (("inputs", "params"), ("outputs", "result"))
            if key in operation
        }
        yield replace(
            agent_capability,
            id=f"{agent_id}.{line(operation_name, ID_CHARS)}",
            name=f"{agent_capability.name}: {line(operation_name, NAME_CHARS)}",
            description=text_of(operation, "description") or agent_capability.description,
            tags=agent_capability.tags if inherits else (),
            native={SLUG: {**kept, **other_members(operation, _OPERATION_READ)}},
            params=schemas.get("params", agent_capability.params if inherits else None),
            result=schemas.get("result", agent_capability.result if inherits else None),
            invocations=_read_calls(context, agent_id, operation_name, transports, auth, operation_pointer),
        )


def _read_operations(agent: Object, pointer: str, notes: Notes) -> Iterator[tuple[str, Object]]:
    seen: set[str] = set()
    operations = members(list_of(agent, "operations"), at(pointer, "operations"), rules.OPERATION, notes)
    schemas = dict.fromkeys(("inputs", "outputs"), shapes.OBJECT)
    for operation_pointer, operation in operations:
        shapes.missing_texts(operation, ("name", "description"), operation_pointer, rules.OPERATION, notes)
        shapes.check_types(operation, schemas, operation_pointer, rules.MEMBER_TYPE, notes)
        name = operation.get("name")
        if isinstance(name, str) and _WHITESPACE.search(name):
            notes.add(rules.OPERATION, at(operation_pointer, "name"), name)
        if isinstance(name, str) and name.strip() and not is_repeated(name, seen, at(operation_pointer, "name"), notes):
            yield operation_pointer, operation


def _read_calls(
    context: AgentContext,
    agent: str,
    operation: str | None,
    transports: Mapping[str, Transport],
    auth: Auth | None,
    pointer: str,
) -> tuple[Invocation, ...]:
    origin = Origin(context.document.url, pointer, SLUG)
    calls = []
    for protocol, tool_field in transports.values():
        template = protocol.endpoint
        if protocol.id == REST and template:
            address = callable_url(template.replace("{agent_id}", agent), context.document.url, context.document.url)
            url, templated = (address.url, address.templated) if address else (None, False)
            call = Invocation("rpc", url, "POST", operation or agent, templated=templated)
        elif tool_field:
            tool = operation if operation and tool_field == "operation" else agent
            call = Invocation("mcp_tool", template, name=tool)
        else:
            call = Invocation("rpc", name=operation or agent)
        calls.append(replace(call, auth=auth, origin=origin))
    return tuple(calls)


def _read_schema(schema: Json, pointer: str, notes: Notes) -> dict[str, Any] | None:
    """Return the schema as data; None, with a finding, where it is not a valid schema of draft 2020-12."""
    if not isinstance(schema, dict) or not shapes.is_schema(schema):
        notes.add(rules.SCHEMA, pointer, schema)
        return None
    draft = schema.get("$schema")
    if draft is not None and not (isinstance(draft, str) and draft.rstrip("#") == shapes.DRAFT_2020_12):
        notes.add(rules.SCHEMA_DRAFT, at(pointer, "$schema"), draft)
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        notes.add(rules.OBJECT_SCHEMA, pointer)
    cleaned: dict[str, Any] = clean_json(schema)
    return cleaned
