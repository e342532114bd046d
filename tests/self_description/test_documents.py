"""The documents about the registry: valid by their own specifications, served as those ask, in agreement."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

import httpx2
import jsonschema_rs
import orjson
import pytest
from fastapi import FastAPI
from openapi_spec_validator import OpenAPIV31SpecValidator

from registry.api.app import make_routes
from registry.api.documents import VERSION
from registry.core.merging.merge import held_from
from registry.core.model.documents import Outcome
from registry.core.scoring.report import Report, report
from registry.core.translating import TARGETS, declare
from registry.core.visiting.robots import Robots
from registry.core.visiting.visits import HostJob
from registry.edge.interfaces import Interface, compose
from registry.edge.middleware import Rules
from registry.edge.requests import provide
from registry.self_description.app import interface
from registry.self_description.capabilities import CAPABILITIES
from registry.self_description.documents import CATALOGUES, WRITTEN, SelfDocuments
from registry.self_description.service import McpServer, own_service
from registry.settings import Settings
from registry.web import app as web
from registry.wiring.maintenance_mode import MaintenanceMode
from registry.wiring.signing_keys import KeyRing
from tests.support.web import Page, Web, visit

pytestmark = pytest.mark.slow

HOST = "registry.example"
BASE = f"https://{HOST}"
MCP = McpServer("/mcp", ("2025-11-25", "2026-07-28"))
ARD = "/ard"
LOCAL = "http://127.0.0.1:8000"
CORS = {"access-control-allow-origin": "*"}


def settings(public_url: str = BASE, **changes: Any) -> Settings:
    return Settings(public_url=public_url, read_rate=1_000_000, connect_to=(f"{HOST}:443:127.0.0.1:1",), **changes)


@cache
def routes_to_describe() -> FastAPI:
    """Return the application whose OpenAPI document is made once, which takes half a second."""
    return make_routes()


def documents(public_url: str = BASE, mcp: McpServer | None = MCP, ard: str | None = ARD) -> SelfDocuments:
    return SelfDocuments(settings(public_url), VERSION, routes_to_describe().openapi, mcp, ard)


def read(path: str, public_url: str = BASE, **options: Any) -> Any:
    return orjson.loads(documents(public_url, **options).by_path[path][0])


@asynccontextmanager
async def served(config: Settings, **offered: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a client of the documents and of the API's pages that need no registry behind them."""
    routes = make_routes()
    # No document reads the registry: it is only asked whether it is in maintenance.
    unread: Any = SimpleNamespace(mode=MaintenanceMode(None, None))  # type: ignore[arg-type]
    provide(routes.state, unread, config)
    routes.state.signing_keys = KeyRing(config)
    own = interface(config, VERSION, routes, routes_to_describe().openapi, **offered)
    pages = web.interface(unread, config, routes, "", "", routes.openapi)
    app = compose([Interface(routes, Rules(open=("/api/",))), own, pages], config)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=BASE) as client:
        yield client


async def pages(config: Settings, **offered: Any) -> dict[str, Page]:
    """Return every page that a visit can find, as it is served."""
    paths = (*documents(config.public_url, **offered).paths, "/docs", "/bot")
    async with served(config, **offered) as client:
        answers = {path: await client.get(path) for path in paths}
    assert {path: answer.status_code for path, answer in answers.items() if answer.status_code != 200} == {}
    return {path: Page(200, answer.content, answer.headers) for path, answer in answers.items()}


def judged(site: Mapping[str, Page], host: str = HOST) -> tuple[Report, set[str]]:
    """Return the report on a visit by the real plan, and the formats that it found."""
    visited = visit(Web({host: site}), host, job=HostJob(host, whole_plan=True, named=True), budget=200)
    held = [held_from(answer, visited.answers) for answer in visited.answers]
    formats = {one.assessment.format for one in held if one.assessment.outcome is Outcome.FOUND}
    return report(host, held, {}), {form for form in formats if form is not None}


