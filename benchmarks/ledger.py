"""`python -m benchmarks.ledger`: what the ledger of visits takes on disk, and what its upgrade and its months cost.

Fills a database of the schema before months with visits of realistic width, in the order in which they happen; upgrades
it while a reader and a writer go on; then drops a month and deletes another one as pruning did before. A PostgreSQL
server with enough disk is needed: 12 GB for a million domains and 20 visits.
"""

import argparse
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import psycopg
from alembic import command

from registry.store.engine import libpq, sqlalchemy_url
from registry.store.migrate import make_config

BEFORE = "3b8e5d1f7a26"  # the revision before months
NAME = "waypost_ledger_benchmark"

# 14 letters, the average of a registrable domain; every third host is below its domain.
DOMAINS = """
CREATE TABLE names AS SELECT domain, CASE WHEN n % 3 = 0 THEN 'www.' ELSE '' END || domain AS host
FROM (SELECT n, left(md5(n::text), 5) || lpad(to_hex(n), 5, '0') || '.com' AS domain
    FROM generate_series(1, {domains}) AS n) AS named
"""
FIRST = """
INSERT INTO domains (domain, next_visit_at, source, created_at) SELECT domain, now(), 'seed', now() FROM names;
INSERT INTO hosts (domain, host, next_visit_at, source, created_at) SELECT domain, host, now(), 'seed', now() FROM names
"""
# The packed vector of a visit without documents has 130 bytes, which do not compress.
VISITS = """
INSERT INTO {table} (domain, host, started_at, finished_at, outcome, reason, whole_plan, requests, address, sent,
    standing, vector)
SELECT domain, host, at, at + interval '20 s', 'absent', 'status_404', true, 22, '192.0.2.' || (random() * 255)::int,
    22, 0, sha512(random()::text::bytea) || sha512(random()::text::bytea) || '\\x0000'
FROM (SELECT domain, host, %s::timestamptz + random() * interval '25 days' AS at FROM names ORDER BY random()) AS n
"""
# Pruning before months, without its condition on the host's latest visits.
DELETE = """
WITH old AS (SELECT ctid FROM {month} LIMIT 5000) DELETE FROM {month} m USING old WHERE m.ctid = old.ctid
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger", description=__doc__)
    parser.add_argument("server", help="URL of a PostgreSQL server and a role that may create databases")
    parser.add_argument("--domains", type=int, default=1_000_000)
    parser.add_argument("--visits", type=int, default=20, help="of each domain (default 20)")
    options = parser.parse_args()
    admin = psycopg.connect(libpq(sqlalchemy_url(options.server)), autocommit=True)
    admin.execute(f"DROP DATABASE IF EXISTS {NAME}")
    admin.execute(f"CREATE DATABASE {NAME} TEMPLATE template0 ENCODING UTF8 LOCALE 'C.UTF-8'")
    try:
        url = sqlalchemy_url(options.server).set(database=NAME).render_as_string(hide_password=False)
        _measure(url, options.domains, options.visits)
    finally:
        admin.execute(f"DROP DATABASE {NAME} WITH (FORCE)")


def _measure(url: str, domains: int, visits: int) -> None:
    command.upgrade(make_config(url), BEFORE)
    with psycopg.connect(libpq(sqlalchemy_url(url)), autocommit=True) as connection:
        connection.execute(DOMAINS.format(domains=domains))
        connection.execute(FIRST)
        print(f"new domain: {_bytes(connection, 'domains', 'hosts') / domains:,.0f} bytes", flush=True)
        for number in range(visits):
            connection.execute(VISITS.format(table="visits"), [datetime(2024, 1, 1, tzinfo=UTC) + number * MONTH])
        rows, size = domains * visits, _bytes(connection, "visits")
        index = _number(connection, "SELECT pg_indexes_size(%s::regclass)", "visits")
        print(f"{rows:,} visits: {size / rows:,.0f} bytes each, {index / rows:,.0f} of them index", flush=True)
        began = time.monotonic()
        with _prober(url) as waits:
            command.upgrade(make_config(url), "head")
        print(f"upgrade: {time.monotonic() - began:.1f} s; longest wait of a reader {max(waits['read']):.3f} s, "
              f"of a writer {max(waits['write']):.3f} s", flush=True)  # fmt: skip
        months = [name for (name,) in connection.execute(
            "SELECT relname FROM pg_class WHERE relname ~ '^visits_2[0-9_]+$' AND relkind = 'r' ORDER BY 1"
        ).fetchall()[:2]]  # fmt: skip
        for month in months:
            since = datetime.strptime(month, "visits_%Y_%m").replace(tzinfo=UTC)
            connection.execute(VISITS.format(table="visits"), [since])
        print(f"a month of {domains:,} visits: {_bytes(connection, months[0]):,} bytes", flush=True)
        began, log = time.monotonic(), _number(connection, LOG)
        while connection.execute(DELETE.format(month=months[0])).rowcount:
            pass
        connection.execute(f"VACUUM {months[0]}")
        print(f"deleted and vacuumed: {time.monotonic() - began:.1f} s, "
              f"{(_number(connection, LOG) - log) / 1e6:,.1f} MB of log", flush=True)  # fmt: skip
        began, log = time.monotonic(), _number(connection, LOG)
        connection.execute(f"DROP TABLE {months[1]}")
        print(f"dropped: {time.monotonic() - began:.3f} s, {(_number(connection, LOG) - log) / 1e6:,.3f} MB of log")


MONTH = datetime(2024, 2, 1, tzinfo=UTC) - datetime(2024, 1, 1, tzinfo=UTC)
LOG = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"


@contextmanager
def _prober(url: str) -> Iterator[dict[str, list[float]]]:
    """Read a host's visits and write a visit, again and again; yield how long each took."""
    waits: dict[str, list[float]] = {"read": [0.0], "write": [0.0]}
    stop = threading.Event()
    read = "SELECT outcome FROM visits WHERE domain = %s AND host = %s ORDER BY started_at DESC LIMIT 20"
    write = (
        "INSERT INTO visits (domain, host, started_at, finished_at, outcome, reason, whole_plan, requests, vector)"
        " VALUES ('p.com', 'p.com', clock_timestamp(), now(), 'absent', '', true, 1, '')"
    )

    def probe(kind: str, statement: str, bound: list[str] | None) -> None:
        with psycopg.connect(libpq(sqlalchemy_url(url)), autocommit=True) as connection:
            while not stop.wait(0.005):
                began = time.monotonic()
                connection.execute(statement, bound)
                waits[kind].append(time.monotonic() - began)

    probes = [
        threading.Thread(target=probe, args=("read", read, ["p.com", "p.com"])),
        threading.Thread(target=probe, args=("write", write, None)),
    ]
    for thread in probes:
        thread.start()
    try:
        yield waits
    finally:
        stop.set()
        for thread in probes:
            thread.join()


def _bytes(connection: "psycopg.Connection[tuple[int]]", *tables: str) -> int:
    return sum(_number(connection, "SELECT pg_total_relation_size(%s::regclass)", table) for table in tables)


def _number(connection: "psycopg.Connection[tuple[int]]", statement: str, *bound: str) -> int:
    row = connection.execute(statement, bound or None).fetchone()
    assert row is not None
    return int(row[0])


if __name__ == "__main__":
    main()
