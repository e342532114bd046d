"""Copies another waypost: loads its dump, then follows its change feed (docs/adr/0032)."""
