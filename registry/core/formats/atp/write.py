"""Write ATP 0.1: capabilities called by plain HTTP, with their parameters and effects, policies and workflows."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from registry.core.format_support.manifest import MAX_TEXTS, NAME_CHARS
from registry.core.format_support.vocabulary import ACTION_METHODS
from registry.core.format_support.writing import calls
from registry.core.format_support.writing import task as writing
from registry.core.formats.atp.read import POLICIES, SLUG
from registry.core.model import services

_CACHING = re.compile(r"(allow|deny)(?:, (\d{1,12}) s)?")
_RULES: Final = ("minimum", "maximum")
_KEY_LOCATIONS: Final = ("header", "query", "cookie")
_FLOWS: Final = ("authorizationCode", "clientCredentials")


def write(task: writing.Task) -> writing.WrittenDocument:
    capabilities: list[dict[str, Any]] = []
    sources: list[writing.EntrySource] = []
    used_names: set[str] = set()
    ids: dict[str, str] = {}
    for index, capability, call in task.entries(partial(calls.http_call, task.host, ACTION_METHODS)):
        name = writing.unique(writing.kebab_case(capability.id), used_names, "-")
        ids.setdefault(capability.id, name)
        capabilities.append(_write_capability(task, name, index, capability, call))
        sources.append(call.source)
    if not capabilities:
        raise task.nothing_written("an ATP capability is an HTTP call")
    service, workflows = task.service, task.service.relations.workflows[:MAX_TEXTS]
    document: dict[str, Any] = {
        "@context": "https://atp.dev/schema/v1",
        "@type": "AgentManifest",
        "name": writing.service_name(task),
        "description": writing.service_description(task),
        "version": _write_version(task),
        "provider": _write_provider(service),
        "auth": _write_auth(service, [writing.call_at(task, source) for source in sources]),
        "rateLimit": _write_rate_limit(service),
        "capabilities": capabilities,
        "workflows": [entry for workflow in workflows if (entry := _write_workflow(workflow, ids))] or None,
        "policies": _write_policies(service) or None,
    }
    return writing.WrittenDocument(writing.with_native(SLUG, service, document), sources)


# --- the manifest ---------------------------------------------------------------------------------------------------


def _write_version(task: writing.Task) -> str:
    """Return the host's version, which need not be semantic (section 4.3 only says how it should be written). Raise
    CannotWrite without one: agents act upon the manifest's version, so that any other would be a false statement."""
    version = writing.clean_text(task.service.version, NAME_CHARS)
    if version is None:
        raise writing.CannotWrite(
            "an ATP manifest states its version (section 3.1), and no document of the host names one"
        )
    return version


def _write_provider(service: services.Service) -> dict[str, Any] | None:
    """Return the provider, which requires name and URL (section 3.2), else None."""
    provider = service.provider
    if provider is None or not writing.clean_text(provider.name) or not provider.url:
        return None
    email = provider.contact if provider.contact and "@" in provider.contact else None
    entry = {"name": writing.clean_text(provider.name), "url": provider.url, "contact": email, "logo": service.icon_url}
    return {key: value for key, value in entry.items() if value}


def _write_auth(service: services.Service, invocations: list[services.Invocation]) -> dict[str, Any] | None:
    """Return `auth` (section 3.3), with schemes that only calls declare: ATP has no other member for those."""
    declared = service.auth.schemes or [
        scheme for call in invocations for scheme in calls.auth_of_call(service, call).schemes
    ]
    if service.auth.required is False and not service.auth.schemes:
        return None
    schemes = [entry for scheme in dict.fromkeys(declared) if (entry := _write_scheme(scheme))]
    identity = next((scheme for scheme in declared if scheme.type == "did"), None)
    auth: dict[str, Any] = {"schemes": schemes[:MAX_TEXTS]} if schemes else {}
    if identity is not None and service.auth.required:
        auth["agentIdentity"] = {"required": True, **({"format": identity.note} if identity.note else {})}
    return auth or None


def _write_scheme(scheme: services.AuthScheme) -> dict[str, Any] | None:
    if scheme.type == "oauth2":
        return {"type": "oauth2", **_write_flows(scheme)}
    if scheme.type == "api_key":
        source = scheme.location if scheme.location in _KEY_LOCATIONS else None
        entry = {
            "type": "apiKey",
            "in": source,
            "name": writing.clean_text(scheme.name),
            "registration": scheme.setup_url,
        }
        return {key: value for key, value in entry.items() if value}
    if scheme.type == "bearer":
        return {"type": "bearer"}
    return {"type": "delegated"} if scheme.type == "custom" and scheme.note == "delegated" else None


