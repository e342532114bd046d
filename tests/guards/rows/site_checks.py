"""Guards of checks of sites on request."""

from typing import Final

from tests.guards.guard import NEVER, Edit, Guard

_API: Final = "tests/api/test_site_checks.py::"

GUARDS: Final = (
    Guard(
        "site-check-opt-out",
        "sites that opted out are not checked on request",
        NEVER,
        (f"{_API}test_hosts_that_are_never_visited_are_not_checked",),
    ),
    Guard(
        "site-check-token",
        "only who has its address reads the check of a site",
        Edit(r" and token\.matches\(.*\)"),
        (f"{_API}test_a_check_is_private_to_its_asker_and_can_be_passed_on",),
    ),
    Guard(
        "site-check-client",
        "checks of sites that one client may ask for",
        NEVER,
        (f"{_API}test_nobody_uses_up_the_checks_of_a_client_or_a_site",),
    ),
    Guard(
        "site-check-domain",
        "checks of one domain that all clients may ask for",
        NEVER,
        (f"{_API}test_nobody_uses_up_the_checks_of_a_client_or_a_site",),
    ),
    Guard(
        "site-check-robots",
        "robots.txt holds for a checked URL",
        NEVER,
        ("tests/crawler/test_site_checks.py::test_one_url_is_requested_after_robots_txt",),
    ),
)
