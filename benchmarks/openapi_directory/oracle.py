"""What a description of OpenAPI 3 says about each call, read from the raw document, without the code under test."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urljoin, urlsplit

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_OF_REQUEST: Final = ("accept", "content-type", "authorization")  # OpenAPI 3.1 section 4.8.12.2.1
_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")
_NOT_PUBLIC: Final = re.compile(
    r"(?i)(.*\.)?(local|localhost|internal|external|lan|test|invalid|example|example\.(com|net|org))|[^.]*|[\d.]+"
)
_ANY: Final = "*"
_BARE_HOST: Final = re.compile(r"(?i)([a-z0-9-]+\.)+[a-z]{2,}(?=[/:]|$)")


@dataclass(frozen=True, slots=True)
class Operation:
    """`addresses` are what may be called: each server of the operation with the path, as templates. `bodies` are the
    names that the body must have, by media type."""

    pointer: str
    path: str
    method: str
    addresses: tuple[str, ...]
    required: frozenset[tuple[str, str]]
    needs_body: bool
    bodies: Mapping[str, frozenset[str]]


def operations_of(document: dict[str, Any], url: str) -> Iterator[Operation]:
    """Yield the operations of a document that was found at `url`."""
    for path, item in _items(document):
        for method in METHODS:
            operation = item.get(method)
            if isinstance(operation, dict):
                yield _operation(document, url, path, item, method, operation)


def servers_of(document: dict[str, Any], url: str) -> frozenset[str]:
    """Return how its servers can be reached: "https", "http" for public hosts by plain http, "variable", "private"."""
    holders = [document]
    for _, item in _items(document):
        holders += [item, *(item[method] for method in METHODS if isinstance(item.get(method), dict))]
    servers = [server for holder in holders for server in holder.get("servers") or ()] or [{"url": "/"}]
    return frozenset(_reach(base) for server in servers for base in _bases(server, url))


def fault(operation: Operation, call: Mapping[str, Any]) -> str | None:
    """Return the kind of mistake of a call as this registry answers it; None for the right one."""
    example = call["example"]
    if example["method"].lower() != operation.method:
        return "method"
    url = urlsplit(example["url"])
    if not any(_fits(_host(address), _host(example["url"])) for address in operation.addresses):
        return "host"
    if not any(_has_path(address, example["url"]) for address in operation.addresses):
        return "path"
    lacks = [part["why"] for part in call["missing"] if not part["what"].startswith("credential")]
    why = f": {lacks[0][:70]}" if lacks else ""
    sent = {
        "query": [name for name, _ in parse_qsl(url.query, keep_blank_values=True)],
        "header": [name.lower() for name in example["headers"]],
        "cookie": [pair.partition("=")[0] for pair in example["headers"].get("Cookie", "").split("; ")],
    }
    for name, place in sorted(operation.required):
        written = name.lower() if place == "header" else name
        if not any(one == written or one.startswith(f"{name}[") for one in sent.get(place, (written,))):
            return f"required {place}{why}"
    if operation.needs_body and "body" not in example:
        return f"required body{why}"
    body, media_type = example.get("body"), example["headers"].get("Content-Type", "")
    members = set(body) if isinstance(body, dict) else set()
    if "body" in example and not operation.bodies.get(media_type, frozenset()) <= members:
        return f"required member of the body{why}"
    in_path = any(place == "path" for _, place in operation.required) and "YOUR_" in url.path
    return f"required path{why}" if in_path and why else None


def _operation(
    document: dict[str, Any], url: str, path: str, item: dict[str, Any], method: str, operation: dict[str, Any]
) -> Operation:
    servers = operation.get("servers") or item.get("servers") or document.get("servers") or [{"url": "/"}]
    required: dict[tuple[str, str], bool] = {}
    unencoded: set[str] = set()
    for holder in (item, operation):
        for held in holder.get("parameters") or ():
            parameter = _resolved(document, held)
            name, place = str(parameter.get("name")), str(parameter.get("in"))
            is_sent = not (place == "header" and name.lower() in _OF_REQUEST) and not _is_object(document, parameter)
            required[name, place] = parameter.get("required") is True and is_sent
            if place == "path" and (parameter.get("allowReserved") or parameter.get("x-ms-skip-url-encoding")):
                unencoded.add(name)  # its value may have slashes
    written = _VARIABLE.sub(lambda match: f"{{{_ANY if match[1] in unencoded else ''}{match[1]}}}", path)
    addresses = [base.rstrip("/") + written for server in servers for base in _bases(server, url)]
    body = _resolved(document, operation.get("requestBody"))
    content = body.get("content") if isinstance(body.get("content"), dict) else {}
    return Operation(
        f"/paths/{path.replace('~', '~0').replace('/', '~1')}/{method}", path, method, tuple(addresses),
        frozenset(key for key, needed in required.items() if needed),
        body.get("required") is True and bool(content),
        {kind: _members(document, held) for kind, held in (content or {}).items() if "json" in kind or kind in _FORMS},
    )  # fmt: skip


def _is_object(document: dict[str, Any], parameter: dict[str, Any]) -> bool:
    """Return whether the name of a parameter is not sent: an exploded object has the names of its members."""
    schema = _resolved(document, parameter.get("schema"))
    is_exploded = parameter.get("style", "form") == "form" and parameter.get("explode") is not False
    return parameter.get("in") in ("query", "cookie") and is_exploded and schema.get("type") == "object"


def _members(document: dict[str, Any], held: Any) -> frozenset[str]:
    """Return the members that a body must have, as far as its schema says so in plain words."""
    schema = _resolved(document, held.get("schema") if isinstance(held, dict) else None)
    properties: dict[str, Any] = {}
    required: set[str] = set()
    for part in (schema, *(_resolved(document, part) for part in schema.get("allOf") or ())):
        properties |= part["properties"] if isinstance(part.get("properties"), dict) else {}
        required |= set(part["required"]) if isinstance(part.get("required"), list) else set()
    marked = {name for name in required if _resolved(document, properties.get(name)).get("readOnly") is True}
    return frozenset(required - marked)


def _items(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    paths = document.get("paths")
    for path, held in paths.items() if isinstance(paths, dict) else ():
        if not path.startswith("x-"):
            yield path, _resolved(document, held)


def _resolved(document: dict[str, Any], value: Any) -> dict[str, Any]:
    for _ in range(20):
        if not isinstance(value, dict):
            return {}
        target = value.get("$ref")
        if not isinstance(target, str) or not target.startswith("#"):
            return value
        found: Any = document
        for part in target[1:].split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list):
                found = found[int(key)] if key.isdigit() and int(key) < len(found) else None
            else:
                found = found.get(key) if isinstance(found, dict) else None
        value = found
    return {}


def _bases(server: Any, url: str) -> Iterator[str]:
    """Yield the address of a server with the defaults of its variables, and, where that is not public, with variables
    for the caller to fill in. A server without a scheme that begins with a host is that host."""
    held = server if isinstance(server, dict) else {}
    written, variables = str(held.get("url") or "/").strip(), held.get("variables") or {}
    defaults = {name: str(variable.get("default", f"{{{name}}}")) for name, variable in variables.items()}
    full = _VARIABLE.sub(lambda match: defaults.get(match[1], match[0]), written)
    full = f"https://{full}" if _BARE_HOST.match(full) else full
    base = full if "://" in full else urljoin(url, full)
    yield base
    if _reach(base) != "https":
        scheme, mark, rest = written.partition("://")
        yield f"https://{rest}" if mark and scheme.startswith("{") else base if not mark else f"{scheme}://{rest}"


def _reach(base: str) -> str:
    host = _host(base)
    if "{" in host:
        return "variable"
    scheme = base.partition("://")[0].lower()
    return "private" if _NOT_PUBLIC.fullmatch(host.partition(":")[0]) or scheme not in ("http", "https") else scheme


def _has_path(address: str, url: str) -> bool:
    """Return whether the URL has the path of the address, and the query that it holds. What follows `#` is not sent."""
    pattern, _, query = address.partition("#")[0].partition("?")
    got = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    return _fits(_path(pattern), _path(url)) and all(
        any(name == key and ("{" in text or text == value) for key, value in got)
        for name, text in parse_qsl(query, keep_blank_values=True)
    )


def _fits(template: str, text: str) -> bool:
    parts = _VARIABLE.split(template)
    pattern = "".join(
        re.escape(_normal(part)) if index % 2 == 0 else ".+" if part.startswith(_ANY) else "[^/]+"
        for index, part in enumerate(parts)
    )
    return re.fullmatch(pattern, _normal(text)) is not None


def _normal(text: str) -> str:
    """Return a path with its characters encoded in one way."""
    return re.sub(r"(?:%[0-9A-Fa-f]{2})+", lambda match: quote(unquote(match[0]), safe="~"), quote(text, safe="/%~"))


def _host(address: str) -> str:
    scheme, _, rest = address.partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2].lower()
    return host.removesuffix(":443" if scheme.lower() == "https" else ":80")


def _path(address: str) -> str:
    return "/" + address.partition("://")[2].partition("/")[2].partition("?")[0]
