"""The fetches of one visit: look-ups, connections, redirects and retries, within every limit of the visit.

The visits of one crawler share its resources: address guard, client pool, limits, memory budget, stop event. A visit
holds one connection slot at a time: two visits that each held a slot while waiting for the other's would
deadlock.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Any, Final, Self, TypeAlias

from pyreqwest.client import Client

from crawler import outcomes, politeness
from crawler.flood_monitor import FloodMonitor
from crawler.guards import AddressGuard, ConnectTo, Pin, Resolver
from crawler.outcomes import FetchFailure, failure_of, request_headers
from crawler.response_body import BodyMemoryBudget, BodyMemoryReservation
from crawler.signing import RequestSigner, SentSignatures
from crawler.transport import DOCUMENT, READ_AHEAD, ClientPool, RawAnswer, SharedClient, ask, read_fields
from registry.core.model.documents import FetchResult, Outcome, Probe, Purpose
from registry.core.names.domains import host_of
from registry.core.names.opt_out import is_covered
from registry.core.visiting.pointers import LOCATION_NOT_READ, STATUSES, Follow, Stop, redirect
from registry.core.visiting.probes import keeps_head
from registry.core.visiting.robots import PRODUCT
from registry.settings import Settings

RECORD_MARGIN: Final = timedelta(seconds=30)
"""Visits end this long before their lease does, so that their results can still be recorded under it."""

SAME_METHOD: Final = frozenset({307, 308})  # redirects after which a POST stays a POST (RFC 9110 section 15.4)
_NO_LATEST: Final[tuple[str, Pin | FetchFailure]] = ("no URL begins like this", outcomes.HOST_DEADLINE)

RedirectPolicy: TypeAlias = Callable[[Probe, str, str | None, tuple[str, ...]], Follow | Stop]
"""Decides on one redirect of a probe, from a URL to a location after the hops so far, as the plan of a host does."""


PRODUCT_AND_VERSION: Final = f"{PRODUCT}/{version('waypost')}"
"""Begins with the product token that robots.txt files match."""


def user_agent(settings: Settings) -> str:
    """Return the User-Agent: product and version, then the page that explains the crawler and the contact address."""
    return f"{PRODUCT_AND_VERSION} ({settings.reachable_at})"


TYPICAL_REQUESTS: Final = 20
TYPICAL_ANSWER_SECONDS: Final = 0.5
"""Requests, and seconds per answer, of a typical visit to a host without agent documents."""


class CrawlResources:
    """The shared resources. An async context manager, bound to the event loop that enters it."""

    def __init__(self, settings: Settings, stop: asyncio.Event | None = None) -> None:
        """`stop`: once set, visits end before their next request. Raise guards.BadSetup."""
        self.settings = settings
        self.stop = stop or asyncio.Event()
        self.guard = AddressGuard(
            ConnectTo.parse(settings.connect_to),
            None if settings.resolve == "table" else Resolver(),
            settings.refused_networks,
        )
        self.clients = ClientPool(
            user_agent=user_agent(settings), connect_timeout=settings.connect_timeout, pause=settings.request_delay
        )
        self.signer = RequestSigner.of(settings)
        self.limiter = politeness.ConnectionLimiter(settings.block_connections)
        self.block_budgets = politeness.BlockBudgets(settings.block_daily_budget)
        visit_seconds = TYPICAL_REQUESTS * (settings.request_delay + TYPICAL_ANSWER_SECONDS)
        self.deferrals = politeness.Deferrals(visit_seconds)
        self._longest_queue = max(politeness.QUEUE_FACTOR, settings.lease_seconds / 2 / visit_seconds)
        self.timers = politeness.TimerWheel()
        self.body_memory = BodyMemoryBudget(settings.hosts_in_flight)
        self.flood_monitor = FloodMonitor(self.clients, self.body_memory)
        self.running: dict[str, asyncio.Task[Any]] = {}  # the visits, by domain
        self._exit_stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Raise transport.NoTrustStore if no certificate authority can be read."""
        await self.clients.check()
        await self._exit_stack.enter_async_context(self.flood_monitor)
        self._exit_stack.callback(asyncio.create_task(self.timers.wake_all_on(self.stop)).cancel)
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._exit_stack.aclose()
        await self.guard.close()

    def is_crowded(self, key: str) -> bool:
        """Return whether no more visits may wait for an address. The queue per address is short while half of all
        concurrent visits wait; otherwise its wait has to fit into half a lease."""
        many_wait = self.limiter.waiting >= self.settings.hosts_in_flight // 2
        return self.limiter.is_crowded(key, politeness.QUEUE_FACTOR if many_wait else self._longest_queue)

    async def acquire_slot(self, key: str) -> tuple[politeness.Limit, ...]:
        """Wait for a slot at an address; the caller releases it by the limiter. Raise AddressBusy if it is crowded."""
        if self.is_crowded(key):  # guard: crowded-address
            raise politeness.AddressBusy(self.deferrals.defer(key, politeness.max_connections(key)))
        return await self.limiter.acquire(key)


