"""Recognise agents.json 0.1 (Wildcard) and read its flows over the operations of OpenAPI descriptions."""

from collections.abc import Iterator
from typing import Any, Final

from registry.core.format_support.endpoints import link
from registry.core.format_support.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    Notes,
    Object,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    short_text_of,
    text_of,
    with_provenance,
)
from registry.core.format_support.params import object_schema, property_of
from registry.core.formats.agents_json import rules
from registry.core.model.documents import Document
from registry.core.model.services import Capability, Invocation, Origin, Pointer, Relations, Service, Workflow
from registry.core.reading.json_pointer import at

SLUG: Final = "agents-json"
_REQUIRED: Final = ("agentsJson", "info", "sources", "flows")


def dialect(document: Document) -> str | None:
    value = document.value
    if not isinstance(value, dict):
        return None
    if "agentsJson" in value:
        return short_text_of(value, "agentsJson") or "unversioned"
    has_flows_and_sources = isinstance(value.get("flows"), list) and isinstance(value.get("sources"), list)
    return "unversioned" if has_flows_and_sources else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    for key in _REQUIRED:
        if key not in value:
            notes.add(rules.REQUIRED, f"/{key}")
    info = map_of(value, "info")
    flows = list(_flows(value, document, notes))
    service = Service(
        name=short_text_of(info, "title"),
        description=text_of(info, "description"),
        version=short_text_of(info, "version"),
        capabilities=tuple(capability for capability, _ in flows),
        relations=Relations(tuple(workflow for _, workflow in flows)),
        pointers=tuple(_sources(value, document, notes))[:MAX_TEXTS],
    )
    pointer_by_field = {"name": "/info/title", "description": "/info/description", "version": "/info/version"}
    return with_provenance(
        service, document, SLUG, {**pointer_by_field, "capabilities": "/flows", "relations": "/flows"}
    )


def _sources(value: Object, document: Document, notes: Notes) -> Iterator[Pointer]:
    for pointer, item in members(list_of(value, "sources"), "/sources", rules.PART, notes):
        target = link(item.get("path"), document.url)
        if target is None or not text_of(item, "id"):
            notes.add(rules.PART, pointer, item.get("path", ""))
        else:
            yield Pointer(target, "source", at(pointer, "path"), "openapi")


def _flows(value: Object, document: Document, notes: Notes) -> Iterator[tuple[Capability, Workflow]]:
    """Yield each usable flow as a capability and as the workflow of its operations."""
    seen: set[str] = set()
    for pointer, item in members(list_of(value, "flows"), "/flows", rules.PART, notes):
        identifier = text_of(item, "id", ID_CHARS)
        if identifier is None or not list_of(item, "actions"):
            notes.add(rules.PART, pointer, identifier or "")
            continue
        if is_repeated(identifier, seen, at(pointer, "id"), notes):
            continue
        if has_template(item, ("title", "description"), pointer, notes):
            continue
        for key in ("title", "description", "fields"):
            if not item.get(key):
                notes.add(rules.MEMBER, at(pointer, key))
        title, description = short_text_of(item, "title"), text_of(item, "description")
        call = Invocation("http", name=identifier, origin=Origin(document.url, pointer, SLUG))
        capability = Capability(
            identifier,
            identifier,
            description or title,
            params=_params(map_of(item, "fields")),
            invocations=(call,),
        )
        yield capability, Workflow(identifier, title, description, _steps(item))


def _steps(flow: Object) -> tuple[str, ...]:
    """Return the operations of a flow as `source: operation`."""
    actions = [item for item in list_of(flow, "actions") if isinstance(item, dict)]
    operations = ((short_text_of(item, "sourceId"), short_text_of(item, "operationId")) for item in actions[:MAX_TEXTS])
    return tuple(f"{source}: {operation}" if source else operation for source, operation in operations if operation)


def _params(fields: Object) -> dict[str, Any]:
    """Return one object schema of the flow's parameters and the members of its body."""
    items = [item for item in list_of(fields, "parameters") if isinstance(item, dict) and short_text_of(item, "name")]
    properties = {short_text_of(item, "name") or "": property_of(item) for item in items}
    required = [short_text_of(item, "name") or "" for item in items if item.get("required") is True]
    content = map_of(map_of(fields, "requestBody"), "content")
    body = map_of(map_of(content, "application/json"), "schema") or map_of(map_of(fields, "requestBody"), "schema")
    for name, item in map_of(body, "properties").items():
        properties.setdefault(name[:ID_CHARS], property_of(item if isinstance(item, dict) else {}))
    required += [name for name in list_of(body, "required") if isinstance(name, str)]
    return object_schema(properties.items(), required)
