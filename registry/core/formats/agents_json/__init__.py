"""agents.json 0.1 (Wildcard): flows that combine operations of the OpenAPI descriptions that it names."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath, always, never
from registry.core.formats.agents_json import rules
from registry.core.formats.agents_json.read import SLUG, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="agents.json",
    spec="agents.json 0.1.0",
    paths=("/.well-known/agents.json", "/agents.json"),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    rules=rules_in(rules),
    asks=frozenset({"capability.undescribed", "capability.without_params"}),
    probe_paths=(
        ProbePath("S4", 40, "/.well-known/agents.json", when=always),
        ProbePath("S4", 150, "/agents.json", fallback_of="/.well-known/agents.json", when=never),
    ),
    precedence=120,
)
