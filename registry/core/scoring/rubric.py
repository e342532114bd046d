"""The rubric: all rules by code, and the method of the score in words. Pages, messages and /api/rubric read it.

score.py computes the score.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from registry.core.assessing import rules as assessing_rules
from registry.core.format_support import common_rules
from registry.core.formats import FORMATS
from registry.core.merging import rules as merging_rules
from registry.core.model.findings import Rule, Section, rules_in
from registry.core.reading import injection_rules
from registry.core.reading import rules as reading_rules
from registry.core.scoring import rules as scoring_rules

VERSION = "8"  # changes with every change of a rule; stored with each score

SECTION_POINTS: Mapping[Section, int] = MappingProxyType({
    Section.CONFORMANCE: 30,
    Section.COMPLETENESS: 30,
    Section.SAFETY: 15,
    Section.OPERABILITY: 15,
    Section.IDENTITY: 10,
})  # fmt: skip


def _rules() -> Iterator[Rule]:
    for module in (reading_rules, assessing_rules, injection_rules, common_rules):
        yield from rules_in(module)
    for form in FORMATS:
        yield from form.rules
    for module in (merging_rules, scoring_rules):
        yield from rules_in(module)
    yield from scoring_rules.ADVICE.values()


RUBRIC: Mapping[str, Rule] = MappingProxyType({rule.code: rule for rule in _rules()})
"""By code. A rule that several formats share is listed where it comes first."""


def rule_of(code: str) -> Rule | None:
    """Return the rule with this code; None for a code that no rule has any more."""
    return RUBRIC.get(code)


def fingerprint() -> str:
    """Return the sha256 of the whole rubric: a test pins it, so that no rule changes without a new VERSION."""
    rows = {
        rule.code: {
            "severity": rule.severity, "points": rule.points, "says": rule.says, "fix": rule.fix, "spec": rule.spec,
            "section": rule.section,
        }
        for rule in RUBRIC.values()
    }  # fmt: skip
    sections = {section.value: points for section, points in SECTION_POINTS.items()}
    text = json.dumps([sections, rows], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


QUESTIONS: Final[Mapping[Section, str]] = MappingProxyType({
    Section.CONFORMANCE: "Does the document follow its own specification?",
    Section.COMPLETENESS: "Does an agent learn what it needs?",
    Section.SAFETY: "Are side effects told, and may the endpoints be called?",
    Section.OPERABILITY: "Is it served so that clients can use it?",
    Section.IDENTITY: "Does the host speak for itself?",
})  # fmt: skip

METHOD: Final = (
    "The current documents of the host are merged into one service. Their findings, those that need two documents, and "
    "what no document says (`service.*`, `capability.*`) are collected.",
    "A document is graded against its own specification. What that demands, or says should be, costs points; what it "
    "only recommends, and what its own examples leave out, is a note. What other specifications ask for (a price, a "
    "rate limit, a provider, terms of use ...) is advice: a finding of severity info, without price (`advice.*`, and "
    "the rules of `service.*` and `capability.*` that cost nothing). So "
    "the complete example of a specification, served as it demands, loses no point.",
    "A host with documents of several formats is graded by the demands of all of them: what is missing costs points if "
    "at least one of the formats asks for it and no document of the host states it; for a capability, only the "
    "formats of the documents that describe it count. More documents therefore never hide a gap, and one of them may "
    "fill the gap of another.",
    "A service without a usable capability keeps nothing of completeness, safety and operability where one of its "
    "formats demands a capability; elsewhere the gap is a note.",
    "Findings of one reason in one document are one line. It costs the points of its row, however often it was found; "
    "where it touches only some of the capabilities, their share of the points, at least a quarter.",
    "Each section keeps its points less those of its lines, never below zero. The score is the rounded sum.",
    "Severity does not change the price. An error means that a consumer cannot use the part, which is left out; a "
    "warning is a deviation whose meaning is clear; info is a note. A service whose documents have an error is "
    "`partly-checked` at best.",
    "Each line names its document and the place in it (a JSON Pointer), for a capability that lacks something the "
    "place that describes it. A line without a document is about the merged service: no single document causes it.",
    "No text raises or lowers a score by what it says: presence, structure and shares count. Texts with a known "
    "pattern of prompt injection (`injection.*`) are flagged, which costs no points and earns none.",
)

BESIDE: Final = (
    "`freshness`: when the host was last visited, when its documents were last seen, and whether that is too long ago. "
    "Time alone changes no score.",
    "`trust.identity`: what is known of who serves it. It does not follow from the score, and no word says which "
    "person or company runs the host.",
    "`outcome` of hosts where nothing was found: only documents that were found are scored, and what is unknown costs "
    "nothing.",
)
