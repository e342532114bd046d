"""Choose the call that a plain-HTTP format describes for a capability, and flatten its schema into parameters.

Nothing is guessed: a call needs an address and a method that a document of the host names. The one addition is the
envelope of the Web of Agents: its draft fixes the request (draft-00 section 5.1), so its members become parameters.
The parameter lists are those of ATP, AWAS and AWP. A parameter of unknown type is written without a type: `string`
would be a guess. translating/compare.py finds the losses.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from registry.core.format_support.endpoints import callable_url
from registry.core.format_support.manifest import NAME_CHARS, TEXT_CHARS, clean_json, unrendered_url
from registry.core.format_support.params import MAX_ENUM, MAX_PARAMS
from registry.core.format_support.writing.task import EntrySource
from registry.core.model.services import Auth, Capability, Invocation, InvocationKind, Service
from registry.core.reading.plain_text import line

WOA: Final = "woa"

NOT_PLAIN_HTTP: Final[Mapping[InvocationKind, str]] = {
    "mcp_tool": "called through MCP, not by plain HTTP",
    "a2a_skill": "called through A2A, not by plain HTTP",
    "rpc": "called through another protocol, not by plain HTTP",
    "instructions": "instructions to read, nothing to call",
    "navigation": "a page or a number for people",
    "pointer": "its call is in a document that has not been read",
}


@dataclass(frozen=True, slots=True)
class HttpCall:
    """An invocation by plain HTTP. `params`: JSON Schema of the request, None where no document describes it."""

    source: EntrySource
    call: Invocation
    url: str
    method: str
    params: Mapping[str, Any] | None


def callable_address(url: str | None, host: str) -> str | None:
    """Return the https or wss URL as every reader will resolve it, or None if readers would refuse it."""
    if url is None or "#" in url or unrendered_url(url):
        return None
    endpoint = callable_url(url, url, f"https://{host}/")
    endpoint_again = callable_url(endpoint.url, endpoint.url, f"https://{host}/") if endpoint else None
    return endpoint.url if endpoint and endpoint_again == endpoint else None


def http_call(
    host: str, methods: Collection[str], index: int, capability: Capability, *, pages: bool = False
) -> HttpCall | str:
    """Return the call to describe, or a clause that explains why no call can be described. Plain HTTP is preferred to
    an envelope, and the host's own site to other sites. `pages`: a page to open counts as a GET (for formats that also
    describe pages)."""
    candidates = [
        candidate
        for invocation_index, call in enumerate(capability.invocations)
        if (candidate := _as_http_call(EntrySource(index, invocation_index), capability, call, host, pages))
        and candidate.method in methods
    ]
    if candidates:
        return min(candidates, key=lambda candidate: (candidate.call.kind != "http", candidate.call.off_site))
    return _reason_without_call(capability, host, methods)


def auth_of_call(service: Service, call: Invocation | None) -> Auth:
    """Return the authentication that the call declares, else the service's."""
    return call.auth if call is not None and call.auth not in (None, Auth()) else service.auth


def agent_and_operation(capability: Capability, call: Invocation) -> tuple[str, str | None] | None:
    """Return agent and operation of a call over the REST transport of the Web of Agents; None for any other call."""
    if call.kind != "rpc" or call.origin is None or call.origin.format != WOA or call.method != "POST":
        return None
    agent, dot, operation = capability.id.partition(".")
    return agent, operation if dot else None


def _as_http_call(
    source: EntrySource, capability: Capability, call: Invocation, host: str, pages: bool
) -> HttpCall | None:
    url = callable_address(call.endpoint, host)
    if url is None or not url.startswith("https:"):
        return None
    if call.kind == "http" and call.method:
        return HttpCall(source, call, url, call.method, capability.params)
    if pages and call.kind == "navigation":
        return HttpCall(source, call, url, "GET", capability.params)
    ids = agent_and_operation(capability, call)
    if ids is None:
        return None
    source = EntrySource(source.capability, source.invocation, enveloped=True)
    return HttpCall(source, call, url, "POST", _envelope(*ids, capability.params))


