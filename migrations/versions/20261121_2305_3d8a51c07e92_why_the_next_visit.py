"""Store the reason for the time of a host's next visit."""

import sqlalchemy as sa
from alembic import op

revision = "3d8a51c07e92"
down_revision = "6b1f0c2d9a47"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("hosts", sa.Column("next_visit_why", sa.Text(), server_default="new", nullable=False))
    # The reason is unknown for hosts visited before this column existed: assume the policy.
    op.execute("UPDATE hosts SET next_visit_why = 'policy' WHERE last_visit_at IS NOT NULL")


def downgrade() -> None:
    op.drop_column("hosts", "next_visit_why")
