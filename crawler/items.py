"""The items that the spider yields."""

from dataclasses import dataclass
from uuid import UUID

from registry.core.visiting.visits import FinishedDomain


@dataclass(frozen=True, slots=True)
class VisitedDomain:
    """A domain whose due hosts were visited. `token`: the lease under which it is recorded."""

    domain: str
    token: UUID
    finished: FinishedDomain
