"""UCP profiles (Universal Commerce Protocol): a shop's services, capabilities, payment handlers and keys."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath
from registry.core.formats.ucp import rules
from registry.core.formats.ucp.read import SLUG, at_own_path, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "at_own_path", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="UCP profile",
    spec="UCP 2026-04-08, Discovery",
    paths=("/.well-known/ucp",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    rules=rules_in(rules),
    probe_paths=(ProbePath("S3", 50, "/.well-known/ucp"),),
    absence_member="ucp",
    precedence=130,
)
