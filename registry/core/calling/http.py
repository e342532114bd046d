"""How a capability is called by plain HTTP: its parameters in the places of a request."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from registry.core.calling.arguments import Arguments, Missing, Source
from registry.core.calling.credentials import Credentials, credentials_of, placeholder, with_parameters
from registry.core.calling.effort import Effort, OutOfEffort
from registry.core.calling.request import JSON, Request
from registry.core.calling.schemas import Root, keywords
from registry.core.calling.template import DEEP, FORM, JOINED, Address, address_of, template, varname
from registry.core.format_support.params import MAX_PARAMS, with_path_variables
from registry.core.model.services import Capability, Invocation, Service
from registry.core.names.inside import inside_host
from registry.core.wording.command_line import Unquotable

_NO_STYLES: Final[Mapping[str, Any]] = MappingProxyType({})
_STYLES_EFFORT: Final = 20_000
"""Work of following the references of all parameters of one request, see `effort`: done at each request."""
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "DELETE"})


@dataclass(frozen=True, slots=True)
class Placed:
    """A parameter and where the request carries it. `style`: how a query writes a list or an object (OpenAPI 3.1
    section 4.8.12); None for other values."""

    name: str
    place: str
    required: bool
    schema: Any
    style: str | None = None


def http_call(
    service: Service, capability: Capability, call: Invocation, method: str, source: Source
) -> dict[str, Any]:
    """Return how the capability is called by HTTP. `method` is in capitals; the call has an https endpoint."""
    address = address_of(call.endpoint or "")
    params = with_path_variables(capability.params, call.endpoint)
    parameters = placed(params, call, address, method, _styles(capability))
    places = ((parameter.name, parameter.place) for parameter in parameters)
    credentials = with_parameters(credentials_of(service, call), places)
    arguments = source(params, _given(capability))
    request = filled(parameters, arguments, call, address, method)
    missing = [*arguments.missing, *add_credentials(request, credentials)]
    add_variables(request, arguments.derived)
    has_body = any(parameter.place in ("body", "whole_body") for parameter in parameters)
    content_type = request.content_type or ((call.media_type or JSON) if has_body else None)
    described: dict[str, Any] = {
        "method": method,
        "url": template(address, [pair for p in parameters if p.place == "query" for pair in _variables(p)]),
        "headers": fixed_headers(call) or None,
        "content_type": content_type,
        "parameters": [_parameter(parameter) for parameter in parameters] or None,
        "body_schema": _body_schema(parameters) if has_body else None,
    }
    secret = {credential.name for credential in credentials.chosen}
    derived = tuple(name for name in arguments.derived if name not in secret)
    values = {name: value for name, value in arguments.values.items() if name not in secret}
    return finished("http", described, credentials, request, derived, missing) | {"arguments": values}


def finished(
    kind: str,
    described: Mapping[str, Any],
    credentials: Credentials,
    request: Request,
    derived: tuple[str, ...],
    missing: list[Missing],
) -> dict[str, Any]:
    """Return the members that every call over HTTP has."""
    return {
        "kind": kind,
        "request": {key: value for key, value in described.items() if value is not None},
        "credentials": credentials.to_json(),
        "example": request.to_json(),
        **_line(request),
        "derived": list(derived),
        "missing": [part.to_json() for part in missing],
    }


def _line(request: Request) -> dict[str, str]:
    """Return the request as a line of `curl`, or why there is none."""
    try:
        return {"curl": request.curl()}
    except Unquotable as error:
        return {"curl_omitted": f"{error}; send the example instead"}


def placed(
    params: Mapping[str, Any] | None,
    call: Invocation,
    address: Address,
    method: str,
    styles: Mapping[str, Any] = _NO_STYLES,
) -> list[Placed]:
    """Return the parameters in the order of the document. Where it does not say their places, path variables are in the
    path, others in the query of GET, HEAD and DELETE, and in the body of other methods."""
    rules = keywords(params or {})
    properties, required = rules.get("properties", {}), dict.fromkeys(rules.get("required", ()))
    known, root = dict(call.places), Root(params or {}, Effort(_STYLES_EFFORT))
    usual = "query" if method in _WITHOUT_BODY else "body"
    parameters = []
    for name in list(dict.fromkeys((*properties, *required)))[:MAX_PARAMS]:
        schema = properties.get(name, True)
        in_path = name in address.variables
        place = "path" if in_path else known.get(name) or ("query" if name in address.query else usual)
        if place == "path" and not in_path:
            place = usual
        style = _style(styles.get(name)) if place == "query" and _is_list(schema, root) else None
        parameters.append(Placed(name, place, in_path or name in required, schema, style))
    return parameters


def filled(parameters: list[Placed], arguments: Arguments, call: Invocation, address: Address, method: str) -> Request:
    """Return the request with the arguments in their places."""
    request = Request(method, address, headers=fixed_headers(call))
    members: dict[str, Any] = {}
    by_name = {parameter.name: parameter for parameter in parameters}
    usual = "query" if method in _WITHOUT_BODY else "body"
    for name, value in arguments.values.items():
        parameter = by_name.get(name)
        place = parameter.place if parameter is not None else usual
        if place == "path":
            request.path[name] = value
        elif place == "query":
            request.add_query(name, value, (parameter.style if parameter is not None else None) or FORM)
        elif place == "header":
            request.add_header(name, value)
        elif place == "cookie":
            request.add_cookie(name, value)
        elif place == "whole_body":
            request.body = value
        else:
            members[name] = value
    if members and not request.has_body:
        request.body = members
    elif any(parameter.place == "body" for parameter in parameters) and not request.has_body:
        request.body = {}
    if request.has_body:
        request.content_type = call.media_type or JSON
    return request


def add_credentials(request: Request, credentials: Credentials) -> list[Missing]:
    """Add the credentials of the example; return those that cannot be placed."""
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


def add_variables(request: Request, derived: Collection[str] = ()) -> None:
    """Fill the variables of the address that have no value with placeholders.

    In the host, also those whose value was made, because it would name somebody else's site, and all if their values
    name a host that is not public.
    """
    host = request.address.url.partition("://")[2].partition("/")[0]
    in_host = [name for name in request.address.variables if f"{{{name}}}" in host]
    for name in request.address.variables:
        if name not in request.path or (name in derived and name in in_host):
            request.path[name] = placeholder(name)
    if in_host and inside_host(request.url) is not None:  # guard: host-variables
        request.path |= {name: placeholder(name) for name in in_host}


def fixed_headers(call: Invocation) -> dict[str, str]:
    """Return the headers that the document fixes, as far as they can be sent."""
    request = Request("GET", Address("", ()))
    for name, value in call.headers:
        request.add_header(name, value)
    return request.headers


def _given(capability: Capability) -> dict[str, Any]:
    """Return values by name from the request that the document of the host shows (ADP `request_example`)."""
    shown = (capability.detail or {}).get("request_example")
    parts = [shown.get(key) for key in ("query", "body")] if isinstance(shown, Mapping) else []
    return {name: value for part in parts if isinstance(part, Mapping) for name, value in part.items()}


def _parameter(parameter: Placed) -> dict[str, Any]:
    row: dict[str, Any] = {"name": parameter.name, "in": parameter.place, "required": parameter.required}
    if parameter.place in ("path", "query") and varname(parameter.name) != parameter.name:
        row["variable"] = varname(parameter.name)
    if parameter.style not in (None, FORM):
        row["style"] = parameter.style
    return row


def _body_schema(parameters: list[Placed]) -> Any:
    whole = next((parameter.schema for parameter in parameters if parameter.place == "whole_body"), None)
    if whole is not None:
        return whole
    members = [parameter for parameter in parameters if parameter.place == "body"]
    schema: dict[str, Any] = {"type": "object", "properties": {p.name: p.schema for p in members}}
    required = [parameter.name for parameter in members if parameter.required]
    return {**schema, "required": required} if required else schema


def _variables(parameter: Placed) -> list[tuple[str, bool]]:
    """Return the variables of a template for a parameter: RFC 6570 has no `deepObject`, so one for each member."""
    members = keywords(parameter.schema).get("properties", {}) if isinstance(parameter.schema, Mapping) else {}
    if parameter.style == DEEP and members:
        return [(f"{parameter.name}[{member}]", False) for member in members]
    return [(parameter.name, parameter.style == FORM)]


def _styles(capability: Capability) -> Mapping[str, Any]:
    """Return how the document writes values, by parameter, whichever format says it (`style`, `explode`)."""
    found = next((members["styles"] for members in capability.native.values() if "styles" in members), None)
    return found if isinstance(found, Mapping) else {}


def _style(said: object) -> str:
    rules = said if isinstance(said, Mapping) else {}
    style, collection = rules.get("style"), rules.get("collectionFormat")
    if style in (DEEP, "spaceDelimited", "pipeDelimited"):
        return str(style)
    if collection in ("ssv", "pipes"):  # OpenAPI 2.0
        return "spaceDelimited" if collection == "ssv" else "pipeDelimited"
    return JOINED if rules.get("explode") is False or collection == "csv" else FORM


def _is_list(schema: Any, root: Root) -> bool:
    """Return whether a parameter is a list or an object; what is reached by too long references is neither."""
    try:
        schema = root.resolved(schema)
    except OutOfEffort:
        return False
    declared = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = declared if isinstance(declared, list | tuple) else [declared]
    return any(kind in ("array", "object") for kind in kinds)
