"""Claims of ownership and the actions of owners: only who has proven a host decides about it."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_ACTIONS = "tests/actions/ownership/test_ownership.py::"
_FLOODS = "tests/actions/ownership/test_claim_floods.py::"
_SEVERAL = "tests/actions/ownership/test_several_owners.py::"
_PINS = "tests/actions/ownership/test_pins.py::"
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
        "claims: open ones of a client, and of a network",
        NEVER,
        (f"{_ACTIONS}test_open_claims_of_a_client_are_bounded", f"{_FLOODS}test_open_claims_of_a_network_are_bounded"),
    ),
    Guard(
        "claim-replaces-own",
        "claims: a network replaces none but its own newest claims",
        Edit(r"reversed\(of_domain\)", "of_domain"),
        (f"{_FLOODS}test_a_network_replaces_only_its_own_newest_claims",),
    ),
    Guard(
        "claim-first-kept",
        "claims: further claims for a host leave the first of the client",
        Edit(r"of_host\[-1\]", "of_host[0]"),
        (f"{_FLOODS}test_further_claims_of_a_client_for_a_host_replace_its_newest",),
    ),
    Guard(
        "claim-proof-kept",
        "claims: a proof in progress is not undone by a further claim",
        Edit(r"current is None or current\.proven_at is not None", "current is None"),
        (f"{_FLOODS}test_a_claim_that_is_proven_meanwhile_is_not_replaced",),
    ),
    Guard(
        "claim-at-once",
        "claims: bounds hold for claims made at the same time",
        SKIP,
        (f"{_FLOODS}test_claims_of_a_client_at_once_are_bounded_too",),
    ),
    Guard(
        "claim-first-checks",
        "claims: strangers do not spend the first checks of a network",
        Edit(r"own >= OWN_CHECKS and ", ""),
        (f"{_FLOODS}test_what_others_asked_for_does_not_refuse_the_first_checks_of_a_network",),
    ),
    Guard(
        "claim-checks-kept",
        "claims: a claim that was replaced still counts its checks",
        NEVER,
        (f"{_FLOODS}test_a_replaced_claim_still_counts_its_checks",),
    ),
    Guard(
        "claim-turns",
        "claims: networks take turns",
        Edit(r"PARTITION BY coalesce\(network, client, id\)", "PARTITION BY id"),
        (f"{_FLOODS}test_networks_take_turns",),
    ),
    Guard(
        "claim-verified-again",
        "claims: repeated proofs of a domain do not end the ownerships of its hosts",
        Edit(r" and now - older\.checked_at >= REVERIFIED_AFTER"),
        (f"{_SEVERAL}test_repeated_proofs_of_a_domain_do_not_add_up_to_failures",),
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
        NEVER,
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
        (f"{_ACTIONS}test_changes_are_bounded_per_owner",),
    ),
    Guard(
        "owner-protection-unbounded",
        "owners: hiding, leaving and new tokens are refused for no limit",
        Edit(r"is_bounded and ", ""),
        (f"{_SEVERAL}test_what_protects_an_owner_is_never_refused_for_a_limit",),
    ),
    Guard(
        "owner-opt-out-below",
        "owners: an opt-out by the token of a host deletes no host of another owner",
        NEVER,
        (f"{_SEVERAL}test_an_opt_out_spares_no_host_but_those_of_other_owners",),
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
        "pin-consent",
        "owners: a pin to the host of another owner needs consent",
        Edit(r"self\.has_consent or .*", "True\n"),
        (f"{_PINS}test_a_pin_without_consent_has_no_effect_and_blocks_nobody",),
    ),
    Guard(
        "pin-consent-token",
        "owners: consent is a token of the canonical host",
        Edit(r"\(await reader\(owner\.uow, token, target\)\)\.id", "token.id"),
        (f"{_PINS}test_only_a_token_of_the_canonical_host_is_its_consent",),
    ),
    Guard(
        "pin-consent-ends",
        "owners: consent ends with the token that gave it",
        SKIP,
        (f"{_PINS}test_consent_ends_with_the_token_that_gave_it",),
    ),
    Guard(
        "pin-chains",
        "owners: pins make neither chains nor loops",
        Edit(r" if target not in allowed"),
        (f"{_PINS}test_chains_and_loops_have_no_effect",),
    ),
    Guard(
        "pin-gone",
        "owners: a pin ends when its canonical host opts out",
        Edit(r"gone=host", "gone=None"),
        (f"{_PINS}test_a_pin_ends_when_its_canonical_host_opts_out_though_it_has_an_owner",),
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
