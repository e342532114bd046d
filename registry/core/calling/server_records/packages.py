"""Packages of a server: how it is installed and started on the client's machine."""

import re
from typing import Any, Final

from registry.core.calling.server_records.remotes import TRANSPORTS, VARIABLE_NAME, input_of
from registry.core.calling.server_records.validation import VARIABLE, is_usable_version, is_valid_part
from registry.core.format_support.public_addresses import public_json
from registry.core.model.services import Package

_SHA256: Final = re.compile(r"[a-f0-9]{64}")


def package_of(package: Package, host: str) -> dict[str, Any] | None:
    """Return a package in the API's form; None for what it cannot express, such as a bare command.

    An argument is repeated as one word of the command line; what the caller fills in is a declared variable of it.
    """
    registry, identifier = (package.registry or "").lower(), package.identifier
    registry = "oci" if registry == "docker" else registry
    if not registry or not identifier:
        return None
    version = package.version if package.version and is_usable_version(package.version) else None
    if registry == "oci":
        is_tagged = ":" in identifier.rpartition("/")[2] or "@" in identifier
        identifier = identifier if is_tagged or version is None else f"{identifier}:{version}"
        version = None
    sha256 = (package.sha256 or "").lower()
    if registry == "mcpb" and not _SHA256.fullmatch(sha256):
        return None
    kind = (package.transport or "stdio").lower()
    transport = {"type": "stdio"} if kind == "stdio" else {"type": TRANSPORTS.get(kind, kind), "url": package.url}
    made = {
        "registryType": registry,
        "registryBaseUrl": package.registry_url,
        "identifier": identifier,
        "version": version,
        "fileSha256": sha256 if _SHA256.fullmatch(sha256) else None,
        "runtimeHint": package.command,
        "transport": transport,
        "runtimeArguments": [_argument(word) for word in package.runtime_arguments],
        "packageArguments": [_argument(word) for word in package.arguments],
        "environmentVariables": [{"name": item.name, **input_of(item)} for item in package.environment],
    }
    given = {key: value for key, value in made.items() if value}
    public = public_json(given, f"https://{host}/")
    is_whole = all(
        len(public.get(key, ())) == len(given.get(key, ())) for key in ("runtimeArguments", "packageArguments")
    )
    return public if is_whole and is_valid_part("package", public) else None


def _argument(word: str) -> dict[str, Any]:
    names = [name for name in dict.fromkeys(VARIABLE.findall(word)) if VARIABLE_NAME.fullmatch(name)]
    argument: dict[str, Any] = {"type": "positional", "value": word}
    return {**argument, "variables": {name: {"isRequired": True} for name in names}} if names else argument
