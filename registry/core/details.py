"""One capability as an ADP capability detail (Agent Discovery Protocol 1.0, section 5), whatever format it came from.

Clients call methods on `endpoint`, `method` and `parameters` without a guard, so those are always there; where no
HTTP call is known there is no detail at all (`adp_detail` answers None, `why_no_detail` says why): an invented
endpoint would send somebody's credentials to the wrong place. Examples that no document gives are built from what is
known and named in `derived`; a response that nobody described stays an empty object.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from registry.core.domains import host_of
from registry.core.plain_text import line, plain
from registry.core.services import Capability, Invocation, InvocationKind, Service
from registry.core.views import CAPABILITY_DESCRIPTION_CHARS, adp_base_url

PARAMETER_CHARS: Final = 2_000
MAX_PARAMETERS: Final = 500

NoDetail = Literal["detail_not_fetched", "no_endpoint", "not_http", "no_method"]

_METHODS: Final[Mapping[InvocationKind, str]] = {
    "rpc": "POST",
    "mcp_tool": "POST",  # streamable HTTP: JSON-RPC by POST
    "a2a_skill": "POST",
    "navigation": "GET",
    "instructions": "GET",
}
"""What the protocol itself fixes. For `http` the document must say it."""

_TYPES: Final = {"string": "string", "boolean": "boolean", "object": "object", "number": "number", "integer": "number"}
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_METHOD = re.compile(r"[A-Z]{1,20}")


def adp_detail(host: str, service: Service, capability: Capability) -> dict[str, Any] | None:
    """The bare CapabilityDetail, or None where no HTTP call is known (see `why_no_detail`)."""
    served = _served(host, service, capability)
    if served is not None:
        return served
    call = _callable(capability)
    return None if call is None else _built(capability, call)


def why_no_detail(capability: Capability) -> NoDetail:
    """Why `adp_detail` has nothing to say about this capability."""
    if capability.detail_url is not None and capability.detail is None:
        return "detail_not_fetched"
    endpoints = [call.endpoint for call in capability.invocations if call.endpoint and call.kind != "pointer"]
    if not endpoints:
        return "no_endpoint"
    return "no_method" if any(_is_https(url) for url in endpoints) else "not_http"


def _served(host: str, service: Service, capability: Capability) -> dict[str, Any] | None:
    """The host's own detail document, reduced to the members that ADP knows, each of its right type."""
    source = capability.detail
    if source is None:
        return None
    endpoint, method = source.get("endpoint"), source.get("method")
    if not isinstance(endpoint, str) or not isinstance(method, str) or not _METHOD.fullmatch(method.upper()):
        return None
    url = endpoint if endpoint.startswith("http") else adp_base_url(host, service) + endpoint
    if not _is_public_https(url):
        return None
    given = source.get("parameters")
    parameters = [_served_parameter(one) for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    detail: dict[str, Any] = {
        "name": capability.name,
        "description": plain(_text(source.get("description")) or capability.description or "", PARAMETER_CHARS),
        "endpoint": endpoint,
        "method": method.upper(),
        "parameters": [one for one in parameters if one is not None][:MAX_PARAMETERS],
    }
    derived = _add_examples(detail, source, _request(method.upper(), url, detail["parameters"]))
    if isinstance(source.get("auth_scopes"), list):
        detail["auth_scopes"] = [scope for scope in source["auth_scopes"] if isinstance(scope, str)]
    if isinstance(source.get("rate_limits"), dict):
        limits = {key: source["rate_limits"].get(key) for key in ("requests_per_minute", "daily_limit")}
        detail["rate_limits"] = {key: value for key, value in limits.items() if _is_number(value)}
    if isinstance(source.get("resource_group"), str):
        detail["resource_group"] = line(source["resource_group"], PARAMETER_CHARS)
    return detail | _ours(capability, derived)


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


def _add_examples(detail: dict[str, Any], source: Mapping[str, Any], request: dict[str, Any]) -> list[str]:
    """Puts both examples in; answers the names of those that the document does not give."""
    derived = []
    for key, fallback in (("request_example", request), ("response_example", {})):
        given = source.get(key)
        detail[key] = given if isinstance(given, dict) else fallback
        if not isinstance(given, dict):
            derived.append(key)
    return derived


def _callable(capability: Capability) -> Invocation | None:
    """The invocation to describe: plain HTTP before protocols that run over it, on-site before off-site."""
    usable = [
        call for call in capability.invocations if call.kind != "pointer" and _is_https(call.endpoint) and _method(call)
    ]
    return min(usable, key=lambda call: (call.kind != "http", call.off_site), default=None)


def _method(call: Invocation) -> str | None:
    method = (call.method or _METHODS.get(call.kind) or "").upper()
    return method if _METHOD.fullmatch(method) else None


def _built(capability: Capability, call: Invocation) -> dict[str, Any]:
    method, endpoint = _method(call) or "", call.endpoint or ""
    parameters = list(_parameters(capability.params, endpoint, method))
    detail: dict[str, Any] = {
        "name": capability.name,
        "description": plain(capability.description or "", CAPABILITY_DESCRIPTION_CHARS),
        "endpoint": endpoint,
        "method": method,
        "parameters": parameters,
        "request_example": _wrapped(capability, call, _request(method, endpoint, parameters)),
        "response_example": {},
    }
    if call.scopes:
        detail["auth_scopes"] = list(call.scopes)
    if call.rate_limit and call.rate_limit.requests is not None:
        key = {"1m": "requests_per_minute", "1d": "daily_limit"}.get(call.rate_limit.window or "")
        if key:
            detail["rate_limits"] = {key: call.rate_limit.requests}
    return detail | _ours(capability, ["request_example", "response_example"], call)


def _parameters(schema: Mapping[str, Any] | None, endpoint: str, method: str) -> Iterable[dict[str, Any]]:
    """ADP parameters of a JSON Schema's properties; `$ref` and combinators are not resolved."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return
    required = (schema or {}).get("required")
    needed = {name for name in required if isinstance(name, str)} if isinstance(required, list | tuple) else set()
    in_path = set(_PLACEHOLDER.findall(endpoint))
    elsewhere = "query" if method in ("GET", "HEAD", "DELETE") else "body"
    for name, rules in list(properties.items())[:MAX_PARAMETERS]:
        rules = rules if isinstance(rules, Mapping) else {}
        parameter: dict[str, Any] = {
            "name": name,
            "type": _adp_type(rules),
            "description": plain(_text(rules.get("description")), PARAMETER_CHARS),
            "required": name in needed or name in in_path,
            "in": "path" if name in in_path else elsewhere,
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
        kind = next((one for one in kind if one != "null"), None)
    if kind == "array":
        items = rules.get("items")
        return f"{_adp_type(items)}[]" if isinstance(items, Mapping) and items.get("type") != "array" else "object[]"
    return _TYPES.get(kind, "string") if isinstance(kind, str) else "string"


def _request(method: str, url: str, parameters: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The request as far as it is known: values only where the documents give an example or a default."""
    known = {one["name"]: one.get("example", one.get("default")) for one in parameters if one.get("in") != "path"}
    known = {name: value for name, value in known.items() if value is not None}
    request: dict[str, Any] = {"method": method, "url": url, "headers": {}}
    if known:
        request["query" if method in ("GET", "HEAD", "DELETE") else "body"] = known
    return request


def _wrapped(capability: Capability, call: Invocation, request: dict[str, Any]) -> dict[str, Any]:
    """The request with what its protocol puts around the arguments, where that is fixed and the name is known."""
    arguments = request.get("body", {})
    if call.kind == "mcp_tool" and call.name:  # Model Context Protocol, tools/call over JSON-RPC 2.0
        parameters = {"name": call.name, "arguments": arguments}
        request["body"] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
    elif call.origin is not None and call.origin.format == "woa" and call.kind == "rpc" and call.name:
        # Web of Agents draft-00: the id is the agent's, or `agent.operation`
        agent = capability.id.removesuffix(f".{call.name}")
        operation = {} if agent == capability.id else {"operation": call.name}
        request["body"] = {"agent": agent, **operation, "input": arguments}
    return request


def _ours(capability: Capability, derived: list[str], call: Invocation | None = None) -> dict[str, Any]:
    """Keys beyond ADP: how else it can be called, what it does to the world, and which examples are not the host's."""
    extra: dict[str, Any] = {
        "side_effects": capability.side_effects,
        "invocations": [_way(one) for one in capability.invocations],
        "derived": derived,
        "untrusted_text": True,
    }
    if call is not None:
        extra["kind"] = call.kind
    if capability.confirmation is not None:
        message = capability.confirmation.message
        extra["confirmation"] = {
            "required": capability.confirmation.required,
            "message": plain(message, PARAMETER_CHARS) if message else None,
        }
    if capability.docs_url:
        extra["docs_url"] = capability.docs_url
    return extra


def ways(capability: Capability) -> list[dict[str, Any]]:
    """Every known way to call a capability, as JSON-ready values."""
    return [_way(one) for one in capability.invocations]


def _way(call: Invocation) -> dict[str, Any]:
    way: dict[str, Any] = {
        "kind": call.kind,
        "endpoint": call.endpoint,
        "method": call.method,
        "name": call.name,
        "templated": call.templated,
        "off_site": call.off_site,
    }
    if call.origin is not None:
        way["source"] = {"document": call.origin.document, "pointer": call.origin.pointer, "format": call.origin.format}
    return way


def _is_public_https(url: str) -> bool:
    """A detail may name any URL; what is no public https name is never handed on (safety.md section 7)."""
    host = host_of(_PLACEHOLDER.sub("x", url))
    return _is_https(url) and host is not None and "." in host


def _is_https(url: str | None) -> bool:
    return url is not None and url.startswith("https://")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
