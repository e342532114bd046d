"""auth.md: a description in prose of how agents authenticate. Its URL is kept; the prose is searched for pointers."""

import re
from typing import Final

from registry.core.format_support.endpoints import link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import Notes
from registry.core.format_support.probing import ProbePath, Topic
from registry.core.format_support.shapes import TEXT_TYPES
from registry.core.model.documents import Document
from registry.core.model.services import Service


def read(document: Document, dialect: str, notes: Notes) -> Service:
    return Service(docs_url=link(document.url, document.url))


FORMAT: Final = Format(
    slug="auth-md",
    title="auth.md",
    spec="auth.md convention",
    about="A text that tells agents how to get credentials. This registry searches it for documents for agents.",
    example=(
        "# Authentication\n\nNo key is needed. See the [OpenAPI description](https://example.com/openapi.json).\n"
    ),
    paths=("/auth.md",),
    media_types=TEXT_TYPES,
    role=Role.TEXT,
    read=read,
    no_parts="a text",
    probe_paths=(ProbePath("S4", 100, "/auth.md", when=lambda facts: "auth.md" in facts.words),),
    topics=(Topic("auth.md", (b"/auth.md",), re.compile(rb"/auth\.md\b")),),
    names_documents=True,
)
