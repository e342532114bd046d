"""Recognise OpenAPI 2.0 to 3.2, in JSON or YAML, and read it: every operation is an HTTP capability."""

import re
from dataclasses import replace
from typing import Any, Final

from registry.core.format_support import manifest
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import page
from registry.core.format_support.format import Format, Role
from registry.core.format_support.loose import license_of, pricing_of
from registry.core.format_support.manifest import Notes, Object, first_text, list_of, map_of, short_text_of, text_of
from registry.core.format_support.probing import CARD_CAP, HostFacts, ProbePath, Topic, never
from registry.core.format_support.security import MAX_SCHEMES, NOTHING_NEEDED, required_auth, schemes_of
from registry.core.format_support.shapes import LIST, OBJECT, TEXT, says_no_auth
from registry.core.formats.openapi import operations, rules
from registry.core.formats.openapi.schemas import OpenApiSchemas
from registry.core.formats.openapi.servers import Bases
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, AuthScheme, Capability, Policies, Pricing, Provider, Service
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = "openapi"
_YAML: Final = "yaml"
_VERSION = re.compile(r"3\.\d+(\.\d+)?(-\S+)?|2\.0")
_ODD_VERSION = re.compile(r"[^\d/:]{0,10}[23](?:\.[^/:]*)?", re.DOTALL)
_YAML_VERSION = re.compile(r"^[\"']?(?:openapi|swagger)[\"']?\s*:\s*[\"']?v?[23]\b", re.MULTILINE)
_YAML_INFO = re.compile(r"^[\"']?info[\"']?\s*:", re.MULTILINE)


def dialect(document: Document) -> str | None:
    """Recognise a description by `openapi` or `swagger` beside `info`. The version may be a number or an odd text, such
    as "v3.0.1" or "3.0.x": the reader notes that, and no other format has these two members."""
    value = document.members
    if not isinstance(value.get("info"), dict):
        return None
    version = _read_specification_version(value)
    return version if _ODD_VERSION.fullmatch(version) else None


def _read_specification_version(value: Object) -> str:
    stated = value.get("swagger") or value.get("openapi")
    return line(str(stated), 20) if isinstance(stated, str | int | float) else ""


def yaml(document: Document) -> str | None:
    """Recognise YAML by the two members that every description has. A weak test, for a description's paths."""
    text = document.text or ""  # all of it: sorted by name, `components` come first
    return _YAML if _YAML_VERSION.search(text) and _YAML_INFO.search(text) else None


_READ: Final = frozenset({
    "openapi", "swagger", "info", "servers", "host", "basePath", "schemes", "paths", "components", "definitions",
    "parameters", "responses", "securityDefinitions", "security", "externalDocs", "consumes", "produces", "webhooks",
    "jsonSchemaDialect", "$schema", "$self",
})  # fmt: skip
_INFO_READ: Final = frozenset({"title", "description", "version", "contact", "license", "termsOfService", "x-logo"})
_PRICES: Final = ("x-pricing", "x-price", "pricing")


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    info = map_of(value, "info")
    _grade(value, info, notes)
    bases = Bases(value, document, notes)
    base = bases.root
    pointer = "/securityDefinitions" if "swagger" in value else "/components/securitySchemes"
    definitions = map_of(value, "securityDefinitions") or map_of(map_of(value, "components"), "securitySchemes")
    schemas = OpenApiSchemas(value, document, notes)
    held: Object = {
        name: schemas.follow(item, at(pointer, name))[0] for name, item in list(definitions.items())[:MAX_SCHEMES]
    }
    auth_schemes = schemes_of(held, document.url)
    capabilities = tuple(operations.read(value, bases, auth_schemes, schemas, document, notes))
    paid_service = map_of(value, operations.PAID_SERVICE)
    pages = map_of(paid_service, "docs")
    docs = (map_of(value, "externalDocs").get("url"), info.get("x-docs"), pages.get("apiReference"))
    homepages = (pages.get("homepage"), info.get("x-homepage"), info.get("x-website"))
    service = Service(
        name=short_text_of(info, "title"),
        description=first_text(info, "description", "summary"),
        provider=_read_provider(map_of(info, "contact"), document),
        version=short_text_of(info, "version"),
        base_url=base.address.url if base.address else None,
        homepage=next((url for target in homepages if (url := page(target, document.url))), None),
        docs_url=next((url for target in docs if (url := page(target, document.url))), None),
        icon_url=page(first_text(map_of(info, "x-logo"), "url") or text_of(info, "x-logo"), document.url),
        license=license_of(info),
        tags=manifest.texts_of(paid_service, "categories"),
        capabilities=capabilities,
        auth=_read_auth(value, info, auth_schemes, capabilities),
        pricing=_read_pricing(value, info, capabilities, document),
        policies=Policies(terms_url=page(info.get("termsOfService"), document.url)),
        native=_read_native(value, info),
    )
    field_pointers = {
        "auth": "/security" if "security" in value else pointer,
        "pricing": _read_payment_pointer(value) or "",
        "base_url": base.pointer,
    }
    return manifest.with_provenance(service, document, SLUG, {**_POINTERS, **field_pointers})


