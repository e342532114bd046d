"""A mirror decides nothing about its entries: submissions, claims, owners, reports and repeated visits belong to its
origin.

Its database is a mirror as a whole (`mirror` has a row, made by `apply.begin`), so this holds for every host.
"""

from typing import Final

from registry.store.unit_of_work import UnitOfWork


class DecidedAtOrigin(Exception):
    """This registry mirrors another one, which decides about the host; without a host, about all of them. `origin`: its
    base URL."""

    code: Final = "mirrored"

    def __init__(self, origin: str, host: str | None) -> None:
        super().__init__(f"this registry mirrors {origin}: ask there")
        self.origin = origin
        self.host = host


async def refuse_in_mirror(uow: UnitOfWork, host: str | None = None) -> None:
    """Raise DecidedAtOrigin if this registry is a mirror."""
    mirror = await uow.mirroring.get()
    if mirror is not None:  # guard: mirror-decides-nothing
        raise DecidedAtOrigin(mirror.origin, host)
