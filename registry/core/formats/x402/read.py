"""Recognise x402 discovery files and read their resources and prices, which are only claims."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Final

from registry.core.format_support import common_rules
from registry.core.format_support.endpoints import Endpoint, endpoint, link
from registry.core.format_support.manifest import (
    MAX_CAPABILITIES,
    Notes,
    Object,
    clean_json,
    flag_of,
    list_of,
    map_of,
    short_text_of,
    slug,
    text_of,
    texts_of,
    unique_name,
    with_provenance,
)
from registry.core.format_support.vocabulary import SAFE_METHODS, http_method
from registry.core.formats.x402 import rules
from registry.core.model.documents import Document, Json
from registry.core.model.services import (
    Auth,
    AuthScheme,
    Capability,
    Invocation,
    Origin,
    Plan,
    Pricing,
    Protocol,
    Service,
)
from registry.core.reading.json_pointer import at

SLUG: Final = "x402"
_AD_HOC: Final = "adhoc"
_OWN_KEYS: Final = ("resources", "payTo", "payment", "pricing")
_LISTS: Final = ("items", "resources")
_LOOSE_LISTS: Final = ("endpoints", "tools")
_TARGETS: Final = ("resource", "url", "endpoint", "path")
_BASES: Final = ("base_url", "baseUrl", "url")
_USDC_DECIMALS: Final = 6
_AMOUNT = re.compile(r"\d{1,30}")


def dialect(document: Document) -> str | None:
    """Return the protocol's version, "adhoc" for other versions and files that only name the protocol, else None."""
    value = document.value
    if not isinstance(value, dict):
        return None
    if "x402Version" in value and "skills" not in value and "serverInfo" not in value:
        version = str(value["x402Version"])
        return version if version in ("1", "2") else _AD_HOC
    return _AD_HOC if value.get("protocol") == SLUG else None


def at_own_path(document: Document) -> str | None:
    value = document.value
    return _AD_HOC if isinstance(value, dict) and any(key in value for key in _OWN_KEYS) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    if flag_of(value, "enabled") is False:
        notes.add(common_rules.DECLARED_INACTIVE, "/enabled", False)
    if dialect == _AD_HOC:
        notes.add(rules.SHAPE)
    resources = list(_resources(value, dialect, document, notes))
    if not resources:
        notes.add(rules.NO_RESOURCE, "/resources" if "resources" in value else "/items")
    version = None if dialect == _AD_HOC else dialect
    service = Service(
        name=short_text_of(value, "serviceName") or short_text_of(value, "name"),
        description=text_of(value, "description"),
        capabilities=tuple(capability for capability, _ in resources),
        auth=Auth((AuthScheme("none"),), False) if resources else Auth(),
        pricing=Pricing("pay_per_call", tuple(plan for _, plan in resources if plan is not None)[:100]),
        protocols=(Protocol(SLUG, version),) if resources else (),
    )
    list_pointer = next((f"/{key}" for key in (*_LISTS, *_LOOSE_LISTS) if value.get(key)), "")
    text_pointers = {
        "name": "/serviceName" if short_text_of(value, "serviceName") else "/name",
        "description": "/description",
    }
    list_pointers = dict.fromkeys(("capabilities", "auth", "pricing", "protocols"), list_pointer)
    return with_provenance(service, document, SLUG, {**text_pointers, **list_pointers})


def _resources(
    value: Object, dialect: str, document: Document, notes: Notes
) -> Iterator[tuple[Capability, Plan | None]]:
    used_names: set[str] = set()
    for address, pointer, holder in _addressed_resources(value, dialect, document, notes):
        accepts = next((item for item in list_of(holder, "accepts") if isinstance(item, dict)), None)
        if accepts is None and dialect != _AD_HOC:
            notes.add(rules.ACCEPTS, at(pointer, "accepts"))
        path = address.url.partition("://")[2].partition("?")[0].partition("/")[2]
        name = unique_name(slug(path), used_names)
        method = http_method(holder) or http_method(_input(holder))
        call = Invocation(
            "http", address.url, method, templated=address.templated, origin=Origin(document.url, pointer, SLUG)
        )
        capability = Capability(
            name,
            name,
            text_of(holder, "description"),
            params=_params(holder),
            side_effects=None if method is None else method not in SAFE_METHODS,
            tags=texts_of(holder, "tags"),
            invocations=(call,),
        )
        yield capability, _plan(name, accepts) or _loose_plan(name, holder, value)


