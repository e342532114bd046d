"""How the hosts of a domain share its daily requests: what is known of a host decides what it may spend."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.visiting.shares import SHARES, DomainBudget, Spent, Standing, standing_of
from tests.support.builders import NOW

DOMAIN = "shop.com"
EARLIER = NOW - timedelta(days=1)
NEVER: dict[str, Any] = {
    "source": "submission",
    "referrer": None,
    "was_reached": False,
    "submitted_at": NOW,
    "last_visit_at": None,
    "last_found_at": None,
}
ANY_SPENT = st.dictionaries(st.sampled_from(Standing), st.builds(Spent, st.integers(0, 200), st.integers(0, 200)))


@pytest.mark.parametrize(
    ("host", "changes", "standing"),
    [
        (DOMAIN, {}, Standing.KEPT),
        (f"www.{DOMAIN}", {}, Standing.KEPT),
        (f"www.api.{DOMAIN}", {}, Standing.SUBMITTED),
        (f"api.{DOMAIN}", {"last_found_at": EARLIER}, Standing.KEPT),
        (f"api.{DOMAIN}", {"was_reached": True, "last_visit_at": EARLIER}, Standing.KNOWN),
        (f"api.{DOMAIN}", {"source": "file", "submitted_at": None}, Standing.KNOWN),
        (f"api.{DOMAIN}", {"source": "sub-host", "referrer": DOMAIN, "submitted_at": None}, Standing.KNOWN),
        (f"api.{DOMAIN}", {"source": "document", "referrer": f"blog.{DOMAIN}"}, Standing.KNOWN),
        (f"api.{DOMAIN}", {"source": "document", "referrer": "other.com", "submitted_at": None}, Standing.NAMED),
        (f"api.{DOMAIN}", {"source": "document", "referrer": f"not{DOMAIN}", "submitted_at": None}, Standing.NAMED),
        (f"api.{DOMAIN}", {"source": "document", "referrer": "other.com"}, Standing.SUBMITTED),
        (f"api.{DOMAIN}", {}, Standing.SUBMITTED),
        (f"api.{DOMAIN}", {"last_visit_at": NOW}, Standing.NAMED),
        (f"api.{DOMAIN}", {"last_visit_at": EARLIER}, Standing.SUBMITTED),
        (f"api.{DOMAIN}", {"source": "visit", "submitted_at": None}, Standing.NAMED),
    ],
)
def test_the_standing_of_a_host(host: str, changes: dict[str, Any], standing: Standing) -> None:
    assert standing_of(DOMAIN, host, **NEVER | changes) is standing


def test_nobody_can_spend_what_is_kept_for_better_known_hosts() -> None:
    budget = DomainBudget(120)
    left = {}
    for standing in reversed(Standing):
        while budget.requests_left(standing) > 0:
            budget.count_request(standing)
        left = {other: budget.requests_left(other) for other in Standing}
        assert left[standing] == 0
        assert all(left[better] >= 30 for better in Standing if better < standing)
    assert left[Standing.KEPT] == 0


def test_known_hosts_do_not_take_the_share_of_submitted_ones() -> None:
    """What they spend beyond their own part, that of the others, they do not: each part is bounded by itself."""
    budget = DomainBudget(120, {Standing.KEPT: Spent(60)})
    assert budget.requests_left(Standing.SUBMITTED) == 60
    assert DomainBudget(120, {Standing.KEPT: Spent(100)}).requests_left(Standing.SUBMITTED) == 20


@given(ANY_SPENT, st.integers(1, 10_000))
def test_the_budget_of_the_domain_holds_for_every_standing(spent: dict[Standing, Spent], daily: int) -> None:
    budget = DomainBudget(daily, spent)
    total = sum(before.requests for before in spent.values())
    left = [budget.requests_left(standing) for standing in Standing]
    assert left == sorted(left, reverse=True) and left[0] == daily - total


def test_look_ups_in_vain_are_bounded_for_strange_hosts_only() -> None:
    budget = DomainBudget(120)
    made = dict.fromkeys(reversed(Standing), 0)
    for standing in made:
        while budget.may_look_up(standing) and made[standing] < 1_000:
            budget.count_look_up(standing)
            made[standing] += 1
    assert made == {Standing.NAMED: 20, Standing.SUBMITTED: 20, Standing.KNOWN: 1_000, Standing.KEPT: 1_000}
    assert SHARES[Standing.SUBMITTED].look_ups == 40
