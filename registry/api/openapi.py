"""Writes the OpenAPI document that is kept in docs/openapi.json."""

import orjson

from registry.api.app import make_routes


def document() -> bytes:
    """Return the document as sorted, indented JSON; it does not depend on the settings."""
    content = make_routes().openapi()
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
