"""Read operations into capabilities. A path is appended to the server's URL as text (OpenAPI 3.1 section 4.8.8.1)."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from registry.core.format_support import common_rules, manifest
from registry.core.format_support.endpoints import MAX_URL_CHARS, page
from registry.core.format_support.loose import payment_of, price_of, pricing_of
from registry.core.format_support.manifest import ID_CHARS, Object, flag_of, list_of, map_of, short_text_of, text_of
from registry.core.format_support.security import operation_auth
from registry.core.formats.openapi import rules
from registry.core.formats.openapi.inputs import OperationPlace, chosen_content, inputs_of, read_example, schema_of
from registry.core.formats.openapi.keywords import without_values
from registry.core.formats.openapi.schemas import OpenApiSchemas
from registry.core.formats.openapi.servers import Bases
from registry.core.model.documents import Document, Json
from registry.core.model.services import AuthScheme, Capability, Confirmation, Invocation, Origin, Plan, Pricing
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

PAID: Final = "x-payment-info"
PAID_SERVICE: Final = "x-service-info"
PAID_TAG: Final = "payment"
SIDE_EFFECTS: Final = "x-side-effects"
"""Extension that says whether a call changes anything, where the method does not: the same that AWAS documents use."""

MAX_OPERATIONS: Final = 5_000
MAX_ERRORS: Final = 20
ERROR_CHARS: Final = 300
_CODE_CHARS: Final = 3  # "404", or "4XX" for a class

_METHODS: Final = ("get", "head", "query", "post", "put", "patch", "delete", "options", "trace")
_OTHER_METHOD: Final = re.compile(r"[A-Za-z]{1,20}")  # of OpenAPI 3.2 `additionalOperations`
_PRICES: Final = ("x-pricing", "x-price", "x-cost", "x-x402", "x-402", "x-payment")
_AMOUNTS: Final = ("amount", "price", "maxPrice", "max", "minPrice", "min")
_NATIVE_CHARS: Final = 2_000
_READ: Final = frozenset({
    "operationId", "summary", "parameters", "requestBody", "responses", "deprecated", "tags", "security", "servers",
    "externalDocs", "consumes", "produces", "schemes", "callbacks", "description", "x-codeSamples", "x-code-samples",
    "x-openai-isConsequential", SIDE_EFFECTS,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _PathOperation(OperationPlace):
    """An operation and how it is called: `path` begins with a slash; `method` is as it is sent. `place`: its path."""

    place: str
    path: str
    method: str


def read(
    value: Object,
    bases: Bases,
    auth_schemes: Mapping[str, AuthScheme],
    schemas: OpenApiSchemas,
    document: Document,
    notes: manifest.Notes,
) -> Iterator[Capability]:
    """Yield one capability for each of the first MAX_OPERATIONS operations. Each other one has a finding."""
    ids: set[str] = set()
    seen: set[str] = set()  # places of operations: several paths may refer to one path item
    sizes: dict[str, int] = {}
    root_url = bases.root.address.url if bases.root.address else None
    operations = list(_listed_operations(value, root_url, schemas, notes))
    schemas.share_among(min(len(operations), MAX_OPERATIONS))
    _note_incoming(value, operations, notes)
    if len(operations) > MAX_OPERATIONS:
        notes.add(common_rules.TOO_MANY_CAPABILITIES, "/paths", len(operations))
    for listed in operations[:MAX_OPERATIONS]:
        path, method, operation, pointer = listed.path, listed.method, listed.operation, listed.pointer
        schemas.begin_operation(pointer)
        if pointer in seen and not schemas.affordable(_size_of(listed, sizes)):  # guard: shared-path-items
            notes.add(common_rules.TOO_MANY_CAPABILITIES, listed.place, method)
            continue
        notes.mark_read(listed.place)
        operation_id = text_of(operation, "operationId", ID_CHARS) or manifest.slug(f"{method} {path}")
        if operation_id in ids and pointer not in seen:
            notes.add(rules.OPERATION_ID, pointer, operation_id)
        seen.add(pointer)
        name = manifest.unique_name(operation_id, ids)
        called = bases.of(listed.path_item, operation, listed.item_pointer, pointer)
        address = called.address.url + path if called.address else None
        inputs = inputs_of(value, listed, address or path, called.variables, schemas, notes)
        result, result_note = _read_result(operation, schemas)
        auth = operation_auth(operation, auth_schemes)
        call = Invocation(
            "http",
            address,
            method,
            auth=auth,
            scopes=tuple(dict.fromkeys(scope for scheme in auth.schemes for scope in scheme.scopes)) if auth else (),
            places=tuple(inputs.places.items()),
            names=tuple(inputs.names.items()),
            media_type=inputs.media_type,
            templated="{" in path or (called.address is not None and called.address.templated),
            origin=Origin(document.url, pointer, "openapi"),
        )
        yield Capability(
            name,
            name,
            _read_description(listed, schemas),
            params=inputs.schema,
            result=result,
            title=short_text_of(operation, "summary"),
            side_effects=flag_of(operation, SIDE_EFFECTS),
            confirmation=Confirmation(True) if flag_of(operation, "x-openai-isConsequential") else None,
            idempotency_key=inputs.idempotency_key,
            errors=_read_errors(operation, schemas),
            result_note=result_note,
            pricing=_read_pricing(operation, document),
            deprecated=flag_of(operation, "deprecated"),
            tags=(*manifest.texts_of(operation, "tags"), *((PAID_TAG,) if PAID in operation else ())),
            docs_url=page(map_of(operation, "externalDocs").get("url"), document.url),
            invocations=(call,),
            native=_read_native(operation, inputs.styles, schemas),
        )


def _listed_operations(
    value: Object, root_url: str | None, s: OpenApiSchemas, notes: manifest.Notes
) -> Iterator[_PathOperation]:
    """Yield the operations of all paths, which may refer to another path item. What is no operation, or stands at an
    address that is not of this API, is counted as not read (`FORMAT.parts`)."""
    for key, held in map_of(value, "paths").items():
        pointer = at("", "paths", key)
        path = _read_path(key, root_url)
        if key.startswith("x-") or path is None or not isinstance(held, dict):
            continue
        if not key.startswith("/"):
            notes.add(rules.PATH, pointer, key)
        item, item_pointer = s.follow(held, pointer)
        for member, method, operation, inner in _methods_of(item, notes, item_pointer):
            own_pointer = pointer if member in held else item_pointer
            yield _PathOperation(item, item_pointer, operation, at(own_pointer, *inner), pointer, path, method)


def _size_of(listed: _PathOperation, known: dict[str, int]) -> int:
    """Return about how many characters an operation takes. Read again for each path that refers to its path item, 100
    KB of a document became 160 MB."""
    if listed.pointer not in known:
        parts = (listed.operation, listed.path_item.get("parameters"))
        known[listed.pointer] = sum(len(json.dumps(part)) for part in parts)
    return known[listed.pointer]


def _read_path(key: str, root_url: str | None) -> str | None:
    """Return a path with the leading slash that it shall have: without one it could change the host. An address below
    the API's own is its path. None for other addresses, and for paths that are too long."""
    if root_url is not None and key.startswith(f"{root_url}/"):
        key = key.removeprefix(root_url)
    if len(key) > MAX_URL_CHARS or re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", key):
        return None
    return key if key.startswith("/") else f"/{key}"  # guard: path-delimiter


