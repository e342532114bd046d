"""Why a check of a claim ended as it did, and test messages that owners request."""

import sqlalchemy as sa
from alembic import op

revision = "c4a81f27d0be"
down_revision = "3b9e6a1f72c4"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("claims", sa.Column("reason", sa.Text(), server_default=sa.text("''"), nullable=False))
    op.add_column("webhooks", sa.Column("test_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("webhooks", "test_at")
    op.drop_column("claims", "reason")
