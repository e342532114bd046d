"""ADP 1.0, Agent Discovery Protocol of agent-dns.dev: `/.well-known/agent` (formats.md section 2.5)."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from registry.core.documents import Document, Json
from registry.core.domains import host_of, same_site
from registry.core.endpoints import Endpoint, callable_url, claim, link
from registry.core.endpoints import endpoint as joined_endpoint
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    Notes,
    Object,
    at,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    sourced,
    text_of,
    texts_of,
    unrendered_url,
    word_of,
)
from registry.core.services import (
    Auth,
    AuthScheme,
    Capability,
    Invocation,
    Origin,
    Plan,
    Pointer,
    Pricing,
    PricingModel,
    Protocol,
    Service,
)
from registry.core.shapes import (
    HOUR,
    Kind,
    check_addresses,
    check_types,
    is_list,
    is_map,
    is_open,
    is_text,
    is_texts,
    max_age,
)

SLUG: Final = "adp"
DETAIL: Final = "adp-detail"
VERSION: Final = "1.0"

_SHORTEST, _SHORT, _LONG, _LONGEST = 10, 20, 200, 500
_PATH = re.compile(r"https?://[^/]+/\.well-known/agent(?:\?.*)?")
_AUTH: Final[Mapping[str, Kind]] = {"header": is_text, "prefix": is_text, "scopes": is_texts}
_SNAKE = re.compile(r"[a-z][a-z0-9_]*")
_VERSION = re.compile(r"\d{1,3}\.\d{1,3}")
_MODELS: Final[dict[str, PricingModel]] = {"free": "free", "freemium": "freemium", "paid": "paid"}
_PLACES: Final = {
    "name": "/name",
    "description": "/description",
    "base_url": "/base_url",
    "capabilities": "/capabilities",
    "auth": "/auth",
    "pricing": "/pricing",
}


def dialect(document: Document) -> str | None:
    """Formats.md section 1 row 21: the declared MAJOR.MINOR, "other" for anything else."""
    value = document.value
    if not isinstance(value, dict) or not isinstance(value.get("capabilities"), list):
        return None
    details = any(isinstance(one, dict) and "detail_url" in one for one in list_of(value, "capabilities"))
    partly = details and ("spec_version" in value or "base_url" in value)
    if not partly and not all(key in value for key in ("spec_version", "base_url", "auth")):
        return None
    version = str(value.get("spec_version"))
    return version if _VERSION.fullmatch(version) else "other"


def endpoint(base_url: str | None, target: str | None) -> str | None:
    """`target` of a capability detail as an absolute public https URL, variables kept; None where it is not one.

    Absolute when it starts with `http`, else appended to `base_url` as the reference client does: RFC 3986 would drop
    the path that a base_url may carry. What changes the host by being appended is refused.
    """
    if target is None or (base_url is None and not target.startswith("http")):
        return None
    found = _joined(target, base_url or target)
    return found.url if found and found.url.startswith("https:") else None


def _joined(target: str, base_url: str) -> Endpoint | None:
    if target.startswith("http"):
        return callable_url(target, target, base_url)
    return callable_url(base_url + target, base_url, base_url) if _stays_on_host(target, base_url) else None


def _stays_on_host(target: str, base_url: str) -> bool:
    """An appended text must begin a path: `https://api.example` + `.evil.example` is another host."""
    return target.startswith(("/", "?")) or base_url.partition("://")[2].find("/") >= 0


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    body = document.value if isinstance(document.value, dict) else {}
    version = body.get("spec_version")
    if version != VERSION:
        notes.add(Reason.ADP_VERSION, "/spec_version", version if version is not None else "")
    _check_served(document, notes)
    check_types(body, {"pricing": is_map}, "", Reason.ADP_MEMBER_TYPE, notes)
    base_url = _base_url(body, document, notes)
    capabilities = tuple(_capabilities(body, base_url, document, notes))
    service = Service(
        name=_name(body, notes),
        description=_description(body, notes),
        base_url=base_url,
        capabilities=capabilities,
        auth=_auth(body, notes),
        pricing=_pricing(body, document, notes),
        protocols=(Protocol("adp", version=word_of(body, "spec_version")),),
        pointers=tuple(_details(capabilities, document)),
        claims={"base_url": base_url} if base_url else {},
    )
    return sourced(service, document, SLUG, _PLACES)


def _check_served(document: Document, notes: Notes) -> None:
    """Section 1, as far as the answer to one GET shows it."""
    if not _PATH.fullmatch(document.url):
        notes.add(Reason.ADP_PATH, "", document.url)
    headers = document.headers
    if not headers:  # a file has none
        return
    if not is_open(headers):
        notes.add(Reason.ADP_CORS, "", headers.get("access-control-allow-origin", ""))
    if max_age(headers) != HOUR:
        notes.add(Reason.ADP_CACHING, "", headers.get("cache-control", ""))


# --- top level ------------------------------------------------------------------------------------------------------


def _name(body: Object, notes: Notes) -> str | None:
    name = word_of(body, "name")
    if name is None:
        notes.add(Reason.ADP_REQUIRED, "/name", body.get("name", ""))
        return None
    return None if has_template(body, ("name",), "", notes) else name


def _description(body: Object, notes: Notes) -> str | None:
    """The page says 10 to 200 characters, the reference validator 20 to 500: graded by what both agree on."""
    said = body.get("description")
    if not isinstance(said, str) or not said.strip():
        notes.add(Reason.ADP_REQUIRED, "/description", body.get("description", ""))
        return None
    if has_template(body, ("description",), "", notes):
        return None
    length = len(said)
    if not _SHORTEST <= length <= _LONGEST:
        notes.add(Reason.ADP_DESCRIPTION_LENGTH, "/description", f"{length} characters")
        return text_of(body, "description", _LONGEST) if length > _LONGEST else None
    if length > _LONG:
        notes.add(Reason.ADP_DESCRIPTION_LONG, "/description", f"{length} characters")
    elif length < _SHORT:
        notes.add(Reason.ADP_DESCRIPTION_SHORT, "/description", f"{length} characters")
    return text_of(body, "description")


def _base_url(body: Object, document: Document, notes: Notes) -> str | None:
    said = body.get("base_url")
    if not isinstance(said, str) or not said.startswith("https://"):
        notes.add(Reason.ADP_BASE_URL, "/base_url", said if said is not None else "")
        return None
    if joined_endpoint(said, document.url, document, "/base_url", notes) is None:
        return None
    if said.endswith("/"):
        notes.add(Reason.ADP_BASE_SLASH, "/base_url", said)
    return claim(said, document, "/base_url", notes)


def _auth(body: Object, notes: Notes) -> Auth:
    auth = map_of(body, "auth")
    check_types(auth, _AUTH, "/auth", Reason.ADP_MEMBER_TYPE, notes)
    check_addresses(auth, ("setup_url",), None, "/auth", Reason.ADP_ADDRESS, notes)
    kind = word_of(auth, "type")
    if kind == "none":
        return Auth((AuthScheme("none"),), False)
    if kind == "oauth2":
        return Auth((_oauth(auth, notes),), True)
    if kind == "api_key":
        return Auth((_api_key(auth, notes),), True)
    notes.add(Reason.ADP_AUTH, "/auth/type" if auth else "/auth", auth.get("type", body.get("auth", "")))
    return Auth()


def _api_key(auth: Object, notes: Notes) -> AuthScheme:
    query = word_of(auth, "query_param")
    in_query = query is not None or auth.get("in") == "query"
    header = word_of(auth, "header")
    if header is None and not in_query:
        notes.add(Reason.ADP_HEADER, "/auth")
    prefix = auth.get("prefix")
    return AuthScheme(
        "api_key",
        location="query" if in_query else "header",
        name=query if in_query else header or "Authorization",
        prefix=None if in_query else text_of(auth, "prefix", ID_CHARS) or ("" if isinstance(prefix, str) else "Bearer"),
        setup_url=_said_link(auth, "setup_url"),
        note=text_of(auth, "note") or text_of(auth, "description"),
    )


def _oauth(auth: Object, notes: Notes) -> AuthScheme:
    authorization, token = _said_link(auth, "authorization_url"), _said_link(auth, "token_url")
    for key, url in (("authorization_url", authorization), ("token_url", token)):
        if url is None:
            notes.add(Reason.ADP_OAUTH, at("/auth", key), auth.get(key, ""))
    return AuthScheme(
        "oauth2",
        authorization_url=authorization,
        token_url=token,
        scopes=texts_of(auth, "scopes"),
        setup_url=_said_link(auth, "setup_url"),
        note=text_of(auth, "note") or text_of(auth, "description"),
    )


def _said_link(holder: Object, key: str) -> str | None:
    """These URLs are absolute: a relative one says nothing about where to go."""
    said = holder.get(key)
    return link(said, said) if isinstance(said, str) else None


def _pricing(body: Object, document: Document, notes: Notes) -> Pricing:
    if "pricing" not in body:
        return Pricing()
    pricing = map_of(body, "pricing")
    model = _MODELS.get(word_of(pricing, "type") or "")
    if model is None:
        notes.add(Reason.ADP_PRICING, "/pricing/type", pricing.get("type", ""))
    check_types(pricing, {"plans": is_list}, "/pricing", Reason.ADP_MEMBER_TYPE, notes)
    check_addresses(pricing, ("plans_url",), document.url, "/pricing", Reason.ADP_ADDRESS, notes)
    for index, plan in enumerate(list_of(pricing, "plans")[:MAX_TEXTS]):
        _check_plan(plan, at("/pricing/plans", index), notes)
    plans = tuple(
        Plan(word_of(plan, "name"), _price(plan), word_of(plan, "limits"))
        for plan in list_of(pricing, "plans")[:MAX_TEXTS]
        if isinstance(plan, dict)
    )
    return Pricing(model or "unknown", plans, link(pricing.get("plans_url"), document.url))


def _check_plan(plan: Json, pointer: str, notes: Notes) -> None:
    for key in ("name", "price", "limits"):
        if not isinstance(plan, dict) or plan.get(key) in (None, ""):
            notes.add(Reason.ADP_PLAN, at(pointer, key))


def _price(plan: Object) -> str | None:
    price = plan.get("price")
    is_number = isinstance(price, int | float) and not isinstance(price, bool)
    return str(price) if is_number else word_of(plan, "price")


# --- capabilities ---------------------------------------------------------------------------------------------------


def _capabilities(body: Object, base_url: str | None, document: Document, notes: Notes) -> Iterator[Capability]:
    listed = body.get("capabilities")
    if not isinstance(listed, list) or not listed:
        notes.add(Reason.ADP_CAPABILITIES, "/capabilities", listed if listed is not None else "")
        return
    seen: set[str] = set()
    for pointer, entry in members(listed, "/capabilities", Reason.ADP_CAPABILITY, notes):
        missing = [key for key in ("name", "description", "detail_url") if not text_of(entry, key)]
        for key in missing:
            notes.add(Reason.ADP_CAPABILITY_REQUIRED, at(pointer, key), entry.get(key, ""))
        name = text_of(entry, "name", ID_CHARS)
        if missing or name is None or is_repeated(name, seen, at(pointer, "name"), notes):
            continue
        if has_template(entry, ("name", "description"), pointer, notes, url="detail_url"):
            continue
        if not _SNAKE.fullmatch(name):
            notes.add(Reason.ADP_NAME, at(pointer, "name"), name)
        yield _capability(entry, name, pointer, base_url, document, notes)


def _capability(
    entry: Object, name: str, pointer: str, base_url: str | None, document: Document, notes: Notes
) -> Capability:
    found = _detail_url(entry["detail_url"], at(pointer, "detail_url"), base_url, notes)
    group = word_of(entry, "resource_group")
    # until the detail is read nobody knows the call: the invocation points at the detail
    call = Invocation(
        "pointer",
        found.url if found else None,
        name=name,
        templated=found is not None and found.templated,
        origin=Origin(document.url, pointer, SLUG),
    )
    return Capability(
        id=name,
        name=name,
        description=text_of(entry, "description"),
        tags=(group,) if group else (),
        detail_url=found.url if found and not found.templated else None,
        invocations=(call,),
    )


def _detail_url(said: Json, pointer: str, base_url: str | None, notes: Notes) -> Endpoint | None:
    if not isinstance(said, str) or unrendered_url(said):
        return None
    if base_url is None and not said.startswith("http"):
        return None  # the missing base_url is an error of its own
    found = _joined(said, base_url or said)
    if found is None:
        absolute = said.startswith("http")
        notes.add(Reason.ENDPOINT_NOT_PUBLIC if absolute else Reason.ENDPOINT_INVALID, pointer, said)
        return None
    if base_url is not None and not _on_site_of(found.url, base_url):
        notes.add(Reason.ADP_DETAIL_ELSEWHERE, pointer, said)
    return found


def _on_site_of(url: str, other: str) -> bool:
    here, there = host_of(url), host_of(other)
    return here is not None and there is not None and same_site(here, there)


def _details(capabilities: tuple[Capability, ...], document: Document) -> Iterator[Pointer]:
    """Details are asked for on the site that serves the manifest only (probe-plan.md section 4)."""
    for capability in capabilities:
        url = link(capability.detail_url, document.url)
        origin = capability.invocations[0].origin
        if url is not None and origin is not None and _on_site_of(url, document.url):
            yield Pointer(url, "detail_url", at(origin.pointer, "detail_url"), DETAIL)


FORMAT: Final = Format(
    slug=SLUG,
    title="Agent Discovery Protocol",
    spec="Agent Discovery Protocol 1.0",
    paths=("/.well-known/agent",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=_read,
)
