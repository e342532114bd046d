"""Feedback of clients about answers."""

import sqlalchemy as sa
from alembic import op

revision = "7d2f4b9c6e15"
down_revision = "5e9c1a7d3f48"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "feedback",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("capability", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=True),
        sa.Column("q", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "id", name=op.f("pk_feedback")),
    )
    op.create_index("ix_feedback_client", "feedback", ["client"], postgresql_where=sa.text("client IS NOT NULL"))


def downgrade() -> None:
    op.drop_table("feedback")
