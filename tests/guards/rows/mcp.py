"""What may call over MCP, and what a call costs."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Guard

_PROTOCOL = "tests/mcp/test_protocol.py::"
_LIMITS = "tests/mcp/test_limits.py::"

GUARDS: Final = (
    Guard(
        "mcp-host",
        "hosts under which MCP answers",
        NEVER,
        (f"{_PROTOCOL}test_requests_that_are_no_messages_by_their_head",),
    ),
    Guard(
        "mcp-origin",
        "web pages that may call over MCP",
        NEVER,
        (f"{_PROTOCOL}test_requests_that_are_no_messages_by_their_head",),
    ),
    Guard(
        "mcp-post",
        "no stream of MCP that never ends",
        NEVER,
        (f"{_PROTOCOL}test_other_methods_than_post_are_not_allowed",),
    ),
    Guard("mcp-bytes", "bytes of a message of MCP", NEVER, (f"{_PROTOCOL}test_a_body_has_at_most_its_bytes",)),
    Guard(
        "mcp-submissions",
        "submissions over MCP are counted",
        SKIP,
        (f"{_LIMITS}test_submissions_have_their_own_limit",),
    ),
    Guard(
        "mcp-further-requests",
        "a tool pays for each request to the API",
        SKIP,
        (f"{_LIMITS}test_every_request_to_the_api_is_paid",),
    ),
)
