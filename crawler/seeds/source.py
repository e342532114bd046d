"""What every source of names has in common."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A place where names come from."""

    slug: str  # stands in hosts.source; `waypost seed SLUG`
    says: str  # what it reads
    referrer: str  # what hosts.referrer says then


class BadSource(ValueError):
    """A source that cannot be read as it was named; nothing was taken from it. The message says what to mend."""


BROKEN_OFF = "source_"
"""Codes of refusals that begin so say that a source, or a part of it, was not read to its end."""
