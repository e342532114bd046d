"""Read the addresses of an A2A agent: its interfaces, and what cards name in members of their own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from registry.core.format_support import manifest
from registry.core.format_support.endpoints import Endpoint, callable_url, endpoint, lacks_scheme, link
from registry.core.format_support.manifest import Notes, Object, first_text, short_text_of, text_of
from registry.core.format_support.mcp_remotes import address_key, configured_servers
from registry.core.format_support.named_addresses import named_protocols
from registry.core.formats.a2a import rules
from registry.core.model.documents import Document, Json
from registry.core.model.services import Protocol
from registry.core.reading.json_pointer import at

SLUG = "a2a"
PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
MAX_INTERFACES = 50

_SNAKE = re.compile(r"_([a-z])")
_HTTP_OPERATION: Final = re.compile(
    r"(?P<version>/v1)?/(?:message:(?:send|stream)|tasks/(?:\{[^{}/]*\}|[^/]+:(?:cancel|subscribe|resubscribe))"
    r"|tasks/[^/]+/pushNotificationConfigs(?:/[^/]+)?|(?<=/v1/)card|extendedAgentCard)/?$"
)
"""Paths of the HTTP+JSON binding (A2A 0.3 section 3.5.3, 1.0 section 11.3)."""
_RPC_METHOD: Final = re.compile(
    r"/(?:message/(?:send|stream)|tasks/(?:send|sendSubscribe|get|list|cancel|subscribe|resubscribe))/?$"
)
"""Names of JSON-RPC methods as a path: an own scheme of the publisher."""
_BINDINGS: Final = {
    "a2a": "JSONRPC", "jsonrpc": "JSONRPC", "jsonrpc2": "JSONRPC", "jsonrpc20": "JSONRPC", "httpjson": "HTTP+JSON",
    "grpc": "GRPC",
}  # fmt: skip
_BINDING_KEYS: Final = ("protocolBinding", "transport", "binding", "protocol")
_PAGE = re.compile(r"\.html?$", re.IGNORECASE)
_MCP = re.compile(r"\bmcp\b|modelcontextprotocol", re.IGNORECASE)
_AGENT_MEMBERS: Final = ("a2aEndpoint", "a2aUrl", "agentEndpoint", "jsonrpcEndpoint")


@dataclass(frozen=True, slots=True)
class A2aInterface:
    address: Endpoint
    binding: str
    version: str | None
    pointer: str
    is_doubtful: bool = False


def without_operation(url: str, version: str | None) -> tuple[str | None, bool]:
    """Return the base URL below which the HTTP+JSON operation at `url` stands, and whether `url` is an operation at all
    (else it is returned as it is). None: the base is not clear, or the path names a JSON-RPC method. 0.3 puts `/v1`
    between the base and an operation; 1.0 does not (A2A 0.3 section 3.5.3, 1.0 section 11.3)."""
    place = re.split(r"[?#]", url, maxsplit=1)[0]
    match = _HTTP_OPERATION.search(place)
    if match is None:
        return (None, True) if _RPC_METHOD.search(place) else (url, False)
    is_final = (version or "").startswith("1.")
    has_version = match["version"] is not None
    if not (is_final or has_version):
        return None, True
    return place[: match.start()] + ("/v1" if is_final and has_version else ""), True


def camel(card: Object) -> Object:
    """Return the card with members renamed from snake_case to camelCase; a member in camelCase takes precedence."""
    renamed = {camel_name(key): value for key, value in card.items()}
    return {**renamed, **{key: value for key, value in card.items() if key in renamed}}


def camel_name(key: str) -> str:
    return _SNAKE.sub(lambda match: match[1].upper(), key)


def version_of(card: Object) -> str | None:
    """Return the protocol version that a card states, also if it is a number."""
    value = card.get("protocolVersion")
    if isinstance(value, float):
        return str(value)
    return f"{value}.0" if value in range(10) and isinstance(value, int) else short_text_of(card, "protocolVersion")


def endpoint_pointer(raw: Object) -> str:
    key = spelling(raw, "supportedInterfaces")
    return at("", key) if key in raw else "/url"


def spelling(raw: Object, name: str) -> str:
    """Return the key that stands for `name` in the card as served: `name` itself or its spelling in snake_case."""
    return name if name in raw else next((key for key in raw if camel_name(key) == name), name)


def interfaces_of(card: Object, raw: Object, document: Document, notes: Notes) -> list[A2aInterface]:
    """Return the callable interfaces in order of preference. Left out are addresses that are not public, operations
    whose base is not clear, and a `url` that is only a page or a site where another member names the agent's
    address."""
    declared = list(_list_declared(card, raw, notes))
    if not declared:
        notes.add(rules.NO_ENDPOINT, endpoint_pointer(raw))
    interfaces = []
    seen: set[tuple[str, str]] = set()
    for target, stated_binding, version, pointer in declared:
        if not isinstance(target, str):
            continue
        if (target, stated_binding or "") in seen:
            notes.mark_read(pointer)
            continue
        seen.add((target, stated_binding or ""))
        if lacks_scheme(target.strip(), document.url):
            notes.add(rules.ENDPOINT_DOUBTFUL, pointer, target)
            target = f"https://{target.strip()}"
        address = endpoint(target, document.url, document, pointer, notes)
        if address is None:
            continue
        notes.mark_read(pointer)
        binding = binding_of(stated_binding)
        base, is_operation = without_operation(address.url, version or version_of(card))
        if is_operation and binding in ("JSONRPC", "HTTP+JSON"):
            notes.add(rules.ENDPOINT_DOUBTFUL, pointer, target)
            if base is not None:
                address = Endpoint(base, "{" in base)
                interfaces.append(A2aInterface(address, "HTTP+JSON", version, pointer))
            continue
        place = re.split(r"[?#]", address.url, maxsplit=1)[0]
        is_page = place.endswith(PATHS) or _PAGE.search(place) is not None or address.url == document.url
        is_bare = _is_bare_site(address.url)
        if is_page or (is_bare and stated_binding is None):  # servers of the SDKs answer at the root
            notes.add(rules.ENDPOINT_DOUBTFUL, pointer, target)
        interfaces.append(A2aInterface(address, binding, version, pointer, is_page or is_bare))
    named = [one for one in interfaces if not one.is_doubtful and one.pointer.startswith(_DECIDING)]
    return [one for one in interfaces if not (named and one.is_doubtful and one.pointer == "/url")]


def binding_of(stated: str | None) -> str:
    """Return the name of a binding as A2A spells it; unknown ones unchanged. The default is JSON-RPC (A2A 0.2.5,
    preferredTransport)."""
    return _BINDINGS.get(re.sub(r"[^a-z0-9]", "", (stated or "JSONRPC").lower()), stated or "JSONRPC")


_DECIDING: Final = ("/supportedInterfaces", "/supported_interfaces", *(f"/{key}" for key in _AGENT_MEMBERS))


def home_of(card: Object, interfaces: list[A2aInterface], document: Document) -> str | None:
    """Return `url` where it is the site of the publisher, because the agent answers elsewhere or at no address."""
    address = callable_url(text_of(card, "url") or "", document.url, document.url) if text_of(card, "url") else None
    if address is None or not _is_bare_site(address.url):
        return None
    is_interface = any(one.pointer == "/url" for one in interfaces)
    return None if is_interface and "://www." not in address.url else link(address.url, document.url)


_Declared = tuple[Json, str | None, str | None, str]
"""URL, binding as stated, version, pointer."""


def _list_declared(card: Object, raw: Object, notes: Notes) -> Iterator[_Declared]:
    version = version_of(card)
    key = spelling(raw, "supportedInterfaces")
    for url, binding, own, pointer in _list_described(
        raw, key, "", ("url", "protocolBinding", "protocolVersion"), notes
    ):
        yield url, binding, own or version or "1.0", pointer  # no older version has the member
    for key in _AGENT_MEMBERS:
        if text_of(card, key):
            yield card[key], None, version, at("", key)
    wrapped = manifest.map_of(card, "interface")  # some cards wrap the transports in it
    is_wrapped = bool(wrapped) and "additionalInterfaces" not in card and "preferredTransport" not in card
    holder, prefix = (wrapped, "/interface") if is_wrapped else (raw, "")
    if text_of(card, "url"):
        yield card["url"], short_text_of(camel(holder), "preferredTransport"), version, "/url"
    key = spelling(holder, "additionalInterfaces")
    for url, binding, own, pointer in _list_described(holder, key, prefix, ("url", "transport"), notes):
        yield url, binding, own or version, pointer


def _list_described(
    holder: Object, key: str, prefix: str, required: tuple[str, ...], notes: Notes
) -> Iterator[_Declared]:
    """Yield the interfaces of a list; with findings also of a map by binding, of one object, and of bare URLs."""
    parts = manifest.parts_of(holder, key, at(prefix, key), notes, ("url",))
    for pointer, name, entry in islice(parts, MAX_INTERFACES):
        item: Object = {"url": entry} if isinstance(entry, str) else camel(entry) if isinstance(entry, dict) else {}
        binding = first_text(item, *_BINDING_KEYS) or name
        missing = [member for member in required if not text_of(item, member)]
        if missing or not isinstance(entry, dict):
            notes.add(rules.INTERFACE, pointer, ", ".join(missing))
        if text_of(item, "url"):
            url_pointer = at(pointer, "url") if isinstance(entry, dict) else pointer
            yield item["url"], binding, version_of(item), url_pointer


def _is_bare_site(url: str) -> bool:
    return re.split(r"[?#]", url, maxsplit=1)[0].partition("://")[2].rstrip("/").count("/") == 0


def protocols_of(interfaces: list[A2aInterface], card: Object, document: Document) -> Iterator[Protocol]:
    """Yield a protocol for each interface, then for each address in a member that no version of A2A defines. Where the
    only address is an operation without a clear base, the protocol has no endpoint."""
    found: set[str | None] = set()
    distinct: set[tuple[str, str]] = set()
    for interface in interfaces:
        if (interface.address.url, interface.binding) in distinct:  # several operations have one base
            continue
        distinct.add((interface.address.url, interface.binding))
        found.add(interface.address.url)
        if _MCP.search(interface.binding):
            yield Protocol("mcp", interface.version, interface.address.url)
        else:
            version = interface.version or version_of(card)
            yield Protocol(SLUG, version, interface.address.url, interface.binding, document.url)
    if not interfaces and without_operation(text_of(card, "url") or "", None)[1]:
        yield Protocol(SLUG, version_of(card), card_url=document.url)
    for _, _, server in configured_servers({"mcpServers": card.get("mcpServers")}):
        key = address_key(server)
        address = callable_url(str(server[key]), document.url, document.url) if key else None
        if address is not None and address.url not in found:
            found.add(address.url)
            yield Protocol("mcp", None, address.url)
    for protocol in named_protocols(card, document):
        is_operation = protocol.id == SLUG and without_operation(protocol.endpoint or "", None)[1]
        if protocol.endpoint not in found and not is_operation:
            yield protocol