def _methods_of(
    item: Object, notes: manifest.Notes, pointer: str
) -> Iterator[tuple[str, str, Object, tuple[str, ...]]]:
    """Yield the operations of a path item in the order of _METHODS: the member that holds each, its method as it is
    sent, itself, and the keys that lead to it."""
    found: dict[str, str] = {}
    for key in sorted(item, key=lambda key: not key.islower()):
        method = key.lower()
        if method in _METHODS and isinstance(item[key], dict) and method not in found:
            found[method] = key
            if key != method:
                notes.add(rules.PATH, at(pointer, key), key)
    for method in _METHODS:
        if method in found and isinstance(operation := item[found[method]], dict):
            yield found[method], method.upper(), operation, (found[method],)
    others = "additionalOperations"
    for method, operation in map_of(item, others).items():
        if isinstance(operation, dict) and _OTHER_METHOD.fullmatch(method) and method.lower() not in found:
            yield others, method, operation, (others, method)


def _note_incoming(value: Object, operations: Sequence[_PathOperation], notes: manifest.Notes) -> None:
    """Note the requests that the API sends: they are operations of the document, but not of the API."""
    for name, item in map_of(value, "webhooks").items():
        for key in item if isinstance(item, dict) else ():
            if key.lower() in (*_METHODS, "$ref"):
                notes.add(rules.INCOMING, at("", "webhooks", name, key), name)
    for listed in operations:
        if callbacks := map_of(listed.operation, "callbacks"):
            notes.add(rules.INCOMING, at(listed.pointer, "callbacks"), next(iter(callbacks)))


