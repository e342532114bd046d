"""Opt-out requests: which client made an open one, and until when a worker has claimed it."""

import sqlalchemy as sa
from alembic import op

revision = "9d3c5b1e7f42"
down_revision = "e41d7c9a2b58"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("opt_out_requests", sa.Column("client", sa.Text(), nullable=True))
    op.add_column("opt_out_requests", sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        "ix_opt_out_requests_client",
        "opt_out_requests",
        ["client", "asked_at"],
        unique=False,
        postgresql_where=sa.text("checked_at IS NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_opt_out_requests_client", table_name="opt_out_requests")
    op.drop_column("opt_out_requests", "claimed_until")
    op.drop_column("opt_out_requests", "client")
