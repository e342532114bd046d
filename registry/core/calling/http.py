"""Make the example call of a capability by plain HTTP, or by REST of the Web of Agents (draft-00 sections 5.1, 5.2).

Arguments are a valid value for each required parameter, and the document's own values for others. They are made once,
when a service is recorded, and stored with the capability (`example_of` in `call`). Parameters are then put into their
places in the request.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from registry.core.calling.credentials import Credentials, credentials_of, placeholder, with_parameters
from registry.core.calling.effort import MAX_VALUE_WEIGHT, Effort, OutOfEffort, weight_of
from registry.core.calling.examples import Filler, Unfillable, is_plain
from registry.core.calling.request import JSON, ExampleRequest
from registry.core.calling.schemas import Root, fault, keywords
from registry.core.calling.template import (
    DEEP,
    Address,
    Style,
    address_of,
    header_text,
    query_pairs,
    style_of,
    template,
    varname,
)
from registry.core.format_support.params import MAX_PARAMS, with_path_variables
from registry.core.model.services import Capability, Invocation, Service
from registry.core.names.inside import inside_host
from registry.core.wording.command_line import Unquotable

NOT_DESCRIBED: Final = "no document describes the parameters"
NOT_MADE: Final = "the example is made when this registry reads the documents again"
TOO_LONG: Final = "the example would be longer than 64 KB"

_NO_EXAMPLES: Final = ("default", "enum", "const")
"""Of all arguments together: a default says what happens without them."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A missing part of an example, and the reason."""

    what: str
    why: str

    def to_json(self) -> dict[str, str]:
        return {"what": self.what, "why": self.why}


@dataclass(frozen=True, slots=True)
class Arguments:
    """`derived` names the arguments whose value was made, because the document gives none that is valid."""

    values: dict[str, Any]
    derived: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()

    def to_json(self) -> dict[str, Any]:
        missing = [part.to_json() for part in self.missing]
        return {"values": self.values, "derived": list(self.derived), "missing": missing}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Arguments":
        missing = tuple(Missing(part["what"], part["why"]) for part in stored["missing"])
        return cls(stored["values"], tuple(stored["derived"]), missing)


Source = Callable[[Mapping[str, Any] | None, Mapping[str, Any]], Arguments]
"""Returns the arguments for a schema and for the values that an example of the document gives."""


def no_arguments(why: str) -> Arguments:
    return Arguments({}, missing=(Missing("parameters", why),))


def arguments_of(params: Mapping[str, Any] | None, effort: Effort, given: Mapping[str, Any] | None = None) -> Arguments:
    """Return the arguments of an example call under `params`, a JSON Schema of an object. `given` are values by name
    from an example request of the document: used where they are valid. When the effort is used up, the result has no
    values, and `missing` says so."""
    if params is None:
        return no_arguments(NOT_DESCRIBED)
    try:
        found = _arguments_of(params, effort, given)
        weight = weight_of(found.values, MAX_VALUE_WEIGHT)
        effort.spend(10 * weight)  # of storing and sending it
    except OutOfEffort as spent:
        return no_arguments(str(spent))
    return no_arguments(TOO_LONG) if weight > MAX_VALUE_WEIGHT else found  # guard: example-size


def _arguments_of(params: Mapping[str, Any], effort: Effort, given: Mapping[str, Any] | None) -> Arguments:
    root = Root(params, effort)
    filler = Filler(root)
    params = _referred(root)
    described = {key: value for key, value in params.items() if key not in _NO_EXAMPLES}
    whole = filler.documented(described) if {"examples", "example"} & params.keys() else []
    if whole and isinstance(whole[0], dict):
        return Arguments(whole[0])
    rules = root.keywords(params)
    required = _required(rules, filler, given or {})
    complete = _with_documented(root, rules, required)
    if is_plain(rules):
        return complete
    settled = root.settled(params)
    if fault(settled, complete.values, effort) is None:
        return complete
    problem = fault(settled, required.values, effort)
    if problem is None or required.missing:
        return required
    return _make_whole(root, params, settled, no_arguments(problem))


def _referred(root: Root) -> Mapping[str, Any]:
    """Return the whole schema; where it is a reference, what it refers to. Raise OutOfEffort."""
    resolved = root.resolved(root.schema)
    return root.schema if isinstance(resolved, bool) else resolved


def _required(rules: Mapping[str, Any], filler: Filler, given: Mapping[str, Any]) -> Arguments:
    """Return values of the required and the given properties, each made separately."""
    properties = rules.get("properties", {})
    values, derived, missing = {}, [], []
    known = {name: value for name, value in given.items() if filler.fits(properties.get(name, False), value)}
    for name in rules.get("required", ())[:MAX_PARAMS]:
        if name in known:
            continue
        filler.made = False
        try:
            values[name] = filler.value(properties.get(name, True))
        except Unfillable as error:
            missing.append(Missing(name, str(error)))
            continue
        derived += [name] if filler.made else []
    return Arguments({**values, **known}, tuple(derived), tuple(missing))


