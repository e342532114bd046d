"""Read the remotes and the packages of MCP servers: addresses, headers, variables, credentials; how to start.

Sources: server card v1 (SEP-2127), `Input` and `KeyValueInput`; server.json, `Remote`, `Package` and `Argument`, in its
dated schemas and in the shape of May 2025; lists of servers; `mcpServers` of client configurations (`command`, `args`,
`env`, `headers`), which publishers also serve as descriptions of their own servers. Nothing here is ever run.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from registry.core.format_support import common_rules, manifest, mcp_parts
from registry.core.format_support.endpoints import Endpoint, endpoint, lacks_scheme, link, with_defaults
from registry.core.format_support.manifest import Notes, Object, first_text, list_of, map_of, short_text_of, texts_of
from registry.core.format_support.security import loose_auth
from registry.core.model.documents import Document, Json
from registry.core.model.services import Auth, AuthScheme, Input, Package, Protocol
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

_CREDENTIAL: Final = re.compile(
    r"authorization|cookie|(?:^|[_-])(?:api[_-]?)?(?:key|token|secret|password|passwd|pwd|credentials?)(?:$|[_-])|apikey",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(r"\bbearer\b", re.IGNORECASE)
_SCHEME: Final = re.compile(r"(Bearer|Basic|Token|ApiKey)\s+\S", re.IGNORECASE)
_OPEN_VALUE: Final = re.compile(r"[<{$]|^\s*$|\b(?:YOUR|your)\b|^(?:xxx|\.\.\.)|(?:_|-)here$", re.IGNORECASE)
"""A value that the caller is meant to replace: `<key>`, `${KEY}`, `YOUR_KEY`."""
MAX_REMOTES: Final = 50
_VALUE_CHARS: Final = 2_000
TRANSPORTS: Final = frozenset({"streamable-http", "sse", "streamable", "streamable_http", "http", "https"})
ADDRESS_KEYS: Final = (
    "url", "endpoint", "serverUrl", "server_url", "httpUrl", "uri", "mcp_endpoint", "mcpEndpoint", "mcp_url", "mcpUrl",
    "href", "baseUrl", "base_url", "server",
)  # fmt: skip
_VERSION_KEYS: Final = ("mcp_version", "mcp-version", "mcpVersion")  # of the protocol, or of a scheme of one's own
_VERSION: Final = re.compile(r"\d{4}-\d{2}(?:-\d{2})?\S*")  # those of the protocol are dates
TOP_KEYS: Final = (
    *("mcp_endpoint", "mcpEndpoint", "mcp_server", "mcpServer", "mcp_url", "mcpUrl"),
    *("endpoint", "server_url", "serverUrl", "url", "mcp"),
)
"""Members of a document that may hold the server's address, the most specific first: a bare `url` is often the
site's."""
_HOST_AND_PATH = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?/\S*$", re.IGNORECASE)  # without a scheme
_OF_SERVER: Final = ("server", "runtime", "remote", "hosted", "deployment")  # addresses only with a transport
_TRANSPORT_NAME = re.compile(r"(?:mcp|sse|stream|http|json-?rpc|remote|websocket|ws)", re.IGNORECASE)
_EXPRESSED: Final = frozenset({
    "type", "transport_type", "url", "headers", "variables", "supportedProtocolVersions", "protocolVersions",
})  # fmt: skip
_ANGLED = re.compile(r"<([A-Za-z][\w-]*)>")


Secret = tuple[AuthScheme, bool | None]
"""A secret that a server wants, and whether it does so in any case."""


@dataclass(frozen=True, slots=True)
class Remote:
    """One address of a server; `pointer` leads to it. `protocol` has no endpoint where clients may not call it."""

    pointer: str
    protocol: Protocol
    address: Endpoint | None
    auth: Auth
    variables: tuple[Input, ...] = ()


@dataclass(frozen=True, slots=True)
class Remotes:
    """The endpoints of a server. `address` is the first callable one."""

    protocols: tuple[Protocol, ...]
    auth: Auth
    address: Endpoint | None
    variables: Mapping[str, Any]  # of templated addresses, as the document describes them, without secrets


