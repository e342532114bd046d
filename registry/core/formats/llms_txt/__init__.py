"""llms.txt (llmstxt.org): a title, a summary and links for language models. It is searched for pointers."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath
from registry.core.formats.llms_txt import rules
from registry.core.formats.llms_txt.read import SLUG, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT"]

FORMAT: Final = Format(
    slug=SLUG,
    title="llms.txt",
    spec="llmstxt.org, Format",
    paths=("/llms.txt", "/.well-known/llms.txt"),
    media_types=("text/plain", "text/markdown"),
    role=Role.TEXT,
    read=read,
    rules=rules_in(rules),
    promised_paths=("/.well-known/llms.txt",),
    probe_paths=(
        ProbePath("S1", 40, "/llms.txt"),
        ProbePath("S1", 10, "/llms.txt", sub_host="docs"),
    ),
    names_documents=True,
    precedence=230,
)
