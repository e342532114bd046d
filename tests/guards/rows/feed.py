"""The change feed: no event is missed, none says what its host no longer shows, and reading it has limits."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_SEQUENCING: Final = "tests/actions/feed/test_sequencing.py::"

GUARDS: Final = (
    Guard(
        "feed-one-sequencer",
        "one transaction at a time numbers events",
        NEVER,
        (f"{_SEQUENCING}test_concurrent_writers_and_sequencers_lose_and_repeat_nothing",),
    ),
    Guard(
        "feed-place-checked",
        "a place that was pruned, or is from before a restore, is refused",
        Edit("is_kept and .*", "True\n"),
        (
            f"{_SEQUENCING}test_a_place_that_was_pruned_is_expired_and_the_one_at_the_edge_is_not",
            f"{_SEQUENCING}test_a_place_from_before_a_restore_is_expired",
        ),
    ),
    Guard(
        "feed-hidden-redacted",
        "events lose what they said of a host that opts out",
        SKIP,
        ("tests/actions/feed/test_events.py::test_an_opt_out_by_robots_hides_and_deletes_what_events_said",),
    ),
    Guard(
        "feed-forgotten-redacted",
        "events lose what they said of a host that is forgotten",
        SKIP,
        ("tests/actions/test_forget.py::test_the_change_feed_reports_the_removal_without_old_data",),
    ),
    Guard(
        "untrusted-feed",
        "texts of sites in events are marked",
        Edit(r'"name", "capabilities", "difference"', ""),
        ("tests/api/test_untrusted_text.py::test_every_text_of_a_site_is_marked_in_every_answer",),
    ),
    Guard(
        "stream-work",
        "an event stream is no way around the limit of work",
        SKIP,
        ("tests/api/test_feed_stream.py::test_a_stream_waits_for_the_allowance_of_its_client",),
    ),
)
