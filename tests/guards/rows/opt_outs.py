"""Requests to check an opt-out: no client delays, blocks or takes over those of another."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_QUEUE = "tests/actions/test_opt_out_queue.py::"
_CHECK = "tests/crawler/test_opt_out.py::"

GUARDS: Final = (
    Guard(
        "opt-out-turns",
        "opt-out requests: clients for whom the least is being checked go first",
        Edit(r"q\.place, r\.round, r\.asked_at", "r.asked_at"),
        (
            f"{_QUEUE}test_a_new_client_is_next_whatever_others_have_queued",
            f"{_QUEUE}test_with_more_clients_than_places_those_without_a_check_go_first",
        ),
    ),
    Guard(
        "opt-out-turns",
        "opt-out requests: clients take turns",
        Edit(r"r\.round, "),
        (f"{_QUEUE}test_clients_take_turns_when_there_are_more_than_places",),
    ),
    Guard(
        "opt-out-turns",
        "opt-out requests: checks at once for one client",
        Edit(r"q\.place <= :per_client", "true"),
        (f"{_QUEUE}test_a_new_client_is_next_whatever_others_have_queued",),
    ),
    Guard(
        "opt-out-turns",
        "opt-out requests: the operator goes first",
        Edit(r"r\.client IS DISTINCT FROM :operator, "),
        (f"{_QUEUE}test_the_operator_goes_first",),
    ),
    Guard(
        "opt-out-turns",
        "opt-out requests: one worker checks each",
        Edit(r" AND coalesce\(r\.claimed_until, '-infinity'\) <= :now"),
        (
            f"{_QUEUE}test_a_claim_expires",
            f"{_QUEUE}test_two_workers_never_claim_the_same_request",
        ),
    ),
    Guard(
        "opt-out-owner",
        "an open opt-out request is not replaced",
        Edit(r", where=\w+"),
        (f"{_QUEUE}test_an_open_request_keeps_its_place_and_owner",),
    ),
    Guard(
        "opt-out-settled",
        "the first verdict on an opt-out request counts",
        Edit(r" AND checked_at IS NULL"),
        (f"{_QUEUE}test_the_first_verdict_counts",),
    ),
    Guard(
        "opt-out-settled",
        "who requested a check is erased with its result",
        Edit(r", client = NULL"),
        (f"{_QUEUE}test_who_asked_is_erased_with_the_verdict",),
    ),
    Guard(
        "opt-out-clients",
        "who requested a check is erased after a day",
        SKIP,
        (f"{_QUEUE}test_who_asked_is_erased_after_a_day_without_a_worker",),
    ),
    Guard(
        "opt-out-open-requests",
        "open opt-out requests of one client",
        NEVER,
        (
            f"{_QUEUE}test_open_requests_of_a_client_are_limited",
            "tests/api/test_opt_outs.py::test_a_client_with_many_open_requests_is_told_to_wait",
        ),
    ),
    Guard(
        "opt-out-purpose",
        "opt-out requests that cannot change anything cause no check",
        Edit("return [^#]*", "return True"),
        (f"{_QUEUE}test_pointless_requests_do_not_use_up_the_checks_of_a_host",),
    ),
    Guard(
        "opt-out-confirmed",
        "a host that is typed again to opt out is the same",
        NEVER,
        ("tests/api/test_opt_outs.py::test_a_name_that_is_typed_again_has_to_be_the_same",),
    ),
    Guard(
        "opt-out-invented-hosts",
        "hosts of one domain whose opt-outs are checked",
        Edit(r"< \w+", "< 10**9"),
        ("tests/actions/test_forget.py::test_requests_for_many_hosts_of_a_domain_are_limited",),
    ),
    Guard(
        "opt-out-apex",
        "invented hosts do not block the opt-out of the domain",
        Edit("return [^#]*", "return False"),
        (f"{_QUEUE}test_invented_hosts_do_not_block_the_others_of_their_domain",),
    ),
    Guard(
        "opt-out-visited",
        "invented hosts do not block the opt-out of a visited one",
        NEVER,
        (f"{_QUEUE}test_invented_hosts_do_not_block_the_others_of_their_domain",),
    ),
    Guard(
        "opt-out-fence",
        "a visit that began before an opt-out is not recorded",
        SKIP,
        (
            f"{_QUEUE}test_a_check_does_not_wait_for_the_lease_and_the_visit_is_dropped",
            "tests/actions/test_forget.py::test_a_running_visit_restores_nothing_and_blocks_a_second_one",
        ),
    ),
    Guard(
        "lost-lease-ends-visit",
        "a visit ends when its site opts out",
        SKIP,
        ("tests/flow/test_opt_out.py::test_a_visit_in_progress_ends_when_the_site_opts_out",),
    ),
    Guard(
        "opt-out-deadline",
        "an opt-out check ends",
        Edit(r"asyncio\.timeout\([\w.]+\), "),
        (f"{_CHECK}test_a_check_ends_though_neither_site_nor_name_server_answer",),
    ),
    Guard(
        "opt-out-budgets",
        "a spent budget does not keep a site from opting out",
        SKIP,
        (f"{_CHECK}test_silent_neighbours_at_its_address_do_not_delay_a_site",),
    ),
    Guard(
        "opt-out-slots",
        "opt-out checks do not wait for their neighbours' connections",
        Edit(r"return \(\)", "return await super().acquire_slot(key)"),
        (f"{_CHECK}test_silent_neighbours_at_its_address_do_not_delay_a_site",),
    ),
    Guard(
        "opt-out-redirect",
        "opt-outs: a file of another host has no effect",
        NEVER,
        (f"{_CHECK}test_a_host_behind_a_redirect_opts_nobody_else_out",),
    ),
    Guard(
        "robots-elsewhere",
        "opt-outs: robots.txt of another host has no effect",
        Edit(r"record\.is_own", "True"),
        (
            "tests/core/plan/test_endings.py::test_robots_of_another_host_are_obeyed_and_opt_nobody_out",
            "tests/actions/test_delisting.py::test_the_robots_txt_of_another_host_opts_nobody_out",
        ),
    ),
)
