"""Parts that all documents about MCP servers share: tools, remotes, and the capability for a whole server.

Model Context Protocol 2025-06-18 (Tool), server card v1 (SEP-2127), server.json of the MCP registry.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from registry.core.format_support import mcp_rules
from registry.core.format_support.endpoints import Endpoint, endpoint
from registry.core.format_support.manifest import (
    ID_CHARS,
    Notes,
    Object,
    clean_json,
    first_text,
    flag_of,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    short_text_of,
    text_of,
    texts_of,
)
from registry.core.format_support.params import list_schema
from registry.core.model.documents import Document, Json
from registry.core.model.services import (
    Auth,
    AuthScheme,
    Capability,
    Confirmation,
    Invocation,
    Origin,
    Pointer,
    Protocol,
)
from registry.core.reading.json_pointer import at

MAX_REMOTES: Final = 50
_ANGLED = re.compile(r"<([A-Za-z][\w-]*)>")
TRANSPORTS: Final = frozenset({"streamable-http", "sse", "streamable", "streamable_http", "http", "https"})


@dataclass(frozen=True, slots=True)
class Remotes:
    """The endpoints of a server. `address` is the first one that can be called."""

    protocols: tuple[Protocol, ...]
    auth: Auth
    address: Endpoint | None


def remotes(holder: Object, document: Document, notes: Notes) -> Remotes:
    """Return what `remotes[]{type, url, headers[]}` declares; `transport_type` is the spelling of 2025-05."""
    protocols: list[Protocol] = []
    addresses: list[Endpoint] = []
    secrets: list[tuple[AuthScheme, bool]] = []
    for pointer, item in members(list_of(holder, "remotes")[:MAX_REMOTES], "/remotes", mcp_rules.REMOTE, notes):
        transport = short_text_of(item, "type") or short_text_of(item, "transport_type")
        if transport not in TRANSPORTS or not text_of(item, "url"):
            notes.add(mcp_rules.REMOTE, pointer, transport or "")
        address = endpoint(_with_variables(item.get("url")), document.url, document, at(pointer, "url"), notes)
        if address is None:
            continue
        addresses.append(address)
        versions = texts_of(item, "supportedProtocolVersions") or texts_of(item, "protocolVersions")
        protocols.append(Protocol("mcp", max(versions, default=None), address.url, transport))
        secrets += _secrets(item)
    schemes = tuple(dict.fromkeys(scheme for scheme, _ in secrets))
    required = any(is_required for _, is_required in secrets) if schemes else None
    return Remotes(tuple(protocols), Auth(schemes, required), addresses[0] if addresses else None)


def listed_tools(holder: Object) -> tuple[list[Json], str]:
    """Return the tools of a document, from either member that may hold them, and the pointer to them."""
    if items := list_of(holder, "tools"):
        return items, "/tools"
    return list_of(map_of(map_of(holder, "capabilities"), "tools"), "available"), "/capabilities/tools/available"


def tools(
    items: list[Json], pointer: str, address: Endpoint | None, document: Document, format_slug: str, notes: Notes
) -> tuple[Capability, ...]:
    """Return the capabilities of `tools[]`, which holds objects or bare names.

    Tools without a name, with a repeated name or with unrendered texts are left out, with findings.
    """
    tool_objects: list[Json] = [{"name": item} if isinstance(item, str) else item for item in items]
    return tuple(_tools(tool_objects, pointer, address, document, format_slug, notes))


def whole_server(
    name: str,
    title: str | None,
    description: str | None,
    address: Endpoint | None,
    origin: Origin,
    *,
    local: bool = False,
) -> Capability:
    """Return one capability for a server whose tools no document lists, so that search can find it.

    `local`: the server is a package to install, so it cannot be called over the network.
    """
    call = Invocation("instructions", origin=origin)
    if not local:
        call = Invocation(
            "rpc",
            address.url if address else None,
            "POST",
            templated=address.templated if address else False,
            origin=origin,
        )
    return Capability(f"mcp:{name}"[:ID_CHARS], title or name.rpartition("/")[2], description, invocations=(call,))


def remote_cards(protocols: Iterable[Protocol], document: Document) -> tuple[Pointer, ...]:
    """Return pointers to the server cards at the addresses of `protocols`, except to the document itself."""
    card_pointers = (
        card_pointer(Endpoint(protocol.endpoint, "{" in protocol.endpoint), "/remotes")
        for protocol in protocols
        if protocol.endpoint
    )
    return tuple(
        dict.fromkeys(pointer for pointers in card_pointers for pointer in pointers if pointer.url != document.url)
    )


def card_pointer(address: Endpoint | None, pointer: str) -> tuple[Pointer, ...]:
    """Return the pointer to a server's card, `<address>/server-card` (SEP-2127); templates are never fetched."""
    if address is None or address.templated or not address.url.startswith("https:"):
        return ()
    base = address.url.partition("?")[0].rstrip("/")
    return (Pointer(f"{base}/server-card", "mcp", pointer, "mcp-server-card"),)


