"""The tools of an MCP server, as it lists them itself: replies to `tools/list`, requested by POST."""

from typing import Final

from registry.core.format_support import mcp_parts
from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import CARD_CAP
from registry.core.formats.mcp_tools_list.document import METHOD, compose
from registry.core.formats.mcp_tools_list.read import SLUG, dialect, read

__all__ = ["FORMAT", "METHOD", "compose", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="MCP tools/list reply",
    spec="Model Context Protocol 2026-07-28, tools/list",
    paths=(),
    media_types=("application/json",),
    role=Role.ENRICHER,
    read=read,
    rules=(mcp_parts.TOOL,),
    cap=CARD_CAP,
    precedence=105,
)
