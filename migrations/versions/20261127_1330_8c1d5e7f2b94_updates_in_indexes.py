"""Note a service for the indexes also when only `updated_at` changes, by which they filter.

Services need no note: an index of the layout before is built again.
"""

from alembic import op

revision = "8c1d5e7f2b94"
down_revision = "6d1f9a3c5b82"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _notice("listing_hash", "hidden", "updated_at")


def downgrade() -> None:
    _notice("listing_hash", "hidden")


def _notice(*columns: str) -> None:
    """Have changes of these columns noted."""
    has_changed = " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in columns)
    op.execute("DROP TRIGGER note_search_dirty_change ON services")
    op.execute(
        f"CREATE TRIGGER note_search_dirty_change AFTER UPDATE OF {', '.join(columns)} ON services"
        f" FOR EACH ROW WHEN ({has_changed}) EXECUTE FUNCTION note_search_dirty()"
    )