def _with_documented(root: Root, rules: Mapping[str, Any], required: Arguments) -> Arguments:
    """Return the arguments with optional ones for which the document has an example or a default."""
    properties = rules.get("properties", {})
    values = dict(required.values)
    for name, schema in list(properties.items())[:MAX_PARAMS]:
        resolved = root.resolved(schema)
        root.effort.spend(10)
        if name in values or isinstance(resolved, bool) or not {"examples", "example", "default"} & resolved.keys():
            continue
        root.effort.spend(len(resolved))
        given = {key: value for key, value in resolved.items() if key not in ("enum", "const")}
        own = Filler(root).documented(given)
        values |= {name: own[0]} if own else {}
    order = {name: position for position, name in enumerate(properties)}
    ordered = dict(sorted(values.items(), key=lambda item: order.get(item[0], len(order))))
    return Arguments(ordered, required.derived, required.missing)


def _make_whole(root: Root, params: Mapping[str, Any], settled: Any, otherwise: Arguments) -> Arguments:
    """Return values for a schema with constraints besides its properties, such as `anyOf`."""
    filler = Filler(root)
    try:
        values = filler.value({key: value for key, value in params.items() if key not in _NO_EXAMPLES})
    except Unfillable as error:
        return no_arguments(str(error))
    if not isinstance(values, dict) or fault(settled, values, root.effort) is not None:
        return otherwise
    return Arguments(values, tuple(values))


_STYLES_EFFORT: Final = 20_000
"""Work of following the references of all parameters of one request, see `effort`: done at each request."""
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "DELETE"})


@dataclass(frozen=True, slots=True)
class PlacedParameter:
    """A parameter and where the request carries it. `wire`: its name there; two parameters may share one. `style`: how
    the request writes its value; None in JSON, and for members of a form that have none of their own."""

    name: str
    place: str
    required: bool
    schema: Any
    wire: str
    style: Style | None = None


def http_call(
    service: Service, capability: Capability, call: Invocation, method: str, source: Source
) -> dict[str, Any]:
    """Return how the capability is called by HTTP. `method` is in capitals; the call has an https endpoint."""
    params = with_path_variables(capability.params, call.endpoint)
    address = address_of(call.endpoint or "", keywords(params or {}).get("properties", {}))
    # how the document writes values, by parameter, in any format (`style`, `explode`)
    styles = next((members["styles"] for members in capability.native.values() if "styles" in members), None)
    parameters = place_parameters(params, call, address, method, styles if isinstance(styles, Mapping) else {})
    places = ((parameter.wire, parameter.place) for parameter in parameters)
    credentials = with_parameters(credentials_of(service, call), places)
    shown = (capability.detail or {}).get("request_example")  # ADP: values by name from a request of the host
    parts = [shown.get(key) for key in ("query", "body")] if isinstance(shown, Mapping) else []
    arguments = source(params, {name: part[name] for part in parts if isinstance(part, Mapping) for name in part})
    request = fill_request(parameters, arguments, call, address, method)
    nested = _nested_names(parameters, parts[-1] if parts else None, call)
    if nested and isinstance(request.body, dict):
        request.body = _nest(request.body, nested)
    missing = [*arguments.missing, *add_credentials(request, credentials)]
    add_variables(request, arguments.derived)
    # by name: a stored schema has lost the order of the document, and every answer shows the same address
    in_query = sorted((p for p in parameters if p.place == "query"), key=lambda p: p.name)
    has_body = any(parameter.place in ("body", "whole_body") for parameter in parameters)
    content_type = request.content_type or ((call.media_type or JSON) if has_body else None)
    described: dict[str, Any] = {
        "method": method,
        "url": template(
            address,
            [pair for p in in_query for pair in _variables(p)],
            [(p.wire, p.name) for p in in_query if p.wire != p.name],
            {p.name: p.style for p in parameters if p.place == "path" and p.style is not None},
        ),
        "headers": fixed_headers(call) or None,
        "content_type": content_type,
        "parameters": [_parameter(parameter) for parameter in parameters] or None,
        "body_schema": _body_schema(parameters, nested) if has_body else None,
    }
    secret = {credential.name for credential in credentials.chosen}
    derived = tuple(name for name in arguments.derived if name not in secret)
    values = {name: value for name, value in arguments.values.items() if name not in secret}
    return make_http_call("http", described, credentials, request, derived, missing) | {"arguments": values}


