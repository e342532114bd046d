"""WoA draft-00, Web of Agents: `/.well-known/woa.json` (formats.md section 2.3)."""

from registry.core.formats.woa.host import FORMAT, dialect

__all__ = ["FORMAT", "dialect"]
