"""Is a request accepted by the document that describes the call? Asked of the ecosystem's own tools.

A judge gets the answer of this registry (`call`, parsed anew from JSON) and the original document, and returns None
when it accepts the request, else the reason. `Insufficient`: the document says too little to be asked.
"""

import json
import re
from collections.abc import Callable, Mapping
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import jsonschema
import mcp_types
from a2a.compat.v0_3 import a2a_v0_3_pb2
from a2a.compat.v0_3 import types as a2a_v0_3
from a2a.types import a2a_pb2
from google.protobuf.json_format import ParseDict, ParseError
from mcp import StdioServerParameters
from mcp_types import methods
from openapi_core import OpenAPI
from openapi_core.exceptions import OpenAPIError
from openapi_core.testing import MockRequest
from pydantic import ValidationError
from uritemplate import URITemplate
from werkzeug.datastructures import Headers, ImmutableMultiDict

Judge = Callable[[dict[str, Any], dict[str, Any]], str | None]


class Insufficient(Exception):
    """The document cannot be asked, for the reason given."""


def at(document: Any, pointer: str) -> Any:
    """Return the value at a JSON Pointer; {} where there is none."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, list):
            document = document[int(key)] if key.isdigit() and int(key) < len(document) else {}
        else:
            document = document.get(key, {}) if isinstance(document, dict) else {}
    return document


def by_openapi(call: dict[str, Any], document: dict[str, Any]) -> str | None:
    """Ask openapi-core with the original document, security included."""
    if "swagger" in document:
        raise Insufficient("openapi-core does not read Swagger 2.0")
    example = call["example"]
    url = urlsplit(example["url"])
    # openapi-core matches servers: those of the document may be relative or missing
    servers = [server for server in document.get("servers", []) if str(server.get("url", "")).startswith("http")]
    whole = document if servers else {**document, "servers": [{"url": f"{url.scheme}://{url.netloc}"}]}
    media_type = example["headers"].get("Content-Type", "")
    sent = openapi_request(example, _encoded(example["body"], media_type) if "body" in example else None)
    try:
        description = OpenAPI.from_dict(json.loads(json.dumps(whole, default=str)))
    except OpenAPIError as error:
        raise Insufficient(f"openapi-core refuses the document: {error}") from None
    errors = list(description.iter_request_errors(sent))
    return "; ".join(f"{error}: {error.__cause__}" for error in errors) or None


def openapi_request(example: Mapping[str, Any], data: bytes | None) -> MockRequest:
    """Return an example of a call, with this body, as openapi-core wants it."""
    url, headers = urlsplit(example["url"]), example["headers"]
    return MockRequest(
        f"{url.scheme}://{url.netloc}",
        example["method"].lower(),
        unquote(url.path),
        args=_multi(parse_qsl(url.query, keep_blank_values=True)),
        headers=Headers(headers),
        cookies={name: morsel.value for name, morsel in SimpleCookie(headers.get("Cookie", "")).items()},
        data=data,
        content_type=headers.get("Content-Type", ""),
    )


def by_mcp(call: dict[str, Any], document: dict[str, Any]) -> str | None:
    """Ask the official SDK's types, and the tool's own input schema."""
    body = call["example"]["body"]
    version = call["example"].get("headers", {}).get("MCP-Protocol-Version", mcp_types.DEFAULT_NEGOTIATED_VERSION)
    try:
        mcp_types.jsonrpc_message_adapter.validate_python(body)
        known = version if version in mcp_types.version.KNOWN_PROTOCOL_VERSIONS else "2025-06-18"
        methods.validate_client_request(body["method"], known, body["params"])
        if "initialize" in call:
            start = call["initialize"]["body"]
            methods.validate_client_request("initialize", "2025-11-25", start["params"])
    except (ValidationError, ValueError, KeyError) as error:
        return f"mcp: {error}"
    for entry in call.get("client_configuration", {}).get("mcpServers", {}).values():
        if "command" in entry:
            StdioServerParameters.model_validate(entry)
    if body["method"] != "tools/call":
        return None
    tool = at(document, call["source"]["pointer"])
    schema = tool.get("inputSchema") or tool.get("input_schema") if isinstance(tool, dict) else None
    if not isinstance(schema, dict):
        return _by_parameters(call, tool, body["params"]["arguments"])
    return _by_schema(schema, body["params"]["arguments"])


def by_a2a(call: dict[str, Any], document: dict[str, Any]) -> str | None:
    """Ask a2a-sdk: its protobuf messages of 1.0, its models of 0.3."""
    body, version = call["example"]["body"], call["request"]["version"]
    try:
        if version.startswith("1."):
            if call["request"]["binding"] == "JSONRPC":
                assert (body["jsonrpc"], body["method"]) == ("2.0", "SendMessage")
            ParseDict(body.get("params", body), a2a_pb2.SendMessageRequest())
        elif call["request"]["binding"] != "JSONRPC":
            ParseDict(body, a2a_v0_3_pb2.SendMessageRequest())
        else:
            a2a_v0_3.SendMessageRequest.model_validate(body)
    except (ParseError, ValidationError, AssertionError) as error:
        return f"a2a: {error}"
    return None


def by_woa(call: dict[str, Any], document: dict[str, Any]) -> str | None:
    """Ask the schema that the document has for the agent, or for its operation (draft-00 section 5.1)."""
    envelope, pointer = call["example"]["body"], call["source"]["pointer"]
    agent = at(document, "/".join(pointer.split("/")[:3]))
    if envelope["agent"] != agent["id"]:
        return f"the agent is {agent['id']}"
    part = at(document, pointer)
    if "operation" in envelope and envelope["operation"] != part["name"]:
        return f"the operation is {part['name']}"
    return _by_schema(call["request"]["body_schema"], envelope) or _by_schema(
        part.get("inputs", agent["inputs"]), envelope["input"]
    )


def by_entry(call: dict[str, Any], document: dict[str, Any]) -> str | None:
    """Ask an entry of AWP, ATP, ADP, AWAS or a similar document: its method, address, and each of its parameters."""
    entry = at(document, call["source"]["pointer"])
    entry = entry if isinstance(entry, dict) else {"resource": entry}  # x402: a list of addresses
    example = call["example"]
    url = urlsplit(example["url"])
    method = next((entry[key] for key in ("method", "http_method", "httpMethod") if key in entry), None)
    if isinstance(method, str) and method.upper() != example["method"]:
        return f"the method is {method}"
    target = next(
        (entry[key] for key in ("endpoint", "path", "url", "resource") if isinstance(entry.get(key), str)), ""
    )
    path = urlsplit(re.sub(r"[{}]", "_", target)).path
    expected = re.compile(".*" + re.sub(r"\\\{[^{}]*\\\}|(?<=/):\w+", "[^/]+", re.escape(urlsplit(target).path)))
    if path and not expected.fullmatch(_unquoted(url.path)):
        return f"the path is {target}"
    sent: dict[str, Any] = {**dict(parse_qsl(url.query, keep_blank_values=True))}
    sent |= example.get("body") if isinstance(example.get("body"), dict) else {}
    sent |= dict.fromkeys(_names(target))  # matched above
    sent |= {name.lower(): value for name, value in example["headers"].items()}
    return _by_parameters(call, entry, sent)


def by_template(call: dict[str, Any]) -> str | None:
    """Return why the URL template does not expand to the example's URL (RFC 6570), without credentials; else None."""
    variables = {part.get("variable", part["name"]): part["name"] for part in call["request"].get("parameters", ())}
    values = {
        variable: _sendable(call["arguments"][name])
        for variable, name in variables.items()
        if name in call["arguments"]
    }
    secret = {one.get("value") for alternative in call["credentials"]["alternatives"] for one in alternative}
    template = URITemplate(call["request"]["url"])
    url = template.expand(values)
    wanted, got = urlsplit(call["example"]["url"]), urlsplit(url)
    if "YOUR_" not in wanted.netloc + wanted.path and (wanted.netloc, unquote(wanted.path)) != (
        got.netloc,
        unquote(got.path),
    ):
        return f"{url} is not {call['example']['url']}"
    query = [pair for pair in parse_qsl(wanted.query, keep_blank_values=True) if pair[1] not in secret]
    names = {name for name, _ in parse_qsl(wanted.query, keep_blank_values=True)} - {name for name, _ in query}
    expanded = [pair for pair in parse_qsl(got.query, keep_blank_values=True) if pair[0] not in names]
    return None if sorted(query) == sorted(expanded) else f"{url} is not {call['example']['url']}"


