"""Store when the paths that a first bulk visit leaves out were last requested from a host."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "5c2e91b7d3f0"
down_revision = "a90f6e1b7c34"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("hosts", sa.Column("asked", JSONB(), server_default=sa.text("'{}'"), nullable=False))


def downgrade() -> None:
    op.drop_column("hosts", "asked")
