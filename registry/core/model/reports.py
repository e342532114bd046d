"""Reports about listings.

A report is a signal to the registry's operator: no number of reports changes how a host is listed or ranked.
"""

from collections.abc import Mapping
from typing import Final, Literal, get_args

Code = Literal["spam", "impersonation", "malware", "wrong", "dead", "other"]
CODES: Final[tuple[Code, ...]] = get_args(Code)

CODE_MEANS: Final[Mapping[Code, str]] = {
    "spam": "It exists to be found and offers nothing.",
    "impersonation": "It pretends to be another owner's service.",
    "malware": "It attacks or deceives those who call it.",
    "wrong": "What it says of itself is not true.",
    "dead": "It is not offered any more.",
    "other": "Something else, as the text says.",
}

ReportState = Literal["open", "in_review", "accepted", "rejected"]
STATES: Final[tuple[ReportState, ...]] = get_args(ReportState)
OPEN_STATES: Final[tuple[ReportState, ...]] = ("open", "in_review")
"""States in which further clients' reports for the same reason are added to a report."""

REASON_CHARS: Final = 500
ANSWER_CHARS: Final = 1_000
LEAST_REASON_CHARS: Final = 5
