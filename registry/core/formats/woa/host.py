"""A WoA document as a whole -> service (draft-00 sections 4, 7, 8.1 and 9)."""

import re
from typing import Final

from registry.core.documents import Document
from registry.core.domains import host_of
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.formats.woa.agents import SLUG, Host, authz, capabilities, inherited
from registry.core.formats.woa.transports import VERSION, protocols, transports
from registry.core.manifest import TEXT_CHARS, Notes, Object, capped, list_of, map_of, sourced, text_of, word_of
from registry.core.plain_text import line
from registry.core.services import Auth, Capability, Service

_PATH = re.compile(r"https?://[^/]+/\.well-known/woa\.json(?:\?.*)?")
_CACHING: Final = ("etag", "last-modified", "cache-control")
_PLACES: Final = {"description": "/agents", "capabilities": "/agents", "auth": "/authz", "protocols": "/transports"}


def dialect(document: Document) -> str | None:
    """Formats.md section 1 row 6."""
    value = document.value
    if not isinstance(value, dict):
        return None
    if "woa_version" in value:
        return VERSION if str(value["woa_version"]) == VERSION else "other"
    agents = [one for one in list_of(value, "agents") if isinstance(one, dict)]
    shaped = any(isinstance(one.get("transports"), list) for one in agents)
    return VERSION if shaped and isinstance(value.get("transports"), dict) else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    body = document.value if isinstance(document.value, dict) else {}
    _check_version(body, notes)
    _check_served(document, notes)
    usable = dict(transports(body, document, notes))
    is_configured = isinstance(body.get("transports"), dict)
    if not is_configured:
        notes.add(Reason.WOA_TRANSPORTS, "/transports", body.get("transports", ""))
    host = Host(document, is_configured, map_of(body, "transports"), usable, inherited(body), notes)
    found = capped(capabilities(host, body.get("agents")), "/agents", notes)
    service = Service(
        name=host_of(document.url),
        description=_description(body, found),
        capabilities=found,
        auth=authz(body, document) or Auth(),
        protocols=tuple(protocols(usable)),
    )
    return sourced(service, document, SLUG, _PLACES)


def _check_version(body: Object, notes: Notes) -> None:
    version = body.get("woa_version", "")
    if version == 1 and not isinstance(version, bool):
        notes.add(Reason.WOA_VERSION_NUMBER, "/woa_version", version)
    elif version != VERSION:
        notes.add(Reason.WOA_VERSION, "/woa_version", version)


def _check_served(document: Document, notes: Notes) -> None:
    if document.url.startswith("http://"):
        notes.add(Reason.WOA_HTTP, "", document.url)
    if not _PATH.fullmatch(document.url):
        notes.add(Reason.WOA_PATH, "", document.url)
    if document.media_type == "application/json":
        notes.add(Reason.WOA_MEDIA_TYPE, "", document.media_type)
    if document.headers and not any(name in document.headers for name in _CACHING):
        notes.add(Reason.WOA_CACHING)


def _description(body: Object, found: tuple[Capability, ...]) -> str | None:
    """The draft describes agents only: the names of the usable ones, joined."""
    usable = {one.id.partition(".")[0] for one in found}
    agents = (one for one in list_of(body, "agents") if text_of(one, "id") in usable)
    names = dict.fromkeys(name for one in agents if (name := word_of(one, "name")))
    return line(", ".join(names), TEXT_CHARS) or None


FORMAT: Final = Format(
    slug=SLUG,
    title="Web of Agents",
    spec="draft-gaikwad-woa-00",
    paths=("/.well-known/woa.json",),
    media_types=("application/woa+json", "application/json"),
    role=Role.SERVICE,
    read=_read,
)
