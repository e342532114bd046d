"""OAuth protected resource metadata (RFC 9728): adds to a service and names its authorization servers."""

from typing import Final

from registry.core.format_support import oauth
from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath
from registry.core.formats.oauth_protected_resource.read import SLUG, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="OAuth protected resource metadata",
    spec="RFC 9728 section 2",
    paths=("/.well-known/oauth-protected-resource",),
    media_types=("application/json",),
    role=Role.ENRICHER,
    read=read,
    rules=rules_in(oauth),
    probe_paths=(
        ProbePath("S4", 60, "/.well-known/oauth-protected-resource", when=lambda facts: facts.rpc_here),
        ProbePath("S1", 30, "/.well-known/oauth-protected-resource", sub_host="mcp"),
    ),
)