def remotes(holder: Object, document: Document, notes: Notes) -> Remotes:
    """Return what `remotes[]{type, url, headers[], variables{}}` declares; `transport_type` is from May 2025. Also
    read, with findings, are a map by transport, one object, and bare URLs."""
    found: list[Remote] = []
    variables: dict[str, Any] = {}
    for place, name, entry in islice(_list_remotes(holder, notes), MAX_REMOTES):
        pointer, key, item = place, "url", entry if isinstance(entry, dict) else {}
        if isinstance(entry, str):
            pointer, _, key = place.rpartition("/")
            item = {key: entry}
        elif not manifest.text_of(item, "url"):
            key = address_key(item) or "url"
        if name is not None and _TRANSPORT_NAME.search(name):
            item = {"type": name, **item}
        transport = short_text_of(item, "type") or short_text_of(item, "transport_type")
        if transport not in TRANSPORTS or not manifest.text_of(item, "url" if isinstance(entry, dict) else key):
            notes.add(mcp_parts.REMOTE, place, transport or "")
        remote = remote_of(item, key, pointer, document, notes)
        if remote.address is not None:
            found.append(remote)
            notes.mark_read(place)
            public = {variable.name for variable in remote.variables}
            variables |= {k: v for k, v in manifest.other_members(map_of(item, "variables"), ()).items() if k in public}
    protocols, auth, address = unite_remotes(found)
    return Remotes(protocols, auth, address, variables)


def are_remotes(value: Json) -> bool:
    """Return whether a member `remotes` may hold those of a server: a list, or an object with an address in it."""
    if not isinstance(value, dict):
        return isinstance(value, list)
    parts = [item for item in (value, *value.values()) if isinstance(item, dict)]
    return any(address_key(part) is not None for part in parts) or any(map(_looks_like_url, value.values()))


def _list_remotes(holder: Object, notes: Notes) -> Iterator[tuple[str, str | None, Json]]:
    return manifest.parts_of(holder, "remotes", "/remotes", notes, ("url", "type", "transport_type"))


def remote_of(item: Object, key: str, pointer: str, document: Document, notes: Notes) -> Remote:
    """Return the remote that an object describes, whose address stands at `key`. Variables with a default are replaced
    before the address is judged, because they may be its host."""
    url, described = item.get(key), map_of(item, "variables")
    if isinstance(url, str):  # a value that the caller fills in, `<YOUR_TOKEN>`, is written `{your_token}`
        url = _ANGLED.sub(lambda match: f"{{{match[1].lower()}}}", with_defaults(url, _known_values(described)))
    if isinstance(url, str) and lacks_scheme(url.strip(), document.url):
        notes.add(mcp_parts.REMOTE, at(pointer, key), url)
        url = f"https://{url.strip()}"
    if isinstance(url, str) and url.strip().startswith("{"):  # resolved as a path, it would lead to the serving host
        notes.add(common_rules.ENDPOINT_TEMPLATED, at(pointer, key), url)
        url = None
    address = endpoint(url, document.url, document, at(pointer, key), notes)
    plain, secrets = headers_of(item.get("headers"))
    variables: tuple[Input, ...] = ()
    if address is not None and described:
        variables, in_url = variables_of(address.url, described)
        secrets += in_url
    protocol = Protocol("mcp", _read_version(item), address.url if address else None, transport_of(item), headers=plain)
    declared = loose_auth(item.get("authentication", item.get("auth")), document.url)
    return Remote(at(pointer, key), protocol, address, _with_secrets(declared, secrets), variables)


def _known_values(variables: Object) -> Object:
    """Return the variables that need no caller: by name an object with the `default`, for `with_defaults`."""
    known: Object = {}
    for name, item in variables.items():
        is_secret = manifest.first_flag(item, "isSecret", "is_secret", "secret")
        if isinstance(item, dict) and not is_secret:
            known[name] = {"default": item["value"] if "value" in item else item.get("default")}
    return known


