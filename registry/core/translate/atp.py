"""ATP 0.1: capabilities that are called by plain HTTP, with their parameters, effects, policies and workflows."""

import re
from collections.abc import Mapping
from typing import Any, Final

from registry.core.manifest import MAX_TEXTS
from registry.core.services import (
    AuthScheme,
    Capability,
    Invocation,
    RateLimit,
    Service,
    Workflow,
    is_semantic_type,
)
from registry.core.translate.calls import HttpCall, http_call
from registry.core.translate.compare import access
from registry.core.translate.parameters import Parameter, parameters, portable
from registry.core.translate.said import (
    capability_description,
    capability_name,
    kebab_case,
    said,
    service_description,
    service_name,
    unique,
)
from registry.core.translate.task import Built, Place, Task, call_at

METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
OWN_VERSION: Final = "0.0.0"

_SEMVER = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_CACHING = re.compile(r"(allow|deny)(?:, (\d{1,12}) s)?")
_RULES: Final = ("minimum", "maximum")
_VERDICTS: Final = ("allow", "deny", "conditional")
_CREDITS: Final = ("required", "preferred", "none")
_PLACES: Final = ("header", "query", "cookie")
_FLOWS: Final = ("authorizationCode", "clientCredentials")


def build(task: Task) -> Built:
    capabilities: list[dict[str, Any]] = []
    places: list[Place] = []
    taken: set[str] = set()
    ids: dict[str, str] = {}
    for index, capability in task.capabilities():
        call = http_call(index, capability, task.host, METHODS)
        if isinstance(call, str):
            task.drop(index, call)
            continue
        name = unique(kebab_case(capability.id), taken, "-")
        ids.setdefault(capability.id, name)
        capabilities.append(_capability(task, name, index, capability, call))
        places.append(call.place)
    if not capabilities:
        raise task.nothing_left("an ATP capability is an HTTP call")
    service = task.service
    document: dict[str, Any] = {
        "@context": "https://atp.dev/schema/v1",
        "@type": "AgentManifest",
        "name": service_name(task),
        "description": service_description(task),
        "version": _version(task),
        "provider": _provider(service),
        "auth": _auth(service, [call_at(task, one) for one in places]),
        "rateLimit": _rate_limit(service),
        "capabilities": capabilities,
        "workflows": [one for w in service.relations.workflows[:MAX_TEXTS] if (one := _workflow(w, ids))] or None,
        "policies": _policies(service) or None,
    }
    return Built({key: value for key, value in document.items() if value is not None}, places)


# --- the manifest ---------------------------------------------------------------------------------------------------


def _version(task: Task) -> str:
    """Section 4.3. The version is the manifest's own: where the host tells none that fits, ours starts at nothing."""
    version, why = said(task.service.version), f"ATP demands a semantic version: {OWN_VERSION} is this manifest's own"
    if version is not None and _SEMVER.fullmatch(version):
        return version
    task.stand_in("/version", "version", why, known=version is not None)
    return OWN_VERSION


def _provider(service: Service) -> dict[str, Any] | None:
    """Section 3.2: without name and URL there is no provider object."""
    provider = service.provider
    if provider is None or not said(provider.name) or not provider.url:
        return None
    mail = provider.contact if provider.contact and "@" in provider.contact else None
    entry = {"name": said(provider.name), "url": provider.url, "contact": mail, "logo": service.icon_url}
    return {key: value for key, value in entry.items() if value}


def _auth(service: Service, calls: list[Invocation]) -> dict[str, Any] | None:
    """Section 3.3. Schemes that only calls name are the manifest's: ATP has no other place for them."""
    declared = service.auth.schemes or [one for call in calls for one in access(service, call).schemes]
    if service.auth.required is False and not service.auth.schemes:
        return None
    schemes = [entry for scheme in dict.fromkeys(declared) if (entry := _scheme(scheme))]
    identity = next((one for one in declared if one.type == "did"), None)
    auth: dict[str, Any] = {"schemes": schemes[:MAX_TEXTS]} if schemes else {}
    if identity is not None and service.auth.required:
        auth["agentIdentity"] = {"required": True, **({"format": identity.note} if identity.note else {})}
    return auth or None


