"""How long what happened is kept: moments before which each kind may be forgotten. Pure; see actions/keeping/prune.py.

Never forgotten here: domains, hosts, current documents with their bodies, services, opt-outs, the last score and the
last visits of every host. With those every verdict that is shown can be explained.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

LEDGER_LEAST: Final = timedelta(days=2)
"""Visits that budgets over the last 24 hours are counted from are never forgotten, whatever the setting."""

TARGET_UNFED: Final = timedelta(days=7)
"""An index that nobody has fed for so long no longer has changes noted for it; it starts anew when it comes back."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Days and numbers as the operator sets them; the last `visits_per_host` and `versions` stay however old."""

    visits_days: int
    visits_per_host: int
    history_days: int
    versions: int
    bodies_days: int
    scores_days: int
    changes_days: int
    candidates_days: int
    job_runs_days: int

    def horizon(self, now: datetime) -> "Horizon":
        def ago(days: int) -> datetime:
            return now - timedelta(days=days)

        return Horizon(
            visits=min(ago(self.visits_days), now - LEDGER_LEAST),
            visits_per_host=self.visits_per_host,
            history=ago(self.history_days),
            versions=self.versions,
            bodies=ago(self.bodies_days),
            scores=ago(self.scores_days),
            changes=ago(self.changes_days),
            candidates=ago(self.candidates_days),
            job_runs=ago(self.job_runs_days),
        )


@dataclass(frozen=True, slots=True)
class Horizon:
    """What is older may go. `bodies`: of versions that were replaced before."""

    visits: datetime
    visits_per_host: int
    history: datetime
    versions: int
    bodies: datetime
    scores: datetime
    changes: datetime
    candidates: datetime
    job_runs: datetime
