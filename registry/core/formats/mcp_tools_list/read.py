"""Read the tools of an MCP server from the document that `document.compose` makes of its replies.

The format is an enricher: the tools count only if another document of the host names the endpoint
(`merging/details.py`). The document has the URL of the endpoint.
"""

from typing import Final

from registry.core.format_support.endpoints import Endpoint
from registry.core.format_support.manifest import Notes, list_of, map_of, text_of, with_provenance
from registry.core.format_support.mcp_parts import tools
from registry.core.formats.mcp_tools_list.document import METHOD
from registry.core.model.documents import Document
from registry.core.model.services import Service

SLUG: Final = "mcp-tools-list"
_TOOLS: Final = "/result/tools"


def dialect(document: Document) -> str | None:
    value = document.value
    if not isinstance(value, dict) or text_of(value, "method") != METHOD:
        return None
    return "" if isinstance(map_of(value, "result").get("tools"), list) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    body = document.value if isinstance(document.value, dict) else {}
    capabilities = tools(
        list_of(map_of(body, "result"), "tools"), _TOOLS, Endpoint(document.url), document, SLUG, notes
    )
    return with_provenance(Service(capabilities=capabilities), document, SLUG, {"capabilities": _TOOLS})
