"""AWAS 1.0: actions by plain HTTP and pages to open. Results need CSS selectors, so they are never told."""

import re
from typing import Any, Final

from registry.core.services import Auth, AuthType, Capability, RateLimit, Service
from registry.core.translate.calls import HttpCall, address, http_call
from registry.core.translate.parameters import Parameter, parameters
from registry.core.translate.said import (
    capability_description,
    capability_name,
    plain_id,
    service_description,
    service_name,
    unique,
)
from registry.core.translate.task import Built, Task, at_capability, shown
from registry.core.vocabulary import METHODS, SAFE_METHODS

VERSION: Final = "1.0"

_WORDS: Final[dict[AuthType, str]] = {"api_key": "api-key", "http_basic": "basic"}
"""Where AWAS's word for a method is not the model's; its vocabulary is open."""
_WINDOW = re.compile(r"\d+[smhd]")
_VALIDATION: Final = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")
_MAX_SCHEMES: Final = 10


def build(task: Task) -> Built:
    base = _base(task)
    origin = "/".join(base.split("/", 3)[:3])
    taken: set[str] = set()
    actions, places = [], []
    for index, capability in task.capabilities():
        call = http_call(index, capability, task.host, METHODS, pages=True)
        if isinstance(call, str):
            task.drop(index, call)
            continue
        name = unique(plain_id(capability.id), taken, "-")
        actions.append(_action(task, name, index, capability, call, origin))
        places.append(call.place)
    if not actions:
        raise task.nothing_left("an AWAS action is an HTTP call or a page")
    document: dict[str, Any] = {
        "version": VERSION,
        "name": service_name(task),
        "description": service_description(task),
        "baseUrl": base,
        "contact": _contact(task.service),
        "authentication": _authentication(task.service.auth),
        "rateLimit": _rate_limit(task.service.policies.rate_limit),
        "actions": actions,
    }
    return Built({key: value for key, value in document.items() if value is not None}, places)


def _base(task: Task) -> str:
    """What paths are resolved against: the service's own base, else the site it was found on."""
    base = task.service.base_url
    if base and "{" not in base and (address(base, task.host) or "").startswith("https:"):
        return base
    return f"https://{task.host}/"


def _contact(service: Service) -> dict[str, str] | None:
    contact = service.provider.contact if service.provider else None
    if not contact:
        return None
    if "@" in contact and "://" not in contact:
        return {"email": contact}
    return {"url": contact} if contact.startswith("https://") else None


def _authentication(auth: Auth) -> dict[str, Any] | None:
    kinds = list(dict.fromkeys(_WORDS.get(one.type, one.type) for one in auth.schemes if one.type != "none"))
    entry: dict[str, Any] = {} if auth.required is None else {"required": auth.required}
    if kinds:
        entry["methods"] = kinds[:_MAX_SCHEMES]
    return entry or None


def _rate_limit(limit: RateLimit | None) -> dict[str, Any] | None:
    if limit is None or limit.requests is None or not _WINDOW.fullmatch(limit.window or ""):
        return None
    return {"requests": limit.requests, "window": limit.window}


def _action(task: Task, name: str, index: int, capability: Capability, call: HttpCall, origin: str) -> dict[str, Any]:
    given = parameters(call.params)
    below = call.url.removeprefix(origin)
    entry: dict[str, Any] = {
        "id": name,
        "name": capability_name(task, index, capability, name),
        "description": capability_description(task, index, capability, name),
        "path": below if below.startswith("/") and not below.startswith("//") else call.url,
        "method": call.method,
        "parameters": None if given is None else [_parameter(one) for one in given],
        "rateLimit": _rate_limit(call.call.rate_limit),
        "authentication": None if call.call.auth is None else _authentication(call.call.auth),
        **_extensions(capability, call.method),
    }
    unnamed = [one.name for one in given or () if not one.text("description")]
    if unnamed:
        what = f"descriptions of {shown(', '.join(unnamed))}"
        task.lose(f"{at_capability(index)}/params", what, "AWAS demands them and none is known: the names stand in")
    return {key: value for key, value in entry.items() if value is not None}


def _extensions(capability: Capability, method: str) -> dict[str, Any]:
    """Version 1.0 has no words for effects and confirmation; who reads extensions should not miss them."""
    confirmation, effects = capability.confirmation, capability.side_effects
    found: dict[str, Any] = {}
    if effects is not None and effects is (method in SAFE_METHODS):
        found["x-side-effects"] = effects
    if confirmation is not None:
        found["x-confirmation"] = {"required": confirmation.required}
        if confirmation.message:
            found["x-confirmation"]["message"] = confirmation.message
    return found


def _parameter(one: Parameter) -> dict[str, Any]:
    """Parameter Object Structure; the description is required."""
    validation: dict[str, Any] = {key: one.number(key) for key in _VALIDATION}
    validation["pattern"] = one.text("pattern")
    rules = {key: value for key, value in validation.items() if value is not None}
    entry = {
        "name": one.name,
        "type": one.type,
        "format": one.text("format"),
        "required": one.required,
        "description": one.text("description") or one.name,
        "default": one.value("default"),
        "example": one.example,
        "enum": one.choices or None,
        "validation": rules or None,
    }
    return {key: value for key, value in entry.items() if value is not None}
