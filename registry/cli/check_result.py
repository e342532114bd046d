"""The result of a check, as JSON, as text and as SARIF."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

from rich.text import Text

from registry.cli.clean import json_text, visible
from registry.cli.show import trust_lines
from registry.cli.terminal import console
from registry.core.assessing.drafts import UNKNOWN_HOST
from registry.core.merging.merge import HeldDocument
from registry.core.merging.trust import explained, resembles_json
from registry.core.model.documents import Outcome
from registry.core.model.findings import Rule, Severity
from registry.core.model.services import to_json
from registry.core.names.domains import host_of, is_confusable
from registry.core.reading.injection import injection_flags
from registry.core.reading.positions import place
from registry.core.scoring import sarif
from registry.core.scoring.causes import MAX_PLACES, Cause, causes_of
from registry.core.scoring.report import Report, ReportedFinding

MAX_NOTES: Final = 6
"""Notes that are named where they are only counted."""

PathFrom = Literal["--at", "folder", "name"]


@dataclass(frozen=True, slots=True)
class ServedAs:
    """The place at which a file is assumed to be served, and what determines it.

    `host`: canonical; None when neither the command line nor the document names one. `host_from`: "document" when the
    document names it. `path_from`: the folder `.well-known` above the file, or its name; None for standard input.
    """

    host: str | None
    host_from: Literal["--at", "document"] | None
    path: str
    path_from: PathFrom | None

    def to_json(self) -> dict[str, Any]:
        path = self.path if self.path_from else None
        return {"host": self.host, "host_from": self.host_from, "path": path, "path_from": self.path_from}

    def in_words(self) -> str:
        """Return what is assumed, and why, for a person."""
        if self.host is None:
            host = "no host: the document names none, and --at https://HOST/PATH gives one"
        else:
            origin = "named by --at" if self.host_from == "--at" else "which the document names as its own"
            host = f"the host {self.host}, {origin}"
        origins = {"--at": "named by --at", "folder": "where the file lies", "name": "usual for its name"}
        return host if self.path_from is None else f"{host}; the path {self.path}, {origins[self.path_from]}"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result for one target. `documents`: the existing ones, in the order of the requests.

    `served_as`: the assumed place of a file or standard input; None for fetched documents. `expected`: the format slug
    that the caller asked for. `sources`: the bytes of the documents, by URL. `reasons`: why a visited host would not be
    listed, or what is wrong with it, as in the status that a registry shows after this visit.
    """

    target: str
    outcome: Outcome
    reason: str
    documents: tuple[HeldDocument, ...]
    report: Report
    sources: Mapping[str, bytes]
    served_as: ServedAs | None = None
    expected: str | None = None
    reasons: tuple[str, ...] = ()

    @property
    def is_file(self) -> bool:
        return self.served_as is not None

    @property
    def is_other_format(self) -> bool:
        """True when the document was recognised as another format than the expected one."""
        assessments = (document.assessment for document in self.documents)
        formats = {assessment.format for assessment in assessments if assessment.outcome is Outcome.FOUND}
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

    @property
    def trust(self) -> dict[str, Any] | None:
        """Trust as a registry would list it; None without a service, or for an unknown host."""
        report = self.report
        if report.trust is None or self.is_hostless:
            return None
        resembles = resembles_json(report.resembles)
        facts = {"reasons": report.trust.reasons, "resembles": resembles, "claims_site": report.claims_site}
        return {"level": report.trust.level.value, **explained(report.trust.level, facts)}

    @property
    def is_hostless(self) -> bool:
        """True for a file when neither the command line nor the document names its host."""
        return self.served_as is not None and self.served_as.host is None

    def without_placeholder(self, text: str) -> str:
        """Return a text of the report without the stand-in for the unknown host: URLs become paths."""
        return text.replace(f"https://{UNKNOWN_HOST}", "").replace(UNKNOWN_HOST, "") if self.is_hostless else text

    def to_json(self) -> dict[str, Any]:
        report = self.report
        value = {
            "target": encodable(self.target),
            "confusable": self.confusable,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "reasons": list(self.reasons),
            "score": report.score.value if report.score else None,
            "trust": self.trust,
            "service": to_json(report.service) if report.service else None,
            "served_as": self.served_as.to_json() if self.served_as else None,
            "documents": [self._document(document) for document in self.documents],
            "findings": [finding.to_json() for finding in report.about(None)],
            "score_lines": report.score_lines(),
            "injection_flags": injection_flags(finding.rule.code for finding in report.findings),
        }
        return _mapped(value, self.without_placeholder) if self.is_hostless else value

    def _document(self, document: HeldDocument) -> dict[str, Any]:
        assessment = document.assessment
        reported = {entry.finding: entry for entry in self.report.about(document.url)}
        unreported = [finding for finding in assessment.findings if finding not in reported]
        source = self.sources.get(document.url)
        positions = (None,) * len(unreported) if source is None else place(source, unreported)
        for finding, position in zip(unreported, positions, strict=True):
            reported[finding] = ReportedFinding(finding, document.url, position)
        return {
            "url": document.url,
            "outcome": assessment.outcome.value,
            "reason": assessment.reason,
            "format": assessment.format,
            "dialect": assessment.dialect,
            "entries": [entry._asdict() for entry in assessment.entries],
            "findings": [finding.to_json() for finding in reported.values()],
        }


