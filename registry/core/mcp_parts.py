"""What all documents about MCP servers share: tools, remotes, and the capability that stands for a whole server.

Model Context Protocol 2025-06-18 (Tool), server card v1 (SEP-2127), server.json of the MCP registry.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import Endpoint, endpoint
from registry.core.findings import Reason
from registry.core.manifest import (
    ID_CHARS,
    Notes,
    Object,
    at,
    clean_json,
    first_text,
    flag_of,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    text_of,
    texts_of,
    word_of,
)
from registry.core.params import listed
from registry.core.services import Auth, AuthScheme, Capability, Confirmation, Invocation, Origin, Pointer, Protocol

MAX_REMOTES: Final = 50
_ANGLED = re.compile(r"<([A-Za-z][\w-]*)>")
TRANSPORTS: Final = frozenset({"streamable-http", "sse", "streamable", "streamable_http", "http", "https"})


@dataclass(frozen=True, slots=True)
class Remotes:
    """`address`: the first one that can be called, whatever follows it."""

    protocols: tuple[Protocol, ...]
    auth: Auth
    address: Endpoint | None


def remotes(holder: Object, document: Document, notes: Notes) -> Remotes:
    """`remotes[]{type, url, headers[]}`; `transport_type` is the spelling of 2025-05."""
    found: list[Protocol] = []
    addresses: list[Endpoint] = []
    secrets: list[tuple[AuthScheme, bool]] = []
    for pointer, item in members(list_of(holder, "remotes")[:MAX_REMOTES], "/remotes", Reason.MCP_REMOTE, notes):
        kind = word_of(item, "type") or word_of(item, "transport_type")
        if kind not in TRANSPORTS or not text_of(item, "url"):
            notes.add(Reason.MCP_REMOTE, pointer, kind or "")
        address = endpoint(_with_variables(item.get("url")), document.url, document, at(pointer, "url"), notes)
        if address is None:
            continue
        addresses.append(address)
        versions = texts_of(item, "supportedProtocolVersions") or texts_of(item, "protocolVersions")
        found.append(Protocol("mcp", max(versions, default=None), address.url, kind))
        secrets += _secrets(item)
    schemes = tuple(dict.fromkeys(scheme for scheme, _ in secrets))
    required = any(needed for _, needed in secrets) if schemes else None
    return Remotes(tuple(found), Auth(schemes, required), addresses[0] if addresses else None)


def listed_tools(holder: Object) -> tuple[list[Json], str]:
    """The tools of a document in either of their places, and the pointer to them."""
    if items := list_of(holder, "tools"):
        return items, "/tools"
    return list_of(map_of(map_of(holder, "capabilities"), "tools"), "available"), "/capabilities/tools/available"


def tools(
    items: list[Json], pointer: str, address: Endpoint | None, document: Document, form: str, notes: Notes
) -> tuple[Capability, ...]:
    """`tools[]`: objects, or bare names. Tools without a name and repeated names are left out, with findings."""
    named: list[Json] = [{"name": item} if isinstance(item, str) else item for item in items]
    return tuple(_tools(named, pointer, address, document, form, notes))


def whole_server(
    name: str,
    title: str | None,
    description: str | None,
    address: Endpoint | None,
    origin: Origin,
    *,
    local: bool = False,
) -> Capability:
    """One capability for a server whose tools nobody lists, so that it can be found at all.

    `local`: the server is a package to install, so nothing can be called over the network.
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
    """The final cards beside the addresses that a document of another format names; never the document itself."""
    named = (card_pointer(Endpoint(p.endpoint, "{" in p.endpoint), "/remotes") for p in protocols if p.endpoint)
    return tuple(dict.fromkeys(one for found in named for one in found if one.url != document.url))


def card_pointer(address: Endpoint | None, pointer: str) -> tuple[Pointer, ...]:
    """A server's card lies beside its address (SEP-2127); templates are never fetched."""
    if address is None or address.templated or not address.url.startswith("https:"):
        return ()
    place = address.url.partition("?")[0].rstrip("/")
    return (Pointer(f"{place}/server-card", "mcp", pointer, "mcp-server-card"),)


def _with_variables(url: Json) -> Json:
    """`?key=<YOUR_TOKEN>` asks the caller for a value, as `{token}` does: no generator forgot it."""
    return _ANGLED.sub(lambda match: f"{{{match[1].lower()}}}", url) if isinstance(url, str) else url


def _tools(
    items: list[Json], pointer: str, address: Endpoint | None, document: Document, form: str, notes: Notes
) -> Iterator[Capability]:
    seen: set[str] = set()
    for place, item in members(items, pointer, Reason.MCP_TOOL, notes):
        name = text_of(item, "name", ID_CHARS)
        if name is None:
            notes.add(Reason.MCP_TOOL, place)
            continue
        repeated = is_repeated(name, seen, at(place, "name"), notes)
        if not repeated and not has_template(item, ("name", "description"), place, notes):
            yield _tool(item, name, address, Origin(document.url, place, form))


def _tool(item: Object, name: str, address: Endpoint | None, origin: Origin) -> Capability:
    hints = map_of(item, "annotations")
    read_only, destructive = flag_of(hints, "readOnlyHint"), flag_of(hints, "destructiveHint")
    changes = True if destructive and not read_only else None if read_only is None else not read_only
    return Capability(
        name,
        name,
        first_text(item, "description", "title"),
        params=_schema(item, "inputSchema", "input_schema") or _parameters(item.get("parameters")),
        result=_schema(item, "outputSchema", "output_schema"),
        side_effects=changes,
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
    """Data for the caller: never compiled, resolved or matched."""
    found = next((value for key in keys if isinstance(value := item.get(key), dict)), None)
    return None if found is None else clean_json(found)


def _parameters(given: Json) -> Object | None:
    """`parameters`, which no version of the protocol has: a schema, a list, or a map by name."""
    if isinstance(given, list):
        return listed(given) if given else None
    if not isinstance(given, dict) or not given:
        return None
    if isinstance(given.get("properties"), dict) or given.get("type") == "object":
        schema: Object = clean_json(given)
        return schema
    named: list[Json] = [{"name": name, **item} for name, item in given.items() if isinstance(item, dict)]
    return listed(named) if named else None


def _secrets(remote: Object) -> list[tuple[AuthScheme, bool]]:
    """Headers that carry a secret are credentials; others choose a region or the like."""
    found = []
    for header in list_of(remote, "headers")[:MAX_REMOTES]:
        name = word_of(header, "name")
        if isinstance(header, dict) and name and _is_secret(header):
            needed = _flag(header, "isRequired", "is_required") is True
            found.append((_header_scheme(header, name), needed))
    return found


def _header_scheme(header: Object, name: str) -> AuthScheme:
    note = text_of(header, "description")
    if name.lower() == "authorization" and (text_of(header, "value") or "").lower().startswith("bearer"):
        return AuthScheme("bearer", "header", name, "Bearer", note=note)
    return AuthScheme("api_key", "header", name, note=note)


def _is_secret(header: Object) -> bool:
    variables = map_of(header, "variables").values()
    return any(_flag(one, "isSecret", "is_secret") is True for one in (header, *variables))


def _flag(holder: Json, *keys: str) -> bool | None:
    return next((flag for key in keys if (flag := flag_of(holder, key)) is not None), None)
