"""The largest documents that the reader admits, by which one request causes the most work. Generated."""

import json
from typing import Any, Final

ITEMS: Final = 4_900
"""Just below the reader's limit of items in one array."""


def adp(host: str, size: int = 1_900_000) -> bytes:
    """Return an ADP manifest of ITEMS capabilities and about `size` bytes."""
    text = "word " * max(1, (size // ITEMS - 90) // 5)
    capabilities = [
        {"name": f"capability-{number}", "description": text, "detail_url": f"/caps/{number}"}
        for number in range(ITEMS)
    ]  # fmt: skip
    manifest = {
        "spec_version": "1.0", "name": "Large", "description": "Has as many capabilities as fit into a document.",
        "base_url": f"https://{host}", "auth": {"type": "none"}, "pricing": {"type": "free"},
        "capabilities": capabilities,
    }  # fmt: skip
    return json.dumps(manifest).encode()


def awp(host: str) -> bytes:
    action = {"description": "word " * 30, "endpoint": "/do", "method": "POST", "auth_required": False,
              "inputs": {"station": {"type": "string", "required": True}}, "outputs": {}}  # fmt: skip
    actions = [{"id": f"action-{number}", **action} for number in range(ITEMS)]
    return json.dumps({"awp_version": "0.2", "domain": host, "intent": "Does everything.", "actions": actions}).encode()


def mcp(host: str) -> bytes:
    """Return an MCP server card with ITEMS tools of eight parameters each."""
    schema: dict[str, Any] = {
        "type": "object", "properties": {f"parameter{number}": {"type": "string"} for number in range(8)},
    }  # fmt: skip
    tools = [
        {"name": f"tool-{number}", "description": "Does it.", "inputSchema": schema} for number in range(ITEMS)
    ]  # fmt: skip
    return json.dumps({
        "serverInfo": {"name": "Large tools", "version": "1"}, "capabilities": {"tools": {}}, "tools": tools,
        "transport": {"type": "streamable-http", "endpoint": f"https://{host}/mcp"},
    }).encode()  # fmt: skip


LARGE_SITES: Final = {
    "large-adp.example": ("/.well-known/agent", adp),
    "large-awp.example": ("/agent.json", awp),
    "large-mcp.example": ("/.well-known/mcp/server-card.json", mcp),
}
"""Host -> path and document that it serves."""
