"""agents.txt: a policy in prose, searched for pointers to other documents."""

from typing import Final

from registry.core.format_support.format import text_format

FORMAT: Final = text_format(
    "agents-txt",
    "agents.txt",
    "agents.txt convention",
    "/agents.txt",
    about=(
        "A text in which a site tells agents what is there for them. This registry searches it for documents "
        "for agents."
    ),
    example=("# For agents\n\nThe API: https://example.com/openapi.json\n"),
)
