"""Holds on listings."""

import sqlalchemy as sa
from alembic import op

revision = "c5d90e7f1a64"
down_revision = "b61f3e9a2c07"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "listing_holds",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("covers_below", sa.Boolean(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "kind", name=op.f("pk_listing_holds")),
    )


def downgrade() -> None:
    op.drop_table("listing_holds")
