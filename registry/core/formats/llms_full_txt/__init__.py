"""llms-full.txt: the pages of a site in one text, searched for pointers to other documents."""

from typing import Final

from registry.core.format_support.format import text_format

FORMAT: Final = text_format("llms-full-txt", "llms-full.txt", "llmstxt.org", "/llms-full.txt")
