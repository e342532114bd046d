"""What an operator is told about documents: the findings, each with its rule and its place in the source, and a score.

One report for the command, for SARIF and for the API, so that all of them say the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from registry.core.documents import Outcome
from registry.core.findings import Finding, Severity
from registry.core.merge import Held, Noted, merge
from registry.core.positions import Position, place
from registry.core.scoring.rubric import RUBRIC, Rule
from registry.core.scoring.score import Line, Score, score
from registry.core.services import Service


@dataclass(frozen=True, slots=True)
class Told:
    """A finding. `document` None: it is about the merged service, and its pointer leads into the common model.

    `position` is None where the source is not known. `points` are those of its line of the score, told once a line.
    """

    finding: Finding
    document: str | None
    position: Position | None = None
    points: float = 0

    @property
    def rule(self) -> Rule:
        return RUBRIC[self.finding.reason]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready; `line` and `column` are from 1, columns in characters."""
        finding, rule = self.finding, self.rule
        return {
            "reason": finding.reason.value,
            "severity": rule.severity.value,
            "pointer": finding.pointer,
            "line": self.position.line if self.position else None,
            "column": self.position.column if self.position else None,
            "evidence": finding.evidence,
            "count": finding.count,
            "says": rule.says,
            "fix": rule.fix,
            "spec": rule.spec,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """`told`: findings of documents in their order and by place, then those that need several documents.

    `unsaid`: what the score misses in the merged service, most costly first, each where it should have been said.
    `lines`: those of the score, in its order, each where its first finding is.
    """

    service: Service | None
    score: Score | None
    told: tuple[Told, ...]
    unsaid: tuple[Told, ...]
    lines: tuple[Told, ...]

    @property
    def everything(self) -> tuple[Told, ...]:
        return (*self.told, *self.unsaid)

    def has(self, *severities: Severity) -> bool:
        """Whether any finding is of one of these severities."""
        return any(one.rule.severity in severities for one in self.everything)

    def about(self, document: str | None) -> tuple[Told, ...]:
        """The findings about one document; of None: about the merged service."""
        return tuple(one for one in self.told if one.document == document)

    def score_lines(self) -> list[dict[str, Any]]:
        """Each point that is missing, with the document and the place that its reason was found at; JSON-ready."""
        return [
            {**one.to_json(), "section": one.rule.section.value, "points": one.points, "document": one.document}
            for one in self.lines
        ]


def report(host: str, held: Sequence[Held], sources: Mapping[str, bytes]) -> Report:
    """Everything there is to tell about the documents of one host; `sources`: their bytes, by URL."""
    merged = merge(host, held)
    graded = score(merged.service, merged.findings) if merged.service else None
    lines = graded.lines if graded else ()
    noted = list(dict.fromkeys((*merged.findings, *_of_the_only(held))))
    heard = {(one.finding.reason, one.document) for one in noted}
    prices = {(line.reason, line.document): line.points for line in lines}
    told = [Told(one.finding, one.document, points=prices.pop((one.finding.reason, one.document), 0)) for one in noted]
    unsaid = [_as_told(line) for line in lines if (line.reason, line.document) not in heard]
    placed = _placed([*told, *unsaid, *map(_as_told, lines)], sources)
    said, silent = placed[: len(told)], placed[len(told) : len(told) + len(unsaid)]
    order = {one.url: number for number, one in enumerate(held)}
    in_order = tuple(sorted(said, key=lambda one: _order(one, order)))
    return Report(merged.service, graded, in_order, silent, placed[len(told) + len(unsaid) :])


def _of_the_only(held: Sequence[Held]) -> Iterator[Noted]:
    """Of a document that was asked about by itself everything is told, even why it is no manifest."""
    if len(held) == 1 and held[0].assessment.outcome is not Outcome.ABSENT:
        yield from (Noted(finding, held[0].url) for finding in held[0].assessment.findings)


def _as_told(line: Line) -> Told:
    return Told(Finding(line.reason, line.pointer, line.evidence, line.count), line.document, points=line.points)


def _placed(told: Sequence[Told], sources: Mapping[str, bytes]) -> tuple[Told, ...]:
    """Each with its place, in the same order; a source is read once for all its findings."""
    together: dict[str, list[int]] = {}
    for number, one in enumerate(told):
        if one.document is not None and one.document in sources:
            together.setdefault(one.document, []).append(number)
    places: dict[int, Position] = {}
    for document, numbers in together.items():
        places.update(zip(numbers, place(sources[document], [told[n].finding for n in numbers]), strict=True))
    return tuple(replace(one, position=places.get(number)) for number, one in enumerate(told))


def _order(one: Told, documents: Mapping[str, int]) -> tuple[int, Position]:
    return documents.get(one.document or "", len(documents)), one.position or Position()
