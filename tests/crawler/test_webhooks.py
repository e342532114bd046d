"""Messages to receivers of webhooks, over real TLS: what is sent, what is refused, and what follows."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from standardwebhooks.webhooks import Webhook

from crawler import webhooks
from crawler.webhooks import WebhookSender, delivering_webhooks
from registry.actions.webhooks import Outgoing
from registry.core.changes.kinds import ALL
from registry.core.webhooks import Attempt, Message, challenge_body, secret_of
from registry.store.records import ChangeRecord
from registry.store.unit_of_work import Store
from registry.store.webhooks import DeliveryRecord, WebhookRecord
from registry.wiring import Waypost, open_waypost
from tests.crawler.support import Web, silent
from tests.support.database import until_true
from tests.support.hang import HANG_SECONDS
from tests.support.receivers import HOST, URL, Receiver
from tests.support.sites import Exchange, Reply, Site, Sites, moved, pours

pytestmark = pytest.mark.slow

SECRET = secret_of(b"s" * 32)
TOKEN = "a-random-token"
MESSAGE = Message("msg_1", "events", '{"type":"feed.changed"}')
CHALLENGE = Message("msg_2", "challenge", challenge_body(TOKEN, datetime.now(UTC)), TOKEN)


Sending: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[Sites, WebhookSender]]]


@pytest.fixture
def sending(web: Web) -> Sending:
    @asynccontextmanager
    async def send(site: Site, *certificates: Mapping[str, str]) -> AsyncIterator[tuple[Sites, WebhookSender]]:
        sites = {HOST: site, "elsewhere.example": Reply()}
        async with web(sites, *certificates) as (served, config), WebhookSender(config) as sender:
            yield served, sender

    return send


def to_receiver(message: Message = MESSAGE, url: str = URL) -> Outgoing:
    return Outgoing("wh_1", url, message, (SECRET,))


async def reset(exchange: Exchange) -> None:
    exchange.reset()


async def breaks_off(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthanks")
    exchange.reset()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Reply(), Attempt(200)),
        (Reply(status=204, type=None), Attempt(204)),
        (Reply("x" * 300_000, status=202), Attempt(202)),
        (Reply("?", headers=(("Content-Encoding", "br"),)), Attempt(200)),
        (breaks_off, Attempt(200)),
        (Reply(status=500), Attempt(500, "http_500")),
        (moved("https://elsewhere.example/"), Attempt(301, "redirect")),
        (moved(URL, 307), Attempt(307, "redirect")),
        (Reply(status=410), Attempt(410, "http_410")),
        (Reply(status=429, headers=(("Retry-After", "120"),)), Attempt(429, "http_429", timedelta(minutes=2))),
        (Reply(status=503, headers=(("Retry-After", "9" * 40),)), Attempt(503, "http_503", timedelta(days=1))),
        (reset, Attempt(None, "reset")),
        (pours(b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"y" * 4_000 + b"\r\n"), Attempt(None, "headers")),
    ],
)
async def test_what_an_answer_means(sending: Sending, answer: Any, expected: Attempt) -> None:
    async with sending(answer) as (served, sender):
        attempt = await sender.send(to_receiver())
    assert replace(attempt, duration_ms=0) == expected
    assert [(seen.method, seen.host, seen.path) for seen in served.seen] == [("POST", HOST, "/hook")], "sent once"
    [seen] = served.seen
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["user-agent"].startswith("WaypostBot/")
    assert Webhook(SECRET).verify(seen.body, dict(seen.headers)) == {"type": "feed.changed"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Reply(TOKEN, type="text/plain"), ""),
        (Reply(json.dumps({"challenge": TOKEN})), ""),
        (Reply("ok"), "wrong_token"),
        (Reply(status=204, type=None), "wrong_token"),
        (Reply(" " * 5_000 + TOKEN), "wrong_token"),
        (Reply(TOKEN, status=404), "http_404"),
    ],
)
async def test_a_challenge_needs_the_token(sending: Sending, answer: Reply, reason: str) -> None:
    async with sending(answer) as (_, sender):
        assert (await sender.send(to_receiver(CHALLENGE))).reason == reason


@pytest.mark.parametrize(
    "answer", [silent, pours(b"HTTP/1.1 200 OK\r\n\r\n", b"", 0.05)], ids=["no answer", "no end of the answer"]
)
async def test_a_receiver_that_takes_too_long_is_left(sending: Sending, answer: Site) -> None:
    async with sending(answer) as (_, sender):
        sender.seconds = 0.5
        assert (await sender.send(to_receiver())).reason == "request_timeout"


async def test_the_time_of_a_look_up_counts(sending: Sending, monkeypatch: pytest.MonkeyPatch) -> None:
    async with sending(Reply()) as (_, sender):
        monkeypatch.setattr(sender.guard, "pin", silent)
        sender.seconds = 0.05
        async with asyncio.timeout(HANG_SECONDS):
            assert (await sender.send(to_receiver())).reason == "request_timeout"


async def test_an_invalid_certificate_is_refused(sending: Sending) -> None:
    async with sending(Reply(), {HOST: "wrong_name"}) as (served, sender):
        assert (await sender.send(to_receiver())).reason == "certificate_wrong_name"
        assert served.seen == []


async def test_a_name_without_an_address(sending: Sending) -> None:
    async with sending(Reply()) as (_, sender):
        assert (await sender.send(to_receiver(url="https://nowhere.example/"))).reason == "nxdomain"


@dataclass
class Registry:
    """`waypost` is delivering to `receiver`."""

    waypost: Waypost
    store: Store
    receiver: Receiver
    served: Sites
    webhook: str

    async def happen(self, *hosts: str) -> None:
        now = datetime.now(UTC)
        async with self.store.begin() as uow:
            await uow.ledger.add_changes([ChangeRecord(host, host, "service.changed", now, {}) for host in hosts])

    async def until(self, condition: Callable[[WebhookRecord], bool]) -> None:
        """Wait until all webhooks meet the condition."""

        async def is_met() -> bool:
            return all(map(condition, await self.waypost.webhooks.all()))

        await until_true(is_met)

    async def attempts(self) -> Sequence[DeliveryRecord]:
        return await self.waypost.webhooks.deliveries(self.webhook, limit=100)


Delivering: TypeAlias = Callable[[Receiver], AbstractAsyncContextManager[Registry]]


@pytest.fixture
def delivering(
    web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Store, database_url: str
) -> Delivering:
    """Return a context that yields a registry whose receiver has been verified. Retries and further messages follow at
    once."""
    monkeypatch.setattr("registry.core.webhooks.GATHER", timedelta())
    monkeypatch.setattr("registry.core.webhooks.DELAYS", (timedelta(),))
    monkeypatch.setattr(webhooks, "POLL_SECONDS", 0.02)

    @asynccontextmanager
    async def deliver(receiver: Receiver) -> AsyncIterator[Registry]:
        sites = {HOST: receiver, "elsewhere.example": Reply()}
        async with (
            web(sites, database_url=database_url, data=tmp_path) as (served, config),
            open_waypost(config) as waypost,
        ):
            webhook = await waypost.webhooks.add(URL, ALL, ())
            receiver.secret = webhook.secret
            registry = Registry(waypost, store, receiver, served, webhook.id)
            async with delivering_webhooks(waypost, config):
                await registry.until(lambda webhook: webhook.verified_at is not None)
                yield registry

    return deliver


async def test_events_are_told_until_they_are_delivered(delivering: Delivering) -> None:
    receiver = Receiver([Reply(status=500), reset, moved("https://elsewhere.example/")])
    async with delivering(receiver) as registry:
        assert receiver.challenges == 1
        await registry.happen("a.example", "b.example")
        messages = await receiver.received(4)
        assert len({message_id for message_id, _ in messages}) == 1, "retries have the id of the first attempt"
        assert all(content == messages[0][1] for _, content in messages)
        assert messages[0][1]["data"]["events"] == 2

        async def are_recorded() -> bool:
            return len(await registry.attempts()) >= 5

        await until_true(are_recorded)
        reasons = [one.reason for one in await registry.attempts()]
        assert reasons == ["", "redirect", "reset", "http_500", ""]
        await registry.happen("c.example")
        assert (await receiver.received(5))[4][1]["data"]["events"] == 1
    assert {seen.host for seen in registry.served.seen} == {HOST}, "the redirect was not followed"


async def test_410_disables_at_once(delivering: Delivering) -> None:
    receiver = Receiver([Reply(status=410)])
    async with delivering(receiver) as registry:
        await registry.happen("a.example")
        await registry.until(lambda webhook: webhook.disabled_at is not None)
        assert (await registry.waypost.webhooks.all())[0].disabled_reason == "gone"
        assert (await registry.waypost.webhooks.counts()).disabled == 1
        await registry.waypost.webhooks.enable(registry.webhook)
        first, second = await receiver.received(2)
        assert first == second and receiver.challenges == 2


async def test_a_receiver_gets_one_message_at_a_time(delivering: Delivering, monkeypatch: pytest.MonkeyPatch) -> None:
    release = asyncio.Event()

    async def slow(exchange: Exchange) -> None:
        await release.wait()
        await exchange.send(Reply().encode())

    receiver = Receiver([slow])
    async with delivering(receiver) as registry:
        await registry.happen("a.example")
        await receiver.received(1)
        await registry.happen("b.example")
        polls = 0
        due = registry.waypost.webhooks.due

        async def counted(limit: int, busy: Any) -> Any:
            nonlocal polls
            polls += 1
            return await due(limit, busy)

        monkeypatch.setattr(registry.waypost.webhooks, "due", counted)

        async def has_polled() -> bool:
            return polls >= 3

        await until_true(has_polled)
        assert len(receiver.messages) == 1
        release.set()
        (first, _), (second, content) = await receiver.received(2)
        assert first != second and content["data"]["events"] == 1


async def test_messages_to_many_receivers_are_bounded(delivering: Delivering, monkeypatch: pytest.MonkeyPatch) -> None:
    active: list[int] = [0]

    async def slow(exchange: Exchange) -> None:
        active.append(active[-1] + 1)
        await asyncio.sleep(10 * webhooks.POLL_SECONDS)  # while it looks for more to send
        active.append(active[-1] - 1)
        await exchange.send(Reply().encode())

    monkeypatch.setattr(webhooks, "MAX_AT_ONCE", 1)
    receiver = Receiver([slow, slow, slow])
    async with delivering(receiver) as registry:
        receiver.secret = None  # each webhook has its own
        for _ in range(2):
            await registry.waypost.webhooks.add(URL, ALL, ())
        await registry.until(lambda webhook: webhook.verified_at is not None)
        await registry.happen("a.example")
        await receiver.received(3)
    assert max(active) == 1


async def test_a_process_that_loses_the_right_to_deliver_stops(
    delivering: Delivering, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    """Its interrupted message is sent again, with the same id, by whoever has the right next."""
    monkeypatch.setattr(webhooks, "AGAIN_SECONDS", 0.02)
    receiver = Receiver([silent])
    async with delivering(receiver) as registry:
        await registry.happen("a.example")
        await receiver.received(1)
        async with store.engine.connect() as connection:
            await connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = "
                "(hashtext('webhooks')::bigint & 4294967295)::bigint::oid "
                "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
        first, second = await receiver.received(2)
        assert first == second
