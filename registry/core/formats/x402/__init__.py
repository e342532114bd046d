"""Recognise x402 discovery files and read their resources and prices, which are only claims."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from registry.core.format_support import common_rules, loose, manifest
from registry.core.format_support.account import TEXT_OR_OBJECT, Part
from registry.core.format_support.endpoints import first_link, link, origin_of
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import Notes, Object, first_text, list_of, map_of, short_text_of, text_of
from registry.core.format_support.offers import (
    EXPRESSED,
    Offer,
    capabilities_of,
    is_address,
    methods_of,
    offers_in,
    resolve_address,
    target_of,
)
from registry.core.format_support.probing import ProbePath, Topic, never
from registry.core.format_support.shapes import LIST, stated_pricing
from registry.core.format_support.token_amounts import asset_name, priced
from registry.core.formats.x402 import rules
from registry.core.formats.x402.resources import Resource, read_resource, without_read_parts
from registry.core.model import services
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, Capability, Payment, Plan, Pricing, Protocol, Provider, Service
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = "x402"
_AD_HOC: Final = "adhoc"
_OWN_KEYS: Final = ("resources", "payTo", "payment", "pricing", "x402_enabled", "payment_methods")
_LISTS: Final = ("items", "resources")
_LOOSE_LISTS: Final = ("endpoints", "tools", "payable_endpoints", "paid_endpoints", "capability_catalog", "routes")
_ALL_LISTS: Final = (*_LOOSE_LISTS, "services", "apis")
_FREE_LISTS: Final = ("freeEndpoints", "free_endpoints", "freeResources", "free_resources")
_OF_ANSWER: Final = ("resource", "accepts", "extensions", "description", "mimeType", "method")
_BASES: Final = ("base_url", "baseUrl", "public_base_url", "api_base", "url", "endpoint")
_PAYEES: Final = ("payTo", "pay_to", "wallet_address", "wallet", "recipient", "address")
_RAILS: Final = ("accepts", "rails", "payment_methods", "paymentMethods", "networks")
_PAYEE_OF = re.compile(r"pay_?to_?([a-z0-9]+)", re.IGNORECASE)
_UNITS: Final = ("currency", "token", "asset", "symbol")
_UNIT = re.compile(r"[A-Za-z][A-Za-z.]{1,9}")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,18})?")
_METHODS = "GET|POST|PUT|DELETE"
_STATED_PRICE = re.compile(rf"\b({_METHODS})(?:\|(?:{_METHODS})){{0,3}}\s+(/[^\s,;]{{0,200}})\s+(\$\d[\d.]{{0,12}})")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{2,63}){1,4}(?![\w@])")
_READ: Final = frozenset({
    "name", "serviceName", "description", "items", "resources", "endpoints", "tools", "payable_endpoints",
    "capability_catalog", "routes", "tags", "x402Version", "accepts", "version", *_FREE_LISTS,
})  # fmt: skip


def dialect(document: Document) -> str | None:
    """Return the protocol's version, "adhoc" for other versions and files that only name the protocol, else None."""
    value = document.members
    stated = value.get("x402Version", value.get("x402_version"))
    if stated is not None and "skills" not in value and "serverInfo" not in value:
        version = str(stated).strip().lower().removeprefix("v").removesuffix(".0")
        return version if version in ("1", "2") else _AD_HOC
    return _AD_HOC if value.get("protocol") == SLUG or manifest.flag_of(value, "x402_enabled") is not None else None


def at_own_path(document: Document) -> str | None:
    value = document.members
    return _AD_HOC if any(key in value for key in _OWN_KEYS) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    if manifest.flag_of(value, "enabled") is False:
        notes.add(common_rules.DECLARED_INACTIVE, "/enabled", False)
    if dialect == _AD_HOC:
        notes.add(rules.SHAPE)
    capabilities = tuple(_read_capabilities(value, dialect, document, notes))
    payments = tuple(dict.fromkeys(_read_payments(value)))[: manifest.MAX_TEXTS]
    is_payable = bool(capabilities or payments)
    if not capabilities:
        notes.add(rules.NO_RESOURCE, "/resources" if "resources" in value else "/items")
    protocol = map_of(value, "payment_protocol")
    how_to_pay = first_text(value, "instructions") or first_text(protocol, "verification", "description", "note")
    service = Service(
        name=first_text(value, *_NAMES, chars=manifest.NAME_CHARS) or short_text_of(map_of(value, "agent"), "name"),
        description=text_of(value, "description"),
        provider=_read_provider(value, document),
        homepage=loose.homepage_of(value, document.url),
        docs_url=first_link(value, ("docs", "documentation"), document.url),
        repository=loose.repository_of(value, document.url),
        license=loose.license_of(value),
        tags=manifest.texts_of(value, "tags"),
        capabilities=capabilities,
        auth=Auth((services.AuthScheme("payment", note=how_to_pay),)) if is_payable else Auth(),
        pricing=_read_pricing(value, capabilities, payments) if is_payable else Pricing(),
        protocols=tuple(dict.fromkeys(_read_protocols(value, dialect, capabilities, document, is_payable))),
        native=manifest.native(SLUG, value, _READ),
    )
    list_pointer = next((f"/{key}" for key in (*_LISTS, *_ALL_LISTS) if value.get(key)), "")
    name_key = next((key for key in _NAMES if short_text_of(value, key)), "name")
    text_pointers = {"name": f"/{name_key}", "description": "/description", "provider": "", "tags": "/tags"}
    list_pointers = dict.fromkeys(("capabilities", "auth", "pricing", "protocols"), list_pointer)
    return manifest.with_provenance(service, document, SLUG, {**text_pointers, **list_pointers})


