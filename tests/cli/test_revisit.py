"""A year of visits, played: how often hosts of each kind are asked, and that none is asked for ever at one pace."""

import json
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from registry.cli.pages.revisit import KINDS, NOTHING, Kind, failing, requests, serving, shop
from registry.cli.pages.timeline import START, Seen, timeline
from registry.core.documents import Fetched, Outcome, Probe

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
QUIET = [kind for kind in KINDS if "changes" not in kind.name and "the same, to be kept" not in kind.name]


def gaps(seen: list[Seen]) -> list[timedelta]:
    return [later.at - earlier.at for earlier, later in pairwise(seen)]


def test_a_host_that_never_has_anything_gets_six_visits_in_its_first_year_then_four() -> None:
    seen = list(timeline(NOTHING, days=3 * 365))
    first = [one for one in seen if one.at < START + 365 * DAY]
    assert (len(first), len(seen)) == (6, 14)
    assert max(one.requests for one in seen) <= 20
    assert gaps(seen) == sorted(gaps(seen))
    assert not any(one.is_listed for one in seen)


def test_a_host_that_changes_every_day_is_seen_every_day() -> None:
    seen = list(timeline(shop(DAY), days=60))
    assert max(gaps(seen)) <= 1.2 * DAY
    assert sum(one.has_changed for one in seen) >= 55
    assert all(one.is_listed for one in seen)


def test_what_may_be_kept_is_not_asked_for_sooner() -> None:
    for header in ("max-age=172800", "public, max-age=172800"):
        assert min(gaps(list(timeline(shop(HOUR, cache_control=header), days=30)))) >= 2 * DAY
    assert min(gaps(list(timeline(shop(HOUR, cache_control="no-store, max-age=172800"), days=3)))) < 2 * HOUR
    expires = "Thu, 15 Jan 2026 00:00:00 GMT"
    assert [one.at >= START + 7 * DAY for one in timeline(shop(HOUR, expires=expires), days=8)] == [False, True]


@pytest.mark.parametrize("kind", QUIET, ids=lambda kind: kind.name)
def test_who_has_nothing_new_is_asked_ever_more_rarely(kind: Kind) -> None:
    seen = list(timeline(kind.answer))
    late = [one for one in seen if one.at > START + 270 * DAY]
    assert len(late) <= 16 and requests(late) <= 180
    if not seen[0].is_listed:
        assert requests(seen) <= 330


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_visit_comes_within_an_hour_of_the_last(kind: Kind) -> None:
    assert min(gaps(list(timeline(kind.answer, days=60))), default=DAY) >= HOUR


def test_a_listed_host_that_goes_away_is_not_asked_every_hour_for_what_was_left() -> None:
    """Its manifest names more capabilities than one visit may ask for."""
    many = {
        "spec_version": "1.0", "name": "Pigeon post", "description": "Books and tracks parcels of a town.",
        "base_url": "https://shop.com", "auth": {"type": "none"}, "pricing": {"type": "free"},
        "capabilities": [
            {"name": f"c{number}", "description": "Does something useful.", "detail_url": f"/caps/{number}"}
            for number in range(60)
        ],
    }  # fmt: skip

    def answer(probe: Probe, now: datetime) -> Fetched:
        if probe.url.endswith("/.well-known/agent"):
            return served(probe, now)
        return missing(probe, now)

    served = serving(json.dumps(many), media_type="application/json")
    missing = serving("not found", 404, "text/plain")
    away = failing(Outcome.UNREACHABLE, "connect_timeout")
    seen = list(timeline(lambda probe, now: (answer if now < START + HOUR / 2 else away)(probe, now), days=30))
    assert seen[0].is_listed and gaps(seen)[0] <= 1.1 * HOUR, "what was left is asked for soon"
    assert len(seen) <= 8, "but not of a host that is away"
