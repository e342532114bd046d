"""Read members that documents of many formats carry although no specification defines them in this form.

Publishers write their name, prices and source code in a handful of similar spellings, and describe parameters and
results in their own forms, which are turned into JSON Schema. Each function takes the raw value and returns a part of
the model, or None if the value describes nothing. No function raises, and no schema is compiled, resolved or matched.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from registry.core.format_support import manifest
from registry.core.format_support.endpoints import first_link, link
from registry.core.format_support.manifest import NAME_CHARS, Object, first_text, list_of, map_of, short_text_of
from registry.core.format_support.params import MAX_PARAMS, list_schema, object_schema, property_of, type_of
from registry.core.format_support.shapes import stated_pricing
from registry.core.format_support.token_amounts import amount_in_units, priced
from registry.core.model.documents import Json
from registry.core.model.services import Payment, Plan, Pricing, PricingModel, Provider
from registry.core.names.inside import inside_host
from registry.core.reading.plain_text import line

ORGANIZATIONS: Final = (
    "provider", "publisher", "organization", "author", "owner", "developer", "maintainer", "vendor", "company",
    "operator", "issuer",
)  # fmt: skip
CONTACTS: Final = (
    "contact", "contacts", "contact_info", "contactInfo", "contact_email", "contactEmail", "email", "support", "bugs",
    "support_email", "supportEmail", "support_url", "supportUrl", "issues", "phone", "telephone", "whatsapp",
    "supportContact", "support_contact", "contact_url", "contactUrl", "contactPoint", "contact_point", "feedback",
)  # fmt: skip
_CONTACT_PARTS: Final = (*CONTACTS, "url", "website", "web", "mail", "sales", "security", "privacy", "general", "form")
HOMEPAGES: Final = (
    "homepage", "homePage", "homepage_url", "homepageUrl", "website", "websiteUrl", "website_url", "landing_url",
    "landing_page", "landingPage",
)  # fmt: skip
REPOSITORIES: Final = ("repository", "repository_url", "repositoryUrl", "repo", "source_code", "sourceCode", "github")
LICENSES: Final = ("license", "licence", "license_name", "licenseId")
_PLAN_LISTS: Final = ("plans", "tiers", "packages", "per_call", "perCall", "prices", "rates")
_PAYMENT_MEMBERS: Final = ("x402", "payment", "payments")
_TIER = re.compile(r"free|basic|starter|hobby|standard|pro\b|premium|team|business|enterprise|tier|plan", re.IGNORECASE)
_AMOUNTS: Final = ("maxAmountRequired", "max_amount_required", "amount", "price", "price_usd", "cost")
_MAX_INTEGER: Final = 10**78  # uint256
_MIN_PLAIN, _MAX_PLAIN = 1e-18, 1e15
_FREE_TIERS: Final = ("free_tier", "freeTier", "has_free_tier", "hasFreeTier")
_FREE_NAME = re.compile(r"free(?![a-z])", re.IGNORECASE)
_MONEY = re.compile(r"[$€£]\s?\d")
_NOTHING = re.compile(r"[$€£]?\s?0(?:\.0+)?(?: ?[A-Z]{3,4})?(?:/\w+)?|free", re.IGNORECASE)
_UNSET = re.compile(r"(?:SET|YOUR|REPLACE|ENTER)_[A-Z]")
_PAID_TIERS: Final = ("paid_tiers", "paidTiers")
_RESERVED: Final = frozenset(
    {*_PLAN_LISTS, *_PAID_TIERS, "price", "amount", "cost", "fee", "rate", "contact", "currency"}
)
_COINS: Final = r"usdc?|usdt|eur|gbp|rlusd|xrp|eth|sol|sats?|cents?"
_PRICE = re.compile(
    rf"(?:base_|unit_|monthly_)?(?:price|amount|cost|fee|rate)_?(?i:({_COINS}))?(?:_?[Pp]er_?\w+)?"
    rf"|per_(?:call|request|query|use)(?:_({_COINS}))?|monthly(?:_({_COINS}))?|({_COINS})"
)
_CURRENCIES: Final = ("currency", "asset", "token", "unit_currency", "priceCurrency")

_MODELS: Final[dict[str, PricingModel]] = {
    "free": "free", "opensource": "free", "none": "free", "gratis": "free", "nocharge": "free",
    "freemium": "freemium", "freetier": "freemium", "hybrid": "freemium",
    "paid": "paid", "subscription": "paid", "commercial": "paid", "premium": "paid", "tiered": "paid",
    "payperuse": "pay_per_call", "payperrequest": "pay_per_call", "payasyougo": "pay_per_call",
    "usage": "pay_per_call", "usagebased": "pay_per_call", "metered": "pay_per_call", "x402": "pay_per_call",
    "percall": "pay_per_call", "payperquery": "pay_per_call", "payperjob": "pay_per_call", "perrequest": "pay_per_call",
    "peruse": "pay_per_call", "pertask": "pay_per_call", "perjob": "pay_per_call", "micropayment": "pay_per_call",
    "micropayments": "pay_per_call", "payg": "pay_per_call", "pay_per_call": "pay_per_call", "transaction":
    "pay_per_call", "fixedpercall": "pay_per_call", "payperservice": "pay_per_call", "payper": "pay_per_call",
}  # fmt: skip
_MODEL_MEMBERS: Final = ("model", "type", "plan", "pricing_model", "pricingModel")
_NOTE_MEMBERS: Final = ("note", "notes", "description", "details", "summary", "info")
_URL_MEMBERS: Final = ("url", "plans_url", "pricing_url", "pricingUrl", "docs", "documentation", "info_url", "page")


def pricing_model(word: str | None) -> PricingModel | None:
    """Return the model that a word or short phrase names (`pay-per-use`, `Free Tier`); None for any other text."""
    compact = re.sub(r"[^a-z0-9]", "", (word or "").lower())
    if compact.startswith(("payper", "perc", "perreq")):
        return "pay_per_call"
    return _MODELS.get(compact)


def pricing_of(value: Json, base: str) -> Pricing:
    """Return the pricing in a loose `pricing` member: a word, a sentence, or an object with a model and plans. An
    absent member gives a blank Pricing. A sentence stays a note; only fixed phrases in it state a model. A free tier
    together with paid ones is "freemium"."""
    if isinstance(value, str):
        text = line(value, manifest.TEXT_CHARS)
        return Pricing(pricing_model(text) or stated_pricing([text]) or "unknown", note=text or None)
    if isinstance(value, list):
        value = {"plans": value}
    if not isinstance(value, dict):
        return Pricing()
    word = first_text(value, *_MODEL_MEMBERS)
    model = pricing_model(word)
    if model is None and value.get("free") is True:
        model = "free"
    plans = tuple(plan for plan in _read_plans(value) if plan is not None)[: manifest.MAX_TEXTS]
    stated_notes = (word if model is None else None, first_text(value, *_NOTE_MEMBERS))
    notes = dict.fromkeys(text for text in stated_notes if text is not None)
    stated = stated_pricing((*notes, *(text for plan in plans for text in (plan.name, plan.limits))))
    if model is None or (model == "paid" and stated == "freemium"):
        model = stated
    if model is None and (_offers_free_tier(value) or _has_free_plan(plans)):
        model = "freemium"
    url = first_link(value, _URL_MEMBERS, base)
    return Pricing(model or "unknown", plans, url, "; ".join(notes) or None)


def _offers_free_tier(value: Object) -> bool:
    held = next((value[key] for key in _FREE_TIERS if key in value), False)
    return held.get("available") is not False if isinstance(held, dict) else bool(held)


def _has_free_plan(plans: tuple[Plan, ...]) -> bool:
    """Return whether one of the plans is free and another one has a price."""
    is_free = [bool(_FREE_NAME.match(plan.name or "") or _NOTHING.fullmatch(plan.price or "")) for plan in plans]
    return any(is_free) and any(plan.price and not free for plan, free in zip(plans, is_free, strict=True))


def _read_plans(value: Object) -> Iterator[Plan | None]:
    """Yield the plans of a pricing object: its list or map of plans, and its own price."""
    own = price_of(value)
    if own is not None:
        yield Plan(price=own, limits=first_text(value, "unit", "per", "billing", "period"))
    for name, item in value.items():
        if isinstance(item, dict) and name not in _RESERVED and (price_of(item) or _TIER.search(name)):
            yield _read_plan(item, line(name, NAME_CHARS))
        elif isinstance(item, str) and name not in (*_RESERVED, *_MODEL_MEMBERS, *_NOTE_MEMBERS, *_URL_MEMBERS):
            is_price = _MONEY.search(item) is not None
            if is_price or _FREE_NAME.match(name):  # `{"free": "10 calls a day", "pro": "$9/month"}`
                text = line(item, NAME_CHARS)
                yield Plan(line(name, NAME_CHARS), text if is_price else None, None if is_price else text)
    for key in _PAID_TIERS:
        for name, item in map_of(value, key).items():
            if isinstance(item, dict) and (price_of(item) or _TIER.search(name)):
                yield _read_plan(item, line(name, NAME_CHARS))
    for key in _PLAN_LISTS:
        held = value.get(key)
        if isinstance(held, dict):
            for name, item in held.items():
                yield _read_plan(item, line(name, NAME_CHARS))
        for item in held if isinstance(held, list) else ():
            yield _read_plan(item, None)


def _read_plan(item: Json, name: str | None) -> Plan | None:
    if isinstance(item, str):
        return Plan(name, line(item, NAME_CHARS)) if name else Plan(line(item, NAME_CHARS))
    if not isinstance(item, dict):
        number = scalar_text(item)
        return Plan(name, number) if number else None
    if item.get("available") is False:
        return None
    name = first_text(item, "name", "id", "tier", "title") or name
    price = price_of(item)
    limits = first_text(item, "limits", "limit", "quota", "description", "includes", "unit", "per", "period")
    return Plan(name, price, limits) if name or price else None


def price_of(item: Object) -> str | None:
    """Return the price in an object, with its currency where that is not part of it."""
    for key, value in item.items():
        match = _PRICE.fullmatch(key)
        if match is None:
            continue
        text = price_of(value) if isinstance(value, dict) else scalar_text(value)
        if text:
            unit_word = short_text_of(item, "unit") or ""
            named = first_text(item, *_CURRENCIES, chars=NAME_CHARS) or (
                unit_word if re.fullmatch(_COINS, unit_word, re.IGNORECASE) else None
            )
            unit = named or next((word.upper() for word in match.groups() if word), None)
            period = "/month" if key.startswith("monthly") and not named else ""
            return f"{priced(item, amount_in_units(item, key, text), unit)}{period}"
    return None


def scalar_text(value: Json) -> str | None:
    """Return a number or a text as a short text, integers exactly and without an exponent; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MAX_INTEGER:
        return str(value)
    if isinstance(value, float) and _MIN_PLAIN <= abs(value) < _MAX_PLAIN:
        return f"{Decimal(f'{value:.12g}'):f}"
    if isinstance(value, float):
        return f"{value:.12g}"
    return (line(value, NAME_CHARS) or None) if isinstance(value, str) else None


