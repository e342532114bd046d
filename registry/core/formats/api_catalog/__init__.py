"""Read RFC 9727 API catalogues: a linkset (RFC 9264), in JSON or text, that links each API to its descriptions.

Each anchor with a description, except the catalogue itself, becomes a group of the host's service, and a provisional
capability; so does each `item`, by which a catalogue names its APIs. The merge drops what a description covers,
and those of other sites.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from registry.core.format_support import manifest
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import endpoint, first_link, link, origin_of
from registry.core.format_support.format import Format, Role
from registry.core.format_support.loose import payment_of, price_of
from registry.core.format_support.loose_card import loose_card
from registry.core.format_support.manifest import MAX_TEXTS, Notes, Object, list_of, native, short_text_of, text_of
from registry.core.format_support.probing import CARD_CAP, ProbePath
from registry.core.format_support.security import own_auth
from registry.core.format_support.shapes import TEXT
from registry.core.formats.api_catalog import rules
from registry.core.model import services
from registry.core.model.documents import Document, Json
from registry.core.model.findings import Finding, rules_in
from registry.core.model.services import Auth, Capability, Group, Invocation, Origin, Plan, Pointer, Pricing, Service
from registry.core.reading.json_pointer import at
from registry.core.reading.link_field import links_of

SLUG: Final = "api-catalog"
_LOOSE: Final = "adhoc"
_TEXT: Final = "text"
_FOLLOWED: Final = {
    "service-desc": None,
    "service-meta": None,
    "describedby": None,
    "api-catalog": SLUG,
    "oauth-protected-resource": "oauth-protected-resource",
    "oauth-authorization-server": "oauth-authorization-server",
    "ucp-profile": "ucp",
    "acp-discovery": "acp",
}
"""Relations whose targets are fetched. `item` is added if its type is a document; payment resources are not fetched."""
_IANA: Final = re.compile(r"https?://www\.iana\.org/assignments/(?:link-relations|relation)/(?:#)?", re.IGNORECASE)
"""A registered relation type written as a URI."""
_KNOWN: Final = frozenset({
    *_FOLLOWED, "item", "service-doc", "status", "terms-of-service", "privacy-policy", "license", "author",
})  # fmt: skip
_NO_API: Final = re.compile(r"text/|image/|application/(?:xml|pdf|(?:rss|atom|feed)\b)|.*\b(?:rss|atom|feed)\+")
_NO_API_FILE: Final = re.compile(r"\.(?:xml|txt|md|html?|pdf|png|jpe?g|svg)$", re.IGNORECASE)
_DESCRIBED_BY: Final = ("service-desc", "service-doc", "service-meta")
_RELATIONS = {
    "docs_url": "service-doc",
    "policies/terms_url": "terms-of-service",
    "policies/privacy_url": "privacy-policy",
}
"""Fields of the service, and the link relation from which each is read."""
_API_BASES: Final = ("baseUrl", "base_url", "url", "endpoint")
_API_DOCS: Final = ("documentation", "docs", "documentationUrl", "docs_url", "humanURL")


def dialect(document: Document) -> str | None:
    value = document.members
    linkset = value.get("linkset")
    return "" if isinstance(linkset, list) or (isinstance(linkset, dict) and "anchor" in linkset) else None


def at_own_path(document: Document) -> str | None:
    """Recognise a list of APIs in any other shape. A weak test, for the catalogue's path."""
    value = document.members
    return _LOOSE if any(isinstance(value.get(key), list) for key in ("apis", "api-catalog")) else None


def as_links(document: Document) -> str | None:
    """Recognise a linkset in text (RFC 9264 section 4.1). A weak test, for the catalogue's path and media type."""
    return _TEXT if any("rel" in params for _, params in islice(links_of(document.text or ""), 5)) else None


def read_links(text: str, _cuts: list[Finding]) -> Json:
    """Return a linkset in text in the shape of one in JSON, of the first MAX_CAPABILITIES links."""
    contexts: dict[str, Object] = {}
    for target, params in islice(links_of(text), manifest.MAX_CAPABILITIES):
        anchor = params.pop("anchor", "")
        context = contexts.setdefault(anchor, {"anchor": anchor})
        for relation in params.pop("rel", "").split()[:MAX_TEXTS]:
            held = context.setdefault(relation.lower(), [])
            if isinstance(held, list):  # not the anchor
                held.append({"href": target, **params})
    return {"linkset": list(contexts.values())}


