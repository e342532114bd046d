"""What a hold covers, and what that means for visits and listings."""

import pytest

from registry.core.access.holds import HOLD_KINDS, UNLIMITED, Hold, HoldKind, Limits, Withheld
from tests.support.builders import NOW


def limits_of(kind: HoldKind, host: str = "a.example.com", *, below: bool = True) -> Limits:
    return Limits({}, (Hold("example.com", host, kind, below, "operator:cli", "spam", NOW),))


@pytest.mark.parametrize("kind", HOLD_KINDS)
@pytest.mark.parametrize(
    ("host", "below", "is_covered"),
    [
        ("a.example.com", False, True), ("b.a.example.com", True, True), ("b.a.example.com", False, False),
        ("example.com", True, False), ("ba.example.com", True, False), ("a.example.com.example.com", True, False),
    ],
)  # fmt: skip
def test_a_hold_covers_its_host_and_those_below_it(kind: HoldKind, host: str, below: bool, is_covered: bool) -> None:
    limits = limits_of(kind, below=below)
    assert limits.may_be_listed(host) is not is_covered
    assert limits.kinds(host) == ({kind} if is_covered else set())


@pytest.mark.parametrize(
    ("kind", "may_be_visited", "state"),
    [("blocked", False, "blocked"), ("quarantined", True, "blocked"), ("hidden", True, "opted_out")],
)
def test_only_a_block_ends_visits(kind: HoldKind, may_be_visited: bool, state: Withheld) -> None:
    limits = limits_of(kind)
    assert limits.may_be_visited("a.example.com") is may_be_visited
    assert limits.state("a.example.com") == state
    assert limits.state("b.example.com") is None
    assert limits.closed == (set() if may_be_visited else {"a.example.com"})


def test_an_opt_out_and_a_block_are_told_apart() -> None:
    block = limits_of("blocked").holds
    limits = Limits({"example.com": "file", "b.example.com": "operator"}, block)
    assert limits.told_closed("x.a.example.com") == {"a.example.com": "operator", "example.com": "file"}
    assert limits.state("c.example.com") == "opted_out"
    assert limits.state("b.example.com") == "blocked"
    assert limits.state("a.example.com") == "blocked"
    assert limits.closed == {"example.com", "a.example.com", "b.example.com"}


def test_nothing_limits_a_host_without_opt_outs_and_holds() -> None:
    assert UNLIMITED.may_be_visited("a.example.com")
    assert UNLIMITED.may_be_listed("a.example.com")
    assert UNLIMITED.state("a.example.com") is None
