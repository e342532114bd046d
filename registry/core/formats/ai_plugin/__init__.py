"""ai-plugin.json: manifests of a discontinued platform. The APIs that they name often still exist."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath, always
from registry.core.formats.ai_plugin import rules
from registry.core.formats.ai_plugin.read import SLUG, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="ai-plugin manifest",
    spec="ai-plugin v1",
    paths=("/.well-known/ai-plugin.json",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    rules=rules_in(rules),
    asks=frozenset({"service.unnamed", "service.undescribed", "service.auth_unknown", "capability.unreachable"}),
    probe_paths=(ProbePath("S4", 30, "/.well-known/ai-plugin.json", when=always),),
    precedence=210,
)
