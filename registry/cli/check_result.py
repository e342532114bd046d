"""The result of a check, as JSON and as text."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from registry.cli.clean import visible
from registry.core.merging.merge import Held
from registry.core.model.documents import Outcome
from registry.core.model.findings import Severity
from registry.core.model.services import to_json
from registry.core.names.domains import host_of, is_confusable
from registry.core.reading.positions import place
from registry.core.scoring.report import Report, ReportedFinding


@dataclass(frozen=True, slots=True)
class Checked:
    """The result for one target. `documents`: those that exist, in the order of the requests.

    `is_file`: the target is a file or standard input, and names its only document. `expected`: the format slug that the
    caller asked for. `sources`: the bytes of the documents, by URL. `reasons`: those of the status of a visited host
    (why it is not listed, or what is wrong), as a registry would give them after this visit.
    """

    target: str
    outcome: Outcome
    reason: str
    documents: tuple[Held, ...]
    report: Report
    sources: Mapping[str, bytes]
    is_file: bool = False
    expected: str | None = None
    reasons: tuple[str, ...] = ()

    @property
    def is_other_format(self) -> bool:
        """True when the document was recognised as another format than the expected one."""
        formats = {
            document.assessment.format for document in self.documents if document.assessment.outcome is Outcome.FOUND
        }
        return self.expected is not None and bool(formats) and self.expected not in formats

    def passed(self, *, strict: bool = False) -> bool:
        """Return True when a document of the expected format was found without errors (if strict, without warnings)."""
        fatal = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
        return self.outcome is Outcome.FOUND and not self.is_other_format and not self.report.has(*fatal)

    @property
    def host(self) -> str | None:
        """The visited host in A-labels; None for files."""
        return None if self.is_file or not self.documents else host_of(self.documents[0].url)

    @property
    def confusable(self) -> bool:
        return self.host is not None and is_confusable(self.host)

    def location_of(self, document: str | None) -> str:
        """Return the name under which a user finds the document: the file or the URL."""
        return self.target if self.is_file or document is None else document

    def to_json(self) -> dict[str, Any]:
        report = self.report
        return {
            "target": encodable(self.target),
            "confusable": self.confusable,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "reasons": list(self.reasons),
            "score": report.score.value if report.score else None,
            "service": to_json(report.service) if report.service else None,
            "documents": [self._document(document) for document in self.documents],
            "findings": [finding.to_json() for finding in report.about(None)],
            "score_lines": report.score_lines(),
        }

    def _document(self, document: Held) -> dict[str, Any]:
        assessment = document.assessment
        reported = {entry.finding: entry for entry in self.report.about(document.url)}
        unreported = [finding for finding in assessment.findings if finding not in reported]  # not in the report
        positions = (
            place(self.sources[document.url], unreported) if document.url in self.sources else (None,) * len(unreported)
        )
        reported |= {
            finding: ReportedFinding(finding, document.url, position)
            for finding, position in zip(unreported, positions, strict=True)
        }
        return {
            "url": document.url,
            "outcome": assessment.outcome.value,
            "reason": assessment.reason,
            "format": assessment.format,
            "dialect": assessment.dialect,
            "findings": [finding.to_json() for finding in reported.values()],
        }


@dataclass(frozen=True, slots=True)
class Unread:
    """A target that could not be read, with the reason. It never passes; the other targets are still checked."""

    target: str
    message: str

    def to_json(self) -> dict[str, Any]:
        """Return the same keys as a result; the outcome is "error", which no visit has."""
        return {
            "target": encodable(self.target),
            "confusable": False,
            "outcome": "error",
            "reason": encodable(self.message),
            "reasons": [],
            "score": None,
            "service": None,
            "documents": [],
            "findings": [],
            "score_lines": [],
        }


def encodable(text: str) -> str:
    """Return a command line argument as valid Unicode: file names need not be UTF-8."""
    return os.fsencode(text).decode("utf-8", "replace")


def print_checked(console: Console, checked: Checked) -> None:
    """Print the result, then every finding as `file:line:column: severity: ...` with its remedy.

    Lines are not wrapped: editors and `grep` read them too.
    """
    verdict = Text.assemble((visible(checked.target), "bold"), f": {checked.outcome.value}")
    detail = _format_text(checked.documents[0]) if checked.is_file else visible(checked.reason)
    verdict.append(f" ({detail})" if detail else "")
    if checked.report.score:
        verdict.append(", score ").append(f"{checked.report.score.value}", "bold").append("/100")
    if checked.is_other_format:
        verdict.append(f", but not {checked.expected}", "red")
    _print_line(console, verdict)
    if checked.confusable:
        _print_line(console, Text(f"  {checked.host}: can be taken for another name", "yellow"))
    for reason in () if checked.report.service else checked.reasons:  # else each is among the findings below
        _print_line(console, Text(f"  reason: {visible(reason)}"))
    for document in () if checked.is_file else checked.documents:
        outcome = document.assessment.outcome.value
        _print_line(
            console, Text.assemble(f"  {visible(document.url)}  ", (outcome, "cyan"), f" {_format_text(document)}")
        )
    for reported in checked.report.everything:
        _print_line(console, _finding_text(checked, reported))
        _print_line(console, Text.assemble(f"    fix: {reported.rule.fix} ", (reported.rule.spec, "dim")))


def _format_text(document: Held) -> str:
    assessment = document.assessment
    return visible("/".join(filter(None, (assessment.format, assessment.dialect))) or assessment.reason)


def _finding_text(checked: Checked, reported: ReportedFinding) -> Text:
    finding, rule = reported.finding, reported.rule
    location = visible(checked.location_of(reported.document))
    if reported.position is not None:
        location += f":{reported.position.line}:{reported.position.column}"
    text = Text.assemble(f"{location}: ", (rule.severity.value, _COLOUR[rule.severity]), f": {rule.says}")
    if finding.evidence:
        text.append(f" ({visible(finding.evidence)})", "dim")
    text.append(f" [{finding.rule.code}{' ' + visible(finding.pointer) if finding.pointer else ''}]", "dim")
    if reported.points:
        text.append(f" -{reported.points:g}")
    return text


_COLOUR = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def _print_line(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=True)
