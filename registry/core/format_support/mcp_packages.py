"""Read how MCP servers are installed and started: packages of registries, and bare commands.

Sources: server.json, `Package` and `Argument`, in its dated schemas and in the shape of May 2025; the configuration
files of clients (`command`, `args`, `env`). Nothing here is ever run.
"""

import re
import shlex
from collections.abc import Iterator
from typing import Any, Final

from registry.core.format_support.endpoints import link
from registry.core.format_support.manifest import (
    MAX_TEXTS,
    NAME_CHARS,
    Object,
    clean_json,
    first_text,
    list_of,
    map_of,
    short_text_of,
)
from registry.core.format_support.mcp_inputs import flag, inputs_of, texts_in
from registry.core.model.documents import Json
from registry.core.model.services import Package
from registry.core.reading.plain_text import line

MAX_PACKAGES: Final = 50
_COMMANDS: Final = ("npx", "uvx", "docker", "pipx", "bunx", "dnx", "pnpm", "deno")
_INSTALLS: Final = ("install", "installation", "install_command", "installCommand", "quickstart")
_ARGUMENT_CHARS: Final = 2_000


def packages_of(holder: Object, base: str) -> tuple[Package, ...]:
    """Return `packages[]`, without those that name neither an identifier nor a command."""
    found = (package_of(item, base) for item in list_of(holder, "packages")[:MAX_PACKAGES] if isinstance(item, dict))
    return tuple(dict.fromkeys(package for package in found if package.identifier or package.command))


def package_of(item: Object, base: str) -> Package:
    transport = map_of(item, "transport")
    return Package(
        registry=first_text(item, "registryType", "registry_type", "registry_name", "registry", chars=NAME_CHARS),
        identifier=first_text(item, "identifier", "name", "package", chars=_ARGUMENT_CHARS),
        version=short_text_of(item, "version"),
        command=first_text(item, "runtimeHint", "runtime_hint", "command", chars=NAME_CHARS),
        runtime_arguments=_arguments(list_of(item, "runtimeArguments") or list_of(item, "runtime_arguments")),
        arguments=_arguments(
            list_of(item, "packageArguments") or list_of(item, "package_arguments") or list_of(item, "args")
        ),
        environment=inputs_of(
            item.get("environmentVariables", item.get("environment_variables", item.get("env")))
        ),
        transport=short_text_of(transport, "type") or short_text_of(item, "transport"),
        url=link(transport.get("url"), base),
        registry_url=link(item.get("registryBaseUrl", item.get("registry_base_url")), base),
        sha256=first_text(item, "fileSha256", "file_sha256", chars=NAME_CHARS),
    )  # fmt: skip


def argument_details(holder: Object) -> list[dict[str, Any]]:
    """Return what is said of the arguments of each package beyond their values, as it stands; [] for nothing."""
    details = []
    for item in list_of(holder, "packages")[:MAX_PACKAGES]:
        kept = {
            key: clean_json(list_of(item, key)[:MAX_TEXTS])
            for key in ("runtimeArguments", "runtime_arguments", "packageArguments", "package_arguments")
            if any(isinstance(part, dict) and _says_more(part) for part in list_of(item, key))
        }
        details.append(kept)
    return details if any(details) else []


def _says_more(argument: Object) -> bool:
    return any(argument.get(key) for key in ("description", "choices", "variables", "isRepeated", "is_repeated"))


def _arguments(items: list[Json]) -> tuple[str, ...]:
    return tuple(text for item in items[:MAX_TEXTS] for text in _argument(item))


def _argument(item: Json) -> Iterator[str]:
    """Yield an argument as words of a command line. What the caller fills in is `{its_name}`.

    An optional argument without a value is left out. Records of May 2025 repeat the name in the value.
    """
    if isinstance(item, str) and item.strip():
        yield line(item, _ARGUMENT_CHARS)
    if not isinstance(item, dict):
        return
    name = first_text(item, "name", chars=_ARGUMENT_CHARS)
    value = first_text(item, "value", "default", chars=_ARGUMENT_CHARS)
    hint = first_text(item, "valueHint", "value_hint", chars=NAME_CHARS)
    required = flag(item, "isRequired", "is_required") is True
    is_named = item.get("type") == "named" and name is not None
    if value is None and not required:
        return
    if is_named and name is not None and not (value or "").startswith(name):
        yield name
        if value is not None or hint is not None:
            yield value or f"{{{_variable(hint or name)}}}"
        return
    yield value or f"{{{_variable(hint or name or 'argument')}}}"


def _variable(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_") or "argument"


def command_package(entry: Object) -> Package | None:
    """Return the server that a client's configuration starts: `command`, `args`, `env`."""
    command = first_text(entry, "command", chars=_ARGUMENT_CHARS)
    if command is None:
        return None
    words = (_words(command) if " " in command else []) or [command]
    return Package(
        command=words[0],
        arguments=(*words[1:], *texts_in(entry, "args")),
        environment=inputs_of(entry.get("env")),
        transport="stdio",
    )


def installed(value: Object) -> tuple[Package, ...]:
    """Return the packages in a loose `install` member: commands such as `npx -y name`, with an `env` beside them."""
    found: list[Package] = []
    for key in _INSTALLS:
        held = value.get(key)
        environment = inputs_of(map_of(value, key).get("env")) if isinstance(held, dict) else ()
        texts = [held] if isinstance(held, str) else list(held.values()) if isinstance(held, dict) else []
        for text in texts[:MAX_TEXTS]:
            words = _words(text) if isinstance(text, str) else []
            if words and words[0] in _COMMANDS:
                found.append(Package(command=words[0], arguments=tuple(words[1:]), environment=environment))
    return tuple(dict.fromkeys(found))


def _words(text: str) -> list[str]:
    """Return the words of a command line; none if it cannot be split or is no single command."""
    if len(text) > _ARGUMENT_CHARS or re.search(r"[|;&\n`]", text):
        return []
    try:
        return [word for part in shlex.split(text) if (word := line(part, _ARGUMENT_CHARS))]
    except ValueError:
        return []
