"""OASF records: entries of a directory, recognised so that no other format claims them. Sites seldom serve them."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.formats.oasf.read import SLUG, dialect, read

__all__ = ["FORMAT", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="OASF record",
    spec="OASF 1.0.0, record",
    paths=(),
    media_types=("application/json",),
    role=Role.ENRICHER,
    read=read,
)
