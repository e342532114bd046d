"""x402 discovery: resources that answer 402 and say what they cost. All of it is a claim; nothing is ever paid."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import Endpoint, endpoint, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    MAX_CAPABILITIES,
    Notes,
    Object,
    at,
    clean_json,
    flag_of,
    list_of,
    map_of,
    slug,
    sourced,
    text_of,
    texts_of,
    unique_name,
    word_of,
)
from registry.core.services import Auth, AuthScheme, Capability, Invocation, Origin, Plan, Pricing, Protocol, Service
from registry.core.vocabulary import SAFE_METHODS, http_method

_SLUG: Final = "x402"
_AD_HOC: Final = "adhoc"
_OWN_KEYS: Final = ("resources", "payTo", "payment", "pricing")
_LISTS: Final = ("items", "resources")
_LOOSE_LISTS: Final = ("endpoints", "tools")
_TARGETS: Final = ("resource", "url", "endpoint", "path")
_BASES: Final = ("base_url", "baseUrl", "url")
_USDC_DECIMALS: Final = 6
_AMOUNT = re.compile(r"\d{1,30}")


def dialect(document: Document) -> str | None:
    """The protocol's version, or "adhoc" for files that only name the protocol."""
    value = document.value
    if not isinstance(value, dict):
        return None
    if "x402Version" in value and "skills" not in value and "serverInfo" not in value:
        version = str(value["x402Version"])
        return version if version in ("1", "2") else _AD_HOC
    return _AD_HOC if value.get("protocol") == _SLUG else None


def at_own_path(document: Document) -> str | None:
    value = document.value
    return _AD_HOC if isinstance(value, dict) and any(key in value for key in _OWN_KEYS) else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    if flag_of(value, "enabled") is False:
        notes.add(Reason.DECLARED_INACTIVE, "/enabled", False)
    if dialect == _AD_HOC:
        notes.add(Reason.X402_SHAPE)
    found = list(_resources(value, dialect, document, notes))
    if not found:
        notes.add(Reason.X402_NO_RESOURCE, "/resources" if "resources" in value else "/items")
    version = None if dialect == _AD_HOC else dialect
    service = Service(
        name=word_of(value, "serviceName") or word_of(value, "name"),
        description=text_of(value, "description"),
        capabilities=tuple(capability for capability, _ in found),
        auth=Auth((AuthScheme("none"),), False) if found else Auth(),
        pricing=Pricing("pay_per_call", tuple(plan for _, plan in found if plan is not None)[:100]),
        protocols=(Protocol(_SLUG, version),) if found else (),
    )
    listed = next((f"/{key}" for key in (*_LISTS, *_LOOSE_LISTS) if value.get(key)), "")
    places = {"name": "/serviceName" if word_of(value, "serviceName") else "/name", "description": "/description"}
    united = dict.fromkeys(("capabilities", "auth", "pricing", "protocols"), listed)
    return sourced(service, document, _SLUG, {**places, **united})


def _resources(
    value: Object, dialect: str, document: Document, notes: Notes
) -> Iterator[tuple[Capability, Plan | None]]:
    taken: set[str] = set()
    for address, pointer, holder in _addressed(value, dialect, document, notes):
        accepts = next((one for one in list_of(holder, "accepts") if isinstance(one, dict)), None)
        if accepts is None and dialect != _AD_HOC:
            notes.add(Reason.X402_ACCEPTS, at(pointer, "accepts"))
        path = address.url.partition("://")[2].partition("?")[0].partition("/")[2]
        name = unique_name(slug(path), taken)
        method = http_method(holder) or http_method(_input(holder))
        call = Invocation(
            "http", address.url, method, templated=address.templated, origin=Origin(document.url, pointer, _SLUG)
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


def _addressed(value: Object, dialect: str, document: Document, notes: Notes) -> Iterable[tuple[Endpoint, str, Object]]:
    """(address, pointer, members). Listed twice, or once per price, a resource stays one; members are united."""
    listed = _listed(value, dialect)
    if len(listed) > MAX_CAPABILITIES:
        notes.add(Reason.TOO_MANY_CAPABILITIES, "/items", len(listed))
    base = next((one for key in _BASES if (one := link(value.get(key), document.url))), document.url)
    found: dict[str, tuple[Endpoint, str, Object]] = {}
    loose = ""
    for pointer, item in listed[:MAX_CAPABILITIES]:
        holder: Object = {"resource": item} if isinstance(item, str) else item if isinstance(item, dict) else {}
        key = next((one for one in _TARGETS if isinstance(holder.get(one), str)), "resource")
        target = holder.get(key)
        if not isinstance(target, str) or not target.startswith(("http", "/")):
            continue
        if target.startswith("/") or pointer.split("/")[1] not in _LISTS:
            loose = loose or pointer
        address = endpoint(target, base, document, at(pointer, key) if isinstance(item, dict) else pointer, notes)
        if address is not None:
            _, place, known = found.get(address.url, (address, pointer, {}))
            found[address.url] = (address, place, {**holder, **known})
    if loose and dialect != _AD_HOC:  # what to pay for can be told, in a way that the specification does not know
        notes.add(Reason.X402_SHAPE, loose)
    return found.values()


def _listed(value: Object, dialect: str) -> list[tuple[str, Json]]:
    """(pointer, entry) of the members that list resources; the names of others count where those are absent."""
    own: list[tuple[str, Json]] = [(at("", key, i), one) for key in _LISTS for i, one in enumerate(list_of(value, key))]
    if own and dialect != _AD_HOC:
        return own
    for key in _LOOSE_LISTS:
        own += [(at("", key, i), one) for i, one in enumerate(list_of(value, key))]
        own += [(at("", key, name), one) for name, one in map_of(value, key).items()]
    return own


def _input(resource: Object) -> Object:
    return map_of(map_of(map_of(map_of(resource, "extensions"), "bazaar"), "info"), "input")


def _params(resource: Object) -> Object | None:
    """The Bazaar extension describes the input; its schema is data."""
    schema = map_of(map_of(map_of(resource, "extensions"), "bazaar"), "schema")
    return clean_json(schema) if schema else None


def _plan(name: str, accepts: Object | None) -> Plan | None:
    """Amounts are in the asset's smallest unit; only USDC's decimals are known."""
    if accepts is None:
        return None
    amount = accepts.get("amount", accepts.get("maxAmountRequired"))
    asset = word_of(map_of(accepts, "extra"), "name") or ""
    limits = " ".join(part for part in (word_of(accepts, "network"), word_of(accepts, "payTo")) if part)
    return Plan(name, _price(amount, asset), limits or None)


def _loose_plan(name: str, *holders: Object) -> Plan | None:
    """`price_usd`, as a number or a text: files that only name the protocol."""
    for holder in holders:
        said = holder.get("price_usd")
        text = word_of(holder, "price_usd") or (f"{said:g}" if isinstance(said, int | float) else None)
        if text and not isinstance(said, bool):
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


FORMAT = Format(
    slug=_SLUG,
    title="x402 discovery",
    spec="x402 specification, discovery",
    paths=("/.well-known/x402", "/.well-known/x402.json"),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=_read,
)
