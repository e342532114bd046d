"""The trust of a service may depend on listings, names and owners elsewhere.

So each change of that is noted, for the services that depend on it to be judged again. A note is a row of its own:
writers never wait for each other.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "6d1f9a3c5b82"
down_revision = "7f3a9c15e0d2"
branch_labels = None
depends_on = None

# The names are those of registry/core/merging/speaking.py: a host, `*.` and `@` before a domain.
_NOTE_SERVICE = """
CREATE FUNCTION note_trust_of_service() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO trust_causes (names)
    VALUES (ARRAY[coalesce(NEW.host, OLD.host), '*.' || coalesce(NEW.domain, OLD.domain)]);
    RETURN NULL;
END $$
"""
_NOTE_CLAIM = """
CREATE FUNCTION note_trust_of_claim() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    claim claims := coalesce(NEW, OLD);
BEGIN
    INSERT INTO trust_causes (names)
    VALUES (ARRAY[CASE WHEN claim.scope = 'domain' THEN '@' || claim.domain ELSE claim.host END]);
    RETURN NULL;
END $$
"""
_TRIGGERS = {
    ("services", "note_trust_listed"): "INSERT ON services FOR EACH ROW",
    ("services", "note_trust_delisted"): "DELETE ON services FOR EACH ROW",
    (
        "services",
        "note_trust_changed",
    ): "UPDATE OF domain, hidden, named_hosts, trust_depends_on ON services FOR EACH ROW"
    " WHEN ((OLD.domain, OLD.hidden, OLD.named_hosts, OLD.trust_depends_on) IS DISTINCT FROM"
    " (NEW.domain, NEW.hidden, NEW.named_hosts, NEW.trust_depends_on))",
    ("claims", "note_trust_proven"): "INSERT ON claims FOR EACH ROW WHEN (NEW.proven_at IS NOT NULL)",
    ("claims", "note_trust_of_owner"): "UPDATE OF proven_at, ended_at ON claims FOR EACH ROW"
    " WHEN ((OLD.proven_at, OLD.ended_at) IS DISTINCT FROM (NEW.proven_at, NEW.ended_at))",
    ("claims", "note_trust_unowned"): "DELETE ON claims FOR EACH ROW WHEN (OLD.proven_at IS NOT NULL)",
}


def upgrade() -> None:
    for name in ("trust_depends_on", "named_hosts"):
        column = sa.Column(name, postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False)
        op.add_column("services", column)
    op.create_index(
        "ix_services_trust_depends_on", "services", ["trust_depends_on"], unique=False, postgresql_using="gin"
    )
    op.create_table(
        "trust_causes",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("names", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trust_causes")),
    )
    op.execute(_NOTE_SERVICE)
    op.execute(_NOTE_CLAIM)
    for (table, name), when in _TRIGGERS.items():
        function = "note_trust_of_service" if table == "services" else "note_trust_of_claim"
        op.execute(f"CREATE TRIGGER {name} AFTER {when} EXECUTE FUNCTION {function}()")


def downgrade() -> None:
    for table, name in _TRIGGERS:
        op.execute(f"DROP TRIGGER {name} ON {table}")
    op.execute("DROP FUNCTION note_trust_of_service()")
    op.execute("DROP FUNCTION note_trust_of_claim()")
    op.drop_table("trust_causes")
    op.drop_index("ix_services_trust_depends_on", table_name="services", postgresql_using="gin")
    for name in ("named_hosts", "trust_depends_on"):
        op.drop_column("services", name)
