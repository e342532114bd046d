"""Canonical hosts need the consent of their owner, and claims are counted by the network of the client.

A pin whose owner owns the canonical host too stays in effect; others wait for the consent of its owner.
"""

import sqlalchemy as sa
from alembic import op

revision = "7be1f04c93d2"
down_revision = "7a1f4c83e6d2"
branch_labels = None
depends_on = None

_PINS = """
UPDATE owner_settings o SET pinned = o.canonical, consent = (
    SELECT c.id FROM claims c WHERE c.domain = o.domain AND c.id = o.claim AND c.ended_at IS NULL
        AND (c.scope = 'domain' OR c.host = o.canonical))
WHERE o.canonical IS NOT NULL
"""
_WITHOUT_CONSENT = """
UPDATE owner_settings SET canonical = NULL
WHERE canonical IS NOT NULL AND consent IS NULL
    AND regexp_replace(host, '^www\\.', '') <> regexp_replace(canonical, '^www\\.', '')
"""


def upgrade() -> None:
    op.add_column("claims", sa.Column("network", sa.Text(), nullable=True))
    op.create_index("ix_claims_network", "claims", ["network"], postgresql_where=sa.text("network IS NOT NULL"))
    op.create_index("ix_claims_proven", "claims", ["domain"], postgresql_where=sa.text("proven_at IS NOT NULL"))
    op.add_column("owner_settings", sa.Column("pinned", sa.Text(), nullable=True))
    op.add_column("owner_settings", sa.Column("consent", sa.Text(), nullable=True))
    op.execute(_PINS)
    op.execute(_WITHOUT_CONSENT)


def downgrade() -> None:
    op.drop_column("owner_settings", "consent")
    op.drop_column("owner_settings", "pinned")
    op.drop_index("ix_claims_proven", "claims")
    op.drop_index("ix_claims_network", "claims")
    op.drop_column("claims", "network")
