"""What several answers of a host show about one of its documents, and a single answer cannot."""

from collections.abc import Collection
from enum import StrEnum
from typing import Final


class Observation(StrEnum):
    """A deviation that was seen. It stays until a later visit shows the opposite."""

    NOT_REVALIDATED = "not_revalidated"  # If-None-Match with the current ETag was answered with the whole document
    NO_HOME_LINK = "no_home_link"  # the front page has no Link field with the relation agent-manifest to the document
    UNVERSIONED_CHANGE = "unversioned_change"  # an incompatible change without a new version


STORED_AS: Final = ":observed"
"""The key of the observations among the stored header fields of a document. No field name contains a colon (RFC 9110
section 5.1), so no site can send it."""


def to_text(observations: Collection[Observation]) -> str:
    """Return the names in order, separated by spaces."""
    return " ".join(sorted(observations))


def from_text(text: str) -> frozenset[Observation]:
    """Return what `to_text` wrote. Names that no longer exist are left out."""
    names = text.split()
    return frozenset(observation for observation in Observation if observation.value in names)
