"""The change feed gets an order without gaps: places, the order of insertion, and its head.

Rows from before have no place yet: the first runs of the sequencer number them, by their ids.
"""

import sqlalchemy as sa
from alembic import op

revision = "3f0d6a91c2b4"
down_revision = "7b1f4d2c9e60"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE SEQUENCE changes_arrival AS bigint")
    op.add_column("changes", sa.Column("arrival", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("changes", sa.Column("seq", sa.BigInteger(), nullable=True))
    op.add_column("changes", sa.Column("event_id", sa.UUID(), nullable=True))
    op.create_index(op.f("ix_changes_seq"), "changes", ["seq"], unique=True)
    op.create_index(
        "ix_changes_unsequenced", "changes", ["arrival", "id"], unique=False, postgresql_where=sa.text("seq IS NULL")
    )
    op.create_table(
        "feed_head",
        sa.Column("key", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("mark", sa.Text(), nullable=False),
        sa.Column("latest_seq", sa.BigInteger(), nullable=False),
        sa.Column("latest_id", sa.UUID(), nullable=False),
        sa.Column("latest_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("pruned_seq", sa.BigInteger(), nullable=False),
        sa.Column("pruned_id", sa.UUID(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_feed_head")),
    )


def downgrade() -> None:
    op.drop_table("feed_head")
    op.drop_index("ix_changes_unsequenced", table_name="changes", postgresql_where=sa.text("seq IS NULL"))
    op.drop_index(op.f("ix_changes_seq"), table_name="changes")
    op.drop_column("changes", "event_id")
    op.drop_column("changes", "seq")
    op.drop_column("changes", "arrival")
    op.execute("DROP SEQUENCE changes_arrival")
