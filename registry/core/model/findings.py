"""Rules that a document can break, and findings: where one breaks a rule."""

import re
from dataclasses import dataclass
from enum import StrEnum
from types import ModuleType
from typing import Final

EVIDENCE_CHARS = 200
_LOSS: Final = re.compile(r"\b(?:left out|removed|only the first one counts)\b")
_ABSENCE: Final = re.compile(r"^No |\b(?:missing|lacks?|ha(?:s|ve) no|neither|names no|without)\b")


class Severity(StrEnum):
    """How a finding is graded."""

    ERROR = "error"  # the part cannot be used and is left out
    WARNING = "warning"  # a deviation whose meaning is clear
    INFO = "info"  # a note


class Section(StrEnum):
    """The part of the score that a finding lowers. A score is the sum of the remaining points of all sections."""

    CONFORMANCE = "conformance"  # does the document follow its own specification
    COMPLETENESS = "completeness"  # does it contain what an agent needs
    SAFETY = "safety"  # side effects, confirmation, endpoints that may be called
    OPERABILITY = "operability"  # is it served so that clients can use it
    IDENTITY = "identity"  # does the host speak for itself


ERROR, WARNING, INFO = Severity
CONFORMANCE, COMPLETENESS, SAFETY, OPERABILITY, IDENTITY = Section


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A possible mistake, with the points it costs and its texts. Compared and hashed by identity.

    `code` is stored in databases and shown to users: it never changes. `points` are lost from `section` when the rule
    is broken for the whole service, never more by repetition. `says` is one sentence about the finding, `fix` the
    advice to the operator, `spec` the source of the demand. `rationale`: why a format has a rule that no demand of its
    specification is behind.
    """

    code: str
    severity: Severity
    points: float
    section: Section
    spec: str
    says: str
    fix: str
    rationale: str = ""

    @property
    def is_about_loss(self) -> bool:
        """Return whether the rule says that the part is left out."""
        return self.severity is Severity.ERROR or _LOSS.search(self.says) is not None

    @property
    def is_about_absence(self) -> bool:
        """Return whether the rule says that something is missing: wrong words for a part that has a wrong type."""
        return _ABSENCE.search(self.says) is not None


def rules_in(module: ModuleType) -> tuple[Rule, ...]:
    """Return the rules that a module defines or imports by name, in the order of definition."""
    return tuple(value for value in vars(module).values() if isinstance(value, Rule))


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule and the place where it is broken. `pointer` is a JSON Pointer (RFC 6901), "" for the whole
    document. `evidence` is the offending value as short text (at most EVIDENCE_CHARS characters), "" if the absence
    itself is the evidence. `count` is more than 1 if the finding represents others of the same rule that are not
    kept."""

    rule: Rule
    pointer: str = ""
    evidence: str = ""
    count: int = 1
