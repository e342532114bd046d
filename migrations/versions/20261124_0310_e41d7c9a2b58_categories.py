"""The category of a service, derived from its words when it is recorded or rescored; null until then."""

import sqlalchemy as sa
from alembic import op

revision = "e41d7c9a2b58"
down_revision = "5c2e91b7d3f0"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("services", sa.Column("category", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("services", "category")
