"""AID (Agent Identity and Discovery): a record, in DNS or as JSON at `/.well-known/agent`, that names one address."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.formats.aid import rules
from registry.core.formats.aid.read import SLUG, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="AID record",
    spec="AID 2, record format",
    paths=("/.well-known/agent",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    rules=rules_in(rules),
    promised_paths=(),
    precedence=180,
    follows_redirects=False,  # AID 2: only a record served at the requested URL counts
)
