"""Looks at the database of the settings before anything of the registry is opened."""

import asyncio
from typing import Final

from registry.settings import Settings
from registry.store import migrate
from registry.store.diagnosis import DatabaseFacts as DatabaseFacts  # interfaces name it
from registry.store.diagnosis import examine
from registry.wiring import utc_now
from registry.wiring.embedded_database import database_url

OLDEST_SERVER: Final = 15


async def examine_database(settings: Settings) -> DatabaseFacts:
    """Return facts about the database; an embedded one is started. Raise BadDatabaseUrl or one of NOT_READY."""
    url, release = await asyncio.to_thread(database_url, settings)
    try:
        return await examine(url, utc_now, settings.session_url)
    finally:
        release()


def schema_fault(found: str | None) -> str | None:
    """Return what is wrong with the schema of a database, and the remedy; None if it is the one of this program."""
    expected = migrate.current_head()
    if found == expected:
        return None
    return str(migrate.OutdatedSchema(found, expected, unknown=found is not None and found not in migrate.revisions()))
