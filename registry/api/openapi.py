"""`python -m registry.api.openapi FILE` writes the OpenAPI document, as `make docs` does; a test compares it."""

import sys
from pathlib import Path

import orjson

from registry.api.app import make_routes
from registry.settings import Settings


def document() -> bytes:
    """The document as it is kept in docs/openapi.json: sorted, indented, the same whatever the settings."""
    content = make_routes(Settings()).openapi()
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(document())