def _envelope(agent: str, operation: str | None, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the JSON Schema of the envelope (Web of Agents draft-00 section 5.1)."""
    members: dict[str, Any] = {"agent": _constant(agent, "The id of the agent.")}
    if operation is not None:
        members["operation"] = _constant(operation, "The operation of the agent.")
    known = {key: params[key] for key in ("properties", "required") if key in params} if params else {}
    members["input"] = {"type": "object", "description": _members_sentence(params), **known}
    example = _required_examples(params)
    if example is not None:
        members["input"]["examples"] = [example]
    return {"type": "object", "properties": members, "required": list(members)}


def _constant(value: str, description: str) -> dict[str, Any]:
    return {"type": "string", "enum": [value], "description": description, "examples": [value]}


def _required_examples(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the documents' own examples of all required properties; None where one has none."""
    required, properties = (params or {}).get("required"), (params or {}).get("properties")
    if not isinstance(required, list | tuple) or not required or not isinstance(properties, Mapping):
        return None
    example = {}
    for name in required:
        rules = properties.get(name)
        examples = rules.get("examples") if isinstance(rules, Mapping) else None
        if not isinstance(examples, list) or not examples:
            return None
        example[name] = examples[0]
    return example


def _members_sentence(params: Mapping[str, Any] | None) -> str:
    """Return the members of `input` as a sentence, because these formats describe parameters only one level deep."""
    properties = (params or {}).get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return "The input of the agent."
    required = (params or {}).get("required")
    required_names = required if isinstance(required, list | tuple) else ()
    descriptions = []
    for name, rules in properties.items():
        kind = rules.get("type") if isinstance(rules, Mapping) else None
        qualifiers = [*([kind] if isinstance(kind, str) else ()), *(["required"] if name in required_names else ())]
        descriptions.append(f"{name} ({', '.join(qualifiers)})" if qualifiers else str(name))
    return line(f"The input of the agent, with {', '.join(descriptions)}.", TEXT_CHARS)


def _reason_without_call(capability: Capability, host: str, methods: Collection[str]) -> str:
    calls = [call for call in capability.invocations if call.kind == "http"]
    if not calls:
        kinds = [call.kind for call in capability.invocations]
        return NOT_PLAIN_HTTP[kinds[0]] if kinds else "no document describes how to call it"
    if not any(call.endpoint for call in calls):
        return "no endpoint is known"
    usable = [call for call in calls if (callable_address(call.endpoint, host) or "").startswith("https:")]
    if not usable:
        return "none of its endpoints is public https"
    if any(call.method for call in usable):
        return f"called with a method other than {', '.join(sorted(methods))}"
    return "no method is known"


MAX_LEVELS: Final = 20  # of a value inside a document; readers accept 32 levels in total

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object"})
_UNIONS: Final = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class WrittenParameter:
    """One property of the request. `type` is a JSON Schema type that it certainly accepts, None if unknown."""

    name: str
    type: str | None
    required: bool
    rules: Mapping[str, Any]

    def text(self, key: str) -> str | None:
        value = self.rules.get(key)
        return (line(value, TEXT_CHARS) or None) if isinstance(value, str) else None

    def number(self, key: str) -> int | float | None:
        value = self.rules.get(key)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def value(self, key: str) -> Any:
        """Return a JSON value; None where it is missing or nested more than MAX_LEVELS deep."""
        value = self.rules.get(key)
        return clean_json(value) if value is not None and levels(value) <= MAX_LEVELS else None

    @property
    def choices(self) -> list[Any]:
        value = self.value("enum")
        return value[:MAX_ENUM] if isinstance(value, list) else []

    @property
    def example(self) -> Any:
        examples = self.value("examples")
        return examples[0] if isinstance(examples, list) and examples else self.value("example")


def parameters(schema: Mapping[str, Any] | None) -> list[WrittenParameter] | None:
    """Return the first MAX_PARAMS properties of an object schema; None where the schema lists none. None does not mean
    "no parameters": the body may be an array, or a choice of objects."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return None
    required = (schema or {}).get("required")
    required_names = {one for one in required if isinstance(one, str)} if isinstance(required, list | tuple) else ()
    found = []
    for name, item in list(properties.items())[:MAX_PARAMS]:
        if clean_name := line(name, NAME_CHARS):
            rules = item if isinstance(item, Mapping) else {}
            found.append(WrittenParameter(clean_name, certain_type(rules), name in required_names, rules))
    return found


def certain_type(rules: Mapping[str, Any]) -> str | None:
    """Return a type that is certainly allowed: the declared type, the first of several, or the type keywords imply."""
    declared = rules.get("type")
    if isinstance(declared, str):
        return declared if declared in _TYPES else None
    if isinstance(declared, list | tuple):
        return next((type_name for type_name in declared if type_name in _TYPES), None)
    for key in _UNIONS:
        branches = rules.get(key)
        if isinstance(branches, list) and branches:
            kinds = (certain_type(branch) for branch in branches if isinstance(branch, Mapping))
            return next((kind for kind in kinds if kind), None)
    choices = rules.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(choice, str) for choice in choices):
        return "string"
    if isinstance(rules.get("properties"), Mapping):
        return "object"
    return "array" if isinstance(rules.get("items"), Mapping) else None


def drop_references(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the schema without references (their targets are not written), cut at MAX_LEVELS."""
    if not schema:
        return None
    cleaned: dict[str, Any] = clean_json(_self_contained(dict(schema), MAX_LEVELS))
    return cleaned or None


def levels(value: Any) -> int:
    """Return how deep containers are nested in a JSON value. Iterative, because the site controls the depth."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, Mapping | list | tuple)]:
        depth += 1
        level = [child for one in level for child in (one.values() if isinstance(one, Mapping) else one)]
    return depth


def _self_contained(value: Any, levels_left: int) -> Any:
    if isinstance(value, Mapping):
        if levels_left == 0:
            return {}
        members = {} if "$ref" in value else value
        return {key: _self_contained(item, levels_left - 1) for key, item in members.items()}
    if isinstance(value, list | tuple):
        return [_self_contained(item, levels_left - 1) for item in value] if levels_left else []
    return value
