"""What a row of the table is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guard:
    """`old` stands exactly once in `file`. `tests`: node ids, of which each must fail once `new` is in its place."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
