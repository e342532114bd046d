"""RFC 9727 API catalogues: a linkset (RFC 9264) from each API to its descriptions.

Each anchor with a description is a group of the host's service; what it can do, its description says.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import MAX_TEXTS, Notes, Object, at, list_of, members, sourced, text_of, word_of
from registry.core.services import Group, Origin, Pointer, Policies, Service

_SLUG: Final = "api-catalog"
_LOOSE: Final = "adhoc"
_FOLLOWED: Final = {
    "service-desc": None,
    "service-meta": None,
    "describedby": None,
    "api-catalog": _SLUG,
    "oauth-protected-resource": "oauth-protected-resource",
    "oauth-authorization-server": "oauth-authorization-server",
    "ucp-profile": "ucp",
    "acp-discovery": "acp",
}
"""Relations whose targets are documents. `item` counts where it is typed as one; payment resources are never asked."""
_DOCUMENT_TYPES: Final = ("json", "yaml")


def dialect(document: Document) -> str | None:
    value = document.value
    return "" if isinstance(value, dict) and isinstance(value.get("linkset"), list) else None


def at_own_path(document: Document) -> str | None:
    """Only at the catalogue's path: a list of APIs in a shape of its own."""
    value = document.value if isinstance(document.value, dict) else {}
    return _LOOSE if any(isinstance(value.get(key), list) for key in ("apis", "api-catalog")) else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    if dialect == _LOOSE:
        value = {"linkset": [{"anchor": document.url, "apis": value.get("apis", value.get("api-catalog"))}]}
    linked = False
    pointers: list[Pointer] = []
    groups: list[Group] = []
    found: dict[str, str] = {}
    places: dict[str, str] = {}
    for place, member in members(list_of(value, "linkset"), "/linkset", Reason.LINKSET_RELATION, notes):
        if not text_of(member, "anchor"):
            notes.add(Reason.LINKSET_ANCHOR, at(place, "anchor"))
        anchor, described, documented = link(member.get("anchor"), document.url), [], None
        for relation, where, item in _links(member, place, notes):
            target = link(item.get("href"), document.url)
            if target is None:
                notes.add(Reason.LINKSET_RELATION, where, item.get("href", ""))
                continue
            linked = True
            if relation not in found:
                found[relation], places[relation] = target, where
            if (pointer := _pointer(relation, where, item, target)) is not None:
                pointers.append(pointer)
            described += [target] if relation == "service-desc" else []
            documented = documented or (target if relation == "service-doc" else None)
        if anchor and described and anchor != document.url:
            groups.append(Group(anchor, _title(member), tuple(dict.fromkeys(described)), documented))
        loose = list(_ad_hoc(member, place, document, notes))
        linked = linked or bool(loose)
        pointers += loose
    if not linked:
        notes.add(Reason.LINKSET_EMPTY, "/linkset")
    service = Service(
        base_url=groups[0].url if groups else None,
        docs_url=found.get("service-doc"),
        policies=Policies(terms_url=found.get("terms-of-service"), privacy_url=found.get("privacy-policy")),
        pointers=tuple({pointer.url: pointer for pointer in reversed(pointers)}.values())[::-1][:MAX_TEXTS],
        groups=tuple({group.url: group for group in reversed(groups)}.values())[::-1][:MAX_TEXTS],
    )
    named = {
        "docs_url": "service-doc",
        "policies/terms_url": "terms-of-service",
        "policies/privacy_url": "privacy-policy",
    }
    sources = {name: Origin(document.url, places[rel], _SLUG) for name, rel in named.items() if rel in places}
    known = sourced(service, document, _SLUG, {"base_url": "/linkset", "groups": "/linkset"})
    return replace(known, provenance={**known.provenance, **sources})


def _title(member: Object) -> str | None:
    """RFC 8288 gives the title to the link: that of the first description names the API."""
    links = [item for item in list_of(member, "service-desc") if isinstance(item, dict)]
    return word_of(member, "title") or next((title for item in links if (title := word_of(item, "title"))), None)


def _links(member: Object, place: str, notes: Notes) -> Iterator[tuple[str, str, Object]]:
    """(relation, pointer, target object) of the relations. RFC 9264 section 4.2.3 demands lists of objects."""
    for relation, targets in member.items():
        if relation in ("anchor", "links", "apis", "relation", "href", "title"):
            continue
        if not isinstance(targets, list):
            if relation not in _FOLLOWED:
                continue
            notes.add(Reason.LINKSET_RELATION, at(place, relation), targets)
            if isinstance(targets, str | dict):  # one target, without the list around it
                yield relation, at(place, relation), {"href": targets} if isinstance(targets, str) else targets
            continue
        for index, item in enumerate(targets[:MAX_TEXTS]):
            if isinstance(item, dict):
                yield relation, at(place, relation, index), item


def _pointer(relation: str, where: str, item: Object, target: str) -> Pointer | None:
    kind = (word_of(item, "type") or "").lower()
    typed = any(word in kind for word in _DOCUMENT_TYPES)
    if relation not in _FOLLOWED and not (relation == "item" and typed):
        return None
    promised = "openapi" if "openapi" in kind or "vnd.oai" in kind else _FOLLOWED.get(relation)
    return Pointer(target, relation, where, promised)


def _ad_hoc(member: Object, place: str, document: Document, notes: Notes) -> Iterator[Pointer]:
    """`links[]{rel, href}`, `relation` with `href`, `apis[]{specUrl}`: seen on sites, written by no specification."""
    named: list[tuple[str | None, Json, str]] = []
    for index, item in enumerate(list_of(member, "links")[:MAX_TEXTS]):
        if isinstance(item, dict):
            named.append((word_of(item, "rel"), item.get("href"), at(place, "links", index)))
    for index, item in enumerate(list_of(member, "apis")[:MAX_TEXTS]):
        if isinstance(item, dict):
            named.append(("service-desc", item.get("specUrl"), at(place, "apis", index, "specUrl")))
    if "relation" in member:
        named.append((word_of(member, "relation"), member.get("href"), at(place, "href")))
    if named:
        notes.add(Reason.LINKSET_OTHER_SHAPE, place)
    for relation, href, where in named:
        target = link(href, document.url)
        if target and relation in _FOLLOWED:
            yield Pointer(target, relation, where, _FOLLOWED[relation])


FORMAT = Format(
    slug=_SLUG,
    title="API catalogue (RFC 9727)",
    spec="RFC 9727 section 4; RFC 9264 section 4.2",
    paths=("/.well-known/api-catalog",),
    media_types=("application/linkset+json", "application/json"),
    role=Role.POINTERS,
    read=_read,
)
