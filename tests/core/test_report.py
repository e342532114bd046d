"""What is told about documents can be traced: every finding, and every point of the score, to a place in a source."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from registry.core.assess import assess_body
from registry.core.documents import Json, Via
from registry.core.drafts import UNKNOWN_HOST, judge_draft
from registry.core.findings import Reason
from registry.core.merge import Held
from registry.core.positions import Position
from registry.core.report import Report, report
from tests.support.builders import adp_detail, adp_manifest, awp_manifest
from tests.support.shared import ROOT

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOST = "kiosk.example"
BODIES = sorted((ROOT / "tests" / "formats").glob("*/*/body"))
FAMILIES = {"service", "capability", "conflict", "endpoint"}
"""Of reasons that no single document can be blamed for."""


def held(path: str, value: Any, via: Via | None = None) -> tuple[Held, bytes]:
    raw = value if isinstance(value, bytes) else json.dumps(value, indent=1).encode()
    url = f"https://{HOST}{path}"
    return Held(url, url, assess_body(raw, url, "application/json", via=via), raw, NOW, via), raw


def told(*documents: tuple[Held, bytes]) -> Report:
    return report(HOST, [one for one, _ in documents], {one.url: raw for one, raw in documents})


def of_fixture(body: Path) -> tuple[Report, Held]:
    raw = body.read_bytes()
    draft = judge_draft(raw, "/" + body.parent.parent.name)
    one = Held(draft.url, draft.url, draft.assessment, b"", NOW)
    return report(draft.host or UNKNOWN_HOST, [one], {draft.url: raw}), one


@pytest.mark.parametrize("body", BODIES, ids=lambda body: "/".join(body.parts[-3:-1]))
def test_every_point_is_traced(body: Path) -> None:
    found, one = of_fixture(body)
    assert [line.document for line in found.lines if line.document not in (one.url, None)] == []
    for line in found.lines:
        assert (line.position is not None) is (line.document is not None)
        if line.document is None:
            assert line.finding.reason.partition(".")[0] in FAMILIES
    if found.score is not None:
        by_line = [(line.reason, line.points) for line in found.score.lines]
        assert [(line.finding.reason, line.points) for line in found.lines] == by_line
    priced = sorted(line.points for line in found.lines if line.points)
    assert sorted(one.points for one in found.everything if one.points) == priced


@pytest.mark.parametrize("body", BODIES, ids=lambda body: "/".join(body.parts[-3:-1]))
def test_every_finding_of_a_document_is_told_once_with_its_place(body: Path) -> None:
    found, one = of_fixture(body)
    about = found.about(one.url)
    own = [told.finding for told in about if not told.finding.reason.startswith("signature.")]  # judged by merge
    assert set(own) == set(one.assessment.findings)
    assert len(own) == len(set(one.assessment.findings))
    places = [told.position for told in about]
    assert None not in places and places == sorted(place for place in places if place)


def test_findings_come_in_the_order_of_documents_and_lines() -> None:
    first = held("/.well-known/agent", adp_manifest(HOST, "a", base_url=f"https://{HOST}/", description="short"))
    second = held("/agent.json", {**awp_manifest(HOST), "awp_version": 2})
    found = told(first, second)
    assert [one.document for one in found.told] == sorted(
        (one.document for one in found.told), key=lambda url: [first[0].url, second[0].url, None].index(url)
    )
    places = [one.position for one in found.about(first[0].url)]
    assert places == sorted(place or Position() for place in places)


def test_what_needs_two_documents_is_told_where_it_can_be_mended() -> None:
    """A detail that did not answer is a finding of the manifest, at the URL that it gives."""
    manifest = held("/.well-known/agent", adp_manifest(HOST, "a"))
    via = Via(manifest[0].url, "/capabilities/0/detail_url", "detail_url", "adp-detail")
    found = told(manifest, held("/caps/a", b"<html>", via))
    (one,) = [one for one in found.told if one.finding.reason is Reason.ADP_DETAIL_UNANSWERED]
    assert one.document == manifest[0].url
    source: Json = manifest[1].decode().split("\n")[one.position.line - 1] if one.position else None
    assert source == '   "detail_url": "/caps/a"'
    answered = told(manifest, held("/caps/a", adp_detail("a"), via))
    assert Reason.ADP_DETAIL_UNANSWERED not in {one.finding.reason for one in answered.everything}


def test_a_document_alone_is_told_why_it_is_no_manifest() -> None:
    found = told(held("/agent.json", {"jsonrpc": "2.0", "id": 1}))
    assert [one.finding.reason for one in found.told] == [Reason.FOREIGN]
    assert told(held("/agent.json", {"x": 1}), held("/.well-known/agent", adp_manifest(HOST, "a"))).told == ()
