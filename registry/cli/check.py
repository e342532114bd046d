"""`waypost check`: what waypost thinks of a domain, a URL, a file or standard input. Nothing is stored."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from registry.cli.checked import Checked, Unread
from registry.core.assess import Assessment
from registry.core.documents import Outcome
from registry.core.domains import InvalidName, host_of
from registry.core.drafts import UNKNOWN_HOST, judge_draft
from registry.core.findings import Finding, Reason
from registry.core.merge import Held, held_from
from registry.core.recognise import FORMATS
from registry.core.report import report
from registry.core.visits import Answer
from registry.settings import Settings

MAX_FILE = 16 * 1024 * 1024
STDIN = "-"

_ASKED_FOR = frozenset({Outcome.ABSENT, Outcome.SKIPPED})

Waiting = Callable[[str, int, int], AbstractContextManager[object]]
"""What is shown while a target is asked over the network: its name, its number from 1, and how many there are."""


class BadTarget(ValueError):
    """Neither a readable file, nor an https URL, nor a host name that may be asked."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How targets are looked at: files at the path `at`, as documents of the format `expected`, where given."""

    settings: Settings
    at: str | None = None
    expected: str | None = None


def check_targets(
    targets: Sequence[str], asked: Asked, waiting: Waiting = lambda *_: contextlib.nullcontext()
) -> Iterator[Checked | Unread]:
    """One result for each target, in order. A target that cannot be read does not hide the others."""
    seen_stdin = False
    for number, target in enumerate(targets, 1):
        try:
            if target == STDIN and seen_stdin:
                raise BadTarget("standard input can be read once only")
            seen_stdin |= target == STDIN
            if is_file(target):
                yield check_file(target, asked)
            else:
                with waiting(target, number, len(targets)):
                    checked = check_online(target, asked)
                yield checked
        except BadTarget as error:
            yield Unread(target, str(error))


def is_file(target: str) -> bool:
    """Whether the target is read from this machine: standard input, or a path that exists (a pipe is one too)."""
    if target == STDIN:
        return True
    try:
        return "://" not in target and Path(target).exists()
    except OSError:
        return False  # longer than a path can be, say


def read_target(target: str) -> bytes:
    """The bytes of a file or of standard input, at most MAX_FILE + 1. Raises BadTarget."""
    if target == STDIN:
        return sys.stdin.buffer.read(MAX_FILE + 1)
    try:
        with Path(target).open("rb") as file:
            return file.read(MAX_FILE + 1)
    except OSError as error:
        raise BadTarget(f"cannot be read: {error.strerror}") from None


def check_file(target: str, asked: Asked) -> Checked:
    """A file or standard input, judged as its own host would serve it. Raises BadTarget."""
    raw = read_target(target)
    usual = "/" if target == STDIN else usual_path(Path(target).name)
    path = "/" + (asked.at or usual).removeprefix("/")
    if len(raw) > MAX_FILE:
        raw, size = b"", Finding(Reason.TOO_LARGE, "", f"more than {MAX_FILE} bytes")
        host, url, judged = (
            None,
            f"https://{UNKNOWN_HOST}{path}",
            Assessment(Outcome.TOO_LARGE, "body", findings=(size,)),
        )
    else:
        draft = judge_draft(raw, path, expected=asked.expected)
        host, url, judged = draft.host, draft.url, draft.assessment
    held = Held(url, url, judged, b"", datetime.now(UTC))
    found = report(host or UNKNOWN_HOST, [held], {url: raw})
    return Checked(target, judged.outcome, judged.reason, (held,), found, {url: raw}, True, asked.expected)


def usual_path(name: str) -> str:
    """Where a file of this name is served, as the formats have it; at the root where no format knows the name."""
    known = (path for form in FORMATS for path in form.paths if PurePosixPath(path).name == name)
    return next(known, f"/{quote(os.fsencode(name))}")


def check_online(target: str, asked: Asked) -> Checked:
    """A domain by the whole plan, or one URL. Raises BadTarget, and guards.BadSetup."""
    from crawler.run import fetch_url, visit_host  # loads Scrapy: files need none of it

    is_url = "://" in target
    try:
        if is_url:
            answer = asyncio.run(fetch_url(target, asked.settings))
            host = host_of(answer.fetched.final_url) or UNKNOWN_HOST
            return _from_answers(target, host, [answer], None, asked)
        visit = asyncio.run(visit_host(target, asked.settings))
        return _from_answers(target, visit.host, visit.answers, (visit.outcome, visit.reason), asked)
    except InvalidName as error:
        wrong = "only https URLs on port 443 of public host names are asked"
        raise BadTarget(wrong if is_url else f"there is no such file, and as a host name: {error}") from error


def _from_answers(
    target: str, host: str, answers: Sequence[Answer], stopped: tuple[Outcome, str] | None, asked: Asked
) -> Checked:
    held = [held_from(answer) for answer in answers]
    worth = tuple(one for one in held if one.assessment.outcome not in _ASKED_FOR) or tuple(held[:1])
    outcome, reason = stopped or (held[0].assessment.outcome, held[0].assessment.reason)
    sources = {answer.fetched.final_url: answer.fetched.body for answer in answers if answer.fetched.body}
    return Checked(target, outcome, reason, worth, report(host, held, sources), sources, False, asked.expected)
