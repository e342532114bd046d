"""Present any capability as an ADP capability detail (Agent Discovery Protocol 1.0, section 5).

Clients use `endpoint`, `method` and `parameters` without checks, so these are always present in a detail. Without a
known HTTP call there is no detail, because an invented endpoint would send credentials to the wrong server. A missing
`request_example` is the example of `core/calling`, which the caller passes in; it is listed in `derived`. An
undescribed response is an empty object.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from registry.core.formats.adp.manifest_view import CAPABILITY_DESCRIPTION_CHARS, adp_base_url, resource_group
from registry.core.formats.adp.read import endpoint as joined
from registry.core.model.documents import ABSENCE, Outcome
from registry.core.model.services import Capability, Invocation, InvocationKind, Service
from registry.core.names.domains import host_of, same_site
from registry.core.reading.plain_text import line, plain

PARAMETER_CHARS: Final = 2_000
MAX_PARAMETERS: Final = 500

NoDetail = Literal[
    "detail_not_fetched", "detail_missing_at_site", "detail_not_readable", "detail_elsewhere",
    "no_endpoint", "not_http", "no_method", "unknown_request",
]  # fmt: skip

_METHODS: Final[Mapping[InvocationKind, str]] = {
    "rpc": "POST",
    "mcp_tool": "POST",  # streamable HTTP: JSON-RPC by POST
    "a2a_skill": "POST",
    "navigation": "GET",
    "instructions": "GET",
}
"""Methods that the protocol itself fixes. For `http` the document must name the method."""

_PLACES: Final = {"path": "path", "query": "query", "header": "header", "body": "body", "whole_body": "body"}
_TYPES: Final = {"string": "string", "boolean": "boolean", "object": "object", "number": "number", "integer": "number"}
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_METHOD = re.compile(r"[A-Z]{1,20}")


def adp_detail(
    host: str, service: Service, capability: Capability, example: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return the CapabilityDetail, or None where no HTTP call is known. `example` is a request
    that was derived (`call_of(...)["example"]`); without one only method and URL are shown."""
    host_detail = _host_detail(host, service, capability, example)
    if host_detail is not None:
        return host_detail
    call = preferred_call(capability)
    return None if call is None else _detail_from_call(capability, call, example)


def why_no_detail(host: str, capability: Capability, answered: Outcome | None = None) -> NoDetail:
    """Return why this capability has no call. `answered`: how the last request for its detail ended, None without one.
    Details of other sites are never requested (docs/crawler.md, "Pointers"). An address without a known protocol has a
    detail, and no call: `unknown_request`."""
    if capability.detail_url is not None and capability.detail is None:
        if answered in ABSENCE:
            return "detail_missing_at_site"
        if answered not in (None, Outcome.SKIPPED):
            return "detail_not_readable"
        detail_host = host_of(capability.detail_url)
        is_on_site = detail_host is not None and same_site(detail_host, host)
        return "detail_not_fetched" if is_on_site else "detail_elsewhere"
    endpoints = [call.endpoint for call in capability.invocations if call.endpoint and call.kind != "pointer"]
    if not endpoints:
        return "no_endpoint"
    if not any(_is_https(url) for url in endpoints):
        return "not_http"
    return "no_method" if preferred_call(capability) is None else "unknown_request"


