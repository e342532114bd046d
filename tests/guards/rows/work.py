"""How much work a request may cause, and where that work runs."""

from typing import Final

from tests.guards.guard import Edit, Guard

_PARAMETERS = "tests/api/test_parameter_combinations.py::"

GUARDS: Final = (
    Guard(
        "listed-repeats",
        "repeats in list parameters are removed",
        Edit(r"dict\.fromkeys\(([^)]*\))\)", r"\1"),
        (
            f"{_PARAMETERS}test_a_facet_that_is_named_twice_is_counted_once[tld]",
            f"{_PARAMETERS}test_order_and_repeats_change_no_answer[/api/discover]",
        ),
    ),
)
