"""RFC 9727 API catalogues: a linkset (RFC 9264) that links each API to its descriptions."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import CARD_CAP, ProbePath
from registry.core.formats.api_catalog import rules
from registry.core.formats.api_catalog.read import SLUG, at_own_path, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "at_own_path", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="API catalogue (RFC 9727)",
    spec="RFC 9727 section 4; RFC 9264 section 4.2",
    paths=("/.well-known/api-catalog",),
    media_types=("application/linkset+json", "application/json"),
    role=Role.POINTERS,
    read=read,
    rules=rules_in(rules),
    link_relations=("api-catalog",),
    accept="application/linkset+json",
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S1", 30, "/.well-known/api-catalog"),
        ProbePath("S1", 50, "/.well-known/api-catalog", sub_host="api"),
        ProbePath("S1", 30, "/.well-known/api-catalog", sub_host="docs"),
    ),
    precedence=200,
)
