"""Read operations into capabilities. A path is appended to the server's URL as text (OpenAPI 3.1 section 4.8.8.1)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from registry.core.format_support import common_rules, manifest
from registry.core.format_support.endpoints import MAX_URL_CHARS, page
from registry.core.format_support.loose import payment_of, pricing_of, scalar_text
from registry.core.format_support.manifest import ID_CHARS, Object, flag_of, list_of, map_of, short_text_of, text_of
from registry.core.format_support.security import operation_auth
from registry.core.formats.openapi import rules
from registry.core.formats.openapi.inputs import chosen_content, inputs_of, read_example
from registry.core.formats.openapi.schemas import OpenApiSchemas
from registry.core.formats.openapi.servers import BaseAddress, list_base
from registry.core.model.documents import Document, Json
from registry.core.model.services import AuthScheme, Capability, Confirmation, Invocation, Origin, Plan, Pricing
from registry.core.reading.json_pointer import at

PAID: Final = "x-payment-info"
PAID_SERVICE: Final = "x-service-info"
PAID_TAG: Final = "payment"
SIDE_EFFECTS: Final = "x-side-effects"
"""Extension that says whether a call changes anything, where the method does not: the same that AWAS documents use."""

MAX_OPERATIONS: Final = 5_000
MAX_ERRORS: Final = 20
ERROR_CHARS: Final = 300
_CODE_CHARS: Final = 3  # "404", or "4XX" for a class

_PATH_ITEMS = "#/components/pathItems/"
_METHODS: Final = ("get", "head", "query", "post", "put", "patch", "delete")
_PRICES: Final = ("x-pricing", "x-price", "x-cost", "x-x402", "x-402", "x-payment")
_NATIVE_CHARS: Final = 2_000
_READ: Final = frozenset({
    "operationId", "summary", "parameters", "requestBody", "responses", "deprecated", "tags", "security", "servers",
    "externalDocs", "consumes", "produces", "schemes", "callbacks", "description", "x-codeSamples", "x-code-samples",
    "x-openai-isConsequential", SIDE_EFFECTS,
})  # fmt: skip


def read(
    value: Object, base: BaseAddress, auth_schemes: Mapping[str, AuthScheme], document: Document, notes: manifest.Notes
) -> Iterator[Capability]:
    """Yield one capability for each of the first MAX_OPERATIONS operations."""
    ids: set[str] = set()
    operations = list(_listed_operations(value))
    schemas = OpenApiSchemas(value, notes, min(len(operations), MAX_OPERATIONS))
    if len(operations) > MAX_OPERATIONS:
        notes.add(common_rules.TOO_MANY_CAPABILITIES, "/paths", len(operations))
    for path, method, path_item, operation in operations[:MAX_OPERATIONS]:
        schemas.begin_operation()
        pointer = at("", "paths", path, method)
        operation_id = text_of(operation, "operationId", ID_CHARS) or manifest.slug(f"{method} {path}")
        if operation_id in ids:
            notes.add(rules.OPERATION_ID, pointer, operation_id)
        name = manifest.unique_name(operation_id, ids)
        servers = list_of(operation, "servers") or list_of(path_item, "servers")
        called = (list_base(servers, at("", "paths", path), document, notes) if servers else None) or base
        address = called.address.url + path if called.address else None
        inputs = inputs_of(value, path_item, operation, address or path, called.variables, schemas)
        result, result_note = _read_result(operation, schemas)
        auth = operation_auth(operation, auth_schemes)
        call = Invocation(
            "http",
            address,
            method.upper(),
            auth=auth,
            scopes=tuple(dict.fromkeys(scope for scheme in auth.schemes for scope in scheme.scopes)) if auth else (),
            places=tuple(inputs.places.items()),
            media_type=inputs.media_type,
            templated="{" in path or (called.address is not None and called.address.templated),
            origin=Origin(document.url, pointer, "openapi"),
        )
        yield Capability(
            name,
            name,
            manifest.first_text(operation, "description", "summary"),
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


def _listed_operations(value: Object) -> Iterator[tuple[str, str, Object, Object]]:
    """Yield (path, method, path item, operation); a path without a leading slash could change the host."""
    for path, item in map_of(value, "paths").items():
        if isinstance(item, dict) and path.startswith("/") and len(path) <= MAX_URL_CHARS:
            path_item, target = item, item.get("$ref")
            if isinstance(target, str) and target.startswith(_PATH_ITEMS):  # OpenAPI 3.1
                key = target.removeprefix(_PATH_ITEMS).replace("~1", "/").replace("~0", "~")
                path_item = {**map_of(map_of(map_of(value, "components"), "pathItems"), key), **item}
            for method in _METHODS:
                operation = path_item.get(method)
                if isinstance(operation, dict):
                    yield path, method, path_item, operation


def _read_result(operation: Object, s: OpenApiSchemas) -> tuple[dict[str, Any] | None, str | None]:
    """Return schema and description of the first successful (2xx) answer, or of the default one."""
    responses = map_of(operation, "responses")
    code = min((code for code in responses if code.startswith("2") and len(code) == _CODE_CHARS), default=None)
    if code is None and "default" in responses:
        code = "default"
    response = s.resolve(responses.get(code)) if code is not None else {}
    _, content = chosen_content(response)
    held = response.get("schema") if content is None else content.get("schema")
    schema = s.whole(held)
    old_examples = map_of(response, "examples").values()  # OpenAPI 2.0, by media type
    example = next(iter(old_examples), None) if content is None else read_example(content)
    if example is not None and "examples" not in (schema or {}) and (written := s.whole({"examples": [example]})):
        schema = {**(schema or {}), **written}
    return schema, s.text(text_of(response, "description"))


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
        price, payment = _read_price(info.get("price", info.get("amount"))), payment_of(info)
        plans = (Plan(price=price, limits=text_of(info.get("price"), "mode")),) if price else ()
        return Pricing("pay_per_call", plans, payments=(payment,) if payment else ())
    held: Json = next((operation[key] for key in _PRICES if operation.get(key)), None)
    if held is None:
        return None
    pricing, payment = pricing_of(held, document.url), payment_of(held)
    if payment is not None:
        pricing = Pricing(pricing.model, pricing.plans, pricing.url, pricing.note, (payment,))
    return pricing if pricing != Pricing() else None


def _read_price(value: Json) -> str | None:
    """Return a price of the Machine Payments Protocol: an amount, or `{mode, amount or min and max, currency}`."""
    if not isinstance(value, dict):
        return scalar_text(value)
    parts = [text for key in ("amount", "min", "max") if (text := _read_price(value.get(key)))]
    currency = short_text_of(value, "currency")
    price = " to ".join(parts) or None
    return f"{price} {currency}" if price and currency else price


def _read_native(operation: Object, styles: Mapping[str, Any], schemas: OpenApiSchemas) -> dict[str, dict[str, Any]]:
    """Return the extensions of an operation and how values of its parameters are written, as far as affordable."""
    members = {} if operation.keys() <= _READ else manifest.other_members(operation, _READ, _NATIVE_CHARS)
    if styles:
        members["styles"] = dict(styles)
    return {"openapi": members} if members and schemas.affordable(len(str(members))) else {}
