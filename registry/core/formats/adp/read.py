"""Read ADP 1.0 manifests (Agent Discovery Protocol of agent-dns.dev) into the common model."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from registry.core.format_support import common_rules, manifest, shapes
from registry.core.format_support.endpoints import Endpoint, callable_url, claim, is_unfilled, link, page, parse_short
from registry.core.format_support.endpoints import endpoint as joined_endpoint
from registry.core.formats.adp import rules
from registry.core.model import services
from registry.core.model.documents import Document, Json
from registry.core.names.domains import host_of, same_site
from registry.core.reading.json_pointer import at

SLUG: Final = "adp"
DETAIL: Final = "adp-detail"
VERSION: Final = "1.0"

_MIN_CHARS, _SHORT, _LONG, _MAX_CHARS = 10, 20, 200, 500
_PATH = re.compile(r"https?://[^/]+/\.well-known/agent(?:\?.*)?")
_AUTH: Final = {"header": shapes.TEXT, "prefix": shapes.TEXT, "scopes": shapes.TEXTS}
_PLACES: Final = {
    "query": "query", "queryparam": "query", "querystring": "query", "url": "query", "urlquery": "query",
    "path": "path", "urlpath": "path", "cookie": "cookie", "body": "body",
}  # fmt: skip
_FURTHER_HEADER = re.compile(
    r"\b(?:also|additionally)\s+(?:requires?|needs?|sends?)\s+(?:an?\s+|the\s+)?[`'\"]?([A-Za-z]\w*(?:-\w+)+)[`'\"]?\s+header",
    re.IGNORECASE,
)
_SNAKE = re.compile(r"[a-z][a-z0-9_]*")
_VERSION = re.compile(r"\d{1,3}\.\d{1,3}")
_READ: Final = frozenset({"spec_version", "name", "description", "base_url", "auth", "pricing", "capabilities"})
_ENTRY_READ: Final = frozenset({"name", "description", "detail_url", "resource_group"})
_MODELS: Final[dict[str, services.PricingModel]] = {"free": "free", "freemium": "freemium", "paid": "paid"}
_POINTERS: Final = manifest.own_members("name", "description", "base_url", "capabilities", "auth", "pricing")


def dialect(document: Document) -> str | None:
    """Return the declared MAJOR.MINOR, "other" for any other version, None for a document that is not ADP."""
    value = document.members
    if not isinstance(value.get("capabilities"), list):
        return None
    has_details = any(
        isinstance(entry, dict) and "detail_url" in entry for entry in manifest.list_of(value, "capabilities")
    )
    is_partial = has_details and ("spec_version" in value or "base_url" in value)
    if not is_partial and not all(key in value for key in ("spec_version", "base_url", "auth")):
        return None
    version = str(value.get("spec_version"))
    return version if _VERSION.fullmatch(version) else "other"


def endpoint(base_url: str | None, target: str | None) -> str | None:
    """Return a capability detail's endpoint as an absolute public https URL, variables kept; None if it is not one. A
    `target` that starts with `http` is absolute. Any other is appended to `base_url`, as the reference client does,
    because RFC 3986 would drop the path of the base_url. A target that would change the host is refused."""
    if target is None or (base_url is None and not target.startswith("http")):
        return None
    address = _resolve(target, base_url or target)
    return address.url if address and address.url.startswith("https:") else None


def _resolve(target: str, base_url: str) -> Endpoint | None:
    if target.startswith("http"):
        return callable_url(target, target, base_url)
    # `https://api.example` + `.evil.example` is another host
    stays_on_host = target.startswith(("/", "?")) or "/" in base_url.partition("://")[2]
    return callable_url(base_url + target, base_url, base_url) if stays_on_host else None


def read(document: Document, dialect: str, notes: manifest.Notes) -> services.Service:
    body = document.members
    version = body.get("spec_version")
    if version != VERSION:
        notes.add(rules.VERSION, "/spec_version", version if version is not None else "")
    _check_served(document, notes)
    shapes.check_types(body, {"pricing": shapes.OBJECT}, "", rules.MEMBER_TYPE, notes)
    base_url = _read_base_url(body, document, notes)
    capabilities = tuple(_read_capabilities(body, base_url, document, notes))
    service = services.Service(
        name=manifest.required_text(body, "name", rules.REQUIRED, notes, manifest.NAME_CHARS),
        description=_read_description(body, notes),
        base_url=base_url,
        capabilities=capabilities,
        auth=_read_auth(body, notes),
        pricing=_read_pricing(body, document, notes),
        protocols=(services.Protocol("adp", version=manifest.short_text_of(body, "spec_version")),),
        pointers=tuple(_read_detail_pointers(capabilities, document)),
        claims={"base_url": base_url} if base_url else {},
        native=manifest.native(SLUG, body, _READ),
    )
    return manifest.with_provenance(service, document, SLUG, _POINTERS)


def _check_served(document: Document, notes: manifest.Notes) -> None:
    """Check how the manifest is served (section 1), as far as one GET answer shows it."""
    if not _PATH.fullmatch(document.url):
        notes.add(rules.PATH, "", document.url)
    headers = document.headers
    if not headers:  # the document was read from a file
        return
    shapes.check_origin(headers, rules.CORS, notes)
    if shapes.max_age(headers) != shapes.HOUR:
        notes.add(rules.CACHING, "", headers.get("cache-control", ""))


# --- top level ------------------------------------------------------------------------------------------------------


def _read_description(body: manifest.Object, notes: manifest.Notes) -> str | None:
    """Return the description. The specification allows 10 to 200 characters, the reference validator 20 to 500. A
    length that both refuse is an ERROR; a length that only one of them refuses is a WARNING or an INFO finding."""
    description = body.get("description")
    if not isinstance(description, str) or not description.strip():
        notes.add(rules.REQUIRED, "/description", body.get("description", ""))
        return None
    if manifest.has_template(body, ("description",), "", notes):
        return None
    length = len(description)
    if not _MIN_CHARS <= length <= _MAX_CHARS:
        notes.add(rules.DESCRIPTION_LENGTH, "/description", f"{length} characters")
        return manifest.text_of(body, "description", _MAX_CHARS) if length > _MAX_CHARS else None
    if length > _LONG:
        notes.add(rules.DESCRIPTION_LONG, "/description", f"{length} characters")
    elif length < _SHORT:
        notes.add(rules.DESCRIPTION_SHORT, "/description", f"{length} characters")
    return manifest.text_of(body, "description")


def _read_base_url(body: manifest.Object, document: Document, notes: manifest.Notes) -> str | None:
    base_url = body.get("base_url")
    if not isinstance(base_url, str) or not base_url.startswith("https://"):
        notes.add(rules.BASE_URL, "/base_url", base_url if base_url is not None else "")
        return None
    if joined_endpoint(base_url, document.url, document, "/base_url", notes) is None:
        return None
    if base_url.endswith("/"):
        notes.add(rules.BASE_SLASH, "/base_url", base_url)
    return claim(base_url, document, "/base_url", notes)


def _read_auth(body: manifest.Object, notes: manifest.Notes) -> services.Auth:
    auth = manifest.map_of(body, "auth")
    shapes.check_types(auth, _AUTH, "/auth", rules.MEMBER_TYPE, notes)
    shapes.check_addresses(auth, ("setup_url",), None, "/auth", rules.ADDRESS, notes)
    kind = manifest.short_text_of(auth, "type")
    if kind == "none":
        return services.Auth((services.AuthScheme("none"),), False)
    if kind == "oauth2":
        return services.Auth((_read_oauth(auth, notes),), True)
    if kind == "api_key":
        return _read_api_keys(auth, notes)
    notes.add(rules.AUTH, "/auth/type" if auth else "/auth", auth.get("type", body.get("auth", "")))
    return services.Auth()


def _read_api_keys(auth: manifest.Object, notes: manifest.Notes) -> services.Auth:
    """Return the keys that a client sends: in the query, in a header, or elsewhere (section 3, and common practice).

    `header` often names a place ("query", "url_path") for a key that is not sent in a header. With a `query_param`, a
    header is an alternative unless it is just the default without a prefix. A further header that the note demands is
    needed at the same time.
    """
    query, header = manifest.short_text_of(auth, "query_param"), manifest.short_text_of(auth, "header")
    place = _PLACES.get(re.sub(r"[^a-z]", "", (manifest.short_text_of(auth, "in") or header or "").lower()))
    if header is None and query is None and place is None:
        notes.add(rules.HEADER, "/auth")
    note = manifest.text_of(auth, "note") or manifest.text_of(auth, "description")
    key = services.AuthScheme("api_key", setup_url=_absolute(page, auth.get("setup_url")), note=note)
    schemes = []
    if query is not None or place is not None:
        schemes.append(replace(key, location=place or "query", name=query))
    if place is None and (query is None or "prefix" in auth or header not in (None, "Authorization")):
        prefix = manifest.text_of(auth, "prefix", manifest.ID_CHARS) or (
            "" if isinstance(auth.get("prefix"), str) else "Bearer"
        )
        schemes.append(replace(key, location="header", name=header or "Authorization", prefix=prefix))
    further = _FURTHER_HEADER.search(note or "")
    if further is None:
        return services.Auth(tuple(schemes), True)
    combinations = tuple((index, len(schemes)) for index in range(len(schemes)))
    return services.Auth((*schemes, services.AuthScheme("api_key", "header", further[1], "")), True, combinations)


def _read_oauth(auth: manifest.Object, notes: manifest.Notes) -> services.AuthScheme:
    authorization, token = (_absolute(link, auth.get(key)) for key in ("authorization_url", "token_url"))
    for key, url in (("authorization_url", authorization), ("token_url", token)):
        if url is None:
            notes.add(rules.OAUTH, at("/auth", key), auth.get(key, ""))
    return services.AuthScheme(
        "oauth2",
        authorization_url=authorization,
        token_url=token,
        scopes=manifest.texts_of(auth, "scopes"),
        setup_url=_absolute(page, auth.get("setup_url")),
        note=manifest.text_of(auth, "note") or manifest.text_of(auth, "description"),
    )


def _absolute(find: Callable[[Json, str], str | None], url: Json) -> str | None:
    """Return what `page` or `link` finds; a relative URL is dropped, because ADP names no base for these members."""
    return find(url, url) if isinstance(url, str) else None


def _read_pricing(body: manifest.Object, document: Document, notes: manifest.Notes) -> services.Pricing:
    if "pricing" not in body:
        return services.Pricing()
    pricing = manifest.map_of(body, "pricing")
    model = _MODELS.get(manifest.short_text_of(pricing, "type") or "")
    if model is None:
        notes.add(rules.PRICING, "/pricing/type", pricing.get("type", ""))
    shapes.check_types(pricing, {"plans": shapes.LIST}, "/pricing", rules.MEMBER_TYPE, notes)
    shapes.check_addresses(pricing, ("plans_url",), document.url, "/pricing", rules.ADDRESS, notes)
    plans = []
    for index, plan in enumerate(manifest.list_of(pricing, "plans")[: manifest.MAX_TEXTS]):
        holder = plan if isinstance(plan, dict) else {}
        for key in ("name", "price", "limits"):
            if holder.get(key) in (None, ""):
                notes.add(rules.PLAN, at("/pricing/plans", index, key))
        price = holder.get("price")
        is_number = isinstance(price, int | float) and not isinstance(price, bool)
        text = str(price) if is_number else manifest.short_text_of(plan, "price")
        if isinstance(plan, dict):
            plans.append(
                services.Plan(manifest.short_text_of(plan, "name"), text, manifest.short_text_of(plan, "limits"))
            )
    return services.Pricing(model or "unknown", tuple(plans), page(pricing.get("plans_url"), document.url))


# --- capabilities ---------------------------------------------------------------------------------------------------


def _read_capabilities(
    body: manifest.Object, base_url: str | None, document: Document, notes: manifest.Notes
) -> Iterator[services.Capability]:
    entries = body.get("capabilities")
    if not isinstance(entries, list) or not entries:
        notes.add(rules.CAPABILITIES, "/capabilities", entries if entries is not None else "")
        return
    seen: set[str] = set()
    for pointer, entry in manifest.members(entries, "/capabilities", rules.CAPABILITY, notes):
        missing = shapes.missing_texts(
            entry, ("name", "description", "detail_url"), pointer, rules.CAPABILITY_REQUIRED, notes
        )
        name = manifest.text_of(entry, "name", manifest.ID_CHARS)
        if missing or name is None or manifest.is_repeated(name, seen, at(pointer, "name"), notes):
            continue
        if manifest.has_template(entry, ("name", "description"), pointer, notes, url="detail_url"):
            continue
        if not _SNAKE.fullmatch(name):
            notes.add(rules.NAME, at(pointer, "name"), name)
        yield _read_capability(entry, name, pointer, base_url, document, notes)


def _read_capability(
    entry: manifest.Object, name: str, pointer: str, base_url: str | None, document: Document, notes: manifest.Notes
) -> services.Capability:
    address = _read_detail_url(entry["detail_url"], at(pointer, "detail_url"), base_url, document, notes)
    group = manifest.short_text_of(entry, "resource_group")
    # the call is unknown until the detail is read, so the invocation points at the detail
    call = services.Invocation(
        "pointer",
        address.url if address else None,
        name=name,
        templated=address is not None and address.templated,
        origin=services.Origin(document.url, pointer, SLUG),
    )
    return services.Capability(
        id=name,
        name=name,
        description=manifest.text_of(entry, "description"),
        tags=(group,) if group else (),
        detail_url=address.url if address and not address.templated else None,
        invocations=(call,),
        native=manifest.native(SLUG, entry, _ENTRY_READ),
    )


def _read_detail_url(
    detail_url: Json, pointer: str, base_url: str | None, document: Document, notes: manifest.Notes
) -> Endpoint | None:
    if not isinstance(detail_url, str) or manifest.unrendered_url(detail_url):
        return None
    if base_url is None and not detail_url.startswith("http"):
        return None  # the missing base_url has its own finding
    address = _resolve(detail_url, base_url or detail_url)
    named_host = detail_url if base_url is None or detail_url.startswith("http") else base_url  # parsed once for all
    if address is not None and is_unfilled(parse_short(named_host, document.url), document.url):
        notes.add(common_rules.TEMPLATE, pointer, detail_url)
        return None
    if address is None:
        is_absolute = detail_url.startswith("http")
        rule = common_rules.ENDPOINT_NOT_PUBLIC if is_absolute else common_rules.ENDPOINT_INVALID
        notes.add(rule, pointer, detail_url)
        return None
    if base_url is not None and not _is_same_site(address.url, base_url):
        notes.add(rules.DETAIL_ELSEWHERE, pointer, detail_url)
    return address


def _is_same_site(url: str, other: str) -> bool:
    host, other_host = host_of(url), host_of(other)
    return host is not None and other_host is not None and same_site(host, other_host)


def _read_detail_pointers(
    capabilities: tuple[services.Capability, ...], document: Document
) -> Iterator[services.Pointer]:
    """Yield pointers to details on the site that serves the manifest only (docs/crawler.md, "Pointers")."""
    for capability in capabilities:
        url = link(capability.detail_url, document.url)
        origin = capability.invocations[0].origin
        if url is not None and origin is not None and _is_same_site(url, document.url):
            yield services.Pointer(url, "detail_url", at(origin.pointer, "detail_url"), DETAIL)
