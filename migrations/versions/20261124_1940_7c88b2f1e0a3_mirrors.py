"""A mirror's progress, and the state of each host at its origin."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "7c88b2f1e0a3"
down_revision = "9e41c07b6d52"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "mirror",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("manifest", postgresql.JSONB(none_as_null=True), nullable=True),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("cursor", sa.Text(), nullable=True),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("without_restricted", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("refused", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("behind_s", sa.Integer(), nullable=True),
        sa.Column("contact_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mirror")),
    )
    op.create_table(
        "mirrored",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.Column("robots", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("domain", "host", name=op.f("pk_mirrored")),
    )


def downgrade() -> None:
    op.drop_table("mirrored")
    op.drop_table("mirror")
