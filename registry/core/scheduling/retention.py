"""Retention: the times before which each kind of row may be deleted. Pure; used by actions/maintenance/prune.py.

Never deleted: domains, hosts, current documents with their bodies, services, opt-outs, the last score and the last
visits of every host. With those every verdict that is shown can be explained.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

MIN_LEDGER_AGE: Final = timedelta(days=2)
"""Visits newer than this are never deleted, whatever the setting: budgets count those of the last 24 hours."""

INDEX_FORGOTTEN_AFTER: Final = timedelta(days=7)
"""An index that was not updated for this long is forgotten: no more changes are queued for it until it comes back."""

CLIENTS_FORGOTTEN_AFTER: Final = timedelta(days=1)
"""Who made a request is erased with its result. When no worker runs, pruning erases it after this time."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Days and numbers set by the operator. The last `visits_per_host` visits and `versions` versions always stay."""

    visits_days: int
    visits_per_host: int
    history_days: int
    versions: int
    bodies_days: int
    scores_days: int
    changes_days: int
    candidates_days: int
    reports_days: int
    job_runs_days: int

    def horizon(self, now: datetime) -> "Horizon":
        def ago(days: int) -> datetime:
            return now - timedelta(days=days)

        return Horizon(
            visits=min(ago(self.visits_days), now - MIN_LEDGER_AGE),
            visits_per_host=self.visits_per_host,
            history=ago(self.history_days),
            versions=self.versions,
            bodies=ago(self.bodies_days),
            scores=ago(self.scores_days),
            changes=ago(self.changes_days),
            candidates=ago(self.candidates_days),
            reports=ago(self.reports_days),
            job_runs=ago(self.job_runs_days),
        )


@dataclass(frozen=True, slots=True)
class Horizon:
    """Rows older than these times may be deleted. `bodies`: of versions that were replaced before; `reports`: that were
    decided before."""

    visits: datetime
    visits_per_host: int
    history: datetime
    versions: int
    bodies: datetime
    scores: datetime
    changes: datetime
    candidates: datetime
    reports: datetime
    job_runs: datetime
