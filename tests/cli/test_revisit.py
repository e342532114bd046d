"""A simulated year of visits: how often hosts of each kind are visited, and that intervals always grow."""

import json
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from docs.generate.revisit import KINDS, NOTHING, HostKind, failing, requests, serving, shop
from docs.generate.timeline import START, TimelineVisit, timeline
from registry.core.model.documents import FetchResult, Outcome, Probe
from registry.core.visiting.probes import FURTHER

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
QUIET = [kind for kind in KINDS if "changes" not in kind.name and "the same, to be kept" not in kind.name]


def gaps(visits: list[TimelineVisit]) -> list[timedelta]:
    return [later.at - earlier.at for earlier, later in pairwise(visits)]


def test_a_host_without_documents_gets_six_visits_in_its_first_year_then_four() -> None:
    visits = list(timeline(NOTHING, days=3 * 365))
    first_year = [visit for visit in visits if visit.at < START + 365 * DAY]
    assert (len(first_year), len(visits)) == (6, 14)
    assert [visit.requests for visit in first_year] == [20, 25, 25, 25, 25, 25], "a few further paths in each revisit"
    assert max(visit.requests for visit in visits) <= 25
    assert gaps(visits) == sorted(gaps(visits))
    assert not any(visit.is_listed for visit in visits)


def test_a_host_that_changes_daily_is_visited_daily() -> None:
    visits = list(timeline(shop(DAY), days=60))
    assert max(gaps(visits)) <= 1.2 * DAY
    assert sum(visit.has_changed for visit in visits) >= 55
    assert all(visit.is_listed for visit in visits)


def test_a_cacheable_document_is_not_requested_before_it_expires() -> None:
    for header in ("max-age=172800", "public, max-age=172800"):
        assert min(gaps(list(timeline(shop(HOUR, cache_control=header), days=30)))) >= 2 * DAY
    assert min(gaps(list(timeline(shop(HOUR, cache_control="no-store, max-age=172800"), days=3)))) < 2 * HOUR
    expires = "Thu, 15 Jan 2026 00:00:00 GMT"
    assert [visit.at >= START + 7 * DAY for visit in timeline(shop(HOUR, expires=expires), days=8)] == [False, True]


@pytest.mark.parametrize("kind", QUIET, ids=lambda kind: kind.name)
def test_a_host_without_changes_is_visited_ever_more_rarely(kind: HostKind) -> None:
    visits = list(timeline(kind.answer))
    late_visits = [visit for visit in visits if visit.at > START + 270 * DAY]
    assert len(late_visits) <= 16 and requests(late_visits) <= 180
    if not visits[0].is_listed:
        assert requests(visits) <= 330 + 2 * len(FURTHER), "each further path at most twice a year"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_visit_comes_within_an_hour_of_the_last(kind: HostKind) -> None:
    assert min(gaps(list(timeline(kind.answer, days=60))), default=DAY) >= HOUR


def test_an_unreachable_host_is_not_visited_hourly_for_pending_details() -> None:
    """Its manifest names more capabilities than one visit may request."""
    manifest = {
        "spec_version": "1.0", "name": "Pigeon post", "description": "Books and tracks parcels of a town.",
        "base_url": "https://shop.com", "auth": {"type": "none"}, "pricing": {"type": "free"},
        "capabilities": [
            {"name": f"c{number}", "description": "Does something useful.", "detail_url": f"/caps/{number}"}
            for number in range(60)
        ],
    }  # fmt: skip

    def answer(probe: Probe, now: datetime) -> FetchResult:
        if probe.url.endswith("/.well-known/agent"):
            return served(probe, now)
        return missing(probe, now)

    served = serving(json.dumps(manifest), media_type="application/json")
    missing = serving("not found", 404, "text/plain")
    unreachable = failing(Outcome.UNREACHABLE, "connect_timeout")
    visits = list(timeline(lambda probe, now: (answer if now < START + HOUR / 2 else unreachable)(probe, now), days=30))
    assert visits[0].is_listed and gaps(visits)[0] <= 1.1 * HOUR, "what was left is asked for soon"
    assert len(visits) <= 8, "but not of a host that is away"
