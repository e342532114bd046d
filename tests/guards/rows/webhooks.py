"""Webhooks: what is sent to whom, how often, and what their receivers can cause. And the feed for feed readers."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_SENDS: Final = "tests/crawler/test_webhooks.py::"
_DELIVERS: Final = "tests/actions/webhooks/test_delivering.py::"
_RECEIVES: Final = "tests/actions/webhooks/test_receivers.py::"

GUARDS: Final = (
    Guard(
        "webhook-challenge",
        "webhooks: a receiver gets no event before it answers a challenge",
        NEVER,
        (f"{_DELIVERS}test_a_receiver_is_told_nothing_before_it_answered_a_challenge",),
    ),
    Guard(
        "webhook-foreign-receiver",
        "webhooks: an owner names only receivers that the ownership covers, or that are proven",
        SKIP,
        (
            f"{_RECEIVES}test_a_receiver_on_another_host_is_refused",
            f"{_RECEIVES}test_webhooks_that_an_earlier_version_added_are_looked_at_too",
        ),
    ),
    Guard(
        "webhook-closed-receiver",
        "webhooks: hosts that opted out or are blocked get nothing",
        SKIP,
        (
            f"{_RECEIVES}test_hosts_that_left_are_no_receivers",
            f"{_RECEIVES}test_an_opt_out_ends_deliveries_that_an_operator_set_up",
            f"{_RECEIVES}test_a_block_ends_deliveries_to_an_owner",
        ),
    ),
    Guard(
        "webhook-challenges",
        "webhooks: challenges to a host and to a registrable domain in a day",
        NEVER,
        (
            f"{_RECEIVES}test_challenges_to_a_domain_are_bounded_over_all_owners_and_operators",
            f"{_RECEIVES}test_failing_receivers_get_no_more_challenges_than_the_bound",
        ),
    ),
    Guard(
        "webhook-set-again",
        "webhooks: an owner sees that the challenges of a day are spent",
        NEVER,
        (f"{_RECEIVES}test_challenges_to_a_host_are_bounded_over_all_addresses",),
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
        Edit(r"MAX_AT_ONCE - len\(running\)", "MAX_AT_ONCE"),
        (f"{_SENDS}test_messages_to_many_receivers_are_bounded",),
    ),
    Guard(
        "webhook-retry-after",
        "webhooks: a receiver delays its messages by a day at most",
        Edit(r"min\((.*), \w+\)", r"(\1)"),
        ("tests/core/test_webhooks.py::test_retry_after_is_honoured_within_bounds",),
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
