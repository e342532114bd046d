"""llms-full.txt: the pages of a site in one text, searched for pointers to other documents."""

from typing import Final

from registry.core.format_support.format import text_format

FORMAT: Final = text_format(
    "llms-full-txt",
    "llms-full.txt",
    "llmstxt.org",
    "/llms-full.txt",
    about=("All texts of a site in one file, for language models. This registry searches it for documents for agents."),
    link="https://llmstxt.org/",
    example=(
        "# City weather\n"
        "\n"
        "> Tells the weather of any city.\n"
        "\n"
        "The API is described at https://example.com/openapi.json.\n"
    ),
)
