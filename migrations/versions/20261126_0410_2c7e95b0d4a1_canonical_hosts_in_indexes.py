"""Keep hosts with a listed canonical host out of the indexes.

So a change of either host, and of what the owner says, is noted for the indexes.
"""

from alembic import op

revision = "2c7e95b0d4a1"
down_revision = "f2c95d1b7e38"
branch_labels = None
depends_on = None

# The rows are written in the order of their key, so that two writers lock them in the same order.
_NOTE = """
CREATE OR REPLACE FUNCTION note_search_dirty() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed_domain text := coalesce(NEW.domain, OLD.domain);
    changed_host text := coalesce(NEW.host, OLD.host);
BEGIN
    INSERT INTO search_dirty (target, host, domain, version, noted_at)
    SELECT t.target, k.host, changed_domain, nextval('search_dirty_versions'), clock_timestamp()
    FROM search_target t, (
        SELECT changed_host AS host
        UNION SELECT o.host FROM owner_settings o WHERE o.domain = changed_domain AND o.canonical = changed_host
    ) k
    ORDER BY t.target, k.host
    ON CONFLICT (target, host) DO UPDATE SET version = nextval('search_dirty_versions');
    RETURN NULL;
END $$
"""
_NOTE_BEFORE = """
CREATE OR REPLACE FUNCTION note_search_dirty() RETURNS trigger LANGUAGE plpgsql AS $$
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
_TRIGGERS = {
    "note_canonical_set": "INSERT ON owner_settings FOR EACH ROW WHEN (NEW.canonical IS NOT NULL)",
    "note_canonical_changed": "UPDATE OF canonical ON owner_settings FOR EACH ROW"
    " WHEN (OLD.canonical IS DISTINCT FROM NEW.canonical)",
    "note_canonical_removed": "DELETE ON owner_settings FOR EACH ROW WHEN (OLD.canonical IS NOT NULL)",
}
# Hosts that got a canonical host before this revision are still in the indexes.
_NOTE_ALL = """
INSERT INTO search_dirty (target, host, domain, version, noted_at)
SELECT t.target, o.host, o.domain, nextval('search_dirty_versions'), clock_timestamp()
FROM search_target t, owner_settings o WHERE o.canonical IS NOT NULL
ON CONFLICT (target, host) DO UPDATE SET version = nextval('search_dirty_versions')
"""


def upgrade() -> None:
    op.execute(_NOTE)
    for name, when in _TRIGGERS.items():
        op.execute(f"CREATE TRIGGER {name} AFTER {when} EXECUTE FUNCTION note_search_dirty()")
    op.execute(_NOTE_ALL)


def downgrade() -> None:
    for name in _TRIGGERS:
        op.execute(f"DROP TRIGGER {name} ON owner_settings")
    op.execute(_NOTE_BEFORE)
    op.execute(_NOTE_ALL)
