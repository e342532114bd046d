"""Names of others: claims, look-alikes, well-known names."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_CLAIMS = "tests/core/merging/test_claims.py::"

GUARDS: Final = (
    Guard(
        "claim-elsewhere",
        "claims about another site are found",
        NEVER,
        (
            f"{_CLAIMS}test_identities_count_in_every_format",
            f"{_CLAIMS}test_a_did_of_another_site_counts",
        ),
    ),
    Guard(
        "identity-members",
        "identities count in every format",
        SKIP,
        (f"{_CLAIMS}test_identities_count_in_every_format",),
    ),
    Guard(
        "name-elsewhere",
        "no service has the name of another site",
        NEVER,
        (
            f"{_CLAIMS}test_a_claimed_domain_is_never_the_name_and_never_verified",
            f"{_CLAIMS}test_a_name_that_speaks_of_another_site_gives_way_to_the_host",
        ),
    ),
    Guard(
        "look-alike-host",
        "hosts that look like others are flagged",
        NEVER,
        (f"{_CLAIMS}test_a_look_alike_host_is_flagged_and_never_shown_in_its_letters",),
    ),
    Guard(
        "known-name",
        "well-known names on the hosts of others are flagged",
        NEVER,
        (f"{_CLAIMS}test_a_known_name_on_a_strange_host_is_flagged",),
    ),
    Guard(
        "trust-findings",
        "claims, look-alikes and well-known names are never verified",
        Edit(r"= \{.*", "= set()\n"),
        (
            f"{_CLAIMS}test_a_claimed_domain_is_never_the_name_and_never_verified",
            f"{_CLAIMS}test_a_look_alike_host_is_flagged_and_never_shown_in_its_letters",
            f"{_CLAIMS}test_a_known_name_on_a_strange_host_is_flagged",
        ),
    ),
    Guard(
        "owners-first",
        "a stranger with a well-known name comes after its owner",
        Edit(r"order=\(.*\)\)", "order=ranking.order)"),
        ("tests/actions/test_owners_first.py::test_a_user_of_a_known_name_comes_after_its_owner",),
    ),
)
