"""Claims of ownership and the actions of owners: only who has proven a host decides about it."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_ACTIONS = "tests/actions/ownership/test_ownership.py::"
_CORE = "tests/core/access/test_claims.py::"
_CHECK = "tests/crawler/test_claims.py::"

GUARDS: Final = (
    Guard(
        "claim-bound",
        "claims: a value proves nothing for another claimant, host or scope",
        Edit(r"\(claim, host, scope, digest\.hex\(\)\)", "(host,)"),
        (
            f"{_CORE}test_a_value_is_bound_to_claim_host_scope_and_claimant",
            f"{_ACTIONS}test_only_the_claimant_can_finish_a_claim",
        ),
    ),
    Guard(
        "claim-token",
        "claims: only the bearer of the claim token finishes a claim",
        Edit(r"= token\.matches\(.*\)", "= True"),
        (f"{_ACTIONS}test_only_the_claimant_can_finish_a_claim",),
    ),
    Guard(
        "claim-expiry",
        "claims: a claim expires",
        Edit(r" and now < claim\.expires_at"),
        (f"{_ACTIONS}test_a_claim_expires",),
    ),
    Guard(
        "claim-domain",
        "claims: a whole domain is claimed by DNS at its apex",
        NEVER,
        (f"{_ACTIONS}test_a_domain_is_claimed_by_dns_at_its_apex",),
    ),
    Guard(
        "claim-scope",
        "claims: what a claim covers",
        Edit(r'scope == "domain" and claimed == domain == registrable_domain\(host\)', "True"),
        (
            f"{_CORE}test_a_domain_covers_its_hosts_and_a_host_only_itself",
            f"{_ACTIONS}test_a_token_is_valid_for_its_host_only",
        ),
    ),
    Guard(
        "claim-closed",
        "claims: a host that opted out gets no request",
        NEVER,
        (f"{_ACTIONS}test_a_host_that_opted_out_gets_no_request_by_a_claim",),
    ),
    Guard(
        "claim-open",
        "claims: open ones of a client",
        NEVER,
        (f"{_ACTIONS}test_open_claims_of_a_client_are_bounded",),
    ),
    Guard(
        "claim-checks",
        "claims: checks by file in an hour",
        NEVER,
        (f"{_ACTIONS}test_checks_by_file_are_bounded",),
    ),
    Guard(
        "claim-patience",
        "claims: an outage does not end an ownership at once",
        Edit(r"= now - since >= PATIENCE", "= True"),
        (
            f"{_CORE}test_an_outage_counts_only_after_three_days",
            f"{_ACTIONS}test_an_outage_does_not_end_an_ownership_at_once",
        ),
    ),
    Guard(
        "claim-failures",
        "claims: three failures end an ownership",
        NEVER,
        (f"{_ACTIONS}test_three_failures_end_an_ownership_and_what_was_set",),
    ),
    Guard(
        "claim-transfer",
        "claims: a later proof ends the older ownership",
        NEVER,
        (f"{_ACTIONS}test_a_later_proof_transfers_the_host",),
    ),
    Guard(
        "claim-redirect",
        "claims: a file of another host proves nothing",
        NEVER,
        (f"{_CHECK}test_a_file_proves_the_host_that_serves_it",),
    ),
    Guard(
        "owner-token-once",
        "owners: the token is handed out once",
        Edit(r" and record\.is_owner and record\.owner_digest is None"),
        (f"{_ACTIONS}test_a_proof_makes_an_owner_whose_token_is_handed_out_once",),
    ),
    Guard(
        "owner-token",
        "owners: the token is compared",
        Edit(r"= token\.matches\(.*\)", "= True"),
        (f"{_ACTIONS}test_a_replaced_token_is_no_longer_valid",),
    ),
    Guard(
        "owner-host",
        "owners: a token of another host is refused",
        NEVER,
        (
            f"{_ACTIONS}test_a_token_is_valid_for_its_host_only",
            "tests/api/test_ownership.py::test_a_token_of_another_host_is_forbidden",
        ),
    ),
    Guard(
        "owner-changes",
        "owners: changes in an hour",
        NEVER,
        (f"{_ACTIONS}test_changes_are_bounded_per_domain",),
    ),
    Guard(
        "owner-note",
        "owners: the length of a note",
        NEVER,
        (f"{_ACTIONS}test_a_note_is_cleaned_and_bounded",),
    ),
    Guard(
        "owner-pin",
        "owners: the canonical host is proven too",
        NEVER,
        (f"{_ACTIONS}test_a_canonical_host_is_proven_too",),
    ),
    Guard(
        "canonical-host-stands-alone",
        "search: a host is in no index while its canonical host is listed",
        Edit("~_HAS_CANONICAL,", ""),
        ("tests/actions/ownership/test_canonical_host.py::test_the_canonical_host_stands_for_the_other_one",),
    ),
    Guard(
        "owner-end-shows",
        "owners: hosts are shown again when the ownership ends",
        NEVER,
        (f"{_ACTIONS}test_three_failures_end_an_ownership_and_what_was_set",),
    ),
    Guard(
        "opt-out-by-owner",
        "owners: strangers do not end an owner's opt-out",
        NEVER,
        (f"{_ACTIONS}test_an_owner_opts_out_and_only_an_owner_returns",),
    ),
    Guard(
        "claim-deadline",
        "claims: a check ends",
        Edit(r"asyncio\.timeout\(checks\.seconds\)", "asyncio.timeout(None)"),
        (f"{_CHECK}test_a_check_ends_though_the_name_server_does_not_answer",),
    ),
    Guard(
        "client-of-claim-erased",
        "claims: who made a claim is erased after a day",
        SKIP,
        ("tests/actions/ownership/test_ownership.py::test_who_made_a_claim_is_erased_after_a_day",),
    ),
)
