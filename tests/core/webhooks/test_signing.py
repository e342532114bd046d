"""Signatures, verified by the library that receivers use."""

from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from registry.core.webhooks import secret_of, signed_headers

OLD, NEW = secret_of(b"o" * 32), secret_of(b"n" * 32)

BODY = '{"type":"feed.changed","data":{"events":3}}'


def test_a_receiver_verifies_a_message() -> None:
    headers = signed_headers([NEW], "msg_1", BODY, datetime.now(UTC))
    assert headers.keys() == {"webhook-id", "webhook-timestamp", "webhook-signature"}
    assert Webhook(NEW).verify(BODY, headers) == {"type": "feed.changed", "data": {"events": 3}}
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(BODY, headers)


@pytest.mark.parametrize("secret", [OLD, NEW])
def test_a_receiver_with_either_secret_verifies_during_a_rotation(secret: str) -> None:
    headers = signed_headers([NEW, OLD], "msg_1", BODY, datetime.now(UTC))
    assert headers["webhook-signature"].count("v1,") == 2
    assert Webhook(secret).verify(BODY, headers)


@pytest.mark.parametrize("altered", ["body", "webhook-id", "webhook-timestamp"])
def test_a_message_that_was_altered_is_refused(altered: str) -> None:
    now = datetime.now(UTC)
    message = {"body": BODY} | signed_headers([NEW], "msg_1", BODY, now)
    other = {"body": BODY.replace("3", "4"), "webhook-id": "msg_2", "webhook-timestamp": str(int(now.timestamp()) - 1)}
    message[altered] = other[altered]
    with pytest.raises(WebhookVerificationError, match="No matching signature"):
        Webhook(NEW).verify(message.pop("body"), message)


@pytest.mark.parametrize("late", [timedelta(minutes=-6), timedelta(minutes=6)])
def test_a_message_with_another_time_is_refused(late: timedelta) -> None:
    with pytest.raises(WebhookVerificationError, match="timestamp too"):
        Webhook(NEW).verify(BODY, signed_headers([NEW], "msg_1", BODY, datetime.now(UTC) + late))


@pytest.mark.parametrize("size", [0, 23, 65])
def test_a_secret_has_the_length_that_the_specification_asks_for(size: int) -> None:
    with pytest.raises(ValueError, match="24 to 64"):
        secret_of(b"x" * size)
