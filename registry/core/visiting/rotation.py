"""The paths that a bulk visit leaves for later, and the order in which later visits request them.

A first bulk visit requests only stages S1 to S3, so that a host without documents costs twenty requests. The further
paths (`probes.FURTHER`; for sub-hosts also what their short list leaves out) are requested from hosts that somebody
named, all at once, and from others a few in each revisit, those first that were never requested.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from registry.core.visiting import probes
from registry.core.visiting.probes import Step
from registry.core.visiting.visits import HostJob, Visit

PER_VISIT: Final = 5
"""Further paths that one bulk revisit requests. All of them have been requested after four revisits."""

REPEAT_AFTER: Final = timedelta(days=180)
"""A further path is not requested again by rotation before this time has passed."""

Asked = Mapping[str, str]
"""Path -> day of its last request (ISO 8601). Paths that every whole plan requests are not in it."""


def further_steps(host: str, *, short: bool) -> tuple[Step, ...]:
    """Return the steps that a bulk visit of this host leaves out. `short`: it gets the short list of its label only."""
    if not short:
        return probes.FURTHER
    listed = {step.path for step in short_list(host)}
    return tuple(step for step in (*probes.STEPS, *probes.FURTHER) if step.path not in listed)


def short_list(host: str) -> tuple[Step, ...]:
    """Return the short list of a sub-host's label; labels without one have the whole plan."""
    return probes.SHORT.get(host.partition(".")[0], probes.STEPS)


def in_turn(steps: Sequence[Step], asked: Asked, found: Collection[str], today: date) -> list[Step]:
    """Return the steps that rotation may request, in the order of their turns: never requested ones first.

    `found`: paths of the documents known. They are requested as such, and nothing is requested in their place.
    """
    least = (today - REPEAT_AFTER).isoformat()
    waiting = [
        step
        for step in steps
        if asked.get(step.path, "") <= least and step.path not in found and step.fallback_of not in found
    ]
    return sorted(waiting, key=lambda step: asked.get(step.path, ""))


def steps_of(job: HostJob) -> list[Step]:
    """Return the further steps that this visit makes: all of a named host, else those whose turn it is."""
    if not (job.named or job.further):
        return []
    return [step for step in further_steps(job.host, short=job.short) if job.named or step.path in job.further]


def after_visit(asked: dict[str, str], visit: Visit, *, short: bool) -> dict[str, str]:
    """Return when each further path of the host was last requested, as a path of the plan or as a pointer."""
    home = f"https://{visit.host}"
    requested = {answer.probe.url.removeprefix(home) for answer in visit.answers}
    steps = further_steps(visit.host, short=short)
    if not asked and requested.isdisjoint(step.path for step in steps):
        return asked  # of nearly every host: nothing is stored
    day = visit.started_at.date().isoformat()
    days = {step.path: day if step.path in requested else asked.get(step.path) for step in steps}
    return {path: asked_on for path, asked_on in days.items() if asked_on is not None}