_NAMES: Final = ("serviceName", "name", "service", "product")


def _read_provider(value: Object, document: Document) -> Provider | None:
    """Return who is paid; a mail address in the instructions counts as a contact where no member names one."""
    provider = loose.provider_of({key: item for key, item in value.items() if key != "provider"}, document.url)
    if loose.contacts_of(value):
        return provider
    mail = _MAIL.search(text_of(value, "instructions") or "")
    return replace(provider or Provider(), contact=mail[0]) if mail else provider


def _read_protocols(
    value: Object, dialect: str, capabilities: tuple[Capability, ...], document: Document, is_payable: bool
) -> Iterator[Protocol]:
    if is_payable:
        yield Protocol(SLUG, None if dialect == _AD_HOC else dialect)
    for call in (call for capability in capabilities for call in capability.invocations):
        if call.kind == "mcp_tool" and call.endpoint:
            yield Protocol("mcp", None, call.endpoint)
    for holder in (value, map_of(value, "integration"), map_of(value, "discovery")):
        target = link(first_text(holder, "mcp_endpoint", "mcpEndpoint", "mcp_url", "mcp"), document.url)
        if target:
            yield Protocol("mcp", None, target)


def _read_capabilities(value: Object, dialect: str, document: Document, notes: Notes) -> Iterator[Capability]:
    """Yield the resources, each address, method and description once; later entries complete earlier ones."""
    base = first_link(value, _BASES, document.url) or origin_of(document.url)
    used_names: set[str] = set()
    for offer, resource in _read_offers(value, dialect, base, document, notes)[: manifest.MAX_CAPABILITIES]:
        is_free = resource.holder.get("price") == "free"
        if not resource.accepts and dialect != _AD_HOC and not is_free:
            notes.add(rules.ACCEPTS, f"{offer.pointer}/accepts")
        entry = replace(offer, holder=resource.holder)
        found = list(capabilities_of(entry, base, document, SLUG, used_names, notes, kind="rpc"))
        if not found and target_of(resource.holder)[0] is None:
            notes.add(rules.RESOURCE, offer.pointer, resource.holder.get("resource", resource.holder.get("url", "")))
        for capability in found:
            calls = capability.invocations
            if resource.tool:
                calls = tuple(replace(call, kind="mcp_tool", method=None, name=resource.tool) for call in calls)
            yield replace(
                capability,
                result=resource.result or capability.result,
                pricing=_with_price(capability.pricing, resource, value),
                output_modes=(resource.media_type,) if resource.media_type else (),
                invocations=calls,
                native=manifest.native(SLUG, without_read_parts(offer.holder), (*EXPRESSED, "type")),
            )


