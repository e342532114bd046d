"""What was seen in a document, as codes. Sentences, points, remedies and references live in scoring/rubric.py."""

from dataclasses import dataclass
from enum import StrEnum

EVIDENCE_CHARS = 200


class Severity(StrEnum):
    """How a finding is graded (formats.md section 0): error drops the part, warning deviates, info is a note."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Reason(StrEnum):
    """One code per rule; grouped by the format whose specification makes the rule. Each has a row in RUBRIC."""

    # every document
    NOT_UTF8 = "document.encoding"
    EMPTY = "document.empty"
    NOT_JSON = "document.not_json"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was seen and where; never a sentence.

    `pointer` is a JSON Pointer (RFC 6901), "" for the whole document. `evidence` is the offending value as short
    text (at most EVIDENCE_CHARS characters), "" where the absence itself is the evidence.
    """

    reason: Reason
    pointer: str = ""
    evidence: str = ""