def _scheme(scheme: AuthScheme) -> dict[str, Any] | None:
    if scheme.type == "oauth2":
        return {"type": "oauth2", **_flows(scheme)}
    if scheme.type == "api_key":
        place = scheme.location if scheme.location in _PLACES else None
        entry = {"type": "apiKey", "in": place, "name": said(scheme.name), "registration": scheme.setup_url}
        return {key: value for key, value in entry.items() if value}
    if scheme.type == "bearer":
        return {"type": "bearer"}
    return {"type": "delegated"} if scheme.type == "custom" and scheme.note == "delegated" else None


def _flows(scheme: AuthScheme) -> dict[str, Any]:
    """Both URLs make the authorization code flow, the only one that has both; a token URL alone could be any other."""
    scopes = dict.fromkeys(scheme.scopes, "")
    if scheme.authorization_url and scheme.token_url and scheme.note != _FLOWS[1]:
        urls = {"authorizationUrl": scheme.authorization_url, "tokenUrl": scheme.token_url}
        return {"flows": {_FLOWS[0]: {**urls, "scopes": scopes}}}
    if scheme.token_url and scheme.note == _FLOWS[1]:
        return {"flows": {_FLOWS[1]: {"tokenUrl": scheme.token_url, "scopes": scopes}}}
    return {}


def _rate_limit(service: Service) -> dict[str, Any] | None:
    limit: RateLimit | None = service.policies.rate_limit
    if limit is None or limit.requests is None or not said(limit.window):
        return None
    tier = {"tierUrl": service.pricing.url} if service.pricing.url else {}
    return {"requests": limit.requests, "window": said(limit.window), **tier}


def _policies(service: Service) -> dict[str, Any]:
    told = service.policies
    caching = _CACHING.fullmatch(told.caching or "")
    entry: dict[str, Any] = {
        "training": told.training if told.training in _VERDICTS else None,
        "inference": told.inference if told.inference in _VERDICTS else None,
        "caching": None if caching is None else {"allowed": caching[1] == "allow"},
        "attribution": told.attribution if told.attribution in _CREDITS else None,
        "termsUrl": told.terms_url,
        "privacyUrl": told.privacy_url,
    }
    if caching is not None and caching[2] is not None:
        entry["caching"]["maxAge"] = int(caching[2])
    return {key: value for key, value in entry.items() if value is not None}


def _workflow(workflow: Workflow, ids: Mapping[str, str]) -> dict[str, Any] | None:
    """Section 3.6. Left out where a step is: a sequence with a hole would be another one."""
    name, description = said(workflow.name), said(workflow.description)
    if name is None or description is None or not all(step in ids for step in workflow.steps):
        return None
    conditional = {ids.get(step, step): _condition(rule, ids) for step, rule in workflow.conditions.items()}
    entry = {"id": workflow.id, "name": name, "description": description, "steps": [ids[s] for s in workflow.steps]}
    return {**entry, "conditional": conditional} if conditional else entry


def _condition(rule: Any, ids: Mapping[str, str]) -> Any:
    if not isinstance(rule, Mapping):
        return rule
    return {
        key: ids.get(value, value) if key in ("onTrue", "onFalse") and isinstance(value, str) else value
        for key, value in rule.items()
    }


# --- capabilities ---------------------------------------------------------------------------------------------------


def _capability(task: Task, name: str, index: int, capability: Capability, call: HttpCall) -> dict[str, Any]:
    given = parameters(call.params)
    entry: dict[str, Any] = {
        "id": name,
        "name": capability_name(task, index, capability, name),
        "description": capability_description(task, index, capability, name),
        "semanticType": next((tag for tag in capability.tags if is_semantic_type(tag)), None),
        "endpoint": call.url,
        "method": call.method,
        "parameters": None if given is None else [_parameter(one) for one in given],
        "response": portable(capability.result),
        "requiredScopes": list(call.call.scopes[:MAX_TEXTS]) or None,
        "sideEffects": capability.side_effects,
        "confirmation": _confirmation(capability),
        "deprecated": capability.deprecated,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _confirmation(capability: Capability) -> dict[str, Any] | None:
    told = capability.confirmation
    if told is None:
        return None
    message = said(told.message)
    return {"required": told.required, **({"message": message} if message else {})}


def _parameter(one: Parameter) -> dict[str, Any]:
    """Section 3.5.1."""
    entry = {
        "name": one.name,
        "type": one.type,
        "required": one.required,
        "description": one.text("description"),
        "default": one.value("default"),
        "enum": one.choices or None,
        "format": one.text("format"),
        "pattern": one.text("pattern"),
        **{rule: one.number(rule) for rule in _RULES},
    }
    return {key: value for key, value in entry.items() if value is not None}
