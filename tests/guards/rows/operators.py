"""Turns in the queue of visits, visits that are asked for, lists of submissions, and reports."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_TURNS = "tests/actions/test_turns.py::"
_RECHECK = "tests/actions/test_recheck.py::"
_LISTS = "tests/actions/test_submission_lists.py::"
_REPORTS = "tests/actions/reports/test_reports.py::"
_FEEDBACK = "tests/actions/reports/test_feedback.py::"

GUARDS: Final = (
    Guard(
        "queue-turns",
        "clients take turns in the queue of visits",
        Edit(r"submissions\.take_place\(client, (.*), now=now\)", r"submissions.next_place(None, \1)"),
        (
            f"{_TURNS}test_clients_take_turns",
            f"{_TURNS}test_ten_thousand_submissions_of_one_client_delay_another_by_one",
        ),
    ),
    Guard(
        "opt-out-recheck",
        "no visit of an opted-out host can be asked for",
        NEVER,
        (f"{_RECHECK}test_a_host_that_opted_out_is_not_visited",),
    ),
    Guard(
        "recheck-retry-after",
        "a host that asks for time gets it, from its owner too",
        NEVER,
        (f"{_RECHECK}test_a_host_that_asks_for_time_gets_it",),
    ),
    Guard(
        "recheck-owner",
        "budgets of strangers do not bind the owner",
        NEVER,
        (f"{_RECHECK}test_an_owner_asks_at_once_and_as_often_as_needed",),
    ),
    Guard(
        "recheck-too-soon",
        "time between a visit and one that a stranger asks for",
        NEVER,
        (f"{_RECHECK}test_a_host_is_not_visited_twice_within_minutes",),
    ),
    Guard(
        "recheck-unknown",
        "bounds of submissions hold for hosts that were never reached",
        NEVER,
        (f"{_RECHECK}test_bounds_of_submissions_hold_for_hosts_that_were_never_reached",),
    ),
    Guard(
        "recheck-budgets",
        "visits that strangers may ask for in a day",
        NEVER,
        (
            f"{_RECHECK}test_strangers_have_budgets_per_client_and_per_domain",
            f"{_RECHECK}test_a_client_has_one_budget_for_all_domains",
        ),
    ),
    Guard(
        "submitted-again",
        "a submission of a known host costs what a recheck costs",
        NEVER,
        (f"{_RECHECK}test_a_submission_of_a_known_host_is_a_recheck_within_the_same_budgets",),
    ),
    Guard(
        "rechecks-of-client",
        "visits that are asked for take from the limit of submissions",
        SKIP,
        ("tests/api/test_rechecks.py::test_the_submission_limit_counts_visits_that_are_asked_for",),
    ),
    Guard(
        "idempotency-body",
        "a key is used for one body",
        NEVER,
        (f"{_LISTS}test_a_key_gets_the_same_answer_for_the_same_body",),
    ),
    Guard(
        "idempotency-repeat",
        "a repeated request submits nothing again",
        NEVER,
        (f"{_LISTS}test_a_key_gets_the_same_answer_for_the_same_body",),
    ),
    Guard(
        "idempotency-in-flight",
        "a request that is being worked on is not made twice",
        SKIP,
        (f"{_LISTS}test_a_request_that_is_being_worked_on_is_not_repeated",),
    ),
    Guard(
        "list-length",
        "hosts of one list",
        Edit(r", min_length=1, max_length=MOST_HOSTS"),
        ("tests/api/test_submissions.py::test_bodies_of_another_shape_are_refused",),
    ),
    Guard(
        "report-known",
        "only known hosts that did not opt out can be reported",
        NEVER,
        (f"{_REPORTS}test_unknown_hosts_and_those_that_opted_out_are_not_reported",),
    ),
    Guard(
        "feedback-opt-out",
        "nothing is stored about hosts that opted out",
        NEVER,
        (f"{_FEEDBACK}test_unknown_and_opted_out_hosts_are_refused",),
    ),
    Guard(
        "feedback-of-client",
        "a client gives feedback a few times a day",
        NEVER,
        (f"{_FEEDBACK}test_a_client_gives_feedback_within_a_budget",),
    ),
    Guard(
        "client-of-feedback-erased",
        "clients of feedback are erased",
        SKIP,
        (f"{_FEEDBACK}test_clients_are_not_stored_and_are_forgotten",),
    ),
    Guard(
        "reports-of-client",
        "reports of one client in a day",
        NEVER,
        (f"{_REPORTS}test_a_client_files_a_few_reports_in_a_day",),
    ),
    Guard(
        "filings-of-report",
        "texts that are stored of one report",
        NEVER,
        (f"{_REPORTS}test_texts_of_a_report_are_bounded_and_nobody_is_refused",),
    ),
    Guard(
        "report-once",
        "a client files the same report once",
        NEVER,
        (f"{_REPORTS}test_a_client_reports_the_same_once",),
    ),
    Guard(
        "report-token",
        "a report opens with its secret only",
        Edit(r" or not token\.matches\(filing\.digest\)"),
        (f"{_REPORTS}test_a_report_opens_with_its_secret_only",),
    ),
    Guard(
        "report-resolved-once",
        "the same decision again is no entry of the audit log",
        NEVER,
        (f"{_REPORTS}test_the_same_decision_again_changes_nothing",),
    ),
    Guard(
        "client-of-report-erased",
        "who filed a report is erased after a day",
        SKIP,
        (f"{_REPORTS}test_who_filed_is_erased_after_a_day_and_everything_with_the_host",),
    ),
)
