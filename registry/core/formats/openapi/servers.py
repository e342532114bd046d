"""Find the address at which an operation is called (OpenAPI 3.1 section 4.8.5; OpenAPI 2.0 `host`)."""

from dataclasses import dataclass, field
from typing import Final

from registry.core.format_support.endpoints import Endpoint, callable_url, endpoint, origin_of
from registry.core.format_support.manifest import Notes, Object, list_of, map_of, short_text_of, text_of, texts_of
from registry.core.formats.openapi import rules
from registry.core.model.documents import Document, Json
from registry.core.reading.json_pointer import at

_MAX_SERVERS: Final = 20  # servers of one list that are looked at


@dataclass(frozen=True, slots=True)
class BaseAddress:
    """The address that paths are appended to as text, None if clients may not call it, and its variables."""

    address: Endpoint | None
    variables: Object = field(default_factory=dict)


def root_base(value: Object, document: Document, notes: Notes) -> BaseAddress:
    """Return the address of the API as a whole; the root of the host where the description names none."""
    if "swagger" in value:
        schemes = texts_of(value, "schemes")
        scheme = "https" if not schemes or "https" in schemes else schemes[0]
        host = short_text_of(value, "host") or origin_of(document.url).split("/")[2]
        return _base(f"{scheme}://{host}{text_of(value, 'basePath') or ''}", {}, "/host", document, notes)
    listed = list_base(list_of(value, "servers"), "", document, notes)
    return listed or _base(None, {}, "/servers/0/url", document, notes)


def list_base(servers: list[Json], pointer: str, document: Document, notes: Notes) -> BaseAddress | None:
    """Return the first of `servers` that clients may call (often not the first: that is its author's machine), else the
    first; None if none is named. `pointer` leads to the holder of the list."""
    named = [(i, server) for i, server in enumerate(servers[:_MAX_SERVERS]) if text_of(server, "url") is not None]
    if not named:
        return None
    callable_ones = (pair for pair in named if callable_url(text_of(pair[1], "url") or "", document.url, document.url))
    index, server = next(callable_ones, named[0])
    at_url = at(pointer, "servers", index, "url")
    return _base(text_of(server, "url"), map_of(server, "variables"), at_url, document, notes)


def _base(target: str | None, variables: Object, pointer: str, document: Document, notes: Notes) -> BaseAddress:
    if target is None or not target.startswith("http") or "{" in target:
        notes.add(rules.SERVER, pointer, target or "")
    resolved = endpoint(target or "/", document.url, document, pointer, notes)
    address = Endpoint(resolved.url.partition("?")[0].rstrip("/"), resolved.templated) if resolved else None
    return BaseAddress(address, variables)
