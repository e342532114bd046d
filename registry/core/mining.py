"""Texts that name manifests: the URLs in them that are worth asking for, and the format that each promises.

Whole path segments are compared: `ard.json` is also the end of `agent-card.json` (formats.md 3.8).
"""

import re
from typing import Final

from registry.core.domains import parse_https
from registry.core.endpoints import Endpoint
from registry.core.mcp_parts import card_pointer
from registry.core.services import Pointer

MAX_MINED: Final = 40
SCANNED_CHARS: Final = 200_000

PROMISED: Final = {
    "/.well-known/agent": "adp",
    "/.well-known/agent.json": "atp",
    "/agent.json": "awp",
    "/.well-known/woa.json": "woa",
    "/.well-known/ai-actions.json": "awas",
    "/.well-known/agent-card.json": "a2a",
    "/.well-known/mcp/server-card.json": "mcp-server-card",
    "/.well-known/mcp/server-cards.json": "mcp-json",
    "/.well-known/mcp-server-card.json": "mcp-server-card",
    "/.well-known/mcp.json": "mcp-json",
    "/.well-known/mcp": "mcp-json",
    "/server.json": "mcp-server-json",
    "/.well-known/ard.json": "ai-catalog",
    "/.well-known/ai-catalog.json": "ai-catalog",
    "/.well-known/api-catalog": "api-catalog",
    "/.well-known/agent-skills/index.json": "agent-skills-index",
    "/.well-known/skills/index.json": "agent-skills-index",
    "/.well-known/ucp": "ucp",
    "/.well-known/acp.json": "acp",
    "/.well-known/x402": "x402",
    "/.well-known/x402.json": "x402",
    "/.well-known/ai-plugin.json": "ai-plugin",
    "/.well-known/agents.json": "agents-json",
    "/.well-known/agent-descriptions": "anp",
    "/.well-known/agent-permissions.json": "agent-permissions",
    "/.well-known/awas.json": "awas",
    "/.well-known/mcp-manifest.json": "awas",
    "/.well-known/a2a-manifest.json": "awas",
    "/ai-actions.json": "awas",
    "/mcp.json": "mcp-json",
    "/agents.json": "agents-json",
    "/ad.json": "anp",
    "/.well-known/did.json": "did",
    "/.well-known/jwks.json": "jwks",
    "/.well-known/http-message-signatures-directory": "jwks",
    "/.well-known/oauth-protected-resource": "oauth-protected-resource",
    "/.well-known/oauth-authorization-server": "oauth-authorization-server",
    "/.well-known/llms.txt": "llms-txt",
    "/auth.md": "auth-md",
    "/pricing.md": "pricing-md",
}
"""Well-known paths and what to expect there; the content decides where several formats share a path."""

_URL = re.compile(r"https://[^\s<>()\[\]\"'`|\\]{4,500}")
_LINK = re.compile(r"\]\((/[^\s()]{1,500})\)")
_TAIL = re.compile(r"[.,;:!?*_]+$")
_DESCRIPTION = re.compile(r"/(openapi|swagger)\.(json|ya?ml)$")
_NAMES = {path.rpartition("/")[2] for path in PROMISED} | {"openapi.", "swagger.", "server-card", "SKILL.md", "mcp"}
_TELLING = re.compile("|".join(map(re.escape, sorted(_NAMES))))  # most links of a text lead to pages: not even parsed


def mined(text: str, base: str) -> tuple[Pointer, ...]:
    """Pointers from the Markdown links and bare URLs of a text, in order, distinct, at most MAX_MINED."""
    text = text[:SCANNED_CHARS]
    found: dict[str, Pointer] = {}
    for match in (*_URL.finditer(text), *_LINK.finditer(text)):
        said = match[match.lastindex or 0]
        url = parse_https(_TAIL.sub("", said), base) if _TELLING.search(said) else None
        pointer = _pointer(url) if url else None
        if pointer is not None and pointer.url is not None:
            found.setdefault(pointer.url, pointer)
        if len(found) == MAX_MINED:
            break
    return tuple(found.values())


def _pointer(url: str) -> Pointer | None:
    path = "/" + url.partition("://")[2].partition("/")[2].partition("?")[0]
    if path in PROMISED:
        return Pointer(url, "mentioned", expected=PROMISED[path])
    if _DESCRIPTION.search(path):
        return Pointer(url, "mentioned", expected="openapi")
    if path.endswith("/server-card"):
        return Pointer(url, "mentioned", expected="mcp-server-card")
    if path.endswith("/SKILL.md"):
        return Pointer(url, "skill")  # recorded: no format reads it yet, so nothing is asked for
    if path.rstrip("/").endswith("/mcp"):
        return next(iter(card_pointer(Endpoint(url), "")), None)
    return None
