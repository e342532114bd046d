"""Runs migrations on the database that `registry.store.migrate` names; there is no offline mode."""

from alembic import context
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from registry.store.tables import Base


def _is_compared(name: str | None, kind: str, parents: object) -> bool:
    """Return False for partitions, which come and go (registry/store/visit_months.py)."""
    return kind != "table" or name is None or not name.startswith("visits_")


engine = create_engine(context.config.attributes["url"], poolclass=NullPool)
with engine.connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        compare_server_default=True,
        include_name=_is_compared,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()
