"""Write an A2A agent card: the skills of a service that answers the A2A protocol at a known address.

The card has the shape of 1.0 where the service's first interface declares version 1, else the shape that 0.1 to 0.3
share. An unknown protocol version is left out. The required default modes are the modes of all skills; the lists are
empty where skills differ or no document names modes.
"""

from typing import Any, Final

from registry.core.format_support.manifest import NAME_CHARS
from registry.core.format_support.writing import task as writing
from registry.core.format_support.writing.calls import callable_address
from registry.core.format_support.writing.task import Task
from registry.core.formats.a2a.addresses import SLUG
from registry.core.model.services import Auth, AuthScheme, Protocol, Service

PROTOCOL: Final = "a2a"
MAX_INTERFACES: Final = 20

_WRAPPED: Final = {
    "apiKey": "apiKeySecurityScheme",
    "http": "httpAuthSecurityScheme",
    "oauth2": "oauth2SecurityScheme",
    "openIdConnect": "openIdConnectSecurityScheme",
    "mutualTLS": "mtlsSecurityScheme",
}


def write(task: Task) -> writing.WrittenDocument:
    service = task.service
    declared = (protocol for protocol in service.protocols if protocol.id == PROTOCOL)
    interfaces = [one for one in declared if callable_address(one.endpoint, task.host)][:MAX_INTERFACES]
    if not interfaces:
        raise writing.CannotWrite("no document of the host names an address that answers A2A")
    version = writing.clean_text(service.version, NAME_CHARS)
    if version is None:
        raise writing.CannotWrite("a card states the agent's own version, and no document of the host names it")
    is_version_1 = (interfaces[0].version or "").startswith("1")
    skills, sources = _write_skills(task, interfaces[0])
    if not skills:
        raise task.nothing_written("a card lists the skills that answer A2A")
    card: dict[str, Any] = {
        "name": writing.service_name(task),
        "description": writing.service_description(task),
        "version": version,
        **(_write_interfaces(interfaces) if is_version_1 else _write_addresses(interfaces)),
        "provider": _write_provider(service),
        "documentationUrl": service.docs_url,
        "iconUrl": service.icon_url,
        "capabilities": {},
        "defaultInputModes": _take_shared_modes(skills, "inputModes"),
        "defaultOutputModes": _take_shared_modes(skills, "outputModes"),
        **_write_security(service.auth, is_version_1),
        "skills": skills,
    }
    return writing.WrittenDocument(writing.with_native(SLUG, service, card), sources)


def _write_interfaces(protocols: list[Protocol]) -> dict[str, Any]:
    """Return the addresses for A2A 1.0, where interfaces name binding and version; unknown ones are left out."""
    entries = [
        {"url": protocol.endpoint, "protocolBinding": protocol.transport, "protocolVersion": protocol.version}
        for protocol in protocols
    ]
    return {"supportedInterfaces": [{key: value for key, value in entry.items() if value} for entry in entries]}


def _write_addresses(protocols: list[Protocol]) -> dict[str, Any]:
    """Return the addresses as A2A up to 0.3 writes them."""
    first = protocols[0]
    additional = [{"url": one.endpoint, "transport": one.transport} for one in protocols[1:] if one.transport]
    return {
        "protocolVersion": writing.clean_text(first.version),
        "url": first.endpoint,
        "preferredTransport": first.transport,
        "additionalInterfaces": additional or None,
    }


def _write_skills(task: Task, interface: Protocol) -> tuple[list[dict[str, Any]], list[writing.EntrySource]]:
    skills, sources = [], []
    used_names: set[str] = set()
    for index, capability in task.capabilities():
        calls = enumerate(capability.invocations)
        indexes = (i for i, one in calls if one.kind == "a2a_skill" and one.endpoint in (None, interface.endpoint))
        invocation_index = next(indexes, None)
        if invocation_index is None:
            task.leave_out(index, "no skill that answers at the agent's address")
            continue
        name = writing.unique(writing.plain_id(capability.id), used_names, "-")
        skill: dict[str, Any] = {
            "id": name,
            "name": writing.capability_name(task, index, capability, name),
            "description": writing.capability_description(task, index, capability, name),
            "tags": list(capability.tags),
        }
        optional = {
            "examples": capability.examples,
            "inputModes": capability.input_modes,
            "outputModes": capability.output_modes,
        }
        skill |= {key: list(texts) for key, texts in optional.items() if texts}
        skills.append(writing.with_native(SLUG, capability, skill))
        sources.append(writing.EntrySource(index, invocation_index))
    return skills, sources


def _take_shared_modes(skills: list[dict[str, Any]], key: str) -> list[str]:
    """Return the modes that all skills share and remove them from the skills; the card's default then applies."""
    modes: list[str] = skills[0].get(key, [])
    if any(skill.get(key, []) != modes for skill in skills):
        return []
    for skill in skills:
        skill.pop(key, None)
    return modes


def _write_provider(service: Service) -> dict[str, Any] | None:
    provider = service.provider
    if provider is None or not writing.clean_text(provider.name):
        return None
    return {"organization": writing.clean_text(provider.name), **({"url": provider.url} if provider.url else {})}


def _write_security(auth: Auth, is_version_1: bool) -> dict[str, Any]:
    """Return the security members. Each scheme is one alternative; an empty one means that credentials are optional."""
    if auth.required is False and not [auth_scheme for auth_scheme in auth.schemes if auth_scheme.type != "none"]:
        return {"securityRequirements" if is_version_1 else "security": []}
    schemes: dict[str, dict[str, Any]] = {}
    requirements: list[dict[str, list[str]]] = []
    for scheme in auth.schemes:
        entry = _write_scheme(scheme)
        if entry is None:
            continue
        name = writing.unique(scheme.type, set(schemes), "_")
        if is_version_1:  # the member's name is the kind, and `in` is called `location`
            inner = {"location" if key == "in" else key: value for key, value in entry.items() if key != "type"}
            entry = {_WRAPPED[entry["type"]]: inner}
        schemes[name] = entry
        requirements.append({name: list(scheme.scopes)})
    if not schemes:
        return {}
    members: dict[str, Any] = {"securitySchemes": schemes}
    if auth.required is not None:
        alternatives = requirements if auth.required else [*requirements, {}]
        wrapped = [{"schemes": {name: {"list": scopes} for name, scopes in one.items()}} for one in alternatives]
        members["securityRequirements" if is_version_1 else "security"] = wrapped if is_version_1 else alternatives
    return members


def _write_scheme(scheme: AuthScheme) -> dict[str, Any] | None:
    """Return the scheme as OpenAPI writes it, or None if a required member is missing."""
    note = {"description": scheme.note} if writing.clean_text(scheme.note) else {}
    if scheme.type == "api_key" and scheme.name and scheme.location:
        return {"type": "apiKey", "in": scheme.location, "name": scheme.name, **note}
    if scheme.type in ("bearer", "http_basic"):
        return {"type": "http", "scheme": "bearer" if scheme.type == "bearer" else "basic", **note}
    if scheme.type == "oauth2" and scheme.authorization_url and scheme.token_url:
        urls = {"authorizationUrl": scheme.authorization_url, "tokenUrl": scheme.token_url}
        flow = {**urls, "scopes": dict.fromkeys(scheme.scopes, "")}
        return {"type": "oauth2", "flows": {"authorizationCode": flow}, **note}
    if scheme.type == "openid" and scheme.setup_url:
        return {"type": "openIdConnect", "openIdConnectUrl": scheme.setup_url, **note}
    return {"type": "mutualTLS", **note} if scheme.type == "mtls" else None


WRITER: Final = writing.Writer("an A2A card", write)
