"""All documents about this registry, written from one service of the common model.

The writers refuse addresses that strangers cannot call, which is right for a document about its host, but a developer's
registry answers at http://127.0.0.1:8000. So documents are written for a stand-in name, and the origin of the public
URL replaces it at the end. All addresses are below the public URL, including its path.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from registry.core.format_support.writing.calls import http_call
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.formats.adp.manifest_view import adp_base_url
from registry.core.model.services import Capability, Service
from registry.core.translating import declare
from registry.self_description import texts
from registry.self_description.capabilities import CAPABILITIES, OwnCapability
from registry.self_description.service import (
    DESCRIPTION,
    EXAMPLE_HOST,
    NAME,
    McpServer,
    can_be_listed,
    limit_of,
    own_service,
)
from registry.settings import Settings

WRITTEN: Final = ("adp", "atp", "awp", "woa", "awas")
"""Formats of agents whose manifests are written from the common model."""

CATALOGUES: Final = ("/.well-known/ard.json", "/.well-known/ai-catalog.json")
API_CATALOG: Final = "/.well-known/api-catalog"
OPENAPI: Final = "/openapi.json"
SERVER_CARDS: Final = ("/mcp/server-card", "/.well-known/mcp/server-card.json")

_STAND_IN: Final = "waypost-stand-in.example"
_LINKSET: Final = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
_CATALOGUE: Final = "application/ai-catalog+json"
_CARD: Final = "application/mcp-server-card+json"
_OPENAPI_TYPE: Final = "application/vnd.oai.openapi+json"
_CARD_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_SHORT: Final = "Finds agent services by a sentence, with scores and the reasons behind them."
_QUERIES: Final = (
    "find a service that can send a parcel",
    "which agents can book a table in a restaurant",
    "how do I call the payment service of this host",
)
_METHODS: Final = frozenset({"GET", "POST"})


@dataclass(eq=False)
class SelfDocuments:
    """The documents by path: text and media type. `openapi` returns the description of the API.

    `ard`: the path of the ARD interface below the public URL. `mcp`: the MCP server. None is not advertised.
    """

    settings: Settings
    version: str
    openapi: Callable[[], Mapping[str, Any]]
    mcp: McpServer | None = None
    ard: str | None = None

    def __post_init__(self) -> None:
        public = urlsplit(self.settings.public_url.rstrip("/"))
        self.base = f"{public.scheme}://{public.netloc}{public.path}"
        self._origin = f"{public.scheme}://{public.netloc}"
        self._host = public.hostname or ""
        self._written_base = f"https://{_STAND_IN}{public.path}"
        self._example_host = _STAND_IN if can_be_listed(self._host, self.settings) else EXAMPLE_HOST

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths of all documents, without writing any."""
        details = (_detail_path(capability) for capability in CAPABILITIES)
        manifests = (FORMAT_BY_SLUG[slug].paths[0] for slug in WRITTEN)
        cards = SERVER_CARDS if self.mcp else ()
        texts_at = ("/llms.txt", "/robots.txt", "/terms", "/")
        return (*manifests, *details, *CATALOGUES, API_CATALOG, OPENAPI, *cards, *texts_at)

    @cached_property
    def by_path(self) -> Mapping[str, tuple[str, str]]:
        """Return text and media type of the document at each path."""
        service = own_service(
            self._written_base, self._example_host, self.settings, self.version, self.openapi(), self.mcp
        )
        # AWP section 5.5 allows no template as address
        addresses = tuple(one for one in service.protocols if "{" not in (one.endpoint or ""))
        without_templates = replace(service, protocols=addresses)
        found: dict[str, tuple[str, str]] = {}
        for slug in WRITTEN:
            written = declare(without_templates if slug == "awp" else service, slug, host=_STAND_IN)
            found[written.path] = self._json(written.document), written.media_type
        for index, capability in enumerate(CAPABILITIES):
            detail = self._detail(service, index, service.capabilities[index])
            found[_detail_path(capability)] = self._json(detail), "application/json"
        catalogue = self._json(self._catalogue()), _CATALOGUE
        found |= dict.fromkeys(CATALOGUES, catalogue)
        found[API_CATALOG] = self._json(self._api_catalog()), _LINKSET
        found[OPENAPI] = self._json(self._description()), "application/json"
        if self.mcp:
            found |= dict.fromkeys(SERVER_CARDS, (self._json(self._server_card(self.mcp)), _CARD))
        for path, text, kind in (
            ("/llms.txt", texts.llms_txt(self._written_base, self.mcp is not None, self.ard), "text/markdown"),
            (
                "/robots.txt",
                texts.robots_txt(self._written_base + CATALOGUES[0], f"{self._written_base}/sitemap.xml"),
                "text/plain",
            ),
            ("/terms", texts.terms(self._written_base, self.settings), "text/plain"),
            ("/", texts.front_page(self._written_base, self.mcp.path if self.mcp else None), "text/plain"),
        ):
            found[path] = self._placed(text), f"{kind}; charset=utf-8"
        return found

    def _json(self, document: Mapping[str, Any]) -> str:
        return self._placed(orjson.dumps(document).decode())

    def _placed(self, text: str) -> str:
        """Return the text with this registry's origin and host in place of the stand-in name."""
        return text.replace(f"https://{_STAND_IN}", self._origin).replace(_STAND_IN, self._host)

    # --- documents that no writer makes ------------------------------------------------------------------------------

    def _detail(self, service: Service, index: int, capability: Capability) -> dict[str, Any]:
        """Return the ADP capability detail (ADP 1.0 section 5), with the parameters of its request."""
        own = CAPABILITIES[index]
        call = http_call(_STAND_IN, _METHODS, index, capability)
        if isinstance(call, str):
            raise TypeError(f"{own.name}: {call}")
        base = adp_base_url(_STAND_IN, service)
        places = dict(call.call.places)
        schema = call.params or {}
        parameters = [
            {
                "name": name,
                "type": _ADP_TYPES.get(rules["type"], rules["type"]),
                "in": places.get(name, "body"),
                "description": rules["description"],
                "required": name in schema.get("required", ()),
                "example": rules["examples"][0],
                **({"enum": rules["enum"]} if "enum" in rules else {}),
            }
            for name, rules in schema.get("properties", {}).items()
        ]
        responses = self.openapi()["paths"][own.path][own.method.lower()]["responses"]
        status = next(status for status in ("201", "200", "202") if status in responses)
        rate = limit_of(own, self.settings)
        return {
            "name": own.name,
            "description": own.description,
            "endpoint": call.url.removeprefix(base),
            "method": call.method,
            "parameters": parameters,
            "request_example": _request(call.url, call.method, [one for one in parameters if one["required"]]),
            "response_example": {
                "status": int(status),
                "body": responses[status]["content"]["application/json"]["example"],
            },
            "auth_scopes": [],
            "rate_limits": {"requests_per_minute": rate.requests} if rate.window == "1m" else {},
            "side_effects": own.side_effects,
            "derived": [],
        }

    def _description(self) -> dict[str, Any]:
        """Return the OpenAPI document with this registry's address, and with its host in the examples of paths."""
        document = {**self.openapi(), "servers": [{"url": self._written_base}]}
        paths = {
            path: {method: self._with_own_host(operation) for method, operation in operations.items()}
            for path, operations in document["paths"].items()
        }
        return document | {"paths": paths}

    def _with_own_host(self, operation: Mapping[str, Any]) -> Mapping[str, Any]:
        parameters = [
            {**one, "schema": {**one["schema"], "examples": [self._example_host]}, "example": self._example_host}
            if (one["name"], one["in"]) == ("domain", "path")
            else one
            for one in operation.get("parameters", ())
        ]
        return {**operation, "parameters": parameters} if parameters else operation

    def _catalogue(self) -> dict[str, Any]:
        """Return the catalogue of resources: one document, valid under ARD 0.9, ARD 0.91 and AI Catalog 1.0."""
        base = self._written_base

        def entry(name: str, title: str, kind: str, path: str, description: str) -> dict[str, Any]:
            return {
                "identifier": f"urn:air:{_STAND_IN}:{name}",
                "displayName": title,
                "type": kind,
                "url": base + path,
                "description": description,
                "version": self.version,
                "representativeQueries": list(_QUERIES),
            }

        entries = []
        if self.ard is not None:
            entries.append(entry("registry:search", NAME, "application/ai-registry+json", self.ard, DESCRIPTION))
        if self.mcp is not None:
            entries.append(entry("mcp:registry", NAME, _CARD, SERVER_CARDS[0], f"{_SHORT} As an MCP server."))
        entries.append(entry("openapi:api", NAME, _OPENAPI_TYPE, OPENAPI, "The HTTP API: search, records, checks."))
        return {
            "specVersion": "1.0",
            "host": {"displayName": NAME, "identifier": _STAND_IN, "documentationUrl": f"{base}/docs"},
            "entries": entries,
        }

    def _api_catalog(self) -> dict[str, Any]:
        """Return the API catalogue (RFC 9727 section 4) as a linkset (RFC 9264 section 4.2)."""
        base = self._written_base
        described = [{"href": f"{base}{OPENAPI}", "type": _OPENAPI_TYPE, "title": NAME}]
        api = {
            "anchor": f"{base}/",
            "service-desc": described,
            "service-doc": [{"href": f"{base}/docs", "type": "text/html"}],
            "status": [{"href": f"{base}/readyz", "type": "application/json"}],
            "terms-of-service": [{"href": f"{base}/terms", "type": "text/plain"}],
        }
        return {"linkset": [{"anchor": base + API_CATALOG, "item": [{"href": f"{base}/"}]}, api]}

    def _server_card(self, server: McpServer) -> dict[str, Any]:
        """Return the MCP server card, version 1 (SEP-2127). The server itself lists its tools."""
        base = self._written_base
        return {
            "$schema": _CARD_SCHEMA,
            "name": f"{'.'.join(reversed(self._host.split('.')))}/registry",
            "title": NAME,
            "description": _SHORT,
            "version": self.version,
            "websiteUrl": f"{base}/",
            "remotes": [
                {
                    "type": "streamable-http",
                    "url": base + server.path,
                    "supportedProtocolVersions": list(server.protocol_versions),
                }
            ],
        }