def described_remotes(value: Object, document: Document, notes: Notes) -> list[Remote]:
    """Return the addresses that a document without `remotes` names, each once. They are in a separate member,
    `transport`, `transports` or `endpoints`. The document's version and transport belong to its first address."""
    found: list[Remote] = []
    key = next((k for k in TOP_KEYS if isinstance(value.get(k), str) and "/" in str(value[k])), None)  # else a word
    places: list[tuple[str, Object, str]] = [("", value, key)] if key is not None else []
    places += [
        place
        for name in ("transport", "transports", "endpoints", "endpoint", "mcp", "connection", *_OF_SERVER)
        for place in _read_places(value.get(name), at("", name), only_mcp=name in ("endpoints", *_OF_SERVER))
    ]
    for pointer, item, key in places[:MAX_REMOTES]:
        remote = remote_of(item, key, pointer, document, notes)
        known = {other.protocol.endpoint for other in found}
        if remote.address is None or remote.address.url not in known:
            found.append(remote)
    version = _read_version(value)
    return [replace(one, protocol=replace(one.protocol, version=one.protocol.version or version)) for one in found]


def _read_places(value: Json, pointer: str, *, only_mcp: bool) -> Iterator[tuple[str, Object, str]]:
    """Yield (pointer, object, member) of the addresses in a member: an object with one, a list of objects, or a map
    from transports to addresses or objects."""
    if isinstance(value, list):
        for index, item in enumerate(value[:MAX_REMOTES]):
            if isinstance(item, dict) and (key := address_key(item)) is not None:
                yield at(pointer, index), item, key
    elif isinstance(value, dict) and value.get("type") != "none":
        if (not only_mcp or "transport" in value) and (key := address_key(value)) is not None:
            yield pointer, value, key
            return
        for name, item in value.items():
            if not _TRANSPORT_NAME.search(name):
                continue
            kind: Object = {} if name.lower() == "mcp" else {"type": name}
            if isinstance(item, str) and _looks_like_url(item):
                yield pointer, {name: item, **kind}, name
            elif isinstance(item, dict) and (key := address_key(item)) is not None:
                yield at(pointer, name), {**kind, **item}, key


def _read_version(item: Object) -> str | None:
    """Return the latest version of the protocol that is declared."""
    if listed := texts_of(item, "supportedProtocolVersions") or texts_of(item, "protocolVersions"):
        return max(listed)
    if stated := first_text(item, "protocolVersion", "protocol_version", chars=manifest.NAME_CHARS):
        return stated
    versions = (first_text(item, key, chars=manifest.NAME_CHARS) for key in _VERSION_KEYS)
    return next((version for version in versions if version and _VERSION.fullmatch(version)), None)


def other_remote_members(holder: Object) -> list[dict[str, Any]]:
    """Return what `remotes` say beyond the fields of the model, one object for each; [] for nothing."""
    listed = islice(_list_remotes(holder, Notes()), MAX_REMOTES)
    others = [manifest.other_members(item, _EXPRESSED) for _, _, item in listed]
    return others if any(others) else []


def transport_of(item: Object) -> str | None:
    """Return the name of the transport: `type`, or `transport`, which may be a text or hold a type."""
    names = (item.get("transport"), item.get("transportType"), item.get("transport_type"), item.get("type"))
    texts = [first_text(n, "type", "name") if isinstance(n, dict) else short_text_of({"": n}, "") for n in names]
    listed = next(iter(texts_of(item, "transport") or texts_of(item, "transports")), None)
    return next((text for text in texts if text), None) or listed


def unite_remotes(found: Iterable[Remote]) -> tuple[tuple[Protocol, ...], Auth, Endpoint | None]:
    """Return the protocols of all remotes, their credentials, and the first address."""
    callable_ones = [remote for remote in found if remote.address is not None]
    protocols = tuple(dict.fromkeys(remote.protocol for remote in callable_ones))
    auths = [remote.auth for remote in callable_ones if remote.auth != Auth()]
    schemes = tuple(dict.fromkeys(scheme for auth in auths for scheme in auth.schemes))
    required = next((auth.required for auth in auths if auth.required), next((auth.required for auth in auths), None))
    if len(schemes) > 1 and any(scheme.type == "none" for scheme in schemes):  # one address is open, another is not
        schemes, required = tuple(scheme for scheme in schemes if scheme.type != "none"), None
    combinations = auths[0].combinations if len(set(auths)) == 1 else ()
    return protocols, Auth(schemes, required, combinations), callable_ones[0].address if callable_ones else None


