"""Checks of sites on request, whose results only their askers see."""

import sqlalchemy as sa
from alembic import op

revision = "3b9e6a1f72c4"
down_revision = "3b8e6f1a2d94"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "site_checks",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("domain", "host", "id", name=op.f("pk_site_checks")),
    )
    op.create_index(op.f("ix_site_checks_id"), "site_checks", ["id"])
    op.create_index("ix_site_checks_client", "site_checks", ["client"])
    op.create_index(
        "ix_site_checks_waiting", "site_checks", ["created_at"], postgresql_where=sa.text("checked_at IS NULL")
    )


def downgrade() -> None:
    op.drop_table("site_checks")
