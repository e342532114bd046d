"""Make the MCP registry's records (server.json, schema of 2025-12-11) of one service: remotes, packages, records.

A host may serve several servers; each gets a record. What a record cannot express, or clients of that API would
refuse, is repaired if the repair invents nothing. Otherwise the remote, package, link or the whole record is
left out. Every repair and omission is named in the result.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from registry.core.calling.server_records import validation
from registry.core.calling.server_records.validation import MAX_TEXT, VARIABLE, is_usable_url, is_valid_part
from registry.core.format_support.public_addresses import is_public, public_json
from registry.core.model.services import SERVER_ID, Capability, Input, Package, Protocol, Service
from registry.core.names.domains import host_of, same_site
from registry.core.reading.plain_text import ELLIPSIS, line, plain

FULL_CHARS: Final = 2_000
TRANSPORTS: Final[Mapping[str, str]] = {
    "streamable-http": "streamable-http", "streamable_http": "streamable-http", "streamablehttp": "streamable-http",
    "streamable": "streamable-http", "http": "streamable-http", "https": "streamable-http", "sse": "sse",
    "http+sse": "sse",
}  # fmt: skip
VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_COLON_VARIABLE: Final = re.compile(r"(?<=/):([A-Za-z_]\w*)")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_LINK: Final = re.compile(r"https://[^/?#\s\"'<>{}][^\s\"'<>{}]*$")
_AUTHORITY: Final = re.compile(r"https://([^/?#]*)")


def remote_of(host: str, service: Service, protocol: Protocol, adjusted: dict[str, None]) -> dict[str, Any] | str:
    """Return a remote, or the reason why it is left out."""
    url = protocol.endpoint or ""
    if not url.startswith("https://"):
        return "transport" if url.startswith(("wss:", "ws:")) else "address"
    stated = (protocol.transport or "").lower()
    is_sse = url.partition("?")[0].rstrip("/").endswith("/sse")
    kind = TRANSPORTS.get(stated) if stated else "sse" if is_sse else "streamable-http"
    if kind is None:
        return "transport"
    if stated != kind:
        adjusted["transport"] = None
    url = _COLON_VARIABLE.sub(r"{\1}", url)
    names = dict.fromkeys(VARIABLE.findall(url))
    if not is_usable_url(url) or not is_public(url, f"https://{host}/"):
        return "address"
    variables = _make_variables(host, service, url, names)
    if any(not VARIABLE_NAME.fullmatch(name) for name in names):
        return "variable"
    undeclared = [name for name in names if name not in variables]
    if any(f"{{{name}}}" in _make_authority(url) for name in undeclared):
        return "variable"
    if undeclared:  # the URL itself says that the caller fills them in
        adjusted["variables_declared"] = None
        variables |= {name: {"isRequired": True} for name in undeclared}
    remote: dict[str, Any] = {"type": kind, "url": url}
    if headers := list(_make_headers(service, protocol)):
        remote["headers"] = headers
    if variables:
        remote["variables"] = variables
    public = public_json(remote, f"https://{host}/")
    return public if is_valid_part("remote", public) else "address"


def _make_authority(url: str) -> str:
    match = _AUTHORITY.match(url)
    return match[1] if match else ""


def _make_variables(host: str, service: Service, url: str, names: Mapping[str, None]) -> dict[str, dict[str, Any]]:
    """Return the variables of a URL as the documents describe them; secret ones are known from what callers need."""
    found: dict[str, dict[str, Any]] = {}
    for members in service.native.values():
        described = members.get("variables")
        for name, value in described.items() if isinstance(described, dict) else ():
            if name in names and name not in found:
                found[name] = _make_variable(host, url, name, value if isinstance(value, dict) else {})
    pairs = [pair.partition("=") for pair in url.partition("?")[2].split("&")]
    for scheme in service.auth.schemes:
        wanted = [scheme.name] if scheme.location == "path" else []
        if scheme.location == "query":
            wanted = [name for key, _, value in pairs if key == scheme.name for name in VARIABLE.findall(value)]
        for name in wanted:
            if name in names and name is not None and name not in found:
                found[name] = _describe(scheme.note) | {"isRequired": True, "isSecret": True}
    return found


def _make_variable(host: str, url: str, name: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a variable in the API's form. In the host, values that would lead to private networks are left out."""

    def may_stand(text: str) -> bool:
        filled = url.replace(f"{{{name}}}", text)
        is_in_host = f"{{{name}}}" in _make_authority(url)
        # guard: mcp-host-variable
        return not is_in_host or (is_usable_url(filled) and is_public(filled, f"https://{host}/"))

    variable: dict[str, Any] = {}
    for key in ("description", "value", "default", "placeholder"):
        text = described.get(key)
        if isinstance(text, str) and text and (key == "description" or may_stand(text)):
            variable[key] = plain(text, FULL_CHARS)
    for key in ("isRequired", "isSecret"):
        if isinstance(described.get(key), bool):
            variable[key] = described[key]
    choices = described.get("choices")
    texts = [text for text in choices if isinstance(text, str)] if isinstance(choices, list) else []
    if texts and all(map(may_stand, texts)):
        variable["choices"] = texts
    if described.get("format") in ("string", "number", "boolean", "filepath"):
        variable["format"] = described["format"]
    return variable


