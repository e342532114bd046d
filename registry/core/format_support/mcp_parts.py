"""Read the parts that all documents about MCP servers share, by Model Context Protocol 2025-06-18; their common rules.

Parts are tools, resources, prompts, and the capability for a whole server. The formats are server cards (v1, SEP-2127),
server.json of the MCP registry, and mcp.json.
"""

from collections.abc import Iterable
from typing import Any, Final

from registry.core.format_support import common_rules, manifest
from registry.core.format_support.endpoints import Endpoint, callable_url, first_link, origin_of, page
from registry.core.format_support.loose import first_parameters, first_result, parameters_of
from registry.core.format_support.manifest import Notes, Object, first_text, flag_of, map_of, short_text_of, texts_of
from registry.core.format_support.oauth import RESOURCE, RESOURCE_PATH
from registry.core.format_support.offers import methods_of, pricing_in, resolve_address, target_of
from registry.core.format_support.params import JSON_TYPES, object_schema
from registry.core.format_support.security import own_auth
from registry.core.format_support.shapes import OBJECT, TEXT
from registry.core.format_support.vocabulary import rate_limit_in
from registry.core.model import services
from registry.core.model.documents import Document, Json
from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, WARNING, Rule
from registry.core.model.services import Capability, Confirmation, Invocation, InvocationKind, Origin, Pointer, Protocol
from registry.core.names.domains import host_of
from registry.core.reading.json_pointer import at

# fmt: off

REQUIRED = Rule(
    "mcp.required", ERROR, points=8, section=CONFORMANCE,
    spec="MCP server card v1 (SEP-2127) ServerCard; server.json schema",
    says="A member that the document's format requires is missing.",
    fix="Add the missing member.",
)
NOTHING = Rule(
    "mcp.nothing", ERROR, points=12, section=CONFORMANCE, spec="SEP-1649",
    says="The document names neither an endpoint nor a tool.",
    fix="Name the server's streamable HTTP address.",
)
NO_REMOTE = Rule(
    "mcp.no_remote", WARNING, points=3, section=COMPLETENESS,
    spec="MCP server card v1 (SEP-2127) ServerCard.remotes; server.json schema remotes; SEP-1649 transport",
    says="The document names no address at which the server can be called.",
    fix="Add remotes, or a transport with its URL.",
)
REMOTE = Rule(
    "mcp.remote", WARNING, points=3, section=CONFORMANCE,
    spec="MCP server card v1 (SEP-2127) Remote; server.json schema Remote",
    says="A remote lacks its type, its URL, or the scheme of its URL.",
    fix="Give every remote a type (streamable-http or sse) and an absolute https URL.",
)
TOOL = Rule(
    "mcp.tool", WARNING, points=3, section=CONFORMANCE, spec="Model Context Protocol 2025-06-18, Tool",
    says="A tool has no name; it was left out.",
    fix="Give every tool a name.",
)


Entries = list[tuple[str, Json]]
"""Pointers and values of a document's list."""

_BASES: Final = ("api_base_url", "api_base", "apiBase", "base_url", "baseUrl", "api_url", "apiUrl")
"""Members that name the address which paths of tools continue."""

_SCHEMAS: Final = ("inputSchema", "input_schema", "schema")
_PARAMETERS: Final = ("parameters", "params", "input", "inputs", "arguments", "args")
_RESULTS: Final = ("outputSchema", "output_schema")
_CONFIRMED: Final = (
    "requiresConfirmation", "requires_confirmation", "confirmationRequired", "confirmation_required",
    "requires_approval", "requiresApproval",
)  # fmt: skip
_LISTS: Final = ("available", "list", "items", "names", "tools", "free", "paid")  # lists of tools below `tools`
_READ: Final = frozenset({
    "name", "title", "description", "inputSchema", "input_schema", "outputSchema", "output_schema", "tags", "examples",
    "deprecated", *_CONFIRMED, *_SCHEMAS, *_PARAMETERS,
})  # fmt: skip
DYNAMIC: Final = frozenset({"dynamic"})
"""The only word in a list of tools that clients ask the server for (SEP-1649)."""
TOOL_TYPES: Final = {"name": TEXT, "description": TEXT, "inputSchema": OBJECT, "annotations": OBJECT}
_HINTS: Final = frozenset({"readOnlyHint", "idempotentHint", "title"})


# --- tools ----------------------------------------------------------------------------------------------------------


