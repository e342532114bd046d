"""server.json of the MCP registry, in its dated schemas and in the shape of May 2025."""

from typing import Final

from registry.core.format_support import mcp_parts
from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath, never
from registry.core.formats.mcp_server_json import rules
from registry.core.formats.mcp_server_json.read import SLUG, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="MCP registry record (server.json)",
    spec="server.json schema of the MCP registry",
    paths=("/server.json",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    rules=(*rules_in(rules), mcp_parts.REQUIRED, mcp_parts.NO_REMOTE, mcp_parts.REMOTE, mcp_parts.TOOL),
    asks=frozenset({"service.unnamed", "service.undescribed", "service.unversioned"}),
    probe_paths=(ProbePath("S4", 200, "/server.json", when=never),),
    precedence=100,
)
