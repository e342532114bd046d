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
