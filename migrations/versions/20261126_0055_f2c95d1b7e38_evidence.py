"""How documents were fetched, and the dates of capabilities and trust."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "f2c95d1b7e38"
down_revision = "e8a14c6d9b20"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("documents", sa.Column("transport", postgresql.JSONB(none_as_null=True), nullable=True))
    op.add_column("services", sa.Column("trust_since", postgresql.JSONB(none_as_null=True), nullable=True))
    op.add_column("capabilities", sa.Column("fingerprint", postgresql.BYTEA(), nullable=True))
    op.add_column("capabilities", sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("capabilities", sa.Column("changed_at", sa.DateTime(timezone=True), nullable=True))
    # The earliest certain time: capabilities were not recorded before it.
    op.execute(
        "UPDATE capabilities c SET first_seen_at = s.seen_at, changed_at = s.seen_at FROM services s"
        " WHERE s.domain = c.domain AND s.host = c.host"
    )


def downgrade() -> None:
    op.drop_column("capabilities", "changed_at")
    op.drop_column("capabilities", "first_seen_at")
    op.drop_column("capabilities", "fingerprint")
    op.drop_column("services", "trust_since")
    op.drop_column("documents", "transport")
