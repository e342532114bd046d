"""WoA agents and their operations -> capabilities (draft-00 sections 4.1, 4.2 and 5)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from registry.core.documents import Document, Json
from registry.core.endpoints import callable_url, link
from registry.core.findings import Reason
from registry.core.formats.woa.transports import Mcp, Rest, Transport
from registry.core.manifest import (
    ID_CHARS,
    NAME_CHARS,
    Notes,
    Object,
    at,
    clean_json,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    text_of,
    texts_of,
    word_of,
)
from registry.core.params import Definitions
from registry.core.plain_text import line
from registry.core.services import Auth, AuthScheme, Capability, Invocation, Origin
from registry.core.shapes import DRAFT_2020_12, Kind, check_types, is_list, is_map, is_schema, is_text, is_texts

SLUG: Final = "woa"
INHERITED: Final = ("inputs", "outputs", "capabilities")
MAX_TRANSPORTS: Final = 8

_ID = re.compile(r"[A-Za-z0-9_-]+")
_NO_TOKEN = re.compile(r"\s")
_OPTIONAL: Final[Mapping[str, Kind]] = {"version": is_text, "capabilities": is_texts, "operations": is_list}
_REQUIRED: Final = (("name", str), ("description", str), ("inputs", dict), ("outputs", dict), ("transports", list))


@dataclass(frozen=True, slots=True)
class Host:
    """What the agents of one document share."""

    document: Document
    is_configured: bool  # whether there are top-level transports at all; their absence is told once
    configured: Object  # the top-level transports as written
    transports: Mapping[str, Transport]  # the usable ones
    inherited: Definitions  # agent id -> what its operations take over
    notes: Notes


def inherited(body: Object) -> Definitions:
    agents = ((text_of(one, "id"), one) for one in list_of(body, "agents") if isinstance(one, dict))
    return Definitions({name: {key: one.get(key) for key in INHERITED} for name, one in agents if name})


def capabilities(host: Host, agents: Json) -> Iterator[Capability]:
    """One capability for each agent, or for each of its operations; unusable agents are noted and left out."""
    if not isinstance(agents, list):
        host.notes.add(Reason.WOA_AGENTS, "/agents", agents if agents is not None else "")
        return
    seen: set[str] = set()
    for pointer, agent in members(agents, "/agents", Reason.WOA_AGENT, host.notes):
        if _is_usable(agent, pointer, seen, host.notes):
            usable = _transports(host, agent, pointer)
            if usable:
                yield from _of_agent(host, agent, pointer, usable)


def authz(holder: Object, document: Document) -> Auth | None:
    """`authz{scheme, policy_uri, token_header}` of an agent or of the document (Appendix A)."""
    said = map_of(holder, "authz")
    if not said:
        return None
    header = word_of(said, "token_header")
    setup = link(said.get("policy_uri"), document.url)
    scheme = AuthScheme("custom", "header" if header else None, header, setup_url=setup, note=word_of(said, "scheme"))
    return Auth((scheme,), True)


def _is_usable(agent: Object, pointer: str, seen: set[str], notes: Notes) -> bool:
    name = agent.get("id")
    if not isinstance(name, str) or not _ID.fullmatch(name) or len(name) > ID_CHARS:
        notes.add(Reason.WOA_AGENT_ID, at(pointer, "id"), agent.get("id", ""))
        return False
    missing = [key for key, kind in _REQUIRED if not isinstance(agent.get(key), kind) or agent[key] == ""]
    if "transports" not in missing and not texts_of(agent, "transports"):
        missing.append("transports")
    for key in missing:
        notes.add(Reason.WOA_AGENT_REQUIRED, at(pointer, key), agent.get(key, ""))
    check_types(agent, _OPTIONAL, pointer, Reason.WOA_MEMBER_TYPE, notes)
    if missing or is_repeated(name, seen, at(pointer, "id"), notes):
        return False
    return not has_template(agent, ("name", "description"), pointer, notes)


def _transports(host: Host, agent: Object, pointer: str) -> dict[str, Transport]:
    usable = {}
    for name in texts_of(agent, "transports", most=MAX_TRANSPORTS):
        if name not in host.configured and host.is_configured:
            host.notes.add(Reason.WOA_TRANSPORT_UNKNOWN, at(pointer, "transports"), name)
        elif name in host.transports:
            usable[name] = host.transports[name]
    return usable


def _of_agent(host: Host, agent: Object, pointer: str, usable: Mapping[str, Transport]) -> Iterator[Capability]:
    name, auth = str(agent["id"]), authz(agent, host.document)
    whole = Capability(
        id=name,
        name=word_of(agent, "name") or name,
        description=text_of(agent, "description"),
        params=_schema(agent["inputs"], at(pointer, "inputs"), host.notes),
        result=_schema(agent["outputs"], at(pointer, "outputs"), host.notes),
        side_effects=True,  # it is called by POST, and the draft has no way to say more
        tags=texts_of(agent, "capabilities"),
    )
    operations = list(_operations(agent, pointer, host.notes))
    if not operations:
        yield replace(whole, invocations=_calls(host, name, None, usable, auth, pointer))
    for place, operation in operations:
        own = str(operation["name"])
        base = whole if host.inherited.taken(name) else replace(whole, params=None, result=None, tags=())
        yield replace(
            _of_operation(base, operation, place, host.notes),
            invocations=_calls(host, name, own, usable, auth, place),
        )


def _operations(agent: Object, pointer: str, notes: Notes) -> Iterator[tuple[str, Object]]:
    seen: set[str] = set()
    for place, operation in members(
        list_of(agent, "operations"), at(pointer, "operations"), Reason.WOA_OPERATION, notes
    ):
        for key in ("name", "description"):
            if not text_of(operation, key):
                notes.add(Reason.WOA_OPERATION, at(place, key), operation.get(key, ""))
        check_types(operation, {"inputs": is_map, "outputs": is_map}, place, Reason.WOA_MEMBER_TYPE, notes)
        name = operation.get("name")
        if isinstance(name, str) and _NO_TOKEN.search(name):
            notes.add(Reason.WOA_OPERATION, at(place, "name"), name)
        if isinstance(name, str) and name.strip() and not is_repeated(name, seen, at(place, "name"), notes):
            yield place, operation


def _of_operation(whole: Capability, operation: Object, pointer: str, notes: Notes) -> Capability:
    """Its own schemas override the agent's."""
    own = str(operation["name"])
    schemas = {
        field: _schema(operation[key], at(pointer, key), notes)
        for key, field in (("inputs", "params"), ("outputs", "result"))
        if key in operation
    }
    return replace(
        whole,
        id=f"{whole.id}.{line(own, ID_CHARS)}",
        name=f"{whole.name}: {line(own, NAME_CHARS)}",
        description=text_of(operation, "description") or whole.description,
        params=schemas.get("params", whole.params),
        result=schemas.get("result", whole.result),
    )


