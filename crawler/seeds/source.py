"""What all sources of names have in common."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of source of names."""

    slug: str  # stored in hosts.source
    says: str  # what it reads
    referrer: str  # what is stored in hosts.referrer


class BadSource(ValueError):
    """A source that cannot be read; nothing was taken from it. The message says what to fix."""


BROKEN_OFF = "source_"
"""Prefix of refusal codes that mean that a source, or a part of it, was not read to its end."""