@dataclass(frozen=True, slots=True)
class _Api:
    """An API that the catalogue names: by an `item`, or as the anchor of its descriptions."""

    url: str
    pointer: str
    title: str | None
    docs_url: str | None
    is_templated: bool = False


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    extra = loose_card(value, document, SLUG, Notes())  # members beside the linkset, which RFC 9727 does not define
    if dialect == _LOOSE:
        value = {"linkset": [{"anchor": document.url, "apis": value.get("apis", value.get("api-catalog"))}]}
    has_links = False
    pointers: list[Pointer] = []
    groups: list[Group] = []
    apis_by_url: dict[str, _Api] = {}
    target_by_relation: dict[str, str] = {}
    pointer_by_relation: dict[str, str] = {}
    for member_pointer, _, member in manifest.parts_of(value, "linkset", "/linkset", notes, ("anchor",)):
        if not isinstance(member, dict):
            notes.add(rules.RELATION, member_pointer, member)
            continue
        if not text_of(member, "anchor") and dialect != _TEXT:
            notes.add(rules.ANCHOR, at(member_pointer, "anchor"))
        anchor, descriptions, documentation = link(member.get("anchor"), document.url), [], None
        is_described = False
        for relation, link_pointer, item in _read_links(member, member_pointer, notes):
            if relation == "item" and _is_api(item):
                address = endpoint(item.get("href"), document.url, document, at(link_pointer, "href"), notes)
                if address is not None:
                    api = _Api(address.url, link_pointer, short_text_of(item, "title"), None, address.templated)
                    apis_by_url.setdefault(address.url, api)
                    has_links = True
                elif text_of(item, "href"):
                    continue  # with a finding
            target = link(item.get("href"), document.url)
            if target is None:
                notes.add(rules.RELATION, link_pointer, item.get("href", ""))
                continue
            has_links = True
            is_described = is_described or relation in _DESCRIBED_BY
            if relation not in target_by_relation:
                target_by_relation[relation], pointer_by_relation[relation] = target, link_pointer
            if (pointer := _read_pointer(relation, link_pointer, item, target)) is not None:
                pointers.append(pointer)
                notes.mark_read(link_pointer)
            descriptions += [target] if relation == "service-desc" else []
            documentation = documentation or (target if relation == "service-doc" else None)
        if anchor and descriptions and anchor != document.url:
            links = [item for item in list_of(member, "service-desc") if isinstance(item, dict)]  # titles: RFC 8288
            titles = [short_text_of(member, "title"), *(short_text_of(item, "title") for item in links)]
            title = next((text for text in titles if text), None)
            groups.append(Group(anchor, title, tuple(dict.fromkeys(descriptions)), documentation))
        is_site = anchor is not None and anchor == origin_of(anchor)
        if anchor and anchor != document.url and (descriptions or (is_described and not is_site)):
            title = next((group.name for group in groups if group.url == anchor), short_text_of(member, "title"))
            known = apis_by_url.get(anchor, _Api(anchor, member_pointer, None, None))
            apis_by_url[anchor] = replace(known, title=known.title or title, docs_url=known.docs_url or documentation)
        ad_hoc_pointers = list(_read_ad_hoc_pointers(member, member_pointer, document, notes))
        has_links = has_links or bool(ad_hoc_pointers)
        pointers += ad_hoc_pointers
    if not has_links:
        notes.add(rules.EMPTY, "/linkset")
    apis = tuple(_read_described_apis(value, document, notes))
    only = apis[0] if len(apis) == 1 else None
    described_urls = {call.endpoint for capability in apis for call in capability.invocations}
    named = [api for api in apis_by_url.values() if api.url not in described_urls]
    own_pointers = [Pointer(api.url, "api", api.pointer) for api in named]  # a host, or nothing to fetch
    service = Service(
        name=extra.name or (only.name if only else None),
        description=extra.description or (only.description if only else None),
        provider=extra.provider,
        homepage=extra.homepage,
        base_url=groups[0].url if groups else None,
        docs_url=target_by_relation.get("service-doc") or extra.docs_url or (only.docs_url if only else None),
        capabilities=(*extra.capabilities, *apis, *_list_apis(named, document)),
        auth=extra.auth if extra.auth != Auth() else (only.invocations[0].auth if only else None) or Auth(),
        pricing=_read_pricing(value, extra),
        protocols=extra.protocols,
        native=native(SLUG, value, ("linkset", "apis", "api-catalog", "name", "description", "endpoints")),
        policies=services.Policies(
            terms_url=target_by_relation.get("terms-of-service"), privacy_url=target_by_relation.get("privacy-policy")
        ),
        pointers=tuple({one.url: one for one in reversed([*pointers, *own_pointers])}.values())[::-1][:MAX_TEXTS],
        groups=tuple({group.url: group for group in reversed(groups)}.values())[::-1][:MAX_TEXTS],
    )
    sources = {
        name: Origin(document.url, pointer_by_relation[relation], SLUG)
        for name, relation in _RELATIONS.items()
        if relation in pointer_by_relation
    }
    pointer_by_field = {
        **dict.fromkeys(("base_url", "groups", "capabilities", "name", "description", "auth", "pricing"), "/linkset"),
        **dict.fromkeys(extra.provenance, ""),
    }
    service_with_origins = manifest.with_provenance(service, document, SLUG, pointer_by_field)
    return replace(service_with_origins, provenance={**service_with_origins.provenance, **sources})


