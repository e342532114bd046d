"""What becomes of a pointer that a document holds: fetched now, another host for later, or nothing (probe-plan 4)."""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from registry.core.documents import Fetched, Probe, Purpose, Via
from registry.core.domains import host_of, parse_https, same_site
from registry.core.links import EXPECTED
from registry.core.probes import JSON_CAP, detail_probe, pointer_probe
from registry.core.services import Pointer

DETAIL_REL: Final = "detail_url"
MAX_INLINE: Final = 20  # payloads of one visit that are assessed without a request

_FOLLOWED = frozenset({*EXPECTED, "agentmap", "agentic-manifest", "service-meta", "alternative", "entry", "item"})
_TEMPLATE = re.compile(r"[{}]|%7[bd]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Request:
    """Ask for it in this visit: the same registrable domain as the document that names it."""

    probe: Probe


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another host: it must serve the document itself. `url` is what was named."""

    host: str
    rel: str
    document: str


def follow(pointer: Pointer, document: str) -> Request | Elsewhere | None:
    """`document` is the final URL of the document that holds the pointer. None: never asked for.

    Endpoints, status pages and templates are never requested: only what promises a document, by its format or by a
    relation of the list. Capability details stay on the registrable domain that serves their manifest.
    """
    if pointer.url is None or _TEMPLATE.search(pointer.url):
        return None
    url = parse_https(pointer.url, document)
    host, home = host_of(url or ""), host_of(document)
    if url is None or host is None or home is None:
        return None
    if not same_site(host, home):
        return None if pointer.rel == DETAIL_REL else Elsewhere(host, pointer.rel, document)
    via = Via(document, pointer.pointer, pointer.rel, pointer.expected)
    if pointer.rel == DETAIL_REL:
        return Request(detail_probe(url, via))
    if pointer.expected is not None or pointer.rel in _FOLLOWED:
        return Request(pointer_probe(url, via, pointer.expected))
    return Elsewhere(host, pointer.rel, document) if host != home else None


def inline(pointer: Pointer, document: str, at: datetime) -> tuple[Probe, Fetched] | None:
    """A payload that a document carries inside, as if fetched from its own URL with the JSON Pointer as fragment."""
    try:
        body = json.dumps(pointer.payload, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError):
        return None
    if len(body) > JSON_CAP:
        return None
    url = f"{document}#{pointer.pointer}"
    via = Via(document, pointer.pointer, pointer.rel, pointer.expected)
    probe = Probe(url, Purpose.POINTER, "S5", "application/json", JSON_CAP, via)
    return probe, Fetched(url, url, at, 200, {"content-type": "application/json"}, body)
