"""Read the source documents of a translation again, whole or with some members changed, to compare them with it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from registry.core.assessing.recognise import recognise
from registry.core.format_support.format import Format
from registry.core.model.documents import NO_HEADERS, Document, Json, Via
from registry.core.model.services import Origin, Service, to_json
from registry.core.reading.reader import Unreadable, read_json, read_text

Path = tuple[str, ...]  # keys from the root of a value. In paths into the model, `*` replaces the indexes of arrays.
Scalar = tuple[str, Any]  # a JSON scalar with its type, because Python takes True and 1 for the same
Leaf = tuple[Path, Scalar]

ITEM: Final = "*"
_OURS: Final = ("pointers", "claims", "provenance", "synthetic", "confidence")
_OURS_OF_CAPABILITY: Final = ("origin", "provenance", "detail", "whole_server")
_OURS_OF_CALL: Final = ("origin", "off_site", "templated")
"""Marks of the registry in the model, which no document states."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A found document of the host. `format`: slug. `media_type`: lower case without parameters, None if unknown."""

    url: str
    raw: bytes
    format: str
    media_type: str | None = None
    via: Via | None = None


@dataclass(frozen=True, slots=True)
class ReadModel:
    """The leaves of the model that a format's reader makes from a document. `capabilities`: the place of each in the
    document (None if unknown) and its leaves."""

    service: frozenset[Leaf]
    capabilities: tuple[tuple[str | None, frozenset[Leaf]], ...]


@dataclass(frozen=True, slots=True)
class Readable:
    """A source that is a JSON or YAML object, with the format that it was recognised as."""

    source: SourceDocument
    document: Document
    form: Format
    dialect: str

    @property
    def value(self) -> dict[str, Json]:
        return self.document.value if isinstance(self.document.value, dict) else {}

    def service(self, value: Json) -> Service:
        """Return the service that the document would describe with this value."""
        return self.form.judge(replace(self.document, value=value), self.dialect)[0]

    def is_recognised(self, value: Json) -> bool:
        """Return whether the document would be of the same format and dialect with this value."""
        match = recognise(replace(self.document, value=value), self.source.format)
        return match is not None and match.result == self.form and match.dialect == self.dialect


def readable(source: SourceDocument) -> Readable | None:
    """Return the source as its format reads it; None for a text, and for a body that is not of that format."""
    try:
        text = read_text(source.raw)
        try:
            document = Document(source.raw, read_json(source.raw, []), source.url, source.media_type, NO_HEADERS)
        except Unreadable:
            document = Document(source.raw, None, source.url, source.media_type, NO_HEADERS, text)
        match = recognise(document, source.format)
        if match is not None and match.reader is not None and document.value is None:
            document = replace(document, value=match.reader(text, []))
    except Unreadable:
        return None
    if match is None or not isinstance(match.result, Format) or match.result.slug != source.format:
        return None
    return Readable(source, document, match.result, match.dialect) if isinstance(document.value, dict) else None


def model(service: Service, url: str) -> ReadModel:
    """Return the leaves of a service; places of capabilities are those in the document at `url`."""
    value = to_json(service)
    places = [place_of(origins, url) for origins in map(origins_of, service.capabilities)]
    capabilities = value.pop("capabilities", [])
    for capability in capabilities:
        for call in capability.get("invocations", ()):
            _drop(call, _OURS_OF_CALL)
        _drop(capability, _OURS_OF_CAPABILITY)
    _drop(value, _OURS)
    _drop(value.get("identity", {}), ("signed",))
    leaves = [leaves_of(capability) for capability in capabilities]
    return ReadModel(leaves_of(value), tuple(zip(places, leaves, strict=True)))


def origins_of(capability: Any) -> list[Origin]:
    """Return where a capability and its calls are described."""
    calls = (call.origin for call in capability.invocations)
    return [origin for origin in (capability.origin, *calls) if origin is not None]


def place_of(origins: Iterable[Origin], url: str) -> str | None:
    """Return the first JSON Pointer into the document at `url`, or None if no origin is there."""
    return next((origin.pointer for origin in origins if origin.document == url), None)


def leaves_of(value: Any) -> frozenset[Leaf]:
    """Return the scalars of a value of the model with their paths; the empty values say nothing."""
    found: set[Leaf] = set()
    level: list[tuple[Path, Any]] = [((), value)]
    while level:
        path, item = level.pop()
        if isinstance(item, dict):
            level += [((*path, str(key)), child) for key, child in item.items()]
        elif isinstance(item, list | tuple):
            level += [((*path, ITEM), child) for child in item]
        elif item is not None and item != "":
            found.add((path, scalar(item)))
    return frozenset(found)


def scalar(value: Any) -> Scalar:
    """Return the scalar with its type; numbers are of one type, as in JSON."""
    if isinstance(value, bool):
        return "boolean", value
    return ("number", value) if isinstance(value, int | float) else ("string", value)


def preference(source: Readable) -> tuple[int, int, str]:
    """Return a key that sorts documents of one format: the most preferred path first, then the shortest URL."""
    url, paths = source.source.url, source.form.paths
    path = "/" + url.partition("://")[2].partition("/")[2]
    return paths.index(path) if path in paths else len(paths), len(url), url


def _drop(holder: dict[str, Any], keys: Iterable[str]) -> None:
    for key in keys:
        holder.pop(key, None)
