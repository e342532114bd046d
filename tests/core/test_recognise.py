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
    ("mcp-server-json", "mcp-server-card"), ("mcp-server-card", "mcp-json"),
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
