from datetime import UTC, datetime, timedelta

import pytest

from registry.core.documents import Outcome
from registry.core.next_visit import Why, because, in_words, upcoming


@pytest.mark.parametrize("why", [why for why in Why if why is not Why.POLICY])
def test_every_reason_has_a_sentence_of_its_own(why: Why) -> None:
    says = {because(other, Outcome.ABSENT, "", 1, timedelta(days=14)) for other in Why if other is not why}
    assert because(why, Outcome.ABSENT, "", 1, timedelta(days=14)) not in says


def test_the_policy_tells_the_wait_that_was_chosen_and_what_for() -> None:
    said = because(Why.POLICY, Outcome.REFUSED, "status_403", 3, timedelta(days=28))
    assert said == "28 d after a visit that ended with refused (status_403), 3 times in a row"


def test_never_by_itself_is_said() -> None:
    assert because(Why.POLICY, Outcome.REFUSED_ADDRESS, "private", 1, None).startswith("never by itself")


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


def test_what_is_overdue_comes_soon_and_reads_the_same_for_a_while() -> None:
    now = datetime(2026, 11, 21, 12, 30, 10, tzinfo=UTC)
    told = upcoming(now - timedelta(days=400), now)
    assert told is not None and now < told <= now + timedelta(minutes=1)
    assert upcoming(now - timedelta(days=1), now + timedelta(seconds=30)) == told
    assert upcoming(now + timedelta(hours=1), now) == now + timedelta(hours=1)
    assert upcoming(None, now) is None