def _read_described_apis(value: Object, document: Document, notes: Notes) -> Iterator[Capability]:
    """Yield an entry for each API that the catalogue itself describes: `apis[]{name, baseUrl, specUrl, auth}`."""
    used_names: set[str] = set()
    for number, member in enumerate(list_of(value, "linkset")[:MAX_TEXTS]):
        for index, item in enumerate(list_of(member, "apis")[:MAX_TEXTS]):
            name = short_text_of(item, "name") or short_text_of(item, "title")
            if not isinstance(item, dict) or name is None:
                continue
            pointer = at("", "linkset", number, "apis", index)
            key = next((key for key in _API_BASES if text_of(item, key)), _API_BASES[0])
            address = endpoint(item.get(key), document.url, document, at(pointer, key), notes)
            url = link(item.get("specUrl"), document.url) or (address.url if address else None)
            auth, origin = own_auth(item, document.url), Origin(document.url, pointer, SLUG)
            yield Capability(
                manifest.slug(name),
                manifest.unique_name(name, used_names),
                text_of(item, "description"),
                tags=manifest.texts_of(item, "tags"),
                docs_url=first_link(item, _API_DOCS, document.url),
                invocations=(Invocation("pointer", url, auth=auth, origin=origin),),
                native=native(SLUG, item, ("name", "description", "tags")),
            )


def _list_apis(apis: list[_Api], document: Document) -> Iterator[Capability]:
    """Yield the provisional capability of each API that the catalogue names."""
    used_names: set[str] = set()
    for api in apis[: manifest.MAX_CAPABILITIES]:
        origin = Origin(document.url, api.pointer, SLUG)
        place = re.split(r"[?#]", api.url.partition("://")[2], maxsplit=1)[0].rstrip("/")
        name = manifest.unique_name(api.title or place[: manifest.NAME_CHARS], used_names)
        call = Invocation("pointer", api.url, templated=api.is_templated, origin=origin)
        yield Capability(manifest.slug(name), name, docs_url=api.docs_url, invocations=(call,))


def _is_api(item: Object) -> bool:
    """Return whether an `item` may be an API: publishers also list feeds, pages and site maps there."""
    kind, href = (short_text_of(item, "type") or "").lower(), text_of(item, "href") or ""
    return not _NO_API.match(kind) and not _NO_API_FILE.search(re.split(r"[?#]", href, maxsplit=1)[0])


def _read_pricing(value: Object, extra: Service) -> Pricing:
    """Return the prices in pricing members, or in a payment protocol's members."""
    payment = manifest.map_of(value, "payment")
    price = price_of(payment)
    if extra.pricing != Pricing() or not (price or payment_of(payment)):
        return extra.pricing
    is_per_call = "x402" in (short_text_of(payment, "protocol") or "")
    return Pricing("pay_per_call" if is_per_call else "unknown", (Plan(price=price),) if price else ())


