"""Checks of addresses for calls, and the owner's switch for them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "5e9c1a7d3f48"
down_revision = "1d6b8f40a9c3"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "call_checks",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("url_hash", postgresql.BYTEA(), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("answers", sa.Boolean(), nullable=True),
        sa.Column("status", sa.SmallInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "url_hash", "checked_at", name=op.f("pk_call_checks")),
    )
    op.add_column(
        "owner_settings", sa.Column("checks_calls", sa.Boolean(), server_default=sa.text("true"), nullable=False)
    )


def downgrade() -> None:
    op.drop_column("owner_settings", "checks_calls")
    op.drop_table("call_checks")
