"""The schema's version: bring a database up to date, or say clearly that it is not."""

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import create_engine, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import NullPool

import registry
from registry.store.engine import sqlalchemy_url
from registry.store.errors import translated

if TYPE_CHECKING:
    from alembic.config import Config

# Beside the package, in a checkout as in an installed wheel.
MIGRATIONS: Final = Path(registry.__file__).parent.parent / "migrations"
FILE_TEMPLATE: Final = "%%(year)d%%(month).2d%%(day).2d_%%(hour).2d%%(minute).2d_%%(rev)s_%%(slug)s"
UPGRADE_LOCK: Final = 0x77617970  # one upgrade at a time, whatever the number of starting processes

_REVISION = re.compile(r"""^(revision|down_revision) = (?:["'](\w+)["']|None)$""", re.MULTILINE)


class SchemaOutdated(RuntimeError):
    """The database does not have the schema of this program. `found` is None for an empty database."""

    def __init__(self, found: str | None, expected: str, *, unknown: bool) -> None:
        if unknown:
            says = f"the database has schema {found}, which is newer than this program: upgrade waypost"
        else:
            says = f"the database has {f'schema {found}' if found else 'no schema'}, {expected} is needed: "
            says += "run `waypost migrate`"
        super().__init__(says)
        self.found = found
        self.expected = expected


def make_config(url: str | None = None) -> "Config":
    """Alembic's configuration; there is no ini file to find. `url` is needed by commands that reach the database."""
    from alembic.config import Config  # takes 13 MB; a worker or a server has no use for it beyond this module

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.set_main_option("file_template", FILE_TEMPLATE)
    config.set_main_option("timezone", "UTC")
    if url is not None:
        config.attributes["url"] = sqlalchemy_url(url)
    return config


@functools.cache  # `/readyz` asks again and again
def revisions() -> tuple[str, ...]:
    """All of this program, the first one first. They stand in one line; their files are read, not run."""
    files = (dict(_REVISION.findall(file.read_text())) for file in (MIGRATIONS / "versions").glob("*.py"))
    after = {found["down_revision"]: found["revision"] for found in files}
    line: list[str] = []
    while (following := after.get(line[-1] if line else "")) is not None:
        line.append(following)
    if not line or len(line) != len(after):
        raise RuntimeError(f"no line of migrations in {MIGRATIONS}")
    return tuple(line)


def current_head() -> str:
    """The revision that this program needs."""
    return revisions()[-1]


def upgrade(url: str) -> None:
    """Brings the database of `url` to `current_head()`. Several processes may do it at once: they wait in line.

    Raises BadDatabaseUrl, StoreUnavailable.
    """
    from alembic import command

    config = make_config(url)
    engine = create_engine(sqlalchemy_url(url), poolclass=NullPool)
    with translated(), engine.connect() as lock:
        lock.execute(text("SELECT pg_advisory_lock(:key)"), {"key": UPGRADE_LOCK})
        lock.commit()  # the lock is the session's; an open transaction would hold back vacuum meanwhile
        command.upgrade(config, "head")


async def check_schema(engine: AsyncEngine) -> None:
    """Raises SchemaOutdated unless the database has exactly the schema of this program, and StoreUnavailable."""
    expected = current_head()
    with translated():
        async with engine.connect() as connection:
            try:
                found = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalar()
            except ProgrammingError:  # the table is not there
                found = None
    if found != expected:
        raise SchemaOutdated(found, expected, unknown=found is not None and found not in revisions())
