"""Recognition by content: the table is total, weak rows apply at their paths only, and judging never raises."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.assessing.recognise import ROWS, Negative, RecognitionRow, recognise
from registry.core.format_support.format import Format
from registry.core.format_support.manifest import FINDINGS_PER_DOCUMENT, MAX_CAPABILITIES
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
from registry.core.model.documents import Document, Json, Outcome
from registry.core.model.findings import EVIDENCE_CHARS
from registry.core.model.services import from_json, to_json
from registry.core.reading.reader import Unreadable, read_json
from registry.core.scoring.rubric import RUBRIC
from tests.core.manifests import JSON_FIXTURES, Fixture, altered, json_values
from tests.support.shared import SHARED

PATHS = sorted({path for form in FORMATS for path in form.paths} | {"/", "/x.json"})
MEDIA_TYPES = [None, "application/json", "text/html", "application/octet-stream", "text/markdown"]


def check(assessment: Assessment) -> None:
    """Assert what holds for every assessment."""
    assert len(assessment.findings) <= FINDINGS_PER_DOCUMENT + 5
    for finding in assessment.findings:
        assert RUBRIC[finding.rule.code] is finding.rule
        assert len(finding.evidence) <= EVIDENCE_CHARS
        assert finding.evidence.isprintable()
        assert finding.pointer == "" or finding.pointer.startswith("/")
    found = assessment.outcome is Outcome.FOUND
    assert (assessment.service is not None) is found
    if assessment.service is not None:
        assert assessment.format in FORMAT_BY_SLUG
        assert len(assessment.service.capabilities) <= MAX_CAPABILITIES
        stored = json.loads(json.dumps(to_json(assessment.service), allow_nan=False))
        assert to_json(from_json(stored)) == stored
        for capability in assessment.service.capabilities:
            assert capability.id
            assert capability.name
            for call in capability.invocations:
                absolute = call.endpoint is None or call.endpoint.startswith(("https://", "wss://"))
                assert absolute or assessment.format == "adp-detail"


@given(json_values, st.sampled_from(PATHS), st.sampled_from(MEDIA_TYPES))
@settings(max_examples=150, deadline=None)
@example({}, "/agent.json", None)
@example([], "/agent.json", None)
def test_any_json_is_judged(value: Any, path: str, media_type: str | None) -> None:
    check(assess_body(json.dumps(value).encode(), f"https://www.shop.example{path}", media_type, {}))


ALTERED = st.sampled_from(JSON_FIXTURES).flatmap(lambda one: st.tuples(st.just(one), altered(one.value)))


@given(ALTERED)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_a_manifest_with_anything_anywhere_is_judged(drawn: tuple[Fixture, Any]) -> None:
    fixture, value = drawn
    raw = json.dumps(value).encode()
    check(assess_body(raw, fixture.url, "application/json", {"etag": "x"}, expected=fixture.expected))


@pytest.mark.parametrize("value", [None, [], "text", 5, True])
def test_only_objects_have_a_format(value: Any) -> None:
    assert recognise(Document(b"", value, "https://www.shop.example/agent.json")) is None


def test_weak_rows_keep_to_their_paths_unless_a_pointer_promised_them() -> None:
    value: Json = {"version": "1.0", "actions": [{"id": "wish", "path": "/wish", "method": "GET"}]}
    elsewhere = Document(b"", value, "https://well.example/actions.json?x=/ai-actions.json")
    assert recognise(elsewhere) is None
    assert recognise(elsewhere, "awp") is None
    promised = recognise(elsewhere, "awas")
    assert promised.result is FORMAT_BY_SLUG["awas"]


def test_a_detail_counts_only_where_it_was_promised() -> None:
    value: Json = {"name": "a", "endpoint": "/a", "method": "GET", "parameters": []}
    document = Document(b"", value, "https://well.example/detail/a")
    assert recognise(document) is None
    promised = recognise(document, "adp-detail")
    assert promised is not None and promised.result is FORMAT_BY_SLUG["adp-detail"]


PATHS_OF_ONE = {"/tides": {"get": {"operationId": "listTides", "responses": {}}}}
SERVERS = [{"url": "https://api.tide.example"}]


@pytest.mark.parametrize(
    ("version", "recognised"),
    [
        ({"openapi": 3.1}, "3.1"),
        ({"openapi": 3}, "3"),
        ({"openapi": "v3.0.1"}, "v3.0.1"),
        ({"openapi": "3.0.x"}, "3.0.x"),
        ({"openapi": "OpenAPI 3.0"}, "OpenAPI 3.0"),
        ({"swagger": 2.0}, "2.0"),
        ({"swagger": 2}, "2"),
        ({"swagger": "2"}, "2"),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/openapi.json", "/.well-known/mcp.json", "/.well-known/agent.json"])
def test_an_odd_version_of_openapi_is_openapi(version: dict[str, Json], recognised: str, path: str) -> None:
    value = {**version, "info": {"title": "Tides", "version": "1"}, "servers": SERVERS, "paths": PATHS_OF_ONE}
    found = assess_body(json.dumps(value).encode(), f"https://api.tide.example{path}", "application/json")
    assert (found.outcome, found.format, found.dialect) == (Outcome.FOUND, "openapi", recognised)
    noted = [finding.pointer for finding in found.findings if finding.rule.code == "openapi.specification"]
    assert noted == [f"/{next(iter(version))}"]


@pytest.mark.parametrize(
    "value",
    [
        {"openapi": "https://api.tide.example/openapi.json", "info": {}},
        {"openapi": {"documentUrl": "/openapi.json"}, "info": {}},
        {"openapi": True, "info": {}},
        {"openapi": "3.1.0"},
    ],
    ids=str,
)
def test_a_member_named_openapi_is_not_enough(value: Json) -> None:
    match = recognise(Document(b"", value, "https://api.tide.example/openapi.json"))
    assert match is None or match.result is not FORMAT_BY_SLUG["openapi"]


@pytest.mark.parametrize(
    ("members", "name"),
    [
        ({"asyncapi": "2.6.0", "info": {}, "channels": {}, "servers": SERVERS}, "asyncapi"),
        ({"asyncapi": 3.0, "info": {}, "servers": SERVERS}, "asyncapi"),
        ({"arazzo": "1.0.1", "info": {}, "sourceDescriptions": [], "workflows": []}, "arazzo"),
        ({"overlay": "1.0.0", "info": {}, "actions": [{"target": "$"}]}, "openapi-overlay"),
        ({"openrpc": "1.3.2", "info": {}, "methods": [], "servers": SERVERS}, "openrpc"),
        ({"swaggerVersion": "1.2", "apis": [], "info": {}}, "swagger-1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("path", ["/openapi.json", "/.well-known/mcp.json", "/.well-known/ai-actions.json"])
def test_a_description_of_another_kind_is_named_not_read(members: dict[str, Json], name: str, path: str) -> None:
    found = assess_body(json.dumps(members).encode(), f"https://api.tide.example{path}", "application/json")
    assert (found.outcome, found.reason) == (Outcome.NOT_A_MANIFEST, f"foreign:{name}")


@pytest.mark.parametrize(
    ("body", "version"),
    [
        ("openapi: 3.1.0\ninfo: {title: Tides, version: 1.10}", "1.10"),
        (f"components: {{}}  # {'x' * 150_000}\ninfo:\r\n  version: 2\nopenapi: '3.0.3'", "2"),
        ('"openapi": "3.0.0"\n"info":\n  title: Tides\n  version: 1e3', "1e3"),
        ('{"openapi": "3.1.0", "info": {"title": "Tides",\n "version": 2.50}}', "2.50"),
        ('{"protocolVersion": "0.3.0", "name": "Tides", "version": 1.20, "url": "/a2a", "skills": []}', "1.20"),
        ('{"awp_version": "0.2", "domain": "api.tide.example", "agent": {"version": true}, "actions": []}', None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_version_that_is_a_number_is_read_as_it_is_written(body: str, version: str | None) -> None:
    path = "/openapi.json" if body.startswith("{") else "/openapi.yaml"
    found = assess_body(body.encode(), f"https://api.tide.example{path}", None)
    assert found.service is not None
    assert found.service.version == version
    codes = [finding.rule.code for finding in found.findings]
    assert ("document.version_number" in codes) is (version is not None)
    assert "openapi.version" not in codes


def test_slugs_are_unique_and_weak_rows_come_last() -> None:
    assert len(FORMAT_BY_SLUG) == len(FORMATS)
    strengths = [row.only_at is None and not row.text and not row.promised for row in ROWS]
    assert strengths == sorted(strengths, reverse=True)


def test_only_weak_rows_depend_on_the_path() -> None:
    """Strong rows recognise every fixture without a path of its own in the same way at any path."""
    for fixture in JSON_FIXTURES:
        document = Document(b"", fixture.value, fixture.url)
        match = recognise(document, fixture.expected)
        if match is None or not isinstance(match.result, Format):
            continue
        rows = [row for row in ROWS if row.result is match.result and row.test(document) is not None]
        if all(row.only_at is None and not row.promised for row in rows):
            assert recognise(Document(b"", fixture.value, "https://well.example/anywhere")) == match


ORDER_MATTERS = {
    ("negative", "awp"), ("negative", "mcp-server-card"), ("negative", "ucp"), ("openapi", "mcp-json"),
    ("awp", "agent-json"), ("agent-json", "aid-like"), ("agent-skills-index", "agent-json"),
    ("agent-skills-index", "a2a"), ("x402", "mcp-json"), ("oauth-protected-resource", "oauth-authorization-server"),
    ("mcp-server-json", "mcp-server-card"), ("mcp-server-card", "mcp-json"), ("a2a", "mcp-json"),
}  # fmt: skip
"""Strong rows that match the same document, where the first is correct. All other pairs may be swapped freely."""


def row_name(row: RecognitionRow) -> str:
    if isinstance(row.result, Negative):
        return "negative"
    return row.result.slug if isinstance(row.result, Format) else row.result.name


def corpus() -> Iterator[dict[str, Any]]:
    for path in sorted((SHARED / "corpus").glob("*/*")):
        try:
            value = read_json(path.read_bytes())
        except Unreadable:
            continue
        if isinstance(value, dict):
            yield value


def test_rows_overlap_only_in_listed_pairs() -> None:
    """Every fixture, and every real document if available: a new overlap of rows must be added deliberately."""
    strong = [row for row in ROWS if row.only_at is None and not row.text and not row.promised]
    values = [fixture.value for fixture in JSON_FIXTURES if isinstance(fixture.value, dict)]
    overlaps = set()
    for value in (*values, *corpus()):
        document = Document(b"", value, "https://well.example/anywhere")
        names = list(dict.fromkeys(row_name(row) for row in strong if row.test(document) is not None))
        overlaps |= {(first, second) for index, first in enumerate(names) for second in names[index + 1 :]}
    assert overlaps <= ORDER_MATTERS
