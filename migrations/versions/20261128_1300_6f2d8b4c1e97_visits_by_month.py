"""Visits by month: partitions, without copying a row and without a long lock.

A filled table becomes the first partition, for all visits before the next month or the one after it. What takes long (the
check that all its rows belong there) blocks nobody; what blocks takes milliseconds. The programs of before go on: they
read and write the same table with the same columns. See registry/store/visit_months.py for what the partitions are.
"""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime
from itertools import pairwise

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

revision = "6f2d8b4c1e97"
down_revision = "3b8e5d1f7a26"
branch_labels = None
depends_on = None

TRIES = 120  # of a lock, each a second long: a backup that reads the table makes the upgrade wait
MONTHS = 4

PARTITIONED = """
CREATE TABLE visits (LIKE {old} INCLUDING DEFAULTS) PARTITION BY LIST (kept);
CREATE TABLE visits_kept PARTITION OF visits (PRIMARY KEY (domain, host, started_at)) FOR VALUES IN (true);
CREATE TABLE visits_by_month PARTITION OF visits (PRIMARY KEY (domain, host, started_at))
    FOR VALUES IN (false) PARTITION BY RANGE (started_at);
CREATE TABLE visits_other PARTITION OF visits_by_month DEFAULT;
"""
# Bounds are in UTC, in any time zone of the session.
MONTH = """
CREATE TABLE visits_{since:%Y_%m} PARTITION OF visits_by_month
    FOR VALUES FROM ('{since:%Y-%m-%d} 00:00+00') TO ('{until:%Y-%m-%d} 00:00+00')
"""
AHEAD = """
WITH ahead AS (DELETE FROM visits WHERE started_at >= '{bound}' RETURNING *) INSERT INTO visits_ahead SELECT * FROM ahead
"""
# A role that was allowed to read the table reads it through its partitions now.
GRANTS = """
DO $$ DECLARE entry record; BEGIN
    FOR entry IN SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END AS grantee, privilege_type
        FROM pg_class, aclexplode(relacl) WHERE oid = '{old}'::regclass AND grantee <> relowner
    LOOP EXECUTE format('GRANT %s ON visits TO %s', entry.privilege_type, entry.grantee); END LOOP;
END $$
"""


def upgrade() -> None:
    with op.get_context().autocommit_block():
        is_filled = op.get_bind().scalar(
            sa.text("SELECT EXISTS (SELECT FROM visits) OR to_regclass('visits_ahead') IS NOT NULL")
        )
        # The bound is a week away at least, so that no visit passes it before the table is a partition.
        begin = "now() AT TIME ZONE 'UTC'" + (" + interval '1 month 7 days'" if is_filled else "")
        first, *later = _months(begin)
        bound = f"{first:%Y-%m-%d} 00:00+00"
        _patiently("ALTER TABLE visits ADD COLUMN IF NOT EXISTS kept boolean NOT NULL DEFAULT false")
        if is_filled:
            in_range = f"CHECK (started_at < '{bound}' AND NOT kept) NOT VALID"
            _patiently(f"ALTER TABLE visits DROP CONSTRAINT IF EXISTS in_range, ADD CONSTRAINT in_range {in_range}")
            # Of a program whose clock was wrong. A table of their own, so that a run that was interrupted loses none.
            op.execute("CREATE TABLE IF NOT EXISTS visits_ahead (LIKE visits INCLUDING DEFAULTS)")
            op.execute(AHEAD.format(bound=bound))
            op.execute("ALTER TABLE visits VALIDATE CONSTRAINT in_range")
    old = f"visits_before_{first:%Y_%m}"
    _patiently("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE", has_transaction=True)
    op.execute(f"ALTER TABLE visits RENAME TO {old}")
    op.execute(f"ALTER INDEX pk_visits RENAME TO {old}_pkey")
    op.execute(PARTITIONED.format(old=old))
    op.execute(GRANTS.format(old=old))
    for since, until in pairwise((first, *later)):
        op.execute(MONTH.format(since=since, until=until))
    if is_filled:
        op.execute(f"ALTER TABLE visits_by_month ATTACH PARTITION {old} FOR VALUES FROM (MINVALUE) TO ('{bound}')")
        op.execute(f"ALTER TABLE {old} DROP CONSTRAINT in_range")
        op.execute("INSERT INTO visits SELECT * FROM visits_ahead")
        op.execute("DROP TABLE visits_ahead")
    else:
        op.execute(f"INSERT INTO visits SELECT * FROM {old}")  # noqa: S608  (written since it was found empty)
        op.execute(f"DROP TABLE {old}")


def downgrade() -> None:
    """Copy all visits back: not for a registry at work."""
    op.execute("ALTER TABLE visits RENAME TO visits_partitioned")
    op.execute("CREATE TABLE visits (LIKE visits_partitioned INCLUDING DEFAULTS)")
    op.execute("INSERT INTO visits SELECT * FROM visits_partitioned")
    op.execute("DROP TABLE visits_partitioned")
    op.execute("ALTER TABLE visits DROP COLUMN kept, ADD CONSTRAINT pk_visits PRIMARY KEY (domain, host, started_at)")


def _months(begin: str) -> Sequence[datetime]:
    """Return the first days of MONTHS months and of the one after them."""
    statement = (
        f"SELECT date_trunc('month', {begin}) + make_interval(months => n) FROM generate_series(0, {MONTHS}) AS n"  # noqa: S608
    )
    return op.get_bind().scalars(sa.text(statement)).all()


def _patiently(statement: str, *, has_transaction: bool = False) -> None:
    """Execute a statement that takes a lock. Wait for it a second at a time, because all others wait behind it."""
    connection = op.get_bind()
    for tries_left in reversed(range(TRIES)):
        try:
            with connection.begin_nested() if has_transaction else nullcontext():
                connection.execute(sa.text("SET lock_timeout = '1s'"))
                connection.execute(sa.text(statement))
                connection.execute(sa.text("RESET lock_timeout"))
                return
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != "55P03" or not tries_left:
                raise
        time.sleep(1)
