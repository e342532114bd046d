"""A registry lists itself: submitted to itself, crawled like any other host, and called as its own record says.

`waypost serve` answers behind a proxy that speaks TLS, as in production, and a worker visits it.
"""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jsonschema_rs
import pytest
import pytest_asyncio

from tests.support.builders import adp_site
from tests.support.database import MigratedDatabases, until_true
from tests.support.hang import HANG_SECONDS
from tests.support.running import DataFolder, new_data_folder
from tests.support.sites import LOOPBACK, Exchange, Reply, Site, Sites

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

HOST = "registry.example"
PUBLIC_URL = f"https://{HOST}"
MANIFESTS = {
    "adp": "/.well-known/agent",
    "ai-catalog": "/.well-known/ard.json",
    "api-catalog": "/.well-known/api-catalog",
    "atp": "/.well-known/agent.json",
    "awas": "/.well-known/ai-actions.json",
    "awp": "/agent.json",
    "llms-txt": "/llms.txt",
    "mcp-server-card": "/mcp/server-card",
    "openapi": "/openapi.json",
    "woa": "/.well-known/woa.json",
}
SUBMITTED = ("example.org", "loft.example", "coop.example")
"""Hosts to submit: that of the example in the documents, and two more, because a known host is refused."""

NOT_FORWARDED = {"connection", "content-length", "transfer-encoding"}


@dataclass
class OwnRegistry:
    """`outside` asks as the internet does, through the proxy; `folder` is for commands on the same data."""

    outside: httpx2.AsyncClient
    web: Sites
    folder: DataFolder

    async def request(self, method: str, url: str, **options: Any) -> httpx2.Response:
        """Send a request for a URL of the registry to the proxy, under the registry's name."""
        parts = urlsplit(url)
        assert f"{parts.scheme}://{parts.netloc}" == PUBLIC_URL, url
        address = f"https://{LOOPBACK}:{self.web.port}{parts.path}" + (f"?{parts.query}" if parts.query else "")
        headers = {"Host": HOST, **options.pop("headers", {})}
        extensions = {"sni_hostname": HOST}
        return await self.outside.request(method, address, headers=headers, extensions=extensions, **options)

    async def json(self, path: str, **params: Any) -> Any:
        response = await self.request("GET", PUBLIC_URL + path, params=params)
        assert response.status_code == 200, response.text
        return response.json()


def pigeons(host: str) -> tuple[str, Site]:
    pages = adp_site(host, "create_parcel")
    return host, {path: Reply(page.raw) for path, page in pages.items()}


def forwarding(inside: httpx2.AsyncClient) -> Any:
    """Return a site that forwards every request, unchanged, to the server behind it."""

    async def forward(exchange: Exchange) -> None:
        headers = {name: value for name, value in exchange.headers.items() if name not in NOT_FORWARDED}
        sending = inside.stream(exchange.method, exchange.path, headers=headers, content=exchange.body)
        async with sending as answer:
            chunks = answer.aiter_raw()  # compressed, if they come so
            is_endless = answer.headers.get("content-type", "").startswith("text/event-stream")
            body = await anext(chunks) if is_endless else b"".join([chunk async for chunk in chunks])
        lines = [f"HTTP/1.1 {answer.status_code} Status", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items() if name not in NOT_FORWARDED]
        await exchange.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    return forward


@asynccontextmanager
async def self_listed(folder: Path, database_url: str) -> AsyncIterator[OwnRegistry]:
    """Yield a registry that was submitted to itself and is visited."""
    inside = httpx2.AsyncClient(timeout=HANG_SECONDS)
    async with inside, Sites({HOST: forwarding(inside), **dict(map(pigeons, SUBMITTED))}) as web:
        authority = web.write_authority(folder)
        with new_data_folder(folder / "data", web, authority, database_url) as data_folder:
            data_folder.environment |= {"WAYPOST_PUBLIC_URL": PUBLIC_URL, "WAYPOST_SUBMIT_WAIT": "20"}
            serving = data_folder.start("serve", "--port", "0")
            data_folder.start("worker")
            line = await serving.line_with("the API answers at")
            inside.base_url = httpx2.URL(line.split()[4])
            context = ssl.create_default_context(cafile=str(authority))
            async with httpx2.AsyncClient(verify=context, timeout=HANG_SECONDS) as outside:
                own = OwnRegistry(outside, web, data_folder)
                submitted = await own.request("POST", f"{PUBLIC_URL}/api/services", json={"domain": HOST})
                assert submitted.status_code in (201, 202), submitted.text
                await until_listed(data_folder)
                assert await data_folder.start("export").exit_code() == 0
                yield own


async def until_listed(data_folder: DataFolder) -> None:
    """Wait until the worker has visited the registry, and the index knows it."""
    async with data_folder.opened() as waypost:
        hosts = waypost.frontier.hosts_of([HOST])

        async def is_done() -> bool:
            return not (await waypost.frontier.waiting(hosts) or await waypost.search.index_lag())

        await until_true(is_done)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def own(
    tmp_path_factory: pytest.TempPathFactory, migrated_databases: MigratedDatabases
) -> AsyncIterator[OwnRegistry]:
    with migrated_databases.borrowed() as url:
        async with self_listed(tmp_path_factory.mktemp("own"), url) as registry:
            yield registry


