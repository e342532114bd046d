"""How much memory the bodies of all visits may take at once: two hundred hosts that send megabytes cost no more.

A visit has a little for itself, which every honest one is content with. What it holds beyond that, while it reads and
until it is recorded, comes from one room for the whole process; where that is full, the visit ends (SKIPPED) and is
made again within the day. Nobody waits for room: who holds some could let others wait for as long as he pleases.
"""

from typing import Final

OWN: Final = 64 * 1024
"""Bytes that each visit may hold without asking."""

SIZE: Final = 8 * 1024 * 1024
"""Bytes beyond that in the whole process. What is made of a body while it is read takes several times its size."""

PER_HOST: Final = 8 * 1024
"""Where that is more for all that may be in flight: of thousands of honest hosts a few dozen hold large documents."""

LARGEST: Final = 4 * 1024 * 1024
"""Bytes of the largest body of a visit; where somebody reads larger files (sitemaps), bounds grow with them."""


class NoRoom(Exception):
    """The bodies of other visits take all the memory that there is for them."""


class Room:
    """What is left for large bodies; each visit takes part in it by a share."""

    def __init__(self, in_flight: int) -> None:
        """`in_flight`: visits at once, at most."""
        self.left = max(SIZE, in_flight * PER_HOST)
        self.largest = LARGEST

    def expect(self, cap: int) -> None:
        """A body of so many bytes will be read."""
        if cap > self.largest:
            self.left += cap - self.largest
            self.largest = cap

    def share(self) -> "Share":
        return Share(self)


class Share:
    """What one visit holds: `reading` the body at hand, and those that were kept before."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._kept = self._taken = 0

    def reading(self, size: int) -> None:
        """So many bytes of the body at hand are here. Raises NoRoom."""
        self._take(max(0, self._kept + size - OWN))

    def keep(self, size: int) -> None:
        """So many bytes stay of all bodies so far. Never refused: they are here already."""
        self._kept = size
        self._room.left += self._taken
        self._taken = max(0, size - OWN)
        self._room.left -= self._taken

    def let_go(self) -> None:
        """The body at hand came to nothing."""
        self.keep(self._kept)

    def _take(self, wanted: int) -> None:
        if wanted - self._taken > self._room.left:
            raise NoRoom
        self._room.left += self._taken - wanted
        self._taken = wanted
