"""Read what documents of no fixed shape offer: lists or maps of endpoints, tools, skills and paid resources.

Publishers describe one thing that can be called as `{id, name, description, path, method, parameters, price}` in many
spellings, as a bare URL, as `POST /path`, or as a map from names to URLs or texts. Nothing is guessed: a call has an
address only where the document names one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from registry.core.format_support import manifest
from registry.core.format_support.endpoints import Endpoint, endpoint
from registry.core.format_support.loose import (
    first_parameters,
    first_result,
    parameters_of,
    payment_of,
    price_of,
    pricing_of,
)
from registry.core.format_support.manifest import Notes, Object, first_text, flag_of, list_of, map_of, native, texts_of
from registry.core.format_support.params import JSON_TYPES, MAX_PARAMS, object_schema
from registry.core.format_support.security import NOTHING_NEEDED, own_auth
from registry.core.format_support.vocabulary import METHODS, http_method, rate_limit_in
from registry.core.model.documents import Document, Json
from registry.core.model.services import (
    Auth,
    Capability,
    Invocation,
    InvocationKind,
    Origin,
    ParameterPlace,
    Plan,
    Pricing,
)
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

ADDRESS_MEMBERS: Final = ("resource", "url", "endpoint", "path", "route", "href", "uri", "endpoint_url", "endpointUrl")
TITLE_CHARS: Final = 120
PRICE_CHARS: Final = 40  # longer texts are sentences about prices
_IDS: Final = ("id", "name", "key", "slug", "tool", "action", "operationId", "operation_id", "title", "skill")
_NAMES: Final = ("name", "title", "displayName", "display_name", "label")
_DESCRIPTIONS: Final = ("description", "summary", "purpose", "about", "what")
_PARAMETERS: Final = ("inputSchema", "input_schema", "parameters", "params", "input", "inputs", "arguments", "args")
_PLACED: Final[tuple[tuple[ParameterPlace, tuple[str, ...]], ...]] = (
    ("path", ("pathParams", "path_params", "pathParameters", "path_parameters")),
    ("query", ("queryParams", "query_params", "queryParameters", "query_parameters", "query")),
    ("header", ("headerFields", "header_fields", "headerParams", "header_params")),
    ("body", ("bodyFields", "body_fields", "bodyParams", "body_params", "body", "requestBody", "request_body")),
)
"""Members that say by their name where a request carries their parameters; the first one with parameters counts."""
_LISTED: Final = ("parameters", "params", "inputs", "arguments", "args")
_PLACES: Final[Mapping[str, ParameterPlace]] = {
    "path": "path", "query": "query", "header": "header", "cookie": "cookie", "body": "body",
}  # fmt: skip
_SCALAR_WORDS: Final = frozenset({
    "type", "description", "title", "format", "enum", "default", "example", "examples", "pattern", "minLength",
    "maxLength", "minimum", "maximum", "contentMediaType",
})  # fmt: skip
_SENT_APART: Final = frozenset({
    "accept", "authorization", "content-length", "content-type", "host", "payment-signature", "x-payment",
})  # fmt: skip
"""Header fields that a client sets from the body and the credentials (x402 specification, transport HTTP)."""
_PRICE_MEMBERS: Final = ("pricing", "price", "cost", "fee")
_ROUTE = re.compile(r"([A-Za-z]{3,7})\s+(\S.*)")
EXPRESSED: Final = frozenset({
    *_IDS[:1], *_NAMES, *_DESCRIPTIONS, *ADDRESS_MEMBERS, "method", "methods", "tags", "examples", "inputSchema",
    "outputSchema", "input_schema", "output_schema", "deprecated", "accepts",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Offer:
    """One entry. `key` is its name in a map; `holder` has the members of the entry, a bare text under its meaning."""

    pointer: str
    key: str | None
    holder: Object
    is_bare: bool = False  # a text instead of an object: it has the place of the entry


def offers_in(value: Object, members: tuple[str, ...], prefix: str = "") -> list[Offer]:
    """Return the entries of the lists and maps at `members`, at most MAX_CAPABILITIES."""
    offers: list[Offer] = []
    for member in members:
        pointer = at(prefix, member)
        for index, item in enumerate(list_of(value, member)[: manifest.MAX_CAPABILITIES]):
            if (holder := _read_holder(item, "name")) is not None:
                offers.append(Offer(at(pointer, index), None, holder, isinstance(item, str)))
        for name, item in list(map_of(value, member).items())[: manifest.MAX_CAPABILITIES]:
            if (holder := _read_holder(item, "description")) is not None:
                offers.append(Offer(at(pointer, name), name, holder, isinstance(item, str)))
    return offers[: manifest.MAX_CAPABILITIES]


def _read_holder(item: Json, meaning: str) -> Object | None:
    """Return the members of an entry; a bare text is an address where it looks like one, else `meaning`."""
    if isinstance(item, dict):
        return item
    if not isinstance(item, str) or not item.strip():
        return None
    return {"route": item} if is_address(item) or _read_route(item)[0] else {meaning: item}


def is_address(text: str) -> bool:
    return text.strip().startswith(("https://", "http://", "wss://", "/")) and " " not in text.strip()


def _read_route(text: str) -> tuple[str | None, str]:
    """Return method and address of `POST /path`; without a method at the beginning, return None and the text."""
    match = _ROUTE.fullmatch(text.strip())
    if match is None or match[1].upper() not in METHODS or not is_address(match[2]):
        return None, text
    return match[1].upper(), match[2].strip()


def target_of(holder: Object) -> tuple[str | None, str | None, str]:
    """Return (address as written or None, the method stated beside it, the member of the address)."""
    for key in ADDRESS_MEMBERS:
        value = holder.get(key)
        if isinstance(value, str) and value.strip():
            method, target = _read_route(value)
            if method or is_address(target):
                return target.strip(), method, key
    return None, None, ADDRESS_MEMBERS[0]


def resolve_address(target: str | None, base: str, document: Document, pointer: str, notes: Notes) -> Endpoint | None:
    """Return the address of an entry. A path is appended to the path of `base`, as publishers of a base mean it."""
    if target is not None and target.startswith("/") and not target.startswith("//"):
        origin, prefix = _read_origin_and_path(base)
        if prefix and not target.startswith(f"{prefix}/"):
            target = f"{origin}{prefix}{target}"
    return endpoint(target, base, document, pointer, notes)


def _read_origin_and_path(base: str) -> tuple[str, str]:
    scheme, _, rest = re.split(r"[?#]", base, maxsplit=1)[0].partition("://")
    host, _, path = rest.partition("/")
    return f"{scheme}://{host}", f"/{path}".rstrip("/")


def methods_of(holder: Object) -> list[str | None]:
    """Return the methods of an entry: `method`, or each of `methods`; [None] where none is stated."""
    named = (http_method(holder, key) for key in ("method", "httpMethod", "http_method", "verb"))
    if single := next((method for method in named if method), None):
        return [single]
    words = re.split(r"[\s|,/]+", first_text(holder, "method", "methods") or "")
    several = [word.upper() for word in (*texts_of(holder, "methods"), *words) if word.upper() in METHODS]
    return [*dict.fromkeys(several)] or [None]


def capabilities_of(
    offer: Offer,
    base: str,
    document: Document,
    format_slug: str,
    used_names: set[str],
    notes: Notes,
    *,
    kind: InvocationKind = "http",
    fallback: Endpoint | None = None,
) -> Iterator[Capability]:
    """Yield the capability of an entry, one for each method. `fallback` is where entries without an address are called.
    Calls to `fallback` are of `kind`; calls to the entry's own address are HTTP requests."""
    holder = offer.holder
    if manifest.has_template(holder, (*_NAMES[:2], "description"), offer.pointer, notes):
        return
    target, routed_method, key = target_of(holder)
    own = resolve_address(target, base, document, offer.pointer if offer.is_bare else at(offer.pointer, key), notes)
    address = own or (fallback if target is None else None)
    identifier = first_text(holder, *_IDS, chars=manifest.ID_CHARS) or (
        line(offer.key, manifest.ID_CHARS) if offer.key else None
    )
    description, name = first_text(holder, *_DESCRIPTIONS), first_text(holder, *_NAMES, chars=manifest.ID_CHARS)
    if identifier is None and own is None:
        return
    path = (target or "") if (target or "").startswith("/") else _read_origin_and_path(own.url)[1] if own else ""
    title = name
    if identifier is None and description and len(description) <= TITLE_CHARS:
        title = description
    result, result_note = first_result(holder)
    parameters = placed_parameters(holder)
    call_name = identifier if own is None else None
    for method in [routed_method] if routed_method else methods_of(holder):
        unique = manifest.unique_name(identifier or manifest.slug(path.partition("?")[0]), used_names)
        call = Invocation(
            kind if own is None else "http",
            address.url if address else None,
            method if own is not None or method else ("POST" if address and kind == "rpc" else None),
            call_name,
            auth=_read_auth(holder, document),
            rate_limit=rate_limit_in(holder),
            places=parameters.places,
            names=parameters.names,
            media_type=parameters.media_type,
            templated=bool(address and address.templated),
            origin=Origin(document.url, offer.pointer, format_slug),
        )
        yield Capability(
            identifier or unique,
            unique,
            description,
            params=parameters.schema or first_parameters(map_of(holder, "schema"), ("input",)),
            result=result or first_result(map_of(holder, "schema"), ("output",))[0],
            result_note=result_note,
            title=title if title != unique else None,
            pricing=pricing_in(holder, document),
            deprecated=flag_of(holder, "deprecated"),
            tags=texts_of(holder, "tags"),
            examples=texts_of(holder, "examples", 500),
            invocations=(call,),
            native=native(format_slug, holder, EXPRESSED),
        )


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of an entry, as `Capability` and `Invocation` hold them."""

    schema: dict[str, Any] | None
    places: tuple[tuple[str, ParameterPlace], ...]
    names: tuple[tuple[str, str], ...]
    media_type: str | None


def placed_parameters(holder: Object) -> Parameters:
    """Return all parameters of an entry, with their places as far as the entry states them. Members without a place
    only describe: a name in a placed member has its place. A name with two places gives two parameters."""
    schema = first_parameters(holder, _PARAMETERS)
    places = _listed_places(holder)
    stated: set[str] = set()  # in a member that is a place
    sent_as: dict[str, str] = {}
    media_type = None
    for place, members in _PLACED:
        for member in members:
            if member not in holder:
                continue
            held: Json = holder[member]
            if place == "body":
                held, media_type = _read_body(held)
            part = _read_whole(held) if place == "body" else None
            if part is not None:
                places.setdefault("body", "whole_body")
            part = part or parameters_of(held)
            if part is None:
                continue
            is_sent = place != "header"
            names = [name for name in map_of(part, "properties") if is_sent or name.lower() not in _SENT_APART]
            renamed = {name: manifest.unique_name(f"{name}__{place}", set(stated), "_") for name in stated & {*names}}
            schema = _joined(schema, _renamed(part, renamed), [renamed.get(name, name) for name in names])
            for name in names:
                places.setdefault(renamed.get(name, name), place)
            sent_as |= {key: name for name, key in renamed.items()}
            stated.update(names)
            break
    has_body = {"body", "whole_body"} & set(places.values())
    listed = tuple(places.items())[:MAX_PARAMS]
    return Parameters(schema, listed, tuple(sent_as.items())[:MAX_PARAMS], media_type if has_body else None)


def _renamed(schema: dict[str, Any], renamed: dict[str, str]) -> dict[str, Any]:
    """Return an object schema with other names of its properties."""
    if not renamed:
        return schema
    properties = {renamed.get(name, name): item for name, item in map_of(schema, "properties").items()}
    required = [renamed.get(name, name) for name in list_of(schema, "required") if isinstance(name, str)]
    return {**schema, "properties": properties, "required": required}


def _read_whole(value: Json) -> dict[str, Any] | None:
    """Return the schema of one parameter `body` for a body that is not an object with members: a list, a text."""
    kind = manifest.text_of(value, "type")
    if not isinstance(value, dict) or kind is None or kind == "object" or kind not in JSON_TYPES:
        return None
    if kind != "array" and not set(value) <= _SCALAR_WORDS:
        return None  # a parameter is called `type`
    return object_schema([("body", manifest.clean_json(value))], ("body",))


def _listed_places(holder: Object) -> dict[str, ParameterPlace]:
    """Return the places that the parameters of a list state in `in`, as in OpenAPI."""
    listed = next((items for member in _LISTED if (items := list_of(holder, member))), [])
    named = ((manifest.short_text_of(item, "name"), first_text(item, "in", "location")) for item in listed[:MAX_PARAMS])
    return {name: _PLACES[place] for name, place in named if name and place and place in _PLACES}


def _read_body(value: Json) -> tuple[Json, str | None]:
    """Return what describes a body, and its media type: JSON if there is a choice, as in a request body of OpenAPI."""
    content = map_of(value, "content")
    kind = "application/json" if "application/json" in content else next(iter(content), None)
    held = map_of(content, kind) if kind else {}
    return (held.get("schema"), line(kind, manifest.NAME_CHARS)) if kind and held else (value, None)


def _joined(schema: dict[str, Any] | None, part: dict[str, Any], names: Iterable[str]) -> dict[str, Any] | None:
    """Return `schema` with the properties of `part` that are among `names` and that it does not describe."""
    described = map_of(part, "properties")
    properties: dict[str, Any] = {name: described[name] for name in names}
    required = [name for name in list_of(part, "required") if isinstance(name, str)]
    if described and not properties:
        return schema
    if schema is None:
        return {**part, **object_schema(properties.items(), required)} if properties else part
    known = map_of(schema, "properties")
    if not known and "properties" not in schema and len(schema) > 1:
        return schema  # alternatives, or a schema that is not of an object
    required = [*(name for name in list_of(schema, "required") if isinstance(name, str)), *required]
    joined = object_schema(
        {**known, **{name: properties[name] for name in properties if name not in known}}.items(), required
    )
    return {**schema, **joined}


def pricing_in(holder: Object, document: Document) -> Pricing | None:
    """Return the price of one entry: `pricing`, `price` and their spellings, and payment requirements."""
    payments = tuple(
        payment for item in list_of(holder, "accepts")[: manifest.MAX_TEXTS] if (payment := payment_of(item))
    )
    for key in _PRICE_MEMBERS:
        held = holder.get(key)
        if isinstance(held, int | float) and not isinstance(held, bool):
            held = {"price": held, "currency": first_text(holder, "currency", "asset", "unit") or ""}
        if isinstance(held, str) and len(held) <= PRICE_CHARS and any(character.isdigit() for character in held):
            held = {"price": held}
        pricing = pricing_of(held, document.url)
        if pricing != Pricing():
            return Pricing(pricing.model, pricing.plans, pricing.url, pricing.note, payments)
    price = price_of(holder)
    plans = (Plan(price=price),) if price else ()
    return Pricing("unknown", plans, payments=payments) if plans or payments else None


def _read_auth(holder: Object, document: Document) -> Auth | None:
    for key in ("auth_required", "authRequired", "requires_auth", "requiresAuth"):
        if flag_of(holder, key) is False:
            return NOTHING_NEEDED
    return own_auth(holder, document.url)
