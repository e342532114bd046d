"""How a tool or a whole server of the Model Context Protocol is called (revisions 2024-11-05 to 2026-07-28).

Also how a server is installed, started and entered in a client's configuration.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from registry.core.calling.credentials import Credentials, credentials_of, input_value, is_header_name
from registry.core.calling.http import Missing, Source, add_credentials, add_variables, make_http_call
from registry.core.calling.request import JSON, ExampleRequest
from registry.core.calling.template import address_of, template
from registry.core.model.services import Capability, Input, Invocation, Package, Protocol, Service
from registry.core.reading.plain_text import line

STATELESS: Final = "2026-07-28"
"""From this revision on, requests carry in `_meta` the facts that `initialize` used to agree on."""
HANDSHAKE: Final = "2025-11-25"
"""The newest revision with a handshake: offered where no document names one; the server answers with its own."""

_CLIENT: Final = {"name": "YOUR_CLIENT", "version": "1.0.0"}
_ACCEPT: Final = f"{JSON}, text/event-stream"
_META: Final = "io.modelcontextprotocol"
_MAX_PACKAGES: Final = 20
_COMMANDS: Final[Mapping[str, str]] = {
    "npm": "npx", "pypi": "uvx", "oci": "docker", "docker": "docker", "nuget": "dnx",
}  # fmt: skip


def tool_call(service: Service, capability: Capability, call: Invocation, source: Source) -> dict[str, Any]:
    """Return the `tools/call` request of a tool, over streamable HTTP or, without an address, over standard input."""
    arguments = source(capability.params, {})
    name = call.name or capability.id
    parameters = {"name": name, "arguments": arguments.values}
    return _make_call("mcp_tool", service, call, ("tools/call", parameters), arguments.derived, list(arguments.missing))


def server_call(service: Service, call: Invocation) -> dict[str, Any]:
    """Return the first request to a server whose tools no document lists: it asks for them."""
    return _make_call("mcp_server", service, call, ("tools/list", {}), (), [])


def _make_call(
    kind: str,
    service: Service,
    call: Invocation,
    message: tuple[str, dict[str, Any]],
    derived: tuple[str, ...],
    missing: list[Missing],
) -> dict[str, Any]:
    protocol = _make_protocol(service, call.endpoint)
    version = protocol.version if protocol is not None else None
    method, parameters = message
    stateless = version is not None and version >= STATELESS
    if stateless:
        meta = {"protocolVersion": version, "clientInfo": _CLIENT, "clientCapabilities": {}}
        parameters = {**parameters, "_meta": {f"{_META}/{key}": value for key, value in meta.items()}}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    credentials, headers = credentials_of(service, call), protocol.headers if protocol is not None else ()
    url = call.endpoint if (call.endpoint or "").startswith("https://") else None
    setup = {
        **({} if stateless else {"initialize": _make_initialize(version)}),
        "client_configuration": _make_configuration(service, url, credentials, headers),
        "packages": [_installation(package) for package in service.packages[:_MAX_PACKAGES]] or None,
    }
    extra = {key: value for key, value in setup.items() if value is not None}
    if url is None:
        return {
            "kind": kind, "transport": "stdio", "request": {"body": body}, "example": {"body": body},
            "derived": list(derived), "missing": [part.to_json() for part in missing], **extra,
        }  # fmt: skip
    request = ExampleRequest("POST", address_of(url), body=body, content_type=JSON)
    request.add_header("Accept", _ACCEPT)
    if version is not None:
        request.add_header("MCP-Protocol-Version", version)
    if stateless:
        request.add_header("Mcp-Method", method)
        if "name" in parameters:
            request.add_header("Mcp-Name", parameters["name"])
    described: dict[str, Any] = {"method": "POST", "url": template(request.address, ())}
    described |= {"headers": dict(request.headers), "content_type": JSON}
    for item in headers:
        if item.required is not False and (item.required or item.value):
            request.add_header(item.name, input_value(item))
    missing += add_credentials(request, credentials)
    add_variables(request)
    return make_http_call(kind, described, credentials, request, derived, missing) | extra


def _make_protocol(service: Service, endpoint: str | None) -> Protocol | None:
    """Return the protocol entry of the endpoint, else the only one of MCP."""
    entries = [protocol for protocol in service.protocols if protocol.id == "mcp"]
    exact = next((protocol for protocol in entries if protocol.endpoint == endpoint), None)
    return exact or (entries[0] if len(entries) == 1 else None)


def _make_initialize(version: str | None) -> dict[str, Any]:
    """Return the handshake: it comes first on each connection, then the notification, then calls."""
    parameters = {"protocolVersion": version or HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT}
    return {
        "note": "Send `body`, then `then`; later requests repeat the header Mcp-Session-Id of the answer, if any.",
        "body": {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": parameters},
        "then": {"jsonrpc": "2.0", "method": "notifications/initialized"},
    }


def _make_configuration(
    service: Service, url: str | None, credentials: Credentials, headers: tuple[Input, ...]
) -> dict[str, Any] | None:
    """Return the entry for a client's list of servers: by address, else the first package that can be started."""
    name = line(service.name or "", 100) or "server"
    if url is not None:
        request = ExampleRequest("POST", address_of(url))
        for credential in credentials.chosen:
            if credential.place in ("query", "path"):
                request.add(credential)
        add_variables(request)
        return {"mcpServers": {name: _remote(request.url, credentials, headers)}}
    for package in service.packages[:_MAX_PACKAGES]:
        entry = _make_start(package) if package.url is None else {"url": package.url}
        if entry is not None:
            return {"mcpServers": {name: entry}}
    return None


