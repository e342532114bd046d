"""What was not requested from a host yet, of all that the plan promises, and in which visit it will be."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from registry.actions.frontier.lease import ANSWERED, WHOLE_PLAN_EVERY, further_steps, host_job, is_short
from registry.core.model.documents import Outcome, Purpose
from registry.core.scheduling.reasons import shown_time
from registry.core.visiting import probes, rotation
from registry.core.visiting.probes import Step
from registry.core.visiting.visits import HostJob
from registry.store.records import DocumentRecord, HostRecord, VisitRecord

LOG_READ: Final = 20
"""Visits of the ledger that are read."""


@dataclass(frozen=True, slots=True)
class UnaskedPath:
    """`visit`: which of the coming visits with the whole plan requests it, from 1; earlier if the host is named."""

    path: str
    format: str | None
    visit: int


@dataclass(frozen=True, slots=True)
class Unasked:
    """`next_whole_plan_at`: the time of the first of those visits, never in the past; None: the host is not visited by
    itself, and the paths wait for somebody who names it."""

    paths: tuple[UnaskedPath, ...] = ()
    next_whole_plan_at: datetime | None = None


def unasked(
    host: HostRecord, documents: Iterable[DocumentRecord], log: Sequence[VisitRecord], *, opted_out: bool, now: datetime
) -> Unasked:
    """Return the paths of the plan that were not requested according to the host's record and the `log`, in order.

    The log is read because the record does not say how far a visit came that the host did not answer. `documents`: the
    current ones of the domain. A path that is only a fallback of a document found is left out.
    """
    if opted_out or host.alias_of is not None:
        return Unasked()
    held = [document for document in documents if document.host == host.host and document.alias_of is None]
    has_any = any(document.outcome is Outcome.FOUND for document in held)
    starts_at = _next_whole_plan(host, now, has_documents=has_any)
    job = host_job(host, held, starts_at)
    pending = {probe.url.removeprefix(f"https://{host.host}") for probe in job.pending}
    done = {*host.asked, *(path for visit in log for path in _requested(visit))}
    if host.outcome in ANSWERED or host.last_found_at is not None:
        done |= {step.path for step in _first_steps(host, has_documents=has_any)}
    found = {document.url.removeprefix(f"https://{host.host}") for document in held}
    steps = {step.path: step for step in _steps(host, has_documents=has_any)}
    open_steps = [step for path, step in steps.items() if path not in done - pending and step.fallback_of not in found]
    turns = _turns(job, pending, further_steps(host, held, starts_at))
    paths = tuple(UnaskedPath(step.path, step.format, turns.get(step.path, 1)) for step in open_steps)
    return Unasked(paths, None if host.next_visit_at is None else shown_time(starts_at, now))


def _next_whole_plan(host: HostRecord, now: datetime, *, has_documents: bool) -> datetime:
    at = host.next_visit_at or now
    return max(at, host.whole_plan_at + WHOLE_PLAN_EVERY) if host.whole_plan_at and has_documents else at


def _steps(host: HostRecord, *, has_documents: bool) -> Iterator[Step]:
    yield from _first_steps(host, has_documents=has_documents)
    yield from rotation.further_steps(host.host, short=is_short(host, has_documents))


def _first_steps(host: HostRecord, *, has_documents: bool) -> Sequence[Step]:
    """Return the steps that a first visit makes."""
    return rotation.short_list(host.host) if is_short(host, has_documents) else probes.STEPS


def _turns(job: HostJob, pending: Collection[str], further: Sequence[Step]) -> dict[str, int]:
    """Return the number of the visit that requests each further path; all other paths are requested by the first."""
    first = {*job.further, *pending} | ({step.path for step in further} if job.named else set())
    later = [step.path for step in further if step.path not in first]
    return dict.fromkeys(first, 1) | {path: 2 + index // rotation.PER_VISIT for index, path in enumerate(later)}


def _requested(visit: VisitRecord) -> Iterator[str]:
    """Yield the paths of a visit's requests; none when its vector cannot be read."""
    try:
        entries = visit.vector
    except ValueError:
        return
    for entry in entries:
        if entry["purpose"] in _PLANNED and entry["outcome"] != Outcome.SKIPPED.value:
            yield entry["url"].removeprefix(f"https://{visit.host}")


_PLANNED: Final = frozenset({Purpose.MANIFEST.value, Purpose.POINTER.value})
