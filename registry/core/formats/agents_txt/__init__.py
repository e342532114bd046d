"""agents.txt: a policy in prose, searched for pointers to other documents."""

from typing import Final

from registry.core.format_support.format import text_format

FORMAT: Final = text_format("agents-txt", "agents.txt", "agents.txt convention", "/agents.txt")