def start_links(base: str) -> str:
    """Return the `Link` field of the start page (RFC 8288). `base`: the public URL without a trailing slash."""
    targets = [
        (CATALOGUES[0], "ard", _CATALOGUE),
        (CATALOGUES[1], "ai-catalog", _CATALOGUE),
        (API_CATALOG, "api-catalog", "application/linkset+json"),
        (OPENAPI, "service-desc", _OPENAPI_TYPE),
        ("/docs", "service-doc", "text/html"),
        ("/llms.txt", "describedby", "text/markdown"),
        (FORMAT_BY_SLUG["atp"].paths[0], "agent-manifest", "application/json"),
        ("/terms", "terms-of-service", "text/plain"),
        ("/changes.atom", "alternate", "application/atom+xml"),
    ]
    return ", ".join(f'<{base}{path}>; rel="{relation}"; type="{kind}"' for path, relation, kind in targets)


_ADP_TYPES: Final = {"integer": "number"}


def _detail_path(capability: OwnCapability) -> str:
    return f"/api/capabilities/{capability.name}"


def _request(url: str, method: str, parameters: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a whole request with the examples of the parameters."""
    by_place: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}}
    for parameter in parameters:
        by_place[parameter["in"]][parameter["name"]] = parameter["example"]
    request = {"method": method, "url": texts.filled(url, by_place["path"], by_place["query"]), "headers": {}}
    if by_place["body"]:
        request |= {"headers": {"Content-Type": "application/json"}, "body": by_place["body"]}
    return request
