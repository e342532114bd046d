"""Why the trust level of a service is not higher, and the well-known name that it uses; null until it is recorded."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "9b3f27d4e6a1"
down_revision = "9d3c5b1e7f42"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("services", sa.Column("trust", JSONB(none_as_null=True), nullable=True))


def downgrade() -> None:
    op.drop_column("services", "trust")
