"""Who may spend the daily budget of a domain, and what submissions cost those who make them."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_BOUNDS = "tests/actions/test_submission_bounds.py::"
_FLOODS = "tests/flow/test_submission_floods.py::"
_SHARES = "tests/core/test_shares.py::"
_VISIT = "tests/crawler/test_daily_budget.py::"

GUARDS: Final = (
    Guard(
        "spent-sent",
        "only requests that were sent are charged to a domain",
        Edit(r"sum\(coalesce\(sent, requests\)\)", "sum(requests)"),
        (f"{_BOUNDS}test_only_what_was_sent_is_spent",),
    ),
    Guard(
        "kept-share",
        "requests a day kept for better known hosts of a domain",
        Edit(r"limited <= standing", "limited == 0"),
        (
            f"{_SHARES}test_nobody_can_spend_what_is_kept_for_better_known_hosts",
            f"{_VISIT}test_submitted_hosts_leave_half_of_the_daily_budget",
            f"{_FLOODS}test_an_opt_out_by_robots_is_seen_during_a_flood",
        ),
    ),
    Guard(
        "look-ups",
        "look-ups a day of names of a domain without an address",
        Edit(r" < share\.look_ups", " < 10**9"),
        (
            f"{_SHARES}test_look_ups_in_vain_are_bounded_for_strange_hosts_only",
            f"{_FLOODS}test_a_flood_of_submissions_is_no_flood_of_dns_queries",
        ),
    ),
    Guard(
        "look-up-count",
        "look-ups without an address are counted during a lease",
        SKIP,
        (f"{_VISIT}test_look_ups_in_vain_are_bounded_within_a_lease",),
    ),
    Guard(
        "lease-order",
        "the best known hosts of a lease first",
        Edit(r"sorted\(\s*(hosts), key=.*\)", r"list(\1)"),
        (
            f"{_BOUNDS}test_the_best_known_hosts_are_visited_first",
            f"{_BOUNDS}test_the_first_host_of_each_submitter_is_visited_before_the_second_of_any",
        ),
    ),
    Guard(
        "strange-hosts",
        "hosts of unknown names in one lease",
        Edit(r"\[: .*\]"),
        (f"{_BOUNDS}test_the_best_known_hosts_are_visited_first",),
    ),
    Guard(
        "postponed-once",
        "a postponed visit is not queued again",
        Edit(r" or known\.next_visit_why is \S+"),
        (f"{_BOUNDS}test_a_postponed_host_is_not_queued_anew_by_submissions",),
    ),
    Guard(
        "client-domain",
        "hosts of one domain that a client submits",
        NEVER,
        (
            f"{_BOUNDS}test_a_client_submits_a_few_unknown_sub_hosts_of_a_domain_in_a_day",
            f"{_BOUNDS}test_submissions_at_the_same_time_stay_within_the_bound",
            f"{_FLOODS}test_a_new_sub_host_of_the_owner_is_visited_during_a_flood",
        ),
    ),
    Guard(
        "client-unresolved",
        "names without an address that a client submits",
        NEVER,
        (f"{_BOUNDS}test_names_without_an_address_are_charged_to_their_client",),
    ),
    Guard(
        "unresolved-charged",
        "names without an address are charged to their client",
        SKIP,
        (f"{_BOUNDS}test_names_without_an_address_are_charged_to_their_client",),
    ),
    Guard(
        "client-of-submission",
        "the API says which client submits",
        Edit(r", client=client_of\(request\)"),
        (f"{_FLOODS}test_names_that_do_not_resolve_are_charged_to_the_client_that_submits_them",),
    ),
    Guard(
        "client-erased",
        "which client submitted what is erased after a day",
        SKIP,
        (f"{_BOUNDS}test_who_submitted_is_erased_after_a_day",),
    ),
    Guard(
        "submitted-hosts",
        "no client fills the queue of a domain",
        Edit(r" and turn >= last_turn"),
        (f"{_BOUNDS}test_no_client_can_fill_the_queue_of_a_domain",),
    ),
    Guard(
        "waiting-dropped",
        "the queue of a domain stays bounded",
        SKIP,
        (f"{_BOUNDS}test_no_client_can_fill_the_queue_of_a_domain",),
    ),
)