def _make_headers(service: Service, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Yield the headers that clients send: the remote's headers, then the service's credential. OAuth is left out:
    clients learn it from the server's own metadata."""
    known: set[str] = set()
    for item in protocol.headers:
        if _HEADER_NAME.fullmatch(item.name) and item.name.lower() not in known:
            known.add(item.name.lower())
            yield {"name": item.name, **input_of(item)}
    needed = {index for combination in service.auth.combinations for index in combination}
    for index, scheme in enumerate(service.auth.schemes):
        if scheme.type not in ("api_key", "bearer", "http_basic") or scheme.location not in (None, "header"):
            continue
        name = scheme.name or ("" if scheme.type == "api_key" else "Authorization")
        if not _HEADER_NAME.fullmatch(name) or name.lower() in known:
            continue
        known.add(name.lower())
        is_required = bool(service.auth.required) and (len(service.auth.schemes) == 1 or index in needed)
        prefix = scheme.prefix or {"bearer": "Bearer", "http_basic": "Basic"}.get(scheme.type)
        header: dict[str, Any] = {"name": name, **_describe(scheme.note), "isRequired": is_required}
        if prefix is None or "{" in prefix or "}" in prefix:
            yield {**header, "isSecret": True}
        else:
            token = {"isRequired": True, "isSecret": True}
            yield {**header, "value": f"{line(prefix, MAX_TEXT)} {{token}}", "variables": {"token": token}}


def _describe(note: str | None) -> dict[str, Any]:
    return {"description": plain(note, FULL_CHARS)} if note else {}


def input_of(item: Input) -> dict[str, Any]:
    values = {
        "description": plain(item.description, FULL_CHARS) if item.description else None,
        "isRequired": item.required, "isSecret": item.secret, "value": item.value, "default": item.default,
        "choices": list(item.choices) or None,
    }  # fmt: skip
    return {key: value for key, value in values.items() if value is not None}


_SHA256: Final = re.compile(r"[a-f0-9]{64}")


def package_of(package: Package, host: str) -> dict[str, Any] | None:
    """Return a package in the API's form; None if the form cannot express it, as for a bare command. An argument
    becomes one word of the command line; the caller's part is a declared variable in it."""
    registry, identifier = (package.registry or "").lower(), package.identifier
    registry = "oci" if registry == "docker" else registry
    if not registry or not identifier:
        return None
    version = package.version if package.version and validation.is_usable_version(package.version) else None
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
        "runtimeArguments": [_make_argument(word) for word in package.runtime_arguments],
        "packageArguments": [_make_argument(word) for word in package.arguments],
        "environmentVariables": [{"name": item.name, **input_of(item)} for item in package.environment],
    }
    given = {key: value for key, value in made.items() if value}
    public = public_json(given, f"https://{host}/")
    is_whole = all(
        len(public.get(key, ())) == len(given.get(key, ())) for key in ("runtimeArguments", "packageArguments")
    )
    return public if is_whole and is_valid_part("package", public) else None


def _make_argument(word: str) -> dict[str, Any]:
    names = [name for name in dict.fromkeys(VARIABLE.findall(word)) if VARIABLE_NAME.fullmatch(name)]
    argument: dict[str, Any] = {"type": "positional", "value": word}
    return {**argument, "variables": {name: {"isRequired": True} for name in names}} if names else argument


MCP: Final = "mcp"

MAX_SERVERS: Final = 20  # records of one host: a list of hundreds belongs to no single site
MAX_BYTES: Final = 32_768  # size of one record as JSON; a page of the API has a hundred

_SLUG_CHARS: Final = 64
_RECORDS: Final = frozenset({"mcp-server-json", "mcp-server-card"})
"""Formats whose `status` has the values of the registry's API (server.json up to July 2025)."""
_REGISTRY_NAME: Final = re.compile(r"[a-zA-Z0-9.-]+/([a-zA-Z0-9._-]+)")
_NAMESPACE: Final = re.compile(r"[a-z0-9][a-z0-9.-]*[a-z0-9]")
_VERSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+~-]*")
_STEPS: Final[tuple[str, ...]] = ("icons", "repository", "packages")

