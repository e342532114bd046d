"""When a visit ends: budgets and stop rules (probe-plan.md section 1).

Names, dials, certificates and bot checks end a host at once; timeouts and 429 after a few in a row. A host that asks
for long pauses gets a short visit and several of them.
"""

from typing import Final

from registry.core.assess import Assessment
from registry.core.documents import Outcome, Purpose

SLOW_BUDGET: Final = 12  # requests in one visit of a host whose Crawl-delay is above SLOW_DELAY
SLOW_DELAY: Final = 5.0  # seconds
MAX_TIMEOUTS: Final = 5  # in a row: the host is not worth the wait
MAX_RATE_LIMITED: Final = 2  # in a row: it told us to go away

OTHER_HOST: Final = "redirect_other_host"
"""Reason of an answer that redirects to a host of the same site whose robots.txt must be read before going there."""
NO_BUDGET: Final = "redirect_budget"
"""Reason of an answer whose redirect there was no request left for."""

_SOFT: Final = ("read", "timeout", "reset", "closed", "incomplete", "protocol", "request")
"""How reasons of UNREACHABLE begin that concern one request; all others (name, dial) end the host."""

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
"""Outcomes of one answer that can end a host; all others show that it can be talked to."""


class Purse:
    """Requests left. Capability details have a budget of their own; everything else shares one."""

    def __init__(self, budget: int, detail_budget: int) -> None:
        self._left = [budget, detail_budget]
        self.spent = 0

    def slow_down(self, crawl_delay: float | None) -> None:
        """Cut the visit where the host wants more than SLOW_DELAY seconds between requests."""
        if (crawl_delay or 0) > SLOW_DELAY:
            limit = max(SLOW_BUDGET - self.spent, 0)
            self._left = [min(left, limit) for left in self._left]

    def affords(self, purpose: Purpose, requests: int = 1) -> bool:
        return self._left[purpose is Purpose.DETAIL] >= requests

    def pay(self, purpose: Purpose, requests: int) -> None:
        self.spent += requests
        self._left[purpose is Purpose.DETAIL] -= requests


class Patience:
    """Why the host ended its visit, if it did; the first reason stands."""

    def __init__(self) -> None:
        self.ended: tuple[Outcome, str] | None = None
        self._timeouts = self._limited = 0

    def end(self, outcome: Outcome, reason: str) -> None:
        self.ended = self.ended or (outcome, reason)

    def judge(self, assessment: Assessment) -> None:
        """Take in what one answer of the host itself means for the rest of the visit."""
        outcome, reason = assessment.outcome, assessment.reason
        if outcome not in _TROUBLE:
            self._timeouts = self._limited = 0
            return
        soft = outcome is Outcome.UNREACHABLE and reason.startswith(_SOFT)
        self._timeouts = self._timeouts + 1 if soft else 0
        self._limited = self._limited + 1 if outcome is Outcome.RATE_LIMITED else 0
        worn_out = self._timeouts >= MAX_TIMEOUTS or self._limited >= MAX_RATE_LIMITED
        if worn_out or (_ends_a_host(outcome, reason) and not soft):
            self.end(outcome, reason)


def _ends_a_host(outcome: Outcome, reason: str) -> bool:
    if outcome in (Outcome.REFUSED_ADDRESS, Outcome.SKIPPED):  # of one redirect: the host itself was reached
        return not reason.startswith("redirect")
    return outcome in (Outcome.UNREACHABLE, Outcome.TLS_ERROR) or reason == "challenge"
