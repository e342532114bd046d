"""The report on documents: the findings, each with its rule and its position in the source, and a score.

One report for the command, for SARIF and for the API, so that all of them agree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from registry.core.merging.claims import resemblance
from registry.core.merging.merge import HeldDocument, LocatedFinding, merge
from registry.core.merging.trust import Trust, claims_site, trust_of
from registry.core.model.documents import Outcome
from registry.core.model.findings import Finding, Rule, Severity
from registry.core.model.listing import Resemblance
from registry.core.model.services import Service
from registry.core.reading.positions import Position, place
from registry.core.scoring.score import Line, Score, score


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """A finding. `document` None: it is about the merged service, and its pointer is into the common model. `position`:
    None if the source is unknown. `points`: of its line of the score, stated once per line."""

    finding: Finding
    document: str | None
    position: Position | None = None
    points: float = 0

    @property
    def rule(self) -> Rule:
        return self.finding.rule

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values; `line` and `column` count from 1, columns in characters."""
        finding, rule = self.finding, self.rule
        return {
            "reason": rule.code, "severity": rule.severity.value, "pointer": finding.pointer,
            "line": self.position.line if self.position else None,
            "column": self.position.column if self.position else None,
            "evidence": finding.evidence, "count": finding.count, "says": rule.says, "fix": rule.fix, "spec": rule.spec,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """`findings`: findings about one document by document and position, then findings about several documents.

    `gaps`: missing facts that cost points, most costly first, each at the document that should state it. `lines`: the
    lines of the score, in its order, each at its first finding. `trust`, `resembles`, `claims_site`: how the
    service would be listed; None without a service.
    """

    service: Service | None
    score: Score | None
    findings: tuple[ReportedFinding, ...]
    gaps: tuple[ReportedFinding, ...]
    lines: tuple[ReportedFinding, ...]
    trust: Trust | None = None
    resembles: Resemblance | None = None
    claims_site: bool = False

    @property
    def everything(self) -> tuple[ReportedFinding, ...]:
        return (*self.findings, *self.gaps)

    def has(self, *severities: Severity) -> bool:
        """Return whether any finding is of one of these severities."""
        return any(finding.rule.severity in severities for finding in self.everything)

    def about(self, document: str | None) -> tuple[ReportedFinding, ...]:
        """Return the findings about one document; None: about the merged service."""
        return tuple(finding for finding in self.findings if finding.document == document)

    def score_lines(self) -> list[dict[str, Any]]:
        """Return the lines of the score, each with its document and its position there; JSON-ready."""
        return [
            {**line.to_json(), "section": line.rule.section.value, "points": line.points, "document": line.document}
            for line in self.lines
        ]


def report(host: str, documents: Sequence[HeldDocument], sources: Mapping[str, bytes]) -> Report:
    """Return the findings and the score of the documents of one host; `sources`: their bytes, by URL."""
    merged = merge(host, documents)
    graded = score(merged.service, merged.findings) if merged.service else None
    lines = graded.lines if graded else ()
    # of a document that was checked by itself all findings, even those on why it is no manifest
    alone = documents if len(documents) == 1 and documents[0].assessment.outcome is not Outcome.ABSENT else ()
    own = (LocatedFinding(finding, one.url) for one in alone for finding in one.assessment.findings)
    located_findings = list(dict.fromkeys((*merged.findings, *own)))
    reported = {(located.finding.rule, located.document) for located in located_findings}
    points = {(line.rule, line.document): line.points for line in lines}
    findings = [
        ReportedFinding(one.finding, one.document, points=points.pop((one.finding.rule, one.document), 0))
        for one in located_findings
    ]
    gaps = [_as_finding(line) for line in lines if (line.rule, line.document) not in reported]
    score_lines = [_as_finding(line) for line in lines]
    positions = _positions([*findings, *gaps, *score_lines], sources)

    def located(reported: Sequence[ReportedFinding]) -> tuple[ReportedFinding, ...]:
        return tuple(replace(one, position=positions.get((one.document, one.finding))) for one in reported)

    order = {document.url: index for index, document in enumerate(documents)}
    sorted_findings = sorted(
        located(findings), key=lambda one: (order.get(one.document or "", len(order)), one.position or Position())
    )
    service = merged.service
    trust = trust_of(host, service, merged.findings) if service else None
    resembles = resemblance(host, service) if service else None
    is_claim = claims_site(merged.findings)
    return Report(
        service, graded, tuple(sorted_findings), located(gaps), located(score_lines), trust, resembles, is_claim
    )


def _as_finding(line: Line) -> ReportedFinding:
    finding = Finding(line.rule, line.pointer, line.evidence, line.count)
    return ReportedFinding(finding, line.document, points=line.points)


def _positions(
    findings: Sequence[ReportedFinding], sources: Mapping[str, bytes]
) -> dict[tuple[str | None, Finding], Position]:
    """Return the positions of findings in their documents; a source is read once for all its findings."""
    by_document: dict[str, dict[Finding, None]] = {}
    for one in findings:
        if one.document is not None and one.document in sources:
            by_document.setdefault(one.document, {})[one.finding] = None
    return {
        (document, finding): position
        for document, own in by_document.items()
        for finding, position in zip(own, place(sources[document], [*own]), strict=True)
    }
