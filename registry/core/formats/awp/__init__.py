"""AWP, Agent Web Protocol 0.1 and 0.2: `agent.json` (formats.md section 2.1)."""

from registry.core.formats.awp.surface import FORMAT, dialect, legacy_dialect

__all__ = ["FORMAT", "dialect", "legacy_dialect"]
