"""What a request costs its client, in units of the limit `work`; docs/operations.md has the table.

Every request costs one unit, about the work of one search. An operation that knows its request to be dearer charges the
rest before it does the work, so that a refused request costs nothing but that unit. What is known only when something
large was read is charged then, and never refused: otherwise refused requests would do all that reading for one unit.
"""

from dataclasses import dataclass, field
from typing import Final

from fastapi import Request

from registry.core.model.listing import Filters
from registry.edge.limiter import Allowance, RateLimiter, fields
from registry.edge.problems import RATE_LIMITED, Problem

UNIT_BYTES: Final = 16_384
"""Bytes of a document, sent by the client or stored, for one unit."""

UNIT_FILE_BYTES: Final = 1024 * 1024
"""Bytes of a file, sent as it is stored, for one unit."""

HEALTH: Final = 9
"""The health of all services reads a row of every one of them."""

_LIST: Final = 3
_ROWS: Final = 10
_FACETS: Final = 4
_SCAN: Final = 10
_SKIPPED: Final = 2_000


def of_bytes(size: int) -> int:
    return size // UNIT_BYTES


def of_file(size: int) -> int:
    return size // UNIT_FILE_BYTES


def of_discover(limit: int, facets: int) -> int:
    """Return what a search costs beyond its unit: one for each further ten rows above ten, one for each four facets."""
    return max(0, limit - 1) // _ROWS + -(-facets // _FACETS)


def of_list(filters: Filters, text: str, limit: int, offset: int) -> int:
    """Return what a list costs beyond its unit: the database counts all matches and skips rows one by one, and for some
    conditions it has to read every row."""
    reads_every_row = bool(text or filters.languages or filters.tlds or filters.narrows_capabilities)
    return _LIST + limit // (5 * _ROWS) + offset // _SKIPPED + _SCAN * reads_every_row


def of_server_list(limit: int, *, is_scan: bool) -> int:
    """Return what a page of the MCP registry's list costs beyond its unit. `is_scan`: rows are read that do not match,
    as they are not indexed by this condition."""
    return limit // (5 * _ROWS) + _SCAN * is_scan


@dataclass(slots=True)
class Spending:
    """What one request has taken from its client's limits so far."""

    client: str
    work: RateLimiter
    submissions: RateLimiter
    met: dict[str, Allowance] = field(default_factory=dict)

    def charge(self, units: int) -> None:
        """Take units of work; one request never takes more than half of the allowance at once. Raise Problem."""
        if units:
            self.take(self.work, min(units, max(1, self.work.limit // 2)))

    def charge_done(self, units: int) -> None:
        """Take units for work that is done, or what is left of the allowance."""
        if units:
            allowance = self.work.take(self.client, units, or_rest=True)
            self.met[allowance.name] = allowance

    def take_submission(self) -> None:
        """Count a submission that an operation makes. Raise Problem when none remains."""
        self.take(self.submissions)

    def take(self, limiter: RateLimiter, units: int = 1) -> None:
        """Raise Problem when fewer units remain of this limit."""
        allowance = limiter.take(self.client, units)
        self.met[allowance.name] = allowance
        if allowance.refused:  # guard: work-units
            raise Problem(
                RATE_LIMITED,
                f"This takes {units} of the limit `{allowance.name}`, and {allowance.remaining} of {allowance.limit} "
                f"remain. Try again in {allowance.reset} seconds.",
                headers={"Retry-After": str(allowance.reset)},
                limit=allowance.name,
            )

    @property
    def refused_by(self) -> str | None:
        """Name of the limit that refused units to this request."""
        for allowance in self.met.values():
            if allowance.refused:
                return allowance.name
        return None

    def fields(self) -> list[tuple[bytes, bytes]]:
        """Return the response headers that name the limits this request met."""
        return fields(self.met.values()) if self.met else []


def charge(request: Request, units: int) -> None:
    """Take units of work from the client's allowance. Raise Problem when too few remain."""
    if spending := _spending(request):
        spending.charge(units)


def charge_submission(request: Request) -> None:
    """Count a submission, at an address that the middleware does not know as one. Raise Problem when none remains."""
    if spending := _spending(request):
        spending.take_submission()  # guard: rechecks-of-client


def charge_stored(request: Request, size: int) -> None:
    """Take units for `size` bytes that were read from the database, or what is left of the client's allowance."""
    if spending := _spending(request):
        spending.charge_done(of_bytes(size))  # guard: stored-bytes


def _spending(request: Request) -> Spending | None:
    """None without the middleware: then nothing is limited."""
    return request.scope.get("waypost.spending")
