"""The ownership that covers a receiver, and the challenges that were sent in the last day."""

import sqlalchemy as sa
from alembic import op

revision = "7f3a9c15e0d2"
down_revision = "7be1f04c93d2"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("claim", sa.Text(), nullable=True))
    op.create_table(
        "webhook_challenges",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "id", name=op.f("pk_webhook_challenges")),
    )


def downgrade() -> None:
    op.drop_table("webhook_challenges")
    op.drop_column("webhooks", "claim")
