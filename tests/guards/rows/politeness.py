"""robots.txt, pauses, places and budgets."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_CRAWLER = "tests/crawler/"
_VISIT = "tests/crawler/test_visit.py::"
_PLACES = "tests/crawler/test_politeness.py::"
_PLAN = "tests/core/plan/"

GUARDS: Final = (
    Guard(
        "robots-unavailable",
        "robots.txt that fails stops the visit",
        Edit("reachable=False, "),
        ("tests/core/test_robots.py::test_the_status_decides_when_there_is_no_file",),
    ),
    Guard(
        "robots-rules",
        "robots.txt is obeyed",
        NEVER,
        (f"{_PLAN}test_endings.py::test_robots_may_forbid_some_paths_only",),
    ),
    Guard(
        "robots-429",
        "429 for robots.txt is no permission",
        Edit(r" and \w+ != 429"),
        ("tests/core/test_robots.py::test_the_status_decides_when_there_is_no_file",),
    ),
    Guard(
        "robots-opt-out",
        "robots.txt that opts out",
        Edit(r"opted_out=[\w.]+ and", "opted_out=False and"),
        ("tests/core/test_robots.py::test_an_opt_out_must_name_this_crawler",),
    ),
    Guard(
        "robots-size",
        "robots.txt: 500 KiB",
        Edit(r"\[:\w+\]", "[:]"),
        ("tests/core/test_robots.py::test_only_the_first_500_kib_count",),
    ),
    Guard(
        "robots-pointers",
        "robots.txt: pointers",
        Edit(r" and len\([\w.]+\) < \w+"),
        ("tests/core/test_robots.py::test_pointers",),
    ),
    Guard(
        "request-pause",
        "Crawl-delay",
        Edit(r"max\(([\w.]+), [\w.]+\)", r"\1"),
        (f"{_PLACES}test_a_crawl_delay_can_only_lengthen_the_pause",),
    ),
    Guard(
        "crawl-delay-limit",
        "Crawl-delay, 30 seconds at most",
        Edit(r"min\((max\(.*\)), \w+\)", r"\1"),
        ("tests/core/test_robots.py::test_crawl_delay",),
    ),
    Guard(
        "slow-host",
        "slow hosts are visited in parts",
        NEVER,
        (f"{_PLAN}test_later_visits.py::test_a_host_with_a_long_crawl_delay_is_visited_in_parts",),
    ),
    Guard(
        "request-pause", "pause between requests", SKIP, (f"{_VISIT}test_pauses_are_kept_across_all_hosts_of_a_domain",)
    ),
    Guard(
        "address-connections",
        "connections at once to an address",
        Edit(r"max_connections\(\w+\)", "10_000"),
        (f"{_PLACES}test_connections_to_one_address_are_limited_and_others_unhindered",),
    ),
    Guard(
        "block-connections",
        "connections at once to a block",
        Edit(r"(_acquire\(\w+), [\w.]+\)", r"\1, 10_000)"),
        (f"{_PLACES}test_connections_to_one_block_are_limited",),
    ),
    Guard(
        "connection-slot",
        "a visit waits for a connection slot",
        SKIP,
        (f"{_VISIT}test_connections_to_a_block_of_addresses_are_bounded",),
    ),
    Guard(
        "crowded-address",
        "crowded addresses are deferred",
        NEVER,
        (f"{_CRAWLER}test_deferrals.py::test_sites_of_one_address_do_not_block_others",),
    ),
    Guard(
        "block-daily-budget",
        "requests a day to a block",
        Edit(r"return [^#]*", "return False  "),
        (f"{_PLACES}test_a_spent_block_budget_holds_for_every_process",),
    ),
    Guard(
        "block-budget-check",
        "visits ask what their block has had",
        NEVER,
        (f"{_VISIT}test_the_budget_of_an_address_block_is_kept_across_its_hosts",),
    ),
    Guard(
        "block-budget-count",
        "every request to a block is counted",
        SKIP,
        (f"{_VISIT}test_the_budget_of_an_address_block_is_kept_across_its_hosts",),
    ),
    Guard(
        "domain-daily-budget",
        "requests a day to a domain",
        Edit(r"job\.spent if .* else "),
        (f"{_CRAWLER}test_daily_budget.py::test_the_daily_budget_is_kept_across_all_hosts_of_a_domain",),
    ),
    Guard(
        "small-budget",
        "no visit for a handful of requests",
        NEVER,
        (f"{_CRAWLER}test_daily_budget.py::test_the_daily_budget_is_kept_across_all_hosts_of_a_domain",),
    ),
    Guard(
        "visit-request-budget",
        "requests of one visit",
        Edit("return [^#]*", "return True"),
        (f"{_PLAN}test_pointers.py::test_details_have_their_own_budget_and_continue_on_the_next_visit",),
    ),
    Guard(
        "opt-out-before-look-up",
        "opted-out hosts are not looked up",
        Edit(r"[\w.]+ if [^#]* else "),
        (f"{_CRAWLER}test_closed_hosts.py",),
    ),
    Guard(
        "opt-out-lease",
        "opted-out hosts are not leased",
        NEVER,
        ("tests/actions/test_seed.py::test_a_host_that_opted_out_while_it_waited_is_not_leased",),
    ),
)
