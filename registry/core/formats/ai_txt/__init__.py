"""ai.txt: a policy in prose, searched for pointers to other documents."""

from typing import Final

from registry.core.format_support.format import text_format

FORMAT: Final = text_format(
    "ai-txt",
    "ai.txt",
    "ai.txt convention",
    "/ai.txt",
    "/.well-known/ai.txt",
    about="A text in which a site states its rules for AI. This registry searches it for documents for agents.",
    example=("# Rules for AI\n\nAgents may call the API: https://example.com/openapi.json\n"),
)
