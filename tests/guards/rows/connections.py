"""Connections of the API: how many, and how long each may wait for its client."""

from typing import Final

from tests.guards.guard import NEVER, Edit, Guard

_TESTS: Final = "tests/edge/test_connections.py::"
_FOREVER: Final = r"self\.table\.deadline\(\w+\)|self\.waits_since \+ \w+"

GUARDS: Final = (
    Guard(
        "connections-per-client",
        "connections of one client",
        NEVER,
        (f"{_TESTS}test_one_client_has_a_limited_number_of_connections",),
    ),
    Guard(
        "connections-in-all",
        "connections of all clients",
        NEVER,
        (
            f"{_TESTS}test_a_full_table_evicts_the_longest_waiting_of_the_largest_client",
            f"{_TESTS}test_requests_being_answered_are_never_evicted",
        ),
    ),
    Guard("long-polls", "long polls are counted apart", NEVER, (f"{_TESTS}test_long_polls_are_counted_apart",)),
    Guard(
        "head-deadline",
        "deadline of a request's head",
        Edit(_FOREVER, "math.inf"),
        (
            f"{_TESTS}test_an_unfinished_head_ends_with_408",
            f"{_TESTS}test_a_connection_without_a_request_ends",
            f"{_TESTS}test_empty_lines_after_a_response_do_not_keep_a_connection",
        ),
    ),
    Guard(
        "deadlines-apart",
        "a flood of unfinished requests neither ends nor comes again at once",
        Edit(r"self\._chance\(\)", "1"),
        (f"{_TESTS}test_connections_that_were_opened_together_end_one_by_one",),
    ),
    Guard(
        "body-deadline",
        "deadline of a request's body",
        Edit(_FOREVER, "math.inf"),
        (f"{_TESTS}test_an_unfinished_body_ends_with_408_and_the_application_sees_a_disconnect",),
    ),
    Guard(
        "write-deadline",
        "clients that read nothing are cut off",
        Edit(_FOREVER, "math.inf"),
        (f"{_TESTS}test_a_client_that_reads_nothing_is_cut_off[keep-alive]",),
    ),
    Guard(
        "closing-connections",
        "clients that read nothing cannot keep a closing connection",
        Edit(r"self\._close_deadline", "math.inf"),
        (f"{_TESTS}test_a_client_that_reads_nothing_is_cut_off[close]",),
    ),
    Guard("head-bytes", "heads of requests: bytes", NEVER, (f"{_TESTS}test_a_head_of_any_length_is_refused",)),
)
