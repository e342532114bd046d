"""Parts of the JSON Schemas of the tools (draft 2020-12, which MCP takes for the default), and their limits.

Each object of this registry's own lists its members and refuses others; objects that a site's documents define (`call`,
`policies`) are open. No `$ref`, because not every host of a model resolves it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from registry.core.model.listing import TrustLevel
from registry.core.reading.reader import MAX_CHARS

Schema = dict[str, Any]

LEAST_BYTES, DEFAULT_BYTES, MOST_BYTES = 4_000, 16_000, 60_000
"""Bytes of a result, its structured content and its text together, in UTF-8: some four for a token of English."""

DEFAULT_ROWS, MOST_ROWS = 5, 20
QUESTION_CHARS, NAME_CHARS, HOST_CHARS, URL_CHARS = 400, 500, 300, 2_048
MANIFEST_CHARS: Final = MAX_CHARS
"""The strict reader takes no longer text in a message. Longer documents are for `POST /api/validate`."""

TRUST_LEVELS: Final = [level.value for level in TrustLevel]


def closed(properties: Mapping[str, Schema], required: Sequence[str] | None = None, **more: Any) -> Schema:
    """Return the schema of an object with these members and no others; all are required unless `required` is given."""
    names = list(properties) if required is None else list(required)
    return {
        "type": "object", "properties": dict(properties), "required": names, "additionalProperties": False, **more,
    }  # fmt: skip


def text(description: str = "", **more: Any) -> Schema:
    return {"type": "string", **_described(description), **more}


def whole(description: str = "", **more: Any) -> Schema:
    return {"type": "integer", **_described(description), **more}


def number(description: str = "") -> Schema:
    return {"type": "number", **_described(description)}


def flag(description: str = "") -> Schema:
    return {"type": "boolean", **_described(description)}


def or_null(kind: str, description: str = "") -> Schema:
    """Return the schema of a value that may be null. A list of types would say the same, but not to every host."""
    return {"anyOf": [{"type": kind}, {"type": "null"}], **_described(description)}


def listed(items: Schema, description: str = "", **more: Any) -> Schema:
    return {"type": "array", "items": items, **_described(description), **more}


def anything(description: str) -> Schema:
    """Return the schema of an object whose members come from the documents of a site."""
    return {"type": "object", "description": description}


def _described(description: str) -> Schema:
    return {"description": description} if description else {}
