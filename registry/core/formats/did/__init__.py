"""DID documents (W3C Decentralized Identifiers): identifiers and keys of a host, added to its service."""

from typing import Final

from registry.core.format_support import published_keys
from registry.core.format_support.format import Format, Role
from registry.core.formats.did.read import SLUG, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="DID document",
    spec="W3C Decentralized Identifiers 1.0 section 5",
    paths=("/.well-known/did.json",),
    media_types=("application/json", "application/did+json", "application/did+ld+json"),
    role=Role.ENRICHER,
    read=read,
    rules=rules_in(published_keys),
)
