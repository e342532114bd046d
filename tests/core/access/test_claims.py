"""What proves a claim, for whom, and when an ownership ends."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from registry.core.access.claims import MAX_FAILURES, Answer, ProofStanding, challenge, covers, is_published, lines_of

NOW = datetime(2026, 11, 26, tzinfo=UTC)
DAY = timedelta(days=1)
DIGEST = bytes(range(32))


def test_a_value_is_bound_to_claim_host_scope_and_claimant() -> None:
    values = {
        challenge("0123456789abcdef", "pigeons.com", "host", DIGEST),
        challenge("0123456789abcdee", "pigeons.com", "host", DIGEST),
        challenge("0123456789abcdef", "doves.com", "host", DIGEST),
        challenge("0123456789abcdef", "pigeons.com", "domain", DIGEST),
        challenge("0123456789abcdef", "pigeons.com", "host", bytes(32)),
    }
    assert len(values) == 5


def standing_after(*answers: Answer) -> ProofStanding:
    standing = ProofStanding()
    for day, answer in enumerate(answers):
        standing = standing.after(answer, NOW + day * DAY)
    return standing


def test_three_definite_failures_in_a_row_end_it() -> None:
    assert not standing_after("missing", "missing").is_over
    assert not standing_after("missing", "missing", "published", "missing").is_over
    assert standing_after("missing", "missing", "missing").is_over


def test_an_outage_counts_only_after_three_days() -> None:
    outage: list[Answer] = ["unanswered"] * 3
    assert standing_after(*outage).failures == 0
    assert standing_after(*outage, "unanswered").failures == 1
    assert standing_after(*outage, *["unanswered"] * MAX_FAILURES).is_over


def test_a_domain_covers_its_hosts_and_a_host_only_itself() -> None:
    assert covers("pigeons.com", "pigeons.com", "domain", "api.pigeons.com")
    assert not covers("pigeons.com", "pigeons.com", "host", "api.pigeons.com")
    assert not covers("pigeons.com", "pigeons.com", "domain", "doves.com")
    assert not covers("alice.github.io", "alice.github.io", "domain", "bob.github.io")


@given(st.binary(max_size=500))
def test_other_contents_prove_nothing(body: bytes) -> None:
    value = challenge("0123456789abcdef", "pigeons.com", "host", DIGEST)
    assert not is_published(value, lines_of(body))
    assert is_published(value, lines_of(body + b"\n " + value.encode() + b"\r\n")) or body.count(b"\n") > 90
