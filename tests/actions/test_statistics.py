"""The registry in numbers."""

import asyncio
from datetime import timedelta

from registry.actions.queries.statistics import DAY_KEPT_FOR
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, HOUR, NOW, adp_site, crawl, on
from tests.support.database import rows


async def test_services_seen_in_the_last_day_are_counted(store: Store) -> None:
    await crawl(store, {"pigeons.com": adp_site("pigeons.com"), "doves.com": adp_site("doves.com")})
    await crawl(store, {"swifts.com": adp_site("swifts.com")}, now=NOW + 2 * HOUR)
    assert (await on(store, NOW + 3 * HOUR).figures.statistics()).services.seen == 3
    counted = (await on(store, NOW + DAY + HOUR).figures.statistics()).services
    assert (counted.seen, sum(counted.trust_levels.values())) == (1, 3)


async def test_a_day_is_counted_again_until_its_end_and_a_missed_day_stays_a_gap(store: Store) -> None:
    assert not await on(store, NOW).figures.count_day()  # nothing to tell
    await crawl(store, {"pigeons.com": adp_site("pigeons.com")})
    figures = [on(store, NOW + after).figures for after in (HOUR, HOUR, HOUR + DAY_KEPT_FOR, HOUR + DAY_KEPT_FOR / 2)]
    assert [await one.count_day() for one in figures] == [True, False, True, False]
    await crawl(store, {"doves.com": adp_site("doves.com")}, now=NOW + DAY * 2)
    assert await on(store, NOW + 3 * DAY).figures.count_day()
    history = await on(store, NOW).figures.history(until=None, most=10)
    assert [(one.day, one.services) for one in history.days] == [(NOW.date(), 1), ((NOW + 3 * DAY).date(), 2)]
    first, last = history.days
    assert (first.at, first.hosts, first.visited) == (NOW + HOUR + DAY_KEPT_FOR, 1, {"found": 1})
    assert (last.formats, last.visited, sum(last.scores)) == ({"adp": 2}, {}, 2)
    assert last.mean_score == (await store_mean(store))
    assert history.earlier is None
    page = await on(store, NOW).figures.history(until=None, most=1)
    assert ([one.day for one in page.days], page.earlier) == ([last.day], first.day)


async def store_mean(store: Store) -> float:
    ((mean,),) = await rows(store, "SELECT round(avg(score), 1) FROM services")
    return float(mean)


async def test_processes_that_count_at_once_keep_the_later_numbers(store: Store) -> None:
    await crawl(store, {"pigeons.com": adp_site("pigeons.com")})
    moments = [NOW + timedelta(minutes=minutes) for minutes in (59, 1, 30)]
    await asyncio.gather(*(on(store, moment).figures.count_day() for moment in moments))
    assert await rows(store, "SELECT day, at FROM daily_figures") == [(NOW.date(), max(moments))]
