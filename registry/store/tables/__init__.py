"""All tables. Keys begin with the domain, then the host, so that tables can be sharded by domain.

Exceptions: the change feed and its head (in one order), search targets and their dirty rows (by target), address
blocks (by day), job runs, reference data, webhooks, API keys, the state of a mirror, the audit log, places in the queue
(by client), lists of submitted hosts (by their id), and causes of other trust (by a number).
"""

from registry.store.tables.api_keys import ApiKeyRow
from registry.store.tables.audit import AuditRow
from registry.store.tables.base import Base
from registry.store.tables.blocks import BlockDayRow
from registry.store.tables.claims import ClaimRow, OwnerSettingRow
from registry.store.tables.documents import BodyRow, DocumentHistoryRow, DocumentRow
from registry.store.tables.frontier import (
    CandidateRow,
    DomainRow,
    HostRow,
    OptOutRequestRow,
    OptOutRow,
    SubmissionRow,
)
from registry.store.tables.holds import ListingHoldRow
from registry.store.tables.ledger import ChangeRow, FeedHeadRow, VisitRow
from registry.store.tables.mcp_servers import McpLeftOutRow, McpServerRow
from registry.store.tables.mirror import MirroredRow, MirrorRow
from registry.store.tables.operators import (
    FilingRow,
    RecheckRow,
    ReportRow,
    SubmissionListRow,
    SubmittedHostRow,
    TurnRow,
)
from registry.store.tables.search import SearchDirtyRow, SearchTargetRow
from registry.store.tables.services import CapabilityRow, FindingRow, ScoreRow, ServiceRow, TrustCauseRow
from registry.store.tables.upkeep import JobRunRow, ReferenceRow
from registry.store.tables.webhooks import WebhookChallengeRow, WebhookDeliveryRow, WebhookRow

__all__ = [
    "ApiKeyRow",
    "AuditRow",
    "Base",
    "BlockDayRow",
    "BodyRow",
    "CandidateRow",
    "CapabilityRow",
    "ChangeRow",
    "ClaimRow",
    "DocumentHistoryRow",
    "DocumentRow",
    "DomainRow",
    "FeedHeadRow",
    "FilingRow",
    "FindingRow",
    "HostRow",
    "JobRunRow",
    "ListingHoldRow",
    "McpLeftOutRow",
    "McpServerRow",
    "MirrorRow",
    "MirroredRow",
    "OptOutRequestRow",
    "OptOutRow",
    "OwnerSettingRow",
    "RecheckRow",
    "ReferenceRow",
    "ReportRow",
    "ScoreRow",
    "SearchDirtyRow",
    "SearchTargetRow",
    "ServiceRow",
    "SubmissionListRow",
    "SubmissionRow",
    "SubmittedHostRow",
    "TrustCauseRow",
    "TurnRow",
    "VisitRow",
    "WebhookChallengeRow",
    "WebhookDeliveryRow",
    "WebhookRow",
]
