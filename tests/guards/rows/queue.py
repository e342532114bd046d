"""Leases, what is recorded under them, and who may be queued."""

from typing import Final

from tests.guards.guard import Guard

_LEASE = "tests/actions/test_lease.py::"

GUARDS: Final = (
    Guard(
        "one lease for a domain",
        "registry/store/domains.py",
        "SET next_visit_at = %(until)s,",
        "SET next_visit_at = d.next_visit_at,",
        (f"{_LEASE}test_four_workers_share_the_domains_without_taking_one_twice",),
    ),
    Guard(
        "only the holder of a lease records",
        "registry/store/domains.py",
        "ON d.domain = leased.domain AND d.lease_token = leased.token",
        "ON d.domain = leased.domain",
        (f"{_LEASE}test_an_expired_lease_is_taken_again_and_its_first_holder_cannot_complete_it",),
    ),
    Guard(
        "one recorder of a lease at a time",
        "registry/store/domains.py",
        "ORDER BY d.domain FOR UPDATE OF d",
        "ORDER BY d.domain",
        (f"{_LEASE}test_who_records_a_lease_meanwhile_waits_and_finds_it_given_back",),
    ),
    Guard(
        "a batch that fails is halved",
        "registry/actions/recording/record.py",
        "        for half in (finished[:middle], finished[middle:]):",
        "        for half in ():",
        ("tests/actions/test_record.py::test_a_bad_domain_does_not_take_the_others_with_it",),
    ),
    Guard(
        "whoever outlives several leases is set aside",
        "registry/store/domains.py",
        "        if hopeless := await self._driver.rows(",
        "        if False and await self._driver.rows(",
        (f"{_LEASE}test_who_outlives_several_leases_is_set_aside_and_submissions_do_not_bring_it_back",),
    ),
    Guard(
        "a submission is made once",
        "registry/actions/frontier/submit.py",
        "elif not await _may_repeat(uow, known, now):",
        "elif False:",
        (f"{_LEASE}test_many_submissions_cause_no_more_than_one_visit",),
    ),
    Guard(
        "opted-out hosts are not submitted",
        "registry/actions/frontier/submit.py",
        "    if is_covered(host, (await uow.opt_outs.of([domain])).get(domain, ())):",
        "    if False:",
        (f"{_LEASE}test_whoever_opted_out_stays_out",),
    ),
    Guard(
        "hosts of one domain that are submitted",
        "registry/actions/frontier/submit.py",
        ">= MAX_WAITING",
        ">= 10**9",
        (f"{_LEASE}test_sub_hosts_of_one_domain_cannot_fill_the_queue",),
    ),
    Guard(
        "hosts of one domain that documents name",
        "registry/actions/frontier/seed.py",
        "if waiting[one.domain] < MAX_HOSTS_NAMED:",
        "if True:",
        ("tests/actions/test_named_hosts.py::test_hosts_that_a_document_names_come_ten_at_a_time",),
    ),
)