def payment_of(item: Json) -> Payment | None:
    """Return one payment requirement (x402 `accepts[]`, and looser spellings); None without amount and address. Amounts
    of base units are in the unit of the asset (`amount_in_units`)."""
    if not isinstance(item, dict):
        return None
    amounts = ((key, text) for key in _AMOUNTS if (text := scalar_text(item.get(key))))
    amount = next((amount_in_units(item, key, text) for key, text in amounts), None)
    payment = Payment(
        amount,
        first_text(item, "asset", "currency", "token", chars=NAME_CHARS)
        or first_text(map_of(item, "asset"), "address"),
        first_text(item, "network", "chain", chars=NAME_CHARS),
        first_text(item, "payTo", "pay_to", "wallet", "address", "recipient", chars=NAME_CHARS),
        first_text(item, "scheme", "method", chars=NAME_CHARS),
        first_text(item, "resource", chars=2_048),
    )
    if payment.pay_to and _UNSET.match(payment.pay_to):
        payment = replace(payment, pay_to=None)
    return payment if payment.amount or payment.pay_to else None


def with_payments(pricing: Pricing, holder: Object) -> Pricing:
    """Return the pricing with the ways to pay in `x402`, `payment` or `payments` of `holder`. Accepting x402 means that
    calls are paid for, where no other model is known. `enabled: false` means the contrary."""
    members = [map_of(holder, key) for key in _PAYMENT_MEMBERS]
    wrapped = [map_of(member, "x402") for member in members]
    found: list[Payment] = []
    pays_per_call = False
    for key, item in (*zip(_PAYMENT_MEMBERS, members, strict=True), *(("x402", item) for item in wrapped)):
        if not item or item.get("enabled") is False or item.get("supported") is False:
            continue
        protocol = first_text(item, "protocol", "type", "scheme") or ""
        pays_per_call = pays_per_call or key == "x402" or "x402" in protocol.lower()
        named = list_of(item, "networks") or list_of(item, "accepts")
        own = payment_of({name: value for name, value in item.items() if name != "networks"})
        amount = own.amount if own else None  # of every network; already in the unit of the asset
        shared: Object = {"payTo": own.pay_to or "", "asset": own.currency or ""} if own else {}
        each = [{**shared, **({"network": one} if isinstance(one, str) else one if isinstance(one, dict) else {})}
                for one in named[:manifest.MAX_TEXTS]]  # fmt: skip
        known = [payment for payment in map(payment_of, each) if payment]
        found += [replace(one, amount=one.amount or amount) for one in known] or ([own] if own else [])
    payments = tuple(dict.fromkeys((*pricing.payments, *found)))[: manifest.MAX_TEXTS]
    model = "pay_per_call" if pays_per_call and pricing.model == "unknown" else pricing.model
    return replace(pricing, model=model, payments=payments)


