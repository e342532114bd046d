"""References and schemas of a description: resolved inside the document, step by step, within a budget.

A description of 4 MB may refer to one large schema from thousands of operations: written out, it would be gigabytes.
"""

from typing import Any, Final

from registry.core.documents import Json
from registry.core.findings import Reason
from registry.core.manifest import Notes, Object, clean_json
from registry.core.params import property_of

MAX_WRITTEN: Final = 2_000_000
"""Characters of schemas that are written out for all operations of one document."""

_MAX_REFERENCES: Final = 4  # a longer chain of references leads nowhere
_MEMBER_COST: Final = 8


class Schemas:
    """`one` follows local references (`#/a/b`); anything else is noted and left out, never fetched."""

    def __init__(self, root: Object, notes: Notes) -> None:
        self._root, self._notes = root, notes
        self._left = MAX_WRITTEN
        self._cut = False
        self._weights: dict[int, int] = {}  # by identity: the document outlives this object
        self._written: dict[int, dict[str, Any]] = {}

    def one(self, value: Json) -> Object:
        """The object that `value` is or refers to, empty where there is none."""
        for _ in range(_MAX_REFERENCES):
            if not isinstance(value, dict):
                return {}
            target = value.get("$ref")
            if not isinstance(target, str):
                return value
            value = self._target(target)
        return {}

    def affordable(self, value: Json) -> bool:
        """Whether `value` may still be written out; takes it from the budget."""
        weight = self._weights.get(id(value))
        if weight is None:
            weight = self._weights[id(value)] = _weight(value)
        if weight > self._left:
            if not self._cut:
                self._notes.add(Reason.OPENAPI_CUT)
            self._cut = True
            return False
        self._left -= weight
        return True

    def whole(self, schema: Object) -> dict[str, Any] | None:
        """A schema fit to show; None when it is empty or beyond the budget. References inside it stay as they are."""
        if not schema or not self.affordable(schema):
            return None
        if id(schema) not in self._written:
            self._written[id(schema)] = clean_json(schema)
        return self._written[id(schema)]

    def member(self, schema: Json) -> dict[str, Any]:
        """One property, its own reference resolved."""
        described = self.one(schema)
        if described is not schema and not self.affordable(described):
            return {}
        return property_of(described)

    def _target(self, reference: str) -> Json:
        if not reference.startswith("#/"):
            self._notes.add(Reason.OPENAPI_REFERENCE, "", reference)
            return None
        place: Json = self._root
        for part in reference[2:].split("/"):
            place = place.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(place, dict) else None
        return place


def _weight(value: Json) -> int:
    """About how many characters `value` takes, counted up to the whole budget."""
    total, waiting = 0, [value]
    while waiting and total <= MAX_WRITTEN:
        one = waiting.pop()
        total += _MEMBER_COST + (len(one) if isinstance(one, str) else 0)
        if isinstance(one, dict):
            total += sum(len(key) for key in one)
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return total
