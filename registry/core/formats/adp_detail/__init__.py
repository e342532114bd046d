"""ADP capability details: the documents at the `detail_url` of capabilities (ADP 1.0 section 5)."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.shapes import LIST, OBJECT, TEXT
from registry.core.formats.adp_detail import rules
from registry.core.formats.adp_detail.read import SLUG, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="ADP capability detail",
    spec="Agent Discovery Protocol 1.0 section 5",
    about=(
        "One capability of an ADP manifest in full: its address, parameters and examples. The manifest links "
        "to it with detail_url."
    ),
    link="https://agent-dns.dev/",
    example={
        "name": "get_weather",
        "description": "Tell the weather of a city.",
        "endpoint": "/weather",
        "method": "GET",
        "parameters": [
            {
                "name": "city",
                "type": "string",
                "required": True,
                "description": "Name of the city.",
                "example": "Oslo",
            },
        ],
        "request_example": {"method": "GET", "url": "https://example.com/weather?city=Oslo"},
        "response_example": {"status": 200, "body": {"temperature": 7}},
    },
    paths=(),
    media_types=("application/json",),
    role=Role.ENRICHER,
    read=read,
    no_parts="a detail describes one call",
    types={
        **dict.fromkeys(("/name", "/description", "/endpoint", "/method"), TEXT),
        **dict.fromkeys(("/parameters/[]/name", "/parameters/[]/type", "/parameters/[]/description"), TEXT),
        **dict.fromkeys(("/request_example", "/response_example"), OBJECT),
        "/parameters": LIST,
    },
    rules=rules_in(rules),
    asks=frozenset({"capability.without_params"}),
)
