"""What a row of the table of requirements is."""

from dataclasses import dataclass
from enum import StrEnum

from registry.core.findings import Reason


class Level(StrEnum):
    """How strongly the text asks."""

    MUST = "MUST"  # also MUST NOT
    SHOULD = "SHOULD"  # also SHOULD NOT, and a plain "should" of texts without capitals
    RECOMMENDED = "RECOMMENDED"  # also best practices and guidelines
    REQUIRED = "REQUIRED"  # a member marked required, in a table or in the sketch of an object
    LIMIT = "LIMIT"  # a type, a set of words, a form, a length, a size: stated without such a word


@dataclass(frozen=True, slots=True)
class Requirement:
    """One demand of one specification, in our words.

    `reasons` report that it is broken; empty where nothing that a visit sees could show it, and then `unseen` says why,
    or where we keep to it ourselves. `section`: the number or, where the text has none, the heading.
    """

    id: str
    section: str
    level: Level
    says: str
    reasons: tuple[Reason, ...] = ()
    unseen: str = ""


def seen(id: str, section: str, level: Level, says: str, *reasons: Reason) -> Requirement:
    """A demand that findings report."""
    return Requirement(id, section, level, says, reasons)


def unseen(id: str, section: str, level: Level, says: str, why: str) -> Requirement:
    """A demand that no finding can report."""
    return Requirement(id, section, level, says, unseen=why)


CALLER = "Binds agents that call the service; waypost calls none."
RUNTIME = "Shows only when the service is called; waypost reads documents and calls no service."
AUTHOR = "Only its author knows; a document does not show it."
