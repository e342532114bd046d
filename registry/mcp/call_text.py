"""The text of a call: everything that a model needs to send it, one fact on a line, each with a fixed beginning.

Some hosts hand their model nothing but the text of a result, so it has to suffice. docs/interfaces/mcp.md lists the
beginnings; programs may read them. Texts of sites stand in quotation marks or inside JSON.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from registry.core.calling.effort import Effort, OutOfEffort
from registry.core.calling.schemas import Root, Schema
from registry.core.format_support.vocabulary import SAFE_METHODS
from registry.core.reading.plain_text import unbroken
from registry.mcp.within import name_of, quoted

Json = dict[str, Any]

_MAX_PARAMETERS: Final = 200
_MAX_DEPTH: Final = 3
_MAX_CHOICES: Final = 12
_MAX_ALTERNATIVES: Final = 3
_VALUE_BYTES: Final = 120
_MEANING_BYTES: Final = 200
_URL_BYTES: Final = 2_000
_SCHEMA_EFFORT: Final = 50_000
"""Work of following references of one schema (`core.calling.effort`): some milliseconds."""
_SAFE: Final = frozenset({("http", method) for method in SAFE_METHODS})
_PLACEHOLDER: Final = re.compile(r"YOUR_[A-Z0-9_]{1,60}")
_PLACES: Final = {"mcp_tool": "params.arguments", "woa_operation": "body.input"}
"""Kind of a call that does not list its parameters -> where its request carries them."""
_COMBINED: Final = ("allOf", "anyOf", "oneOf")
_PARTS: Final = frozenset({"properties", *_COMBINED})
_TYPES: Final = ("string", "integer", "number", "boolean", "object", "array", "null")
_SHOWN_RULES: Final = (
    ("minimum", "at least"), ("exclusiveMinimum", "more than"), ("maximum", "at most"), ("exclusiveMaximum", "below"),
    ("minLength", "characters at least"), ("maxLength", "characters at most"), ("minItems", "items at least"),
    ("maxItems", "items at most"), ("pattern", "matches"),
)  # fmt: skip

_CALLABLE: Final = 'look for another service: discover_services with filters {"callable":["true"]}.'
_INSTEAD: Final[Mapping[str, str]] = {
    "detail_not_fetched": "ask again in some minutes, or have the host visited now with submit_service.",
    "detail_missing_at_site": _CALLABLE,
    "detail_not_readable": "ask again in a day, or read the site's own document.",
    "detail_elsewhere": "read the site's own document.",
    "not_http": f"get_service shows the protocols of its host; or {_CALLABLE}",
}
"""Reason why there is no call -> what a model can do."""
_OTHERWISE: Final = f"read the documentation that get_service with detail full names; or {_CALLABLE}"


def exact(name: str) -> str:
    """Return a name as a JSON string, because callers send it back unchanged."""
    return unbroken(orjson.dumps(name_of(name))).decode()


def json_line(value: Any) -> str:
    return unbroken(orjson.dumps(value)).decode()


def slim_call(call: Json) -> Json:
    """Return a call without what it says twice: the line of curl, the schema of the body, and its source."""
    slim = {key: value for key, value in call.items() if key not in ("curl", "source")}
    if "request" in call:
        slim["request"] = {key: value for key, value in call["request"].items() if key != "body_schema"}
    return slim


def call_summary(capability: Json) -> str:
    """Return one line that says whether and where the capability of a row can be called."""
    state, reason = capability.get("callable"), capability.get("not_callable", "")
    if state is True:
        method, address = capability.get("method"), capability.get("address")
        where = quoted(address, _URL_BYTES) if address else "(its record has the address)"
        if not address and not method:
            where = "over standard input"
        return " ".join(filter(None, ["call:", capability.get("kind"), method, where]))
    return f"call: {'none' if state is False else 'unknown'} ({reason}); get_capability says what to do instead"


def call_lines(call: Json) -> Iterator[str]:
    """Yield what has to be known of any call: protocol, address, request, values to fill in, credentials."""
    request, kind = call.get("request", {}), call.get("kind", "unknown")
    if "open" in call:
        yield f"call: {kind}, a page for people: open {quoted(call['open'], _URL_BYTES)}"
        return
    where = f"{request['method']} {quoted(request['url'], _URL_BYTES)}" if "url" in request else "over standard input"
    yield f"call: {kind} {where}"
    if "start" in call or call.get("transport") == "stdio":
        yield f"start: {json_line(_get_start(call))}"
    place, session = "to the same address", "; repeat the answer's header Mcp-Session-Id in each later request"
    if "url" not in request:
        place, session = "to its standard input", ""
    if handshake := call.get("initialize"):
        yield f"before: send {json_line(handshake['body'])} {place}, then {json_line(handshake['then'])}{session}"
    written = json_line(call["example"])
    yield f"request: {written}"
    if kind == "mcp_server":
        yield f"next: the answer lists the server's tools; send tools/call {place}"
    if placeholders := sorted(set(_PLACEHOLDER.findall(written))):
        yield f"fill in: {', '.join(placeholders)}"
    if derived := call.get("derived"):
        yield f"made up: {', '.join(map(exact, derived))}; only valid, so replace them by your own values"
    for part in call.get("missing", ()):
        yield f"missing: {quoted(part['what'])}: {quoted(part['why'], _MEANING_BYTES)}"


def takes_line(call: Json) -> Iterator[str]:
    """Yield the names of the parameters, where the call lists them."""
    rows = call.get("request", {}).get("parameters", ())
    names = [f"{exact(row['name'])}{' (required)' if row['required'] else ''}" for row in rows]
    more = f" and {len(names) - _MAX_CHOICES} more" if len(names) > _MAX_CHOICES else ""
    if names:
        yield f"takes: {', '.join(names[:_MAX_CHOICES])}{more}"


def _get_start(call: Json) -> Any:
    """Return how the server is started, from the entry for a client's list of servers."""
    servers = call.get("client_configuration", {}).get("mcpServers", {})
    return next(iter(servers.values()), None) or [one.get("identifier") for one in call.get("packages", ())]


