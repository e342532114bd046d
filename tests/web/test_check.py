"""Checking a document on a page: the same findings as the API, what is read in it, and files to take away."""

import html
import json
from typing import Any

import pytest

from registry.core.formats import FORMATS
from registry.web.check import PATH, example_of
from tests.api.test_validate import BOOKSHOP
from tests.support.api import Api
from tests.support.builders import adp_manifest
from tests.support.database import rows
from tests.support.sarif import assert_sarif
from tests.web.sending import ASKING, send
from tests.web.test_html import faults

pytestmark = pytest.mark.asyncio(loop_scope="module")

MISTAKES = [form.slug for form in FORMATS if form.mistakes]
HOSTILE = "</textarea><script>alert(1)</script>\"'><svg/onload=alert(1)>"


def flawed() -> dict[str, Any]:
    manifest = adp_manifest("paste.pigeonpost.dev", "fold")
    manifest["capabilities"].append({"description": "Has no name.", "detail_url": "/x"})
    return manifest


async def checked(api: Api, document: Any, at: str = "", **fields: str) -> str:
    text = document if isinstance(document, str) else json.dumps(document, indent=2)
    answer = await send(api, PATH, {"document": text, "at": at, **fields})
    assert answer.status_code == 200, answer.text[:300]
    assert answer.headers["cache-control"] == "no-store"
    return answer.text


async def test_the_page_says_what_the_api_says(api: Api) -> None:
    raw = json.dumps(flawed(), indent=2)
    page = await checked(api, raw.replace("\n", "\r\n"))
    validation = (await api.post("/api/validate", content=raw)).json()
    assert "Not valid: Agent Discovery Protocol" in page
    assert validation["findings"]
    for finding in validation["findings"]:
        assert f"line {finding['line']}, column {finding['column']}" in page
        assert finding["fix"].split(";")[0].replace("'", "&#39;").replace('"', "&#34;")[:40] in page
    assert f"{validation['score']}<span" in page
    assert validation["entries"] == [{"noun": "capability", "read": 1, "not_read": 1}]
    assert "1 capability read, 1 not read" in page


async def test_it_says_how_the_document_is_read(api: Api) -> None:
    page = await checked(api, adp_manifest("paste.pigeonpost.dev", "fold"), "/.well-known/agent")
    assert "the format prescribes this path" in page
    assert "https://paste.pigeonpost.dev/.well-known/agent" in page
    assert "fold" in page.partition('id="reading"')[2].partition("<form")[0]


async def test_a_path_or_a_url_says_where_it_will_be_served(api: Api) -> None:
    at = "/.well-known/ai-actions.json"
    for written in (at, f"https://books.example{at}?a=1#b", f" {at} "):
        page = await checked(api, BOOKSHOP, written)
        assert "AWAS" in page
        assert "unknown.invalid" not in page
    for written in ("books", "ftp://books.example/a", "/with space", "/\u202e", "/" + "x" * 600, "javascript:alert(1)"):
        answer = await send(api, PATH, {"document": "{}", "at": written})
        assert answer.status_code == 400
        assert "Give a path such as" in answer.text
        assert 'aria-invalid="true"' in answer.text


async def test_what_is_no_document_is_told_with_its_place(api: Api) -> None:
    page = await checked(api, '{\n  "a": 1,\n}')
    assert "cannot be read" in page
    assert "(line 3, column 1)" in page
    for text in ("not json", "[1]", '{"a": 1}', "{" * 1_000, '{"a": NaN}', '{"a":1,"a":2}', "1e999", '"\\ud800"'):
        assert faults((await checked(api, text)).encode()) is None
    assert "Paste a document" in (await send(api, PATH, {"document": " \n"})).text


async def test_the_document_can_be_sent_again_as_it_was(api: Api) -> None:
    text = '\n{"a": "\u202e\u200b&amp;"}\n'
    page = await checked(api, text)
    kept = page.partition("<textarea")[2].partition(">\n")[2].partition("</textarea>")[0]
    assert kept == text.replace("&", "&amp;").replace('"', "&#34;")


async def test_texts_of_the_document_stay_texts(api: Api) -> None:
    manifest = adp_manifest("paste.pigeonpost.dev", "fold") | {"name": HOSTILE, "description": "a\u202eb" + HOSTILE}
    manifest["capabilities"][0] |= {"name": HOSTILE, "detail_url": "javascript:alert(1)"}
    page = await checked(api, manifest)
    assert "<svg" not in page
    assert page.count("<script") == 1
    assert "U+202E" in page
    assert "\u202e" not in page
    assert 'href="javascript' not in page


