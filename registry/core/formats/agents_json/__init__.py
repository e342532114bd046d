"""agents.json 0.1 (Wildcard): flows that combine operations of the OpenAPI descriptions that it names."""

from collections.abc import Iterator
from typing import Any, Final

from registry.core.format_support import manifest
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.loose import license_of, provider_of
from registry.core.format_support.manifest import ID_CHARS, Notes, Object, list_of, map_of, short_text_of, text_of
from registry.core.format_support.params import object_schema, property_of
from registry.core.format_support.probing import ProbePath, always, never
from registry.core.format_support.shapes import LIST, OBJECT, TEXT
from registry.core.formats.agents_json import rules
from registry.core.model import services
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Capability, Invocation, Origin, ParameterPlace, Pointer, Service, Workflow
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = "agents-json"
_NESTED: Final = ("properties", "items", "additionalProperties", "oneOf", "anyOf", "allOf", "required")
_ALTERNATIVES: Final = frozenset({"oneOf", "anyOf", "allOf", "$ref", "additionalProperties"})
_FLOW_READ: Final = frozenset({"id", "title", "description", "fields", "tags"})
_READ: Final = frozenset({"agentsJson", "info", "flows"})
_REQUIRED: Final = ("agentsJson", "info", "sources", "flows")
_POINTERS = {
    "name": "/info/title", "description": "/info/description", "version": "/info/version", "capabilities": "/flows",
    "relations": "/flows",
}  # fmt: skip


def dialect(document: Document) -> str | None:
    value = document.members
    if "agentsJson" in value:
        return short_text_of(value, "agentsJson") or "unversioned"
    has_flows_and_sources = isinstance(value.get("flows"), list) and isinstance(value.get("sources"), list)
    return "unversioned" if has_flows_and_sources else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    for key in _REQUIRED:
        if key not in value:
            notes.add(rules.REQUIRED, f"/{key}")
    info = map_of(value, "info")
    flows = list(_read_flows(value, document, notes))
    service = Service(
        name=short_text_of(info, "title"),
        description=text_of(info, "description"),
        version=short_text_of(info, "version"),
        capabilities=tuple(capability for capability, _ in flows),
        relations=services.Relations(tuple(workflow for _, workflow in flows)),
        provider=provider_of(info, document.url),
        license=license_of(info),
        pointers=tuple(_read_sources(value, document, notes))[: manifest.MAX_TEXTS],
        native=manifest.native(SLUG, value, _READ),
    )
    return manifest.with_provenance(service, document, SLUG, _POINTERS)


def _members(value: Object, key: str, notes: Notes) -> Iterator[tuple[str, Object]]:
    """Yield JSON Pointer and members of each object of a list, or of a map from ids that some publishers write."""
    held = value.get(key)
    if not isinstance(held, dict):
        yield from manifest.members(list_of(value, key), f"/{key}", rules.PART, notes)
        return
    for name, item in list(held.items())[: manifest.MAX_CAPABILITIES]:
        if isinstance(item, dict):
            yield at("", key, name), {"id": name, **item}
        else:
            notes.add(rules.PART, at("", key, name), item)


def _read_sources(value: Object, document: Document, notes: Notes) -> Iterator[Pointer]:
    for pointer, item in _members(value, "sources", notes):
        target = link(item.get("path", item.get("url")), document.url)
        if target is None or not text_of(item, "id"):
            notes.add(rules.PART, pointer, item.get("path", ""))
        else:
            yield Pointer(target, "source", at(pointer, "path"), "openapi")


def _read_flows(value: Object, document: Document, notes: Notes) -> Iterator[tuple[Capability, Workflow]]:
    """Yield each usable flow as a capability and as the workflow of its operations."""
    seen: set[str] = set()
    for pointer, item in _members(value, "flows", notes):
        identifier = text_of(item, "id", ID_CHARS)
        if identifier is None or not list_of(item, "actions"):
            notes.add(rules.PART, pointer, identifier or "")
            continue
        if manifest.is_repeated(identifier, seen, at(pointer, "id"), notes):
            continue
        if manifest.has_template(item, ("title", "description"), pointer, notes):
            continue
        for key in ("title", "description", "fields"):
            if not item.get(key):
                notes.add(rules.MEMBER, at(pointer, key))
        title, description = short_text_of(item, "title"), text_of(item, "description")
        fields = map_of(item, "fields")
        origin = Origin(document.url, pointer, SLUG)
        request = map_of(fields, "requestBody")
        content = map_of(request, "content")  # JSON if there is a choice, else the first media type
        kind = "application/json" if "application/json" in content else next(iter(content), None)
        body = map_of(request, "schema") if kind is None else map_of(map_of(content, kind), "schema")
        media_type = line(kind, manifest.NAME_CHARS) if kind else None
        params, places, names = _read_params(fields, body, at(pointer, "fields"), notes)
        result, result_note = _read_result(map_of(fields, "responses"))
        capability = Capability(
            identifier,
            identifier,
            description or title,
            params=params,
            result=result,
            result_note=result_note,
            title=title,
            tags=manifest.texts_of(item, "tags"),
            invocations=(
                Invocation("http", name=identifier, places=places, names=names, media_type=media_type, origin=origin),
            ),
            native=manifest.native(SLUG, item, _FLOW_READ),
        )
        actions = [action for action in list_of(item, "actions") if isinstance(action, dict)][: manifest.MAX_TEXTS]
        operations = ((short_text_of(one, "sourceId"), short_text_of(one, "operationId")) for one in actions)
        steps = (f"{source}: {operation}" if source else operation for source, operation in operations if operation)
        yield capability, Workflow(identifier, title, description, tuple(steps))