def _calls(
    host: Host, agent: str, operation: str | None, usable: Mapping[str, Transport], auth: Auth | None, pointer: str
) -> tuple[Invocation, ...]:
    origin = Origin(host.document.url, pointer, SLUG)
    calls = []
    for transport in usable.values():
        if isinstance(transport, Rest):
            found = callable_url(transport.template.replace("{agent_id}", agent), host.document.url, host.document.url)
            url, templated = (found.url, found.templated) if found else (None, False)
            call = Invocation("rpc", url, "POST", operation or agent, templated=templated)
        elif isinstance(transport, Mcp):
            tool = operation if operation and transport.tool_field == "operation" else agent
            call = Invocation("mcp_tool", transport.server, name=tool)
        else:
            call = Invocation("rpc", name=operation or agent)
        calls.append(replace(call, auth=auth, origin=origin))
    return tuple(calls)


def _schema(said: Json, pointer: str, notes: Notes) -> dict[str, Any] | None:
    """The schema as stored data; None, with a finding, where it is none of draft 2020-12."""
    if not isinstance(said, dict) or not is_schema(said):
        notes.add(Reason.WOA_SCHEMA, pointer, said)
        return None
    draft = said.get("$schema")
    if draft is not None and not (isinstance(draft, str) and draft.rstrip("#") == DRAFT_2020_12):
        notes.add(Reason.WOA_SCHEMA_DRAFT, at(pointer, "$schema"), draft)
    if said.get("type") != "object" or not isinstance(said.get("properties"), dict):
        notes.add(Reason.WOA_OBJECT_SCHEMA, pointer)
    cleaned: dict[str, Any] = clean_json(said)
    return cleaned
