"""`/docs/api`: its pages show the whole OpenAPI document."""

import shlex
from itertools import pairwise
from typing import Any

import orjson
import pytest
from lxml import html

from registry.web.reference import Reference, operation_id
from tests.api.test_openapi import DOCUMENT, OPERATIONS, operations
from tests.support.api import PUBLIC_URL, Api

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def page_of(api: Api, path: str) -> Any:
    answer = await api.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8"), path
    return html.fromstring(answer.text)


async def operation_page(api: Api, method: str, path: str) -> Any:
    page = await page_of(api, f"/docs/api/{operation_id(method, path)}")
    assert text_of(page.find(".//h1")) == f"{method.upper()} {path}"
    return page.find(".//main")


def text_of(element: Any) -> str:
    return " ".join(element.text_content().split())


def rows_of(page: Any, area: str) -> dict[str, Any]:
    """Return the rows of the tables in an area by the texts of their heads, without the marks beside these."""
    tables = page.xpath(".//div[@aria-label=$area]/table", area=area)
    return {text_of(row.find("th")).split(" ")[0]: row for table in tables for row in table.find("tbody")}


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
async def test_an_operation_has_a_page_with_all_of_it(
    api: Api, path: str, method: str, operation: dict[str, Any]
) -> None:
    page = await operation_page(api, method, path)
    assert operation["summary"] in text_of(page)
    assert operation["description"].replace("`", "") in text_of(page)
    rows = rows_of(page, "Parameters")
    assert list(rows) == [parameter["name"] for parameter in operation.get("parameters", ())]
    for parameter in operation.get("parameters", ()):
        row = text_of(rows[parameter["name"]])
        assert parameter["description"].replace("`", "") in row
        assert ("required" in text_of(rows[parameter["name"]].find("th"))) is parameter["required"]
        schema = parameter["schema"]
        for value in schema.get("enum") or schema.get("items", {}).get("enum", ()):
            assert str(value) in row
    rows = rows_of(page, "Answers")
    assert set(rows) == set(operation["responses"])
    shown = [orjson.loads(pre.text) for pre in page.xpath(".//details/pre")]
    for status, response in operation["responses"].items():
        assert response["description"].replace("`", "") in text_of(rows[status])
        for media in response.get("content", {}).values():
            assert "example" not in media or media["example"] in shown
            if int(status) >= 400:
                linked = [link.get("href") for link in rows[status].iter("a")]
                assert set(linked) == {"/docs/api/shapes/Problem", *(f"/problems/{one}" for one in media["examples"])}
    for body in operation.get("requestBody", {}).get("content", {}).values():
        assert set(rows_of(page, "Members of the body")) == set(body["schema"].get("properties", ()))
        assert all(example["value"] in shown for example in body["examples"].values())


async def test_a_shape_has_a_page_with_its_members_and_who_uses_it(api: Api) -> None:
    names = [text_of(link) for link in (await page_of(api, "/docs/api/shapes")).xpath("//main//li/a")]
    assert names == sorted(DOCUMENT["components"]["schemas"])
    for name in ("DiscoverRow", "Problem", "Submitted"):
        page = await page_of(api, f"/docs/api/shapes/{name}")
        assert set(rows_of(page, "Members")) == set(DOCUMENT["components"]["schemas"][name]["properties"])
    users = [text_of(link) for link in page.xpath("//main//li/a")]
    assert users == ["POST /api/services"]


async def test_the_contents_lead_to_every_operation(api: Api) -> None:
    page = await page_of(api, "/docs/api")
    assert {link.get("href") for link in page.xpath("//main//ul[contains(@class, 'operations')]//a")} == {
        f"/docs/api/{operation_id(method, path)}" for path, method, _ in operations()
    }
    ids = [element.get("id") for element in page.xpath("//*[@id]")]
    assert len(ids) == len(set(ids))
    assert {operation_id(method, path) for path, method, _ in operations()} <= set(ids)  # once anchors of one page


async def test_an_error_leads_to_the_operations_that_give_it(api: Api) -> None:
    page = await page_of(api, "/problems/invalid-cursor")
    users = {text_of(link) for link in page.xpath("//main//details//a")}
    assert "GET /api/feed" in users and "POST /api/claims" not in users
    assert [link.get("href") for link in page.xpath("//main//section/p/a")] == ["/problems", "/docs/feed"]


@pytest.mark.asyncio(loop_scope="function")
async def test_its_curl_lines_can_be_copied(own_api: Api) -> None:
    made = Reference(DOCUMENT, PUBLIC_URL)
    lines = {tuple(shlex.split(one["curl"])) for one in made.operations.values()}
    assert len(lines) == len(OPERATIONS)
    await own_api.waypost.dumps.export()
    for command, address, *options in lines:
        assert command == "curl"
        path = address.removeprefix(PUBLIC_URL)
        if path.endswith(".ndjson.zst"):
            continue  # the name of a part is that of one dump
        if path.startswith(("/api/submissions/", "/api/reports/", "/api/checks/")):
            assert (await own_api.get(path)).status_code == 404  # nobody can guess such an address
            continue
        if "Authorization: Bearer TOKEN" in options:
            method = options[1] if options[0] == "-X" else "POST" if "-d" in options else "GET"
            refused = await own_api.client.request(method, path, headers={"Authorization": "Bearer TOKEN"})
            assert refused.status_code == 401, path  # whoever copies it puts a token in
            continue
        if path == "/api/claims":
            assert (await own_api.post(path, content=options[3])).status_code == 201
            continue
        if not options:
            ask = own_api.client.head if path == "/api/feed/stream" else own_api.client.get  # an answer without an end
            assert (await ask(path)).status_code == 200, path
        elif options == ["-X", "POST"]:
            assert (await own_api.post(f"{path}?wait=0")).status_code in (202, 429), path  # 429: visited just now
        else:
            assert options[:2] == ["-H", "Content-Type: application/json"]
            response = await own_api.post(path, content=options[3])
            assert response.status_code in (200, 201, 202, 409), (path, response.text)  # 409: known already


@pytest.mark.parametrize("path", ["/docs/api", "/docs/api/get-api-discover", "/docs/api/shapes/DiscoverRow"])
async def test_headings_are_in_order(api: Api, path: str) -> None:
    page = await page_of(api, path)
    levels = [int(element.tag[1]) for element in page.iter("h1", "h2", "h3", "h4")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
