"""When a visit ends: docs/probe-plan.md, "Budgets" and "Stop rules".

A name that does not resolve, a failed connection, a bad certificate and a bot check end the visit of a host at once;
timeouts and 429 do after a few in a row. A host that asks for long pauses gets several short visits.
"""

from typing import Final

from registry.core.assessing.assess import Assessment
from registry.core.model.documents import Outcome, Purpose

SLOW_BUDGET: Final = 12  # requests in one visit of a host whose Crawl-delay is above SLOW_DELAY
SLOW_DELAY: Final = 5.0  # seconds
MAX_TIMEOUTS: Final = 5  # in a row
MAX_RATE_LIMITED: Final = 2  # in a row

OTHER_HOST: Final = "redirect_other_host"
"""Reason of an answer that redirects to a host of the same site whose robots.txt must be read before going there."""
NO_BUDGET: Final = "redirect_budget"
"""Reason of an answer whose redirect was not followed because the budget is spent."""

_OF_ONE_REQUEST: Final = ("read", "timeout", "reset", "closed", "incomplete", "protocol", "request")
"""Prefixes of UNREACHABLE reasons that concern one request; all others (resolving, connecting) end the visit."""

_TROUBLE: Final = frozenset(
    {
        Outcome.UNREACHABLE,
        Outcome.TLS_ERROR,
        Outcome.RATE_LIMITED,
        Outcome.REFUSED,
        Outcome.REFUSED_ADDRESS,
        Outcome.SKIPPED,
    }
)
"""Outcomes of one answer that can end a visit; any other resets the counters."""


class RequestBudget:
    """Requests left in one visit. Capability details have a budget of their own; all other requests share one."""

    __slots__ = ("_remaining", "_total", "spent")

    def __init__(self, budget: int, detail_budget: int, total: int | None = None) -> None:
        """`total`: of both kinds together; None: the sum of the two."""
        self._remaining = [budget, detail_budget]
        self._total = budget + detail_budget if total is None else total
        self.spent = 0

    def limit_for_delay(self, crawl_delay: float | None) -> None:
        """Shorten the visit of a host that wants more than SLOW_DELAY seconds between requests."""
        if (crawl_delay or 0) > SLOW_DELAY:  # guard: slow-host
            limit = max(SLOW_BUDGET - self.spent, 0)
            self._remaining = [min(remaining, limit) for remaining in self._remaining]

    def allows(self, purpose: Purpose, requests: int = 1) -> bool:
        """True when so many more requests may be made."""
        left = min(self._remaining[purpose is Purpose.DETAIL], self._total - self.spent)
        return left >= requests  # guard: visit-request-budget

    def spend(self, purpose: Purpose, requests: int) -> None:
        self.spent += requests
        self._remaining[purpose is Purpose.DETAIL] -= requests


class StopPolicy:
    """Decides from the answers of a host whether its visit ends early.

    `ended`: outcome and reason of the first answer that ended it; None while the visit goes on.
    """

    __slots__ = ("_rate_limited", "_timeouts", "ended")

    def __init__(self) -> None:
        self.ended: tuple[Outcome, str] | None = None
        self._timeouts = self._rate_limited = 0

    def end(self, outcome: Outcome, reason: str) -> None:
        self.ended = self.ended or (outcome, reason)

    def observe(self, assessment: Assessment) -> None:
        """Update the counters with one answer of the host itself."""
        outcome, reason = assessment.outcome, assessment.reason
        if outcome not in _TROUBLE:
            self._timeouts = self._rate_limited = 0
            return
        concerns_request = outcome is Outcome.UNREACHABLE and reason.startswith(_OF_ONE_REQUEST)
        self._timeouts = self._timeouts + 1 if concerns_request else 0
        self._rate_limited = self._rate_limited + 1 if outcome is Outcome.RATE_LIMITED else 0
        too_often = self._timeouts >= MAX_TIMEOUTS or self._rate_limited >= MAX_RATE_LIMITED  # guard: failing-host
        if too_often or (_ends_visit(outcome, reason) and not concerns_request):
            self.end(outcome, reason)


def _ends_visit(outcome: Outcome, reason: str) -> bool:
    if outcome in (Outcome.REFUSED_ADDRESS, Outcome.SKIPPED):  # of one redirect: the host itself was reached
        return not reason.startswith("redirect")
    return outcome in (Outcome.UNREACHABLE, Outcome.TLS_ERROR) or reason == "challenge"  # guard: bot-check
