"""agents.json 0.1 (Wildcard): flows over the operations of OpenAPI descriptions that it names."""

from collections.abc import Iterator
from typing import Any, Final

from registry.core.documents import Document
from registry.core.endpoints import link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    Notes,
    Object,
    at,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    sourced,
    text_of,
    word_of,
)
from registry.core.params import object_schema, property_of
from registry.core.services import Capability, Invocation, Origin, Pointer, Relations, Service, Workflow

_SLUG: Final = "agents-json"
_REQUIRED: Final = ("agentsJson", "info", "sources", "flows")


def dialect(document: Document) -> str | None:
    value = document.value
    if not isinstance(value, dict):
        return None
    if "agentsJson" in value:
        return word_of(value, "agentsJson") or "unversioned"
    both = isinstance(value.get("flows"), list) and isinstance(value.get("sources"), list)
    return "unversioned" if both else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    for key in _REQUIRED:
        if key not in value:
            notes.add(Reason.AGENTS_JSON_REQUIRED, f"/{key}")
    info = map_of(value, "info")
    flows = list(_flows(value, document, notes))
    service = Service(
        name=word_of(info, "title"),
        description=text_of(info, "description"),
        version=word_of(info, "version"),
        capabilities=tuple(capability for capability, _ in flows),
        relations=Relations(tuple(workflow for _, workflow in flows)),
        pointers=tuple(_sources(value, document, notes))[:MAX_TEXTS],
    )
    places = {"name": "/info/title", "description": "/info/description", "version": "/info/version"}
    return sourced(service, document, _SLUG, {**places, "capabilities": "/flows", "relations": "/flows"})


def _sources(value: Object, document: Document, notes: Notes) -> Iterator[Pointer]:
    for pointer, item in members(list_of(value, "sources"), "/sources", Reason.AGENTS_JSON_PART, notes):
        target = link(item.get("path"), document.url)
        if target is None or not text_of(item, "id"):
            notes.add(Reason.AGENTS_JSON_PART, pointer, item.get("path", ""))
        else:
            yield Pointer(target, "source", at(pointer, "path"), "openapi")


def _flows(value: Object, document: Document, notes: Notes) -> Iterator[tuple[Capability, Workflow]]:
    """A flow is something to do, and the order of the operations that do it."""
    seen: set[str] = set()
    for pointer, item in members(list_of(value, "flows"), "/flows", Reason.AGENTS_JSON_PART, notes):
        identifier = text_of(item, "id", ID_CHARS)
        if identifier is None or not list_of(item, "actions"):
            notes.add(Reason.AGENTS_JSON_PART, pointer, identifier or "")
            continue
        if is_repeated(identifier, seen, at(pointer, "id"), notes):
            continue
        if has_template(item, ("title", "description"), pointer, notes):
            continue
        for key in ("title", "description", "fields"):
            if not item.get(key):
                notes.add(Reason.AGENTS_JSON_MEMBER, at(pointer, key))
        title, description = word_of(item, "title"), text_of(item, "description")
        call = Invocation("http", name=identifier, origin=Origin(document.url, pointer, _SLUG))
        capability = Capability(
            identifier,
            identifier,
            description or title,
            params=_params(map_of(item, "fields")),
            invocations=(call,),
        )
        yield capability, Workflow(identifier, title, description, _steps(item))


def _steps(flow: Object) -> tuple[str, ...]:
    """The operations, each as its source and its name there."""
    actions = [item for item in list_of(flow, "actions") if isinstance(item, dict)]
    named = ((word_of(item, "sourceId"), word_of(item, "operationId")) for item in actions[:MAX_TEXTS])
    return tuple(f"{source}: {operation}" if source else operation for source, operation in named if operation)


def _params(fields: Object) -> dict[str, Any]:
    """Parameters and the members of the body; a flow has several steps, so it has no endpoint of its own."""
    items = [item for item in list_of(fields, "parameters") if isinstance(item, dict) and word_of(item, "name")]
    properties = {word_of(item, "name") or "": property_of(item) for item in items}
    required = [word_of(item, "name") or "" for item in items if item.get("required") is True]
    content = map_of(map_of(fields, "requestBody"), "content")
    body = map_of(map_of(content, "application/json"), "schema") or map_of(map_of(fields, "requestBody"), "schema")
    for name, item in map_of(body, "properties").items():
        properties.setdefault(name[:ID_CHARS], property_of(item if isinstance(item, dict) else {}))
    required += [name for name in list_of(body, "required") if isinstance(name, str)]
    return object_schema(properties.items(), required)


FORMAT = Format(
    slug=_SLUG,
    title="agents.json",
    spec="agents.json 0.1.0",
    paths=("/.well-known/agents.json", "/agents.json"),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=_read,
)
