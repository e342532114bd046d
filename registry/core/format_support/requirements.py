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


class Verdict(StrEnum):
    """Why no finding reports a requirement, or whom it binds instead of the site."""

    OURS = "binds us"  # clients and registries: waypost keeps to it
    CALLERS = "binds callers"  # agents that call the service: waypost calls none
    NOT_OBSERVABLE = "not observable"  # no visit shows it, as visits are made
    NOT_GRADED = "not graded"  # a visit may show it, but nothing is concluded from it


@dataclass(frozen=True, slots=True)
class Remark:
    """What is to be known of a requirement that no finding reports. `text` may be "" for CALLERS."""

    verdict: Verdict
    text: str


def ours(text: str) -> Remark:
    return Remark(Verdict.OURS, text)


def callers(text: str) -> Remark:
    return Remark(Verdict.CALLERS, text)


def not_observable(text: str) -> Remark:
    return Remark(Verdict.NOT_OBSERVABLE, text)


def not_graded(text: str) -> Remark:
    return Remark(Verdict.NOT_GRADED, text)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of one specification, paraphrased.

    `section` is the section number or, where the text has none, the heading. `remark` is None where rules check it.
    """

    id: str
    section: str
    level: Level
    says: str
    remark: Remark | None = None


CALLER: Final = callers("")
RUNTIME: Final = not_observable("Shows only when the service is called; waypost reads documents and calls no service.")
AUTHOR: Final = not_observable("Only its author knows; a document does not show it.")
