"""What a message of a webhook says is what the feed answers at the address that it names."""

import json
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest

from registry.core.changes.kinds import Types
from registry.core.webhooks import Attempt
from registry.store.records import ChangeRecord
from tests.api.sites import PIGEON
from tests.support.api import PUBLIC_URL, Api

HAPPENING = ("service.changed", "host.readmitted", "service.changed", "service.listed")


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((), HAPPENING),
        (("service.changed",), HAPPENING[::2]),
        (("service.*", "host.forgotten"), ("service.changed", "service.changed", "service.listed")),
    ],
)
async def test_the_feed_answers_at_the_address_in_a_message(
    own_api: Api, types: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    webhooks = own_api.waypost.webhooks
    await webhooks.add(f"https://{PIGEON}/hook", Types.of(types), ())
    [challenge] = await webhooks.due(10, ())
    await webhooks.record(challenge, Attempt(200))
    async with own_api.store.begin() as uow:
        await uow.ledger.add_changes([ChangeRecord(PIGEON, PIGEON, kind, datetime.now(UTC), {}) for kind in HAPPENING])
    [outgoing] = await webhooks.due(10, ())
    data = json.loads(outgoing.message.body)["data"]
    assert data["url"].startswith(f"{PUBLIC_URL}/api/feed?cursor=")
    address = urlsplit(data["url"])
    page = (await own_api.get(f"{address.path}?{address.query}")).json()
    assert [event["type"] for event in page["events"]] == list(expected)
    assert data["events"] == len(page["events"])
    assert data["cursor"] == page["cursor"] and not page["has_more"]
