"""How a score is computed, in words, for the documentation and the API; score.py computes it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from registry.core.model.findings import Section

QUESTIONS: Final[Mapping[Section, str]] = MappingProxyType(
    {
        Section.CONFORMANCE: "Does the document follow its own specification?",
        Section.COMPLETENESS: "Does an agent learn what it needs?",
        Section.SAFETY: "Are side effects told, and may the endpoints be called?",
        Section.OPERABILITY: "Is it served so that clients can use it?",
        Section.IDENTITY: "Does the host speak for itself?",
    }
)

METHOD: Final = (
    "The current documents of the host are merged into one service. Their findings, those that need two documents, and "
    "what no document says (`service.*`, `capability.*`) are collected. What a format cannot express is "
    "not a finding.",
    "Findings of one reason in one document are one line. It costs the points of its row, however often it was found; "
    "where it touches only some of the capabilities, their share of the points, at least a quarter.",
    "Each section keeps its points less those of its lines, never below zero. The score is the rounded sum.",
    "Severity does not change the price. An error means that a consumer cannot use the part, which is left out; a "
    "warning is a deviation whose meaning is clear; info is a note. A service whose documents have an error is not "
    "`verified`.",
    "Each line names its document and the place in it (a JSON Pointer), for a capability that lacks something the "
    "place that describes it. A line without a document is about the merged service: no single document causes it.",
    "No text raises a score by what it says: presence, structure and shares count.",
)

BESIDE: Final = (
    "`freshness`: when the host was last visited, when its documents were last seen, and whether that is too long ago. "
    "Time alone changes no score.",
    "`trust_level`: how the listing is backed. It does not follow from the score.",
    "`outcome` of hosts where nothing was found: only documents that were found are scored, and what is unknown costs "
    "nothing.",
)
