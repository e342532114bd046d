"""AWAS, AI-readable Web Action Standard: `/.well-known/ai-actions.json` and bridges (formats.md section 2.4)."""

from registry.core.formats.awas.catalogue import FORMAT, OWN_PATHS, weak_dialect

__all__ = ["FORMAT", "OWN_PATHS", "weak_dialect"]