async def test_every_format_is_found_and_nothing_is_to_be_mended(own: OwnRegistry) -> None:
    service = (await own.json(f"/api/services/{HOST}"))["data"]
    assert set(service["formats"]) == {*MANIFESTS, "mcp-tools-list"}  # the tools are asked for at the MCP endpoint
    # every finding has a line, those without points too
    assert [(line["reason"], line["pointer"], line["evidence"]) for line in service["score"]["lines"]] == []
    assert service["score"]["value"] == 100
    assert (service["trust_level"], service["verified"]) == ("verified", True)
    assert service["injection_flags"] == []


async def test_each_document_is_valid_by_itself(own: OwnRegistry) -> None:
    for form, path in MANIFESTS.items():
        if form == "llms-txt":
            continue  # the operation reads JSON
        document = await own.request("GET", PUBLIC_URL + path)
        checked = await own.request("POST", f"{PUBLIC_URL}/api/validate", params={"at": path}, content=document.content)
        report = checked.json()
        assert (report["valid"], report["errors"], report["format"]) == (True, [], form)


async def test_unknown_paths_are_absent(own: OwnRegistry) -> None:
    for path in ("/.well-known/nothing", "/woa/nothing", "/agents.json", "/.well-known/agent-card.json", "/llms.txt/x"):
        assert (await own.request("GET", PUBLIC_URL + path)).status_code in (404, 405), path


REFUSED = {
    # the name of the example is below a reserved top level
    "ask_api_checks_post": 400,
    # it was visited a moment ago
    "check_health_api_health__domain__post": 429,
    "verify_api_verify__domain__post": 429,
    # the host of the example cannot be claimed, and nobody has submitted it
    "claim_api_claims_post": 400,
    "file_api_reports_post": 404,
    "give_api_feedback_post": 404,
    # the example has what another registry issued: the id of a document, secret addresses
    "one_evidence_api_services__domain__evidence__id__get": 404,
    "raw_api_services__domain__evidence__id__raw_get": 404,
    "state_api_reports__token__get": 404,
    "status_api_checks__token__get": 404,
    "state_api_submissions__id__get": 404,
}
"""Operations that are described, and refuse their example for a reason of the moment; with the status."""


async def test_every_capability_answers_the_call_of_its_own_record(own: OwnRegistry) -> None:
    service = (await own.json(f"/api/services/{HOST}"))["data"]
    called, failed = set(), []
    for capability in service["manifest"]["capabilities"]:
        detail = await own.json(f"/api/services/{HOST}/capabilities/{capability['name']}")
        call = detail["call"]
        if call["kind"] not in ("http", "woa_operation"):
            continue  # of the MCP server: its own tests call its tools
        if call["credentials"]["required"]:
            continue  # of owners and operators: tests/api/test_ownership.py and test_admin.py call them
        assert call["missing"] == [], capability["name"]
        answer = await sent(own, call["example"] | await part_of_a_dump(own, call["example"]["url"]))
        if capability["name"] in REFUSED:
            assert answer.status_code == REFUSED[capability["name"]], (capability["name"], answer.text)
        elif not answer.is_success:
            failed.append((capability["name"], call["example"], answer.text))
        called.add(capability["name"])
    assert failed == [], "\n".join(map(str, failed))
    own_names = {one["name"] for one in (await own.json("/.well-known/agent"))["capabilities"]}
    assert own_names <= called


async def test_every_advertised_capability_answers_what_it_promises(own: OwnRegistry) -> None:
    """Each detail's example, and the same as an invocation of the agent, whose answer its `outputs` describe."""
    agents = {agent["id"]: agent for agent in (await own.json("/.well-known/woa.json"))["agents"]}
    for entry in (await own.json("/.well-known/agent"))["capabilities"]:
        detail = (await own.request("GET", entry["detail_url"])).json()
        example = detail["request_example"]
        if entry["name"] == "submit_service":  # the example was submitted by the call of the record
            example = {**example, "body": {"domain": SUBMITTED[1]}}
        plain = await sent(own, example)
        assert plain.is_success, (entry["name"], plain.text)
        agent = agents[entry["name"].replace("_", "-")]
        required = agent["inputs"]["required"]
        examples = {name: agent["inputs"]["properties"][name]["examples"][0] for name in required}
        if entry["name"] == "submit_service":
            examples = {"domain": SUBMITTED[2]}
        invoked = await own.request(
            "POST", f"{PUBLIC_URL}/woa/{agent['id']}", json={"agent": agent["id"], "input": examples}
        )
        assert invoked.is_success, (entry["name"], invoked.text)
        for answer in (plain, invoked):
            faults = [
                str(error) for error in jsonschema_rs.Draft202012Validator(agent["outputs"]).iter_errors(answer.json())
            ]
            assert faults == [], entry["name"]


async def test_the_record_is_found_by_a_question_without_privileges(own: OwnRegistry) -> None:
    found = await own.json("/api/discover", q="find services that agents can use")
    assert [row["service"]["domain"] for row in found["data"]] == [HOST]


async def part_of_a_dump(own: OwnRegistry, url: str) -> dict[str, str]:
    """Return the URL of a real part in place of the invented one: names of parts contain their digest."""
    if not url.startswith(f"{PUBLIC_URL}/dumps/") or url.endswith("manifest.json"):
        return {}
    parts = (await own.json("/dumps/manifest.json"))["parts"]
    return {"url": f"{PUBLIC_URL}/dumps/{parts[0]['name']}"}


async def sent(own: OwnRegistry, example: dict[str, Any]) -> httpx2.Response:
    """Send a request as a record's example writes it."""
    body = example.get("body")
    options = {} if body is None else {"json": body} if isinstance(body, dict) else {"content": body}
    return await own.request(example["method"], example["url"], headers=example.get("headers", {}), **options)