JUDGES: Mapping[str, Judge] = {"openapi": by_openapi, "woa": by_woa}
"""By the format of the document that describes the call; `judge_of` chooses for others."""


def judge_of(call: dict[str, Any]) -> Judge:
    if call["kind"] in ("mcp_tool", "mcp_server"):
        return by_mcp
    if call["kind"] == "a2a_skill":
        return by_a2a
    return JUDGES.get(call.get("source", {}).get("format", ""), by_entry)


def _names(target: str) -> list[str]:
    """Return the names of the variables of an address."""
    return [first or second for first, second in re.findall(r"\{([^{}]*)\}|(?<=/):(\w+)", target)]


def _by_schema(schema: Mapping[str, Any], value: Any) -> str | None:
    validator = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
    try:
        error = next(iter(validator(schema).iter_errors(value)), None)
    except Exception as failure:  # a broken schema may raise anything in the library
        raise Insufficient(f"the schema cannot be used: {failure}") from None
    return None if error is None else f"/{'/'.join(map(str, error.path))}: {error.message}"


def _by_parameters(call: dict[str, Any], entry: Any, sent: Mapping[str, Any]) -> str | None:
    for name, rules in _declared(entry).items():
        if rules.get("required") is True and name not in sent and name.lower() not in sent:
            return f"{name} is required"
        value = sent.get(name)
        if value is not None and isinstance(rules.get("enum"), list) and str(value) not in map(str, rules["enum"]):
            return f"{name}: {value} is none of {rules['enum']}"
        if value is not None and rules.get("type") in _KINDS and "body" in call["example"]:
            body = call["example"]["body"]
            held = body.get(name) if isinstance(body, dict) else None
            if held is not None and not isinstance(held, _KINDS[rules["type"]]):
                return f"{name}: {held!r} is no {rules['type']}"
    return None


