"""Requests per address block and day, and requests to check opt-outs."""

import sqlalchemy as sa
from alembic import op

revision = "7e02b9d41c63"
down_revision = "c41e7a90d5b8"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "block_days",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("block", sa.Text(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", "block", name=op.f("pk_block_days")),
    )
    op.create_table(
        "opt_out_requests",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("wish", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("domain", "host", name=op.f("pk_opt_out_requests")),
    )
    op.create_index(
        "ix_opt_out_requests_open",
        "opt_out_requests",
        ["asked_at"],
        unique=False,
        postgresql_where=sa.text("checked_at IS NULL"),
    )


def downgrade() -> None:
    op.drop_table("opt_out_requests")
    op.drop_table("block_days")
