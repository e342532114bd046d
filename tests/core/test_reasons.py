from datetime import UTC, datetime, timedelta

import pytest

from registry.core.model.documents import Outcome
from registry.core.scheduling.policy import DueReason, in_words, sentence, shown_time


@pytest.mark.parametrize("reason", [reason for reason in DueReason if reason is not DueReason.POLICY])
def test_every_reason_has_a_sentence_of_its_own(reason: DueReason) -> None:
    other_sentences = {
        sentence(other, Outcome.ABSENT, "", 1, timedelta(days=14)) for other in DueReason if other is not reason
    }
    assert sentence(reason, Outcome.ABSENT, "", 1, timedelta(days=14)) not in other_sentences


def test_the_reason_of_the_policy_names_the_wait_and_the_outcome() -> None:
    text = sentence(DueReason.POLICY, Outcome.REFUSED, "status_403", 3, timedelta(days=28))
    assert text == "28 d after a visit that ended with refused (status_403), 3 times in a row"


def test_no_next_visit_is_explained() -> None:
    assert sentence(DueReason.POLICY, Outcome.REFUSED_ADDRESS, "private", 1, None).startswith("never by itself")


@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (timedelta(seconds=1), "1 min"),
        (timedelta(minutes=59, seconds=40), "1 h"),
        (timedelta(hours=26, minutes=5), "1 d 2 h"),
        (timedelta(days=14), "14 d"),
        (timedelta(hours=1, minutes=1), "1 h 1 min"),
    ],
)
def test_a_wait_in_words(wait: timedelta, words: str) -> None:
    assert in_words(wait) == words


def test_an_overdue_visit_is_shown_within_the_next_minute() -> None:
    now = datetime(2026, 11, 21, 12, 30, 10, tzinfo=UTC)
    shown = shown_time(now - timedelta(days=400), now)
    assert shown is not None and now < shown <= now + timedelta(minutes=1)
    assert shown_time(now - timedelta(days=1), now + timedelta(seconds=30)) == shown
    assert shown_time(now + timedelta(hours=1), now) == now + timedelta(hours=1)
    assert shown_time(None, now) is None
