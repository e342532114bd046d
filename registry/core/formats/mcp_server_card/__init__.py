"""MCP server cards: v1 (SEP-2127, final) and the SEP-1649 draft, which most sites still serve."""

import re
from typing import Final

from registry.core.format_support import mcp_parts
from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import CARD_CAP, ProbePath, never
from registry.core.formats.mcp_server_card import rules
from registry.core.formats.mcp_server_card.read import SLUG, by_remotes, by_schema, by_server_info, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "by_remotes", "by_schema", "by_server_info"]

FORMAT: Final = Format(
    slug=SLUG,
    title="MCP server card",
    spec="MCP server card v1 (SEP-2127)",
    paths=("/.well-known/mcp/server-card.json", "/.well-known/mcp.json", "/.well-known/mcp-server-card.json"),
    media_types=("application/mcp-server-card+json", "application/mcp-server+json", "application/json"),
    role=Role.SERVICE,
    read=read,
    rules=(
        *rules_in(rules),
        mcp_parts.REQUIRED,
        mcp_parts.NOTHING,
        mcp_parts.NO_REMOTE,
        mcp_parts.REMOTE,
        mcp_parts.TOOL,
    ),
    asks=frozenset({"service.unnamed", "service.unversioned", "capability.without_params"}),
    promised_paths=("/.well-known/mcp/server-card.json", "/.well-known/mcp-server-card.json"),
    promised_pattern=re.compile(r"/server-card$"),
    accept="application/mcp-server-card+json",
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S3", 20, "/.well-known/mcp/server-card.json"),
        ProbePath(
            "S4", 170, "/.well-known/mcp-server-card.json", fallback_of="/.well-known/mcp/server-card.json", when=never
        ),
        ProbePath("S1", 10, "/.well-known/mcp/server-card.json", sub_host="mcp"),
        ProbePath("S1", 40, "/.well-known/mcp/server-card.json", sub_host="docs"),
    ),
    absence_member="serverInfo",
    precedence=80,
)
