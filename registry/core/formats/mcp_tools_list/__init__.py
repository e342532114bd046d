"""The tools of an MCP server, as it lists them itself: replies to `tools/list`, requested by POST.

A reply itself is not stored, because the ids, cursors and lifetimes in it change with every request.

The format is an enricher: the tools count only if another document of the host names the endpoint
(`merging/details.py`). The document has the URL of the endpoint.
"""

import json
from collections.abc import Sequence
from typing import Final

from registry.core.format_support import mcp_parts
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import Endpoint
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import Notes, list_of, map_of, text_of, with_provenance
from registry.core.format_support.mcp_parts import tools
from registry.core.format_support.probing import CARD_CAP
from registry.core.model.documents import Document, Json
from registry.core.model.services import Service

METHOD: Final = "tools/list"


def compose(tools: Sequence[Json], *, server: Json, version: str, complete: bool) -> bytes:
    """Return the document. `version`: of the protocol. `complete`: False when the server has more tools."""
    value = {"method": METHOD, "protocol": version, "server": server, "complete": complete, "result": {"tools": tools}}
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # lone surrogates
        return json.dumps(value, separators=(",", ":")).encode()


SLUG: Final = "mcp-tools-list"
_TOOLS: Final = "/result/tools"


def dialect(document: Document) -> str | None:
    value = document.members
    if text_of(value, "method") != METHOD:
        return None
    return "" if isinstance(map_of(value, "result").get("tools"), list) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    body = document.members
    capabilities = tools(
        list_of(map_of(body, "result"), "tools"), _TOOLS, Endpoint(document.url), document, SLUG, notes
    )
    return with_provenance(Service(capabilities=capabilities), document, SLUG, {"capabilities": _TOOLS})


FORMAT: Final = Format(
    slug=SLUG,
    title="MCP tools/list reply",
    spec="Model Context Protocol 2026-07-28, tools/list",
    cited_as="Model Context Protocol ",
    about=(
        "The list of tools with which an MCP server answers. The crawler asks listed servers for it; sites need "
        "not publish it as a file."
    ),
    link="https://modelcontextprotocol.io/specification/latest",
    example=(
        '{"jsonrpc": "2.0", "id": 1, "result": {"tools": [\n'
        '  {"name": "get_weather", "description": "Tell the weather of a city.",\n'
        '   "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}\n'
        "]}}\n"
    ),
    paths=(),
    role=Role.ENRICHER,
    read=read,
    parts=(Part(f"{_TOOLS}/[]", "tool", members=mcp_parts.TOOL_TYPES),),
    rules=(mcp_parts.TOOL,),
    cap=CARD_CAP,
    precedence=105,
)