@dataclass(frozen=True, slots=True)
class Unread:
    """A target that could not be read, with the reason. It fails the check; the other targets are still checked."""

    target: str
    message: str

    def to_json(self) -> dict[str, Any]:
        """Return the same keys as a result. The outcome is "error", which no visit has."""
        return {
            "target": encodable(self.target), "confusable": False, "outcome": "error",
            "reason": encodable(self.message), "reasons": [], "score": None, "trust": None, "service": None,
            "served_as": None, "documents": [], "findings": [], "score_lines": [], "injection_flags": [],
        }  # fmt: skip


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with every text in it changed, keys excepted."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    return [_mapped(item, change) for item in value] if isinstance(value, (list, tuple)) else value


def encodable(text: str) -> str:
    """Return a command line argument as valid Unicode, because file names need not be UTF-8."""
    return os.fsencode(text).decode("utf-8", "replace")


def print_checked(checked: CheckResult, *, show_all: bool = False) -> None:
    """Print the result, then every mistake once as `file:line:column: severity: ...` with its remedy, errors first.

    Notes are only counted, unless `show_all`, or unless they say why nothing was found. The last line counts all. Lines
    are not wrapped: editors and `grep` read them too.
    """
    print_line = partial(console.print, soft_wrap=True)
    verdict = Text.assemble((visible(checked.target), "bold"), f": {checked.outcome.value}")
    detail = _format_text(checked.documents[0]) if checked.is_file else visible(checked.reason)
    verdict.append(f" ({detail})" if detail else "")
    if checked.report.score:
        verdict.append(", score ").append(f"{checked.report.score.value}", "bold").append("/100")
    if checked.is_other_format:
        verdict.append(f", but not {checked.expected}", "red")
    print_line(verdict)
    if checked.confusable:
        print_line(Text(f"  {checked.host}: can be taken for another name", "yellow"))
    if checked.served_as is not None:
        print_line(Text(f"  assumed: {visible(checked.served_as.in_words())}", "dim"))
    if checked.trust is not None:
        for words in trust_lines(checked.trust):
            print_line(Text(f"  {'if its host serves it: ' if checked.is_file else ''}{words}"))
    if checked.is_file:
        _print_entries(checked.documents[0])
    for reason in () if checked.report.service else checked.reasons:  # otherwise they are among the findings below
        print_line(Text(f"  reason: {visible(reason)}"))
    for document in () if checked.is_file else checked.documents:
        outcome = document.assessment.outcome.value
        print_line(Text.assemble(f"  {visible(document.url)}  ", (outcome, "cyan"), f" {_format_text(document)}"))
        _print_entries(document)
    causes, show_all = causes_of(checked.report.everything), show_all or checked.outcome is not Outcome.FOUND
    for cause in causes:
        if show_all or cause.severity is not Severity.INFO:
            print_line(_cause_text(checked, cause))
            if len(cause.findings) > 1:
                print_line(Text(f"    also at {_other_places(checked, cause)}"))
            print_line(Text.assemble(f"    fix: {cause.first.rule.fix} ", (_cited(checked, cause.first.rule), "dim")))
    notes = [] if show_all else [cause.first.rule.code for cause in causes if cause.severity is Severity.INFO]
    if codes := list(dict.fromkeys(notes)):
        named = ", ".join(codes[:MAX_NOTES]) + (", ..." if len(codes) > MAX_NOTES else "")
        print_line(Text(f"  {_counted(len(notes), 'note')}, shown by --all: {named}", "dim"))
    print_line(_count_line(checked, causes))