def test_with_all_interfaces_every_format_is_found_without_a_finding() -> None:
    found, formats = judged(asyncio.run(pages(settings(), mcp=MCP, ard=ARD)))
    assert formats == {
        "adp", "adp-detail", "ai-catalog", "api-catalog", "atp", "awas", "awp", "llms-txt", "mcp-server-card",
        "openapi", "woa",
    }  # fmt: skip
    assert [(one.rule.code, one.document, one.finding.pointer) for one in found.everything] == []
    assert found.score is not None and found.score.value == 100
    assert found.trust is not None and found.trust.level == "verified"


def test_a_planted_fault_is_found() -> None:
    site = asyncio.run(pages(settings(), mcp=MCP, ard=ARD))
    atp = orjson.loads(site["/.well-known/agent.json"].body)
    del atp["capabilities"][0]["parameters"][0]["description"]
    site["/.well-known/agent.json"] = Page(200, orjson.dumps(atp), site["/.well-known/agent.json"].headers)
    found, _ = judged(site)
    assert [one.rule.code for one in found.everything] == ["atp.parameter_text"]


def test_the_documents_of_one_registry_make_one_service() -> None:
    found, _ = judged(asyncio.run(pages(settings(), mcp=MCP, ard=ARD)))
    assert found.service is not None
    by_name = {capability.name: capability for capability in found.service.capabilities}
    for own in CAPABILITIES:
        formats = {call.origin.format for call in by_name[own.name].invocations if call.origin}
        assert formats >= {"adp-detail", "woa"}, own.name
        assert by_name[own.name].side_effects is own.side_effects
        assert own.id not in by_name and own.title not in by_name  # no second entry under another spelling


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public_url", [LOCAL, "https://hosts.example/registry", "http://[::1]:8000", BASE + "/"])
def test_documents_name_the_public_url_and_nothing_else(public_url: str) -> None:
    made = documents(public_url)
    assert set(made.by_path) == set(made.paths)
    for path, (text, _) in made.by_path.items():
        urls = set(re.findall(r"https?://[^\"\s)<>{}\\]+", text))
        own = {url for url in urls if url.startswith(public_url.rstrip("/"))}
        own |= {
            url for url in urls if path == "/.well-known/woa.json" and f"{url}/registry" == public_url
        }  # its `base`
        foreign = {url.split("/")[2] for url in urls - own}
        assert foreign <= {
            "atp.dev", "static.modelcontextprotocol.io", "json-schema.org", "www.rfc-editor.org",
            # examples of answers
            "api.pigeonpost.example", "registry.example", "pigeonpost.example", "mcp.pigeonpost.example",
            "bikes.example", "www.w3.org",
        }, path  # fmt: skip
        assert "stand-in" not in text, path


def test_below_a_path_every_address_has_it() -> None:
    public_url = "https://hosts.example/registry"
    assert read("/.well-known/agent", public_url)["base_url"] == public_url
    woa = read("/.well-known/woa.json", public_url)["transports"]["rest"]
    assert woa["base"] + woa["invoke_path"] == f"{public_url}/woa/{{agent_id}}"
    awas = read("/.well-known/ai-actions.json", public_url)
    assert httpx2.URL(awas["baseUrl"]).join(awas["actions"][0]["path"]) == f"{public_url}/api/discover"
    for entry in read(CATALOGUES[0], public_url)["entries"]:
        assert entry["url"].startswith(f"{public_url}/")


def test_what_is_not_offered_is_not_advertised() -> None:
    made = documents(mcp=None, ard=None)
    for path, (text, _) in made.by_path.items():
        if path != "/openapi.json" and "/api/capabilities/" not in path:
            assert f"{BASE}/mcp" not in text and f"{BASE}/ard" not in text, path
    assert not any("server-card" in path for path in made.paths)
    assert not any("agent-card" in path for path in documents().paths)  # no endpoint here answers A2A


def test_without_a_name_examples_are_of_an_invented_host() -> None:
    example = read("/api/capabilities/get_service", LOCAL)["request_example"]["url"]
    assert example == f"{LOCAL}/api/services/api.pigeonpost.example"
    assert read("/api/capabilities/get_service")["request_example"]["url"] == f"{BASE}/api/services/{HOST}"


