"""Check a server.json by the rules that the MCP registry applies to published servers (schema of 2025-12-11).

The schema here follows the published rules, and is stricter where the registry refuses values that its own schema
allows: unknown members, URLs that are not https, names that do not end in a letter or digit, ranges of versions. Rules
that a schema cannot express, such as the variables of a URL, follow in code.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

import jsonschema_rs

from registry.core.names.domains import parse_url

SCHEMA_URL: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
PUBLISHER: Final = "io.modelcontextprotocol.registry/publisher-provided"
"""The only member that `_meta` of a server.json may have."""

MAX_NAME: Final = 200
MAX_TEXT: Final = 100
MAX_VERSION: Final = 255
MAX_ICON: Final = 255
MAX_ISSUES: Final = 100

VARIABLE: Final = re.compile(r"\{([^}]+)\}")
_RANGE: Final = re.compile(
    r"\s*(?:\^|~|[<>]=?|=)\s*v?\d|.*\|\||\s*v?\d[\w.-]*\s-\s|\s*(?:v?\d+|[xX*])(?:\.\d+)?\.[xX*](?:[.-]|\s*$)|\s*[xX*]\.\d"
)
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LOCAL: Final = re.compile(r"(?:localhost|127\.0\.0\.1|.*\.localhost)\.?")

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_URI: Final[dict[str, Any]] = {"type": "string", "pattern": r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s]+$"}
_HTTPS: Final[dict[str, Any]] = {"type": "string", "pattern": r"^https://[^/?#\s\"'<>{}][^\s\"'<>{}]*$"}


def _object(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "required": list(required), "properties": properties, "additionalProperties": False,
    }  # fmt: skip


_INPUT: Final[dict[str, Any]] = {
    "description": _TEXT, "isRequired": {"type": "boolean"}, "isSecret": {"type": "boolean"}, "value": _TEXT,
    "default": _TEXT, "placeholder": _TEXT, "choices": {"type": "array", "items": _TEXT},
    "format": {"enum": ["string", "number", "boolean", "filepath"]},
}  # fmt: skip
_VARIABLES: Final[dict[str, Any]] = {"type": "object", "additionalProperties": {"$ref": "#/$defs/input"}}
_WITH_VARIABLES: Final[dict[str, Any]] = {**_INPUT, "variables": {"$ref": "#/$defs/variables"}}
_URL_TEMPLATE: Final[dict[str, Any]] = {"type": "string", "pattern": r"^https?://[^/?#\s][^\s]*$"}
_VERSION: Final[dict[str, Any]] = {
    "type": "string", "minLength": 1, "maxLength": MAX_VERSION, "not": {"const": "latest"},
}  # fmt: skip
_FLAG_NAME: Final[dict[str, Any]] = {"type": "string", "pattern": r"^[^<>$ ]+$"}

SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$ref": "#/$defs/server",
    "$defs": {
        "input": _object((), **_INPUT),
        "variables": _VARIABLES,
        "key_value": _object(("name",), name={"type": "string", "minLength": 1}, **_WITH_VARIABLES),
        "named": _object(
            ("type", "name"), type={"const": "named"}, name=_FLAG_NAME, isRepeated={"type": "boolean"},
            valueHint=_TEXT, **_WITH_VARIABLES,
        ),
        "positional": {
            **_object(
                ("type",), type={"const": "positional"}, isRepeated={"type": "boolean"}, valueHint=_TEXT,
                **_WITH_VARIABLES,
            ),
            "anyOf": [{"required": ["value"]}, {"required": ["valueHint"]}],
        },
        "argument": {
            "if": {"properties": {"type": {"const": "named"}}},
            "then": {"$ref": "#/$defs/named"},
            "else": {"$ref": "#/$defs/positional"},
        },
        "arguments": {"type": "array", "items": {"$ref": "#/$defs/argument"}},
        "headers": {"type": "array", "items": {"$ref": "#/$defs/key_value"}},
        "remote": _object(
            ("type", "url"), type={"enum": ["streamable-http", "sse"]},
            url={"type": "string", "pattern": r"^https://[^/?#\s][^\s]*$"},
            headers={"$ref": "#/$defs/headers"}, variables={"$ref": "#/$defs/variables"},
        ),
        "transport": {
            "if": {"properties": {"type": {"const": "stdio"}}},
            "then": _object(("type",), type={"const": "stdio"}),
            "else": _object(
                ("type", "url"), type={"enum": ["streamable-http", "sse"]}, url=_URL_TEMPLATE,
                headers={"$ref": "#/$defs/headers"},
            ),
        },
        "package": _object(
            ("registryType", "identifier", "transport"),
            registryType={"type": "string", "minLength": 1}, registryBaseUrl=_URI,
            identifier={"type": "string", "minLength": 1, "pattern": "^[^ ]+$"}, version=_VERSION,
            fileSha256={"type": "string", "pattern": "^[a-f0-9]{64}$"}, runtimeHint=_TEXT,
            transport={"$ref": "#/$defs/transport"}, runtimeArguments={"$ref": "#/$defs/arguments"},
            packageArguments={"$ref": "#/$defs/arguments"}, environmentVariables={"$ref": "#/$defs/headers"},
        ),
        "repository": _object(
            ("url", "source"), url=_URI, source={"enum": ["github", "gitlab"]}, id=_TEXT,
            subfolder={"type": "string", "pattern": r"^[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*$"},
        ),
        "icon": _object(
            ("src",), src={**_HTTPS, "maxLength": MAX_ICON},
            mimeType={"enum": ["image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"]},
            sizes={"type": "array", "items": {"type": "string", "pattern": r"^(\d+x\d+|any)$"}},
            theme={"enum": ["light", "dark"]},
        ),
        "server": {
            **_object(
                ("$schema", "name", "description", "version"),
                name={
                    "type": "string", "minLength": 3, "maxLength": MAX_NAME,
                    "pattern": r"^[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]/[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$",
                },
                title={"type": "string", "minLength": 1, "maxLength": MAX_TEXT, "pattern": r"\S"},
                description={"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
                version=_VERSION, websiteUrl=_HTTPS, repository={"$ref": "#/$defs/repository"},
                icons={"type": "array", "items": {"$ref": "#/$defs/icon"}},
                packages={"type": "array", "items": {"$ref": "#/$defs/package"}},
                remotes={"type": "array", "items": {"$ref": "#/$defs/remote"}},
                _meta=_object((), **{PUBLISHER: {"type": "object"}}),
                **{"$schema": {"const": SCHEMA_URL}},
            ),
        },
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Issue:
    """A broken rule. `path` has the members of the schema that lead to it, `*` for names that the document chose."""

    kind: Literal["schema", "semantic"]
    path: str
    says: str
    rule: str


def issues(server: Any) -> tuple[Issue, ...]:
    """Return the rules that a server.json breaks, at most MAX_ISSUES. No text of the document is repeated."""
    found = list(_schema_issues("server", server))
    return tuple((found or list(_semantic_issues(server)))[:MAX_ISSUES])


def is_valid_part(part: Literal["remote", "package", "repository", "icon"], value: Any) -> bool:
    """Return whether a part of a server.json is valid by itself."""
    if not _validator(part).is_valid(value):
        return False
    check = {"remote": _remote_issues, "package": _package_issues, "repository": _repository_issues}.get(part)
    return check is None or next(iter(check(value, "")), None) is None


def is_usable_version(version: str) -> bool:
    """Return whether a text can be a version of a server or package: no range, and not the reserved `latest`."""
    return 1 <= len(version) <= MAX_VERSION and version != "latest" and _RANGE.match(version) is None


def is_usable_url(url: str) -> bool:
    """Return whether strict parsers accept a URL: its variables replaced, a host, every percent sign an escape."""
    filled = re.sub(r":\{[^}]+\}(?=/|$)", ":8080", url)
    filled = VARIABLE.sub("placeholder", filled)
    parsed = parse_url(filled)
    return parsed is not None and bool(parsed.host) and not _ESCAPE.search(url) and "{" not in filled


@lru_cache(maxsize=8)
def _validator(part: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{part}"}, offline=True)


def _schema_issues(part: str, value: Any) -> Iterator[Issue]:
    for number, error in enumerate(_validator(part).iter_errors(value)):
        if number == MAX_ISSUES:
            return
        keyword = next((str(key) for key in reversed(error.schema_path) if isinstance(key, str)), "schema")
        says = f"breaks the rule `{keyword}` of the schema"
        if keyword == "required" and (member := str(getattr(error.kind, "property", ""))) in _MEMBERS:
            says = f"lacks the member `{member}`"
        yield Issue("schema", _path(error.instance_path), says, keyword)


_MEMBERS: Final = frozenset(
    name for definition in SCHEMA["$defs"].values() for name in definition.get("properties", {})
) | {"_meta", PUBLISHER}


def _path(keys: Any) -> str:
    path = ""
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        else:
            path += f"{'.' if path else ''}{key if key in _MEMBERS else '*'}"
    return path


def _semantic_issues(server: Mapping[str, Any]) -> Iterator[Issue]:
    if not is_usable_version(server["version"]):
        yield Issue("semantic", "version", "is a range, not a version", "version-looks-like-range")
    if "websiteUrl" in server and not is_usable_url(server["websiteUrl"]):
        yield Issue("semantic", "websiteUrl", "cannot be parsed", "invalid-website-url")
    for index, icon in enumerate(server.get("icons", ())):
        if not is_usable_url(icon["src"]):
            yield Issue("semantic", f"icons[{index}].src", "cannot be parsed", "icon-src-invalid-url")
    if "repository" in server:
        yield from _repository_issues(server["repository"], "repository")
    for index, package in enumerate(server.get("packages", ())):
        yield from _package_issues(package, f"packages[{index}]")
    for index, remote in enumerate(server.get("remotes", ())):
        yield from _remote_issues(remote, f"remotes[{index}]")


_REPOSITORIES: Final = {
    "github": re.compile(r"https?://(?:www\.)?github\.com/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+/?"),
    "gitlab": re.compile(r"https?://(?:www\.)?gitlab\.com/[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+/?"),
}


def source_of(url: str) -> str | None:
    """Return the name of the hosting service whose repositories have such URLs; None for all others."""
    for source, pattern in _REPOSITORIES.items():
        if pattern.fullmatch(url) and "/-/" not in f"{url}/":
            return source
    return None


def _repository_issues(repository: Mapping[str, Any], path: str) -> Iterator[Issue]:
    if source_of(repository["url"]) != repository["source"]:
        yield Issue("semantic", f"{path}.url", "is no repository of this source", "invalid-repository-url")
    if {".", ".."} & set(repository.get("subfolder", "").split("/")):
        yield Issue("semantic", f"{path}.subfolder", "is no clean relative path", "invalid-subfolder-path")


def _remote_issues(remote: Mapping[str, Any], path: str) -> Iterator[Issue]:
    parsed = parse_url(VARIABLE.sub("placeholder", remote["url"]))
    if not is_usable_url(remote["url"]) or parsed is None or _LOCAL.fullmatch(parsed.host):
        yield Issue("semantic", f"{path}.url", "is no URL of a remote server", "invalid-remote-url")
    elif not set(VARIABLE.findall(remote["url"])) <= set(remote.get("variables", ())):
        yield Issue("semantic", f"{path}.url", "has variables that are not declared", "invalid-templated-url")


def _package_issues(package: Mapping[str, Any], path: str) -> Iterator[Issue]:
    if "version" in package and not is_usable_version(package["version"]):
        yield Issue("semantic", f"{path}.version", "is a range, not a version", "version-looks-like-range")
    arguments = [
        (f"{path}.{name}[{index}]", argument)
        for name in ("runtimeArguments", "packageArguments")
        for index, argument in enumerate(package.get(name, ()))
    ]
    for place, argument in arguments:
        for member in ("value", "default"):
            if argument["type"] == "named" and argument.get(member, "").startswith(argument["name"]):
                yield Issue("semantic", f"{place}.{member}", "repeats the name", "argument-value-starts-with-name")
    url = package["transport"].get("url")
    if url is None:
        return
    known = {item["name"] for item in package.get("environmentVariables", ())}
    known |= {argument[key] for _, argument in arguments for key in ("name", "valueHint") if argument.get(key)}
    if not is_usable_url(url) or not set(VARIABLE.findall(url)) <= known:
        yield Issue("semantic", f"{path}.transport.url", "cannot be resolved", "invalid-templated-url")
