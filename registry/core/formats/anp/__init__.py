"""ANP agent descriptions (Agent Network Protocol), in JSON and in the older JSON-LD, and collections of them."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath, never
from registry.core.formats.anp import rules
from registry.core.formats.anp.read import SLUG, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="ANP agent description",
    spec="ANP agent description 1.0",
    paths=("/.well-known/agent-descriptions", "/ad.json"),
    media_types=("application/json", "application/ld+json"),
    role=Role.SERVICE,
    read=read,
    rules=rules_in(rules),
    asks=frozenset({"service.unnamed"}),
    probe_paths=(
        ProbePath("S4", 220, "/.well-known/agent-descriptions", when=never),
        ProbePath("S4", 230, "/ad.json", fallback_of="/.well-known/agent-descriptions", when=never),
    ),
    precedence=170,
)
