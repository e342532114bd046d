"""Is a request what the original document asks for? Read from the site's own files, without the code under test.

OpenAPI is judged by openapi-core, messages of MCP and A2A by their SDKs, input schemas by jsonschema; of the small
formats the address, the method, the parameters and the place of the credentials are read here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import jsonschema_rs
import yaml  # type: ignore[import-untyped]

from benchmarks.openapi_directory.judge import Unjudged
from benchmarks.openapi_directory.judge import refusal as openapi_refusal
from benchmarks.openapi_directory.oracle import fault, operations_of
from registry.demo.sites import Site
from tests.core.calling.judges import Insufficient, at, by_a2a, by_entry, by_mcp, by_woa

ADP_MANIFEST: Final = "/.well-known/agent"
_A2A_BINDINGS: Final = {"JSONRPC": "JSONRPC", "HTTP+JSON": "HTTP+JSON", "REST": "HTTP+JSON"}
_A2A_SUFFIXES: Final = ("/v1/message:send", "/message:send")
_BASES: Final = ("base_url", "baseUrl", "api_base", "public_base_url")
_PLACEHOLDER: Final = re.compile(r"YOUR_[A-Z0-9_]+")


@dataclass(frozen=True, slots=True)
class Sent:
    """A request. `body`: a JSON value. `start`: how the server is started, for a message over standard input."""

    method: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    start: Any = None

    def as_example(self) -> dict[str, Any]:
        shown = {"method": self.method, "url": self.url, "headers": dict(self.headers)}
        return shown if self.body is None else {**shown, "body": self.body}

    def texts(self) -> Iterator[str]:
        """Yield every text that is sent, decoded."""
        url = urlsplit(self.url)
        yield from map(unquote, url.path.split("/"))
        yield from (value for _, value in parse_qsl(url.query, keep_blank_values=True))
        yield from self.headers.values()
        yield from _leaves(self.body)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document describes a capability. `path`: None if no document says how it is called."""

    host: str
    path: str | None
    pointer: str
    capability: str


def judge(sent: Sent, place: Place, site: Site, values: Mapping[str, str]) -> str | None:
    """Return why the document at `place` refuses a request, or None. `values`: what the caller knows, by name."""
    left = sorted({name for text in (sent.url, *sent.texts()) for name in _PLACEHOLDER.findall(text)})
    if left:
        return f"not filled in: {', '.join(left)}"
    document = _read(site, place.path or "")
    entry = at(document, place.pointer) if place.pointer else document
    if not entry:
        return "the document has nothing there"
    try:
        reason = _judge(sent, place, document, entry, site)
    except (Unjudged, Insufficient) as error:
        return f"cannot be judged: {error}"
    return reason or _unsent(sent, document, entry, place, values)


def _judge(sent: Sent, place: Place, document: dict[str, Any], entry: Any, site: Site) -> str | None:
    members = _mapping(entry)
    call = {"example": sent.as_example(), "source": {"pointer": place.pointer}, "missing": []}
    if "paths" in document:
        url = f"https://{place.host}{place.path}"
        operation = next(found for found in operations_of(document, url) if found.pointer == place.pointer)
        return fault(operation, call) or openapi_refusal(document, operation, call)
    is_mcp = _is_mcp(document, members, place)
    is_message = is_mcp or "woa_version" in document or _is_skill(document, members)
    if is_message and (not isinstance(sent.body, dict) or (sent.start is None and sent.method != "POST")):
        return "a message is posted"
    if "woa_version" in document:
        return _by_woa(sent, document, call)
    if is_message:
        return _by_mcp(sent, document, entry, call) if is_mcp else _by_a2a(sent, document)
    return _by_entry(sent, place, document, entry, site, call)


def _is_mcp(document: Mapping[str, Any], entry: Mapping[str, Any], place: Place) -> bool:
    is_server = re.search(r"/mcp(\.json|/)", place.path or "") is not None
    return is_server or "packages" in document or "ucp" in document or entry.get("via") == "mcp"


