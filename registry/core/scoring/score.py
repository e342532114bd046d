"""Compute the score, 0 to 100, with reasons, and list the rules that check each demand of a specification.

Every lost point is a line that names the finding, its document and its remedy.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from registry.core.format_support.format import Format
from registry.core.formats import FORMATS
from registry.core.merging.merge import LocatedFinding
from registry.core.model.findings import Finding, Rule, Severity
from registry.core.model.services import Service
from registry.core.scoring.checks import gaps
from registry.core.scoring.rubric import RUBRIC, SECTION_POINTS, VERSION

_PART = re.compile(r"/[^/]+/\d+")
_CAPABILITY = re.compile(r"/capabilities/(\d+)")


@dataclass(frozen=True, slots=True)
class Line:
    """One reason why the score is not 100. `points`: the loss (0 if the rule costs nothing). `count` findings share it.
    `pointer` and `evidence` are from the first finding, in `document`. Without `document`, no single document is to
    blame, and the pointer is into the common model."""

    rule: Rule
    points: float
    count: int
    pointer: str
    evidence: str
    document: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the line as it is stored and shown, JSON-ready."""
        rule = self.rule
        return {
            "reason": rule.code, "section": rule.section, "severity": rule.severity, "points": self.points,
            "count": self.count, "says": rule.says, "fix": rule.fix, "spec": rule.spec, "pointer": self.pointer,
            "evidence": self.evidence, "document": self.document,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Score:
    """`sections` holds the remaining points of each section; the value is their rounded sum."""

    value: int
    sections: dict[str, float]
    lines: tuple[Line, ...]
    version: str
    facts: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the breakdown as JSON-ready values. It is stored, so that readers see exactly what was computed."""
        return {
            "value": self.value, "sections": dict(self.sections), "lines": [line.to_json() for line in self.lines],
            "version": self.version, "facts": self.facts,
        }  # fmt: skip


def score(service: Service, findings: Sequence[LocatedFinding]) -> Score:
    """Return the score of a merged service with the findings of its documents; pure, so rescoring needs no crawl."""
    groups: dict[tuple[Rule, str | None], list[Finding]] = defaultdict(list)
    for located in findings:
        groups[located.finding.rule, located.document].append(located.finding)
    gaps_by_rule: dict[Rule, list[Finding]] = defaultdict(list)
    for finding in gaps(service):
        gaps_by_rule[finding.rule].append(finding)
    total = len(service.capabilities)
    lines = [_line(group, document, total) for (_, document), group in groups.items()]
    for group in gaps_by_rule.values():
        line = _line(group, None, total)
        index = _CAPABILITY.fullmatch(line.pointer)  # of a capability: the missing part belongs where it is described
        calls = service.capabilities[int(index[1])].invocations if index else ()
        origin = next((call.origin for call in calls if call.origin is not None), None)
        lines.append(replace(line, document=origin.document, pointer=origin.pointer) if origin else line)
    lines.sort(key=lambda line: (-line.points, line.rule.severity, line.rule.code, line.document or ""))
    sections = {
        section.value: round(max(0.0, points - sum(line.points for line in lines if line.rule.section is section)), 2)
        for section, points in SECTION_POINTS.items()
    }
    return Score(round(sum(sections.values())), sections, tuple(lines), VERSION, facts(service, findings))


def _line(findings: Sequence[Finding], document: str | None, total: int) -> Line:
    first, rule = findings[0], findings[0].rule
    points = round(rule.points * _share(findings, total, is_dropped=rule.severity is Severity.ERROR), 2)
    return Line(rule, points, sum(finding.count for finding in findings), first.pointer, first.evidence, document)


def _share(findings: Sequence[Finding], total: int, *, is_dropped: bool) -> float:
    """Return how much of the service a reason affects: all, or the share of its capabilities, at least a quarter.
    `total`: the number of capabilities that remain. Capabilities that an error dropped are added to it."""
    matches = [_PART.match(finding.pointer) for finding in findings]
    parts = {match.group() for match in matches if match}
    if not all(matches):
        return 1.0  # one finding is about the whole service, so those about parts change nothing
    affected = len(parts) + sum(finding.count - 1 for finding in findings)
    return max(0.25, min(1.0, affected / max(1, total + affected * is_dropped)))


def facts(service: Service, findings: Sequence[LocatedFinding]) -> dict[str, Any]:
    """Return the numbers that the score was computed from. They are stored with it."""
    severities = [located.finding.rule.severity for located in findings]
    return {
        "capabilities": len(service.capabilities),
        "described": sum(bool(capability.description) for capability in service.capabilities),
        "with_params": sum(capability.params is not None for capability in service.capabilities),
        "side_effects_told": sum(capability.side_effects is not None for capability in service.capabilities),
        "off_site": sum(any(call.off_site for call in capability.invocations) for capability in service.capabilities),
        "auth_schemes": sorted({scheme.type for scheme in service.auth.schemes}),
        "errors": severities.count(Severity.ERROR),
        "warnings": severities.count(Severity.WARNING),
        "notes": severities.count(Severity.INFO),
        "synthetic": service.synthetic,
    }


def specified() -> tuple[Format, ...]:
    """Return the formats that have a table of the demands of their specification."""
    return tuple(form for form in FORMATS if form.requirements)


def checks(form: Format) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules that check each demand of a format, by the id of the demand, in the order of the rubric."""
    return {row.id: tuple(rule for rule in RUBRIC.values() if rule.code in row.checked_by) for row in form.requirements}
