"""Examples of calls, made when a service is recorded."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "7a1f4c83e6d2"
down_revision = "4d0b8e72c9f1"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("capabilities", sa.Column("example", postgresql.JSONB(none_as_null=True), nullable=True))


def downgrade() -> None:
    op.drop_column("capabilities", "example")
