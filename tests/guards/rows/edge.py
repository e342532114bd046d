"""What all HTTP interfaces share: answers, their forms, and what is measured of requests."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_INTERFACES: Final = "tests/edge/test_every_interface.py::"
_CONNECTIONS: Final = "tests/edge/test_connections.py::"
_COMPRESSION: Final = "tests/edge/test_compression.py::"

GUARDS: Final = (
    Guard(
        "metric-labels",
        "nothing that a client sends is a label of a metric",
        Edit(r"method if method in METHODS else OTHER", "method"),
        (f"{_INTERFACES}test_nothing_that_a_client_sends_becomes_a_label",),
    ),
    Guard(
        "metric-series",
        "series of metrics are bounded",
        NEVER,
        (f"{_INTERFACES}test_labels_are_bounded_even_if_an_interface_is_not",),
    ),
    Guard(
        "refused-bodies",
        "a refused body is answered as refused by every interface",
        NEVER,
        (f"{_INTERFACES}test_every_body_has_the_same_limit[/swallows]",),
    ),
    Guard(
        "content-policy",
        "a browser that shows an answer as a page runs nothing of it",
        SKIP,
        (f"{_INTERFACES}test_a_page_without_a_policy_gets_one",),
    ),
    Guard(
        "long-polls-of-clients",
        "long polls behind a proxy are those of its clients",
        Edit(r"client or peer", "peer"),
        (f"{_CONNECTIONS}test_long_polls_behind_a_proxy_are_those_of_its_clients",),
    ),
    Guard(
        "lost-clients",
        "connections of clients that vanished end",
        SKIP,
        (f"{_CONNECTIONS}test_the_kernel_gives_up_on_lost_clients",),
    ),
    Guard(
        "compression-apart",
        "large answers are compressed beside the event loop",
        Edit(r"len\(body\) <= MAX_INLINE_BYTES", "True"),
        (f"{_COMPRESSION}test_a_large_body_is_compressed_beside_the_event_loop",),
    ),
    Guard(
        "not-compressed",
        "answers with secrets are not compressed",
        NEVER,
        (f"{_COMPRESSION}test_what_stays_as_it_is[secret]",),
    ),
    Guard(
        "traceparent",
        "a header of any length writes no line of the log",
        Edit(r"len\(given\[0\]\) <= _MAX_TRACEPARENT_BYTES", "True"),
        ("tests/edge/test_tracing.py::test_the_context_of_a_client_is_continued",),
    ),
)
