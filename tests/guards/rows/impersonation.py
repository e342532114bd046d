"""Names of others: claims, look-alikes, well-known names."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_CLAIMS = "tests/core/merging/test_claims.py::"
_SPEAKING = "tests/core/merging/test_speaking.py::"
_REJUDGE = "tests/actions/test_rejudge.py::"

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
    Guard(
        "identity-in-doubt",
        "a doubt wins over a proven ownership",
        NEVER,
        (f"{_CLAIMS}test_a_doubt_wins_over_an_ownership",),
    ),
    Guard(
        "doubtful-after-equals",
        "of equal services a doubtful one is never the first",
        Edit(r"= candidates.*", "= np.zeros(len(matching))\n"),
        ("tests/actions/test_owners_first.py::test_a_doubtful_service_comes_after_its_equals",),
    ),
    Guard(
        "doubt-on-every-page",
        "every page of a host says what is in doubt about it",
        Edit(r"=\[with_doubt\(route\) for route in _ROUTES\]", "=_ROUTES"),
        ("tests/web/test_doubt.py::test_every_page_of_a_doubtful_host_says_so",),
    ),
    Guard(
        "no-score-in-doubt",
        "the badge of a doubtful host has no score",
        Edit(r'data\["trust"\]\["doubt"\] is None', "True"),
        ("tests/web/test_doubt.py::test_the_badge_of_a_doubtful_host_has_no_score",),
    ),
    Guard(
        "claim-of-site",
        "claims about a parent or sibling are found",
        NEVER,
        (f"{_SPEAKING}test_identities_of_the_site_count_in_every_format",),
    ),
    Guard(
        "name-elsewhere",
        "no service has the name of its parent or sibling",
        Edit(r"relation_in\(.*?\) < Relation\.BELOW", "relation_in(origin, name) < Relation.SITE"),
        (
            f"{_SPEAKING}test_a_claimed_parent_or_sibling_is_never_the_name",
            f"{_SPEAKING}test_a_name_that_speaks_of_a_parent_or_sibling_gives_way_to_the_host",
        ),
    ),
    Guard(
        "speaks-for-site",
        "a host that speaks for its parent or sibling is not verified",
        NEVER,
        (
            f"{_SPEAKING}test_calls_to_the_site_need_a_confirmation",
            f"{_REJUDGE}test_a_sub_host_is_its_platform_only_while_one_owner_has_proven_both",
        ),
    ),
    Guard(
        "issuer-elsewhere",
        "tokens of a listed site need its word",
        NEVER,
        (
            f"{_SPEAKING}test_tokens_of_a_listed_site_need_its_word",
            f"{_REJUDGE}test_tokens_of_a_site_count_from_when_it_is_listed_until_it_is_not",
        ),
    ),
    Guard(
        "credential-issuers",
        "calls name who issues their tokens",
        Edit(r"issuers=issuers_of\(.*?pointers\)", "issuers=()"),
        ("tests/core/calling/test_record.py::test_the_credentials_of_a_call_name_who_issues_them",),
    ),
    Guard(
        "document-redirect",
        "a document behind a redirect to another host is not the host's",
        Edit(r" and is_own_answer\(.*\)"),
        (f"{_REJUDGE}test_a_document_of_another_host_behind_a_redirect_is_not_the_hosts",),
    ),
    Guard(
        "detail-redirect",
        "a detail behind a redirect to another host is not the host's",
        Edit(r"return .*", "return True\n"),
        (f"{_REJUDGE}test_a_document_of_another_host_behind_a_redirect_is_not_the_hosts",),
    ),
    Guard(
        "rejudge",
        "services follow what is listed and owned elsewhere",
        Edit(r"= await .*", "= []\n"),
        (
            f"{_REJUDGE}test_calls_to_the_platform_are_confirmed_while_it_names_the_host",
            f"{_REJUDGE}test_tokens_of_a_site_count_from_when_it_is_listed_until_it_is_not",
        ),
    ),
)