def provider_of(value: Object, base: str) -> Provider | None:
    """Return who runs the service: the first member that names an organisation or author, and all contacts."""
    name = url = None
    found: list[str] = []
    for key in ORGANIZATIONS:
        held = value.get(key)
        if isinstance(held, str):
            name = name or line(held, NAME_CHARS) or None
        elif isinstance(held, dict):
            own = first_text(held, "organization", "name", "legal_name", "legalName", "title", chars=NAME_CHARS)
            if name is None or own == name:
                url = url or first_link(held, ("url", "website", "homepage"), base)
            name = name or own
            found += _read_addresses({part: held[part] for part in CONTACTS if part in held})
    found += contacts_of(value)
    contacts = tuple(dict.fromkeys(found))[: manifest.MAX_TEXTS]
    if not (name or url or contacts):
        return None
    return Provider(name, url, contacts[0] if contacts else None, contacts[1:])


def contacts_of(value: Object) -> list[str]:
    """Return the addresses in the members for contacts: texts, objects of texts, or lists of them."""
    return _read_addresses({key: value[key] for key in CONTACTS if key in value})


def _read_addresses(value: Json, depth: int = 3) -> list[str]:
    """Return the texts of known members that look like addresses: mail, URL, telephone."""
    if isinstance(value, str):
        text = line(value.removeprefix("mailto:"), NAME_CHARS)
        is_telephone = re.fullmatch(r"\+?[\d\s().-]{6,}", text) is not None
        is_address = "@" in text or text.startswith(("https://", "http://")) or is_telephone
        return [text] if is_address and inside_host(text) is None else []
    if depth == 0:
        return []
    if isinstance(value, list):
        return [address for item in value[: manifest.MAX_TEXTS] for address in _read_addresses(item, depth - 1)]
    if isinstance(value, dict):
        parts = [item for key, item in value.items() if key in _CONTACT_PARTS]
        return [address for item in parts[: manifest.MAX_TEXTS] for address in _read_addresses(item, depth - 1)]
    return []


