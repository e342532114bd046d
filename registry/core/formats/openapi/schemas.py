"""Resolve references and schemas of a description, only inside the document and within a budget.

A description of 4 MB may refer to one large schema from thousands of operations; inlined, that would be gigabytes.
"""

from typing import Any, Final

from registry.core.format_support.manifest import Notes, Object, clean_json
from registry.core.format_support.params import property_of
from registry.core.formats.openapi import rules
from registry.core.model.documents import Json

MAX_WRITTEN: Final = 2_000_000
"""Most characters of schemas that are inlined for all operations of one document."""

_MAX_REFERENCES: Final = 4  # a longer chain of references is not resolved
_MEMBER_COST: Final = 8


class Schemas:
    """Resolves references within the budget. Only local ones (`#/a/b`) are followed; others are noted, not fetched."""

    def __init__(self, root: Object, notes: Notes) -> None:
        self._root, self._notes = root, notes
        self._budget_left = MAX_WRITTEN
        self._is_cut_noted = False
        self._weights: dict[int, int] = {}  # by id(), which stays valid because the document outlives this object
        self._cleaned: dict[int, dict[str, Any]] = {}

    def resolve(self, value: Json) -> Object:
        """Return the object that `value` is or refers to, or an empty one."""
        for _ in range(_MAX_REFERENCES):
            if not isinstance(value, dict):
                return {}
            target = value.get("$ref")
            if not isinstance(target, str):
                return value
            value = self._referenced_value(target)
        return {}

    def affordable(self, value: Json) -> bool:
        """Return whether the budget suffices to inline `value`, and charge its size if so."""
        weight = self._weights.get(id(value))
        if weight is None:
            weight = self._weights[id(value)] = _weight(value)
        if weight > self._budget_left:
            if not self._is_cut_noted:
                self._notes.add(rules.CUT)
            self._is_cut_noted = True
            return False
        self._budget_left -= weight
        return True

    def whole(self, schema: Object) -> dict[str, Any] | None:
        """Return the cleaned schema; None if it is empty or over budget. References inside it are not resolved."""
        if not schema or not self.affordable(schema):
            return None
        if id(schema) not in self._cleaned:
            self._cleaned[id(schema)] = clean_json(schema)
        return self._cleaned[id(schema)]

    def member(self, schema: Json) -> dict[str, Any]:
        """Return the schema of one property, with its own reference resolved; empty if that is over budget."""
        resolved = self.resolve(schema)
        if resolved is not schema and not self.affordable(resolved):
            return {}
        return property_of(resolved)

    def _referenced_value(self, reference: str) -> Json:
        if not reference.startswith("#/"):
            self._notes.add(rules.REFERENCE, "", reference)
            return None
        value: Json = self._root
        for part in reference[2:].split("/"):
            value = value.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(value, dict) else None
        return value


def _weight(value: Json) -> int:
    """Return the approximate size of `value` in characters; counting stops above MAX_WRITTEN."""
    total, waiting = 0, [value]
    while waiting and total <= MAX_WRITTEN:
        item = waiting.pop()
        total += _MEMBER_COST + (len(item) if isinstance(item, str) else 0)
        if isinstance(item, dict):
            total += sum(len(key) for key in item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return total
