"""The items that the spider yields."""

from dataclasses import dataclass
from uuid import UUID

from registry.core.visiting.visits import FinishedDomain


@dataclass(frozen=True, slots=True)
class VisitedDomain:
    """A domain whose due hosts were visited. `token`: the lease that it is recorded under."""

    domain: str
    token: UUID
    finished: FinishedDomain
