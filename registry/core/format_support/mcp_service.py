"""Read the facts about the whole service from documents about MCP servers, in the spellings that publishers use.

Documents state them at the top, in `serverInfo` (SEP-1649) or in a member such as `links`.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

from registry.core.format_support import loose, manifest, mcp_remotes
from registry.core.format_support.endpoints import page
from registry.core.format_support.loose import homepage_of, license_of, payment_of, pricing_of, repository_of
from registry.core.format_support.manifest import MAX_TEXTS, NAME_CHARS, Object, first_text, map_of, short_text_of
from registry.core.format_support.mcp_parts import tool_entries
from registry.core.format_support.mcp_remotes import argument_details, command_package, configured_servers, packages_of
from registry.core.format_support.security import NOTHING_NEEDED, loose_auth
from registry.core.format_support.shapes import says_no_auth, stated_pricing
from registry.core.format_support.vocabulary import rate_limit_object, rate_limit_text
from registry.core.model.documents import Document, Json
from registry.core.model.services import Auth, Package, Payment, Policies, Pricing, Provider, RateLimit

TITLES: Final = ("title", "displayName", "display_name", "name_for_human")
_DOCS: Final = (
    "documentation", "documentationUrl", "documentation_url", "docs", "docsUrl", "docs_url", "helpUrl", "help",
    "api_docs", "developer_docs",
)  # fmt: skip
_DOC_PARTS: Final = ("url", "href", "overview", "docs", "main", "home", "index", "guide", "html", "reference")
_ICONS: Final = ("iconUrl", "icon_url", "icon", "logo", "logo_url", "logoUrl")
_TERMS: Final = ("terms", "termsOfService", "terms_of_service", "termsUrl", "terms_url", "tos", "legal_info_url")
_PRIVACY: Final = ("privacy", "privacyPolicy", "privacy_policy", "privacyUrl", "privacy_url", "privacyPolicyUrl")
_TAGS: Final = ("tags", "keywords", "categories")
_RATES: Final = ("rate_limit", "rateLimit", "rate_limits", "rateLimits")
_AUTHS: Final = ("authentication", "auth", "authorization", "security")
_PRICES: Final = ("pricing", "payment", "payments", "price", "billing")

READ: Final = frozenset({
    "$schema", "name", *TITLES, "description", "version", "tools", *_DOCS, "homepage", "website", "websiteUrl",
    "website_url", "repository_url", "repositoryUrl", "license", "tags", "keywords", "url", "transport", "remotes",
    "mcpServers", "packages", "endpoint", "protocolVersion", "protocol_version", "protocol",
})  # fmt: skip
"""Members that the model expresses in full, wherever they stand."""
CONTEXT: Final = frozenset({"resources", "resourceTemplates", "prompts"})
_PARTLY_READ: Final = frozenset({*_DOCS, "transport", "tools", "endpoint", "license", "website", "homepage"})


def base_service(holders: list[Object], top: Object, document: Document) -> dict[str, Any]:
    """Return the fields of Service that describe it as a whole, from the first of `holders` that says each. `top` is
    the document itself."""
    base, everywhere = document.url, [*holders, map_of(top, "links")]
    title = _first(first_text(holder, *TITLES, chars=NAME_CHARS) for holder in holders)
    name = _first(name_of(holder) for holder in holders)
    return {
        "name": title or name,
        "description": _first(first_text(holder, "description", "summary", "tagline") for holder in holders),
        "provider": _read_provider(holders, base),
        "version": _first(short_text_of(holder, "version") for holder in holders),
        "homepage": _first(_read_homepage(holder, base) for holder in everywhere),
        "docs_url": _first(_read_docs(holder, base) for holder in everywhere),
        "icon_url": _first(_read_icon(holder, base) for holder in holders),
        "repository": _first(_read_repository(holder, base) for holder in everywhere),
        "license": _first(license_of(holder) for holder in holders),
        "tags": _first(manifest.texts_of(holder, key) for holder in holders for key in _TAGS) or (),
        "pricing": _read_pricing(holders, base),
        "policies": Policies(
            terms_url=_first(page(holder.get(key), base) for holder in everywhere for key in _TERMS),
            privacy_url=_first(page(holder.get(key), base) for holder in everywhere for key in _PRIVACY),
            rate_limit=_first(_read_rate(holder.get(key)) for holder in everywhere for key in _RATES),
        ),
        "packages": _read_packages(holders, top, base),
    }


def name_of(holder: Object) -> str | None:
    """Return the name of a server; None for a placeholder."""
    if manifest.has_placeholder(holder.get("name")):
        return None
    return short_text_of(holder, "name") or short_text_of(holder, "mcpName")


def first_pointer(value: Object, *keys: str) -> str:
    """Return the pointer to the first of `keys` that the document has; "" for none."""
    return next((f"/{key}" for key in keys if value.get(key)), "")


def mcp_auth(value: Object, remotes_auth: Auth, description: str | None, base: str) -> Auth:
    """Return the credentials that the document demands, else what its addresses demand. "None" also where a
    sentence says that nothing is needed and no scheme is named."""
    for key in _AUTHS:
        held = value.get(key)
        auth = loose_auth(held, base)
        if isinstance(held, dict) and isinstance(held.get("alternative_methods"), list):
            others = loose_auth({"schemes": held["alternative_methods"]}, base)
            auth = Auth(tuple(dict.fromkeys((*auth.schemes, *others.schemes))), auth.required)
        if auth != Auth():
            is_open = not auth.schemes and auth.required is False and not remotes_auth.schemes
            return NOTHING_NEEDED if is_open else auth if auth.schemes else Auth(remotes_auth.schemes, auth.required)
    for key in ("requiresAuth", "requires_auth", "authRequired", "auth_required"):
        if manifest.flag_of(value, key) is False and not remotes_auth.schemes:
            return NOTHING_NEEDED
    if remotes_auth == Auth() and says_no_auth([description]):
        return NOTHING_NEEDED
    return remotes_auth


def other_facts(slug: str, value: Object, read: Collection[str], more: Object) -> dict[str, dict[str, Any]]:
    """Return the members of the document that no field expresses; those of `serverInfo` below its name."""
    top: Object = dict(value)
    partly = {key for key in _PARTLY_READ if isinstance(top.get(key), dict | list) and not _is_expressed(key, top[key])}
    read = frozenset(read) - partly
    if isinstance(top.get("serverInfo"), dict):
        top["serverInfo"] = manifest.other_members(top["serverInfo"], read)
    repository = map_of(top, "repository")
    top["repository"] = {key: item for key, item in repository.items() if key not in ("url", "type")}
    return manifest.native(slug, {**top, **more, "arguments": list(argument_details(top))}, read)


def _is_expressed(key: str, value: Json) -> bool:
    """Return whether a member that may hold more than the reader takes from it holds no more."""
    if key == "transport":
        return isinstance(value, dict) and value.keys() <= {"type", "url", "endpoint", "protocolVersion"}
    return key == "tools" and (isinstance(value, list) or bool(tool_entries({"tools": value})))


def _first(values: Iterable[Any]) -> Any:
    return next((value for value in values if value), None)


def _read_homepage(holder: Object, base: str) -> str | None:
    found = homepage_of(holder, base)
    keys = ("homepage", "website", "websiteUrl", "website_url", "homePage", "homepage_url")
    return _first(page(holder.get(key), base) for key in keys) if found else None


def _read_docs(holder: Object, base: str) -> str | None:
    """Return the page of documentation: a text, `{url}` or named pages, or a list of `{href}`."""
    for key in _DOCS:
        held: Json = holder.get(key)
        if isinstance(held, list):
            held = next((item for item in held if isinstance(item, str | dict)), None)
        if isinstance(held, dict):
            held = first_text(held, *_DOC_PARTS) or next(iter(held.values()), None)
        if url := page(held, base):
            return url
    return None


def _read_icon(holder: Object, base: str) -> str | None:
    icon = next(iter(manifest.list_of(holder, "icons")), None)
    return page(first_text(icon, "src", "url") or first_text(holder, *_ICONS), base)


def _read_repository(holder: Object, base: str) -> str | None:
    source = holder.get("source")
    return repository_of(holder, base) or repository_of({"repo": source} if isinstance(source, str) else {}, base)


def _read_provider(holders: list[Object], base: str) -> Provider | None:
    """Return who runs the service; contacts may stand in another place than the name."""
    found = [provider for holder in holders if (provider := loose.provider_of(holder, base)) is not None]
    if not found:
        return None
    texts = dict.fromkeys(text for one in found for text in (one.contact, *one.contacts) if text is not None)
    contacts = tuple(texts)[:MAX_TEXTS]
    name, url = _first(one.name for one in found), _first(one.url for one in found)
    return Provider(name, url, contacts[0] if contacts else None, contacts[1:])


def _read_pricing(holders: list[Object], base: str) -> Pricing:
    """Return prices and ways to pay. A member for payments announces that calls are paid for."""
    pricing, payments = Pricing(), list[Payment]()
    is_paid = False
    for holder in holders:
        for key in _PRICES:
            held = holder.get(key)
            if held and pricing == Pricing():
                pricing = pricing_of(held, base)
            parts = (held, *held.values()) if isinstance(held, dict) else ()
            payments += [payment for part in parts if (payment := payment_of(part)) is not None]
            is_paid = is_paid or (key in ("payment", "payments") and isinstance(held, dict) and bool(held))
        others = (payment_of(held) for key, held in holder.items() if key not in _PRICES)
        payments += [payment for payment in others if payment is not None and payment.pay_to]
    word = _first(short_text_of(holder, "pricing_model") for holder in holders)
    model = pricing.model
    if model == "unknown" and word:
        model = pricing_of(word, base).model
    if model == "unknown":
        texts = [first_text(holder, "description") for holder in holders]
        model = stated_pricing(texts) or ("pay_per_call" if is_paid or payments else "unknown")
    note = pricing.note or ("payment" if is_paid and not pricing.plans else None) or word
    return Pricing(model, pricing.plans, pricing.url, note, tuple(dict.fromkeys(payments))[:MAX_TEXTS])


def _read_rate(value: Json) -> RateLimit | None:
    if isinstance(value, str):
        return rate_limit_text(short_text_of({"": value}, ""))
    for key in ("perMinute", "requests_per_minute", "per_minute", "rpm"):
        if count := manifest.count_of(value, key):
            return RateLimit(count, "1m")
    return rate_limit_object(value)


def _read_packages(holders: list[Object], top: Object, base: str) -> tuple[Package, ...]:
    found = [
        package for holder in holders for package in (*packages_of(holder, base), *mcp_remotes.read_install(holder))
    ]
    started = [command_package(entry) for _, _, entry in configured_servers(top)]
    found += [package for package in started if package is not None]
    return tuple(dict.fromkeys(found))[:MAX_TEXTS]