def homepage_of(value: Object, base: str) -> str | None:
    """Return the page for people that the document names as its home page, also in a map of links."""
    holders = (value, value.get("links"), value.get("discovery"))
    return next((url for holder in holders if (url := first_link(holder, HOMEPAGES, base))), None)


def repository_of(value: Object, base: str) -> str | None:
    """Return the URL of the source code: a text, or `{url}` as in package manifests."""
    for key in REPOSITORIES:
        held = value.get(key)
        target = held.get("url") if isinstance(held, dict) else held
        # other spellings (`git@host:path`, `owner/name`) would be taken for relative addresses
        if isinstance(target, str) and "://" in target and (url := link(target.removeprefix("git+"), base)):
            return url
    return None


def license_of(value: Object) -> str | None:
    """Return the licence: an SPDX expression or name, or `{name}` as in OpenAPI."""
    for key in LICENSES:
        if text := short_text_of(value, key) or first_text(map_of(value, key), "name", "id", "identifier", "url"):
            return text
    names = [text for item in list_of(value, "licenses") if (text := short_text_of({"": item}, ""))]
    return ", ".join(names[: manifest.MAX_TEXTS]) or None


PARAMETER_MEMBERS: Final = (
    "inputSchema", "input_schema", "parameters", "params", "input", "inputs", "arguments", "args", "body",
    "requestBody", "request_body", "requestSchema", "request_schema",
)  # fmt: skip
RESULT_MEMBERS: Final = (
    "outputSchema", "output_schema", "output", "outputs", "returns", "response", "responseSchema", "response_schema",
    "result",
)  # fmt: skip
_EXAMPLE_WORDS: Final = frozenset({"type", "format", "example", "mimeType", "contentType", "description", "schema"})
_TYPE_WORDS: Final = frozenset({
    "string", "str", "text", "number", "integer", "int", "float", "double", "boolean", "bool", "array", "list",
    "object", "dict", "json", "url", "uri", "date", "datetime", "date-time", "email", "uuid", "any", "decimal",
    "timestamp",
})  # fmt: skip
_SCHEMA_WORDS: Final = frozenset({"properties", "type", "$ref", "oneOf", "anyOf", "allOf", "items", "enum", "$schema"})
_MARKED: Final = re.compile(r"\s?[(\[,;]?\s?\b(required|optional)\b\s?[)\]]?", re.IGNORECASE)


