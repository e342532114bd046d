"""Records of the MCP registry's API; empty until services are recorded again or rescored."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "9e41c07b6d52"
down_revision = "5a17e0c4d9f2"
branch_labels = None
depends_on = None

# Deleting, hiding or moving a service deletes its records. Their replacements, if any, are written afterwards in the
# same transaction.
FUNCTION = """
CREATE FUNCTION delete_mcp_servers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE mcp_servers
    SET status = 'deleted', server = NULL, notes = NULL,
        updated_at = greatest(clock_timestamp(), updated_at),
        status_changed_at = greatest(clock_timestamp(), updated_at)
    WHERE domain = OLD.domain AND host = OLD.host AND status <> 'deleted';
    DELETE FROM mcp_left_out WHERE domain = OLD.domain AND host = OLD.host;
    RETURN NULL;
END $$
"""
TRIGGERS = (
    "CREATE TRIGGER delete_mcp_servers AFTER DELETE ON services FOR EACH ROW EXECUTE FUNCTION delete_mcp_servers()",
    """
    CREATE TRIGGER hide_mcp_servers AFTER UPDATE OF hidden ON services
    FOR EACH ROW WHEN (NEW.hidden AND NOT OLD.hidden) EXECUTE FUNCTION delete_mcp_servers()
    """,
)


def upgrade() -> None:
    op.create_table(
        "mcp_servers",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("version", sa.Text(collation="C"), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("is_latest", sa.Boolean(), nullable=False),
        sa.Column("server", postgresql.JSONB(none_as_null=True), nullable=True),
        sa.Column("notes", postgresql.JSONB(none_as_null=True), nullable=True),
        sa.Column("published_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status_changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "name", "version", name=op.f("pk_mcp_servers")),
    )
    op.create_index("ix_mcp_servers_name", "mcp_servers", ["name", "version"])
    op.create_index("ix_mcp_servers_updated_at", "mcp_servers", ["updated_at"])
    op.create_table(
        "mcp_left_out",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", name=op.f("pk_mcp_left_out")),
    )
    op.execute(FUNCTION)
    for trigger in TRIGGERS:
        op.execute(trigger)


def downgrade() -> None:
    op.execute("DROP TRIGGER hide_mcp_servers ON services")
    op.execute("DROP TRIGGER delete_mcp_servers ON services")
    op.execute("DROP FUNCTION delete_mcp_servers")
    op.drop_table("mcp_left_out")
    op.drop_table("mcp_servers")
