"""What a format is. One module below formats/ each, exporting FORMAT and its dialect tests."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from registry.core.documents import Document
from registry.core.findings import Finding
from registry.core.manifest import Notes
from registry.core.services import Service

Read = Callable[[Document, str, Notes], Service]
"""Document and dialect -> the service; what it leaves out or finds wrong it notes. Never raises on any JSON value that
the format's tests accepted."""


class Role(StrEnum):
    """What a document of the format can do for its host. A host is listed only with a FOUND SERVICE document."""

    SERVICE = "service"
    POINTERS = "pointers"  # catalogues: they name other documents
    TEXT = "text"  # llms.txt and relatives
    ENRICHER = "enricher"  # adds to a service found elsewhere: capability details, OAuth metadata, keys


@dataclass(frozen=True, slots=True)
class Format:
    slug: str  # fixture folder, API value, index facet
    title: str
    spec: str  # where the MUSTs are: name and version of the specification
    paths: tuple[str, ...]  # most preferred first
    media_types: tuple[str, ...]
    role: Role
    read: Read

    def judge(self, document: Document, dialect: str) -> tuple[Service, tuple[Finding, ...]]:
        """What the document says of a service, and what is wrong with it; read once for both."""
        notes = Notes()
        return self.read(document, dialect, notes), notes.findings()


Dialect = Callable[[Document], str | None]
"""A recognition test: the dialect's name when the document is of the format, else None. Looks at content only."""