def _write_flows(scheme: services.AuthScheme) -> dict[str, Any]:
    """Return `flows`: two URLs mean authorizationCode; a token URL needs a note that names clientCredentials."""
    scopes = dict.fromkeys(scheme.scopes, "")
    if scheme.authorization_url and scheme.token_url and scheme.note != _FLOWS[1]:
        urls = {"authorizationUrl": scheme.authorization_url, "tokenUrl": scheme.token_url}
        return {"flows": {_FLOWS[0]: {**urls, "scopes": scopes}}}
    if scheme.token_url and scheme.note == _FLOWS[1]:
        return {"flows": {_FLOWS[1]: {"tokenUrl": scheme.token_url, "scopes": scopes}}}
    return {}


def _write_rate_limit(service: services.Service) -> dict[str, Any] | None:
    limit = service.policies.rate_limit
    window = writing.clean_text(limit.window) if limit else None
    if limit is None or limit.requests is None or not window:
        return None
    return writing.stated({"requests": limit.requests, "window": window, "tierUrl": service.pricing.url or None})


def _write_policies(service: services.Service) -> dict[str, Any]:
    policies = service.policies
    caching = _CACHING.fullmatch(policies.caching or "")
    maximum = int(caching[2]) if caching and caching[2] else None
    return writing.stated({
        "training": policies.training if policies.training in POLICIES["training"].words else None,
        "inference": policies.inference if policies.inference in POLICIES["inference"].words else None,
        "caching": caching and writing.stated({"allowed": caching[1] == "allow", "maxAge": maximum}),
        "attribution": policies.attribution if policies.attribution in POLICIES["attribution"].words else None,
        "termsUrl": policies.terms_url,
        "privacyUrl": policies.privacy_url,
    })  # fmt: skip


def _write_workflow(workflow: services.Workflow, ids: Mapping[str, str]) -> dict[str, Any] | None:
    """Return a workflow (section 3.6), or None if a step was left out: a shorter sequence would be another workflow."""
    name, description = writing.clean_text(workflow.name), writing.clean_text(workflow.description)
    if name is None or description is None or not all(step in ids for step in workflow.steps):
        return None
    conditional = {ids.get(step, step): _write_condition(rule, ids) for step, rule in workflow.conditions.items()}
    return writing.stated({
        "id": workflow.id,
        "name": name,
        "description": description,
        "steps": [ids[step] for step in workflow.steps],
        "conditional": conditional or None,
    })  # fmt: skip


def _write_condition(rule: Any, ids: Mapping[str, str]) -> Any:
    if not isinstance(rule, Mapping):
        return rule
    return {
        key: ids.get(value, value) if key in ("onTrue", "onFalse") and isinstance(value, str) else value
        for key, value in rule.items()
    }


# --- capabilities ---------------------------------------------------------------------------------------------------


def _write_capability(
    task: writing.Task, name: str, index: int, capability: services.Capability, call: calls.HttpCall
) -> dict[str, Any]:
    found, confirmation = calls.parameters(call.params), capability.confirmation
    message = writing.clean_text(confirmation.message) if confirmation else None
    entry: dict[str, Any] = {
        "id": name,
        "name": writing.capability_name(task, index, capability, name),
        "description": writing.capability_description(task, index, capability, name),
        "semanticType": next((tag for tag in capability.tags if services.is_semantic_type(tag)), None),
        "endpoint": call.url,
        "method": call.method,
        "parameters": None if found is None else [_write_parameter(parameter) for parameter in found],
        "response": calls.drop_references(capability.result),
        "requiredScopes": list(call.call.scopes[:MAX_TEXTS]) or None,
        "sideEffects": capability.side_effects,
        "confirmation": confirmation and writing.stated({"required": confirmation.required, "message": message}),
        "deprecated": capability.deprecated,
    }
    return writing.with_native(SLUG, capability, entry)


def _write_parameter(parameter: calls.WrittenParameter) -> dict[str, Any]:
    """Return a parameter as section 3.5.1 writes it."""
    return writing.stated({
        "name": parameter.name,
        "type": parameter.type,
        "required": parameter.required,
        "description": parameter.text("description"),
        "default": parameter.value("default"),
        "enum": parameter.choices or None,
        "format": parameter.text("format"),
        "pattern": parameter.text("pattern"),
        **{rule: parameter.number(rule) for rule in _RULES},
    })  # fmt: skip


WRITER: Final = writing.Writer("ATP", write)