_POINTERS = {
    "name": "/info/title",
    "description": "/info/description",
    "provider": "/info/contact",
    "version": "/info/version",
    "homepage": f"/{operations.PAID_SERVICE}/docs/homepage",
    "icon_url": "/info/x-logo",
    "license": "/info/license",
    "tags": f"/{operations.PAID_SERVICE}/categories",
    "docs_url": "/externalDocs/url",
    "capabilities": "/paths",
    "policies": "/info/termsOfService",
}


def _grade(value: Object, info: Object, notes: Notes) -> None:
    if not text_of(info, "title"):
        notes.add(rules.TITLE, "/info/title")
    if not any(isinstance(value.get(key), dict) for key in ("paths", "webhooks", "components")):
        notes.add(rules.EMPTY, "/paths")
    if not text_of(info, "version"):
        notes.add(rules.VERSION, "/info/version")
    key = "swagger" if "swagger" in value else "openapi"
    if not (isinstance(stated := value.get(key), str) and _VERSION.fullmatch(stated)):
        notes.add(rules.SPECIFICATION, f"/{key}", stated)


def _read_provider(contact: Object, document: Document) -> Provider | None:
    name, mail = short_text_of(contact, "name"), short_text_of(contact, "email")
    url = page(contact.get("url"), document.url)
    return Provider(name, url, mail or url) if name or mail or url else None


def _read_auth(
    value: Object, info: Object, auth_schemes: dict[str, AuthScheme], capabilities: tuple[Capability, ...]
) -> Auth:
    """Return what every operation needs unless it says otherwise. Without a global `security`: "none" if each operation
    says so, or if a text says so and no scheme is defined; else the defined schemes, some of which operations need."""
    stated = required_auth(value.get("security"), auth_schemes)
    if stated is not None:
        return stated
    own = [call.auth for capability in capabilities for call in capability.invocations]
    if own and all(auth is not None and auth == own[0] for auth in own):
        return own[0] or Auth()
    if auth_schemes:
        return Auth(tuple(dict.fromkeys(auth_schemes.values())))
    is_open = says_no_auth((text_of(info, "description"), text_of(info, "summary")))
    return NOTHING_NEEDED if is_open else Auth()


def _read_pricing(value: Object, info: Object, capabilities: tuple[Capability, ...], document: Document) -> Pricing:
    """Return the prices of the API. Members of the Machine Payments Protocol announce a payment: only a claim."""
    held = next((holder[key] for holder in (info, value) for key in _PRICES if holder.get(key)), None)
    pricing = pricing_of(held, document.url)
    pointer = _read_payment_pointer(value)
    if pricing.model == "unknown" and pointer is not None:
        return replace(pricing, model="pay_per_call", note=pricing.note or pointer.removeprefix("/"))
    paid = any(operations.PAID_TAG in capability.tags for capability in capabilities)
    return Pricing("pay_per_call", note=operations.PAID) if paid and pricing == Pricing() else pricing


def _read_payment_pointer(value: Object) -> str | None:
    return next((f"/{key}" for key in (operations.PAID, operations.PAID_SERVICE) if key in value), None)


