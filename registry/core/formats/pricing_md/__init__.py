"""pricing.md: prices in prose. Its URL is kept; the prose is not interpreted."""

import re
from typing import Final

from registry.core.format_support.endpoints import link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import Notes
from registry.core.format_support.probing import ProbePath, Topic
from registry.core.format_support.shapes import TEXT_TYPES
from registry.core.model.documents import Document
from registry.core.model.services import Pricing, Service


def read(document: Document, dialect: str, notes: Notes) -> Service:
    return Service(pricing=Pricing(url=link(document.url, document.url)))


FORMAT: Final = Format(
    slug="pricing-md",
    title="pricing.md",
    spec="pricing.md convention",
    about="A text that tells agents what a service costs. This registry searches it for documents for agents.",
    example=("# Pricing\n\nAll calls are free. See the [OpenAPI description](https://example.com/openapi.json).\n"),
    paths=("/pricing.md",),
    media_types=TEXT_TYPES,
    role=Role.TEXT,
    read=read,
    no_parts="a text",
    probe_paths=(ProbePath("S4", 110, "/pricing.md", when=lambda facts: "pricing.md" in facts.words),),
    topics=(Topic("pricing.md", (b"/pricing.md",), re.compile(rb"/pricing\.md\b")),),
)
