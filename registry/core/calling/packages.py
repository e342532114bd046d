"""Describe how to install and start an MCP server, and how to enter it in a client's configuration."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from registry.core.calling.credentials import Credentials, input_value, inputs_json, is_header_name
from registry.core.model.services import Input, Package, Service

MAX_PACKAGES: Final = 20

_COMMANDS: Final[Mapping[str, str]] = {
    "npm": "npx", "pypi": "uvx", "oci": "docker", "docker": "docker", "nuget": "dnx",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Start:
    """A command with its arguments and the environment variables that it needs."""

    command: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        entry: dict[str, Any] = {"command": self.command, "args": list(self.arguments)}
        return {**entry, "env": dict(self.environment)} if self.environment else entry


def start_of(package: Package) -> Start | None:
    """Return how the package is started; None for a file to download and for registries without a known command."""
    needed = [item for item in package.environment if item.required is not False or item.value or item.default]
    environment = {item.name: input_value(item) for item in needed}
    kind = (package.registry or "").lower()
    if package.identifier is None or (kind not in _COMMANDS and package.command):
        return _start_command(package, environment)
    command = _COMMANDS.get(kind)
    if command is None:
        return None
    runtime, arguments = package.runtime_arguments, package.arguments
    if command == "npx":
        options = runtime if {"-y", "--yes"} & set(runtime) else ("-y", *runtime)
        return Start(package.command or command, (*options, _name_with_version(package, "@"), *arguments), environment)
    if command == "uvx":
        return Start(package.command or command, (*runtime, _name_with_version(package, "=="), *arguments), environment)
    if command == "dnx":
        options = (_name_with_version(package, "@"), "--yes", *runtime)
        return Start(package.command or command, (*options, *(("--", *arguments) if arguments else ())), environment)
    return _start_container(package, environment)


def client_configuration(
    service: Service, name: str, url: str | None, credentials: Credentials, headers: Iterable[Input] = ()
) -> dict[str, Any] | None:
    """Return the entry for a client's list of servers: by address, else the first package that can be started."""
    if url is not None:
        return {"mcpServers": {name: _remote(url, credentials, headers)}}
    for package in service.packages[:MAX_PACKAGES]:
        start = start_of(package)
        if start is not None and package.url is None:
            return {"mcpServers": {name: start.to_json()}}
        if package.url is not None:
            return {"mcpServers": {name: {"url": package.url}}}
    return None


def installations(service: Service) -> list[dict[str, Any]]:
    """Return for each package how it is installed and started, with its environment variables."""
    return [_installation(package) for package in service.packages[:MAX_PACKAGES]]


def _installation(package: Package) -> dict[str, Any]:
    start = start_of(package)
    row: dict[str, Any] = {
        "registry": package.registry,
        "identifier": package.identifier,
        "version": package.version,
        "transport": package.transport,
        "url": package.url,
        "start": start.to_json() if start else None,
        "download": package.identifier if start is None and _is_url(package.identifier) else None,
        "sha256": package.sha256,
        "environment": inputs_json(package.environment) or None,
    }
    return {key: value for key, value in row.items() if value is not None}


def _start_command(package: Package, environment: Mapping[str, str]) -> Start | None:
    if package.command is None:
        return None
    return Start(package.command, (*package.runtime_arguments, *package.arguments), environment)


def _start_container(package: Package, environment: Mapping[str, str]) -> Start:
    """Return `docker run`, which takes each variable from its own environment; the image has its tag or digest."""
    image = package.identifier or ""
    tagged = ":" in image.rpartition("/")[2] or "@" in image
    image = image if tagged or not package.version else f"{image}:{package.version}"
    options = [word for name in environment for word in ("-e", name)]
    first = ("run", "-i", "--rm")
    runtime = package.runtime_arguments[1:] if package.runtime_arguments[:1] == ("run",) else package.runtime_arguments
    runtime = tuple(word for word in runtime if word not in first)
    return Start(package.command or "docker", (*first, *runtime, *options, image, *package.arguments), environment)


def _name_with_version(package: Package, separator: str) -> str:
    identifier = package.identifier or ""
    is_versioned = separator in identifier[1:] or not package.version or package.version == "latest"
    return identifier if is_versioned else f"{identifier}{separator}{package.version}"


def _remote(url: str, credentials: Credentials, headers: Iterable[Input]) -> dict[str, Any]:
    sent = {
        credential.name or "": credential.value for credential in credentials.chosen if credential.place == "header"
    }
    known = {name.lower() for name in sent}
    for item in headers:
        wanted = item.required is not False or item.value or item.default
        if wanted and is_header_name(item.name) and item.name.lower() not in known:
            sent[item.name] = input_value(item)
    return {"url": url, "headers": sent} if sent else {"url": url}


def _is_url(text: str | None) -> bool:
    return text is not None and text.startswith("https://")
