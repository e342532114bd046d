"""agents.txt: a policy in prose, searched for pointers to other documents."""

from registry.core.format_support.format import text_format

FORMAT = text_format("agents-txt", "agents.txt", "agents.txt convention", "/agents.txt")