# --- how they are served --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", documents().paths)
async def test_a_document_is_served_as_its_specification_asks(path: str) -> None:
    async with served(settings(), mcp=MCP, ard=ARD) as client:
        answer = await client.get(path)
        again = await client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        head = await client.head(path)
        preflight = await client.options(path)
        with_query = await client.get(path, params={"utm": "1"})
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert (again.status_code, again.content) == (304, b"")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == answer.headers["etag"]
    assert with_query.content == answer.content  # as for a file; each other interface has rules of its own
    if path not in ("/", "/terms"):  # which are pages of the registry too
        assert answer.headers["access-control-allow-origin"] == "*"
        assert preflight.status_code == 204


async def test_media_types_are_those_of_the_specifications() -> None:
    async with served(settings(), mcp=MCP, ard=ARD) as client:
        types = {path: (await client.get(path)).headers["content-type"] for path in documents().paths}
    assert types["/.well-known/woa.json"] == "application/woa+json"
    assert types["/mcp/server-card"] == types["/.well-known/mcp/server-card.json"] == "application/mcp-server-card+json"
    for path in ("/.well-known/agent", "/.well-known/agent.json", "/agent.json", "/.well-known/ai-actions.json"):
        assert types[path] == "application/json"
    assert types["/llms.txt"].startswith("text/markdown") and types["/robots.txt"].startswith("text/plain")


async def test_unknown_paths_and_methods_are_refused() -> None:
    async with served(settings()) as client:
        for path in (
            "/.well-known/nothing",
            "/woa",
            "/woa/",
            "/woa/a/b",
            "/llms.txt/",
            "/agent.json%0A",
            "/mcp/server-card",
        ):
            assert (await client.get(path)).status_code == 404, path
        refused = await client.post("/.well-known/agent.json", content=b"{}")
        invoked = await client.get("/woa/discover-services")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert (invoked.status_code, invoked.headers["allow"]) == (405, "OPTIONS, POST")
    assert refused.headers["content-type"] == "application/problem+json"


async def test_the_start_page_links_the_documents() -> None:
    async with served(settings(), mcp=MCP, ard=ARD) as client:
        page = await client.get("/")
        links = dict(re.findall(r'<([^>]+)>; rel="([a-z-]+)"', page.headers["link"]))
        for url in links:
            if not url.endswith("/changes.atom"):  # it is read from the registry, which is not there
                assert (await client.get(url)).status_code == 200, url
    assert set(links.values()) == {
        "ard", "ai-catalog", "api-catalog", "service-desc", "service-doc", "describedby", "agent-manifest",
        "terms-of-service", "alternate",
    }  # fmt: skip
    assert page.text.startswith("waypost, a discovery registry")


# --- each by its own specification ----------------------------------------------------------------------------------


def test_both_catalogues_are_the_same_bytes_and_valid_under_both_versions() -> None:
    made = documents().by_path
    assert made[CATALOGUES[0]] == made[CATALOGUES[1]]
    catalogue = read(CATALOGUES[0])
    assert catalogue["specVersion"] == "1.0" and catalogue["host"]["displayName"]
    types = {entry["type"]: entry["url"] for entry in catalogue["entries"]}
    assert types["application/ai-registry+json"] == BASE + ARD
    assert types["application/mcp-server-card+json"] == f"{BASE}/mcp/server-card"
    for entry in catalogue["entries"]:
        assert re.fullmatch(r"urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+", entry["identifier"])
        assert entry["identifier"].split(":")[2] == HOST
        assert 2 <= len(entry["representativeQueries"]) <= 5
        assert ("url" in entry) != ("data" in entry)
    assert len({entry["identifier"] for entry in catalogue["entries"]}) == len(catalogue["entries"])


