"""The media types that name formats in catalogues (ARD, AI Catalog), in the spellings found in the wild.

Publishers have spelt OpenAPI in 11 ways and an MCP server card in about as many (ard-spec issue 88, ai-catalog issues
82 and 116). Reading entries, filters of clients, and this registry's own answers use one table.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

A2A_CARD: Final = "application/a2a-agent-card+json"
MCP_CARD: Final = "application/mcp-server-card+json"
MCP_SERVER: Final = "application/mcp-server+json"
"""A server.json of the MCP registry; before AI Catalog's ADR 14 a name of the server card."""

OPENAPI: Final = "application/vnd.oai.openapi+json"
AI_CATALOG: Final = "application/ai-catalog+json"
API_CATALOG: Final = "application/linkset+json"
AI_REGISTRY: Final = "application/ai-registry+json"
SKILL_TEXT: Final = 'text/markdown; profile="urn:air:agent-skills"'
SKILL_ZIP: Final = "application/agent-skills+zip"
SKILL_GZIP: Final = "application/agent-skills+gzip"

_WITHOUT_TYPE: Final = (
    "acp", "adp", "agent-json", "agent-skills-index", "agents-json", "ai-plugin", "aid", "anp", "atp", "awas", "awp",
    "ucp", "webmcp-forms", "x402",
)  # fmt: skip
"""Formats without a registered media type: plain JSON, distinguished by the parameter `profile` (RFC 6906)."""

TYPE_OF: Final[Mapping[str, str]] = MappingProxyType(
    {
        "a2a": A2A_CARD,
        "mcp-server-card": MCP_CARD,
        "mcp-json": MCP_CARD,
        "mcp-server-json": MCP_SERVER,
        "openapi": OPENAPI,
        "woa": "application/woa+json",
        "ai-catalog": AI_CATALOG,
        "api-catalog": API_CATALOG,
        **{slug: f'application/json; profile="urn:waypost:format:{slug}"' for slug in _WITHOUT_TYPE},
    }
)
"""Format slug -> media type of its entries, for all formats whose documents are artifacts of their own. The others only
add to a service: texts, keys, OAuth metadata, permissions, details of capabilities."""

_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = {
    A2A_CARD: (
        "application/a2a-agent-card+json", "application/a2a-agent-card", "application/agent-card+json",
        "application/agent-card", "application/a2a+json", "application/a2a", "application/a2a-card+json",
        "application/a2a-agent+json", "application/a2a-agentcard+json", "application/a2a.agent-card+json",
        "application/vnd.a2a+json", "application/vnd.a2a.agent-card+json", "application/vnd.a2a.agentcard+json",
        "application/x-a2a-agent-card+json",
    ),
    MCP_CARD: (
        "application/mcp-server-card+json", "application/mcp-server-card", "application/mcp-card+json",
        "application/mcp-card", "application/mcp+json", "application/mcp", "application/mcp-servercard+json",
        "application/mcp.server-card+json", "application/mcp-server-manifest+json", "application/mcp-manifest+json",
        "application/vnd.mcp+json", "application/vnd.mcp.server-card+json", "application/vnd.mcp-server-card+json",
        "application/vnd.modelcontextprotocol+json", "application/vnd.modelcontextprotocol.server-card+json",
        "application/x-mcp-server-card+json",
    ),
    MCP_SERVER: (
        "application/mcp-server+json", "application/mcp-server", "application/vnd.mcp.server+json",
        "application/vnd.modelcontextprotocol.server+json",
    ),
    AI_CATALOG: (
        "application/ai-catalog+json", "application/ai-catalog", "application/ard+json", "application/ard-catalog+json",
        "application/ard",
    ),
    API_CATALOG: ("application/linkset+json", "application/linkset", "application/api-catalog+json"),
    AI_REGISTRY: ("application/ai-registry+json", "application/ai-registry", "application/ard-registry+json"),
    "application/woa+json": ("application/woa+json", "application/woa"),
}  # fmt: skip
_BY_SPELLING: Final = {name: canonical for canonical, names in _SPELLINGS.items() for name in names}
_OPENAPI: Final = re.compile(
    r"application/((vnd\.oai\.openapi|openapi)\b.*|rest-api\+json.*"
    r"|(x-openapi|vnd\.openapi|swagger|vnd\.swagger)([+.-](json|yaml))?)|text/openapi"
)
"""The common names, each with an optional version or suffix."""

_SKILL: Final = re.compile(r"application/(?:ai|agent)-?skills?(?:\+(?P<packing>md|zip|gzip))?")
_SKILL_PROFILES: Final = frozenset({"urn:air:agent-skills", "urn:ai:agent-skills", "agent-skills", "ai-skill"})
_SKILL_OF: Final = {"zip": SKILL_ZIP, "gzip": SKILL_GZIP}
_MAX_CHARS: Final = 200


@lru_cache(maxsize=1_000)
def canonical_type(text: str) -> str:
    """Return the spelling of a media type that entries here have; an unknown one in lower case, with only the parameter
    `profile` (RFC 9110 section 8.3.1: types are case-insensitive). Of a long text only the beginning counts."""
    name, *parameters = (part.strip() for part in text[:_MAX_CHARS].lower().split(";"))
    name = re.sub(r"\s+", "", name)
    if (canonical := _BY_SPELLING.get(name)) is not None:
        return canonical
    if _OPENAPI.fullmatch(name):
        return OPENAPI
    pairs = (parameter.partition("=") for parameter in parameters)
    profile = next((value.strip().strip('"') for key, _, value in pairs if key.strip() == "profile"), "")
    skill = _SKILL.fullmatch(name)
    if skill is not None:
        return _SKILL_OF.get(skill["packing"] or "", SKILL_TEXT)
    if name == "text/markdown" and profile in _SKILL_PROFILES:
        return SKILL_TEXT
    return f'{name}; profile="{profile}"' if profile else name


def formats_of_type(text: str) -> tuple[str, ...]:
    """Return the slugs of the formats whose entries have this type, in any spelling; none for a type that is not
    indexed. `application/mcp-server+json` has named both the card and server.json, so it means either."""
    canonical = canonical_type(text)
    meant = {canonical, MCP_CARD} if canonical == MCP_SERVER else {canonical}
    return tuple(slug for slug, media_type in TYPE_OF.items() if media_type in meant)


def promised_format(text: str) -> str | None:
    """Return the format that an entry of a catalogue promises by its type; None when its content has to decide."""
    canonical = canonical_type(text)
    if canonical in (MCP_SERVER, MCP_CARD):
        return "mcp-server-card"
    return next((slug for slug, media_type in TYPE_OF.items() if media_type == canonical), None)


def artifact_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """Return the formats that have entries, in the order of TYPE_OF, which is the order of a service's entries."""
    held = frozenset(formats)
    return tuple(slug for slug in TYPE_OF if slug in held)