def configured_servers(value: Object) -> list[tuple[str, str | None, Object]]:
    """Return (pointer, name, entry) for the servers that a document lists: `mcpServers`, `servers` and their spellings,
    each a map by name or a list."""
    found: list[tuple[str, str | None, Object]] = []
    for key in ("mcpServers", "mcp_servers", "servers", "mcp"):
        held = value.get(key)
        if isinstance(held, dict) and key == "mcp" and address_key(held):
            found.append((at("", key), None, held))
            continue
        named = list(held.items())[:MAX_REMOTES] if isinstance(held, dict) else ()
        listed = enumerate(held[:MAX_REMOTES]) if isinstance(held, list) else ()
        for name, item in (*named, *listed):
            if isinstance(item, str) and item.strip().startswith("https://"):
                item = {"url": item}
            if not isinstance(item, dict):
                continue
            if address_key(item) is not None or isinstance(item.get("command"), str) or "tools" in item:
                found.append((at("", key, name), name if isinstance(name, str) else None, item))
    return found[:MAX_REMOTES]


def address_key(item: Object) -> str | None:
    """Return the member of an entry that holds its address."""
    return next((key for key in ADDRESS_KEYS if isinstance(item.get(key), str) and _looks_like_url(item[key])), None)


def _looks_like_url(text: Json) -> bool:
    if not isinstance(text, str):
        return False
    is_marked = text.strip().startswith(("https://", "http://", "wss://", "ws://", "/", "{", "."))
    return is_marked or _HOST_AND_PATH.match(text.strip()) is not None


def _with_secrets(declared: Auth, secrets: list[Secret]) -> Auth:
    """Return the credentials that a remote declares, else its required secrets, which are all needed at once."""
    if not secrets or declared.schemes:
        return declared
    needed = dict(secrets[: manifest.MAX_TEXTS])
    at_once = tuple(index for index, is_required in enumerate(needed.values()) if is_required)
    required = True if at_once else None if None in needed.values() else False
    return Auth(tuple(needed), required, (at_once,) if len(at_once) > 1 else ())


MAX_PACKAGES: Final = 50
_PACKAGE_KEYS: Final = ("identifier", "registryType", "registry_type", "registry_name")
_COMMANDS: Final = ("npx", "uvx", "docker", "pipx", "bunx", "dnx", "pnpm", "deno")
_REGISTRIES = ("registryType", "registry_type", "registry_name", "registry")
_INSTALLS: Final = ("install", "installation", "install_command", "installCommand", "quickstart")


def packages_of(holder: Object, base: str) -> tuple[Package, ...]:
    """Return `packages[]`, without packages that name neither an identifier nor a command."""
    listed = islice(manifest.parts_of(holder, "packages", "/packages", Notes(), _PACKAGE_KEYS), MAX_PACKAGES)
    found = (package_of(item, base) for _, _, item in listed if isinstance(item, dict))
    return tuple(dict.fromkeys(package for package in found if package.identifier or package.command))


def package_of(item: Object, base: str) -> Package:
    transport = map_of(item, "transport")
    return Package(
        registry=first_text(item, *_REGISTRIES, chars=manifest.NAME_CHARS),
        identifier=first_text(item, "identifier", "name", "package", chars=_VALUE_CHARS),
        version=short_text_of(item, "version"),
        command=first_text(item, "runtimeHint", "runtime_hint", "command", chars=manifest.NAME_CHARS),
        runtime_arguments=_read_arguments(list_of(item, "runtimeArguments") or list_of(item, "runtime_arguments")),
        arguments=_read_arguments(
            list_of(item, "packageArguments") or list_of(item, "package_arguments") or list_of(item, "args")
        ),
        environment=inputs_of(item.get("environmentVariables", item.get("environment_variables", item.get("env")))),
        transport=short_text_of(transport, "type") or short_text_of(item, "transport"),
        url=link(transport.get("url"), base),
        registry_url=link(item.get("registryBaseUrl", item.get("registry_base_url")), base),
        sha256=first_text(item, "fileSha256", "file_sha256", chars=manifest.NAME_CHARS),
    )  # fmt: skip


