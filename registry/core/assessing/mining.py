"""Find the URLs of manifests in texts, and the format that each promises.

Whole path segments are compared, because `ard.json` is also the end of `agent-card.json`.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from registry.core.format_support.endpoints import Endpoint
from registry.core.format_support.mcp_parts import card_pointer
from registry.core.format_support.public_addresses import is_public
from registry.core.formats import FORMATS
from registry.core.model.services import Pointer
from registry.core.names.domains import parse_https

MAX_MINED: Final = 40
SCANNED_CHARS: Final = 200_000

PROMISED: Final[Mapping[str, str]] = MappingProxyType({path: form.slug for form in FORMATS for path in form.promises()})
"""Well-known paths and the format to expect there; the content decides where several formats share a path."""

_PATTERNS: Final = tuple((form.promised_pattern, form.slug) for form in FORMATS if form.promised_pattern)
_URL = re.compile(r"https://[^\s<>()\[\]\"'`|\\]{4,500}")
_LINK = re.compile(r"\]\((/[^\s()]{1,500})\)")
_TAIL = re.compile(r"[.,;:!?*_]+$")
_NAMES = {path.rpartition("/")[2] for path in PROMISED} | {"openapi.", "swagger.", "server-card", "SKILL.md", "mcp"}
_RELEVANT = re.compile("|".join(map(re.escape, sorted(_NAMES))))  # most links lead to pages and need no parsing


def mined(text: str, base: str) -> tuple[Pointer, ...]:
    """Return pointers from the Markdown links and bare URLs of a text, in order, distinct, at most MAX_MINED.

    Addresses that are not public are ignored: a text may mention them.
    """
    text = text[:SCANNED_CHARS]
    pointers: dict[str, Pointer] = {}
    for match in (*_URL.finditer(text), *_LINK.finditer(text)):
        target = match[match.lastindex or 0]
        url = parse_https(_TAIL.sub("", target), base) if _RELEVANT.search(target) else None
        pointer = _pointer(url) if url and is_public(url, base) else None
        if pointer is not None and pointer.url is not None:
            pointers.setdefault(pointer.url, pointer)
        if len(pointers) == MAX_MINED:
            break
    return tuple(pointers.values())


def _pointer(url: str) -> Pointer | None:
    path = "/" + url.partition("://")[2].partition("/")[2].partition("?")[0]
    if path in PROMISED:
        return Pointer(url, "mentioned", expected=PROMISED[path])
    for pattern, slug in _PATTERNS:
        if pattern.search(path):
            return Pointer(url, "mentioned", expected=slug)
    if path.endswith("/SKILL.md"):
        return Pointer(url, "skill")  # recorded only: no format reads it yet, so it is not requested
    if path.rstrip("/").endswith("/mcp"):
        return next(iter(card_pointer(Endpoint(url), "")), None)
    return None