def make_http_call(
    kind: str,
    described: Mapping[str, Any],
    credentials: Credentials,
    request: ExampleRequest,
    derived: tuple[str, ...],
    missing: list[Missing],
) -> dict[str, Any]:
    """Return the members that every call over HTTP has; a `curl` line, or why it cannot be written as a line."""
    try:
        written = {"curl": request.curl()}
    except Unquotable as error:
        written = {"curl_omitted": f"{error}; send the example instead"}
    return {
        "kind": kind,
        "request": {key: value for key, value in described.items() if value is not None},
        "credentials": credentials.to_json(),
        "example": request.to_json(),
        **written,
        "derived": list(derived),
        "missing": [part.to_json() for part in missing],
    }


def place_parameters(
    params: Mapping[str, Any] | None, call: Invocation, address: Address, method: str, styles: Mapping[str, Any]
) -> list[PlacedParameter]:
    """Return the parameters in the order of the document. Where it does not say their places, path variables are in the
    path, others in the query of GET, HEAD and DELETE, and in the body of other methods."""
    rules = keywords(params or {})
    properties, required = rules.get("properties", {}), dict.fromkeys(rules.get("required", ()))
    known, names, root = dict(call.places), dict(call.names), Root(params or {}, Effort(_STYLES_EFFORT))
    usual = "query" if method in _WITHOUT_BODY else "body"
    parameters = []
    for name in list(dict.fromkeys((*properties, *required)))[:MAX_PARAMS]:
        schema = properties.get(name, True)
        in_path = name in address.variables
        place = "path" if in_path else known.get(name) or ("query" if name in address.query else usual)
        if place == "path" and not in_path:
            place = usual
        style = _style(styles.get(name), place, schema, root)
        wire = names.get(name, name)
        parameters.append(PlacedParameter(name, place, in_path or name in required, schema, wire, style))
    return parameters


def fill_request(
    parameters: list[PlacedParameter], arguments: Arguments, call: Invocation, address: Address, method: str
) -> ExampleRequest:
    """Return the request with the arguments in their places."""
    request = ExampleRequest(method, address, headers=fixed_headers(call))
    members: dict[str, Any] = {}
    by_name = {parameter.name: parameter for parameter in parameters}
    usual = "query" if method in _WITHOUT_BODY else "body"
    for name, value in arguments.values.items():
        parameter = by_name.get(name)
        place = parameter.place if parameter is not None else usual
        name = parameter.wire if parameter is not None else name
        style = (parameter.style if parameter is not None else None) or style_of(None, place)
        if place == "path":
            request.path[name] = value
            request.styles[name] = style
        elif place == "query":
            request.query += query_pairs(name, value, style)
        elif place == "header":
            request.add_header(name, header_text(value, style))
        elif place == "cookie":
            request.add_cookie(name, value)
        elif place == "whole_body":
            request.body = value
        else:
            members[name] = value
            if parameter is not None and parameter.style is not None:
                request.form_styles[name] = parameter.style
    if members and not request.has_body:
        request.body = members
    elif any(parameter.place == "body" for parameter in parameters) and not request.has_body:
        request.body = {}
    if request.has_body:
        request.content_type = call.media_type or JSON
    return request


def add_credentials(request: ExampleRequest, credentials: Credentials) -> list[Missing]:
    """Add the credentials to the example; return the credentials without a known place."""
    missing = []
    for credential in credentials.chosen:
        if credential.is_outside:
            continue
        if credential.place is None:
            missing.append(Missing(f"credential {credential.type}", credential.note or "its place is not known"))
        else:
            request.add(credential)
    if credentials.required and not credentials.alternatives:
        missing.append(Missing("credential", "required, but no document says which"))
    return missing


def add_variables(request: ExampleRequest, derived: Collection[str] = ()) -> None:
    """Fill the variables of the address that have no value with placeholders. In the host, invented values are replaced
    as well, because they would name a stranger's site. If the values give a host that is not public, all of them are
    replaced."""
    host = request.address.url.partition("://")[2].partition("/")[0]
    in_host = [name for name in request.address.variables if f"{{{name}}}" in host]
    for name in request.address.variables:
        if name not in request.path or (name in derived and name in in_host):
            request.path[name] = placeholder(name)
    if in_host and inside_host(request.url) is not None:  # guard: host-variables
        request.path |= {name: placeholder(name) for name in in_host}


def fixed_headers(call: Invocation) -> dict[str, str]:
    """Return the headers that the document fixes, as far as they can be sent."""
    request = ExampleRequest("GET", Address("", ()))
    for name, value in call.headers:
        request.add_header(name, value)
    return request.headers


def _parameter(parameter: PlacedParameter) -> dict[str, Any]:
    row: dict[str, Any] = {"name": parameter.name, "in": parameter.place, "required": parameter.required}
    if parameter.wire != parameter.name:
        row["sent_as"] = parameter.wire
    if parameter.place in ("path", "query") and varname(parameter.name) != parameter.name:
        row["variable"] = varname(parameter.name)
    if parameter.style is not None and parameter.style.shown:
        row["style"] = parameter.style.shown
    return row


