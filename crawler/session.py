"""The fetches of one visit: follows redirects and retries failed connections within the visit's limits."""

import time
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Final, Protocol, Self

from crawler.dialer import Dialer
from crawler.guards import Pin
from crawler.outcomes import (
    CLOSED_WHILE_IDLE,
    CUT_SHORT,
    NO_CONNECTION,
    TWO_LOCATIONS,
    FetchFailure,
    answered,
    failed,
)
from crawler.politeness import RequestPacer
from crawler.resources import CrawlResources, VisitDeadlines
from crawler.sender import RequestSender
from crawler.transport import RawAnswer
from registry.core.model.documents import FetchResult, Outcome, Probe
from registry.core.visiting.pointers import STATUSES, Follow, Stop, redirect

RECORD_MARGIN: Final = timedelta(seconds=30)
"""Visits end this long before their lease does, so that their results can still be recorded under it."""


SAME_METHOD: Final = frozenset({307, 308})
"""Redirects after which a POST stays a POST (RFC 9110 section 15.4)."""


class RedirectPolicy(Protocol):
    """Decides on one redirect: the plan of a host, or `follow_within_site` when a single URL is fetched."""

    def __call__(self, probe: Probe, from_url: str, location: str | None, hops: tuple[str, ...]) -> Follow | Stop: ...


def follow_within_site(probe: Probe, from_url: str, location: str | None, hops: tuple[str, ...]) -> Follow | Stop:
    """Decide by `redirects.redirect` alone, without a plan."""
    return redirect(from_url, location, hops, probe.purpose)


class FetchSession:
    """Fetches probes one after another. An async context manager that releases the visit's resources."""

    def __init__(
        self, resources: CrawlResources, pacer: RequestPacer, until: datetime, opted_out: Collection[str]
    ) -> None:
        """Start without connections. `until`: end of the lease. `opted_out`: hosts whose address is never resolved."""
        ends_at = time.monotonic() + (until - RECORD_MARGIN - _now()).total_seconds()
        self._deadlines = VisitDeadlines(resources.settings.host_deadline, ends_at)
        self._dialer = Dialer(resources.guard, resources.clients, self._deadlines, opted_out)
        self._sender = RequestSender(resources, self._dialer, pacer, self._deadlines)
        self._budget = resources.body_memory
        self._request_timeout = resources.settings.request_timeout
        self._reached: set[str] = set()  # hosts that answered a request on their open connection

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._sender.close()
        await self._dialer.close()

    def keep(self, size: int) -> None:
        """Count `size` bytes of bodies that the visit keeps until it is recorded."""
        self._sender.memory.keep(size)

    def close_after_next(self, last: bool) -> None:
        """Set whether the next request is the last, which closes its connection: idle ones take much memory."""
        self._sender.last = last

    async def fetch(self, probe: Probe, redirects: RedirectPolicy = follow_within_site) -> FetchResult:
        """Return the answer to one probe after its redirects, or its failure. Raise InterruptedVisit or AddressBusy.

        Nearly all requests reuse an open connection to the same host, so that path is kept short.
        """
        at, before = _now(), self._sender.spent_seconds
        self._budget.expect(probe.cap)
        url: str = probe.url
        hops: tuple[str, ...] = ()
        while True:
            pin = self._dialer.latest(url) or await self._dialer.pin(url)  # guard: one-look-up
            if isinstance(pin, FetchFailure):
                return failed(probe, pin, at=at, url=url, hops=hops, elapsed_ms=self._elapsed_ms(before))
            seconds_left = self._deadlines.host_seconds
            answer = await self._sender.send(probe, pin, url, self._request_timeout)
            if isinstance(answer, FetchFailure):
                spent_seconds = seconds_left - self._deadlines.host_seconds
                answer, pin = await self._retry(probe, pin, url, answer, spent_seconds)
            else:
                self._reached.add(pin.host)
            step = answer if isinstance(answer, FetchFailure) else _step(probe, answer, url, hops, redirects)
            if isinstance(step, Follow):
                url, hops = step.url, (*hops, url)
            elif isinstance(step, FetchFailure):
                return failed(probe, step, at=at, url=url, hops=hops, pin=pin, elapsed_ms=self._elapsed_ms(before))
            else:
                return answered(probe, step, at, url, hops, pin, self._elapsed_ms(before))

    def _elapsed_ms(self, before: float) -> int:
        """Return the milliseconds that the site's answers took since the sender had spent `before`."""
        return int((self._sender.spent_seconds - before) * 1000)

    async def _retry(
        self, probe: Probe, pin: Pin, url: str, first_failure: FetchFailure, spent_seconds: float
    ) -> tuple[RawAnswer | FetchFailure, Pin]:
        """Repeat a request once if that can help. Return the result and the dialled address.

        It can help if the server had closed the idle connection, a truncated body hid the status, or no connection
        could be made and the host has another address.
        """
        cut_short = self._sender.read_ahead and first_failure.reason in CUT_SHORT
        if cut_short or (pin.host in self._reached and first_failure.reason in CLOSED_WHILE_IDLE):
            if cut_short:
                # Without reading ahead the status is kept; the server may close such a connection carelessly.
                self._sender.read_ahead, self._sender.last = 0, False
            self._reached.discard(pin.host)
            answer = await self._sender.send(probe, pin, url, self._request_timeout)
            if not isinstance(answer, FetchFailure):
                self._reached.add(pin.host)
            return answer, pin
        alternative = pin.instead
        if pin.host not in self._reached and alternative is not None and first_failure.reason in NO_CONNECTION:
            return await self._retry_elsewhere(probe, pin, alternative, url, first_failure, spent_seconds)
        return first_failure, pin

    async def _retry_elsewhere(
        self, probe: Probe, pin: Pin, alternative: Pin, url: str, first_failure: FetchFailure, spent_seconds: float
    ) -> tuple[RawAnswer | FetchFailure, Pin]:
        """Send the request to the other address in the remaining time. Return the first failure if that fails too."""
        self._dialer.disconnect(pin.host)
        answer = await self._sender.send(probe, alternative, url, max(0.0, self._request_timeout - spent_seconds))
        if isinstance(answer, FetchFailure) and answer.reason in NO_CONNECTION:
            self._dialer.drop_alternative(pin)
            return first_failure, pin
        self._dialer.use(alternative)
        self._reached.add(pin.host)
        return answer, alternative


def _step(
    probe: Probe, answer: RawAnswer, url: str, hops: tuple[str, ...], redirects: RedirectPolicy
) -> Follow | FetchFailure | RawAnswer:
    """Return where a redirect leads, why it is not followed, or the answer itself if it is not a redirect."""
    if answer.status not in STATUSES:
        return answer
    if probe.post is not None and answer.status not in SAME_METHOD:  # guard: post-redirect-method
        return FetchFailure(Outcome.SERVER_ERROR, "redirect_post")
    if "location" in answer.repeated:  # guard: one-location
        return TWO_LOCATIONS
    decision = redirects(probe, url, answer.headers.get("location"), hops)
    return decision if isinstance(decision, Follow) else FetchFailure(decision.outcome, decision.reason)


def _now() -> datetime:
    return datetime.now(UTC)
