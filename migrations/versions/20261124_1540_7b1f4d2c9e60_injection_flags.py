"""The patterns of prompt injection found in the documents of a service, as codes of rules; empty until rescored."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "7b1f4d2c9e60"
down_revision = "9b3f27d4e6a1"
branch_labels = None
depends_on = None


def upgrade() -> None:
    flags = sa.Column("injection_flags", postgresql.ARRAY(sa.Text()), nullable=False, server_default="{}")
    op.add_column("services", flags)


def downgrade() -> None:
    op.drop_column("services", "injection_flags")
