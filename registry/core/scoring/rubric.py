"""The rubric: every rule of every format and the general ones, by code. Pages, messages and /api/rubric read it."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from registry.core.assessing import rules as assessing_rules
from registry.core.format_support import common_rules
from registry.core.formats import FORMATS
from registry.core.merging import rules as merging_rules
from registry.core.model.findings import Rule, Section, rules_in
from registry.core.reading import injection_rules
from registry.core.reading import rules as reading_rules
from registry.core.scoring import rules as scoring_rules

VERSION = "6"
"""Changes with every change of a rule; stored beside each score."""

SECTION_POINTS: Mapping[Section, int] = MappingProxyType(
    {
        Section.CONFORMANCE: 30,
        Section.COMPLETENESS: 30,
        Section.SAFETY: 15,
        Section.OPERABILITY: 15,
        Section.IDENTITY: 10,
    }
)


def _rules() -> Iterator[Rule]:
    for module in (reading_rules, assessing_rules, injection_rules, common_rules):
        yield from rules_in(module)
    for form in FORMATS:
        yield from form.rules
    for module in (merging_rules, scoring_rules):
        yield from rules_in(module)


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
