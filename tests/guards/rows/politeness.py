"""robots.txt, pauses, places and budgets."""

from typing import Final

from tests.guards.guard import Guard

_CRAWLER = "tests/crawler/"
_VISIT = "tests/crawler/test_visit.py::"
_PLACES = "tests/crawler/test_politeness.py::"
_PLAN = "tests/core/plan/"

GUARDS: Final = (
    Guard(
        "robots.txt that fails stops the visit",
        "registry/core/robots.py",
        'return cls(reachable=False, reason=f"robots_{status}")',
        'return cls(reason=f"robots_{status}")',
        ("tests/core/test_robots.py::test_the_status_decides_when_there_is_no_file",),
    ),
    Guard(
        "robots.txt is obeyed",
        "registry/core/plan.py",
        "if not robots.allowed(probe.url):",
        "if False:",
        (f"{_PLAN}test_endings.py::test_robots_may_forbid_some_paths_only",),
    ),
    Guard(
        "429 for robots.txt is no permission",
        "registry/core/robots.py",
        "if 300 <= status < 500 and status != 429:",
        "if 300 <= status < 500:",
        ("tests/core/test_robots.py::test_the_status_decides_when_there_is_no_file",),
    ),
    Guard(
        "robots.txt that opts out",
        "registry/core/robots.py",
        "opted_out=reading.own_seen and",
        "opted_out=False and",
        ("tests/core/test_robots.py::test_opting_out_needs_our_own_name",),
    ),
    Guard(
        "robots.txt: 500 KiB",
        "registry/core/robots.py",
        "body = body[:CAP]",
        "body = body[:]",
        ("tests/core/test_robots.py::test_only_the_first_500_kib_count",),
    ),
    Guard(
        "robots.txt: pointers",
        "registry/core/robots.py",
        "if url and len(self.pointers) < MAX_POINTERS:",
        "if url:",
        ("tests/core/test_robots.py::test_pointers",),
    ),
    Guard(
        "Crawl-delay",
        "crawler/politeness.py",
        "max(self.least, self._delay)",
        "self.least",
        (f"{_PLACES}test_robots_may_ask_for_longer_pauses_never_for_shorter_ones",),
    ),
    Guard(
        "Crawl-delay, 30 seconds at most",
        "registry/core/robots.py",
        "min(max(seconds, group.delay or 0.0), MAX_DELAY)",
        "max(seconds, group.delay or 0.0)",
        ("tests/core/test_robots.py::test_crawl_delay",),
    ),
    Guard(
        "slow hosts are visited in parts",
        "registry/core/patience.py",
        "if (crawl_delay or 0) > SLOW_DELAY:",
        "if False:",
        (f"{_PLAN}test_later_visits.py::test_a_host_that_wants_long_pauses_is_visited_in_parts",),
    ),
    Guard(
        "pause between requests",
        "crawler/politeness.py",
        "self.due = self._asked + max(self.least, self._delay)",
        "pass",
        (f"{_VISIT}test_pauses_between_requests_over_all_hosts_of_a_domain",),
    ),
    Guard(
        "connections at once to an address",
        "crawler/politeness.py",
        "self._in(place, connections_at(place))",
        "self._in(place, 10_000)",
        (f"{_PLACES}test_no_more_than_two_at_one_address_and_others_unhindered",),
    ),
    Guard(
        "connections at once to a block",
        "crawler/politeness.py",
        "self._in(block, self._per_block)",
        "self._in(block, 10_000)",
        (f"{_PLACES}test_no_more_than_so_many_in_one_block",),
    ),
    Guard(
        "a visit waits for its place",
        "crawler/visit.py",
        "            await self._go_to(pin.place)",
        "            pass",
        (f"{_VISIT}test_connections_to_a_block_of_addresses_are_bounded",),
    ),
    Guard(
        "crowds do not fill the flight",
        "crawler/visit.py",
        "        if self._visitor.is_crowded(place):",
        "        if False:",
        (f"{_CRAWLER}test_appointments.py::test_sites_of_one_address_leave_room_for_others",),
    ),
    Guard(
        "requests a day to a block",
        "crawler/politeness.py",
        "self._sum(block) >= self._daily",
        "False",
        (f"{_PLACES}test_a_block_that_had_its_requests_is_left_alone_by_every_process",),
    ),
    Guard(
        "visits ask what their block has had",
        "crawler/visit.py",
        "            if self._visitor.blocks.is_spent(pin.place):",
        "            if False:",
        (f"{_VISIT}test_budget_of_a_block_of_addresses_is_kept_over_its_hosts",),
    ),
    Guard(
        "every request to a block is counted",
        "crawler/visit.py",
        "            self._visitor.blocks.asked(pin.place)",
        "            pass",
        (f"{_VISIT}test_budget_of_a_block_of_addresses_is_kept_over_its_hosts",),
    ),
    Guard(
        "requests a day to a domain",
        "crawler/visit.py",
        "self.settings.domain_daily_budget - spent",
        "self.settings.domain_daily_budget",
        (f"{_VISIT}test_budget_of_the_day_is_kept_over_all_hosts",),
    ),
    Guard(
        "no visit for a handful of requests",
        "crawler/visit.py",
        "        if pace.left < LEAST_BUDGET:",
        "        if False:",
        (f"{_VISIT}test_budget_of_the_day_is_kept_over_all_hosts",),
    ),
    Guard(
        "requests of one visit",
        "registry/core/patience.py",
        "return self._left[purpose is Purpose.DETAIL] >= requests",
        "return True",
        (f"{_PLAN}test_pointers.py::test_details_have_a_budget_of_their_own_and_go_on_next_time",),
    ),
    Guard(
        "opted-out hosts are not looked up",
        "crawler/visit.py",
        "OPTED_OUT if is_covered(host, self._closed) else",
        "",
        (f"{_CRAWLER}test_closed_hosts.py",),
    ),
    Guard(
        "opted-out hosts are not leased",
        "registry/actions/frontier/due.py",
        "if is_covered(host.host, opted_out.get(host.domain, ())):",
        "if False:",
        ("tests/actions/test_named_hosts.py::test_a_host_that_opted_out_while_it_waited_is_not_leased",),
    ),
)