_KINDS: dict[str, Any] = {
    "string": str, "integer": int, "number": int | float, "boolean": bool, "array": list, "object": dict,
}  # fmt: skip


def _declared(entry: Any) -> dict[str, dict[str, Any]]:
    """Return what an entry says of its parameters, in any of the shapes in which these formats write them."""
    entry = entry if isinstance(entry, dict) else {}
    holder = next((entry[key] for key in ("inputs", "parameters", "params", "request_schema") if key in entry), None)
    if isinstance(holder, list):
        return {item["name"]: item for item in holder if isinstance(item, dict) and isinstance(item.get("name"), str)}
    if not isinstance(holder, dict):
        return {}
    if isinstance(holder.get("properties"), dict):
        required = holder.get("required", [])
        properties = holder["properties"].items()
        return {name: {**item, "required": name in required} for name, item in properties if isinstance(item, dict)}
    if isinstance(holder.get("required"), list):
        return {name: {"required": True} for name in holder["required"]}
    return {name: item for name, item in holder.items() if isinstance(item, dict)}


def _unquoted(path: str) -> str:
    """Return a path with its characters, but for slashes inside of a segment."""
    return "/".join(unquote(segment).replace("/", "%2F") for segment in path.split("/"))


def _sendable(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return json.dumps(value)  # the library leaves out a zero
    if isinstance(value, list):
        return [_sendable(item) if not isinstance(item, dict | list) else json.dumps(item) for item in value]
    return value


def _multi(pairs: list[tuple[str, str]]) -> Any:
    return ImmutableMultiDict(pairs)


def _encoded(body: Any, media_type: str) -> bytes:
    if "json" in media_type or not media_type:
        return json.dumps(body).encode()
    return str(body).encode()
