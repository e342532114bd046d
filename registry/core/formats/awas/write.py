"""Write an AWAS 1.0 document: HTTP calls and pages to open. Results are omitted, because they need CSS selectors."""

import re
from functools import partial
from typing import Any, Final

from registry.core.format_support.vocabulary import METHODS, SAFE_METHODS
from registry.core.format_support.writing import calls
from registry.core.format_support.writing import task as writing
from registry.core.formats.awas.read import SLUG
from registry.core.model.services import Auth, AuthType, Capability, RateLimit, Service

VERSION: Final = "1.0"

_WORDS: Final[dict[AuthType, str]] = {"api_key": "api-key", "http_basic": "basic"}
"""AWAS names of authentication methods where they differ from the common model; AWAS allows any name."""
_WINDOW = re.compile(r"\d+[smhd]")
_VALIDATION: Final = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")
_MAX_SCHEMES: Final = 10


def write(task: writing.Task) -> writing.WrittenDocument:
    base_url = _write_base_url(task)
    origin = "/".join(base_url.split("/", 3)[:3])
    used_names: set[str] = set()
    actions, sources = [], []
    for index, capability, call in task.entries(partial(calls.http_call, task.host, METHODS, pages=True)):
        name = writing.unique(writing.plain_id(capability.id), used_names, "-")
        actions.append(_write_action(task, name, index, capability, call, origin))
        sources.append(call.source)
    if not actions:
        raise task.nothing_written("an AWAS action is an HTTP call or a page")
    document: dict[str, Any] = {
        "version": VERSION,
        "name": writing.service_name(task),
        "description": writing.service_description(task),
        "baseUrl": base_url,
        "contact": _write_contact(task.service),
        "authentication": _write_authentication(task.service.auth),
        "rateLimit": _write_rate_limit(task.service.policies.rate_limit),
        "actions": actions,
    }
    return writing.WrittenDocument(writing.with_native(SLUG, task.service, document), sources)


def _write_base_url(task: writing.Task) -> str:
    """Return the URL that paths are resolved against: the service's own base, else the host's root."""
    base_url = task.service.base_url
    if base_url and "{" not in base_url and (calls.callable_address(base_url, task.host) or "").startswith("https:"):
        return base_url
    return f"https://{task.host}/"


def _write_contact(service: Service) -> dict[str, str] | None:
    contact = service.provider.contact if service.provider else None
    if not contact:
        return None
    if "@" in contact and "://" not in contact:
        return {"email": contact}
    return {"url": contact} if contact.startswith("https://") else None


def _write_authentication(auth: Auth) -> dict[str, Any] | None:
    kinds = dict.fromkeys(_WORDS.get(scheme.type, scheme.type) for scheme in auth.schemes if scheme.type != "none")
    return writing.stated({"required": auth.required, "methods": list(kinds)[:_MAX_SCHEMES] or None}) or None


def _write_rate_limit(limit: RateLimit | None) -> dict[str, Any] | None:
    if limit is None or limit.requests is None or not _WINDOW.fullmatch(limit.window or ""):
        return None
    return {"requests": limit.requests, "window": limit.window}


def _write_action(
    task: writing.Task, name: str, index: int, capability: Capability, call: calls.HttpCall, origin: str
) -> dict[str, Any]:
    found = calls.parameters(call.params)
    confirmation, effects = capability.confirmation, capability.side_effects
    path = call.url.removeprefix(origin)
    entry: dict[str, Any] = {
        "id": name,
        "name": writing.capability_name(task, index, capability, name),
        "description": writing.capability_description(task, index, capability, name),
        "path": path if path.startswith("/") and not path.startswith("//") else call.url,
        "method": call.method,
        "parameters": None if found is None else [_write_parameter(parameter) for parameter in found],
        "rateLimit": _write_rate_limit(call.call.rate_limit),
        "authentication": None if call.call.auth is None else _write_authentication(call.call.auth),
        # extensions, because 1.0 has no members for these; effects that the method implies are left out
        "x-side-effects": effects if effects is (call.method in SAFE_METHODS) else None,
        "x-confirmation": confirmation
        and writing.stated({"required": confirmation.required, "message": confirmation.message or None}),
    }
    undescribed = [parameter.name for parameter in found or () if not parameter.text("description")]
    if undescribed:
        loss = f"descriptions of {writing.short_name(', '.join(undescribed))}"
        task.note_loss(
            f"{writing.capability_pointer(index)}/params",
            loss,
            "AWAS requires them and none is known: the names are used",
        )
    return writing.with_native(SLUG, capability, entry)


def _write_parameter(parameter: calls.WrittenParameter) -> dict[str, Any]:
    """Return a parameter (section Parameter Object Structure); the name replaces a missing description."""
    validation: dict[str, Any] = {key: parameter.number(key) for key in _VALIDATION}
    validation["pattern"] = parameter.text("pattern")
    return writing.stated({
        "name": parameter.name,
        "type": parameter.type,
        "format": parameter.text("format"),
        "required": parameter.required,
        "description": parameter.text("description") or parameter.name,
        "default": parameter.value("default"),
        "example": parameter.example,
        "enum": parameter.choices or None,
        "validation": writing.stated(validation) or None,
    })  # fmt: skip


WRITER: Final = writing.Writer("AWAS", write)
