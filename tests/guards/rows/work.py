"""How much work a request may cause, and where that work runs."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_PARAMETERS = "tests/api/test_parameter_combinations.py::"
_WORK = "tests/edge/test_work.py::"
_TURNS = "tests/wiring/test_turns.py::"
_COMPUTE = "tests/wiring/test_compute.py::"
_EFFORT = "tests/core/calling/test_effort.py::"

GUARDS: Final = (
    Guard(
        "pattern-groups",
        "examples: nested groups of a pattern that a text is made for",
        NEVER,
        ("tests/core/calling/test_examples.py::test_what_cannot_be_filled_is_missing_with_a_reason",),
    ),
    Guard(
        "listed-repeats",
        "repeats in list parameters are removed",
        Edit(r"dict\.fromkeys\(([^)]*\))\)", r"\1"),
        (f"{_PARAMETERS}test_a_cursor_holds_for_the_same_filters_in_another_order",),
    ),
    # what a client may cause
    Guard(
        "work-units",
        "units of work are limited",
        NEVER,
        (
            "tests/edge/test_middleware.py::test_each_client_has_its_own_allowance",
            f"{_WORK}test_a_refusal_names_its_limit_and_takes_nothing",
        ),
    ),
    Guard(
        "declared-bytes",
        "a body is paid before it is read",
        SKIP,
        (f"{_WORK}test_a_document_costs_by_its_bytes_and_is_refused_unread",),
    ),
    Guard(
        "received-bytes",
        "a body without a length is paid while it is read",
        SKIP,
        (f"{_WORK}test_a_body_without_a_length_costs_as_it_arrives",),
    ),
    Guard(
        "stored-bytes",
        "what was read for a request is paid",
        NEVER,
        (f"{_WORK}test_a_large_service_takes_what_is_left_when_it_was_read",),
    ),
    Guard(
        "at-once-each",
        "requests of one client that are worked on at once",
        Edit(r" or [^\n:]*", ""),
        (
            f"{_TURNS}test_one_client_has_so_many_at_once_and_others_begin_at_once",
            f"{_WORK}test_few_reads_of_one_client_are_worked_on_at_once",
        ),
    ),
    Guard(
        "clients-take-turns",
        "clients that wait take turns",
        SKIP,
        (f"{_TURNS}test_clients_that_wait_take_turns",),
    ),
    Guard(
        "waiting-each",
        "requests of one client that wait",
        NEVER,
        (
            f"{_TURNS}test_so_many_may_wait_and_no_more",
            f"{_COMPUTE}test_a_client_that_waits_is_bounded_and_does_not_hold_up_others",
        ),
    ),
    Guard("waiting-all", "requests of all clients that wait", NEVER, (f"{_TURNS}test_so_many_may_wait_and_no_more",)),
    Guard(
        "one-readiness-check",
        "checks of readiness that run at once",
        Edit(r"if [^:]*:", "if True:"),
        (f"{_WORK}test_checks_of_readiness_at_once_are_one",),
    ),
    # where the work runs
    Guard(
        "compute-apart",
        "large documents are worked on in another process",
        Edit(r"if \w+ <= \w+:", "if True:"),
        (f"{_WORK}test_discover_answers_while_a_large_document_is_validated",),
    ),
    Guard(
        "capability-effort",
        "the work of one capability's example is bounded",
        NEVER,
        (f"{_EFFORT}test_a_spent_budget_is_the_reason",),
    ),
    Guard(
        "service-effort",
        "the work of all examples of a service is bounded",
        NEVER,
        (f"{_EFFORT}test_the_budget_of_the_service_ends_too",),
    ),
    Guard(
        "checking-effort",
        "comparisons of examples with lists are counted",
        SKIP,
        (f"{_EFFORT}test_a_spent_budget_is_the_reason",),
    ),
    Guard(
        "merging-effort",
        "comparisons of lists with lists are counted",
        SKIP,
        (f"{_EFFORT}test_lists_that_are_merged_cost_their_comparisons",),
    ),
    Guard(
        "reference-effort",
        "references that are followed are counted",
        SKIP,
        (f"{_EFFORT}test_long_references_cost_their_length",),
    ),
    Guard(
        "pattern-work",
        "expensive patterns are not compiled",
        NEVER,
        (f"{_EFFORT}test_expensive_patterns_are_not_compiled",),
    ),
    Guard(
        "example-size",
        "the size of a stored example is bounded",
        Edit(r" if weight[^\n]*? else found", " if False else found"),
        (f"{_EFFORT}test_a_long_example_is_left_out",),
    ),
    Guard(
        "at-once-of-hosts",
        "jobs about one host, and about hosts at all, leave processes to others",
        Edit(r"host is None or .*", "True\n"),
        (f"{_TURNS}test_one_turn_at_a_time_is_about_a_host_and_one_is_left_to_others",),
    ),
    Guard(
        "compute-remembered",
        "a host whose job took too long is not tried again for a while",
        NEVER,
        (f"{_COMPUTE}test_a_host_whose_job_took_too_long_is_not_tried_again_for_a_while",),
    ),
    Guard(
        "compute-priority",
        "that process has a lower priority",
        SKIP,
        (f"{_COMPUTE}test_jobs_have_a_lower_priority",),
    ),
    Guard("compute-memory", "its memory is limited", SKIP, (f"{_COMPUTE}test_a_job_cannot_take_all_memory",)),
    Guard(
        "compute-deadline",
        "deadline of a job",
        Edit(r"self\._\w+\(\)", "asyncio.timeout(None)"),
        (f"{_COMPUTE}test_a_job_that_takes_too_long_is_ended_and_the_next_one_works",),
    ),
    Guard(
        "compute-alarm",
        "a job ends without its parent",
        SKIP,
        (f"{_COMPUTE}test_a_process_ends_itself_at_its_deadline_even_outside_of_python",),
    ),
    Guard(
        "figures-kept",
        "counts over whole tables are kept a while",
        Edit(r"if [^\n]*?:", "if True:"),
        ("tests/wiring/test_figures.py::test_a_result_is_computed_once_for_all_and_kept",),
    ),
)
