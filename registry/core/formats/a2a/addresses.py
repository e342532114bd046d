"""Read the addresses of an A2A agent: its interfaces, and what cards name in members of their own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from registry.core.format_support import manifest
from registry.core.format_support.endpoints import Endpoint, callable_url, endpoint, link
from registry.core.format_support.manifest import Notes, Object, first_text, list_of, members, short_text_of, text_of
from registry.core.format_support.named_addresses import named_protocols
from registry.core.formats.a2a import rules
from registry.core.model.documents import Document, Json
from registry.core.model.services import Protocol
from registry.core.reading.json_pointer import at

SLUG = "a2a"
PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
MAX_INTERFACES = 50

_SNAKE = re.compile(r"_([a-z])")
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


def camel(card: Object) -> Object:
    """Return the card with members renamed from snake_case to camelCase; a member in camelCase takes precedence."""
    renamed = {camel_name(key): value for key, value in card.items()}
    return {**renamed, **{key: value for key, value in card.items() if key in renamed}}


def camel_name(key: str) -> str:
    return _SNAKE.sub(lambda match: match[1].upper(), key)


def endpoint_pointer(card: Object) -> str:
    return "/supportedInterfaces" if "supportedInterfaces" in card else "/url"


def interfaces_of(card: Object, document: Document, notes: Notes) -> list[A2aInterface]:
    """Return the callable interfaces in order of preference; addresses that are not public are left out, and so is a
    `url` that is only a page or a site where another member names the address of the agent."""
    declared = list(_list_declared(card, notes))
    if not declared:
        notes.add(rules.NO_ENDPOINT, endpoint_pointer(card))
    interfaces = []
    seen: set[tuple[str, str]] = set()
    for target, binding, version, pointer in declared:
        if not isinstance(target, str) or (target, binding) in seen:
            continue
        seen.add((target, binding))
        address = endpoint(target, document.url, document, pointer, notes)
        if address is not None:
            place = re.split(r"[?#]", address.url, maxsplit=1)[0]
            is_page = place.endswith(PATHS) or _PAGE.search(place) is not None
            is_doubtful = is_page or address.url == document.url or _is_bare_site(address.url)
            if is_doubtful:
                notes.add(rules.ENDPOINT_DOUBTFUL, pointer, target)
            interfaces.append(A2aInterface(address, binding, version, pointer, is_doubtful))
    named = [one for one in interfaces if not one.is_doubtful and one.pointer.startswith(_DECIDING)]
    return [one for one in interfaces if not (named and one.is_doubtful and one.pointer == "/url")]


_DECIDING: Final = ("/supportedInterfaces", *(f"/{key}" for key in _AGENT_MEMBERS))


def home_of(card: Object, interfaces: list[A2aInterface], document: Document) -> str | None:
    """Return `url` where it is the site of the publisher, because the agent answers elsewhere or at no address."""
    address = callable_url(text_of(card, "url") or "", document.url, document.url) if text_of(card, "url") else None
    if address is None or not _is_bare_site(address.url):
        return None
    is_interface = any(one.pointer == "/url" for one in interfaces)
    return None if is_interface and "://www." not in address.url else link(address.url, document.url)


def _list_declared(card: Object, notes: Notes) -> Iterator[tuple[Json, str, str | None, str]]:
    """Yield (url, binding, version, pointer). The default is JSON-RPC (0.2.5 preferredTransport, 1.0 in practice)."""
    supported = list_of(card, "supportedInterfaces")[:MAX_INTERFACES]
    for pointer, entry in members(supported, "/supportedInterfaces", rules.INTERFACE, notes):
        item = camel(entry)
        missing = [key for key in ("url", "protocolBinding", "protocolVersion") if not text_of(item, key)]
        if missing:
            notes.add(rules.INTERFACE, pointer, ", ".join(missing))
        if text_of(item, "url"):
            binding = first_text(item, "protocolBinding", "transport") or "JSONRPC"
            yield item["url"], binding, short_text_of(item, "protocolVersion"), at(pointer, "url")
    version = short_text_of(card, "protocolVersion")
    for key in _AGENT_MEMBERS:
        if text_of(card, key):
            yield card[key], "JSONRPC", version, at("", key)
    wrapped = manifest.map_of(card, "interface")  # some cards wrap the transports in it
    is_wrapped = bool(wrapped) and "additionalInterfaces" not in card and "preferredTransport" not in card
    holder, prefix = (camel(wrapped), "/interface") if is_wrapped else (card, "")
    if text_of(card, "url"):
        yield card["url"], short_text_of(holder, "preferredTransport") or "JSONRPC", version, "/url"
    additional = list_of(holder, "additionalInterfaces")[:MAX_INTERFACES]
    for pointer, item in members(additional, at(prefix, "additionalInterfaces"), rules.INTERFACE, notes):
        yield item.get("url"), short_text_of(item, "transport") or "JSONRPC", version, at(pointer, "url")


def _is_bare_site(url: str) -> bool:
    return re.split(r"[?#]", url, maxsplit=1)[0].partition("://")[2].rstrip("/").count("/") == 0


def protocols_of(interfaces: list[A2aInterface], card: Object, document: Document) -> Iterator[Protocol]:
    """Yield a protocol for each interface, then for each address in a member that no version of A2A defines."""
    found: set[str | None] = set()
    for interface in interfaces:
        found.add(interface.address.url)
        if _MCP.search(interface.binding):
            yield Protocol("mcp", interface.version, interface.address.url)
        else:
            version = interface.version or short_text_of(card, "protocolVersion")
            yield Protocol(SLUG, version, interface.address.url, interface.binding, document.url)
    yield from (protocol for protocol in named_protocols(card, document) if protocol.endpoint not in found)