def _read_offers(
    value: Object, dialect: str, base: str, document: Document, notes: Notes
) -> list[tuple[Offer, Resource]]:
    """Return the entries of the specified lists, of other lists, and of prices with addresses, each once."""
    offers = offers_in(value, _LISTS) or _read_requirements(value)
    others = offers_in(value, _LOOSE_LISTS) if offers and dialect != _AD_HOC else offers_in(value, _ALL_LISTS)
    others += [replace(offer, holder={"price": "free", **offer.holder}) for offer in offers_in(value, _FREE_LISTS)]
    if not offers or dialect == _AD_HOC:
        others += _read_prices(value)
    if len(offers) + len(others) > manifest.MAX_CAPABILITIES:
        notes.add(common_rules.TOO_MANY_CAPABILITIES, "/items", len(offers) + len(others))
    paths = [offer for offer in offers if (target_of(offer.holder)[0] or "").startswith("/")]
    odd = paths if offers else others
    if dialect != _AD_HOC and odd:  # readable, but not in the specified shape
        notes.add(rules.SHAPE, odd[0].pointer)
    # instructions such as "GET /report $0.05, POST /scan $0.01"
    prices = _STATED_PRICE.findall(text_of(value, "instructions") or "")
    stated: dict[str, Object] = {path: {"method": method, "price": price} for method, path, price in prices}
    merged: dict[tuple[str, str | None, str, str | None], tuple[Offer, Resource]] = {}
    for offer in (*offers, *others):
        resource = read_resource(offer.holder)
        target, _, _ = target_of(resource.holder)
        if target is None and offer in offers:
            target = "" if "resource" not in offer.holder else None
        address = resolve_address(target, base, document, offer.pointer, Notes()) if target else None
        url = address.url if address else f"{offer.pointer} {target or ''}"
        described = text_of(resource.holder, "description")
        method = next(iter(methods_of(resource.holder)), None)
        alike = (
            key for key in merged
            if (key[0], key[3]) == (url, resource.tool) and (described is None or key[2] in ("", described))
        )  # fmt: skip
        known = next((key for key in alike if method is None or key[1] in (None, method)), None)
        extra = stated.get("/" + url.partition("://")[2].partition("/")[2].partition("?")[0], {})
        if known is None:
            holder = {**extra, **resource.holder}
            merged[url, method, described or "", resource.tool] = offer, replace(resource, holder=holder)
        else:
            notes.mark_read(offer.pointer)
            first, complete = merged[known]
            merged[known] = first, _completed(complete, resource)
    return list(merged.values())


def _completed(first: Resource, later: Resource) -> Resource:
    """Return the first description of a resource with what a later one adds."""
    accepts = [*first.accepts, *(item for item in later.accepts if item not in first.accepts)]
    holder: Object = {**later.holder, **first.holder, "accepts": [*accepts[: manifest.MAX_TEXTS]]}
    return replace(first, holder=holder, accepts=accepts[: manifest.MAX_TEXTS], result=first.result or later.result)


def _read_requirements(value: Object) -> list[Offer]:
    """Return the resource of a file that is itself an answer 402: one `resource` (version 2), or one resource in each
    requirement (version 1)."""
    accepts = list_of(value, "accepts")
    if value.get("resource"):
        return [Offer("", None, {key: value[key] for key in _OF_ANSWER if key in value})]
    return [
        Offer(at("/accepts", index), None, {"resource": item["resource"], "accepts": [item]})
        for index, item in enumerate(accepts[: manifest.MAX_CAPABILITIES])
        if isinstance(item, dict) and item.get("resource")
    ]


def _read_prices(value: Object) -> list[Offer]:
    """Return the offers in a map of prices: the addresses that a tier names, or the entry itself by its name."""
    offers: list[Offer] = []
    for tier in offers_in(value, ("pricing",)):
        targets = [item for item in list_of(tier.holder, "endpoints") if isinstance(item, str) and is_address(item)]
        price = loose.price_of(tier.holder)
        extra: Object = {"price": price} if price else {}
        offers += [
            Offer(f"{tier.pointer}/endpoints", None, {"route": one, **extra}) for one in targets[: manifest.MAX_TEXTS]
        ]
        if not targets and price and tier.key and isinstance(map_of(value, "pricing").get(tier.key), dict):
            offers.append(tier)
    return offers


def _with_price(pricing: Pricing | None, resource: Resource, value: Object) -> Pricing | None:
    """Return the price of a resource; its payment requirements are also shown as prices."""
    plans = [plan for item in resource.accepts if (plan := _read_plan(item))]
    known = pricing or Pricing()
    if not plans and not known.plans and known.note is None and (shared := loose.price_of(value)):
        known = replace(known, plans=(Plan(price=shared),))
    if unit := _unit_of(value):  # stated once, for prices that are bare numbers
        known = replace(known, plans=tuple(_with_unit(plan, unit) for plan in known.plans))
    own = {key: item for key, item in resource.holder.items() if key in (*_PAYEES, "network", "asset")}
    payment = loose.payment_of(own)
    payments = known.payments or ((payment,) if payment else ())
    known = replace(known, plans=(*dict.fromkeys(plans), *known.plans), payments=payments)
    return known if known != Pricing() else None


def _with_unit(plan: Plan, unit: str) -> Plan:
    return replace(plan, price=f"{plan.price} {unit}") if _NUMBER.fullmatch(plan.price or "") else plan


def _unit_of(value: Object) -> str | None:
    """Return the asset of all prices of the file: its name, or the symbol of a well-known address."""
    for holder in (value, map_of(value, "payment")):
        unit = next((text for key in _UNITS if (text := short_text_of(holder, key)) and _UNIT.fullmatch(text)), None)
        if unit := unit or asset_name(holder):
            return unit
    return None


