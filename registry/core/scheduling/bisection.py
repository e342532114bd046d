"""Find the items that make a batch fail: try the batch, then its halves, until each failing item is alone."""

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Bisection(Generic[T]):
    """The batches to try next, in the order of their items. For synchronous and asynchronous callers alike:

        batches = Bisection(items)
        for batch in batches:
            try:
                write(batch)
            except RefusedItem as error:
                if not batches.split(batch):
                    set_aside(batch[0], error)

    An error that no item causes (the database is unreachable) must leave the loop instead of splitting the batch.
    """

    def __init__(self, items: Sequence[T]) -> None:
        self._pending: list[Sequence[T]] = [items] if items else []  # the next batch is the last of the list

    def __iter__(self) -> Iterator[Sequence[T]]:
        while self._pending:
            yield self._pending.pop()

    def split(self, batch: Sequence[T]) -> bool:
        """Try the halves of a failed batch next. Return False when it is a single item, which then has failed."""
        if len(batch) == 1:
            return False
        middle = len(batch) // 2
        self._pending += (batch[middle:], batch[:middle])
        return True
