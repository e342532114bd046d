"""AI Catalog 1.0 and ARD 0.9/0.91: a publisher's list of agents, servers, APIs and skills."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import CARD_CAP, ProbePath
from registry.core.formats.ai_catalog import rules
from registry.core.formats.ai_catalog.read import SLUG, at_own_path, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "at_own_path", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="AI Catalog / ARD manifest",
    spec="ARD 0.91; AI Catalog 1.0",
    paths=("/.well-known/ard.json", "/.well-known/ai-catalog.json"),
    media_types=("application/json", "application/ai-catalog+json", "application/ld+json"),
    role=Role.POINTERS,
    read=read,
    rules=rules_in(rules),
    link_relations=("ard", "ai-catalog"),
    accept="application/ai-catalog+json",
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S1", 10, "/.well-known/ard.json"),
        ProbePath("S1", 20, "/.well-known/ai-catalog.json", fallback_of="/.well-known/ard.json"),
        ProbePath("S1", 40, "/.well-known/ard.json", sub_host="mcp"),
        ProbePath("S1", 20, "/.well-known/ard.json", sub_host="docs"),
    ),
    precedence=190,
)