def _read_pricing(value: Object, capabilities: tuple[Capability, ...], payments: tuple[Payment, ...]) -> Pricing:
    """Return the prices of the service's resources, and their recipients."""
    plans = tuple(
        replace(plan, name=plan.name or capability.name)
        for capability in capabilities
        for plan in (capability.pricing or Pricing()).plans
    )
    of_calls = (payment for capability in capabilities for payment in (capability.pricing or Pricing()).payments)
    note = first_text(value, "notes", "note", "instructions")
    stated = stated_pricing([note, text_of(value, "description"), *(plan.limits for plan in plans)])
    model: services.PricingModel = "freemium" if stated == "freemium" else "pay_per_call"
    payments = tuple(dict.fromkeys((*payments, *of_calls)))
    return Pricing(model, plans[: manifest.MAX_TEXTS], note=note, payments=payments[: manifest.MAX_TEXTS])


def _read_payments(value: Object) -> Iterator[Payment]:
    """Yield the ways to pay that the file states for all resources: networks, assets and addresses."""
    network, asset = first_text(value, "network", "chain"), first_text(value, "asset", "token", "currency")
    stated = loose.payment_of({key: value[key] for key in _PAYEES if key in value})
    payee = stated.pay_to if stated else None
    by_network = {**map_of(value, "payTo"), **map_of(value, "payToByNetwork")}
    listed = manifest.texts_of(value, "networks") or manifest.texts_of(value, "acceptedNetworks")
    networks = listed or (
        (network,) if network else tuple(name for key in by_network if (name := line(key, manifest.NAME_CHARS)))
    )
    names: tuple[str | None, ...] = networks[: manifest.MAX_TEXTS] or ((None,) if payee else ())
    for chain in names:
        pay_to = short_text_of(by_network, chain) if chain else None
        if pay_to or payee:
            yield Payment(currency=asset, network=chain, pay_to=pay_to or payee)
    for key, held in value.items():
        match = _PAYEE_OF.fullmatch(key)
        if match and isinstance(held, str) and match[1].lower() != "bynetwork":
            yield Payment(network=match[1], pay_to=short_text_of(value, key))
    for key in ("settlement", "payment"):
        if (own := loose.payment_of(map_of(value, key))) is not None:
            yield own
    for holder in (value, map_of(value, "settlement"), map_of(value, "payment")):
        for key in _RAILS:
            for item in list_of(holder, key)[: manifest.MAX_TEXTS]:
                if isinstance(item, dict) and (payment := loose.payment_of(item)):
                    yield payment


def _read_plan(accepts: Object) -> Plan | None:
    """Return the price of a payment requirement. The scheme `upto` states the most that a call can cost."""
    payment = loose.payment_of(accepts)
    if payment is None or payment.amount is None:
        return None
    price = priced(accepts, payment.amount, payment.currency)
    return Plan(price=price, limits="at most" if payment.scheme == "upto" else None)


FORMAT: Final = Format(
    slug=SLUG,
    title="x402 discovery",
    spec="x402 specification, discovery",
    cited_as="x402 ",
    about=(
        "A site lists the addresses that ask for a payment, with prices and networks. Agents with a wallet "
        "read it to know what a call costs."
    ),
    link="https://github.com/coinbase/x402",
    example={
        "x402Version": 2,
        "items": [
            {
                "resource": "https://example.com/weather",
                "type": "http",
                "x402Version": 2,
                "metadata": {"description": "Tells the weather of a city."},
                "accepts": [
                    {
                        "scheme": "exact",
                        "network": "eip155:8453",
                        "amount": "1000",
                        "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
                        "payTo": "0x000000000000000000000000000000000000dEaD",
                        "maxTimeoutSeconds": 60,
                    },
                ],
            },
        ],
    },
    paths=("/.well-known/x402", "/.well-known/x402.json"),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/items|resources/[]", "resource", TEXT_OR_OBJECT, {"accepts": LIST}),
        *(Part(f"/{key}/*", "resource", TEXT_OR_OBJECT, is_offered=False) for key in (*_LOOSE_LISTS, *_FREE_LISTS)),
    ),
    rules=rules_in(rules),
    probe_paths=(
        ProbePath("S4", 70, "/.well-known/x402", when=lambda facts: "x402" in facts.words),
        ProbePath("S4", 160, "/.well-known/x402.json", fallback_of="/.well-known/x402", when=never),
    ),
    topics=(Topic("x402", (b"402", b"usdc"), re.compile(rb"\bx402\b|\busdc\b|\b402\b"), in_home=True),),
    absence_member="x402",
    precedence=150,
)
