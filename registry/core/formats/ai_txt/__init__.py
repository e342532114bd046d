"""ai.txt: a policy in prose, searched for pointers to other documents."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.shapes import TEXT_TYPES, read_empty_service

__all__ = ["FORMAT"]


FORMAT: Final = Format(
    slug="ai-txt",
    title="ai.txt",
    spec="ai.txt convention",
    paths=("/ai.txt", "/.well-known/ai.txt"),
    media_types=TEXT_TYPES,
    role=Role.TEXT,
    read=read_empty_service,
    promised_paths=(),
    names_documents=True,
)