def tool_entries(holder: Object) -> Entries:
    """Return the tools of a document: a list, a map by name, or lists below names such as `free` and `paid`. A list
    that holds only the word "dynamic" lists no tool (SEP-1649)."""
    capabilities = map_of(holder, "capabilities")
    places = (
        ("/tools", holder.get("tools")),
        ("/capabilities/tools", capabilities.get("tools")),
        ("/mcp/tools", map_of(holder, "mcp").get("tools")),
        ("/server/tools", map_of(holder, "server").get("tools")),
    )
    return next((entries for pointer, value in places if (entries := _read_entries(value, pointer))), [])


def _read_entries(value: Json, pointer: str) -> Entries:
    if isinstance(value, list):
        return [] if value == [*DYNAMIC] else [(at(pointer, index), item) for index, item in enumerate(value)]
    found: Entries = []
    for key, item in value.items() if isinstance(value, dict) else ():
        below = at(pointer, key)
        if isinstance(item, dict) and any(word in item for word in ("description", "inputSchema", "input_schema")):
            found.append((below, {"name": key, **item}))
        elif isinstance(item, list) and (key in _LISTS or all(isinstance(one, dict) for one in item)):
            found += _read_entries(item, below)
        elif isinstance(item, str) and " " in item.strip():
            found.append((below, {"name": key, "description": item}))
    return found


def tools(
    items: list[Json], pointer: str, address: Endpoint | None, document: Document, format_slug: str, notes: Notes
) -> tuple[Capability, ...]:
    """Return the capabilities of `tools[]`, as `listed_tools` does."""
    return listed_tools(_read_entries(items, pointer), address, document, format_slug, notes)


def listed_tools(
    entries: Entries, address: Endpoint | None, document: Document, format_slug: str, notes: Notes
) -> tuple[Capability, ...]:
    """Return the capabilities of tools, which are objects or bare names. Tools without a name, with a repeated name or
    with unrendered texts are left out, with findings."""
    if len(entries) > manifest.MAX_CAPABILITIES:
        notes.add(common_rules.TOO_MANY_CAPABILITIES, entries[0][0].rpartition("/")[0], len(entries))
    seen: set[str] = set()
    found: list[Capability] = []
    for pointer, value in entries[:manifest.MAX_CAPABILITIES]:
        item = _as_object(value)
        name = first_text(item, "name", "id", chars=manifest.ID_CHARS)
        if name is None:
            notes.add(TOOL, pointer, "" if isinstance(value, dict) else value)
            continue
        repeated = manifest.is_repeated(name, seen, at(pointer, "name"), notes)
        if not repeated and not manifest.has_template(item, ("name", "description"), pointer, notes):
            origin = Origin(document.url, pointer, format_slug)
            found.append(_read_tool(item, name, address, origin, document, notes))
    return tuple(found)


def _as_object(value: Json) -> Object:
    return {"name": value} if isinstance(value, str) else value if isinstance(value, dict) else {}


def _read_tool(
    item: Object, name: str, address: Endpoint | None, origin: Origin, document: Document, notes: Notes
) -> Capability:
    """Return the capability of a tool. Hints are the server's own claims; `destructiveHint` has a meaning only for a
    tool that is not read-only (Model Context Protocol 2025-06-18, ToolAnnotations)."""
    hints = map_of(item, "annotations")
    read_only, destructive = flag_of(hints, "readOnlyHint"), flag_of(hints, "destructiveHint")
    side_effects = True if destructive and not read_only else None if read_only is None else not read_only
    confirmed = manifest.first_flag(item, *_CONFIRMED)
    if confirmed is None and destructive and not read_only:
        confirmed = True
    result, result_note = _read_schema(item, _RESULTS), None
    if result is None:
        result, result_note = first_result(item)
    kept = {**item, "annotations": {key: value for key, value in hints.items() if key not in _HINTS}}
    return Capability(
        name,
        name,
        first_text(item, "description", "summary", "title"),
        params=_read_schema(item, _SCHEMAS) or first_parameters(item, (*_SCHEMAS, *_PARAMETERS)),
        result=result,
        result_note=result_note,
        title=_read_other(first_text(item, "title", "displayName", "display_name", chars=manifest.NAME_CHARS), name)
        or _read_other(short_text_of(hints, "title"), name),
        side_effects=side_effects,
        confirmation=None if confirmed is None else Confirmation(confirmed),
        idempotent=flag_of(hints, "idempotentHint"),
        pricing=pricing_in(item, document),
        deprecated=flag_of(item, "deprecated"),
        tags=texts_of(item, "tags"),
        examples=texts_of(item, "examples", 500),
        docs_url=page(first_text(item, "documentation", "docs", "documentationUrl", "docs_url"), document.url),
        invocations=_read_calls(item, name, address, origin, document, notes),
        native=manifest.native(origin.format, kept, _READ),
    )


