"""agent-permissions 1.0.0: advice to agents about a site's pages, and APIs to use instead. It is not a robots.txt."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath, always
from registry.core.formats.agent_permissions import rules
from registry.core.formats.agent_permissions.read import SLUG, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="agent-permissions",
    spec="agent-permissions 1.0.0",
    paths=("/.well-known/agent-permissions.json",),
    media_types=("application/json",),
    role=Role.POINTERS,
    read=read,
    rules=rules_in(rules),
    link_relations=("agent-permissions",),
    probe_paths=(ProbePath("S4", 90, "/.well-known/agent-permissions.json", when=always),),
    precedence=220,
)
