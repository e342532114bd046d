"""`$ref` inside an ATP manifest (ATP section 3.7): resolved in the document only, anything else is dropped.

A reference that leads elsewhere would make our clients fetch whatever a stranger names.
"""

from dataclasses import dataclass
from typing import Any, Final

from registry.core.documents import Json
from registry.core.findings import Reason
from registry.core.manifest import NAME_CHARS, TEXT_CHARS, Notes, Object, at
from registry.core.plain_text import line, plain

MAX_DEPTH: Final = 4  # schemas may refer to each other in a circle
MAX_NODES: Final = 50_000  # a few schemas that refer to each other often multiply
PREFIX: Final = "#/schemas/"


@dataclass(slots=True)
class Schemas:
    """The document's own schemas; `nodes` is what one document may still be expanded to."""

    named: Object
    notes: Notes
    nodes: int = MAX_NODES

    def resolved(self, value: Json, pointer: str, depth: int = 0) -> Any:
        """A copy of `value`, its texts fit to show, its references replaced by what they name."""
        self.nodes -= 1
        if self.nodes < 0:
            return {}
        if isinstance(value, str):
            return plain(value, TEXT_CHARS)
        if isinstance(value, list):
            return [self.resolved(item, at(pointer, index), depth) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return self._followed(value["$ref"], pointer, depth)
        return {line(key, NAME_CHARS): self.resolved(item, at(pointer, key), depth) for key, item in value.items()}

    def _followed(self, reference: Json, pointer: str, depth: int) -> Any:
        name = reference.removeprefix(PREFIX) if isinstance(reference, str) else ""
        if not isinstance(reference, str) or not reference.startswith(PREFIX) or name not in self.named:
            self.notes.add(Reason.ATP_REFERENCE, at(pointer, "$ref"), reference)
            return {}
        if depth >= MAX_DEPTH:
            return {"type": "object"}
        return self.resolved(self.named[name], at("/schemas", name), depth + 1)
