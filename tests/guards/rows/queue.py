"""Leases, what is recorded under them, and who may be queued."""

from typing import Final

from tests.guards.guard import NEVER, Edit, Guard

_LEASE = "tests/actions/test_lease.py::"

GUARDS: Final = (
    Guard(
        "one-lease",
        "one lease for a domain",
        Edit(r"SET next_visit_at = %\(until\)s", "SET next_visit_at = d.next_visit_at"),
        (f"{_LEASE}test_four_workers_share_the_domains_without_taking_one_twice",),
    ),
    Guard(
        "lease-held",
        "only the holder of a lease records",
        Edit(r" AND d\.lease_token = leased\.token"),
        (f"{_LEASE}test_an_expired_lease_is_taken_again_and_its_first_holder_cannot_complete_it",),
    ),
    Guard(
        "lease-held",
        "one recorder of a lease at a time",
        Edit(" FOR UPDATE OF d"),
        (f"{_LEASE}test_a_second_record_of_a_lease_waits_and_finds_it_released",),
    ),
    Guard(
        "wrong-clock",
        "no lease by a wrong clock",
        NEVER,
        (f"{_LEASE}test_a_worker_with_a_wrong_clock_takes_no_lease_and_gives_up_those_it_has",),
    ),
    Guard(
        "resolver-away",
        "no host is down because the resolver is away",
        NEVER,
        ("tests/crawler/test_deferrals.py::test_no_host_is_recorded_as_down_while_the_resolver_is_away",),
    ),
    Guard(
        "batch-halved",
        "a batch that fails is halved",
        Edit("if not .*:(?=  #)", "if True:"),
        ("tests/actions/test_record.py::test_a_bad_domain_does_not_take_the_others_with_it",),
    ),
    Guard(
        "expired-leases",
        "a domain whose leases keep failing is set aside",
        Edit(r"if \w+ := await", "if False and await"),
        (f"{_LEASE}test_a_domain_with_several_expired_leases_is_set_aside_despite_submissions",),
    ),
    Guard(
        "submitted-once",
        "a submission is made once",
        NEVER,
        (f"{_LEASE}test_many_submissions_cause_no_more_than_one_visit",),
    ),
    Guard(
        "opt-out-submission",
        "opted-out hosts are not submitted",
        NEVER,
        (f"{_LEASE}test_hosts_that_opted_out_are_not_queued",),
    ),
    Guard(
        "submitted-hosts",
        "hosts of one domain that are submitted",
        Edit(">= MAX_WAITING", ">= 10**9"),
        (f"{_LEASE}test_sub_hosts_of_one_domain_cannot_fill_the_queue",),
    ),
    Guard(
        "named-hosts",
        "hosts of one domain that documents name",
        Edit("if [^#]*:(?=  #)", "if True:"),
        ("tests/actions/test_seed.py::test_candidates_of_one_domain_are_limited",),
    ),
)