LEFT_OUT: Final[Mapping[str, str]] = {
    "no_address": "The documents name neither an address nor a package of the server that a client could use.",
    "transport": "The server is only reached by a transport that the API cannot name (it has streamable-http and sse).",
    "address": "The address is no https URL that clients of the API accept.",
    "variable": "The address has a variable where the API has no way to say what to fill in.",
    "package": "Packages lack what the API requires: a type of registry, an identifier, a checksum or an address.",
    "host": "The name of the host cannot be a namespace of the API.",
    "too_many": f"The host has more than {MAX_SERVERS} servers; the first ones have records.",
    "too_large": f"The record is larger than {MAX_BYTES} bytes.",
    "withdrawn": "The document of the server says that it was deleted.",
    "invalid": "The record breaks a rule of the API that none of the other reasons names.",
}
"""Why a service that is an MCP server has no record; also why a part of a record is left out."""


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """One record of the MCP registry. `server` is a valid server.json, except that `version` may be None: unknown.
    `notes` is what this registry adds: `description` in full where it was cut, `adjusted` (repairs), `left_out` (parts,
    by reason), `off_site` (hosts of remotes on other sites)."""

    name: str
    version: str | None
    server: dict[str, Any]
    notes: dict[str, Any]
    is_deprecated: bool = False


@dataclass(frozen=True, slots=True)
class ServerRecords:
    """The records of a host. `left_out`: a key of LEFT_OUT when it is an MCP server without any."""

    records: tuple[ServerRecord, ...] = ()
    left_out: str | None = None


NO_SERVERS: Final = ServerRecords()  # those of a service that is no MCP server


@dataclass(slots=True)
class _Server:
    """A server of the host while its record is made. `whole`: the capability that stands for it."""

    remotes: list[dict[str, Any]] = field(default_factory=list)
    places: set[str] = field(default_factory=set)
    whole: Capability | None = None
    is_described: bool = False
    adjusted: dict[str, None] = field(default_factory=dict)
    left_out: dict[str, None] = field(default_factory=dict)
    off_site: dict[str, None] = field(default_factory=dict)


def server_records(host: str, service: Service) -> ServerRecords:
    """Return the records of a merged service. A service that is no MCP server has no records and no reasons."""
    protocols = [protocol for protocol in service.protocols if protocol.id == MCP]
    if not any(protocol.endpoint for protocol in protocols) and not service.packages:
        return ServerRecords((), "no_address" if protocols else None)
    namespace = ".".join(reversed(host.split(".")))
    if not _NAMESPACE.fullmatch(namespace) or len(namespace) + 1 + len("mcp-99") > validation.MAX_NAME:
        return ServerRecords((), "host")
    stated = [members.get("status") for slug, members in service.native.items() if slug in _RECORDS]
    if "deleted" in stated:
        return ServerRecords((), "withdrawn")
    servers, reasons = _make_servers(host, service, protocols)
    packages = []
    for package in service.packages:
        made = package_of(package, host)
        if made is None:
            reasons["package"] = None
        elif made not in packages:
            packages.append(made)
    if not servers and packages:
        servers = [_Server(whole=next((one for one in service.capabilities if one.whole_server), None))]
    records: list[ServerRecord] = []
    slugs: set[str] = set()
    if len(servers) > MAX_SERVERS:
        reasons["too_many"] = None
    for index, server in enumerate(servers[:MAX_SERVERS]):
        if index == 0:
            server.left_out |= reasons
        is_only = len(servers) == 1
        record = _make_record(host, service, server, packages if index == 0 else [], slugs, is_only)
        if isinstance(record, str):
            reasons[record] = None
        else:
            records.append(replace(record, is_deprecated="deprecated" in stated))
    return ServerRecords(tuple(records), None if records else next(iter(reasons), "no_address"))


def _make_servers(host: str, service: Service, protocols: list[Protocol]) -> tuple[list[_Server], dict[str, None]]:
    """Return the servers that can be reached, and why others cannot. An address at which capabilities are called is a
    separate server. Any other address is a further remote of the server before it: a server card lists streamable HTTP
    and SSE, and only the first is used for its tools."""
    described = _find_called_addresses(service)
    servers: list[_Server] = []
    reasons: dict[str, None] = {}
    for protocol in protocols:
        if protocol.endpoint is None:
            continue
        place = protocol.endpoint.rstrip("/")
        adjusted: dict[str, None] = {}
        remote = remote_of(host, service, protocol, adjusted)
        if isinstance(remote, str):
            reasons[remote] = None
            continue
        server = next((one for one in servers if place in one.places), servers[-1] if servers else None)
        is_own = place in described
        if server is None or (is_own and server.is_described and place not in server.places):
            server = _Server()
            servers.append(server)
        if is_own and not server.is_described:
            server.whole, server.is_described = described[place], True
        server.places.add(place)
        server.adjusted |= adjusted
        if remote not in server.remotes:
            server.remotes.append(remote)
        target = host_of(protocol.endpoint)
        if target is not None and not same_site(target, host):
            server.off_site[target] = None
    return servers, reasons


