"""Figures of the registry, one row a day."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "3b8e5d1f7a26"
down_revision = "c4a81f27d0be"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "daily_figures",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("figures", JSONB(none_as_null=True), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_daily_figures")),
    )


def downgrade() -> None:
    op.drop_table("daily_figures")
