"""Reports that are counted without being stored."""

import sqlalchemy as sa
from alembic import op

revision = "4d0b8e72c9f1"
down_revision = "2c7e95b0d4a1"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("reports", sa.Column("further_filings", sa.Integer(), server_default=sa.text("0"), nullable=False))


def downgrade() -> None:
    op.drop_column("reports", "further_filings")
