"""0 to 100 with reasons: every point lost is a line that names the finding, its document and its remedy."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from registry.core.findings import Finding, Reason, Severity
from registry.core.merge import Noted
from registry.core.scoring.checks import gaps
from registry.core.scoring.rubric import RUBRIC, SECTION_POINTS, VERSION, Section
from registry.core.services import Service

_PART = re.compile(r"/[^/]+/\d+")
_CAPABILITY = re.compile(r"/capabilities/(\d+)")


@dataclass(frozen=True, slots=True)
class Line:
    """One reason the score is not 100. `points` are lost ones (0 for notes); `count` findings share the line.

    `pointer` and `evidence` are those of the first finding, in `document`. Where that is None, no single document is
    to blame, and the pointer leads into the common model.
    """

    reason: Reason
    section: Section
    severity: Severity
    points: float
    count: int
    says: str
    fix: str
    spec: str
    pointer: str
    evidence: str
    document: str | None


@dataclass(frozen=True, slots=True)
class Score:
    """`sections` holds what is left of each section's points; the value is their rounded sum."""

    value: int
    sections: dict[str, float]
    lines: tuple[Line, ...]
    version: str
    facts: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready: what is stored and shown, so that the breakdown shown is the one that was computed."""
        return asdict(self)


def score(service: Service, noted: Sequence[Noted]) -> Score:
    """The score of a merged service with the findings of its documents; pure, so rescoring needs no crawl."""
    groups: dict[tuple[Reason, str | None], list[Finding]] = defaultdict(list)
    for one in noted:
        groups[one.finding.reason, one.document].append(one.finding)
    unsaid: dict[Reason, list[Finding]] = defaultdict(list)
    for finding in gaps(service):
        unsaid[finding.reason].append(finding)
    total = len(service.capabilities)
    lines = [_line(found, document, total) for (_, document), found in groups.items()]
    lines += [_traced(_line(found, None, total), service) for found in unsaid.values()]
    lines.sort(key=lambda line: (-line.points, line.severity, line.reason, line.document or ""))
    sections = {
        section.value: round(max(0.0, points - sum(x.points for x in lines if x.section is section)), 2)
        for section, points in SECTION_POINTS.items()
    }
    return Score(round(sum(sections.values())), sections, tuple(lines), VERSION, facts(service, noted))


def _line(found: Sequence[Finding], document: str | None, total: int) -> Line:
    first, rule = found[0], RUBRIC[found[0].reason]
    points = round(rule.points * _share(found, total, is_dropped=rule.severity is Severity.ERROR), 2)
    return Line(
        first.reason, rule.section, rule.severity, points, sum(finding.count for finding in found),
        rule.says, rule.fix, rule.spec, first.pointer, first.evidence, document,
    )  # fmt: skip


def _traced(line: Line, service: Service) -> Line:
    """What a capability leaves unsaid, led back to the place that describes it: there it should be said."""
    index = _CAPABILITY.fullmatch(line.pointer)
    calls = service.capabilities[int(index[1])].invocations if index else ()
    origin = next((call.origin for call in calls if call.origin is not None), None)
    return replace(line, document=origin.document, pointer=origin.pointer) if origin else line


def _share(found: Sequence[Finding], total: int, *, is_dropped: bool) -> float:
    """How much of the service a reason touches: all of it, or the share of its capabilities, never under a quarter.

    `total` capabilities are left; what an error dropped was one of more.
    """
    matches = [_PART.match(finding.pointer) for finding in found]
    parts = {match.group() for match in matches if match}
    if not all(matches):
        return 1.0  # one of them touches the whole: those about parts add nothing, and taking one away costs nothing
    touched = len(parts) + sum(finding.count - 1 for finding in found)
    return max(0.25, min(1.0, touched / max(1, total + touched * is_dropped)))


def facts(service: Service, noted: Sequence[Noted]) -> dict[str, Any]:
    """The numbers the score was computed from, stored beside it."""
    severities = [RUBRIC[one.finding.reason].severity for one in noted]
    return {
        "capabilities": len(service.capabilities),
        "described": sum(bool(one.description) for one in service.capabilities),
        "with_params": sum(one.params is not None for one in service.capabilities),
        "side_effects_told": sum(one.side_effects is not None for one in service.capabilities),
        "off_site": sum(any(i.off_site for i in one.invocations) for one in service.capabilities),
        "auth_schemes": sorted({scheme.type for scheme in service.auth.schemes}),
        "errors": severities.count(Severity.ERROR),
        "warnings": severities.count(Severity.WARNING),
        "notes": severities.count(Severity.INFO),
        "synthetic": service.synthetic,
    }
