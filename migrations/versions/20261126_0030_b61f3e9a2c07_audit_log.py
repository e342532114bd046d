"""The audit log; a trigger refuses changes to its rows."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "b61f3e9a2c07"
down_revision = "7c88b2f1e0a3"
branch_labels = None
depends_on = None

_REFUSE = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME;
END $$
"""

_TRIGGER = """
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit
FOR EACH ROW EXECUTE FUNCTION refuse_change()
"""


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("detail", postgresql.JSONB(none_as_null=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_host_id"), "audit", ["host", "id"], unique=False)
    op.execute(_REFUSE)
    op.execute(_TRIGGER)


def downgrade() -> None:
    op.drop_table("audit")
    op.execute("DROP FUNCTION refuse_change()")