def argument_details(holder: Object) -> list[dict[str, Any]]:
    """Return the raw descriptions of each package's arguments, without the values; [] without descriptions."""
    more = ("description", "choices", "variables", "isRepeated", "is_repeated")
    details = [
        {
            key: manifest.clean_json(list_of(item, key)[: manifest.MAX_TEXTS])
            for key in ("runtimeArguments", "runtime_arguments", "packageArguments", "package_arguments")
            if any(isinstance(part, dict) and any(part.get(word) for word in more) for part in list_of(item, key))
        }
        for item in list_of(holder, "packages")[:MAX_PACKAGES]
    ]
    return details if any(details) else []


def _read_arguments(items: list[Json]) -> tuple[str, ...]:
    return tuple(text for item in items[: manifest.MAX_TEXTS] for text in _read_argument(item))


def _read_argument(item: Json) -> Iterator[str]:
    """Yield an argument as words of a command line. The caller's part is `{its_name}`. An optional argument without a
    value is left out. Records of May 2025 repeat the name in the value."""
    if isinstance(item, str) and item.strip():
        yield line(item, _VALUE_CHARS)
    if not isinstance(item, dict):
        return
    name = first_text(item, "name", chars=_VALUE_CHARS)
    value = first_text(item, "value", "default", chars=_VALUE_CHARS)
    hint = first_text(item, "valueHint", "value_hint", chars=manifest.NAME_CHARS)
    required = manifest.first_flag(item, "isRequired", "is_required") is True
    if value is None and not required:
        return
    if item.get("type") == "named" and name is not None and not (value or "").startswith(name):
        yield name
        if value is not None or hint is not None:
            yield value or f"{{{_read_variable(hint or name)}}}"
        return
    yield value or f"{{{_read_variable(hint or name or 'argument')}}}"


