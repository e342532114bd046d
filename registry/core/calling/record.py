"""The record of one capability: all that the documents of its host say about it, in the keys of the common model."""

from typing import Any, Final

from pydantic import TypeAdapter

from registry.core.calling.call import call_of, source_of
from registry.core.calling.credentials import complete_auth
from registry.core.calling.http import Arguments
from registry.core.format_support.vocabulary import SAFE_METHODS
from registry.core.formats.adp.detail_view import preferred_call
from registry.core.formats.adp.manifest_view import CAPABILITY_DESCRIPTION_CHARS
from registry.core.model.services import Auth, Capability, Invocation, Service
from registry.core.reading.plain_text import line, plain

NOTE_CHARS: Final = 2_000

_SAID: Final = (
    "idempotent", "idempotency_key", "reversible", "sensitivity", "deprecated", "polling_url", "errors", "result_note",
    "tags", "examples", "input_modes", "output_modes", "docs_url", "native",
)  # fmt: skip
"""Fields of a capability that are shown under their own names, as far as the documents state them."""

_CAPABILITY: Final[TypeAdapter[Capability]] = TypeAdapter(Capability)
_AUTH: Final[TypeAdapter[Auth]] = TypeAdapter(Auth)


def capability_record(service: Service, capability: Capability, example: Arguments | None) -> dict[str, Any]:
    """Return the record of a capability, JSON-ready.

    `service` may be without its other capabilities. A key is absent where the documents say nothing, except
    `side_effects`: null there means unknown. `input_schema` and `output_schema` are JSON Schemas as data. `call` is
    absent where the documents do not suffice for a call. `example`: see `call_of`.
    """
    said = _CAPABILITY.dump_python(capability, mode="json", exclude_defaults=True)
    chosen = preferred_call(capability) or next(iter(capability.invocations), None)
    confirmation = capability.confirmation
    message = plain(confirmation.message, NOTE_CHARS) if confirmation and confirmation.message else None
    limits = (call.get("rate_limit") for call in said.get("invocations", ()))  # {requests, window, burst, note}
    record: dict[str, Any] = {
        "id": capability.id,
        "name": capability.name,
        "title": capability.title,
        "description": plain(capability.description or "", CAPABILITY_DESCRIPTION_CHARS),
        "input_schema": said.get("params"),
        "output_schema": said.get("result"),
        "confirmation": {"required": confirmation.required, "message": message} if confirmation else None,
        "confirmation_required": confirmation.required if confirmation else None,
        "side_effects_inferred": inferred_side_effects(capability),
        **{key: said.get(key) for key in _SAID},
        "pricing": said.get("pricing"),
        "rate_limit": next(filter(None, limits), None),
        "auth": _get_auth(service, chosen),
        "scopes": list(chosen.scopes) if chosen and chosen.scopes else None,
    }
    record = {key: value for key, value in record.items() if value is not None}
    record |= {"side_effects": capability.side_effects, "invocations": ways(capability)}
    record |= {"injection_flags": list(capability.injection_flags)}
    call = call_of(service, capability, example)
    return record if call is None else {**record, "call": call}


def inferred_side_effects(capability: Capability) -> dict[str, Any] | None:
    """Return the side effects that the HTTP method implies if the documents state none, or None. GET and HEAD are safe
    by definition (RFC 9110 section 9.2.1). Another method says nothing: POST may only compute."""
    if capability.side_effects is not None:
        return None
    methods = {call.method.upper() for call in capability.invocations if call.kind == "http" and call.method}
    if not methods or not methods <= SAFE_METHODS:
        return None
    return {"value": False, "from": f"{' and '.join(sorted(methods))} is a safe method (RFC 9110 section 9.2.1)"}


def ways(capability: Capability) -> list[dict[str, Any]]:
    """Return every known way to call a capability, JSON-ready."""
    keys = ("kind", "endpoint", "method", "name", "templated", "off_site")
    return [
        {key: getattr(call, key) for key in keys} | ({"source": source_of(call.origin)} if call.origin else {})
        for call in capability.invocations
    ]


def _get_auth(service: Service, call: Invocation | None) -> dict[str, Any] | None:
    """Return the credentials that a call needs: its own, else the service's; None if unknown."""
    auth = call.auth if call is not None and call.auth is not None else service.auth
    if auth == Auth():
        return None
    dumped: dict[str, Any] = _AUTH.dump_python(complete_auth(auth, service.auth), mode="json", exclude_defaults=True)
    for scheme in dumped.get("schemes", ()):
        if "note" in scheme:
            scheme["note"] = line(scheme["note"], NOTE_CHARS)
    return dumped
