"""Sends one request of a visit within its limits: connection slot, pauses, deadlines, body memory, request budgets."""

import time

from crawler.dialer import Dialer
from crawler.guards import Pin
from crawler.outcomes import BLOCK_BUDGET, CLOSED_BY_MONITOR, FLOOD, HOST_DEADLINE, FetchFailure, failure_of
from crawler.outcomes import request_headers as headers_of
from crawler.politeness import ConnectionSlot, RequestPacer
from crawler.resources import CrawlResources, VisitDeadlines
from crawler.transport import READ_AHEAD, RawAnswer, ask
from registry.core.model.documents import Probe
from registry.core.visiting.probes import keeps_head


class InterruptedVisit(Exception):
    """The visit ends before its plan is complete, because the crawler stops or the lease expires. The host is not at
    fault."""


class RequestSender:
    """Sends the requests of one visit, one after another.

    It holds one connection slot at a time: two visits that each held a slot while waiting for the other's would
    deadlock.
    """

    def __init__(
        self, resources: CrawlResources, dialer: Dialer, pacer: RequestPacer, deadlines: VisitDeadlines
    ) -> None:
        self._resources = resources
        self._dialer = dialer
        self._pacer = pacer
        self._deadlines = deadlines
        self._slot: ConnectionSlot | None = None
        self._slot_key: str | None = None
        self.memory = resources.body_memory.reservation()
        self.read_ahead = READ_AHEAD
        self.spent_seconds = 0.0  # seconds of requests so far, including connecting, without pauses, slots and look-ups
        self.last = False

    async def send(self, probe: Probe, pin: Pin, url: str, seconds: float) -> RawAnswer | FetchFailure:
        """Send one request as soon as the limits allow it. Raise InterruptedVisit or AddressBusy."""
        if pin.limiter_key != self._slot_key:
            if self._resources.block_budgets.is_spent(pin.limiter_key):  # guard: block-budget-check
                return BLOCK_BUDGET
            await self._change_slot(pin.limiter_key)  # guard: connection-slot
        began = time.monotonic()
        if self._pacer.next_at > began or began >= self._deadlines.ends_at or self._resources.stop.is_set():
            await self._pause()
            began = time.monotonic()
        if self._deadlines.host_seconds <= 0:  # guard: host-deadline
            return HOST_DEADLINE
        client = self._dialer.clients.get(pin.host)
        if client is None:
            client = await self._dialer.connect(pin)
            began = time.monotonic()
        try:
            return await ask(
                client,
                pin,
                url,
                headers_of(probe),
                cap=probe.cap,
                keep_head=keeps_head(probe),
                seconds=min(seconds, self._deadlines.host_seconds),
                memory=self.memory,
                ahead=0 if probe.post else self.read_ahead,  # a stream may pause after its reply
                last=self.last,
                post=probe.post,
            )
        except Exception as error:
            self.memory.discard()
            failure = failure_of(error)
            was_flood = failure.reason in CLOSED_BY_MONITOR and self._resources.flood_monitor.shut_down_since(
                pin, began
            )
            return FLOOD if was_flood else failure
        finally:
            ended = time.monotonic()
            self._deadlines.host_seconds -= ended - began
            self.spent_seconds += ended - began
            self._pacer.record_request(ended)
            self._resources.block_budgets.record_request(pin.limiter_key)  # guard: block-budget-count

    async def _pause(self) -> None:
        """Wait for the pause between requests, which does not count as time of the host. Raise InterruptedVisit."""
        now = time.monotonic()
        if max(now, self._pacer.next_at) >= self._deadlines.ends_at:  # guard: lease-deadline
            raise InterruptedVisit
        if self._pacer.next_at > now and not self._resources.stop.is_set():
            await self._resources.timers.pause(self._pacer.next_at - now)
        if self._resources.stop.is_set():
            raise InterruptedVisit

    async def _change_slot(self, key: str) -> None:
        await self._release_slot()
        self._slot = await self._resources.acquire_slot(key)
        self._slot_key = key

    async def _release_slot(self) -> None:
        slot, self._slot, self._slot_key = self._slot, None, None
        if slot is not None:
            await slot.__aexit__(None, None, None)

    async def close(self) -> None:
        """Release the memory and the connection slot."""
        self.memory.keep(0)
        await self._release_slot()
