"""`waypost check`: assess a domain, a URL, a file or standard input. Nothing is stored."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from registry.cli.check_result import CheckResult, PathFrom, ServedAs, Unread
from registry.cli.common import BadTarget
from registry.core.assessing.assess import Assessment
from registry.core.assessing.drafts import UNKNOWN_HOST, judge_draft
from registry.core.formats import FORMATS
from registry.core.merging.merge import HeldDocument, held_from
from registry.core.model.documents import Outcome, Purpose
from registry.core.model.findings import Finding
from registry.core.names.domains import InvalidName, host_of, host_syntax, parse_https
from registry.core.reading import rules as reading_rules
from registry.core.scoring.report import report
from registry.core.visiting.visits import ProbeResult
from registry.settings import Settings

MAX_FILE = 16 * 1024 * 1024
STDIN = "-"
WELL_KNOWN = ".well-known"

_NOT_SHOWN = frozenset({Outcome.ABSENT, Outcome.SKIPPED})

Progress = Callable[[str, int, int], AbstractContextManager[object]]
"""Context manager around each request over the network: the target, its number from 1, and the number of targets."""


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """`at`: path or https URL at which files will be served. `expected`: slug of the format that they should have."""

    settings: Settings
    at: str | None = None
    expected: str | None = None


def check_targets(
    targets: Sequence[str], options: CheckOptions, progress: Progress = lambda *_: contextlib.nullcontext()
) -> Iterator[CheckResult | Unread]:
    """Yield one result per target, in order. A target that cannot be read does not end the others."""
    seen_stdin = False
    for number, target in enumerate(targets, 1):
        try:
            if target == STDIN and seen_stdin:
                raise BadTarget("standard input can be read once only")
            seen_stdin |= target == STDIN
            if is_file(target):
                yield check_file(target, options)
            else:
                with progress(target, number, len(targets)):
                    checked = check_online(target, options)
                yield checked
        except BadTarget as error:
            yield Unread(target, str(error))


def is_file(target: str) -> bool:
    """Return True for standard input and for existing paths, pipes included."""
    if target == STDIN:
        return True
    try:
        return "://" not in target and Path(target).exists()
    except OSError:
        return False  # for example, too long for a path


def read_target(target: str) -> bytes:
    """Return the bytes of a file or of standard input, at most MAX_FILE + 1. Raise BadTarget."""
    if target == STDIN:
        return sys.stdin.buffer.read(MAX_FILE + 1)
    try:
        with Path(target).open("rb") as file:
            return file.read(MAX_FILE + 1)
    except OSError as error:
        raise BadTarget(f"cannot be read: {error.strerror}") from None


def check_file(target: str, options: CheckOptions) -> CheckResult:
    """Assess a file or standard input as if its own host served it. Raise BadTarget."""
    raw = read_target(target)
    given_host, path, path_from = place_of(target, options.at)
    if len(raw) > MAX_FILE:
        raw, too_large = b"", Finding(reading_rules.TOO_LARGE, "", f"more than {MAX_FILE} bytes")
        host, url = None, f"https://{UNKNOWN_HOST}{path}"
        assessment = Assessment(Outcome.TOO_LARGE, "body", findings=(too_large,))
    else:
        draft = judge_draft(raw, path, expected=options.expected, host=given_host)
        host, url, assessment = draft.host, draft.url, draft.assessment
    document = HeldDocument(url, url, assessment, b"", datetime.now(UTC))
    found, sources = report(host or UNKNOWN_HOST, [document], {url: raw}), {url: raw}
    served_as = ServedAs(host, "--at" if given_host else "document" if host else None, path, path_from)
    outcome, reason = assessment.outcome, assessment.reason
    return CheckResult(target, outcome, reason, (document,), found, sources, served_as, options.expected)


def place_of(target: str, at: str | None) -> tuple[str | None, str, PathFrom | None]:
    """Return the host (None if unknown) and the path at which a file will be served, and what determines the path.

    `at` determines it; else a folder `.well-known` above the file (RFC 8615: it is at the root of a host); else its
    name: the path at which formats serve a file of this name, or the name at the root. Raise BadTarget when `at` is
    neither a path nor an https URL.
    """
    if at is not None and "://" in at:
        url = parse_https(at)
        if url is None:
            raise BadTarget("--at takes a path, or an https URL on port 443")
        host = host_of(url) or ""
        return host, "/" + url.removeprefix(f"https://{host}").removeprefix("/"), "--at"
    if at is not None:
        return None, "/" + at.removeprefix("/"), "--at"
    if target == STDIN:
        return None, "/", None
    parts = Path(os.path.abspath(target)).parts  # noqa: PTH100  (a link lies where it lies, not where it leads)
    if WELL_KNOWN in parts[:-1]:
        start = len(parts) - 1 - parts[::-1].index(WELL_KNOWN)
        return None, "/" + "/".join(quote(os.fsencode(part)) for part in parts[start:]), "folder"
    usual = (path for form in FORMATS for path in form.paths if PurePosixPath(path).name == parts[-1])
    return None, next(usual, f"/{quote(os.fsencode(parts[-1]))}"), "name"


def check_online(target: str, options: CheckOptions) -> CheckResult:
    """Visit a host with the whole plan, or fetch one URL. Raise BadTarget, and guards.BadSetup."""
    from crawler.run import fetch_url, visit_host  # loads Scrapy, which files do not need
    from registry.actions.queries.inspect import alias_reason, reasons_after

    is_url = "://" in target
    try:
        if is_url:
            answer = asyncio.run(fetch_url(target, options.settings))
            host = host_of(answer.fetched.final_url) or UNKNOWN_HOST
            return _from_answers(target, host, [answer], None, options)
        visit = asyncio.run(visit_host(target, options.settings))
        checked = _from_answers(target, visit.host, visit.answers, (visit.outcome, visit.reason), options)
        alias = (alias_reason(visit.host),) if visit.host != host_syntax(target) else ()
        return replace(checked, reasons=(*alias, *reasons_after(visit, now=datetime.now(UTC))))
    except InvalidName as error:
        message = "only https URLs on port 443 of public host names are supported"
        raise BadTarget(message if is_url else f"no such file, and not a valid host name: {error}") from error


def _from_answers(
    target: str,
    host: str,
    answers: Sequence[ProbeResult],
    visit_outcome: tuple[Outcome, str] | None,
    options: CheckOptions,
) -> CheckResult:
    # single MCP messages are not documents; the complete list follows them
    documents = [held_from(answer, answers) for answer in answers if answer.probe.purpose is not Purpose.RPC]
    relevant = tuple(item for item in documents if item.assessment.outcome not in _NOT_SHOWN) or tuple(documents[:1])
    outcome, reason = visit_outcome or (documents[0].assessment.outcome, documents[0].assessment.reason)
    sources = {answer.fetched.final_url: answer.fetched.body for answer in answers if answer.fetched.body}
    found = report(host, documents, sources)
    return CheckResult(target, outcome, reason, relevant, found, sources, None, options.expected)
