"""Sent requests and budget share of each visit, and the last day's submissions by client."""

import sqlalchemy as sa
from alembic import op

revision = "4b7d20f9c6e1"
down_revision = "e41d7c9a2b58"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # NULL in rows of earlier programs, whose planned requests count against the whole budget.
    op.add_column("visits", sa.Column("sent", sa.Integer(), nullable=True))
    op.add_column("visits", sa.Column("standing", sa.SmallInteger(), nullable=True))
    op.add_column("hosts", sa.Column("turn", sa.SmallInteger(), server_default=sa.text("0"), nullable=False))
    op.create_table(
        "submissions",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("resolved", sa.Boolean(), nullable=True),
        sa.PrimaryKeyConstraint("domain", "host", "asked_at", name=op.f("pk_submissions")),
    )
    op.create_index(op.f("ix_submissions_client_asked_at"), "submissions", ["client", "asked_at"])
    op.create_index(op.f("ix_submissions_asked_at"), "submissions", ["asked_at"])


def downgrade() -> None:
    op.drop_table("submissions")
    op.drop_column("hosts", "turn")
    op.drop_column("visits", "standing")
    op.drop_column("visits", "sent")