def _addressed_resources(
    value: Object, dialect: str, document: Document, notes: Notes
) -> Iterable[tuple[Endpoint, str, Object]]:
    """Return (address, pointer, members) per resource; repeated entries of one address are merged, the first wins."""
    entries = _entries(value, dialect)
    if len(entries) > MAX_CAPABILITIES:
        notes.add(common_rules.TOO_MANY_CAPABILITIES, "/items", len(entries))
    base = next((url for key in _BASES if (url := link(value.get(key), document.url))), document.url)
    resources: dict[str, tuple[Endpoint, str, Object]] = {}
    loose_pointer = ""
    for pointer, item in entries[:MAX_CAPABILITIES]:
        holder: Object = {"resource": item} if isinstance(item, str) else item if isinstance(item, dict) else {}
        key = next((member for member in _TARGETS if isinstance(holder.get(member), str)), "resource")
        target = holder.get(key)
        if not isinstance(target, str) or not target.startswith(("http", "/")):
            continue
        if target.startswith("/") or pointer.split("/")[1] not in _LISTS:
            loose_pointer = loose_pointer or pointer
        address = endpoint(target, base, document, at(pointer, key) if isinstance(item, dict) else pointer, notes)
        if address is not None:
            _, first_pointer, first_members = resources.get(address.url, (address, pointer, {}))
            resources[address.url] = (address, first_pointer, {**holder, **first_members})
    if loose_pointer and dialect != _AD_HOC:  # the resources are readable, but not in the specified shape
        notes.add(rules.SHAPE, loose_pointer)
    return resources.values()


def _entries(value: Object, dialect: str) -> list[tuple[str, Json]]:
    """Return (pointer, entry) of the specified lists, and of other lists if the file is ad hoc or those are empty."""
    entries: list[tuple[str, Json]] = [
        (at("", key, i), entry) for key in _LISTS for i, entry in enumerate(list_of(value, key))
    ]
    if entries and dialect != _AD_HOC:
        return entries
    for key in _LOOSE_LISTS:
        entries += [(at("", key, i), entry) for i, entry in enumerate(list_of(value, key))]
        entries += [(at("", key, name), entry) for name, entry in map_of(value, key).items()]
    return entries


def _input(resource: Object) -> Object:
    return map_of(map_of(map_of(map_of(resource, "extensions"), "bazaar"), "info"), "input")


def _params(resource: Object) -> Object | None:
    """Return the schema of the input from the Bazaar extension, as data."""
    schema = map_of(map_of(map_of(resource, "extensions"), "bazaar"), "schema")
    return clean_json(schema) if schema else None


def _plan(name: str, accepts: Object | None) -> Plan | None:
    """Return the price. Amounts are in the asset's smallest unit; only the decimals of USDC are known."""
    if accepts is None:
        return None
    amount = accepts.get("amount", accepts.get("maxAmountRequired"))
    asset = short_text_of(map_of(accepts, "extra"), "name") or ""
    limits = " ".join(part for part in (short_text_of(accepts, "network"), short_text_of(accepts, "payTo")) if part)
    return Plan(name, _price(amount, asset), limits or None)


def _loose_plan(name: str, *holders: Object) -> Plan | None:
    """Return the price from `price_usd`, a number or a text, which ad hoc files use."""
    for holder in holders:
        price = holder.get("price_usd")
        text = short_text_of(holder, "price_usd") or (f"{price:g}" if isinstance(price, int | float) else None)
        if text and not isinstance(price, bool):
            return Plan(name, f"{text} USD")
    return None


def _price(amount: Json, asset: str) -> str | None:
    if not isinstance(amount, str) or not _AMOUNT.fullmatch(amount):
        return None
    if "usd" not in asset.lower():
        return f"{amount} units of {asset}" if asset else None
    try:
        return f"{(Decimal(amount) / 10**_USDC_DECIMALS).normalize():f} USDC"
    except InvalidOperation:
        return None
