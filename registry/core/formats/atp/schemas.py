"""Resolve `$ref` inside an ATP manifest (ATP section 3.7); references out of the document are dropped.

An external reference would make clients of the registry fetch a URL that the site chose.
"""

from dataclasses import dataclass
from typing import Any, Final

from registry.core.format_support.manifest import NAME_CHARS, TEXT_CHARS, Notes
from registry.core.format_support.params import Definitions
from registry.core.formats.atp import rules
from registry.core.model.documents import Json
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line, plain

MAX_DEPTH: Final = 4  # schemas may refer to each other in a cycle
PREFIX: Final = "#/schemas/"


@dataclass(frozen=True, slots=True)
class AtpSchemas:
    """The schemas that the document defines."""

    definitions: Definitions
    notes: Notes

    def resolved(self, value: Json, pointer: str, depth: int = 0) -> Any:
        """Return a copy of `value` with cleaned texts and with references replaced by their targets."""
        if isinstance(value, str):
            return plain(value, TEXT_CHARS)
        if isinstance(value, list):
            return [self.resolved(item, at(pointer, index), depth) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return self._resolved_reference(value["$ref"], pointer, depth)
        return {line(key, NAME_CHARS): self.resolved(item, at(pointer, key), depth) for key, item in value.items()}

    def _resolved_reference(self, reference: Json, pointer: str, depth: int) -> Any:
        name = reference.removeprefix(PREFIX) if isinstance(reference, str) else ""
        if not isinstance(reference, str) or not reference.startswith(PREFIX) or name not in self.definitions.named:
            self.notes.add(rules.REFERENCE, at(pointer, "$ref"), reference)
            return {}
        schema = self.definitions.taken(name) if depth < MAX_DEPTH else None
        return {"type": "object"} if schema is None else self.resolved(schema, at("/schemas", name), depth + 1)
