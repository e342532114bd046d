"""The document that holds the tools of an MCP server: the pages of its replies, as one JSON object.

A reply itself is not stored, because the ids, cursors and lifetimes in it change with every request.
"""

import json
from collections.abc import Sequence
from typing import Final

from registry.core.model.documents import Json

METHOD: Final = "tools/list"


def compose(tools: Sequence[Json], *, server: Json, version: str, complete: bool) -> bytes:
    """Return the document. `version`: of the protocol. `complete`: False when the server has more tools."""
    value = {
        "method": METHOD,
        "protocol": version,
        "server": server,
        "complete": complete,
        "result": {"tools": tools},
    }
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # lone surrogates
        return json.dumps(value, separators=(",", ":")).encode()