def _body_schema(parameters: list[PlacedParameter], nested: Mapping[str, tuple[str, ...]]) -> Any:
    whole = next((parameter.schema for parameter in parameters if parameter.place == "whole_body"), None)
    if whole is not None:
        return whole
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    for parameter in parameters:
        if parameter.place != "body":
            continue
        *way, last = nested.get(parameter.wire, (parameter.wire,))
        place = schema
        for depth, key in enumerate((*way, last)):
            if parameter.required and key not in place.setdefault("required", []):
                place["required"].append(key)
            if depth < len(way):
                place = place["properties"].setdefault(key, {"type": "object", "properties": {}})
        place["properties"][last] = parameter.schema
    return schema


_BRACKETED: Final = re.compile(r"[^\[\]]{1,200}(?:\[[^\[\]]{0,200}\]){1,8}")


def _nested_names(parameters: list[PlacedParameter], shown: object, call: Invocation) -> dict[str, tuple[str, ...]]:
    """Return the paths of the members `a[b]` that the document's own example of its JSON body nests: some details name
    parameters as a form would."""
    if not isinstance(shown, Mapping) or (call.media_type or JSON) != JSON:
        return {}
    paths: dict[str, tuple[str, ...]] = {p.wire: (p.wire,) for p in parameters if p.place == "body"}
    for name in paths.keys() - shown.keys():
        if _BRACKETED.fullmatch(name):
            path = tuple(part for part in re.split(r"[\[\]]+", name) if part)  # `a[b][]` is the list at `a.b`
            paths[name] = path if isinstance(shown.get(path[0]), Mapping) else paths[name]
    taken = Counter(path[:end] for path in paths.values() for end in range(1, len(path) + 1))
    if any(taken[path] > 1 for path in paths.values()):  # one member is both a value and an object
        return {}
    return {name: path for name, path in paths.items() if len(path) > 1}


def _nest(members: Mapping[str, Any], nested: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for name, value in members.items():
        *way, last = nested.get(name, (name,))
        place = whole
        for key in way:
            inner = place.get(key)
            below: dict[str, Any] = dict(inner) if isinstance(inner, dict) else {}
            place[key] = below
            place = below
        place[last] = value
    return whole


def _variables(parameter: PlacedParameter) -> list[tuple[str, bool]]:
    """Return the variables of a template for a parameter: RFC 6570 has no `deepObject`, so one for each member. A
    renamed parameter is not among them: an expression of a query has no other name than its variable."""
    if parameter.wire != parameter.name:
        return []
    members = keywords(parameter.schema).get("properties", {}) if isinstance(parameter.schema, Mapping) else {}
    if parameter.style is None:
        return [(parameter.name, False)]
    if parameter.style.name == DEEP and members:
        return [(f"{parameter.name}[{member}]", False) for member in members]
    return [(parameter.name, parameter.style.exploded and parameter.style.name != DEEP)]


def _style(said: object, place: str, schema: Any, root: Root) -> Style | None:
    if place == "whole_body" or (place == "body" and not said):
        return None
    style = style_of(said, place)
    if style.is_variable and place not in ("path", "body") and not _is_list(schema, root):
        return None  # all styles of a query write such a value alike
    return style


def _is_list(schema: Any, root: Root) -> bool:
    """Return whether a parameter is a list or an object. Values behind too long references count as neither."""
    try:
        schema = root.resolved(schema)
    except OutOfEffort:
        return False
    declared = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = declared if isinstance(declared, list | tuple) else [declared]
    return any(kind in ("array", "object") for kind in kinds)


def envelope_call(
    service: Service, capability: Capability, call: Invocation, agent: str, operation: str | None, source: Source
) -> dict[str, Any]:
    """Return the request with its whole invocation envelope: agent and operation, if known, and input."""
    arguments = source(capability.params, {})
    named = {"agent": agent} if operation is None else {"agent": agent, "operation": operation}
    request = ExampleRequest("POST", address_of(call.endpoint or ""), content_type=JSON)
    request.body = {**named, "input": arguments.values}
    members = {name: {"type": "string", "const": value} for name, value in named.items()}
    described = {
        "method": "POST",
        "url": template(request.address, ()),
        "content_type": JSON,
        "body_schema": {
            "type": "object",
            "properties": {**members, "input": capability.params or {"type": "object"}},
            "required": [*named, "input"],
        },
    }
    credentials = credentials_of(service, call)
    missing = [*arguments.missing, *add_credentials(request, credentials)]
    add_variables(request)
    return make_http_call("woa_operation", described, credentials, request, arguments.derived, missing)