_Pairs = tuple[tuple[str, str], ...]


def _read_params(
    fields: Object, body: Object, pointer: str, notes: Notes
) -> tuple[dict[str, Any], tuple[tuple[str, ParameterPlace], ...], _Pairs]:
    """Return one object schema of the flow's parameters and of its body, which of them are of the body, and the names
    of those in the body whose name is also a parameter's. A body that is not an object is one parameter."""
    properties: dict[str, dict[str, Any]] = {}
    required: list[str] = []
    for index, item in enumerate(list_of(fields, "parameters")):
        name = short_text_of(item, "name")
        if name is None or not isinstance(item, dict):
            notes.add(rules.PART, at(pointer, "parameters", index), item)
            continue
        properties[name] = _read_property(item)
        required += [name] if item.get("required") is True else []
    members = {line(key, ID_CHARS): item for key, item in map_of(body, "properties").items()}
    if not members and (body.get("type", "object") != "object" or not _ALTERNATIVES.isdisjoint(body)):
        name = manifest.unique_name("body", set(properties))
        cleaned: dict[str, Any] = manifest.clean_json(body)
        required += [name] if map_of(fields, "requestBody").get("required") is True else []
        return object_schema({**properties, name: cleaned}.items(), required), ((name, "whole_body"),), ()
    keys = {name: f"{name}__body" if name in properties else name for name in members if name}
    properties |= {key: _read_property(map_of(members, name)) for name, key in keys.items()}
    stated = [line(name, ID_CHARS) for name in list_of(body, "required") if isinstance(name, str)]
    schema = object_schema(properties.items(), [*required, *(keys.get(name, name) for name in stated)])
    kept = {name: key for name, key in keys.items() if key in schema["properties"]}
    sent_as = tuple((key, name) for name, key in kept.items() if key != name)
    return schema, tuple((key, "body") for key in kept.values()), sent_as


def _read_property(item: Object) -> dict[str, Any]:
    """Return the schema of a parameter with its nested schemas, as data."""
    nested = {key: manifest.clean_json(item[key]) for key in _NESTED if isinstance(item.get(key), dict | list)}
    if isinstance(nested.get("required"), list) and "properties" not in nested:
        nested.pop("required")
    return {**property_of({**map_of(item, "schema"), **item}), **nested}


def _read_result(responses: Object) -> tuple[dict[str, Any] | None, str | None]:
    """Return the result of a flow on success: a schema, or only words."""
    key = next((key for key in ("success", "200", "201", "default") if map_of(responses, key)), None)
    held = map_of(responses, key) if key else next((item for item in responses.values() if isinstance(item, dict)), {})
    content = next((item for item in map_of(held, "content").values() if isinstance(item, dict)), {})
    schema = map_of(content, "schema") or map_of(held, "schema") or held
    if set(schema) <= {"description"}:
        return None, text_of(schema, "description")
    cleaned: dict[str, Any] = manifest.clean_json(schema)
    return cleaned, None


_FLOW: Final = {**dict.fromkeys(("id", "title", "description"), TEXT), "actions": LIST, "fields": OBJECT}

FORMAT: Final = Format(
    slug=SLUG,
    title="agents.json",
    spec="agents.json 0.1.0",
    cited_as="agents.json ",
    about=(
        "A service describes flows: tasks, each made of calls of its OpenAPI description. Agents use it to "
        "do a task rather than a single call."
    ),
    link="https://github.com/wild-card-ai/agents-json",
    example={
        "agentsJson": "0.1.0",
        "info": {"title": "City weather", "version": "1.0.0", "description": "Tells the weather of any city."},
        "sources": [{"id": "weather", "path": "https://example.com/openapi.json"}],
        "flows": [
            {
                "id": "get_weather",
                "title": "Get weather",
                "description": "Tell the weather of a city.",
                "actions": [{"id": "call", "sourceId": "weather", "operationId": "get_weather"}],
                "fields": {
                    "parameters": [
                        {
                            "name": "city",
                            "description": "Name of the city.",
                            "type": "string",
                            "required": True,
                        },
                    ],
                    "responses": {"success": {"type": "object", "properties": {"temperature": {"type": "number"}}}},
                },
            },
        ],
    },
    paths=("/.well-known/agents.json", "/agents.json"),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/flows/[]", "flow", members=_FLOW),
        Part("/sources/[]", "source", members=dict.fromkeys(("id", "path"), TEXT)),
    ),
    types={"/info": OBJECT, "/info/title": TEXT, "/info/description": TEXT, "/info/version": TEXT},
    rules=rules_in(rules),
    asks=frozenset({"capability.undescribed", "capability.without_params"}),
    probe_paths=(
        ProbePath("S4", 40, "/.well-known/agents.json", when=always),
        ProbePath("S4", 150, "/agents.json", fallback_of="/.well-known/agents.json", when=never),
    ),
    precedence=120,
)