def _read_native(value: Object, info: Object) -> dict[str, dict[str, Any]]:
    """Return the parts of the description without a field in the model: other servers (and the first one, if it has
    variables to choose from), tags and extensions."""
    servers = list_of(value, "servers")
    others = [server for index, server in enumerate(servers) if index or map_of(server, "variables")]
    has_terms = isinstance(info.get("license"), dict) and len(map_of(info, "license")) > 1
    about = manifest.other_members(info, _INFO_READ - {"license"} if has_terms else _INFO_READ)
    kept = {key: item for key, item in value.items() if key not in _READ}
    if text_of(value.get("externalDocs"), "description"):  # may be another page than the documentation of the host
        kept["externalDocs"] = value["externalDocs"]
    return manifest.native(SLUG, {**kept, "servers": others, "info": about}, frozenset())


_OPERATIONS: Final = "get|put|post|delete|options|head|patch|trace|query"
_PATH_ITEM: Final = frozenset({"$ref", "summary", "description", "servers", "parameters", "additionalOperations"})
"""Members of a path item in all versions (OpenAPI 3.2 section 4.9)."""
_OPERATION: Final = {
    **dict.fromkeys(("operationId", "summary", "description"), TEXT),
    **dict.fromkeys(("parameters", "tags", "security", "servers"), LIST),
    **dict.fromkeys(("requestBody", "responses"), OBJECT),
}  # fmt: skip
_LABELS: Final = ("api", "docs", "developer", "developers")


def _is_openapi_likely(facts: HostFacts) -> bool:
    return facts.label in _LABELS or "openapi" in facts.words


FORMAT: Final = Format(
    slug=SLUG,
    title="OpenAPI description",
    spec="OpenAPI 3.1; Swagger 2.0",
    cited_as="OpenAPI ",
    mistakes={"/info/version": 1.0, "/paths/~1weather/get/parameters/0/in": None, "/servers/0/url": "example.com"},
    about=(
        "An API is described whole: addresses, parameters, answers, credentials. Most programs that call "
        "APIs can read it, and so can agents."
    ),
    link="https://spec.openapis.org/oas/latest.html",
    example={
        "openapi": "3.1.0",
        "info": {"title": "City weather", "description": "Tells the weather of any city.", "version": "1.0.0"},
        "servers": [{"url": "https://example.com"}],
        "security": [],
        "paths": {
            "/weather": {
                "get": {
                    "operationId": "get_weather",
                    "summary": "Tell the weather of a city.",
                    "parameters": [
                        {
                            "name": "city",
                            "in": "query",
                            "required": True,
                            "description": "Name of the city.",
                            "schema": {"type": "string"},
                        },
                    ],
                    "responses": {
                        "200": {
                            "description": "The weather.",
                            "content": {
                                "application/json": {
                                    "schema": {"type": "object", "properties": {"temperature": {"type": "number"}}},
                                },
                            },
                        },
                    },
                },
            },
        },
    },
    paths=("/openapi.json", "/.well-known/openapi.json", "/openapi.yaml", "/swagger.json"),
    media_types=(
        "application/json",
        "application/openapi+json",
        "application/vnd.oai.openapi+json",
        "application/yaml",
        "application/openapi+yaml",
        "application/vnd.oai.openapi",
        "text/yaml",
    ),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part(f"/paths/{{}}/{_OPERATIONS}", "operation", members=_OPERATION, others=_PATH_ITEM),
        Part("/paths/{}/additionalOperations/{}", "operation"),
    ),
    types={
        **dict.fromkeys(("/info/title", "/info/version", "/info/description"), TEXT),
        **dict.fromkeys(("/servers", "/security", "/tags"), LIST),
        "/components": OBJECT,
    },
    rules=rules_in(rules),
    asks=frozenset({"service.unnamed", "service.unversioned"}),
    promised_paths=(),
    promised_pattern=re.compile(r"/(openapi|swagger)\.(json|ya?ml)$"),
    link_relations=("service-desc",),
    accept="application/vnd.oai.openapi+json",
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S4", 10, "/openapi.json", when=_is_openapi_likely),
        ProbePath("S4", 20, "/openapi.yaml", fallback_of="/openapi.json", when=_is_openapi_likely),
        ProbePath("S4", 130, "/.well-known/openapi.json", fallback_of="/openapi.json", when=never),
        ProbePath("S4", 140, "/swagger.json", fallback_of="/openapi.json", when=never),
        ProbePath("S1", 40, "/openapi.json", sub_host="api"),
    ),
    topics=(Topic("openapi", (b"openapi", b"service-desc"), re.compile(rb"openapi|service-desc")),),
    precedence=110,
)
