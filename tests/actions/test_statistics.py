"""The registry in numbers."""

from registry.store.unit_of_work import Store
from tests.support.builders import DAY, HOUR, NOW, adp_site, crawl, on


async def test_services_seen_in_the_last_day_are_counted(store: Store) -> None:
    await crawl(store, {"pigeons.com": adp_site("pigeons.com"), "doves.com": adp_site("doves.com")})
    await crawl(store, {"swifts.com": adp_site("swifts.com")}, now=NOW + 2 * HOUR)
    assert (await on(store, NOW + 3 * HOUR).figures.statistics()).services.seen == 3
    counted = (await on(store, NOW + DAY + HOUR).figures.statistics()).services
    assert (counted.seen, sum(counted.trust_levels.values())) == (1, 3)