def _read_other(text: str | None, name: str) -> str | None:
    return text if text != name else None


def _read_calls(
    item: Object, name: str, address: Endpoint | None, origin: Origin, document: Document, notes: Notes
) -> tuple[Invocation, ...]:
    """Return how a tool is called: by its name at the server, and by HTTP where it has a method or the only address."""
    auth, limit = own_auth(item, document.url), rate_limit_in(item)
    scopes = texts_of(item, "scopes")
    call = _make_call("mcp_tool", name, address, origin, auth=auth, scopes=scopes, rate_limit=limit)
    target, routed_method, key = target_of(item)
    method = routed_method or next(iter(methods_of(item)), None)
    if target is None or (method is None and (address is not None or key not in ("endpoint", "path", "route"))):
        return (call,)
    base = first_link(document.members, _BASES, document.url) or origin_of(document.url)
    own = resolve_address(target, base, document, at(origin.pointer, key), notes)
    if own is None:
        return (call,)
    http = Invocation("http", own.url, method, auth=auth, rate_limit=limit, templated=own.templated, origin=origin)
    return (http,) if address is None else (call, http)


def _read_schema(item: Object, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the first schema found, as data for the caller: it is not compiled, resolved or matched here."""
    for key in keys:
        value = item.get(key)
        if not isinstance(value, dict):
            continue
        kind = value.get("type")
        is_schema = isinstance(value.get("properties"), dict) or (isinstance(kind, str) and kind in JSON_TYPES)
        if is_schema or not value or any(word in value for word in ("$ref", "$defs", "allOf", "anyOf", "oneOf")):
            schema: dict[str, Any] = manifest.clean_json(value)
            return schema
        return parameters_of(value)
    return None


# --- resources and prompts ------------------------------------------------------------------------------------------


def context_offers(
    holder: Object, address: Endpoint | None, document: Document, format_slug: str, notes: Notes
) -> tuple[Capability, ...]:
    """Return the resources and prompts of a server that lists no tools, as capabilities.

    They are read with `resources/read` and `prompts/get`: the name of the call is the method, the parameters of the
    capability are its parameters. A resource whose URI is https is fetched from the web directly (Model Context
    Protocol 2025-06-18, Common URI Schemes).
    """
    seen: set[str] = set()
    found: list[Capability] = []
    for key in ("resources", "resourceTemplates", "prompts"):
        listed = holder.get(key) or map_of(holder, "capabilities").get(key)
        for pointer, value in _read_entries(listed, f"/{key}")[:manifest.MAX_CAPABILITIES]:
            item = _as_object(value)
            name = first_text(item, "name", "title", "uri", "uriTemplate", chars=manifest.ID_CHARS)
            if name is None:
                continue
            is_blank = manifest.has_template(item, ("name", "description"), pointer, notes)
            if not is_blank and not manifest.is_repeated(name, seen, at(pointer, "name"), notes):
                origin = Origin(document.url, pointer, format_slug)
                offer = _read_prompt if key == "prompts" else _read_resource
                found.append(offer(item, name, address, origin, document))
    return tuple(found[:manifest.MAX_CAPABILITIES])


def keeps_tools_to_itself(holder: Object) -> bool:
    """Return whether a document says that the server has tools, but not which."""
    declared = map_of(holder, "capabilities").get("tools")
    is_declared = declared is True or isinstance(declared, dict)
    counts = (holder.get(key) for key in ("tools_count", "toolsCount", "tool_count", "toolCount", "tools"))
    is_counted = any(isinstance(count, int) and count > 0 for count in counts) or bool(map_of(holder, "tools"))
    return (is_declared or is_counted) and holder.get("tools") != [] and not tool_entries(holder)


def _read_resource(item: Object, name: str, address: Endpoint | None, origin: Origin, document: Document) -> Capability:
    uri, template = manifest.text_of(item, "uri", 2_000), first_text(item, "uriTemplate", "uri_template", chars=2_000)
    schema: dict[str, Any] = {"type": "string", "format": "uri"}
    if uri is not None:
        schema["const"] = uri
    elif template is not None:
        schema["description"] = f"An address that follows the template {template}"
    direct = callable_url(uri, document.url, document.url) if uri is not None and uri.startswith("https://") else None
    call = _make_call("rpc", "resources/read", address, origin)
    if direct is not None:
        call = Invocation("http", direct.url, "GET", templated=direct.templated, origin=origin)
    kind = first_text(item, "mimeType", "mime_type", chars=manifest.NAME_CHARS)
    return Capability(
        name,
        name,
        first_text(item, "description", "title"),
        params=object_schema([("uri", schema)], ["uri"]) if direct is None else None,
        title=_read_other(short_text_of(item, "title"), name),
        output_modes=(kind,) if kind else (),
        invocations=(call,),
        native=manifest.native(origin.format, item, ("name", "title", "description", "mimeType", "mime_type")),
    )


def _read_prompt(item: Object, name: str, address: Endpoint | None, origin: Origin, document: Document) -> Capability:
    arguments = parameters_of(item.get("arguments"))
    if arguments is not None:  # all are texts in the protocol
        described = arguments.get("properties", {})
        arguments["properties"] = {key: {"type": "string", **value} for key, value in described.items()}
    properties = [("name", {"type": "string", "const": name}), *([("arguments", arguments)] if arguments else ())]
    required = ["name", *(["arguments"] if arguments and arguments.get("required") else ())]
    return Capability(
        name,
        name,
        first_text(item, "description", "title"),
        params=object_schema(properties, required),
        title=_read_other(short_text_of(item, "title"), name),
        invocations=(_make_call("rpc", "prompts/get", address, origin),),
        native=manifest.native(origin.format, item, ("name", "title", "description", "arguments")),
    )


def _make_call(
    kind: InvocationKind, name: str | None, address: Endpoint | None, origin: Origin, **declared: Any
) -> Invocation:
    url, templated = (address.url, address.templated) if address else (None, False)
    return Invocation(kind, url, "POST", name, templated=templated, origin=origin, **declared)


# --- servers --------------------------------------------------------------------------------------------------------


def whole_server(
    name: str,
    title: str | None,
    description: str | None,
    address: Endpoint | None,
    origin: Origin,
    *,
    local: bool = False
) -> Capability:
    """Return one capability for a server whose tools no document lists, so that search can find it. `local`: the server
    is a package to install, so it cannot be called over the network."""
    call = Invocation("instructions", origin=origin) if local else _make_call("rpc", None, address, origin)
    identifier, title = f"{services.SERVER_ID}{name}"[:manifest.ID_CHARS], title or name.rpartition("/")[2]
    return Capability(identifier, title, description, whole_server=True, invocations=(call,))


def remote_cards(protocols: Iterable[Protocol], document: Document) -> tuple[Pointer, ...]:
    """Return pointers to the server cards at the addresses of `protocols`, except to the document itself, and to their
    OAuth metadata."""
    addresses = [Endpoint(url, "{" in url) for protocol in protocols if (url := protocol.endpoint)]
    cards = dict.fromkeys(pointer for address in addresses for pointer in card_pointer(address, "/remotes"))
    resources = resource_pointers(((address, "/remotes") for address in addresses), document)
    return (*(pointer for pointer in cards if pointer.url != document.url), *resources)


def resource_pointers(addresses: Iterable[tuple[Endpoint | None, str]], document: Document) -> tuple[Pointer, ...]:
    """Return pointers to the OAuth metadata of servers below a path of the serving host: the well-known part stands
    between host and path (RFC 9728 section 3.1). `addresses`: each with its place in the document."""
    found: dict[str, Pointer] = {}
    serving = host_of(document.url)
    for address, pointer in addresses:
        url = address.url.partition("?")[0].rstrip("/") if address is not None and not address.templated else ""
        origin = origin_of(url)
        if url.startswith("https:") and url.startswith(origin) and host_of(url) == serving:
            target = f"{origin}{RESOURCE_PATH}/{url.removeprefix(origin)}"
            found.setdefault(target, Pointer(target, "resource_metadata", pointer, RESOURCE))
    return tuple(found.values())


def card_pointer(address: Endpoint | None, pointer: str) -> tuple[Pointer, ...]:
    """Return the pointer to a server's card, `<address>/server-card` (SEP-2127); templates are never fetched."""
    if address is None or address.templated or not address.url.startswith("https:"):
        return ()
    base = address.url.partition("?")[0].rstrip("/")
    return (Pointer(f"{base}/server-card", "mcp", pointer, "mcp-server-card"),)
