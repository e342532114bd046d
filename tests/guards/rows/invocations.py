"""Calls of the API that come in the envelope of the Web of Agents."""

from typing import Final

from tests.guards.guard import NEVER, Edit, Guard

GUARDS: Final = (
    Guard(
        "invocation-input",
        "an invocation stays the call that its agent stands for",
        NEVER,
        ("tests/self_description/test_woa.py::test_a_host_stays_one_segment_of_the_path",),
    ),
    Guard(
        "invocation-limits",
        "invocations that submit are limited as submissions",
        Edit(r"submissions=frozenset\(.*?\),", "submissions=frozenset(),"),
        ("tests/self_description/test_woa_limits.py::test_an_invocation_is_bounded_as_its_call",),
    ),
)