def _host_detail(
    host: str, service: Service, capability: Capability, example: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return the host's own detail document, reduced to ADP's members of the right type; None without a usable one."""
    source = capability.detail
    if source is None:
        return None
    endpoint, method = source.get("endpoint"), source.get("method")
    if not isinstance(endpoint, str) or not isinstance(method, str) or not _METHOD.fullmatch(method.upper()):
        return None
    url = joined(adp_base_url(host, service), endpoint)  # guard: detail-host
    if url is None:
        return None
    entries = source["parameters"] if isinstance(source.get("parameters"), list) else ()
    parameters = [_served_parameter(entry) for entry in entries if isinstance(entry, dict)]
    detail: dict[str, Any] = {
        "name": capability.name,
        "description": plain(_text(source.get("description")) or capability.description or "", PARAMETER_CHARS),
        "endpoint": endpoint,
        "method": method.upper(),
        "parameters": [parameter for parameter in parameters if parameter is not None][:MAX_PARAMETERS],
    }
    derived = []
    for key, fallback in (("request_example", _request(method.upper(), url, example)), ("response_example", {})):
        is_served = isinstance(source.get(key), dict)
        detail[key] = source[key] if is_served else fallback
        derived += [] if is_served else [key]
    if isinstance(source.get("auth_scopes"), list):
        detail["auth_scopes"] = [scope for scope in source["auth_scopes"] if isinstance(scope, str)]
    if isinstance(source.get("rate_limits"), dict):
        limits = {key: source["rate_limits"].get(key) for key in ("requests_per_minute", "daily_limit")}
        detail["rate_limits"] = {key: value for key, value in limits.items() if _is_number(value)}
    if group := resource_group(capability):
        detail["resource_group"] = group
    return detail | {"derived": derived, "untrusted_text": True}  # guard: untrusted-detail


def _served_parameter(source: Mapping[str, Any]) -> dict[str, Any] | None:
    name = source.get("name")
    if not isinstance(name, str):
        return None
    parameter: dict[str, Any] = {
        "name": name,
        "type": line(_text(source.get("type")) or "string", 100),
        "description": plain(_text(source.get("description")), PARAMETER_CHARS),
        "required": source.get("required") is True,
    }
    for key in ("example", "default"):
        if key in source:
            parameter[key] = source[key]
    if source.get("in") in ("path", "query", "body", "header"):
        parameter["in"] = source["in"]
    return parameter


def preferred_call(capability: Capability) -> Invocation | None:
    """Return the invocation to describe: plain HTTP before protocols over HTTP, on-site before off-site."""
    calls = (call for call in capability.invocations if call.kind != "pointer")
    usable = [call for call in calls if _is_https(call.endpoint) and method_of(call)]
    return min(usable, key=lambda call: (call.kind != "http", call.off_site), default=None)


def method_of(call: Invocation) -> str | None:
    """Return the HTTP method of a call in capitals: the document's, else the protocol's."""
    method = (call.method or _METHODS.get(call.kind) or "").upper()
    return method if _METHOD.fullmatch(method) else None


def _detail_from_call(capability: Capability, call: Invocation, example: Mapping[str, Any] | None) -> dict[str, Any]:
    method, endpoint = method_of(call) or "", call.endpoint or ""
    parameters = list(_parameters(capability.params, endpoint, method, call))
    detail: dict[str, Any] = {
        "name": capability.name,
        "description": plain(capability.description or "", CAPABILITY_DESCRIPTION_CHARS),
        "endpoint": endpoint,
        "method": method,
        "parameters": parameters,
        "request_example": _request(method, endpoint, example),
        "response_example": {},
    }
    if call.scopes:
        detail["auth_scopes"] = list(call.scopes)
    limit = call.rate_limit
    key = {"1m": "requests_per_minute", "1d": "daily_limit"}.get(limit.window or "") if limit else None
    if limit and limit.requests is not None and key:
        detail["rate_limits"] = {key: limit.requests}
    return detail | {"kind": call.kind, "derived": ["request_example", "response_example"], "untrusted_text": True}


def _parameters(
    schema: Mapping[str, Any] | None, endpoint: str, method: str, call: Invocation
) -> Iterable[dict[str, Any]]:
    """Yield the properties of a JSON Schema as ADP parameters; `$ref` and combinators are not resolved."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return
    required = (schema or {}).get("required")
    required_names = {name for name in required if isinstance(name, str)} if isinstance(required, list | tuple) else ()
    path_names = set(_PLACEHOLDER.findall(endpoint))
    places, names = dict(call.places), dict(call.names)
    other_location = "query" if method in ("GET", "HEAD", "DELETE") else "body"
    for name, rules in list(properties.items())[:MAX_PARAMETERS]:
        rules = rules if isinstance(rules, Mapping) else {}
        parameter: dict[str, Any] = {
            "name": names.get(name, name),
            "type": _adp_type(rules),
            "description": plain(_text(rules.get("description")), PARAMETER_CHARS),
            "required": name in required_names or name in path_names,
            "in": "path" if name in path_names else _PLACES.get(places.get(name, ""), other_location),
        }
        examples = rules.get("examples")
        if isinstance(examples, list) and examples:
            parameter["example"] = examples[0]
        elif "example" in rules:
            parameter["example"] = rules["example"]
        if "default" in rules:
            parameter["default"] = rules["default"]
        if isinstance(rules.get("enum"), list):
            parameter["enum"] = rules["enum"]
        yield parameter


def _adp_type(rules: Mapping[str, Any]) -> str:
    kind = rules.get("type")
    if isinstance(kind, list):  # JSON Schema: ["string", "null"]
        kind = next((type_name for type_name in kind if type_name != "null"), None)
    if kind == "array":
        items = rules.get("items")
        return f"{_adp_type(items)}[]" if isinstance(items, Mapping) and items.get("type") != "array" else "object[]"
    return _TYPES.get(kind, "string") if isinstance(kind, str) else "string"


def _request(method: str, url: str, example: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the derived example, else the known parts of a request."""
    return dict(example) if example else {"method": method, "url": url, "headers": {}}


def _is_https(url: str | None) -> bool:
    return url is not None and url.startswith("https://")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
