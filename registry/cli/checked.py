"""What a check came to: as one line of JSON, and for people. Nothing that a file says steers the terminal."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from registry.core.documents import Outcome
from registry.core.domains import host_of, is_confusable
from registry.core.findings import Severity
from registry.core.merge import Held
from registry.core.positions import place
from registry.core.report import Report, Told
from registry.core.services import to_json


@dataclass(frozen=True, slots=True)
class Checked:
    """What one target came to. `documents` are the ones that answered with something, in the order asked for.

    `is_file`: the target is a file or standard input, so its only document is named as the target is. `expected` is
    the format that the caller asked for. `sources` are the bytes of the documents, by URL.
    """

    target: str
    outcome: Outcome
    reason: str
    documents: tuple[Held, ...]
    report: Report
    sources: Mapping[str, bytes]
    is_file: bool = False
    expected: str | None = None

    @property
    def is_other_format(self) -> bool:
        """Recognised, but not as what it was meant to be."""
        found = {one.assessment.format for one in self.documents if one.assessment.outcome is Outcome.FOUND}
        return self.expected is not None and bool(found) and self.expected not in found

    def passed(self, *, strict: bool = False) -> bool:
        """Something was found, it is what it was meant to be, and nothing is an error; nor, if strict, a warning."""
        fatal = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
        return self.outcome is Outcome.FOUND and not self.is_other_format and not self.report.has(*fatal)

    @property
    def host(self) -> str | None:
        """The host that was looked at, in A-labels; None for files."""
        return None if self.is_file or not self.documents else host_of(self.documents[0].url)

    @property
    def confusable(self) -> bool:
        return self.host is not None and is_confusable(self.host)

    def place_of(self, document: str | None) -> str:
        """How people find the document: the file, or the URL."""
        return self.target if self.is_file or document is None else document

    def to_json(self) -> dict[str, Any]:
        report = self.report
        return {
            "target": encodable(self.target),
            "confusable": self.confusable,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "score": report.score.value if report.score else None,
            "service": to_json(report.service) if report.service else None,
            "documents": [self._document(one) for one in self.documents],
            "findings": [one.to_json() for one in report.about(None)],
            "score_lines": report.score_lines(),
        }

    def _document(self, one: Held) -> dict[str, Any]:
        judged = one.assessment
        told = {told.finding: told for told in self.report.about(one.url)}
        silent = [finding for finding in judged.findings if finding not in told]  # a probe that nobody is blamed for
        places = place(self.sources[one.url], silent) if one.url in self.sources else (None,) * len(silent)
        told |= {f: Told(f, one.url, where) for f, where in zip(silent, places, strict=True)}
        return {
            "url": one.url,
            "outcome": judged.outcome.value,
            "reason": judged.reason,
            "format": judged.format,
            "dialect": judged.dialect,
            "findings": [finding.to_json() for finding in told.values()],
        }


@dataclass(frozen=True, slots=True)
class Unread:
    """A target that could not be read at all, and why. It never passes, and it hides no other target."""

    target: str
    message: str

    def to_json(self) -> dict[str, Any]:
        """The keys of a result, so that no reader stumbles; the outcome is "error", which no visit ends with."""
        return {
            "target": encodable(self.target),
            "confusable": False,
            "outcome": "error",
            "reason": encodable(self.message),
            "score": None,
            "service": None,
            "documents": [],
            "findings": [],
            "score_lines": [],
        }


def json_line(one: Checked | Unread) -> str:
    """One object on one line. ASCII only: what a site wrote cannot steer a terminal."""
    return json.dumps(one.to_json(), ensure_ascii=True, separators=(",", ":"))


def encodable(text: str) -> str:
    """A name from the command line as it can be written anywhere: file names need not be UTF-8."""
    return os.fsencode(text).decode("utf-8", "replace")


def visible(text: str) -> str:
    """Text of strangers for a terminal: whatever is not printable is written as an escape, so that it does nothing."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def print_checked(console: Console, one: Checked) -> None:
    """For people: the verdict, then every finding as `file:line:column: severity: ...` with its remedy.

    Lines are never broken: editors and `grep` read them too.
    """
    verdict = Text.assemble((visible(one.target), "bold"), f": {one.outcome.value}")
    said = _form(one.documents[0]) if one.is_file else visible(one.reason)
    verdict.append(f" ({said})" if said else "")
    if one.report.score:
        verdict.append(", score ").append(f"{one.report.score.value}", "bold").append("/100")
    if one.is_other_format:
        verdict.append(f", but not {one.expected}", "red")
    _print(console, verdict)
    if one.confusable:
        _print(console, Text(f"  {one.host}: can be taken for another name", "yellow"))
    for document in () if one.is_file else one.documents:
        outcome = document.assessment.outcome.value
        _print(console, Text.assemble(f"  {visible(document.url)}  ", (outcome, "cyan"), f" {_form(document)}"))
    for told in one.report.everything:
        _print(console, _sentence(one, told))
        _print(console, Text.assemble(f"    fix: {told.rule.fix} ", (told.rule.spec, "dim")))


def _form(document: Held) -> str:
    judged = document.assessment
    return visible("/".join(filter(None, (judged.format, judged.dialect))) or judged.reason)


def _sentence(one: Checked, told: Told) -> Text:
    finding, rule = told.finding, told.rule
    where = visible(one.place_of(told.document))
    if told.position is not None:
        where += f":{told.position.line}:{told.position.column}"
    text = Text.assemble(f"{where}: ", (rule.severity.value, _COLOUR[rule.severity]), f": {rule.says}")
    if finding.evidence:
        text.append(f" ({visible(finding.evidence)})", "dim")
    text.append(f" [{finding.reason.value}{' ' + visible(finding.pointer) if finding.pointer else ''}]", "dim")
    if told.points:
        text.append(f" -{told.points:g}")
    return text


_COLOUR = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def _print(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=True, highlight=False)