def _is_skill(document: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    return "skills" in document and not {"endpoint", "path", "url"} & entry.keys()


def _by_mcp(sent: Sent, document: dict[str, Any], entry: Any, call: dict[str, Any]) -> str | None:
    if sent.start is not None:
        names = {one.get("identifier") or one.get("name") for one in document.get("packages", ())}
        words = " ".join(_leaves(sent.start))
        if not any(name and name in words for name in names):
            return f"none of the packages {sorted(map(str, names))} is started"
    elif not any(_is_at(url, sent.url) for url in _addresses(document)):
        return f"{sent.url} is not in the document"
    method = sent.body.get("method")
    if method == "tools/call":
        names = {entry} if isinstance(entry, str) else {entry.get(key) for key in ("name", "id", "operation")}
        if sent.body["params"]["name"] not in names:
            return f"the tool is {' or '.join(map(str, names))}"
    elif method != "tools/list":
        return f"{method} calls no tool"
    authentication = document.get("authentication")
    header = authentication.get("name") if isinstance(authentication, dict) else None
    if header is not None and header.lower() not in {name.lower() for name in sent.headers}:
        return f"credentials belong into the header {header}"
    return by_mcp(call, document)


def _by_a2a(sent: Sent, card: dict[str, Any]) -> str | None:
    for one in _interfaces(card):
        stated = str(one.get("protocolBinding") or one.get("transport") or "JSONRPC")
        base, binding = str(one.get("url")).rstrip("/"), _A2A_BINDINGS.get(stated.upper())
        if "modelcontextprotocol" in stated and sent.url == one.get("url"):
            return _by_mcp(sent, card, {}, {"example": sent.as_example()})
        suffixes = ("",) if binding == "JSONRPC" else _A2A_SUFFIXES
        if binding is None or sent.url.rstrip("/") not in {base + suffix for suffix in suffixes}:
            continue
        if binding == "JSONRPC" and not {"jsonrpc", "method", "params"} <= sent.body.keys():
            return "no request of JSON-RPC"
        version = str(one.get("protocolVersion") or card.get("protocolVersion") or "0.3")
        call = {"example": sent.as_example(), "request": {"version": version, "binding": binding}}
        return _a2a_credentials(sent, card) or by_a2a(call, card)
    return f"the card has no interface of A2A at {sent.url}"


def _interfaces(card: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"url": card.get("url"), "transport": card.get("preferredTransport")}
    for holder in (card, _mapping(card.get("interface"))):
        for key in ("supportedInterfaces", "additionalInterfaces"):
            yield from (one for one in holder.get(key) or () if isinstance(one, dict))


def _a2a_credentials(sent: Sent, card: dict[str, Any]) -> str | None:
    schemes = _mapping(card.get("securitySchemes"))
    required = card.get("security") or card.get("securityRequirements") or []
    if not required or {} in required:
        return None
    for alternative in required:
        names = alternative.get("schemes", alternative)
        if all(_has_scheme(sent, schemes.get(name, {})) for name in names):
            return None
    return "credentials are required"


def _has_scheme(sent: Sent, scheme: dict[str, Any]) -> bool:
    inner = next((value for key, value in scheme.items() if key.endswith("SecurityScheme")), scheme)
    headers = {name.lower(): value for name, value in sent.headers.items()}
    if "scheme" in inner:
        return headers.get("authorization", "").lower().startswith(f"{inner['scheme'].lower()} ")
    place, name = inner.get("in") or inner.get("location"), str(inner.get("name"))
    return name.lower() in headers if place == "header" else f"{name}=" in urlsplit(sent.url).query


def _by_woa(sent: Sent, document: dict[str, Any], call: dict[str, Any]) -> str | None:
    agent = at(document, "/".join(call["source"]["pointer"].split("/")[:3]))
    rest = document["transports"]["rest"]
    address = rest["base"].rstrip("/") + rest["invoke_path"].replace("{agent_id}", agent["id"])
    if (sent.method, sent.url) != ("POST", address):
        return f"an agent is invoked by POST {address}"
    if (header := agent.get("authz", {}).get("token_header")) and header not in sent.headers:
        return f"credentials belong into the header {header}"
    if not {"agent", "input"} <= sent.body.keys():
        return "the body has agent and input"
    return by_woa({**call, "request": {"body_schema": {"type": "object"}}}, document)


def _by_entry(
    sent: Sent, place: Place, document: dict[str, Any], written: Any, site: Site, call: dict[str, Any]
) -> str | None:
    entry = _mapping(written)
    manifest = {} if place.pointer else _read(site, ADP_MANIFEST)
    named = (entry[key] for key in ("endpoint", "path", "url", "resource") if isinstance(entry.get(key), str))
    target = written if isinstance(written, str) else next(named, str(entry.get("route", "")).partition(" ")[2])
    bases = [holder[key] for holder in (document, manifest) for key in _BASES if key in holder]
    bases += [document["url"]] if "skills" in document else []
    addresses = [f"{base.rstrip('/')}/{target.lstrip('/')}" for base in bases or [f"https://{place.host}"]]
    if sent.url != target and not any(_is_at(one, sent.url) for one in ([target] if "://" in target else addresses)):
        return f"the address is {target}"
    if "navigat" in str(entry.get("type", entry.get("method", ""))):
        return None  # a page for people
    methods = entry.get("methods", [sent.method])
    if sent.method not in methods:
        return f"the methods are {methods}"
    if refused := _credentials(sent, document, manifest, entry):
        return refused
    body, shown = _mapping(sent.body), _mapping(entry.get("request_example")).get("body")
    if isinstance(shown, dict) and (strange := [key for key in body if "[" in key and key not in shown]):
        return f"the example of the document has no member {strange[0]!r}, but nested ones"
    schema = entry.get("requestBody") or (entry.get("request_schema") if sent.method != "GET" else None)
    for error in jsonschema_rs.Draft202012Validator(schema or {}).iter_errors(sent.body or {}):
        return f"/{'/'.join(map(str, error.instance_path))}: {error.message}"
    return by_entry({**call, "example": {**sent.as_example(), "body": {**body, **dict(_bracketed(body))}}}, document)


def _credentials(sent: Sent, document: dict[str, Any], manifest: dict[str, Any], entry: dict[str, Any]) -> str | None:
    headers = {name.lower(): value for name, value in sent.headers.items()}
    query = dict(parse_qsl(urlsplit(sent.url).query))
    lacking = [name for name in entry.get("auth_headers", ()) if name.lower() not in headers]
    if entry.get("auth_required") and lacking:
        return f"credentials belong into the header {lacking[0]}"
    auth = manifest.get("auth") or {}
    if auth.get("type", "none") != "none" and auth.get("header") != "url_path":
        name, prefix = str(auth.get("header")).lower(), auth.get("prefix") or ""
        is_in_header = name in headers and headers[name].startswith(f"{prefix} ".lstrip())
        if auth.get("query_param") not in query and not is_in_header:
            return f"credentials belong into {name}: {prefix}"
    schemes = _mapping(document.get("auth")).get("schemes", ())
    keys = [scheme for scheme in schemes if scheme.get("type") == "apiKey"]
    if keys and not any(key["name"].lower() in (headers if key["in"] == "header" else query) for key in keys):
        return f"credentials belong into the {keys[0]['in']} {keys[0]['name']}"
    return None


def _unsent(sent: Sent, document: dict[str, Any], entry: Any, place: Place, values: Mapping[str, str]) -> str | None:
    """Return which value of the caller is not sent, of those that the document names."""
    named = set(_names(document, entry, 0))
    if "paths" in document:
        named |= set(_names(document, at(document, place.pointer.rpartition("/")[0]).get("parameters"), 0))
    if isinstance(entry, dict) and _is_skill(document, entry):
        named |= {"text"}
    if "woa_version" in document:
        agent = at(document, "/".join(place.pointer.split("/")[:3]))
        named |= set(agent.get("inputs", {}).get("properties", {}))
    texts = set(sent.texts())
    for name, value in values.items():
        if name in named and value not in texts and not set(_leaves(_parsed(value))) <= texts:
            return f"the value of {name} is not sent"
    return None


def _names(document: dict[str, Any], value: Any, depth: int) -> Iterator[str]:
    """Yield the names of parameters and properties that an entry describes, references followed."""
    if depth > 12:
        return
    if isinstance(value, list):
        for item in value:
            yield from _names(document, item, depth + 1)
    elif isinstance(value, dict):
        if isinstance(reference := value.get("$ref"), str) and reference.startswith("#"):
            yield from _names(document, at(document, reference[1:]), depth + 1)
        for key, part in value.items():
            if key in ("properties", "inputs", "input", "parameters") and isinstance(part, dict):
                yield from part
            if key == "parameters" and isinstance(part, list):
                yield from (item["name"] for item in part if isinstance(item, dict) and "name" in item)
            if key not in ("responses", "response_schema", "outputs", "response_example", "request_example"):
                yield from _names(document, part, depth + 1)


def _is_at(template: str, url: str) -> bool:
    """Return whether a URL is at an address with `{name}`, or `:name` in its path, and has its query."""
    wanted, got = urlsplit(re.sub(r"\{[^{}]*\}", "*", template)), urlsplit(url)
    path = re.sub(r"(?<=/):\w+", "*", unquote(wanted.path)).rstrip("/")
    pattern = re.escape(path).replace(r"\*", "[^/]+")
    got_path = "/".join(unquote(part).replace("/", "%2F") for part in got.path.split("/")).rstrip("/")
    host = re.escape(wanted.netloc).replace(r"\*", "[^/]+")
    if wanted.scheme != got.scheme or not re.fullmatch(host, got.netloc) or not re.fullmatch(pattern, got_path):
        return False
    return set(parse_qsl(wanted.query)) <= set(parse_qsl(got.query))


def _bracketed(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested members under the names that forms have for them: `a[b]`."""
    for key, part in value.items():
        name = f"{prefix}[{key}]" if prefix else key
        if isinstance(part, dict):
            yield from _bracketed(part, name)
        elif prefix:
            yield (f"{name}[]" if isinstance(part, list) else name), part


def _addresses(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (part for key, part in value.items() if key in ("url", "endpoint") and isinstance(part, str))
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _addresses(part)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    elif value is not None:
        yield value if isinstance(value, str) else json.dumps(value)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _read(site: Site, path: str) -> dict[str, Any]:
    body = site.reply(path).body
    try:
        found = json.loads(body)
    except ValueError:
        found = yaml.safe_load(body)
    return _mapping(found)
