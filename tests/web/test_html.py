"""Every page is valid HTML, small, and has the policy that lets a browser run nothing of others."""

import asyncio
import gzip
import os
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import html5lib
import pytest
from html5lib.html5parser import ParseError

from registry.web.rendering import POLICY
from tests.api.sites import AWKWARD, PIGEON, TOOLS
from tests.support.api import Api
from tests.web.paths import ERRORS, PAGES

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASKING = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
MAX_BYTES = 50_000
VNU = os.environ.get("WAYPOST_TEST_VNU", "")
"""The path of the Nu HTML checker's vnu.jar, where there is one."""


_PLACEHOLDER = re.compile(r"\{(?:base|capability|domain|host|id|name|path|token|url)\}")
_CODE = re.compile(r"<(code|pre|textarea|script)\b.*?</\1>", re.DOTALL)


def faults(page: bytes) -> str | None:
    try:
        html5lib.HTMLParser(strict=True).parse(page)
    except ParseError as error:
        return str(error)
    return None


async def test_a_fault_is_found() -> None:
    assert faults(b"<!doctype html><title>a</title><p><div></p>") is not None


@pytest.mark.parametrize("path", [*PAGES, *ERRORS])
async def test_a_page_is_valid(api: Api, path: str) -> None:
    answer = await api.get(path, headers=ASKING)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.status_code == 200 if path in PAGES else answer.status_code >= 400
    assert faults(answer.content) is None
    assert f"<p>waypost {version('waypost')}: " in answer.text
    assert _PLACEHOLDER.findall(_CODE.sub("", answer.text)) == []


@pytest.mark.skipif(not (VNU and shutil.which("java")), reason="the Nu HTML checker is not installed")
async def test_the_nu_checker_finds_nothing(api: Api, tmp_path: Path) -> None:
    for number, path in enumerate([*PAGES, *ERRORS]):
        (tmp_path / f"{number}.html").write_bytes((await api.get(path, headers=ASKING)).content)
    command = ["java", "-jar", VNU, "--skip-non-html", str(tmp_path)]
    checked = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("path", [*PAGES, *ERRORS])
async def test_a_page_has_the_strict_policy(api: Api, path: str) -> None:
    headers = (await api.get(path, headers=ASKING)).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert (headers["referrer-policy"], headers["x-content-type-options"]) == ("no-referrer", "nosniff")


async def test_markup_of_sites_is_text(api: Api) -> None:
    page = (await api.get(f"/s/{AWKWARD}", headers=ASKING)).text
    assert "Greets &lt;script&gt;alert(1)&lt;/script&gt; visitors politely." in page
    assert "<script>alert" not in page


async def test_a_warning_is_given_once(api: Api) -> None:
    row = (await api.get("/search?domain=" + AWKWARD, headers=ASKING)).text
    assert row.count("instruction") == 1


async def test_a_capability_without_facts_has_no_heading_for_them(api: Api) -> None:
    pages = [
        (await api.get(f"/s/{path}", headers=ASKING)).text
        for path in (f"{TOOLS}/c/get_forecast", f"{PIGEON}/c/create_parcel")
    ]
    assert ["<h2>Facts</h2>" in page for page in pages] == [False, True]


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_small(api: Api, path: str) -> None:
    page = await api.get(path, headers=ASKING)
    files = [await api.get(address) for address in re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)]
    assert sum(len(gzip.compress(one.content)) for one in [page, *files]) < MAX_BYTES


async def test_files_are_kept_forever_at_an_address_with_their_hash(api: Api) -> None:
    page = (await api.get("/", headers=ASKING)).text
    addresses = set(re.findall(r'"(/static/[^"]+)"', page))
    assert len(addresses) == 3
    for address in addresses:
        answer = await api.get(address)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    script = await api.get(next(one for one in addresses if one.endswith(".js")))
    assert len(gzip.compress(script.content)) < 5_000


async def test_pages_and_texts_share_an_address(api: Api) -> None:
    text, page = await api.get("/"), await api.get("/", headers=ASKING)
    assert text.headers["content-type"].startswith("text/plain")
    assert page.headers["content-type"].startswith("text/html")
    assert "Accept" in text.headers["vary"]
    assert "Accept" in page.headers["vary"]
    assert text.headers["link"] == page.headers["link"]  # what the start page leads programs to
    assert (await api.get("/bot")).headers["content-type"].startswith("text/plain")


async def test_errors_are_pages_for_browsers_only(api: Api) -> None:
    assert (await api.get("/no-such-page")).json()["status"] == 404
    assert (await api.get("/api/no-such-page", headers=ASKING)).json()["status"] == 404
    echoed = (await api.get("/no-such-page-" + "q" * 50, headers=ASKING)).text
    assert "qqq" not in echoed
