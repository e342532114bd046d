"""Webhooks: what is sent to whom, how often, and what their receivers can cause. And the feed for feed readers."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_SENDS: Final = "tests/crawler/test_webhooks.py::"
_DELIVERS: Final = "tests/actions/webhooks/test_delivering.py::"

GUARDS: Final = (
    Guard(
        "webhook-challenge",
        "webhooks: nothing is told to a receiver before it answered a challenge",
        NEVER,
        (f"{_DELIVERS}test_a_receiver_is_told_nothing_before_it_answered_a_challenge",),
    ),
    Guard(
        "webhook-token",
        "webhooks: the answer to a challenge holds the token",
        NEVER,
        (f"{_SENDS}test_a_challenge_needs_the_token",),
    ),
    Guard(
        "webhook-deadline",
        "webhooks: time of one message, look-up included",
        Edit(r"asyncio\.timeout\([\w.]+\)", "contextlib.AsyncExitStack()"),
        (f"{_SENDS}test_the_time_of_a_look_up_counts",),
    ),
    Guard(
        "webhook-one-at-a-time",
        "webhooks: one message at a time to a receiver",
        Edit(r", running\)", ", ())"),
        (f"{_SENDS}test_a_receiver_gets_one_message_at_a_time",),
    ),
    Guard(
        "webhooks-at-once",
        "webhooks: messages at once",
        Edit(r"MOST_AT_ONCE - len\(running\)", "MOST_AT_ONCE"),
        (f"{_SENDS}test_messages_to_many_receivers_are_bounded",),
    ),
    Guard(
        "webhook-retry-after",
        "webhooks: a receiver delays its messages by a day at most",
        Edit(r"min\((.*), \w+\)", r"(\1)"),
        ("tests/core/webhooks/test_schedule.py::test_retry_after_is_honoured_within_bounds",),
    ),
    Guard(
        "webhook-deliveries-kept",
        "webhooks: attempts that are kept",
        SKIP,
        (f"{_DELIVERS}test_only_the_latest_attempts_are_kept",),
    ),
    Guard(
        "atom-text",
        "texts of sites in the Atom feed are visible and well-formed",
        Edit(r"line\((.*), \w+\)", r"\1"),
        ("tests/api/test_atom.py::test_hostile_texts_stay_text",),
    ),
)
