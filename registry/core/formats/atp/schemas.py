"""`$ref` inside an ATP manifest (ATP section 3.7): resolved in the document only, anything else is dropped.

A reference that leads elsewhere would make our clients fetch whatever a stranger names.
"""

from dataclasses import dataclass
from typing import Any, Final

from registry.core.documents import Json
from registry.core.findings import Reason
from registry.core.manifest import NAME_CHARS, TEXT_CHARS, Notes, at
from registry.core.params import Definitions
from registry.core.plain_text import line, plain

MAX_DEPTH: Final = 4  # schemas may refer to each other in a circle
PREFIX: Final = "#/schemas/"


@dataclass(frozen=True, slots=True)
class Schemas:
    """The document's own schemas."""

    definitions: Definitions
    notes: Notes

    def resolved(self, value: Json, pointer: str, depth: int = 0) -> Any:
        """A copy of `value`, its texts fit to show, its references replaced by what they name."""
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
        if not isinstance(reference, str) or not reference.startswith(PREFIX) or name not in self.definitions.named:
            self.notes.add(Reason.ATP_REFERENCE, at(pointer, "$ref"), reference)
            return {}
        found = self.definitions.taken(name) if depth < MAX_DEPTH else None
        return {"type": "object"} if found is None else self.resolved(found, at("/schemas", name), depth + 1)