# --- packages and clients --------------------------------------------------------------------------------------------


def _make_start(package: Package) -> dict[str, Any] | None:
    """Return how the package is started; None for a file to download and for registries without a known command."""
    needed = [item for item in package.environment if item.required is not False or item.value or item.default]
    environment = {item.name: input_value(item) for item in needed}
    kind = (package.registry or "").lower()
    if package.identifier is None or (kind not in _COMMANDS and package.command):
        words = (*package.runtime_arguments, *package.arguments)
        return _start(package.command, words, environment) if package.command is not None else None
    command = _COMMANDS.get(kind)
    if command is None:
        return None
    if command == "docker":
        return _start_container(package, environment)
    runtime, arguments = package.runtime_arguments, package.arguments
    name, separator = package.identifier or "", "==" if command == "uvx" else "@"
    if separator not in name[1:] and package.version and package.version != "latest":
        name = f"{name}{separator}{package.version}"
    by_command = {
        "npx": (*(() if {"-y", "--yes"} & set(runtime) else ("-y",)), *runtime, name, *arguments),
        "uvx": (*runtime, name, *arguments),
        "dnx": (name, "--yes", *runtime, *(("--", *arguments) if arguments else ())),
    }
    return _start(package.command or command, by_command[command], environment)


def _installation(package: Package) -> dict[str, Any]:
    """Return how a package is installed and started, with its environment variables."""
    start, identifier = _make_start(package), package.identifier
    keys = ("name", "description", "required", "secret", "value", "default")
    environment = []
    for item in package.environment:
        members = {key: getattr(item, key) for key in keys} | {"choices": list(item.choices) or None}
        environment.append({key: value for key, value in members.items() if value is not None})
    row: dict[str, Any] = {
        "registry": package.registry, "identifier": identifier, "version": package.version,
        "transport": package.transport, "url": package.url, "start": start,
        "download": identifier if start is None and (identifier or "").startswith("https://") else None,
        "sha256": package.sha256, "environment": environment or None,
    }  # fmt: skip
    return {key: value for key, value in row.items() if value is not None}


def _start(command: str, arguments: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"command": command, "args": list(arguments)}
    return {**entry, "env": environment} if environment else entry


def _start_container(package: Package, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return `docker run`, which takes each variable from its own environment; the image has its tag or digest."""
    image = package.identifier or ""
    tagged = ":" in image.rpartition("/")[2] or "@" in image
    image = image if tagged or not package.version else f"{image}:{package.version}"
    options = [word for name in environment for word in ("-e", name)]
    first = ("run", "-i", "--rm")
    runtime = package.runtime_arguments[1:] if package.runtime_arguments[:1] == ("run",) else package.runtime_arguments
    runtime = tuple(word for word in runtime if word not in first)
    return _start(package.command or "docker", (*first, *runtime, *options, image, *package.arguments), environment)


def _remote(url: str, credentials: Credentials, headers: Iterable[Input]) -> dict[str, Any]:
    in_header = (credential for credential in credentials.chosen if credential.place == "header")
    sent = {credential.name or "": credential.value for credential in in_header}
    known = {name.lower() for name in sent}
    for item in headers:
        wanted = item.required is not False or item.value or item.default
        if wanted and is_header_name(item.name) and item.name.lower() not in known:
            sent[item.name] = input_value(item)
    return {"url": url, "headers": sent} if sent else {"url": url}
