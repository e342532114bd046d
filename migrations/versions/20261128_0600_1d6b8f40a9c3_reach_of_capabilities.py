"""Whether and where a capability can be called, written when a service is recorded, and by an upkeep chore for others."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "1d6b8f40a9c3"
down_revision = "8c1d5e7f2b94"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("capabilities", sa.Column("reach", postgresql.JSONB(none_as_null=True), nullable=True))
    missing = sa.text("reach IS NULL")
    op.create_index("ix_capabilities_unreached", "capabilities", ["domain", "host"], postgresql_where=missing)


def downgrade() -> None:
    op.drop_index("ix_capabilities_unreached", "capabilities")
    op.drop_column("capabilities", "reach")
