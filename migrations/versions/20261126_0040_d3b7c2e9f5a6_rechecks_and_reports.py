"""Places in the queue of visits, lists of submitted hosts, repeated visits, and reports."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "d3b7c2e9f5a6"
down_revision = "b61f3e9a2c07"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "turns",
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("due", sa.DateTime(timezone=True), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("client", name=op.f("pk_turns")),
    )
    op.create_index(op.f("ix_turns_asked_at"), "turns", ["asked_at"])
    op.create_table(
        "submission_lists",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("done_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("client", sa.Text(), nullable=True),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("body_sha256", postgresql.BYTEA(), nullable=False),
        sa.Column("refused", postgresql.JSONB(none_as_null=True), server_default=sa.text("'[]'"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submission_lists")),
    )
    op.create_index(
        "ix_submission_lists_key", "submission_lists", ["client", "key"], unique=True,
        postgresql_where=sa.text("client IS NOT NULL"),
    )  # fmt: skip
    op.create_index(op.f("ix_submission_lists_asked_at"), "submission_lists", ["asked_at"])
    op.create_table(
        "submitted_hosts",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("list", sa.UUID(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "list", name=op.f("pk_submitted_hosts")),
    )
    op.create_index(op.f("ix_submitted_hosts_list_index"), "submitted_hosts", ["list", "index"])
    op.create_table(
        "rechecks",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("client", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("domain", "host", "asked_at", name=op.f("pk_rechecks")),
    )
    op.create_index(op.f("ix_rechecks_client_asked_at"), "rechecks", ["client", "asked_at"])
    op.create_index(op.f("ix_rechecks_asked_at"), "rechecks", ["asked_at"])
    op.create_table(
        "reports",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("filed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "id", name=op.f("pk_reports")),
    )
    op.create_index(
        "ix_reports_open", "reports", ["id"], postgresql_where=sa.text("state IN ('open', 'in_review')")
    )  # fmt: skip
    op.create_table(
        "report_filings",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("digest", postgresql.BYTEA(), nullable=False),
        sa.Column("report", sa.UUID(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=True),
        sa.Column("filed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "id", name=op.f("pk_report_filings")),
    )
    op.create_index(op.f("ix_report_filings_id"), "report_filings", ["id"], unique=True)
    op.create_index(op.f("ix_report_filings_domain_host_report"), "report_filings", ["domain", "host", "report"])
    op.create_index(
        "ix_report_filings_client", "report_filings", ["filed_at"], postgresql_where=sa.text("client IS NOT NULL")
    )


def downgrade() -> None:
    for table in ("report_filings", "reports", "rechecks", "submitted_hosts", "submission_lists", "turns"):
        op.drop_table(table)
