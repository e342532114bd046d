"""`waypost check`: what waypost thinks of a domain, a URL, a file or standard input. Nothing is stored."""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from rich.console import Console
from rich.markup import escape

from registry.core.assess import Assessment, assess_body
from registry.core.documents import Outcome
from registry.core.domains import InvalidName, canonical_host, host_of
from registry.core.findings import Finding, Severity
from registry.core.merge import Held, Noted, held_from, merge
from registry.core.reader import Unreadable, read_json
from registry.core.recognise import FORMATS
from registry.core.scoring.rubric import RUBRIC
from registry.core.scoring.score import Score, score
from registry.core.services import Service, to_json
from registry.settings import Settings

UNKNOWN_HOST = "unknown.invalid"
"""Stands for the host of a file that does not name one: special-use (RFC 6761), so it is nobody's."""

_OWN_NAMES = ("domain", "base_url", "baseUrl", "url")
_MAX_FILE = 16 * 1024 * 1024
_ASKED_FOR = frozenset({Outcome.ABSENT, Outcome.SKIPPED})


@dataclass(frozen=True, slots=True)
class Checked:
    """What one target came to. `documents` are the ones that answered with something, in the order asked for."""

    target: str
    outcome: Outcome
    reason: str
    documents: tuple[Held, ...]
    service: Service | None
    score: Score | None
    noted: tuple[Noted, ...]

    @property
    def passed(self) -> bool:
        """Something was found and no finding is an error."""
        errors = any(RUBRIC[one.finding.reason].severity is Severity.ERROR for one in self.noted)
        return self.outcome is Outcome.FOUND and not errors

    def to_json(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "score": self.score.value if self.score else None,
            "service": to_json(self.service) if self.service else None,
            "documents": [_document(one) for one in self.documents],
            "findings": [_finding(one.finding) for one in self.noted if one.document is None],
        }


def _document(one: Held) -> dict[str, Any]:
    judged = one.assessment
    return {
        "url": one.url,
        "outcome": judged.outcome.value,
        "reason": judged.reason,
        "format": judged.format,
        "dialect": judged.dialect,
        "findings": [_finding(finding) for finding in judged.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    rule = RUBRIC[finding.reason]
    return {
        "reason": finding.reason.value,
        "severity": rule.severity.value,
        "pointer": finding.pointer,
        "evidence": finding.evidence,
        "says": rule.says,
        "fix": rule.fix,
        "spec": rule.spec,
    }


def check_targets(targets: Sequence[str], *, at: str | None, settings: Settings) -> Iterator[Checked]:
    """One result for each target, in order. Raises BadTarget for what is no target, OSError for unreadable files."""
    for target in targets:
        if target == "-":
            yield _check_bytes(target, sys.stdin.buffer.read(_MAX_FILE + 1), at or "/")
        elif "://" in target:
            yield asyncio.run(_check_url(target, settings))
        elif (path := Path(target)).is_file():
            yield _check_bytes(target, _read(path), at or _usual_path(path.name))
        else:
            yield asyncio.run(_check_domain(target, settings))


class BadTarget(ValueError):
    """Neither a file, nor an https URL, nor a host name that may be asked."""


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAX_FILE + 1)


def _usual_path(name: str) -> str:
    """Where a file of this name is served, as the formats have it; at the root where no format knows the name."""
    return next((p for form in FORMATS for p in form.paths if PurePosixPath(p).name == name), f"/{name}")


def _check_bytes(target: str, raw: bytes, path: str) -> Checked:
    """A file is judged as if its own claimed host served it, so that it is not blamed for lying on this disk."""
    path = path if path.startswith("/") else f"/{path}"
    if len(raw) > _MAX_FILE:
        return _checked(target, UNKNOWN_HOST, [_held(Assessment(Outcome.TOO_LARGE, "body"), raw, UNKNOWN_HOST, path)])
    host = _claimed_host(raw) or UNKNOWN_HOST
    judged = assess_body(raw, f"https://{host}{path}")
    return _checked(target, host, [_held(judged, raw, host, path)])


def _held(judged: Assessment, raw: bytes, host: str, path: str) -> Held:
    url = f"https://{host}{path}"
    return Held(url, url, judged, b"", datetime.now(UTC))


def _claimed_host(raw: bytes) -> str | None:
    """The first host that the document names as its own, whatever its format calls it."""
    try:
        value = read_json(raw)
    except Unreadable:
        return None
    for key in _OWN_NAMES if isinstance(value, dict) else ():
        claim = value.get(key) if isinstance(value, dict) else None
        text = (host_of(claim) or "" if "://" in claim else claim) if isinstance(claim, str) else ""
        exempt = {text} if text.endswith(".example") else ()  # RFC 6761: what documentation is written with
        try:
            return canonical_host(text, exempt=exempt).host
        except InvalidName:
            continue
    return None


def _checked(target: str, host: str, held: Sequence[Held], stopped: tuple[Outcome, str] | None = None) -> Checked:
    merged = merge(host, held)
    worth = tuple(one for one in held if one.assessment.outcome not in _ASKED_FOR) or tuple(held[:1])
    outcome, reason = stopped or (held[0].assessment.outcome, held[0].assessment.reason)
    graded = score(merged.service, merged.findings) if merged.service else None
    return Checked(target, outcome, reason, worth, merged.service, graded, merged.findings)


async def _check_domain(target: str, settings: Settings) -> Checked:
    from crawler.run import visit_host  # loads Scrapy: files need none of it

    try:
        visit = await visit_host(target, settings)
    except InvalidName as error:
        raise BadTarget(f"{target}: there is no such file, and as a host name: {error}") from error
    held = [held_from(answer) for answer in visit.answers]
    return _checked(target, visit.host, held, (visit.outcome, visit.reason))


async def _check_url(target: str, settings: Settings) -> Checked:
    from crawler.run import fetch_url  # loads Scrapy: files need none of it

    try:
        held = held_from(await fetch_url(target, settings))
    except InvalidName as error:
        raise BadTarget(f"{target}: only https URLs on port 443 of public host names are asked") from error
    return _checked(target, host_of(held.url) or UNKNOWN_HOST, [held])


def print_checked(console: Console, one: Checked) -> None:
    """For people: the verdict, then every finding with its remedy."""
    verdict = f"[bold]{escape(one.target)}[/]: {one.outcome.value}" + (f" ({escape(one.reason)})" if one.reason else "")
    console.print(verdict + (f", score [bold]{one.score.value}[/]/100" if one.score else ""))
    for document in one.documents:
        judged = document.assessment
        form = "/".join(filter(None, (judged.format, judged.dialect))) or judged.reason
        console.print(f"  {escape(document.url)}  [cyan]{judged.outcome.value}[/] {escape(form)}")
    for noted in one.noted:
        rule = RUBRIC[noted.finding.reason]
        where = f" at {noted.finding.pointer}" if noted.finding.pointer else ""
        seen = f" [dim]({escape(noted.finding.evidence)})[/]" if noted.finding.evidence else ""
        console.print(f"  [{_COLOUR[rule.severity]}]{rule.severity.value}[/] {rule.says}{escape(where)}{seen}")
        console.print(f"    fix: {escape(rule.fix)} [dim]{escape(rule.spec)}[/]")


_COLOUR = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def json_line(one: Checked) -> str:
    """One object on one line. ASCII only: what a site wrote cannot steer a terminal."""
    return json.dumps(one.to_json(), ensure_ascii=True, separators=(",", ":"))
