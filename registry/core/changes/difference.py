"""The difference between two JSON objects, as operations with JSON Pointers, bounded in number and size."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

MAX_OPERATIONS: Final = 200
MAX_VALUE_BYTES: Final = 16_384
"""Bytes of all old and new values of a difference together, as JSON."""

MAX_POINTER_CHARS: Final = 500

Operation = dict[str, Any]


@dataclass(slots=True)
class Difference:
    """`operations` as of RFC 6902 (`op` add, remove or replace, `path`, `value`), with the value before as `old`.

    Applied in order to the one object they make the other, unless `truncated`: then some are missing, or some have
    neither `value` nor `old`.
    """

    operations: list[Operation] = field(default_factory=list)
    truncated: bool = False


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """Return what makes `after` of `before`."""
    result, left = Difference(), MAX_VALUE_BYTES
    for operation in _between(before, after, ""):
        if len(result.operations) == MAX_OPERATIONS:
            result.truncated = True
            break
        size = sum(_size(operation[name]) for name in ("value", "old") if name in operation)
        if size > left:
            result.truncated = True
            operation = {"op": operation["op"], "path": operation["path"]}
        else:
            left -= size
        result.operations.append(operation)
    return result


def _between(before: Any, after: Any, path: str) -> Iterator[Operation]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        changed = [key for key in {**before, **after} if not _is_same(before, after, key)]
        pointers = {key: f"{path}/{key.replace('~', '~0').replace('/', '~1')}" for key in changed}
        if all(len(pointer) <= MAX_POINTER_CHARS for pointer in pointers.values()):
            for key, pointer in pointers.items():
                if key not in after:
                    yield {"op": "remove", "path": pointer, "old": before[key]}
                elif key not in before:
                    yield {"op": "add", "path": pointer, "value": after[key]}
                else:
                    yield from _between(before[key], after[key], pointer)
            return
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple):
        common = min(len(before), len(after))
        for index in range(common):
            if before[index] != after[index]:
                yield from _between(before[index], after[index], f"{path}/{index}")
        for index in range(common, len(after)):
            yield {"op": "add", "path": f"{path}/{index}", "value": after[index]}
        for index in reversed(range(common, len(before))):
            yield {"op": "remove", "path": f"{path}/{index}", "old": before[index]}
        return
    if before != after or type(before) is not type(after):
        yield {"op": "replace", "path": path, "value": after, "old": before}


def _is_same(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> bool:
    return key in before and key in after and before[key] == after[key]


def _size(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError:  # an integer beyond 64 bits or a lone surrogate, which no database stores: leave the value out
        return MAX_VALUE_BYTES + 1
