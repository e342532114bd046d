"""Decide when a visit ends (docs/crawler.md, "Budgets", "Stop rules"), and which paths it leaves for later visits.

A name that does not resolve, a failed connection and a bad certificate end a visit at once; timeouts, 429, bot checks
and pages of firewalls end it after a few in a row. A host that asks for long pauses gets several short visits. A first
bulk visit requests only stages S1 to S3, so a host without documents costs twenty requests. The further paths
(`probes.FURTHER`; for sub-hosts also the paths missing from their short list) are all requested if a user asked for the
host, else a few in each revisit, beginning with paths that were never requested.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from registry.core.assessing.assess import Assessment
from registry.core.assessing.firewalls import Refusal
from registry.core.model.documents import Outcome, Purpose
from registry.core.visiting import call_checks, probes
from registry.core.visiting.probes import Step
from registry.core.visiting.visits import HostJob, Visit

SLOW_BUDGET: Final = 12  # requests in one visit of a host whose Crawl-delay is above SLOW_DELAY
SLOW_DELAY: Final = 5.0  # seconds
MAX_TIMEOUTS: Final = 5  # in a row
MAX_RATE_LIMITED: Final = 2  # in a row
MAX_BLOCKED: Final = 2  # refusals of a firewall in a row

OTHER_HOST: Final = "redirect_other_host"
"""Reason of an answer that redirects to a host of the same site whose robots.txt must be read before going there."""
NO_BUDGET: Final = "redirect_budget"  # reason of an answer whose redirect was not followed because the budget is spent

_OF_ONE_REQUEST: Final = ("read", "timeout", "reset", "closed", "incomplete", "protocol", "request")
"""Prefixes of UNREACHABLE reasons that concern one request; all others (resolving, connecting) end the visit."""

_TROUBLE: Final = frozenset(
    {Outcome.UNREACHABLE, Outcome.TLS_ERROR, Outcome.RATE_LIMITED, Outcome.REFUSED, Outcome.REFUSED_BY_FIREWALL,
     Outcome.REFUSED_ADDRESS, Outcome.SKIPPED}
)  # fmt: skip
"""Outcomes of one answer that can end a visit; any other resets the counters."""


_BUDGETS: Final[Mapping[Purpose, int]] = {Purpose.DETAIL: 1, Purpose.CALL: 2}


class RequestBudget:
    """Requests left in one visit. Capability details and checks of addresses for calls have budgets of their own; all
    other requests share one."""

    __slots__ = ("_remaining", "_total", "spent")

    def __init__(self, budget: int, detail_budget: int, total: int | None = None) -> None:
        """Set the limits. `total`: of all kinds together; None: their sum."""
        self._remaining = [budget, detail_budget, call_checks.MAX_REQUESTS]
        self._total = sum(self._remaining) if total is None else total
        self.spent = 0

    def limit_for_delay(self, crawl_delay: float | None) -> None:
        """Shorten the visit of a host that wants more than SLOW_DELAY seconds between requests."""
        if (crawl_delay or 0) > SLOW_DELAY:  # guard: slow-host
            limit = max(SLOW_BUDGET - self.spent, 0)
            self._remaining = [min(remaining, limit) for remaining in self._remaining]

    def allows(self, purpose: Purpose, requests: int = 1) -> bool:
        """Return whether so many more requests may be made."""
        left = min(self._remaining[_BUDGETS.get(purpose, 0)], self._total - self.spent)
        return left >= requests  # guard: visit-request-budget

    def spend(self, purpose: Purpose, requests: int) -> None:
        self.spent += requests
        self._remaining[_BUDGETS.get(purpose, 0)] -= requests


class StopPolicy:
    """Decides from the answers of a host whether its visit ends early. `ended`: outcome and reason of the first answer
    that ended it; None while the visit goes on."""

    __slots__ = ("_blocked", "_rate_limited", "_timeouts", "ended")

    def __init__(self) -> None:
        self.ended: tuple[Outcome, str] | None = None
        self._timeouts = self._rate_limited = self._blocked = 0

    def end(self, outcome: Outcome, reason: str) -> None:
        self.ended = self.ended or (outcome, reason)

    def observe(self, assessment: Assessment) -> None:
        """Update the counters with one answer of the host itself."""
        outcome, reason = assessment.outcome, assessment.reason
        if outcome not in _TROUBLE:
            self._timeouts = self._rate_limited = self._blocked = 0
            return
        concerns_request = outcome is Outcome.UNREACHABLE and reason.startswith(_OF_ONE_REQUEST)
        self._timeouts = self._timeouts + 1 if concerns_request else 0
        self._rate_limited = self._rate_limited + 1 if outcome is Outcome.RATE_LIMITED else 0
        # one may be of this path alone: many sites exempt their documents from the check of their front page
        is_blocked = outcome is Outcome.REFUSED_BY_FIREWALL and not reason.startswith(Refusal.EDGE)
        self._blocked = self._blocked + 1 if is_blocked else 0
        too_often = self._timeouts >= MAX_TIMEOUTS or self._rate_limited >= MAX_RATE_LIMITED  # guard: failing-host
        too_often = too_often or self._blocked >= MAX_BLOCKED  # guard: bot-check
        is_final = outcome in (Outcome.UNREACHABLE, Outcome.TLS_ERROR)
        if outcome in (Outcome.REFUSED_ADDRESS, Outcome.SKIPPED):  # of one redirect: the host itself was reached
            is_final = not reason.startswith("redirect")
        if too_often or (is_final and not concerns_request):
            self.end(outcome, reason)


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
    """Return the steps that rotation may request, in the order of their turns: never requested ones first. `found`:
    paths of known documents. They are requested as documents, and their fallbacks are not requested."""
    least = (today - REPEAT_AFTER).isoformat()
    unfound = (step for step in steps if step.path not in found and step.fallback_of not in found)
    waiting = (step for step in unfound if asked.get(step.path, "") <= least)
    return sorted(waiting, key=lambda step: asked.get(step.path, ""))


def steps_of(job: HostJob) -> list[Step]:
    """Return the further steps of this visit: all if a user asked for the host, else the steps whose turn it is."""
    steps = further_steps(job.host, short=job.short) if job.named or job.further else ()
    return [step for step in steps if job.named or step.path in job.further]


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