def _count_line(checked: CheckResult, causes: Sequence[Cause]) -> Text:
    counts = Counter(cause.severity for cause in causes)
    text = Text.assemble((visible(checked.target), "bold"), ": ")
    for severity, word in _WORDS.items():
        text.append(", " if severity is not Severity.ERROR else "")
        text.append(_counted(counts[severity], word), _COLOUR[severity] if counts[severity] else "")
    if checked.report.score:
        text.append(f"; score {checked.report.score.value}/100")
    return text


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _print_entries(document: HeldDocument) -> None:
    for entries in document.assessment.entries:
        console.print(Text(f"  {entries.in_words()}", "yellow" if entries.not_read else ""), soft_wrap=True)


def _format_text(document: HeldDocument) -> str:
    assessment = document.assessment
    return visible("/".join(filter(None, (assessment.format, assessment.dialect))) or assessment.reason)


def _cause_text(checked: CheckResult, cause: Cause) -> Text:
    finding, rule = cause.first.finding, cause.first.rule
    location = visible(checked.target if checked.is_file or not cause.first.document else cause.first.document)
    severity = cause.severity
    text = Text.assemble(f"{location}{_place(cause.first)}: ", (severity.value, _COLOUR[severity]), f": {rule.says}")
    if finding.evidence:
        text.append(f" ({visible(checked.without_placeholder(finding.evidence))})", "dim")
    text.append(f" [{finding.rule.code}{' ' + visible(finding.pointer) if finding.pointer else ''}]", "dim")
    if cause.points:
        text.append(f" -{cause.points:g}")
    if follows := dict.fromkeys(one.rule.code for one in cause.follows):
        text.append(f", with {', '.join(follows)}", "dim")
    return text


def _place(reported: ReportedFinding) -> str:
    position = reported.position
    return f":{position.line}:{position.column}" if position else ""


def _other_places(checked: CheckResult, cause: Cause) -> str:
    """Return the places after the first, with what is there: positions, else pointers."""
    shown = cause.findings[1:MAX_PLACES]
    places = [_place(one).removeprefix(":") or visible(one.finding.pointer) for one in shown]
    named = [
        f"{place} ({visible(checked.without_placeholder(one.finding.evidence))})" if one.finding.evidence else place
        for place, one in zip(places, shown, strict=True)
    ]
    more = len(cause.findings) - MAX_PLACES  # places that the document's own finding counts are in its evidence
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _cited(checked: CheckResult, rule: Rule) -> str:
    """Return the citations of a rule for the found formats; without such a citation, as for advice, return all."""
    slugs = {document.assessment.format or "" for document in checked.documents}
    names = tuple(slug.replace("-", sign) + " " for slug in slugs for sign in " ." if slug)
    cited = rule.spec.split("; ")
    return "; ".join([one for one in cited if one.lower().startswith(names)] or cited)


_WORDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_COLOUR: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def sarif_log(checked: Sequence[CheckResult | Unread], *, public_url: str | None = None) -> str:
    """Return one log with one run for all targets, as ASCII JSON. `public_url`: an API that serves the rubric."""
    results = []
    for result in checked:
        if isinstance(result, CheckResult):
            for reported in result.report.everything:
                text, artifact = result.without_placeholder(reported.finding.evidence), _artifact(result, reported)
                results.append(sarif.SarifResult(reported, artifact, text, is_file=result.is_file))
    unread = [f"{encodable(target.target)}: {target.message}" for target in checked if isinstance(target, Unread)]
    return json_text(sarif.sarif_log(results, version("waypost"), unread=unread, public_url=public_url))


def _artifact(checked: CheckResult, reported: ReportedFinding) -> dict[str, str]:
    """Return the location: a file's path relative to the current folder, or absolute outside it; a document's URL."""
    if not checked.is_file:
        return {"uri": reported.document or checked.documents[0].url}
    if checked.target == "-":
        return {"uri": "stdin", "uriBaseId": sarif.BASE}
    path = Path(os.path.normpath(Path.cwd() / checked.target))
    if path.is_relative_to(Path.cwd()):
        return {"uri": quote(os.fsencode(path.relative_to(Path.cwd()))), "uriBaseId": sarif.BASE}
    return {"uri": "file://" + quote(os.fsencode(path))}