def _read_description(listed: _PathOperation, s: OpenApiSchemas) -> str | None:
    """Return what the operation says about itself, then what its path says for all its operations."""
    own = manifest.first_text(listed.operation, "description", "summary")
    shared = dict.fromkeys(text for key in ("summary", "description") if (text := text_of(listed.path_item, key)))
    texts = [own or "", *(text for text in shared if text not in (own or "") and s.text(text))]
    return line(" ".join(texts), manifest.TEXT_CHARS) or None


def _read_result(operation: Object, s: OpenApiSchemas) -> tuple[dict[str, Any] | None, str | None]:
    """Return schema and description of the first successful (2xx) answer, or of the default one."""
    responses = map_of(operation, "responses")
    code = min((code for code in responses if code.startswith("2") and len(code) == _CODE_CHARS), default=None)
    if code is None and "default" in responses:
        code = "default"
    response = s.resolve(responses.get(code)) if code is not None else {}
    _, content = chosen_content(response, s)
    schema = s.whole(response.get("schema") if content is None else schema_of(content))
    old_examples = map_of(response, "examples").values()  # OpenAPI 2.0, by media type
    example = next(iter(old_examples), None) if content is None else read_example(content, s)
    example = without_values(example, schema, "writeOnly")
    schema = schema and s.received(schema)
    if example is not None and "examples" not in (schema or {}) and (written := s.whole({"examples": [example]})):
        schema = {**(schema or {}), **written}
    return schema, s.text(manifest.first_text(response, "description", "summary"))


def _read_errors(operation: Object, s: OpenApiSchemas) -> dict[str, str]:
    """Return the descriptions of the 4xx and 5xx answers, by code."""
    responses = map_of(operation, "responses")
    codes = [code for code in responses if code.startswith(("4", "5")) and len(code) == _CODE_CHARS][:MAX_ERRORS]
    texts = {code: s.text(text_of(s.resolve(responses[code]), "description", ERROR_CHARS)) for code in codes}
    return {code: text for code, text in texts.items() if text}


def _read_pricing(operation: Object, document: Document) -> Pricing | None:
    """Return what this operation costs, as far as one of the known extensions says it."""
    info = map_of(operation, PAID)
    if info:
        offers = [item for item in list_of(info, "offers")[: manifest.MAX_TEXTS] if isinstance(item, dict)] or [info]
        plans = tuple(dict.fromkeys(plan for offer in offers if (plan := _read_plan(offer)) != Plan()))
        payments = dict.fromkeys(payment for offer in offers if (payment := payment_of(offer)))
        return Pricing("pay_per_call", plans, payments=tuple(payments))
    held: Json = next((operation[key] for key in _PRICES if operation.get(key)), None)
    if held is None:
        return None
    pricing, payment = pricing_of(held, document.url), payment_of(held)
    if payment is not None:
        pricing = Pricing(pricing.model, pricing.plans, pricing.url, pricing.note, (payment,))
    return pricing if pricing != Pricing() else None


def _read_plan(offer: Object) -> Plan:
    """Return an offer of the Machine Payments Protocol: `{amount, currency}` in base units of the currency, or a price
    in its own unit, `{price: {mode, currency, amount or min and max}}` or `{price or minPrice and maxPrice}`."""
    terms = map_of(offer, "price") or offer
    rest = {key: value for key, value in terms.items() if key not in _AMOUNTS}
    keys = _AMOUNTS[:1] if terms is offer and "amount" in terms and "price" not in terms else _AMOUNTS[::-1]
    prices = [text for key in keys if (text := price_of({**rest, "amount": terms.get(key)}))]
    return Plan(
        price=" to ".join(prices) or None, limits=manifest.first_text(terms, "mode", "pricingMode", "description")
    )


def _read_native(operation: Object, styles: Mapping[str, Any], schemas: OpenApiSchemas) -> dict[str, dict[str, Any]]:
    """Return the extensions of an operation and how values of its parameters are written, as far as affordable."""
    members = {} if operation.keys() <= _READ else manifest.other_members(operation, _READ, _NATIVE_CHARS)
    if styles:
        members["styles"] = dict(styles)
    return {"openapi": members} if members and schemas.affordable(len(str(members))) else {}
