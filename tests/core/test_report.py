"""Reports can be traced: every finding, and every lost point of the score, to a position in a source."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from registry.core.assessing import rules as assessing_rules
from registry.core.assessing.assess import assess_body
from registry.core.assessing.drafts import UNKNOWN_HOST, judge_draft
from registry.core.formats.adp import rules as adp_rules
from registry.core.merging.merge import HeldDocument
from registry.core.model.documents import Json, Via
from registry.core.reading.positions import Position
from registry.core.scoring.report import Report, report
from tests.support.builders import adp_detail, adp_manifest, awp_manifest
from tests.support.shared import ROOT

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOST = "kiosk.example"
BODIES = sorted((ROOT / "tests" / "formats").glob("*/*/body"))
FAMILIES = {"service", "capability", "advice", "conflict", "endpoint"}
"""Families of rules that no single document causes."""


def held(path: str, value: Any, via: Via | None = None) -> tuple[HeldDocument, bytes]:
    raw = value if isinstance(value, bytes) else json.dumps(value, indent=1).encode()
    url = f"https://{HOST}{path}"
    return HeldDocument(url, url, assess_body(raw, url, "application/json", via=via), raw, NOW, via), raw


def report_of(*documents: tuple[HeldDocument, bytes]) -> Report:
    return report(HOST, [document for document, _ in documents], {document.url: raw for document, raw in documents})


@pytest.mark.parametrize("body", BODIES, ids=lambda body: "/".join(body.parts[-3:-1]))
def test_every_point_and_finding_is_traced_and_reported_once(body: Path) -> None:
    raw = body.read_bytes()
    draft = judge_draft(raw, "/" + body.parent.parent.name)
    document = HeldDocument(draft.url, draft.url, draft.assessment, b"", NOW)
    result = report(draft.host or UNKNOWN_HOST, [document], {draft.url: raw})
    for line in result.lines:
        assert line.document in (document.url, None)
        assert (line.position is not None) is (line.document is not None)
        assert line.document is not None or line.rule.code.partition(".")[0] in FAMILIES
    if result.score is not None:
        by_line = [(line.rule, line.points) for line in result.score.lines]
        assert [(line.rule, line.points) for line in result.lines] == by_line, body
    priced = sorted(line.points for line in result.lines if line.points)
    assert sorted(reported.points for reported in result.everything if reported.points) == priced
    about = result.about(document.url)
    own = [reported.finding for reported in about if not reported.rule.code.startswith("signature.")]  # added by merge
    assert len(own) == len(set(own)) and set(own) == set(document.assessment.findings)
    positions = [reported.position for reported in about]
    assert None not in positions and positions == sorted(position for position in positions if position), body


def test_findings_come_in_the_order_of_documents_and_lines() -> None:
    first = held("/.well-known/agent", adp_manifest(HOST, "a", base_url=f"https://{HOST}/", description="short"))
    second = held("/agent.json", {**awp_manifest(HOST), "awp_version": 2})
    result = report_of(first, second)
    documents = [reported.document for reported in result.findings]
    assert documents == sorted(documents, key=[first[0].url, second[0].url, None].index)
    positions = [reported.position for reported in result.about(first[0].url)]
    assert positions == sorted(position or Position() for position in positions)


def test_a_finding_about_two_documents_is_placed_where_it_can_be_fixed() -> None:
    """A missing detail is a finding of the manifest, at the URL in it."""
    manifest = held("/.well-known/agent", adp_manifest(HOST, "a"))
    via = Via(manifest[0].url, "/capabilities/0/detail_url", "detail_url", "adp-detail")
    result = report_of(manifest, held("/caps/a", b"<html>", via))
    (unanswered,) = [reported for reported in result.findings if reported.finding.rule is adp_rules.DETAIL_UNANSWERED]
    assert unanswered.document == manifest[0].url
    source: Json = manifest[1].decode().split("\n")[unanswered.position.line - 1] if unanswered.position else None
    assert source == '   "detail_url": "/caps/a"'
    answered = report_of(manifest, held("/caps/a", adp_detail("a"), via))
    assert adp_rules.DETAIL_UNANSWERED not in {reported.finding.rule for reported in answered.everything}


def test_a_single_document_gets_the_reason_why_it_is_no_manifest() -> None:
    result = report_of(held("/agent.json", {"jsonrpc": "2.0", "id": 1}))
    assert [reported.finding.rule for reported in result.findings] == [assessing_rules.FOREIGN]
    assert report_of(held("/agent.json", {"x": 1}), held("/.well-known/agent", adp_manifest(HOST, "a"))).findings == ()
