"""Find the addresses and documents that a card names in members that no specification defines.

`mcp_endpoint`, `mcpUrl`, `{"mcp": {"url"}}`, `{"endpoints": {"a2a": ...}}`, `{"protocols": [{"type", "url"}]}`: many
publishers say in one of these ways where their service answers.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from registry.core.format_support.endpoints import callable_url, first_link, link
from registry.core.format_support.manifest import MAX_TEXTS, Object, first_text, list_of, map_of, text_of
from registry.core.model.documents import Document, Json
from registry.core.model.services import Pointer, Protocol
from registry.core.reading.json_pointer import at

_MAX_KEY: Final = 40  # longer than any name in _KINDS
_SNAKE = re.compile(r"[_-]([a-z])")
_KINDS: Final = {
    **dict.fromkeys(
        ("mcpEndpoint", "mcpUrl", "mcpServer", "mcpServerUrl", "mcpServerEndpoint", "mcpHttp", "mcpRemote", "mcp"),
        "mcp",
    ),
    **dict.fromkeys(
        ("a2aEndpoint", "a2aUrl", "a2aServer", "a2aTasks", "a2aMessage", "agentEndpoint", "jsonrpcEndpoint", "a2a"),
        "a2a",
    ),
    **dict.fromkeys(
        ("apiEndpoint", "apiUrl", "apiBase", "apiBaseUrl", "restEndpoint", "httpEndpoint", "serviceUrl", "baseUrl",
         "rest", "api"),
        "rest",
    ),
    **dict.fromkeys(("graphql", "graphqlEndpoint", "graphqlUrl"), "graphql"),
    **dict.fromkeys(
        ("openapi", "openapiUrl", "openapiSpec", "openapiJson", "openApi", "openApiUrl", "openapiYaml", "swagger"),
        "openapi",
    ),
    **dict.fromkeys(("serverCard", "mcpServerCard", "mcpManifest", "mcpDiscovery", "mcpCard"), "server-card"),
    **dict.fromkeys(
        ("agentCard", "agentCardUrl", "canonicalAgentCard", "a2aCard", "a2aAgentCard", "a2aManifest"), "agent-card"
    ),
    **dict.fromkeys(("x402Manifest", "x402Discovery", "x402Catalog"), "x402"),
}  # fmt: skip
_HOLDERS: Final = (
    "", "endpoints", "interfaces", "protocols", "discovery", "developer", "links", "integrations", "related",
    "resources",
)  # fmt: skip
DOCS: Final = (
    "documentation", "docs", "documentation_url", "documentationUrl", "docs_url", "docsUrl", "api_docs", "apiDocs",
    "api_documentation", "developer_docs", "developerDocs", "api_reference", "reference", "getting_started",
    "quickstart",
)  # fmt: skip
DOCS_HOLDERS: Final = (
    "links", "discovery", "developer", "developers", "support", "resources", "related", "endpoints",
)  # fmt: skip
_TARGETS: Final = ("url", "endpoint", "uri", "href", "http")
_EXPECTED: Final = {
    "mcp": "mcp-server-card", "server-card": "mcp-server-card", "agent-card": "a2a", "openapi": "openapi",
    "x402": "x402",
}  # fmt: skip
_DOCUMENT_KINDS: Final = frozenset({"openapi", "server-card", "agent-card", "x402"})
_DOCUMENT = re.compile(r"\.(?:json|ya?ml|md|txt|html?)$", re.IGNORECASE)
_WORDS: Final = {
    "mcp": "mcp", "a2a": "a2a", "rest": "rest", "http": "rest", "https": "rest", "graphql": "graphql",
    "openapi": "openapi",
}  # fmt: skip


def camel_name(key: str) -> str:
    """Return the name in camelCase; most publishers' own members are written in snake_case as often."""
    return _SNAKE.sub(lambda match: match[1].upper(), key)


@lru_cache(maxsize=4_096)
def _kind_of(key: str) -> str | None:
    return _KINDS.get(camel_name(key)) if len(key) <= _MAX_KEY else None


def is_protocol_member(key: str) -> bool:
    """Return whether an entry of a map of endpoints names a protocol or a document instead of something to call."""
    return _kind_of(key) is not None


def names_addresses(card: Object) -> bool:
    """Return whether a document may have such members: for nearly all, their names decide it."""
    return any(_kind_of(key) is not None or key in _HOLDERS for key in card)


def named_protocols(card: Object, document: Document) -> Iterator[Protocol]:
    """Yield the addresses in such members, each once; addresses of documents are left to `named_documents`."""
    found: set[tuple[str, str]] = set()
    for kind, target, _ in _named(card):
        if kind in _DOCUMENT_KINDS:
            continue
        address = callable_url(target, document.url, document.url)
        if address is not None and not _DOCUMENT.search(address.url) and (kind, address.url) not in found:
            found.add((kind, address.url))
            yield Protocol(kind, None, address.url)


def named_documents(card: Object, document: Document) -> Iterator[Pointer]:
    """Yield pointers to the cards and descriptions in such members."""
    for kind, target, pointer in _named(card):
        url = link(target, document.url)
        is_document = kind in _DOCUMENT_KINDS or _DOCUMENT.search(url or "")
        if url and url != document.url and kind in _EXPECTED and is_document:
            yield Pointer(url, "server_card" if kind == "server-card" else kind, pointer, _EXPECTED[kind])


def docs_of(value: Object, base: str) -> str | None:
    """Return the documentation that a document names at its top or among its links."""
    holders = (value, *(value[name] for name in DOCS_HOLDERS if name in value))
    return next((url for holder in holders if (url := first_link(holder, DOCS, base))), None)


def _named(card: Object) -> Iterator[tuple[str, str, str]]:
    """Yield (protocol or kind of document, URL as written, pointer)."""
    for name in _HOLDERS:
        holder = map_of(card, name) if name else card
        prefix = at("", name) if name else ""
        for key, held in list(holder.items())[: MAX_TEXTS * 2]:
            kind = _kind_of(key)
            if kind is not None:
                yield from _targets(kind, held, at(prefix, key))
    for name in ("protocols", "interfaces", "endpoints"):
        for index, item in enumerate(list_of(card, name)[:MAX_TEXTS]):
            words = ((text_of(item, key) or "").lower() for key in ("protocol", "type", "kind", "name"))
            word = next((word for word in words if word in _WORDS), None)
            if word is not None:
                yield from _targets(_WORDS[word], item, at("", name, index))


def _targets(kind: str, held: Json, pointer: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(held, dict):
        kind = "openapi" if first_text(held, "type", "format") == "openapi" else kind
        for key in _TARGETS:
            target = text_of(held, key)
            if target and "/" in target:
                yield kind, target, at(pointer, key)
                break
        for key in ("manifest", "card", "serverCard", "server_card", "spec", "openapi"):
            target = text_of(held, key)
            if target and "/" in target:
                is_openapi = key == "openapi" or (key == "spec" and kind == "rest")
                yield ("openapi" if is_openapi else "agent-card" if kind == "a2a" else "server-card"), target, pointer
    elif isinstance(held, str) and "/" in held:
        yield kind, held, pointer
