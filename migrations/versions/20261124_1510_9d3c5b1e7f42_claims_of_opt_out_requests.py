"""Opt-out requests: which client made an open one, its place in the queue, and the claim of a worker."""

import sqlalchemy as sa
from alembic import op

revision = "9d3c5b1e7f42"
down_revision = "4b7d20f9c6e1"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("opt_out_requests", sa.Column("client", sa.Text(), nullable=True))
    op.add_column("opt_out_requests", sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True))
    op.add_column("opt_out_requests", sa.Column("round", sa.Integer(), server_default=sa.text("0"), nullable=False))
    for name, columns in (("client", ["client", "round"]), ("round", ["round"])):
        op.create_index(
            f"ix_opt_out_requests_{name}",
            "opt_out_requests",
            columns,
            unique=False,
            postgresql_where=sa.text("checked_at IS NULL"),
        )


def downgrade() -> None:
    op.drop_index("ix_opt_out_requests_round", table_name="opt_out_requests")
    op.drop_index("ix_opt_out_requests_client", table_name="opt_out_requests")
    op.drop_column("opt_out_requests", "round")
    op.drop_column("opt_out_requests", "claimed_until")
    op.drop_column("opt_out_requests", "client")