async def test_the_api_catalogue_is_one_of_rfc_9727() -> None:
    """Section 2: the path. Section 4: a linkset, with item links. Section 5: HEAD has a Link with the relation."""
    path = "/.well-known/api-catalog"
    async with served(settings()) as client:
        head = await client.head(path)
        linkset = (await client.get(path)).json()["linkset"]
        item = next(link["href"] for member in linkset for link in member.get("item", ()))
        api = next(member for member in linkset if member["anchor"] == item)
        for relation in ("service-desc", "service-doc", "terms-of-service"):
            target = await client.get(api[relation][0]["href"])
            assert target.status_code == 200, relation
    assert head.headers["link"] == f'<{BASE}{path}>; rel="api-catalog"'
    assert head.headers["content-type"] == 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
    assert all(isinstance(links, list) for member in linkset for key, links in member.items() if key != "anchor")


@pytest.mark.parametrize("public_url", [BASE, LOCAL])
def test_the_openapi_document_is_valid_and_names_its_server(public_url: str) -> None:
    document = read("/openapi.json", public_url)
    OpenAPIV31SpecValidator(document).validate()
    assert document["servers"] == [{"url": public_url}]


def test_llms_txt_has_a_title_a_summary_and_lists_of_links() -> None:
    text, _ = documents().by_path["/llms.txt"]
    lines = text.splitlines()
    assert [line for line in lines if line.startswith("# ")] == [lines[0]] == ["# waypost"]
    assert lines[2].startswith("> ")
    sections = re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]
    for section in sections:
        entries = [line for line in section.splitlines() if line]
        assert entries and all(re.fullmatch(r"- \[[^\]]+\]\(https://[^)\s]+\): .+", entry) for entry in entries)
    assert len(sections) == 4


def test_robots_txt_allows_all_and_names_the_catalogue_and_the_sitemap() -> None:
    text = documents().by_path["/robots.txt"][0]
    assert f"\nSitemap: {BASE}/sitemap.xml\n" in text
    robots = Robots.parse(text.encode())
    assert all(robots.allowed(BASE + path) for path in documents().paths)
    assert [pointer.url for pointer in robots.pointers] == [BASE + CATALOGUES[0]]


def test_the_server_card_has_what_version_1_demands() -> None:
    card = read("/mcp/server-card")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", card["name"]) and card["name"] == "example.registry/registry"
    assert len(card["description"]) <= 100
    remote = {"type": "streamable-http", "url": f"{BASE}/mcp", "supportedProtocolVersions": list(MCP.protocol_versions)}
    assert card["remotes"] == [remote]


def test_schemas_of_agents_are_schemas() -> None:
    agents = read("/.well-known/woa.json")["agents"]
    assert len(agents) == len(CAPABILITIES)
    for agent in agents:
        for key in ("inputs", "outputs"):
            jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **agent[key]})
        examples = {name: rules["examples"][0] for name, rules in agent["inputs"]["properties"].items()}
        assert jsonschema_rs.Draft202012Validator(agent["inputs"]).is_valid(examples), agent["id"]


def test_sizes_stay_within_what_the_specifications_recommend() -> None:
    made = documents().by_path
    assert len(made["/.well-known/agent.json"][0]) < 50 * 1024  # ATP section 6.1
    assert len(made["/.well-known/ai-actions.json"][0]) < 100 * 1000  # AWAS, Best Practices


def test_no_capability_is_lost_in_a_format_of_manifests() -> None:
    service = own_service(BASE, HOST, settings(), VERSION, make_routes().openapi(), None)
    assert set(WRITTEN) <= set(TARGETS)
    for slug in WRITTEN:
        losses = declare(service, slug, host=HOST).losses
        assert [loss for loss in losses if loss.what.startswith("capability ")] == [], slug


def test_the_operator_is_named_as_the_settings_do() -> None:
    made = SelfDocuments(settings(contact_email="desk@registry.example"), VERSION, make_routes().openapi)
    assert "Write to desk@registry.example." in made.by_path["/terms"][0]
    assert orjson.loads(made.by_path["/.well-known/agent.json"][0])["provider"]["contact"] == "desk@registry.example"
    assert "has not configured an address" in documents().by_path["/terms"][0]
