"""ATP 0.1, Agent Transfer Protocol: `/.well-known/agent.json` (formats.md section 2.2)."""

from registry.core.formats.atp.site import FORMAT, dialect, lax_dialect

__all__ = ["FORMAT", "dialect", "lax_dialect"]
