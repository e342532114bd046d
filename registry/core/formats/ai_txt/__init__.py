"""ai.txt: a policy in prose, searched for pointers to other documents."""

from registry.core.format_support.format import text_format

FORMAT = text_format("ai-txt", "ai.txt", "ai.txt convention", "/ai.txt", "/.well-known/ai.txt")
