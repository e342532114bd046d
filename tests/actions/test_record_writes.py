"""The cost of a visit in row writes, counted by triggers on every table."""

from collections import Counter
from datetime import timedelta
from uuid import uuid4

import pytest

from registry.core.visiting.shares import Standing
from registry.store.engine import StoreUnavailable
from registry.store.unit_of_work import Store
from tests.support.builders import ADP, DAY, HOUR, NOW, Site, adp_site, again, crawl, finish, on, take
from tests.support.database import rows

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

HOST = "pigeons.com"


async def log_writes(store: Store) -> None:
    """From now on, note every row written, with its table and the kind of write."""
    async with store.engine.begin() as connection:
        await connection.exec_driver_sql("CREATE TABLE written (what text)")
        await connection.exec_driver_sql("""
            CREATE FUNCTION note_written() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN INSERT INTO written VALUES (TG_ARGV[0] || ' ' || lower(TG_OP)); RETURN NULL; END $$""")
        await connection.exec_driver_sql("""
            DO $$ DECLARE name text; BEGIN
            FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
                AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'written' LOOP
                EXECUTE 'CREATE TRIGGER note_written AFTER INSERT OR UPDATE OR DELETE ON ' || quote_ident(name)
                        || format(' FOR EACH ROW EXECUTE FUNCTION note_written(%%L)', name);
            END LOOP; END $$""")


async def write_counts(store: Store) -> Counter[str]:
    return Counter(write for (write,) in await rows(store, "SELECT what FROM written"))


async def documents(store: Store) -> list[object]:
    """Return all documents without their `seen_at`."""
    return [row[0] for row in await rows(store, "SELECT to_jsonb(d) - 'seen_at' FROM documents d ORDER BY url")]


async def test_a_host_without_documents_costs_one_visit_row_and_its_updates(store: Store) -> None:
    await on(store).frontier.seed(["empty.com"], source="test")
    await log_writes(store)
    await again(store, {}, NOW)
    cost = Counter({"visits insert": 1, "hosts update": 1, "domains update": 2})  # the domain: leased, then released
    assert await write_counts(store) == cost
    await again(store, {}, NOW + 20 * DAY)
    assert await write_counts(store) == cost + cost
    assert await rows(store, "SELECT count(*) FROM documents") == [(0,)]


@pytest.mark.parametrize("etag", [None, '"1"'])
async def test_unchanged_documents_cost_one_update(store: Store, etag: str | None) -> None:
    site = adp_site(HOST, "create_parcel", "track_parcel", etag=etag)
    await crawl(store, {HOST: site})
    before = await documents(store)
    await log_writes(store)
    await again(store, {HOST: site}, NOW + 26 * HOUR)

    assert await documents(store) == before
    assert await write_counts(store) == {
        "visits insert": 1,
        "hosts update": 1,
        "domains update": 2,
        "documents update": 1,  # its details are not requested again
        "services update": 1,
    }


async def test_a_changed_document_writes_only_what_changed(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    await log_writes(store)
    await again(store, {HOST: adp_site(HOST, name="Carrier pigeons")}, NOW + 2 * DAY)
    cost = await write_counts(store)
    assert (cost["bodies insert"], cost["document_history insert"], cost["documents update"]) == (1, 1, 2)
    assert (cost["services update"], cost["changes insert"]) == (1, 1)


async def test_domains_of_many_leases_are_recorded_together(store: Store) -> None:
    """Each under its own token: a domain leased by another by now is skipped, the others are written."""
    sites: dict[str, Site] = {f"n{number}.com": {} for number in range(4)}
    await on(store).frontier.seed(sites, source="test")
    leases = [await take(store, limit=1) for _ in sites]
    finished = [(lease.token, finish(lease.domains[0], sites)) for lease in leases if lease is not None]
    assert len(finished) == 4
    (_, lost_domain), *kept_leases = finished
    recorded = await on(store).crawl.record_all([(uuid4(), lost_domain), *kept_leases])
    assert recorded.lost == [lost_domain.domain]
    assert sorted(recorded.hosts) == sorted(finished_domain.domain for _, finished_domain in kept_leases)
    assert recorded.failed == {}
    assert await rows(store, "SELECT domain FROM domains WHERE lease_token IS NOT NULL") == [(lost_domain.domain,)]


async def test_spent_requests_are_counted_per_domain_since_a_time(store: Store) -> None:
    names = [HOST, f"www.{HOST}", f"api.{HOST}"]
    await on(store).frontier.seed(names, source="test")
    await again(store, {}, NOW)
    requests = sum(number for (number,) in await rows(store, "SELECT requests FROM visits"))
    assert requests > 3 * 10
    async with store.begin() as uow:
        assert await uow.ledger.spent([HOST, "other.com"], since=NOW + timedelta(seconds=1)) == {}
        spent = await uow.ledger.spent([HOST, "other.com"], since=NOW - HOUR)
    assert spent.keys() == {HOST} and spent[HOST].keys() == {Standing.KEPT, Standing.KNOWN}
    assert sum(by_standing.requests for by_standing in spent[HOST].values()) == requests


async def test_the_row_of_a_visit_is_small(store: Store) -> None:
    """Millions are kept, so 20 responses take less than 10 bytes each, and can be read back."""
    await crawl(store, {"empty.com": {}})
    ((size, request_count),) = await rows(store, "SELECT octet_length(vector), requests FROM visits")
    assert request_count >= 15
    assert size < 200
    async with store.begin() as uow:
        (visit,) = await uow.ledger.visits("empty.com", "empty.com", limit=1)
    assert len(visit.vector) == request_count
    assert f"https://empty.com{ADP}" in {entry["url"] for entry in visit.vector}


async def test_a_lost_connection_raises_and_the_next_one_works(store: Store) -> None:
    """Also when the error comes from below SQLAlchemy, which must then discard the dead connection itself."""
    await on(store).frontier.seed(["empty.com"], source="test")
    with pytest.raises(StoreUnavailable):
        async with store.begin() as uow:
            await uow.hosts.of(["empty.com"])
            terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            await rows(store, f"{terminate} AND pid <> pg_backend_pid() AND position('FROM hosts' in query) > 0")
            await uow.hosts.of(["empty.com"])
    assert (await again(store, {}, NOW)).hosts == ["empty.com"]
