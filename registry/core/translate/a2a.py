"""A2A agent card: skills of a service that answers the A2A protocol at a known address, and nothing else.

Written as a 1.0 card where the service's interfaces declare version 1, else in the shape that 0.1 to 0.3 share; a
version that nobody names is left out. The required default modes are those that all skills share; the lists are empty
where skills differ, or where nobody says.
"""

from typing import Any, Final

from registry.core.manifest import NAME_CHARS
from registry.core.services import Auth, AuthScheme, Capability, Protocol, Service
from registry.core.translate.calls import address
from registry.core.translate.said import (
    capability_description,
    capability_name,
    plain_id,
    said,
    service_description,
    service_name,
    unique,
)
from registry.core.translate.task import Built, CannotSay, Place, Task

PROTOCOL: Final = "a2a"
MAX_INTERFACES: Final = 20

_WRAPPED: Final = {
    "apiKey": "apiKeySecurityScheme",
    "http": "httpAuthSecurityScheme",
    "oauth2": "oauth2SecurityScheme",
    "openIdConnect": "openIdConnectSecurityScheme",
    "mutualTLS": "mtlsSecurityScheme",
}


def build(task: Task) -> Built:
    service = task.service
    interfaces = [one for one in service.protocols if one.id == PROTOCOL and (address(one.endpoint, task.host) or "")][
        :MAX_INTERFACES
    ]
    if not interfaces:
        raise CannotSay("no document of the host names an address that answers A2A")
    version = said(service.version, NAME_CHARS)
    if version is None:
        raise CannotSay("a card tells the agent's own version, and no document of the host does")
    modern = (interfaces[0].version or "").startswith("1")
    skills, places = _skills(task, interfaces[0])
    if not skills:
        raise task.nothing_left("a card lists the skills that answer A2A")
    card: dict[str, Any] = {
        "name": service_name(task),
        "description": service_description(task),
        "version": version,
        **(_interfaces(interfaces) if modern else _addresses(interfaces)),
        "provider": _provider(service),
        "documentationUrl": service.docs_url,
        "iconUrl": service.icon_url,
        "capabilities": {},
        "defaultInputModes": _shared(skills, "inputModes"),
        "defaultOutputModes": _shared(skills, "outputModes"),
        **_security(service.auth, modern),
        "skills": skills,
    }
    return Built({key: value for key, value in card.items() if value is not None}, places)


def _interfaces(found: list[Protocol]) -> dict[str, Any]:
    """A2A 1.0: every interface names binding and version; one that nobody tells is left out."""
    entries = [{"url": one.endpoint, "protocolBinding": one.transport, "protocolVersion": one.version} for one in found]
    return {"supportedInterfaces": [{key: value for key, value in one.items() if value} for one in entries]}


def _addresses(found: list[Protocol]) -> dict[str, Any]:
    """A2A up to 0.3."""
    first, others = found[0], [one for one in found[1:] if one.transport]
    return {
        "protocolVersion": said(first.version),
        "url": first.endpoint,
        "preferredTransport": first.transport,
        "additionalInterfaces": [{"url": one.endpoint, "transport": one.transport} for one in others] or None,
    }


def _skills(task: Task, first: Protocol) -> tuple[list[dict[str, Any]], list[Place]]:
    skills, places = [], []
    taken: set[str] = set()
    for index, capability in task.capabilities():
        number = _call(capability, first)
        if number is None:
            task.drop(index, "no skill that answers at the agent's address")
            continue
        name = unique(plain_id(capability.id), taken, "-")
        skill: dict[str, Any] = {
            "id": name,
            "name": capability_name(task, index, capability, name),
            "description": capability_description(task, index, capability, name),
            "tags": list(capability.tags),
        }
        optional = {
            "examples": capability.examples,
            "inputModes": capability.input_modes,
            "outputModes": capability.output_modes,
        }
        skill |= {key: list(texts) for key, texts in optional.items() if texts}
        skills.append(skill)
        places.append(Place(index, number))
    return skills, places


def _shared(skills: list[dict[str, Any]], key: str) -> list[str]:
    """What all skills say, taken off them: the default is for those that say nothing."""
    first: list[str] = skills[0].get(key, [])
    if any(skill.get(key, []) != first for skill in skills):
        return []
    for skill in skills:
        skill.pop(key, None)
    return first


def _call(capability: Capability, first: Protocol) -> int | None:
    for number, call in enumerate(capability.invocations):
        if call.kind == "a2a_skill" and call.endpoint in (None, first.endpoint):
            return number
    return None


def _provider(service: Service) -> dict[str, Any] | None:
    provider = service.provider
    if provider is None or not said(provider.name):
        return None
    return {"organization": said(provider.name), **({"url": provider.url} if provider.url else {})}


def _security(auth: Auth, modern: bool) -> dict[str, Any]:
    """Each scheme is one way in; an empty alternative beside them means that none is needed."""
    if auth.required is False and not [one for one in auth.schemes if one.type != "none"]:
        return {"securityRequirements" if modern else "security": []}
    known: dict[str, dict[str, Any]] = {}
    demands: list[dict[str, list[str]]] = []
    for scheme in auth.schemes:
        entry = _scheme(scheme)
        if entry is None:
            continue
        name = unique(scheme.type, set(known), "_")
        known[name] = _wrapped(entry) if modern else entry
        demands.append({name: list(scheme.scopes)})
    if not known:
        return {}
    said_need: dict[str, Any] = {"securitySchemes": known}
    if auth.required is not None:
        ways = demands if auth.required else [*demands, {}]
        wrapped = [{"schemes": {name: {"list": scopes} for name, scopes in way.items()}} for way in ways]
        said_need["securityRequirements" if modern else "security"] = wrapped if modern else ways
    return said_need


def _wrapped(entry: dict[str, Any]) -> dict[str, Any]:
    """A2A 1.0: the kind is the member's name, and `in` is `location`."""
    inner = {"location" if key == "in" else key: value for key, value in entry.items() if key != "type"}
    return {_WRAPPED[entry["type"]]: inner}


def _scheme(scheme: AuthScheme) -> dict[str, Any] | None:
    """As OpenAPI writes it; None for what cannot be said completely."""
    note = {"description": scheme.note} if said(scheme.note) else {}
    if scheme.type == "api_key" and scheme.name and scheme.location:
        return {"type": "apiKey", "in": scheme.location, "name": scheme.name, **note}
    if scheme.type in ("bearer", "http_basic"):
        return {"type": "http", "scheme": "bearer" if scheme.type == "bearer" else "basic", **note}
    if scheme.type == "oauth2" and scheme.authorization_url and scheme.token_url:
        urls = {"authorizationUrl": scheme.authorization_url, "tokenUrl": scheme.token_url}
        return {
            "type": "oauth2",
            "flows": {"authorizationCode": {**urls, "scopes": dict.fromkeys(scheme.scopes, "")}},
            **note,
        }
    if scheme.type == "openid" and scheme.setup_url:
        return {"type": "openIdConnect", "openIdConnectUrl": scheme.setup_url, **note}
    return {"type": "mutualTLS", **note} if scheme.type == "mtls" else None
