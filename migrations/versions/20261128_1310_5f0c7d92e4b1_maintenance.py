"""The message of a registry in maintenance: one row, none otherwise."""

import sqlalchemy as sa
from alembic import op

revision = "5f0c7d92e4b1"
down_revision = "6f2d8b4c1e97"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "maintenance",
        sa.Column("key", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_maintenance")),
    )


def downgrade() -> None:
    op.drop_table("maintenance")