@pytest.mark.parametrize("kind", ["json", "sarif"])
async def test_results_can_be_downloaded(api: Api, kind: str) -> None:
    raw = json.dumps(flawed(), indent=2)
    answer = await send(api, PATH, {"document": raw, "at": "/.well-known/agent", "download": kind})
    assert answer.headers["content-disposition"] == f'attachment; filename="waypost-check.{kind}"'
    validation = (await api.post("/api/validate?at=/.well-known/agent", content=raw)).json()
    if kind == "json":
        assert answer.json() == validation
        return
    log = answer.json()
    assert_sarif(log)
    found = {
        (
            one["ruleId"],
            one["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for one in log["runs"][0]["results"]
    }
    assert {(one["reason"], one["line"] or 1) for one in validation["findings"]} <= found
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": ".well-known/agent", "uriBaseId": "%SRCROOT%"}


async def test_a_document_that_cannot_be_read_has_a_log_too(api: Api) -> None:
    answer = await send(api, PATH, {"document": '{"a": 1,}', "download": "sarif"})
    assert_sarif(answer.json())
    assert answer.json()["runs"][0]["results"]
    refused = await send(api, PATH, {"document": '{"a": 1,}', "download": "json"})
    assert refused.json()["valid"] is False


async def test_a_large_document_is_checked_in_another_process(api: Api) -> None:
    manifest = adp_manifest("paste.pigeonpost.dev", *(f"fold_{number}" for number in range(300)))
    page = await checked(api, manifest)
    assert "The first 30 of 300." in page


@pytest.mark.parametrize("slug", [*MISTAKES, "jwks"])
async def test_examples_fill_the_form_valid_and_with_mistakes(api: Api, slug: str) -> None:
    for mistakes in (False, True):
        query = {"example": slug} | ({"mistakes": ""} if mistakes else {})
        form = (await api.get(PATH, params=query, headers=ASKING)).text
        written = html.unescape(form.partition("<textarea")[2].partition(">\n")[2].partition("</textarea>")[0])
        assert written == example_of(slug, with_mistakes=mistakes)
        answer = (await api.post("/api/validate", content=written)).json()
        lost = [cause for cause in answer["causes"] if cause["points"]]
        assert bool(lost) is (mistakes and slug in MISTAKES)
        assert all(cause["places"][0]["line"] for cause in lost)


@pytest.mark.parametrize("slug", ["", "none", "llms-txt", "x" * 1_000, "../a2a", "\x00"])
async def test_an_unknown_example_leaves_the_form_empty(api: Api, slug: str) -> None:
    answer = await api.get(PATH, params={"example": slug, "mistakes": "1"}, headers=ASKING)
    assert answer.status_code == 200
    assert answer.text.partition("<textarea")[2].partition(">\n")[2].startswith("</textarea>")


async def test_one_mistake_in_many_entries_is_one_finding(api: Api) -> None:
    manifest = adp_manifest("paste.pigeonpost.dev", *(f"fold_{number}" for number in range(40)))
    for entry in manifest["capabilities"]:
        del entry["description"]
    page = await checked(api, manifest)
    assert page.count("it was left out.</strong>") == 1
    assert ">40 times</span>" in page and "and 35 more places" in page


async def test_the_lines_of_long_documents_are_shown_around_the_findings(api: Api) -> None:
    manifest = adp_manifest("paste.pigeonpost.dev", *(f"fold_{number}" for number in range(400)))
    del manifest["capabilities"][300]["description"]
    page = await checked(api, manifest)
    assert "lines left out" in page and page.count("<li id=") < 60
    minified = json.dumps(manifest, separators=(",", ":"))
    source = (await checked(api, minified)).partition('class="source"')[2].partition("</ol>")[0]
    assert "<mark>" in source and len(source) < 2_000


async def test_nothing_is_stored(api: Api) -> None:
    async def counted() -> list[Any]:
        names = await rows(api.store, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        return [await rows(api.store, f"SELECT count(*) FROM {name}") for (name,) in names]

    before = await counted()
    await checked(api, flawed(), "https://paste.pigeonpost.dev/.well-known/agent")
    assert await counted() == before


async def test_the_form_can_be_prepared_by_a_link(api: Api) -> None:
    page = (await api.get(PATH, params={"at": '"><svg>'}, headers=ASKING)).text
    assert 'value="&#34;&gt;&lt;svg&gt;"' in page
