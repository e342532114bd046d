"""What to do with a pointer: request it now, seed another host, or ignore it (docs/probe-plan.md, "Pointers")."""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from registry.core.assessing.links import EXPECTED
from registry.core.format_support.probing import JSON_CAP
from registry.core.model.documents import Fetched, Probe, Purpose, Via
from registry.core.model.services import Pointer
from registry.core.names.domains import host_of, parse_https, same_site
from registry.core.visiting.probes import detail_probe, pointer_probe

DETAIL_REL: Final = "detail_url"
MAX_INLINE: Final = 20  # payloads of one visit that are assessed without a request

_FOLLOWED = frozenset({*EXPECTED, "agentmap", "agentic-manifest", "service-meta", "alternative", "entry", "item"})
_TEMPLATE = re.compile(r"[{}]|%7[bd]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Request:
    """Request it in this visit: it is on the same registrable domain as the document that names it."""

    probe: Probe


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another host, which must serve the document itself. `document` is the URL of the document that names it."""

    host: str
    rel: str
    document: str


def follow(pointer: Pointer, document: str) -> Request | Elsewhere | None:
    """Decide about one pointer of `document`, the final URL of the document that holds it. None: never requested.

    Endpoints, status pages and templates are never requested: only URLs that promise a document, by its format or by a
    relation in _FOLLOWED. Capability details must be on the registrable domain that serves their manifest.
    """
    if pointer.url is None or _TEMPLATE.search(pointer.url):
        return None
    url = parse_https(pointer.url, document)
    host, home = host_of(url or ""), host_of(document)
    if url is None or host is None or home is None:
        return None
    if not same_site(host, home):  # guard: pointer-same-site
        return None if pointer.rel == DETAIL_REL else Elsewhere(host, pointer.rel, document)
    via = Via(document, pointer.pointer, pointer.rel, pointer.expected)
    if pointer.rel == DETAIL_REL:
        return Request(detail_probe(url, via))
    if pointer.expected is not None or pointer.rel in _FOLLOWED:
        return Request(pointer_probe(url, via, pointer.expected))
    return Elsewhere(host, pointer.rel, document) if host != home else None


def inline(pointer: Pointer, document: str, at: datetime) -> tuple[Probe, Fetched] | None:
    """Return a document inside another, as if fetched from the outer URL with the JSON Pointer as fragment."""
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