def first_parameters(holder: Object, keys: tuple[str, ...] = PARAMETER_MEMBERS) -> dict[str, Any] | None:
    """Return the schema of the parameters in the first member of `holder` that describes some."""
    present = (holder[key] for key in keys if key in holder)
    return next((schema for held in present if (schema := parameters_of(held)) is not None), None)


def first_result(holder: Object, keys: tuple[str, ...] = RESULT_MEMBERS) -> tuple[dict[str, Any] | None, str | None]:
    """Return the result that `holder` describes: a schema, or words. At most one of the two is set."""
    for key in keys:
        if key not in holder:
            continue
        value = holder[key]
        if isinstance(value, str) and (words := line(value, manifest.TEXT_CHARS)):
            return None, words
        if (schema := _read_example(value)) is not None:
            return schema, None
        if (schema := parameters_of(value)) is not None:
            return schema, None
    return None, None


def _read_example(value: Json) -> dict[str, Any] | None:
    """Return the schema of a result that is described by an example: `{type, example}`, with a schema beside it."""
    if not isinstance(value, dict) or "example" not in value or not set(value) <= _EXAMPLE_WORDS:
        return None
    return {**manifest.clean_json(map_of(value, "schema")), "examples": [manifest.clean_json(value["example"])]}


def parameters_of(value: Json) -> dict[str, Any] | None:
    """Return the schema in a JSON Schema, a list of parameters or of names, or a map from names to what describes them.
    A map's values may be schemas, names of types ("string", "string (optional)"), descriptions or examples."""
    if isinstance(value, list):
        names: list[Json] = [{"name": item} if isinstance(item, str) else item for item in value[:MAX_PARAMS]]
        schema = list_schema(names)
        return schema if schema["properties"] else None
    if not isinstance(value, dict) or not value:
        return None
    if _is_schema(value):
        cleaned: dict[str, Any] = manifest.clean_json(value)
        return cleaned
    properties: list[tuple[str, dict[str, Any]]] = []
    required: list[str] = []
    for key, item in list(value.items())[:MAX_PARAMS]:
        name = line(key, NAME_CHARS).removesuffix("?")
        if not name:
            continue
        properties.append((name, _read_property(item)))
        if _is_required(item):
            required.append(name)
    return object_schema(properties, required) if properties else None


def _is_schema(value: Object) -> bool:
    """Return whether an object is a JSON Schema itself, not a map with a parameter that is called `type`."""
    if isinstance(value.get("properties"), dict) or any(isinstance(value.get(key), list) for key in ("oneOf", "anyOf")):
        return True
    kind = value.get("type")
    return isinstance(kind, str) and kind in ("object", "array") and set(value) <= _SCHEMA_WORDS | {
        "description", "title", "required", "additionalProperties", "minItems", "maxItems", "example", "examples",
        "default", "allOf",
    }  # fmt: skip


def _read_property(item: Json) -> dict[str, Any]:
    if isinstance(item, dict):
        if _SCHEMA_WORDS & set(item) or manifest.text_of(item, "description") or "example" in item:
            nested = {
                key: manifest.clean_json(item[key])
                for key in ("properties", "items")
                if isinstance(item.get(key), dict)
            }
            return {**property_of(item), **nested}
        return parameters_of(item) or {}
    if isinstance(item, str):
        words = line(item, manifest.TEXT_CHARS)
        bare = _MARKED.sub("", words).strip()
        if bare.lower().removesuffix("[]") in _TYPE_WORDS:  # the name of a type, else a description
            return type_of(bare) if bare.lower() != "any" else {}
        return {"description": words} if words else {}
    if isinstance(item, list) and item:
        return {"enum": manifest.clean_json(item)} if all(isinstance(one, str) for one in item) else {"type": "array"}
    return {} if item is None else {"examples": [manifest.clean_json(item)]}


def _is_required(item: Json) -> bool:
    if isinstance(item, dict):
        return manifest.flag_of(item, "required") is True
    marked = _MARKED.search(line(item, manifest.TEXT_CHARS)) if isinstance(item, str) else None
    return marked is not None and marked[1].lower() == "required"
