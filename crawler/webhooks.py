"""Sends messages to receivers of webhooks: signed, by POST, at an address that the guard of visits allows.

One process delivers at a time (an advisory lock), one message at a time to each receiver. `registry.actions.webhooks`
decides what is sent and when. Sends share no limit with visits: they are bounded by MAX_AT_ONCE, the time of one
request, and the few bytes read of an answer.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import structlog

from crawler.guards import Pin
from crawler.outcomes import NO_CONNECTION, failure_of
from crawler.response_body import BodyMemoryBudget, BodyMemoryReservation
from crawler.session import CrawlResources
from crawler.transport import RawAnswer, ask
from registry.actions.webhooks import DELIVER, Outgoing
from registry.core.assessing.verdicts import retry_after
from registry.core.model.documents import FetchResult, Post
from registry.core.names.domains import host_of
from registry.core.webhooks import Attempt, Disable, Verdict, answers_challenge, reason_of, signed_headers
from registry.outages import log_failure
from registry.settings import Settings
from registry.tasks import running_beside

if TYPE_CHECKING:
    from registry.wiring import HeldLock, Waypost

MAX_AT_ONCE: Final = 8  # messages sent at once, each to another receiver
POLL_SECONDS: Final = 1.0  # seconds between two looks for due messages, and so the maximum delay of new events
AGAIN_SECONDS: Final = 5.0

ANSWER_CAP: Final = 4 * 1024  # bytes of an answer that are kept: only an answer to a challenge is read

log = structlog.get_logger(__name__)


class WebhookSender(CrawlResources):
    """The resources of one process for its sends, separate from those of its visits."""

    def __init__(self, settings: Settings) -> None:
        """Raise guards.BadConnectTo for an invalid table."""
        super().__init__(settings.model_copy(update={"request_delay": 0}))
        self.seconds = settings.request_timeout
        self._memory = BodyMemoryBudget(MAX_AT_ONCE)

    async def send(self, outgoing: Outgoing) -> Attempt:
        """Send one message and return the result. Look-up, connection and answer get `seconds` in all. A message is
        delivered if answered with 2xx; a challenge only if the answer contains its token."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.seconds):  # guard: webhook-deadline
                answer = await self._answer(outgoing)
        except TimeoutError:
            return Attempt(None, "request_timeout", duration_ms=_elapsed_ms(began))
        except Exception as error:
            return Attempt(None, failure_of(error).reason, duration_ms=_elapsed_ms(began))
        reason, token = reason_of(answer.status), outgoing.message.token
        if not reason and token is not None and not answers_challenge(answer.body, token):  # guard: webhook-token
            reason = "wrong_token"
        fetched = FetchResult(outgoing.url, outgoing.url, datetime.now(UTC), answer.status, answer.headers)
        wait = retry_after(fetched)
        return Attempt(answer.status, reason, None if wait is None else timedelta(seconds=wait), _elapsed_ms(began))

    async def _answer(self, outgoing: Outgoing) -> RawAnswer:
        """Send the message to the receiver's address, or to its alternative if the first cannot be connected to."""
        pin = await self.guard.pin(host_of(outgoing.url) or "")
        try:
            return await self._ask(outgoing, pin)
        except Exception as error:
            if pin.instead is None or failure_of(error).reason not in NO_CONNECTION:
                raise
            return await self._ask(outgoing, pin.instead)

    async def _ask(self, outgoing: Outgoing, pin: Pin) -> RawAnswer:
        body, memory = outgoing.message.body, BodyMemoryReservation(self._memory)
        signed = signed_headers(outgoing.secrets, outgoing.message.id, body, datetime.now(UTC))
        headers = {"Content-Type": "application/json", "Accept": "application/json, */*;q=0.1", **signed}
        async with self.clients.pinned(pin) as client:
            return await ask(
                client, pin, outgoing.url, headers, cap=ANSWER_CAP, keep_head=True, seconds=self.seconds,
                memory=memory, ahead=0, last=True, post=Post("", body.encode(), ()), needed=(),
            )  # fmt: skip


@contextlib.asynccontextmanager
async def delivering_webhooks(waypost: "Waypost", settings: Settings) -> AsyncIterator[None]:
    """Deliver while the block runs, or stand by for the delivering process. Raise guards.BadSetup. The next process
    sends interrupted messages again, with the same id."""

    async def deliver_continuously() -> None:
        while True:
            try:
                async with waypost.jobs.hold(DELIVER, patient=True) as hold:
                    if hold is not None:
                        await _lead(waypost, sender, hold)
            except Exception as error:  # the database is away
                log_failure(log, "webhooks.failed", error)
            await asyncio.sleep(AGAIN_SECONDS)

    async with WebhookSender(settings) as sender, running_beside(deliver_continuously()):
        yield


async def deliver(waypost: "Waypost", sender: WebhookSender, outgoing: Outgoing) -> tuple[Attempt, Verdict | None]:
    """Send one message and record the attempt; return it and its effect. Raise one of NOT_READY."""
    try:
        attempt = await sender.send(outgoing)
    except Exception as error:  # a bug: without a record the message would be sent every second
        log.error("webhook.crashed", webhook=outgoing.webhook, error=type(error).__name__)
        attempt = Attempt(None, "internal_error")
    verdict = await waypost.webhooks.record(outgoing, attempt)
    event = log.warning if attempt.reason else log.info  # never the URL: it may hold a secret of the receiver
    event("webhook.sent", webhook=outgoing.webhook, message=outgoing.message.id, status=attempt.status,
          reason=attempt.reason)  # fmt: skip
    if isinstance(verdict, Disable):
        log.warning("webhook.disabled", webhook=outgoing.webhook, reason=verdict.reason)
    return attempt, verdict


async def _lead(waypost: "Waypost", sender: WebhookSender, hold: "HeldLock") -> None:
    """Send due messages until the lock is lost: then another process may send them."""

    async def deliver_logged(outgoing: Outgoing) -> None:
        try:
            await deliver(waypost, sender, outgoing)
        except Exception as error:  # the database is away: the message stays due
            log_failure(log, "webhook.not_recorded", error, webhook=outgoing.webhook)

    lost = asyncio.create_task(hold.until_lost())
    running: dict[str, asyncio.Task[None]] = {}
    try:
        while not lost.done():
            running = {webhook: task for webhook, task in running.items() if not task.done()}
            if room := MAX_AT_ONCE - len(running):  # guard: webhooks-at-once
                waypost.mode.require_off()
                for outgoing in await waypost.webhooks.due(room, running):  # guard: webhook-one-at-a-time
                    running[outgoing.webhook] = asyncio.create_task(deliver_logged(outgoing))
            await asyncio.wait({lost}, timeout=POLL_SECONDS)
    finally:
        for task in (lost, *running.values()):
            task.cancel()
        await asyncio.gather(lost, *running.values(), return_exceptions=True)


def _elapsed_ms(began: float) -> int:
    return int((time.monotonic() - began) * 1000)
