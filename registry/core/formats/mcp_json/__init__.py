"""MCP discovery files that follow no specification: flat files, lists of servers, client configurations."""

import re
from typing import Final

from registry.core.format_support import mcp_parts
from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import CARD_CAP, HostFacts, ProbePath, Topic, never
from registry.core.formats.mcp_json import rules
from registry.core.formats.mcp_json.read import SLUG, at_mcp_path, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "at_mcp_path", "dialect"]

_CARD: Final = "/.well-known/mcp/server-card.json"


def _is_mcp_named(facts: HostFacts) -> bool:
    return facts.absent(_CARD, "/.well-known/mcp.json") and "mcp" in facts.words


FORMAT: Final = Format(
    slug=SLUG,
    title="MCP discovery file without a specification",
    spec="SEP-1649 and SEP-1960, drafts",
    paths=("/.well-known/mcp.json", "/.well-known/mcp", "/.well-known/mcp/server-cards.json", "/mcp.json"),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    rules=(*rules_in(rules), mcp_parts.NOTHING, mcp_parts.NO_REMOTE, mcp_parts.REMOTE, mcp_parts.TOOL),
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S3", 30, "/.well-known/mcp.json", fallback_of=_CARD),
        ProbePath("S1", 20, "/.well-known/mcp.json", fallback_of=_CARD, sub_host="mcp"),
        ProbePath("S4", 50, "/.well-known/mcp", when=_is_mcp_named),
        ProbePath("S4", 180, "/.well-known/mcp/server-cards.json", fallback_of=_CARD, when=never),
        ProbePath("S4", 190, "/mcp.json", fallback_of=_CARD, when=never),
    ),
    topics=(
        Topic("mcp", (b"mcp", b"model context protocol"), re.compile(rb"\bmcp\b|model context protocol"), in_home=True),
    ),
    absence_member="mcp",
    precedence=90,
)
