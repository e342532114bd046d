"""The first tables, and the triggers that note which services each search index must index again."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "6b1f0c2d9a47"
down_revision = None
branch_labels = None
depends_on = None


# A trigger notes every write to a service for every index, so that no code path can forget it. An update counts only
# when it changes what the index shows, so that a visit without change costs nothing.
NOTE_SERVICE = """
CREATE FUNCTION note_search_dirty() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO search_dirty (target, host, domain, version, noted_at)
    SELECT target, coalesce(NEW.host, OLD.host), coalesce(NEW.domain, OLD.domain),
           nextval('search_dirty_versions'), clock_timestamp()
    FROM search_target
    ORDER BY target
    ON CONFLICT (target, host) DO UPDATE SET version = nextval('search_dirty_versions');
    RETURN NULL;
END $$
"""
TRIGGERS = (
    """
    CREATE TRIGGER note_search_dirty AFTER INSERT OR DELETE ON services
    FOR EACH ROW EXECUTE FUNCTION note_search_dirty()
    """,
    """
    CREATE TRIGGER note_search_dirty_change AFTER UPDATE OF listing_hash, hidden ON services
    FOR EACH ROW WHEN (OLD.listing_hash IS DISTINCT FROM NEW.listing_hash OR OLD.hidden IS DISTINCT FROM NEW.hidden)
    EXECUTE FUNCTION note_search_dirty()
    """,
)


def upgrade() -> None:
    op.execute("CREATE SEQUENCE search_dirty_versions AS bigint")
    op.create_table(
        "bodies",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("sha256", postgresql.BYTEA(), nullable=False),
        sa.Column("body", postgresql.BYTEA(), nullable=False),
        sa.PrimaryKeyConstraint("domain", "sha256", name=op.f("pk_bodies")),
    )
    op.create_table(
        "candidates",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("referrer", sa.Text(), nullable=False),
        sa.Column("rel", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("folded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("domain", "host", "referrer", "rel", name=op.f("pk_candidates")),
    )
    op.create_index(
        "ix_candidates_open", "candidates", ["created_at"], unique=False, postgresql_where=sa.text("folded_at IS NULL")
    )
    op.create_table(
        "capabilities",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("data", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("detail", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.PrimaryKeyConstraint("domain", "host", "name", name=op.f("pk_capabilities")),
    )
    op.create_table(
        "changes",
        sa.Column("id", sa.UUID(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("data", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_changes")),
    )
    op.create_index(op.f("ix_changes_domain_host_id"), "changes", ["domain", "host", "id"], unique=False)
    op.create_table(
        "document_history",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("url_hash", postgresql.BYTEA(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=True),
        sa.Column("dialect", sa.Text(), nullable=True),
        sa.Column("status", sa.SmallInteger(), nullable=True),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", postgresql.BYTEA(), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "url_hash", "changed_at", name=op.f("pk_document_history")),
    )
    op.create_table(
        "documents",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("url_hash", postgresql.BYTEA(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("final_url", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("format", sa.Text(), nullable=True),
        sa.Column("dialect", sa.Text(), nullable=True),
        sa.Column("status", sa.SmallInteger(), nullable=True),
        sa.Column("media_type", sa.Text(), nullable=True),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("last_modified", sa.Text(), nullable=True),
        sa.Column("headers", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", postgresql.BYTEA(), nullable=False),
        sa.Column("has_body", sa.Boolean(), nullable=False),
        sa.Column("via", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("alias_of", sa.Text(), nullable=True),
        sa.Column("findings", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("rubric_version", sa.Text(), nullable=False),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("missed_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("domain", "host", "url_hash", name=op.f("pk_documents")),
    )
    op.create_table(
        "domains",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("next_visit_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_token", sa.UUID(), nullable=True),
        sa.Column("lease_holder", sa.Integer(), nullable=True),
        sa.Column("attempts", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("domain", name=op.f("pk_domains")),
        postgresql_with={"fillfactor": "80", "autovacuum_vacuum_scale_factor": "0.02"},
    )
    op.create_index(
        "ix_domains_leased",
        "domains",
        ["lease_holder"],
        unique=False,
        postgresql_where=sa.text("lease_token IS NOT NULL"),
    )
    op.create_index(op.f("ix_domains_next_visit_at"), "domains", ["next_visit_at"], unique=False)
    op.create_table(
        "findings",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.SmallInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=True),
        sa.Column("pointer", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "ordinal", name=op.f("pk_findings")),
    )
    op.create_table(
        "hosts",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("next_visit_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("referrer", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("streak", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("interval_s", sa.Integer(), nullable=True),
        sa.Column("soft_failures", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("first_failure_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_visit_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_found_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_changed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("whole_plan_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("alias_of", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("response_ms", sa.Integer(), nullable=True),
        sa.Column("robots_status", sa.SmallInteger(), nullable=True),
        sa.Column("robots_body", postgresql.BYTEA(), nullable=True),
        sa.Column("robots_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "pending",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            server_default=sa.text("'[]'"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("domain", "host", name=op.f("pk_hosts")),
        postgresql_with={"fillfactor": "80", "autovacuum_vacuum_scale_factor": "0.02"},
    )
    op.create_index("ix_hosts_outcome", "hosts", ["outcome"], unique=False)
    op.create_table(
        "opt_outs",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("how", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", name=op.f("pk_opt_outs")),
    )
    op.create_table(
        "scores",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("scored_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("value", sa.SmallInteger(), nullable=False),
        sa.Column("rubric_version", sa.Text(), nullable=False),
        sa.Column("breakdown", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "scored_at", name=op.f("pk_scores")),
    )
    op.create_table(
        "search_dirty",
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("noted_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("target", "host", name=op.f("pk_search_dirty")),
    )
    op.create_table(
        "search_target",
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("target", name=op.f("pk_search_target")),
    )
    op.create_table(
        "services",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("base_url", sa.Text(), nullable=False),
        sa.Column("well_known_url", sa.Text(), nullable=False),
        sa.Column("trust_level", sa.Text(), nullable=False),
        sa.Column("score", sa.SmallInteger(), nullable=False),
        sa.Column("auth_type", sa.Text(), nullable=False),
        sa.Column("pricing_type", sa.Text(), nullable=False),
        sa.Column("formats", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("protocols", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("cap_count", sa.SmallInteger(), nullable=False),
        sa.Column("hidden", sa.Boolean(), nullable=False),
        sa.Column("crawl_failures", sa.SmallInteger(), nullable=False),
        sa.Column("model", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("listing", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.Column("listing_hash", postgresql.BYTEA(), nullable=False),
        sa.Column("rubric_version", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", name=op.f("pk_services")),
    )
    op.create_index(
        "ix_services_best",
        "services",
        [sa.literal_column("score DESC"), "host"],
        unique=False,
        postgresql_where=sa.text("NOT hidden"),
    )
    op.create_index(
        "ix_services_newest",
        "services",
        [sa.literal_column("created_at DESC"), "host"],
        unique=False,
        postgresql_where=sa.text("NOT hidden"),
    )
    op.create_table(
        "visits",
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("whole_plan", sa.Boolean(), nullable=False),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("vector", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("domain", "host", "started_at", name=op.f("pk_visits")),
    )
    op.execute(NOTE_SERVICE)
    for trigger in TRIGGERS:
        op.execute(trigger)


def downgrade() -> None:
    op.execute("DROP TRIGGER note_search_dirty ON services")
    op.execute("DROP TRIGGER note_search_dirty_change ON services")
    op.execute("DROP FUNCTION note_search_dirty")
    op.drop_table("visits")
    op.drop_index("ix_services_newest", table_name="services", postgresql_where=sa.text("NOT hidden"))
    op.drop_index("ix_services_best", table_name="services", postgresql_where=sa.text("NOT hidden"))
    op.drop_table("services")
    op.drop_table("search_target")
    op.drop_table("search_dirty")
    op.drop_table("scores")
    op.drop_table("opt_outs")
    op.drop_index("ix_hosts_outcome", table_name="hosts")
    op.drop_table("hosts")
    op.drop_table("findings")
    op.drop_index(op.f("ix_domains_next_visit_at"), table_name="domains")
    op.drop_index("ix_domains_leased", table_name="domains", postgresql_where=sa.text("lease_token IS NOT NULL"))
    op.drop_table("domains")
    op.drop_table("documents")
    op.drop_table("document_history")
    op.drop_index(op.f("ix_changes_domain_host_id"), table_name="changes")
    op.drop_table("changes")
    op.drop_table("capabilities")
    op.drop_index("ix_candidates_open", table_name="candidates", postgresql_where=sa.text("folded_at IS NULL"))
    op.drop_table("candidates")
    op.drop_table("bodies")
    op.execute("DROP SEQUENCE search_dirty_versions")
