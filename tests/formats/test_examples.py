"""The smallest document that the page of each format shows is one that this registry reads without a complaint."""

import json
from typing import Any

import pytest

from registry.api.validate import check_draft
from registry.core.assessing.assess import assess_body
from registry.core.format_support.format import Format, Role
from registry.core.formats import FORMATS, mcp_tools_list
from registry.core.formats.webmcp_forms.html_forms import tool_forms
from registry.core.model.findings import Severity
from registry.core.names.domains import parse_https

URL = "https://example.com"
JSON = [form for form in FORMATS if not isinstance(form.example, str)]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.slug)
def test_every_format_tells_a_stranger_what_it_is_for(form: Format) -> None:
    assert form.example_text.endswith("\n")
    sentences = form.about.removesuffix(".").split(". ")
    assert len(sentences) == 2 and all(len(sentence.split()) <= 25 for sentence in sentences)
    assert not form.link or parse_https(form.link)


@pytest.mark.parametrize("form", JSON, ids=lambda form: form.slug)
def test_a_pasted_example_is_valid_and_loses_no_point(form: Format) -> None:
    draft = check_draft(form.example_text.encode(), None)
    assert (draft.assessment.format, draft.valid) == (form.slug, True)
    report = draft.report
    assert not report.has(Severity.ERROR, Severity.WARNING)
    assert (report.score.value if report.score else None) == (100 if draft.report.service else None)
    assert report.service is not None or form.role is not Role.SERVICE


@pytest.mark.parametrize("form", JSON, ids=lambda form: form.slug)
def test_no_member_of_an_example_is_superfluous_text(form: Format) -> None:
    raw = form.example_text.encode()
    assert len(raw) < 2_000 and json.loads(raw) == form.example


def served(form: Format) -> tuple[bytes, str]:
    """Return what the reader gets where a site or a server answers with the example."""
    raw = form.example_text.encode()
    if form.slug == "webmcp-forms":
        made = tool_forms(raw, URL)
        return json.dumps(made).encode(), f"{URL}/"
    if form.slug == "mcp-tools-list":
        tools: Any = json.loads(raw)["result"]["tools"]
        return mcp_tools_list.compose(tools, server={}, version="2026-07-28", complete=True), f"{URL}/mcp"
    return raw, f"{URL}{form.paths[0]}"


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in JSON], ids=lambda form: form.slug)
def test_an_example_that_no_site_serves_as_json_is_read_too(form: Format) -> None:
    assessment = assess_body(*served(form), expected=form.slug)
    assert assessment.format == form.slug
    assert all(finding.rule.severity is Severity.INFO for finding in assessment.findings)
    if form.names_documents:
        assert [pointer.url for pointer in assessment.pointers] == [f"{URL}/openapi.json"]
