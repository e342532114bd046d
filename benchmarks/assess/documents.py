"""Typical documents, generated from a seed: each kind has its usual size on the web, each document its own host.

The sizes follow a collection of 541 real documents, whose medians by kind range from 0.7 to 7.5 KB. Texts are English
words in random order with an occasional non-ASCII letter, as in real texts.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

WORDS = """
    order table weather ticket invoice parcel lamp route hotel price search booking island ferry paper garden recipe
    music report sensor window market signal river bridge forest city station museum coffee bicycle letter camera
    find make send list check update cancel compare translate measure plan share return open reserve track deliver
    by with for from near about under between every fresh quick small open public daily safe seasonal café prêt
""".split()  # noqa: SIM905  # a list of sixty words is easier to read as a text


@dataclass(frozen=True, slots=True)
class Body:
    """A document as it is served. `expected`: the format declared by the pointer to it."""

    kind: str
    url: str
    media_type: str
    raw: bytes
    expected: str | None = None


class Maker:
    """A generator of words, names and schemas with one seed."""

    def __init__(self, seed: int, host: str) -> None:
        self.chance = random.Random(seed)
        self.host = host

    def words(self, least: int, most: int) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(least, most)))

    def sentence(self) -> str:
        return self.words(8, 22).capitalize() + "."

    def name(self) -> str:
        return "_".join(self.chance.choices(WORDS[:46], k=2)) + str(self.chance.randint(1, 99))

    def random_range(self, least: int, most: int) -> range:
        return range(self.chance.randint(least, most))

    def schema(self, least: int = 2, most: int = 5) -> dict[str, Any]:
        properties = {
            self.name(): {
                "type": self.chance.choice(["string", "integer", "boolean"]),
                "description": self.words(4, 12),
            }
            for _ in self.random_range(least, most)
        }
        return {"type": "object", "properties": properties, "required": list(properties)[:1]}

    def url(self, path: str) -> str:
        return f"https://{self.host}{path}"


# --- manifests of the five native formats ---------------------------------------------------------------------------


def adp(make: Maker) -> Any:
    return {
        "spec_version": "1.0",
        "name": make.words(1, 3),
        "description": make.words(8, 20),
        "base_url": make.url("/v1"),
        "auth": {"type": "api_key", "header": "X-Key", "setup_url": make.url("/keys"), "note": make.words(4, 9)},
        "pricing": {"type": "freemium", "plans": [{"name": "Small", "price": "0", "limits": "100 a day"}]},
        "capabilities": [
            {
                "name": make.name(),
                "description": make.sentence(),
                "detail_url": make.url(f"/v1/capabilities/{make.name()}"),
                "resource_group": make.words(1, 1),
            }
            for _ in make.random_range(8, 25)
        ],
    }


def adp_detail(make: Maker) -> Any:
    return {
        "name": make.name(),
        "description": make.sentence(),
        "endpoint": f"/v1/{make.name()}/{{id}}",
        "method": "GET",
        "parameters": [
            {"name": make.name(), "type": "string", "description": make.words(4, 10), "required": True, "in": "query"}
            for _ in make.random_range(2, 6)
        ],
        "request_example": {"method": "GET", "url": make.url("/v1/x/7"), "headers": {"X-Key": "..."}},
        "response_example": {"status": 200, "body": {make.name(): make.words(2, 5) for _ in range(3)}},
    }


def awp(make: Maker) -> Any:
    def action() -> dict[str, Any]:
        inputs = {make.name(): {"type": "string", "required": True, "description": make.words(3, 8)} for _ in range(2)}
        return {
            "id": make.name(),
            "description": make.sentence(),
            "inputs": inputs,
            "outputs": {make.name(): "string", make.name(): "integer"},
            "endpoint": f"/api/{make.name()}",
            "method": make.chance.choice(["GET", "POST"]),
            "auth_required": make.chance.random() < 0.5,
            "rate_limit": "30/minute",
        }

    actions = [action() for _ in make.random_range(2, 8)]
    return {
        "awp_version": "0.2",
        "domain": make.host,
        "intent": make.sentence(),
        "capabilities": {"streaming": False},
        "auth": {"required_for": [actions[0]["id"]], "type": "bearer"},
        "entities": {make.name(): {"fields": {make.name(): "string", make.name(): "integer"}}},
        "dependencies": {actions[-1]["id"]: [actions[0]["id"]]},
        "actions": actions,
    }


def atp(make: Maker) -> Any:
    return {
        "@context": "https://atp.dev/schema/v1",
        "@type": "AgentManifest",
        "name": make.words(1, 3),
        "description": make.sentence(),
        "version": "1.0.0",
        "provider": {"name": make.words(1, 2), "url": make.url("/"), "contact": f"agents@{make.host}"},
        "auth": {"schemes": [{"type": "bearer"}]},
        "rateLimit": {"requests": 600, "window": "1h"},
        "capabilities": [
            {
                "id": make.name(),
                "name": make.words(2, 3),
                "description": make.sentence(),
                "semanticType": "commerce:product-search",
                "endpoint": f"/api/{make.name()}",
                "method": "GET",
                "parameters": [
                    {"name": make.name(), "type": "string", "required": True, "description": make.words(3, 8)}
                    for _ in make.random_range(1, 4)
                ],
                "response": {"type": "object", "properties": {make.name(): {"type": "string"}}},
                "sideEffects": False,
            }
            for _ in make.random_range(3, 9)
        ],
    }


def woa(make: Maker) -> Any:
    return {
        "woa_version": "1",
        "agents": [
            {
                "id": make.name(),
                "name": make.words(1, 2),
                "description": make.sentence(),
                "inputs": make.schema(1, 3),
                "outputs": make.schema(1, 3),
                "transports": ["rest"],
                "operations": [{"name": make.name(), "description": make.sentence()} for _ in make.random_range(1, 3)],
            }
            for _ in make.random_range(1, 4)
        ],
        "transports": {"rest": {"base": make.url("/agents"), "invoke_path": "/{agent_id}/invoke"}},
    }


def awas(make: Maker) -> Any:
    return {
        "version": "1.0",
        "name": make.words(1, 3),
        "description": make.sentence(),
        "baseUrl": make.url("/"),
        "contact": {"email": f"post@{make.host}"},
        "rateLimit": {"requests": 100, "window": "1h"},
        "actions": [
            {
                "id": make.name(),
                "name": make.words(2, 3),
                "description": make.sentence(),
                "path": f"/{make.name()}",
                "method": "GET",
                "parameters": [
                    {"name": make.name(), "type": "string", "required": True, "description": make.words(3, 6)}
                    for _ in make.random_range(1, 3)
                ],
                "result": {"type": "list", "selector": ".list", "itemSelector": ".item"},
            }
            for _ in make.random_range(2, 8)
        ],
    }


# --- other formats --------------------------------------------------------------------------------------------------


def a2a(make: Maker) -> Any:
    return {
        "protocolVersion": "0.3.0",
        "name": make.words(1, 3),
        "description": make.sentence(),
        "url": make.url("/a2a"),
        "version": "1.0.0",
        "preferredTransport": "JSONRPC",
        "provider": {"organization": make.words(1, 2), "url": make.url("/")},
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "security": [{"key": []}],
        "skills": [
            {
                "id": make.name(),
                "name": make.words(2, 3),
                "description": make.sentence(),
                "tags": [make.words(1, 1) for _ in range(3)],
                "examples": [make.words(5, 10)],
            }
            for _ in make.random_range(2, 12)
        ],
    }


def mcp_card(make: Maker) -> Any:
    return {
        "serverInfo": {"name": make.name(), "title": make.words(1, 3), "version": "1.0.0"},
        "description": make.sentence(),
        "transport": {"type": "streamable-http", "endpoint": "/mcp"},
        "capabilities": {"tools": {}},
        "authentication": {"required": True, "schemes": ["bearer"]},
        "tools": [
            {"name": make.name(), "description": make.sentence(), "inputSchema": make.schema(1, 4)}
            for _ in make.random_range(1, 6)
        ],
    }


def mcp_server_json(make: Maker) -> Any:
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-09-29/server.schema.json",
        "name": f"example.{make.name()}/{make.name()}",
        "description": make.words(8, 14),
        "version": "1.0.0",
        "repository": {"url": make.url("/code"), "source": "github"},
        "remotes": [{"type": "streamable-http", "url": make.url("/mcp")}],
    }


def openapi(make: Maker) -> Any:
    def operation() -> dict[str, Any]:
        content = {"application/json": {"schema": make.schema(1, 3)}}
        return {
            "operationId": make.name(),
            "summary": make.words(3, 6),
            "parameters": [{"name": make.name(), "in": "query", "schema": {"type": "string"}}],
            "responses": {"200": {"description": make.words(2, 4), "content": content}},
        }

    return {
        "openapi": "3.1.0",
        "info": {"title": make.words(1, 3), "version": "1.0.0", "description": make.sentence()},
        "servers": [{"url": make.url("/api")}],
        "paths": {f"/{make.name()}/{{id}}": {"get": operation(), "post": operation()} for _ in make.random_range(1, 4)},
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
        "security": [{"key": []}],
    }


def ai_plugin(make: Maker) -> Any:
    return {
        "schema_version": "v1",
        "name_for_human": make.words(1, 2),
        "name_for_model": make.name(),
        "description_for_human": make.words(6, 12),
        "description_for_model": make.sentence() + " " + make.sentence(),
        "auth": {"type": "none"},
        "api": {"type": "openapi", "url": make.url("/openapi.json")},
        "logo_url": make.url("/logo.png"),
        "contact_email": f"post@{make.host}",
        "legal_info_url": make.url("/legal"),
    }


def ai_catalog(make: Maker) -> Any:
    return {
        "specVersion": "1.0",
        "host": {"displayName": make.words(1, 3)},
        "entries": [
            {
                "identifier": f"urn:air:{make.host}:server:{make.name()}",
                "displayName": make.words(1, 3),
                "description": make.sentence(),
                "type": "application/mcp-server-card+json",
                "url": make.url(f"/servers/{make.name()}.json"),
            }
            for _ in make.random_range(2, 6)
        ],
    }


def skills_index(make: Maker) -> Any:
    return {
        "$schema": "https://schemas.agentskills.io/discovery/0.2.0/schema.json",
        "skills": [
            {
                "name": make.name().replace("_", "-"),
                "type": "skill-md",
                "description": make.sentence(),
                "url": f"/.well-known/agent-skills/{make.name()}/SKILL.md",
                "digest": "sha256:" + "0" * 64,
            }
            for _ in make.random_range(3, 10)
        ],
    }


def x402(make: Maker) -> Any:
    return {"version": 1, "resources": [make.url(f"/paid/{make.name()}") for _ in make.random_range(5, 25)]}


def api_catalog(make: Maker) -> Any:
    described = [{"href": make.url("/openapi.json"), "type": "application/json"}]
    return {
        "linkset": [
            {
                "anchor": make.url(f"/{make.name()}"),
                "service-desc": described,
                "service-doc": [{"href": make.url("/d")}],
            }
            for _ in make.random_range(1, 5)
        ]
    }


def llms_txt(make: Maker) -> str:
    def section() -> Iterator[str]:
        yield f"\n## {make.words(1, 3).title()}\n"
        for _ in make.random_range(3, 12):
            yield f"- [{make.words(1, 4)}]({make.url('/docs/' + make.name() + '.md')}): {make.words(5, 16)}"

    lines = [f"# {make.words(1, 3).title()}", "", f"> {make.sentence()}", "", make.sentence()]
    lines += [f"The API: {make.url('/openapi.json')}, for agents {make.url('/mcp')}."]
    return "\n".join([*lines, *(line for _ in make.random_range(3, 8) for line in section())])


JSON = "application/json"
KINDS: dict[str, tuple[str, str, Callable[[Maker], Any]]] = {
    "adp": ("/.well-known/agent", JSON, adp),
    "adp-detail": ("/v1/capabilities/x", JSON, adp_detail),
    "awp": ("/agent.json", JSON, awp),
    "atp": ("/.well-known/agent.json", JSON, atp),
    "woa": ("/.well-known/woa.json", "application/woa+json", woa),
    "awas": ("/.well-known/ai-actions.json", JSON, awas),
    "a2a": ("/.well-known/agent-card.json", JSON, a2a),
    "mcp-server-card": ("/.well-known/mcp/server-card.json", JSON, mcp_card),
    "mcp-server-json": ("/server.json", JSON, mcp_server_json),
    "openapi": ("/openapi.json", JSON, openapi),
    "ai-plugin": ("/.well-known/ai-plugin.json", JSON, ai_plugin),
    "ai-catalog": ("/.well-known/ai-catalog.json", JSON, ai_catalog),
    "agent-skills-index": ("/.well-known/agent-skills/index.json", JSON, skills_index),
    "x402": ("/.well-known/x402", JSON, x402),
    "api-catalog": ("/.well-known/api-catalog", "application/linkset+json", api_catalog),
    "llms-txt": ("/llms.txt", "text/plain", llms_txt),
}
"""Format slug -> (path where such a document is served, media type, function that generates it)."""


def documents(each: int, seed: int = 7) -> list[Body]:
    """Return `each` documents of every kind, alternating between kinds; the same for the same seed."""
    return [_body(kind, seed * 1_000_000 + number) for number in range(each) for kind in KINDS]


def _body(kind: str, number: int) -> Body:
    path, media_type, maker = KINDS[kind]
    host = f"{'api.' if number % 3 == 0 else ''}{kind}-{number}.com"
    document = maker(Maker(number, host))
    raw = (
        document.encode() if isinstance(document, str) else json.dumps(document, indent=2, ensure_ascii=False).encode()
    )
    return Body(kind, f"https://{host}{path}", media_type, raw, kind if kind == "adp-detail" else None)
