"""OAuth authorization server metadata (RFC 8414): adds authentication to a service."""

from typing import Final

from registry.core.format_support import oauth
from registry.core.format_support.format import Format, Role
from registry.core.format_support.oauth import AUTHORIZATION_SERVER
from registry.core.formats.oauth_authorization_server.read import dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect"]

FORMAT: Final = Format(
    slug=AUTHORIZATION_SERVER,
    title="OAuth authorization server metadata",
    spec="RFC 8414 section 2",
    paths=("/.well-known/oauth-authorization-server",),
    media_types=("application/json",),
    role=Role.ENRICHER,
    read=read,
    rules=rules_in(oauth),
)