def credential_lines(call: Json, auth: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the credentials of a call, a line for each alternative. `auth`: the record's, which says where to get them.
    Without a line no document names any."""
    if "open" in call:
        return
    credentials = call.get("credentials", {})
    alternatives, required = credentials.get("alternatives", ()), credentials.get("required")
    if not alternatives:
        unknown = {True: "required, but no document says which", False: "none needed", None: "no document says"}
        yield f"credentials: {unknown[required]}"
        return
    need = {True: "required", False: "optional", None: "perhaps required"}[required]
    schemes = (auth or {}).get("schemes", ())
    said = (" and ".join(_credential(one, schemes) for one in alternative) for alternative in alternatives)
    for number, each in enumerate([*dict.fromkeys(said)][:_MAX_ALTERNATIVES]):
        yield f"credentials: {need if number == 0 else 'or'}: {each}"


def _credential(one: Json, schemes: Sequence[Mapping[str, Any]]) -> str:
    said = one["type"]
    if "in" in one:
        said += f" in {one['in']} {quoted(one['name'])} as {quoted(one.get('value'))}"
    known = (scheme for scheme in schemes if scheme.get("type") == one["type"])
    same = [scheme for scheme in known if scheme.get("name") in (None, one.get("name"))]
    scheme = same[0] if same else {}
    for key, words in (("setup_url", "get it at"), ("authorization_url", "authorize at"), ("token_url", "token from")):
        if key in scheme:
            said += f", {words} {quoted(scheme[key], _URL_BYTES)}"
    if scheme.get("scopes"):
        said += f", scopes {', '.join(map(quoted, scheme['scopes'][:_MAX_CHOICES]))}"
    if one.get("issuers"):
        said += f", issued by {', '.join(one['issuers'][:_MAX_CHOICES])}"
    return f"{said}, {quoted(one['note'], _MEANING_BYTES)}" if "note" in one else said


def effects_line(record: Json) -> str:
    """Return the line for a record or a row. A row does not say what its method implies."""
    stated, inferred = record.get("side_effects"), record.get("side_effects_inferred")
    if stated is None and (inferred is not None or (record.get("kind"), record.get("method")) in _SAFE):
        return "side effects: none, by its method"
    return f"side effects: { {True: 'yes', False: 'none', None: 'the documents do not say'}[stated] }"


def confirmation_line(record: Json) -> str | None:
    confirmation = record.get("confirmation")
    if not confirmation or not confirmation.get("required"):
        return None
    message = confirmation.get("message")
    return f"confirmation: a person must agree first{f': {quoted(message, 500)}' if message else ''}"


def missing_of(record: Json) -> Json:
    """Return why a record has no call; the document of a site may name an endpoint that nothing can be sent to."""
    return record.get("missing") or {"reason": "unknown", "message": "The documents do not suffice for a call."}


def missing_lines(missing: Json) -> Iterator[str]:
    """Yield why a capability has no call, and what to do instead."""
    reason = missing["reason"]
    yield f"call: none ({reason}): {missing['message']}"
    detail_url = None if reason == "detail_missing_at_site" else missing.get("detail_url")
    own = f" The document is at {quoted(detail_url, _URL_BYTES)}" if detail_url else ""
    yield f"instead: {_INSTEAD.get(reason, _OTHERWISE)}{own}"


def parameter_lines(record: Json) -> Iterator[str]:
    """Yield a line for each parameter, members of objects included, the required ones first."""
    schema, call = record.get("input_schema"), record.get("call") or {}
    if not isinstance(schema, Mapping):
        return
    placed = {row["name"]: row for row in call.get("request", {}).get("parameters", ())}
    found: list[tuple[bool, str]] = []
    try:
        _add_parameters(found, Root(schema, Effort(_SCHEMA_EFFORT)), schema, _Place("", True, 0, placed, call))
    except OutOfEffort:
        found.append((True, "parameter: more, behind references that are too long to follow; see the record"))
    yield from (line for _, line in sorted(found, key=lambda one: one[0]))


class _Place:
    """Where members of an object stand: their prefix, whether each member of the path is required, and the depth."""

    __slots__ = ("call", "depth", "placed", "prefix", "required")

    def __init__(self, prefix: str, required: bool, depth: int, placed: Mapping[str, Json], call: Json) -> None:
        self.prefix, self.required, self.depth, self.placed, self.call = prefix, required, depth, placed, call


def _add_parameters(found: list[tuple[bool, str]], root: Root, schema: Schema, place: _Place) -> None:
    rules = root.keywords(schema)
    required = set(rules.get("required", ()))
    for name, part in rules.get("properties", {}).items():
        if len(found) >= _MAX_PARAMETERS:
            return
        own = _mapping(root.resolved(part))
        is_required = name in required or place.placed.get(name, {}).get("required", False)
        found.append((not (place.required and is_required), _line(root, name, own, is_required, place)))
        inner = _mapping(root.resolved(own["items"])) if "items" in own else own
        if place.depth < _MAX_DEPTH and _PARTS & inner.keys():
            prefix = f"{place.prefix}{name}{'[].' if inner is not own else '.'}"
            deeper = _Place(prefix, place.required and is_required, place.depth + 1, {}, {})
            _add_parameters(found, root, inner, deeper)
    if place.depth >= _MAX_DEPTH:
        return
    for key in _COMBINED:
        for part in rules.get(key, ())[:_MAX_CHOICES]:
            is_certain = place.required and key == "allOf"
            deeper = _Place(place.prefix, is_certain, place.depth + 1, place.placed, place.call)
            _add_parameters(found, root, _mapping(root.resolved(part)), deeper)


def _mapping(schema: Schema | bool) -> Schema:
    return schema if isinstance(schema, Mapping) else {}


def _line(root: Root, name: str, schema: Mapping[str, Any], is_required: bool, place: _Place) -> str:
    row = place.placed.get(name, {})
    facts = [_type_of(root, schema), "required" if is_required else "optional"]
    if "in" in row:
        facts.append("is the body" if row["in"] == "whole_body" else f"in {row['in']}")
    elif place.depth == 0 and (known := _PLACES.get(place.call.get("kind", ""))):
        facts.append(f"in {known}")
    if "sent_as" in row:
        facts.append(f"sent as {exact(row['sent_as'])}")
    said = f"parameter: {exact(place.prefix + name)} ({', '.join(facts)})"
    if isinstance(meaning := schema.get("description"), str) and meaning.strip():
        said += f": {quoted(meaning, _MEANING_BYTES)}"
    return said + "".join(
        f"; {rule}" for rule in _rules(root, schema, is_shown=name in place.call.get("arguments", {}))
    )


def _type_of(root: Root, schema: Mapping[str, Any], depth: int = 0) -> str:
    declared = schema.get("type")
    if declared == "array" and depth < _MAX_DEPTH:
        items = root.resolved(schema.get("items", True))
        return f"list of {_type_of(root, items, depth + 1) if isinstance(items, Mapping) else 'any'}"
    if declared is None and depth < _MAX_DEPTH:
        parts = next((schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list | tuple)), ())
        kinds = (root.resolved(part) for part in parts[:_MAX_CHOICES])
        return _joined(_type_of(root, kind, depth + 1) for kind in kinds if isinstance(kind, Mapping)) or "any"
    named = declared if isinstance(declared, list | tuple) else [declared]
    words = _joined(name for name in named if name in _TYPES) or "any"
    form = schema.get("format")
    return f"{words} {quoted(form, 40)}" if isinstance(form, str) else words


def _joined(names: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(names))


def _rules(root: Root, schema: Mapping[str, Any], *, is_shown: bool) -> Iterator[str]:
    listed = schema.get("enum")
    items = root.resolved(schema["items"]) if "items" in schema else None
    if not listed and isinstance(items, Mapping):
        listed = items.get("enum")
    if isinstance(listed, list | tuple) and listed:
        more = f" and {len(listed) - _MAX_CHOICES} more" if len(listed) > _MAX_CHOICES else ""
        yield f"one of {', '.join(map(_value, listed[:_MAX_CHOICES]))}{more}"
    if "const" in schema:
        yield f"always {_value(schema['const'])}"
    for key, words in _SHOWN_RULES:
        if isinstance(schema.get(key), int | float | str) and not isinstance(schema[key], bool):
            yield f"{words} {_value(schema[key])}"
    if schema.get("default") is not None:
        yield f"default {_value(schema['default'])}"
    examples = schema.get("examples") or ([schema["example"]] if schema.get("example") is not None else [])
    if isinstance(examples, list | tuple) and examples and not is_shown:
        yield f"such as {_value(examples[0])}"


def _value(value: Any) -> str:
    """Return a value of a document as JSON, or as a cut text in quotation marks when it is long."""
    written = json_line(value)
    return written if len(written.encode()) <= _VALUE_BYTES else quoted(written, _VALUE_BYTES)