def _find_called_addresses(service: Service) -> dict[str, Capability | None]:
    """Return the addresses that capabilities are called at, with the capability that stands for the whole server."""
    found: dict[str, Capability | None] = {}
    for capability in service.capabilities:
        for call in capability.invocations:
            if call.endpoint is not None and call.kind in ("mcp_tool", "rpc"):
                place = call.endpoint.rstrip("/")
                if capability.whole_server and found.get(place) is None:
                    found[place] = capability
                found.setdefault(place, None)
    return found


def _make_record(
    host: str, service: Service, server: _Server, packages: list[dict[str, Any]], slugs: set[str], is_only: bool
) -> ServerRecord | str:
    """Return a record, or the reason why it is left out. `slugs`: names in use on this host; the new name is added. If
    the host has several servers, the first one gets what the documents say about the whole service."""
    namespace, is_first = ".".join(reversed(host.split("."))), not slugs
    label = server.whole.id.removeprefix(SERVER_ID) if server.whole else None
    own = server.whole.name if server.whole else None
    title = service.name if is_only else own or (service.name if is_first else None)
    title = line(title or own or "", 4 * MAX_TEXT)
    slug = _unique(_slug(title if is_only else label or title, server, validation.MAX_NAME - len(namespace) - 1), slugs)
    text = service.description if is_only else None
    text = text or (server.whole.description if server.whole else None) or (service.description if is_first else None)
    full = line(text or "", FULL_CHARS)
    if not full:
        full = f"MCP server of {host}" if len(host) <= MAX_TEXT - 20 else "MCP server"
        server.adjusted["description_made"] = None
    description = _cut(full)
    version = line(service.version or "", 2 * MAX_TEXT) if is_first else ""
    is_stated = bool(version) and _VERSION.fullmatch(version) is not None and validation.is_usable_version(version)
    made: dict[str, Any] = {"$schema": validation.SCHEMA_URL, "name": f"{namespace}/{slug}", "description": description}
    if title and not _REGISTRY_NAME.fullmatch(title):
        made["title"] = _cut(title)
    if service.homepage and _LINK.match(service.homepage) and is_usable_url(service.homepage):
        made["websiteUrl"] = service.homepage
    if is_first:
        hoster = validation.source_of(service.repository) if service.repository else None
        if hoster is not None:
            made["repository"] = {"url": service.repository, "source": hoster}
        icon = service.icon_url
        if icon and len(icon) <= validation.MAX_ICON and is_usable_url(icon) and is_valid_part("icon", {"src": icon}):
            made["icons"] = [{"src": icon}]
        if packages:
            made["packages"] = packages
    if server.remotes:
        made["remotes"] = server.remotes
    made = public_json(made, f"https://{host}/")
    for step in _STEPS:
        if len(orjson.dumps(made)) > MAX_BYTES and (step != "packages" or server.remotes):
            made.pop(step, None)
            server.left_out["too_large"] = None
    if len(orjson.dumps(made)) > MAX_BYTES:  # guard: mcp-record-size
        return "too_large"
    if validation.issues({**made, "version": version if is_stated else "0"}):  # no known record comes here
        return "invalid"
    notes: dict[str, Any] = {
        "description": full if full != description else None,
        "adjusted": [*server.adjusted, *([] if full == description else ["description_cut"])],
        "left_out": list(server.left_out),
        "off_site": list(server.off_site),
    }
    return ServerRecord(
        made["name"], version if is_stated else None, made, {key: value for key, value in notes.items() if value}
    )


def _slug(text: str, server: _Server, room: int) -> str:
    """Return the second part of the name: of a registry's name its own second part, else made of the text."""
    if (match := _REGISTRY_NAME.fullmatch(text)) is not None:
        text = match[1]
    slug = _ascii(text)
    if len(slug) < 2 and server.remotes:
        slug = _ascii(re.sub(r"^https://[^/]*|[?#].*|\{[^}]*\}", "", server.remotes[0]["url"]).strip("/"))
    slug = slug[: min(room - len("-99"), _SLUG_CHARS)].rstrip("-._")
    return slug if len(slug) > 1 else MCP


def _ascii(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._]+", "-", letters).strip("-._")


def _unique(slug: str, taken: set[str]) -> str:
    number, unique = 1, slug
    while unique in taken:
        number += 1
        unique = f"{slug}-{number}"
    taken.add(unique)
    return unique


def _cut(text: str) -> str:
    """Return a text of at most MAX_TEXT characters, cut at a word."""
    if len(text) <= MAX_TEXT:
        return text
    head = text[: MAX_TEXT - 1]
    words, _, rest = head.rpartition(" ")
    is_long_word = len(rest) > MAX_TEXT // 2 or not words
    return (head if is_long_word else words).rstrip(" ,;:-") + ELLIPSIS