def _with_variables(url: Json) -> Json:
    """Return a URL with `<YOUR_TOKEN>` rewritten as `{your_token}`: a value that the caller fills in."""
    return _ANGLED.sub(lambda match: f"{{{match[1].lower()}}}", url) if isinstance(url, str) else url


def tools_or_server(
    tool_capabilities: tuple[Capability, ...],
    name: str | None,
    title: str | None,
    description: str | None,
    address: Endpoint | None,
    origin: Origin,
) -> tuple[Capability, ...]:
    """Return the tools; without any, the server as one capability, if it has a name and an address."""
    if tool_capabilities or not name or not address:
        return tool_capabilities
    return (whole_server(name, title, description, address, origin),)


def _tools(
    items: list[Json], pointer: str, address: Endpoint | None, document: Document, format_slug: str, notes: Notes
) -> Iterator[Capability]:
    seen: set[str] = set()
    for item_pointer, item in members(items, pointer, mcp_rules.TOOL, notes):
        name = text_of(item, "name", ID_CHARS)
        if name is None:
            notes.add(mcp_rules.TOOL, item_pointer)
            continue
        repeated = is_repeated(name, seen, at(item_pointer, "name"), notes)
        if not repeated and not has_template(item, ("name", "description"), item_pointer, notes):
            yield _tool(item, name, address, Origin(document.url, item_pointer, format_slug))


def _tool(item: Object, name: str, address: Endpoint | None, origin: Origin) -> Capability:
    hints = map_of(item, "annotations")
    read_only, destructive = flag_of(hints, "readOnlyHint"), flag_of(hints, "destructiveHint")
    side_effects = True if destructive and not read_only else None if read_only is None else not read_only
    return Capability(
        name,
        name,
        first_text(item, "description", "title"),
        params=_schema(item, "inputSchema", "input_schema") or _parameters(item.get("parameters")),
        result=_schema(item, "outputSchema", "output_schema"),
        side_effects=side_effects,
        confirmation=Confirmation(True) if destructive and not read_only else None,
        idempotent=flag_of(hints, "idempotentHint"),
        tags=texts_of(item, "tags"),
        invocations=(
            Invocation(
                "mcp_tool",
                address.url if address else None,
                "POST",
                name,
                templated=address.templated if address else False,
                origin=origin,
            ),
        ),
    )


def _schema(item: Object, *keys: str) -> Object | None:
    """Return the first schema found, as data for the caller: it is never compiled, resolved or matched."""
    schema = next((value for key in keys if isinstance(value := item.get(key), dict)), None)
    return None if schema is None else clean_json(schema)


def _parameters(parameters: Json) -> Object | None:
    """Return a schema from `parameters` (in no version of the protocol): a schema, a list, or a map by name."""
    if isinstance(parameters, list):
        return list_schema(parameters) if parameters else None
    if not isinstance(parameters, dict) or not parameters:
        return None
    if isinstance(parameters.get("properties"), dict) or parameters.get("type") == "object":
        schema: Object = clean_json(parameters)
        return schema
    items: list[Json] = [{"name": name, **item} for name, item in parameters.items() if isinstance(item, dict)]
    return list_schema(items) if items else None


def _secrets(remote: Object) -> list[tuple[AuthScheme, bool]]:
    """Return headers that carry a secret, and whether each is required. Other headers are no credentials."""
    secrets = []
    for header in list_of(remote, "headers")[:MAX_REMOTES]:
        name = short_text_of(header, "name")
        if isinstance(header, dict) and name and _is_secret(header):
            is_required = _flag(header, "isRequired", "is_required") is True
            secrets.append((_header_scheme(header, name), is_required))
    return secrets


def _header_scheme(header: Object, name: str) -> AuthScheme:
    note = text_of(header, "description")
    if name.lower() == "authorization" and (text_of(header, "value") or "").lower().startswith("bearer"):
        return AuthScheme("bearer", "header", name, "Bearer", note=note)
    return AuthScheme("api_key", "header", name, note=note)


def _is_secret(header: Object) -> bool:
    variables = map_of(header, "variables").values()
    return any(_flag(holder, "isSecret", "is_secret") is True for holder in (header, *variables))


def _flag(holder: Json, *keys: str) -> bool | None:
    return next((flag for key in keys if (flag := flag_of(holder, key)) is not None), None)