class InterruptedVisit(Exception):
    """The visit ends early, because the crawler stops or the lease expires. The host is not at fault."""


class FetchSession:
    """Fetches probes one after another. An async context manager that releases the visit's resources.

    Each host is resolved, checked and pinned once, and has one client. `memory`: of the bodies that the visit keeps.
    `last`: whether the next request is the last, which closes its connection: idle ones take much memory.
    `host_seconds`: seconds left for requests and look-ups; pauses do not count.
    """

    def __init__(
        self, resources: CrawlResources, pacer: politeness.RequestPacer, until: datetime, opted_out: Collection[str]
    ) -> None:
        """`until`: end of the lease. `opted_out`: hosts whose address is never resolved."""
        self._resources = resources
        self._pacer = pacer
        self._opted_out = opted_out
        self._request_timeout = resources.settings.request_timeout
        self._ends_at = time.monotonic() + (until - RECORD_MARGIN - datetime.now(UTC)).total_seconds()
        self._pins: dict[str, Pin | FetchFailure] = {}
        self._latest = _NO_LATEST  # URL prefix of the latest host, and its pin: nearly all requests go to it
        self._clients: dict[str, Client] = {}
        self._shared_clients: list[SharedClient] = []
        self._reached: set[str] = set()  # hosts that answered a request on their open connection
        self._slot: tuple[politeness.Limit, ...] = ()
        self._slot_key: str | None = None
        self._read_ahead = READ_AHEAD
        self._spent_seconds = 0.0  # of requests so far, including connecting, without pauses, slots and look-ups
        self._signatures = SentSignatures(resources.signer)
        self.memory = BodyMemoryReservation(resources.body_memory)
        self.last = False
        self.host_seconds = resources.settings.host_deadline

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *failure: object) -> None:
        self.memory.keep(0)
        async with AsyncExitStack() as stack:
            for shared in self._shared_clients:
                stack.push_async_callback(self._resources.clients.release, shared)
            self._release_slot()

    async def fetch(self, probe: Probe, redirects: RedirectPolicy | None = None) -> FetchResult:
        """Return the answer to one probe after its redirects, or its failure. Raise InterruptedVisit or AddressBusy.

        Without `redirects` they are followed within the site. Nearly all requests reuse an open connection to the same
        host, so that path is kept short.
        """
        at, before = datetime.now(UTC), self._spent_seconds
        self._resources.body_memory.expect(probe.cap)
        url: str = probe.url
        hops: tuple[str, ...] = ()
        address: str | None
        while True:
            prefix, pin = self._latest
            pin = pin if url.startswith(prefix) else await self._pin(url)  # guard: one-look-up
            if isinstance(pin, FetchFailure):
                failure, address = pin, None
                break
            seconds_left = self.host_seconds
            answer = await self._send(probe, pin, url, self._request_timeout)
            if isinstance(answer, FetchFailure):
                answer, pin = await self._retry(probe, pin, url, answer, seconds_left - self.host_seconds)
            else:
                self._reached.add(pin.host)
            if not isinstance(answer, FetchFailure) and answer.unread:
                answer = await self._read_again(probe, pin, url, answer)
            step = answer if isinstance(answer, FetchFailure) else _step(probe, answer, url, hops, redirects)
            if isinstance(step, Follow):
                self._signatures.forget()  # guard: signature-per-hop
                url, hops = step.url, (*hops, url)
            elif isinstance(step, FetchFailure):
                failure, address = step, pin.address
                break
            else:  # positional arguments take half the time of keywords
                return FetchResult(
                    probe.url, url, at, step.status, step.headers, step.body, hops, None, "",
                    int((self._spent_seconds - before) * 1000), pin.address, step.truncated,
                )  # fmt: skip
        return FetchResult(
            url=probe.url, final_url=url, at=at, hops=hops, failure=failure.outcome, reason=failure.reason,
            elapsed_ms=int((self._spent_seconds - before) * 1000), address=address,
        )  # fmt: skip

    async def _pin(self, url: str) -> Pin | FetchFailure:
        """Return the pin of a canonical URL's host, or why it has no pin. A failed look-up is not repeated."""
        host = host_of(url) or ""
        if host not in self._pins:
            # guard: opt-out-before-look-up
            self._pins[host] = outcomes.OPTED_OUT if is_covered(host, self._opted_out) else await self._resolve(host)
        self._latest = f"https://{host}/", self._pins[host]
        return self._pins[host]

    async def _resolve(self, host: str) -> Pin | FetchFailure:
        began = time.monotonic()
        try:
            return await self._resources.guard.pin(host)
        except Exception as error:
            return failure_of(error)
        finally:
            self.host_seconds -= time.monotonic() - began

    async def _retry(
        self, probe: Probe, pin: Pin, url: str, first_failure: FetchFailure, spent_seconds: float
    ) -> tuple[RawAnswer | FetchFailure, Pin]:
        """Repeat a request once if that can help. Return the result and the dialled address.

        It can help if the server had closed the idle connection, a truncated body hid the status, or no connection
        could be made and the host has another address.
        """
        cut_short = self._read_ahead and first_failure.reason in outcomes.CUT_SHORT
        if cut_short or (pin.host in self._reached and first_failure.reason in outcomes.CLOSED_WHILE_IDLE):
            if cut_short:
                # Without reading ahead the status is kept; the server may close such a connection carelessly.
                self._read_ahead, self.last = 0, False
            self._reached.discard(pin.host)
            answer = await self._send(probe, pin, url, self._request_timeout)
            if not isinstance(answer, FetchFailure):
                self._reached.add(pin.host)
            return answer, pin
        if pin.host in self._reached or pin.instead is None or first_failure.reason not in outcomes.NO_CONNECTION:
            return first_failure, pin
        self._clients.pop(pin.host, None)
        answer = await self._send(probe, pin.instead, url, max(0.0, self._request_timeout - spent_seconds))
        self._latest = _NO_LATEST
        if isinstance(answer, FetchFailure) and answer.reason in outcomes.NO_CONNECTION:
            self._clients.pop(pin.host, None)
            self._pins[pin.host] = replace(pin, instead=None)
            return first_failure, pin
        self._pins[pin.host] = pin.instead
        self._reached.add(pin.host)
        return answer, pin.instead

    async def _read_again(self, probe: Probe, pin: Pin, url: str, answer: RawAnswer) -> RawAnswer:
        """Return the answer with the `Location`, or the `Link` of a front page, that its transport could not read; it
        costs another request. Raise InterruptedVisit or AddressBusy."""
        is_redirect = answer.status in STATUSES
        name = "location" if is_redirect else "link"
        is_page = is_redirect or probe.purpose is Purpose.HOME
        if name not in answer.unread or probe.post or probe.method or not is_page:
            return answer
        again = await self._send(probe, pin, url, self._request_timeout, names=(name,))
        if isinstance(again, FetchFailure) or name not in again.headers:
            return answer
        return replace(
            answer,
            headers={**answer.headers, name: again.headers[name]},
            repeated=(*answer.repeated, *again.repeated),
            unread=(),
        )

    async def _send(
        self, probe: Probe, pin: Pin, url: str, seconds: float, names: Collection[str] = ()
    ) -> RawAnswer | FetchFailure:
        """Send one request as soon as the limits allow it. Raise InterruptedVisit or AddressBusy. With `names` the
        answer has only these fields, in any encoding."""
        resources = self._resources
        if pin.limiter_key != self._slot_key:
            if resources.block_budgets.is_spent(pin.limiter_key):  # guard: block-budget-check
                return outcomes.BLOCK_BUDGET
            self._release_slot()
            self._slot = await resources.acquire_slot(pin.limiter_key)  # guard: connection-slot
            self._slot_key = pin.limiter_key
        began = time.monotonic()
        if self._pacer.next_at > began or began >= self._ends_at or resources.stop.is_set():
            await self._pause()
            began = time.monotonic()
        if self.host_seconds <= 0:  # guard: host-deadline
            return outcomes.HOST_DEADLINE
        client = self._clients.get(pin.host)
        if client is None:
            shared = await resources.clients.acquire(pin)
            self._shared_clients.append(shared)
            client = self._clients[pin.host] = shared.client
            began = time.monotonic()
        try:
            seconds = min(seconds, self.host_seconds)
            headers = request_headers(probe) | self._signatures.fields(url)
            if names:
                fields = {"User-Agent": user_agent(resources.settings), **headers}
                found = await read_fields(pin, url, fields, names, seconds)
                joined = {name: ", ".join(values) for name, values in found.items()}
                return RawAnswer(0, joined, [name for name, values in found.items() if len(values) > 1])
            ahead = 0 if probe.post else self._read_ahead  # a stream may pause after its reply
            answer = await ask(
                client, pin, url, headers, cap=probe.cap, keep_head=keeps_head(probe), seconds=seconds,
                memory=self.memory, ahead=ahead, last=self.last, post=probe.post,
                needed=DOCUMENT if probe.method is None else (), method=probe.method or "GET",
            )  # fmt: skip
            self._signatures.see(answer.status)
            return answer
        except Exception as error:
            self.memory.keep(self.memory.kept)
            failure = failure_of(error)
            may_be_flood = failure.reason in outcomes.CLOSED_BY_MONITOR
            was_flood = may_be_flood and resources.flood_monitor.shut_down_since(pin, began)
            return outcomes.FLOOD if was_flood else failure
        finally:
            ended = time.monotonic()
            self.host_seconds -= ended - began
            self._spent_seconds += ended - began
            self._pacer.record_request(ended)
            resources.block_budgets.record_request(pin.limiter_key)  # guard: block-budget-count

    async def _pause(self) -> None:
        """Wait for the pause between requests, which does not count as time of the host. Raise InterruptedVisit."""
        now = time.monotonic()
        if max(now, self._pacer.next_at) >= self._ends_at:  # guard: lease-deadline
            raise InterruptedVisit
        if self._pacer.next_at > now and not self._resources.stop.is_set():
            await self._resources.timers.pause(self._pacer.next_at - now)
        if self._resources.stop.is_set():
            raise InterruptedVisit

    def _release_slot(self) -> None:
        slot, self._slot, self._slot_key = self._slot, (), None
        self._resources.limiter.release(slot)


def _step(
    probe: Probe, answer: RawAnswer, url: str, hops: tuple[str, ...], redirects: RedirectPolicy | None
) -> Follow | FetchFailure | RawAnswer:
    """Return where a redirect leads, why it is not followed, or the answer itself if it is not a redirect."""
    if answer.status not in STATUSES or probe.method is not None:  # guard: call-check-redirect
        return answer
    if probe.post is not None and answer.status not in SAME_METHOD:  # guard: post-redirect-method
        return FetchFailure(Outcome.SERVER_ERROR, "redirect_post")
    if "location" in answer.repeated:  # guard: one-location
        return FetchFailure(Outcome.SERVER_ERROR, "redirect_two_locations")
    if "location" in answer.unread:
        return FetchFailure(Outcome.SERVER_ERROR, LOCATION_NOT_READ)
    location = answer.headers.get("location")
    decision = redirects(probe, url, location, hops) if redirects else redirect(url, location, hops, probe.purpose)
    return decision if isinstance(decision, Follow) else FetchFailure(decision.outcome, decision.reason)