def _read_links(member: Object, member_pointer: str, notes: Notes) -> Iterator[tuple[str, str, Object]]:
    """Yield (relation, pointer, target object). RFC 9264 section 4.2.3 requires lists of objects."""
    for key, targets in member.items():
        if key in ("anchor", "links", "apis", "relation", "href", "title"):
            continue
        relation = _IANA.sub("", key).lower()
        if (
            not isinstance(targets, list)
            and relation not in _KNOWN
            and not (isinstance(targets, dict) and "href" in targets)
        ):
            continue
        for pointer, _, item in islice(
            manifest.parts_of(member, key, at(member_pointer, key), notes, ("href",)), manifest.MAX_CAPABILITIES
        ):
            if isinstance(item, dict):
                yield relation, pointer, item
                continue
            if isinstance(targets, list):
                notes.add(rules.RELATION, pointer, item)
            if isinstance(item, str):  # a URL instead of an object
                yield relation, pointer, {"href": item}


def _read_pointer(relation: str, pointer: str, item: Object, target: str) -> Pointer | None:
    kind = (short_text_of(item, "type") or "").lower()
    if relation == "item" and not ("json" in kind or "yaml" in kind):
        return None if _is_api(item) else Pointer(target, "related", pointer)  # a page or a feed is not fetched
    if relation not in _FOLLOWED and relation != "item":
        return None
    expected = "openapi" if "openapi" in kind or "vnd.oai" in kind else _FOLLOWED.get(relation)
    return Pointer(target, relation, pointer, expected)


def _read_ad_hoc_pointers(member: Object, member_pointer: str, document: Document, notes: Notes) -> Iterator[Pointer]:
    """Yield pointers from shapes that occur on sites but in no specification, with a finding: `links[]{rel, href}`,
    `relation` with `href`, and `apis[]{specUrl}`."""
    links: list[tuple[str | None, Json, str]] = []
    for index, item in enumerate(list_of(member, "links")[:MAX_TEXTS]):
        if isinstance(item, dict):
            links.append((short_text_of(item, "rel"), item.get("href"), at(member_pointer, "links", index)))
    for index, item in enumerate(list_of(member, "apis")[:MAX_TEXTS]):
        if isinstance(item, dict):
            links.append(("service-desc", item.get("specUrl"), at(member_pointer, "apis", index, "specUrl")))
    if "relation" in member:
        links.append((short_text_of(member, "relation"), member.get("href"), at(member_pointer, "href")))
    if links:
        notes.add(rules.OTHER_SHAPE, member_pointer)
    for relation, href, pointer in links:
        target = link(href, document.url)
        if target and relation in _FOLLOWED:
            yield Pointer(target, relation, pointer, _FOLLOWED[relation])


FORMAT: Final = Format(
    slug=SLUG,
    title="API catalogue (RFC 9727)",
    spec="RFC 9727 section 4; RFC 9264 section 4.2",
    about=(
        "A site lists its APIs and links to the description of each. Any client can start there; this "
        "registry follows the links."
    ),
    link="https://www.rfc-editor.org/rfc/rfc9727",
    example={
        "linkset": [
            {
                "anchor": "https://example.com/weather",
                "service-desc": [{"href": "https://example.com/openapi.json", "type": "application/json"}],
            },
        ],
    },
    paths=("/.well-known/api-catalog",),
    media_types=("application/linkset+json", "application/json", "application/linkset"),
    role=Role.POINTERS,
    read=read,
    parts=(
        Part("/linkset/[]/service-desc|service-meta|describedby|item|api-catalog/[]", "link", members={"href": TEXT}),
        Part("/linkset/[]/apis/[]", "API"),
    ),
    rules=rules_in(rules),
    link_relations=("api-catalog",),
    accept="application/linkset+json",
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S1", 30, "/.well-known/api-catalog"),
        ProbePath("S1", 50, "/.well-known/api-catalog", sub_host="api"),
        ProbePath("S1", 30, "/.well-known/api-catalog", sub_host="docs"),
    ),
    precedence=200,
)
