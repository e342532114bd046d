"""The types for a table of a specification's requirements. Each rule names the requirements that it checks."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Level(StrEnum):
    """How strongly the specification demands it."""

    MUST = "MUST"  # also MUST NOT
    SHOULD = "SHOULD"  # also SHOULD NOT, and a plain "should" of texts without capitals
    RECOMMENDED = "RECOMMENDED"  # also best practices and guidelines
    REQUIRED = "REQUIRED"  # a member marked required, in a table or in the outline of an object
    LIMIT = "LIMIT"  # a type, a set of words, a form, a length or a size, stated without any of these words


MUST, SHOULD, RECOMMENDED, REQUIRED, LIMIT = Level


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of one specification, paraphrased.

    `section` is the section number or, where the text has none, the heading. `unobservable` says why a visit cannot
    check it, or where waypost itself meets it; "" where rules check it.
    """

    id: str
    section: str
    level: Level
    says: str
    unobservable: str = ""


CALLER: Final = "Binds agents that call the service; waypost calls none."
RUNTIME: Final = "Shows only when the service is called; waypost reads documents and calls no service."
AUTHOR: Final = "Only its author knows; a document does not show it."
