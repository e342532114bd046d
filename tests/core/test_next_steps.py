"""What an operator is told to do: something for every outcome of a visit and every state of a host."""

from typing import get_args

import pytest

from registry.core.access.holds import HOLD_KINDS
from registry.core.model.documents import Outcome
from registry.core.visiting.next_steps import NextStep, Page, State, next_step

STATES = get_args(State)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("outcome", [None, *Outcome])
def test_every_state_and_outcome_has_a_step(state: State, outcome: Outcome | None) -> None:
    step = next_step(state, outcome, "some_reason_of_another_version")
    assert step.says.endswith(".") and step.page in get_args(Page)


@pytest.mark.parametrize(
    ("outcome", "reason", "words"),
    [
        (Outcome.UNREACHABLE, "nxdomain", "no address in the DNS"),
        (Outcome.UNREACHABLE, "dns_timeout", "name servers"),
        (Outcome.UNREACHABLE, "connect_timeout", "port 443"),
        (Outcome.UNREACHABLE, "connection_refused", "port 443"),
        (Outcome.UNREACHABLE, "request_timeout", "in time"),
        (Outcome.UNREACHABLE, "incomplete_body", "broke"),
        (Outcome.TLS_ERROR, "certificate_expired", "expired"),
        (Outcome.TLS_ERROR, "certificate_wrong_name", "other names"),
        (Outcome.TLS_ERROR, "tls_protocol", "No TLS connection"),
        (Outcome.DISALLOWED, "robots", "forbids"),
        (Outcome.DISALLOWED, "robots_503", "could not be read"),
        (Outcome.REFUSED_BY_FIREWALL, "challenge:cloudflare", "firewall"),
    ],
)
def test_the_reason_makes_the_step_exact(outcome: Outcome, reason: str, words: str) -> None:
    assert words in next_step("not_listed", outcome, reason).says


def test_what_keeps_a_host_out_comes_before_what_a_visit_found() -> None:
    for kind in HOLD_KINDS:
        assert next_step("not_listed", Outcome.MALFORMED, holds=[kind]).page in ("bot", "owner")
    assert next_step("not_listed", Outcome.ABSENT, alias_of="www.shop.com").page == "service"
    assert next_step("listed", Outcome.FOUND, has_errors=True) != next_step("listed", Outcome.FOUND)
    assert isinstance(next_step("not_listed"), NextStep)
