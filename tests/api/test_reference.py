"""`/docs`: the page shows the whole OpenAPI document, and needs and loads nothing else."""

import base64
import hashlib
import re
import shlex
from itertools import pairwise
from typing import Any

import orjson
import pytest
from lxml import html

from registry.api.reference import render
from tests.api.test_openapi import DOCUMENT, OPERATIONS
from tests.support.api import PUBLIC_URL, Api

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = html.fromstring(render(DOCUMENT, PUBLIC_URL))


def text_of(element: Any) -> str:
    return " ".join(element.text_content().split())


def article_of(method: str, path: str) -> Any:
    heading = f"{method.upper()} {path}"
    (article,) = (each for each in PAGE.iter("article") if text_of(each.find("h3/code")) == heading)
    return article


def rows_of(article: Any, caption: str) -> dict[str, Any]:
    """Return the rows of a table by the text of their heads."""
    tables = [table for table in article.iter("table") if text_of(table.find("caption")) == caption]
    return {text_of(row.find("th/code")): row for table in tables for row in table.find("tbody")}


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
async def test_every_operation_is_shown_with_all_its_parameters(
    path: str, method: str, operation: dict[str, Any]
) -> None:
    article = article_of(method, path)
    assert operation["summary"] in text_of(article.find("h3"))
    assert operation["description"].replace("`", "") in text_of(article)
    rows = rows_of(article, "Parameters")
    assert list(rows) == [parameter["name"] for parameter in operation.get("parameters", ())]
    for parameter in operation.get("parameters", ()):
        row = text_of(rows[parameter["name"]])
        assert parameter["description"].replace("`", "") in row
        assert ("required" in text_of(rows[parameter["name"]].find("th"))) is parameter["required"]
        schema = parameter["schema"]
        for value in schema.get("enum") or schema.get("items", {}).get("enum", ()):
            assert str(value) in row


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS)
async def test_every_answer_and_example_is_shown(path: str, method: str, operation: dict[str, Any]) -> None:
    article = article_of(method, path)
    rows = rows_of(article, "Answers")
    assert set(rows) == set(operation["responses"])
    shown = [orjson.loads(pre.text) for pre in article.xpath(".//details/pre")]
    for status, response in operation["responses"].items():
        assert response["description"].replace("`", "") in text_of(rows[status])
        for media in response.get("content", {}).values():
            assert "example" not in media or media["example"] in shown
            if int(status) >= 400:
                linked = [link.get("href") for link in rows[status].iter("a")]
                assert linked == ["#shape-Problem", *(f"/api/problems/{slug}" for slug in media["examples"])]
    for body in operation.get("requestBody", {}).get("content", {}).values():
        assert all(example["value"] in shown for example in body["examples"].values())


async def test_every_shape_is_shown_with_all_its_members() -> None:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        (heading,) = PAGE.xpath(f"//*[@id='shape-{name}']")
        assert list(rows_of(heading.getparent(), "Members")) == list(schema.get("properties", {})), name


async def test_the_page_loads_nothing_and_runs_nothing(api: Api) -> None:
    response = await api.get("/docs")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = html.fromstring(response.text)
    style = page.find("head/style").text
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = response.headers["content-security-policy"].split("; ")
    assert policy == [
        "default-src 'none'", f"style-src 'sha256-{digest}'", "base-uri 'none'", "form-action 'none'",
        "frame-ancestors 'none'",
    ]  # fmt: skip
    assert "@import" not in style and "url(" not in style
    loading = {"script", "link", "img", "iframe", "object", "embed", "form", "base", "video", "audio", "svg"}
    assert loading.isdisjoint(element.tag for element in page.iter() if isinstance(element.tag, str))
    for element in page.iter():
        assert not [name for name in element.attrib if name.startswith("on") or name in ("style", "src", "action")]
    assert all(link.get("href").startswith(("#", "/")) for link in page.iter("a"))


async def test_its_links_lead_somewhere(api: Api) -> None:
    ids = [element.get("id") for element in PAGE.xpath("//*[@id]")]
    assert len(ids) == len(set(ids))
    for address in {link.get("href") for link in PAGE.iter("a")}:
        if address.startswith("#"):
            assert address[1:] in ids
        else:
            assert (await api.get(address)).status_code == 200, address
    assert f"{PUBLIC_URL}/docs" in (await api.get("/")).text


@pytest.mark.asyncio(loop_scope="function")
async def test_its_curl_lines_can_be_copied(own_api: Api) -> None:
    lines = {tuple(shlex.split(pre.text)) for pre in PAGE.xpath("//pre[@class='request']")}
    assert len(lines) == len(OPERATIONS)
    await own_api.waypost.dumps.export()
    for command, address, *options in lines:
        assert command == "curl"
        path = address.removeprefix(PUBLIC_URL)
        if path.endswith(".ndjson.zst"):
            continue  # the name of a part is that of one dump
        if path.startswith(("/api/submissions/", "/api/reports/")):
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


async def test_it_can_be_read_without_sight() -> None:
    levels = [int(element.tag[1]) for element in PAGE.iter("h1", "h2", "h3", "h4")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert PAGE.get("lang") == "en"
    assert [PAGE.find("body")[0].get("href")] == ["#content"]
    for table in PAGE.iter("table"):
        assert text_of(table.find("caption"))
        assert {head.get("scope") for head in table.iter("th")} <= {"col", "row"}
    for area in PAGE.iter("pre"):
        assert area.get("tabindex") == "0"  # it may scroll


async def test_texts_are_escaped() -> None:
    hostile = '<script>alert(1)</script> `<b>` & "quoted" `open'
    changed = {**DOCUMENT, "info": {**DOCUMENT["info"], "title": hostile, "description": hostile}}
    page = render(changed, "https://x.example/<i>")
    assert "<script" not in page and "<b>`" not in page and "<i>" not in page
    assert "<code>&lt;b&gt;</code>" in page
    assert re.search("&#34;quoted&#34; `open", page)


async def test_a_client_that_has_the_page_gets_a_304(api: Api) -> None:
    first = await api.get("/docs")
    again = await api.get("/docs", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert (await api.get("/docs?x=1")).status_code == 400
