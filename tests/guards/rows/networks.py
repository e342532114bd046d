"""Networks: those that an operator refuses, and those that one client has as a whole."""

from typing import Final

from tests.guards.guard import Edit, Guard

GUARDS: Final = (
    Guard(
        "operator-networks",
        "networks that the operator refuses",
        Edit(r"reason = .*", "reason = None\n"),
        ("tests/crawler/test_guards.py::test_networks_of_the_operator_are_refused",),
    ),
    Guard(
        "ipv6-network",
        "clients of one IPv6 network",
        Edit(r"min\(remaining, left_of_network\)", "remaining"),
        ("tests/edge/test_limiter.py::test_the_clients_of_one_ipv6_network_share_sixteen_allowances",),
    ),
)
