"""Upgrades the schema of a database, or reports clearly that it is outdated."""

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import create_engine, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import NullPool

import registry
from registry.store.engine import sqlalchemy_url, translated

if TYPE_CHECKING:
    from alembic.config import Config

# Beside the package, both in a checkout and in an installed wheel.
MIGRATIONS: Final = Path(registry.__file__).parent.parent / "migrations"
FILE_TEMPLATE: Final = "%%(year)d%%(month).2d%%(day).2d_%%(hour).2d%%(minute).2d_%%(rev)s_%%(slug)s"
UPGRADE_LOCK: Final = 0x77617970  # one upgrade at a time, for any number of starting processes

_REVISION = re.compile(r"""^(revision|down_revision) = (?:["'](\w+)["']|None)$""", re.MULTILINE)


class OutdatedSchema(RuntimeError):
    """The database lacks the schema of this program. `found`: its revision; None for an empty database. `is_newer`: of
    a revision that this program does not know."""

    def __init__(self, found: str | None, expected: str, *, unknown: bool) -> None:
        if unknown:
            message = f"the database has schema {found}, which is newer than this program: upgrade waypost"
        else:
            message = f"the database has {f'schema {found}' if found else 'no schema'}, {expected} is needed: "
            message += "run `waypost migrate`"
        super().__init__(message)
        self.found = found
        self.expected = expected
        self.is_newer = unknown


def make_config(url: str | None = None) -> "Config":
    """Return Alembic's configuration; there is no ini file. Commands that connect to the database need `url`."""
    from alembic.config import Config  # takes 13 MB, which a worker or a server does not need

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.set_main_option("file_template", FILE_TEMPLATE)
    config.set_main_option("timezone", "UTC")
    if url is not None:
        config.attributes["url"] = sqlalchemy_url(url)
    return config


@functools.cache  # `/readyz` calls it on every request
def revisions() -> tuple[str, ...]:
    """Return all revisions of this program, oldest first, in one line. Read their files; do not run them."""
    files = (dict(_REVISION.findall(file.read_text())) for file in (MIGRATIONS / "versions").glob("*.py"))
    next_revision = {fields["down_revision"]: fields["revision"] for fields in files}
    ordered: list[str] = []
    while (revision := next_revision.get(ordered[-1] if ordered else "")) is not None:
        ordered.append(revision)
    if not ordered or len(ordered) != len(next_revision):
        raise RuntimeError(f"no line of migrations in {MIGRATIONS}")
    return tuple(ordered)


def current_head() -> str:
    """Return the revision that this program needs."""
    return revisions()[-1]


def upgrade(url: str) -> None:
    """Upgrade the database of `url`, which keeps sessions, to `current_head()`. Concurrent calls of several processes
    run one after the other. Raise BadDatabaseUrl, StoreUnavailable; OutdatedSchema if it has a newer schema."""
    from alembic import command
    from alembic.migration import MigrationContext

    config = make_config(url)
    engine = create_engine(sqlalchemy_url(url), poolclass=NullPool)
    with translated(), engine.connect() as lock:
        lock.execute(text("SELECT pg_advisory_lock(:key)"), {"key": UPGRADE_LOCK})
        found = MigrationContext.configure(lock).get_current_revision()
        if found not in (None, *revisions()):
            raise OutdatedSchema(found, current_head(), unknown=True)
        lock.commit()  # the lock belongs to the session; an open transaction would hold back vacuum meanwhile
        command.upgrade(config, "head")


async def check_schema(engine: AsyncEngine) -> None:
    """Raise OutdatedSchema unless the database has exactly the schema of this program; raise StoreUnavailable."""
    expected = current_head()
    with translated():
        async with engine.connect() as connection:
            try:
                found = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalar()
            except ProgrammingError:  # the table does not exist
                found = None
    if found != expected:
        raise OutdatedSchema(found, expected, unknown=found is not None and found not in revisions())
