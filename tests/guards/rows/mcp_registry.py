"""Records of the MCP registry's API: what they may hold, and that their texts are marked."""

from typing import Final

from tests.guards.guard import NEVER, Edit, Guard

_RECORDS: Final = "tests/mcp_registry/test_records.py::"

GUARDS: Final = (
    Guard(
        "mcp-host-variable",
        "no value of a variable makes the address of an MCP server private",
        Edit(r"not is_in_host or .*", "True\n"),
        (f"{_RECORDS}test_a_variable_of_the_host_has_no_value_that_leads_inside",),
    ),
    Guard(
        "mcp-record-size",
        "a record of the MCP registry's API is bounded",
        NEVER,
        (f"{_RECORDS}test_a_record_is_bounded",),
    ),
    Guard(
        "untrusted-mcp-server",
        "texts of MCP servers are marked",
        Edit(r"= \(.*\)", "= ()"),
        ("tests/mcp_registry/test_list.py::test_hostile_texts_are_marked_and_do_not_break_the_row",),
    ),
)
