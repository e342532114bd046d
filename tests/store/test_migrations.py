"""The schema: migrations build what the tables define, and an outdated or newer schema is refused."""

import psycopg
import pytest
from alembic import command
from alembic.script import ScriptDirectory

from registry.store.engine import libpq, make_engine, sqlalchemy_url
from registry.store.migrate import (
    MIGRATIONS,
    OutdatedSchema,
    check_schema,
    current_head,
    make_config,
    revisions,
    upgrade,
)

RELEASED = "5f0c7d92e4b1"
"""The newest revision of the latest release, or of the commit that its tag will name."""

CONTRACTS = ("op.drop_", "DROP ", "RENAME ", "op.rename_", "SET NOT NULL", "op.alter_column")


async def test_an_upgraded_database_matches_the_tables(database_url: str) -> None:
    command.check(make_config(database_url))
    engine = make_engine(database_url)
    await check_schema(engine)
    await engine.dispose()


def test_check_notices_a_difference(database_url: str) -> None:
    with psycopg.connect(libpq(sqlalchemy_url(database_url))) as connection:
        connection.execute("ALTER TABLE hosts DROP COLUMN referrer")
    with pytest.raises(Exception, match="referrer"):
        command.check(make_config(database_url))


def test_revisions_are_those_that_alembic_finds() -> None:
    scripts = ScriptDirectory.from_config(make_config()).walk_revisions()
    assert [script.revision for script in scripts] == list(reversed(revisions()))


async def test_empty_database_is_refused_with_the_remedy(empty_database_url: str) -> None:
    engine = make_engine(empty_database_url)
    with pytest.raises(OutdatedSchema, match=r"no schema.*waypost migrate") as refused:
        await check_schema(engine)
    assert (refused.value.found, refused.value.expected) == (None, current_head())
    await engine.dispose()


async def test_newer_database_is_refused(empty_database_url: str) -> None:
    upgrade(empty_database_url)
    with psycopg.connect(libpq(sqlalchemy_url(empty_database_url))) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'ffffffffffff'")
    engine = make_engine(empty_database_url)
    with pytest.raises(OutdatedSchema, match="newer than this program"):
        await check_schema(engine)
    with pytest.raises(OutdatedSchema, match="newer than this program"):
        upgrade(empty_database_url)
    await engine.dispose()


def test_upgrade_can_be_repeated_and_undone(empty_database_url: str) -> None:
    upgrade(empty_database_url)
    upgrade(empty_database_url)
    command.downgrade(make_config(empty_database_url), "base")
    with psycopg.connect(libpq(sqlalchemy_url(empty_database_url))) as connection:
        relations = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S')"
        ).fetchall()
    assert relations == [("alembic_version",)]
    upgrade(empty_database_url)


def test_migrations_since_the_release_only_expand() -> None:
    """The program of the release goes on beside the new schema (docs/operations.md, "Versions and releases").

    A minor version may remove what the one before no longer used: it then raises RELEASED first.
    """
    since = revisions()[revisions().index(RELEASED) + 1 :]
    found = {}
    for revision in since:
        (file,) = (MIGRATIONS / "versions").glob(f"*_{revision}_*.py")
        up = file.read_text().partition("def upgrade")[2].partition("def downgrade")[0]
        found[file.name] = [word for word in CONTRACTS if word in up]
    assert {name: words for name, words in found.items() if words} == {}