def _read_variable(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_") or "argument"


def command_package(entry: Object) -> Package | None:
    """Return the server that a client's configuration starts: `command`, `args`, `env`."""
    command = first_text(entry, "command", chars=_VALUE_CHARS)
    if command is None:
        return None
    words = (_words(command) if " " in command else []) or [command]
    return Package(
        command=words[0],
        arguments=(*words[1:], *texts_in(entry, "args")),
        environment=inputs_of(entry.get("env")),
        transport="stdio",
    )


def read_install(value: Object) -> tuple[Package, ...]:
    """Return the packages in a loose `install` member: commands such as `npx -y name`, with a neighbouring `env`."""
    found: list[Package] = []
    for key in _INSTALLS:
        held = value.get(key)
        environment = inputs_of(map_of(value, key).get("env")) if isinstance(held, dict) else ()
        texts = [held] if isinstance(held, str) else list(held.values()) if isinstance(held, dict) else []
        for text in texts[: manifest.MAX_TEXTS]:
            words = _words(text) if isinstance(text, str) else []
            if words and words[0] in _COMMANDS:
                found.append(Package(command=words[0], arguments=tuple(words[1:]), environment=environment))
    return tuple(dict.fromkeys(found))


def _words(text: str) -> list[str]:
    """Return the words of a command line; none if it cannot be split or is no single command."""
    if len(text) > _VALUE_CHARS or re.search(r"[|;&\n`]", text):
        return []
    try:
        return [word for part in shlex.split(text) if (word := line(part, _VALUE_CHARS))]
    except ValueError:
        return []


# --- headers, variables and environment variables ---------------------------------------------------------------------


def input_of(item: Object, name: str) -> Input:
    """Return one `Input` by its name. The snake_case spellings are from May 2025."""
    return Input(
        name,
        manifest.text_of(item, "description"),
        manifest.first_flag(item, "isRequired", "is_required", "required"),
        manifest.first_flag(item, "isSecret", "is_secret", "secret"),
        first_text(item, "value", chars=_VALUE_CHARS),
        first_text(item, "default", chars=_VALUE_CHARS),
        texts_of(item, "choices") or texts_of(item, "enum"),
    )


def inputs_of(value: Json) -> tuple[Input, ...]:
    """Return the inputs of a list of `{name, ...}`, or of a map from names to values or descriptions. Values of a map
    are fixed, except placeholders and values named like a credential, which are never repeated."""
    found: list[Input] = []
    if isinstance(value, list):
        for item in value[: manifest.MAX_TEXTS]:
            if isinstance(item, dict) and (name := short_text_of(item, "name")):
                found.append(input_of(item, name))
            elif isinstance(item, str) and (name := line(item, manifest.NAME_CHARS)):
                found.append(Input(name))
    elif isinstance(value, dict):
        for key, item in list(value.items())[: manifest.MAX_TEXTS]:
            if not (name := line(key, manifest.NAME_CHARS)):
                continue
            if isinstance(item, dict):
                found.append(_without_credential(input_of(item, name)))
            else:
                fixed = line(item, _VALUE_CHARS) if isinstance(item, str) else None
                found.append(_without_credential(Input(name, value=fixed or None)))
    return tuple(dict.fromkeys(found))


def _without_credential(item: Input) -> Input:
    """Return an input of a map without its value if that may be a leftover secret or a placeholder."""
    if item.value is None:
        return item
    if scheme := _SCHEME.match(item.value):
        return replace(item, value=f"{scheme[1]} {{token}}")
    if _OPEN_VALUE.search(item.value):
        return replace(item, value=None, description=item.description or item.value)
    return replace(item, value=None) if _CREDENTIAL.search(item.name) else item


def headers_of(value: Json) -> tuple[tuple[Input, ...], list[Secret]]:
    """Return the public headers of a remote, and the headers that carry a secret."""
    plain: list[Input] = []
    secret: list[Secret] = []
    is_map = isinstance(value, dict)  # else of a schema in which `isRequired` is false unless stated
    objects = {short_text_of(item, "name"): item for item in value} if isinstance(value, list) else {}
    for item in inputs_of(value):
        variables = map_of(objects.get(item.name, {}), "variables")
        is_secret = item.secret or any(
            manifest.first_flag(variable, "isSecret", "is_secret") for variable in variables.values()
        )
        if item.value is not None and variables:
            item = replace(item, value=with_defaults(item.value, _known_values(variables)))
        if is_secret or (is_map and _CREDENTIAL.search(item.name)):
            secret.append((_header_scheme(item, variables), item.required if is_map else item.required is True))
        else:
            plain.append(item)
    return tuple(plain), secret


def _header_scheme(item: Input, variables: Mapping[str, Json]) -> AuthScheme:
    texts = [item.description, *(manifest.text_of(variable, "description") for variable in variables.values())]
    note, value = " ".join(dict.fromkeys(text for text in texts if text)) or None, item.value or ""
    words = f"{value} {item.description or ''}"
    if item.name.lower() == "authorization" and _BEARER.search(words):
        return AuthScheme("bearer", "header", item.name, "Bearer", note=note)
    prefix = value.partition("{")[0].strip() if "{" in value else None
    return AuthScheme("api_key", "header", item.name, prefix or None, note=note)


def variables_of(url: str, variables: Object) -> tuple[tuple[Input, ...], list[Secret]]:
    """Return the public variables of a templated URL, and the secret ones. A secret is in the path, or in the query
    under the name of its parameter."""
    plain: list[Input] = []
    secret: list[Secret] = []
    path, _, query = url.partition("?")
    for key, item in list(variables.items())[: manifest.MAX_TEXTS]:
        known = input_of(item if isinstance(item, dict) else {}, line(key, manifest.NAME_CHARS))
        place = f"{{{key}}}"
        if not known.secret:
            plain.append(known)
        elif place in query:
            pairs = (pair.partition("=") for pair in query.split("&"))
            name = next((name for name, _, value in pairs if place in value), key)
            secret.append((AuthScheme("api_key", "query", name, note=known.description), known.required is True))
        elif place in path:
            secret.append((AuthScheme("api_key", "path", known.name, note=known.description), known.required is True))
    return tuple(plain), secret


def texts_in(holder: Json, key: str) -> tuple[str, ...]:
    """Return the texts of a list as arguments of a command: repetitions count, numbers are written out."""
    items = list_of(holder, key)[: manifest.MAX_TEXTS]
    texts = (str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item for item in items)
    return tuple(line(text, _VALUE_CHARS) for text in texts if isinstance(text, str) and text.strip())
