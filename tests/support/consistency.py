"""Check the invariants that a registry must keep whatever was killed, by queries on the database and the index."""

from collections.abc import Collection

from registry.core.ranking import index_hash
from registry.wiring import Waypost

_FAULTS = {
    "leased": "SELECT domain FROM domains WHERE lease_token IS NOT NULL",
    "visited twice at once": """
        SELECT a.host || ' ' || a.started_at || ' ' || b.host || ' ' || b.started_at FROM visits a JOIN visits b
        ON a.domain = b.domain AND (a.host, a.started_at) < (b.host, b.started_at)
        AND a.started_at < b.finished_at AND b.started_at < a.finished_at""",
    "listed more than once": """
        SELECT host FROM changes WHERE kind = 'service.listed' GROUP BY host HAVING count(*) > 1""",
    "a service without a document": """
        SELECT host FROM services s WHERE NOT EXISTS
        (SELECT FROM documents d WHERE (d.domain, d.host) = (s.domain, s.host) AND d.outcome = 'found')""",
    "a service without all its capabilities": """
        SELECT host FROM services s WHERE cap_count !=
        (SELECT count(*) FROM capabilities c WHERE (c.domain, c.host) = (s.domain, s.host))""",
    "a service without a score": """
        SELECT host FROM services s WHERE NOT EXISTS
        (SELECT FROM scores o WHERE (o.domain, o.host) = (s.domain, s.host) AND o.value = s.score)""",
    "a service that was never visited": """
        SELECT host FROM services s WHERE NOT EXISTS
        (SELECT FROM visits v WHERE (v.domain, v.host) = (s.domain, s.host) AND v.outcome = 'found')""",
    "a capability of nothing": """
        SELECT host FROM capabilities c WHERE NOT EXISTS
        (SELECT FROM services s WHERE (c.domain, c.host) = (s.domain, s.host))""",
    "a finding about nothing": """
        SELECT host FROM findings f WHERE NOT EXISTS
        (SELECT FROM documents d WHERE (f.domain, f.host) = (d.domain, d.host))""",
    "a document of no host": """
        SELECT url FROM documents d WHERE NOT EXISTS
        (SELECT FROM hosts h WHERE (d.domain, d.host) = (h.domain, h.host))""",
    "a document without its body": """
        SELECT url FROM documents d WHERE has_body AND NOT EXISTS
        (SELECT FROM bodies b WHERE (d.domain, d.sha256) = (b.domain, b.sha256))""",
    "a host without a domain": "SELECT host FROM hosts WHERE domain NOT IN (SELECT domain FROM domains)",
}


async def faults(waypost: Waypost, hosts: Collection[str]) -> dict[str, list[str]]:
    """Return the violations by kind; empty when there are none. Nothing else may work on the registry meanwhile."""
    await waypost.search.drain()
    violations: dict[str, list[str]] = {}
    async with waypost._store.engine.connect() as connection:
        for fault, statement in _FAULTS.items():
            violations[fault] = [str(row[0]) for row in await connection.exec_driver_sql(statement)]
    statuses = {host: await waypost.queries.status(host) for host in hosts}
    violations["no outcome"] = [host for host, status in statuses.items() if status is None or status.outcome is None]
    violations["index"] = await _differences(waypost)
    return {fault: rows for fault, rows in violations.items() if rows}


async def _differences(waypost: Waypost) -> list[str]:
    """Return the hosts whose index document is not what the database says it should be."""
    async with waypost._store.begin() as uow:
        listings = await uow.search.all_listings(("", ""), limit=10_000)
    model = waypost.search.embedder.id if waypost.search.embedder else ""
    expected_hashes = {listing.host: index_hash(listing, model) for listing in listings}
    indexed_hashes = {host: digest async for host, digest in waypost.search.backend.hashes()}
    return sorted(
        host
        for host in expected_hashes.keys() | indexed_hashes.keys()
        if expected_hashes.get(host) != indexed_hashes.get(host)
    )
