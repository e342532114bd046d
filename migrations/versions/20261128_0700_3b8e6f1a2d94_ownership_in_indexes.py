"""Note the services of a host or domain for the indexes when its ownership is proven or ends: they filter by it.

Services need no note now: an index of the layout before is built again.
"""

from alembic import op

revision = "3b8e6f1a2d94"
down_revision = "7d2f4b9c6e15"
branch_labels = None
depends_on = None

# The rows are written in the order of their key, so that two writers lock them in the same order.
_NOTE = """
CREATE FUNCTION note_owner_dirty() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    claim claims := coalesce(NEW, OLD);
BEGIN
    INSERT INTO search_dirty (target, host, domain, version, noted_at)
    SELECT t.target, s.host, s.domain, nextval('search_dirty_versions'), clock_timestamp()
    FROM search_target t, services s
    WHERE s.domain = claim.domain AND (claim.scope = 'domain' OR s.host = claim.host)
    ORDER BY t.target, s.host
    ON CONFLICT (target, host) DO UPDATE SET version = nextval('search_dirty_versions');
    RETURN NULL;
END $$
"""
_IS_PROVEN = "({row}.proven_at IS NOT NULL AND {row}.ended_at IS NULL)"
_NEW, _OLD = (_IS_PROVEN.format(row=row) for row in ("NEW", "OLD"))
_TRIGGERS = {
    "note_owner_added": f"INSERT ON claims FOR EACH ROW WHEN {_NEW}",
    "note_owner_changed": f"UPDATE OF proven_at, ended_at ON claims FOR EACH ROW WHEN ({_OLD} IS DISTINCT FROM {_NEW})",
    "note_owner_removed": f"DELETE ON claims FOR EACH ROW WHEN {_OLD}",
}


def upgrade() -> None:
    op.execute(_NOTE)
    for name, when in _TRIGGERS.items():
        op.execute(f"CREATE TRIGGER {name} AFTER {when} EXECUTE FUNCTION note_owner_dirty()")


def downgrade() -> None:
    for name in _TRIGGERS:
        op.execute(f"DROP TRIGGER {name} ON claims")
    op.execute("DROP FUNCTION note_owner_dirty()")
