"""Properties that hold for any document. WAYPOST_TEST_DEPTH=20 searches twenty times as many examples."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.assessing.recognise import ROWS, Match, Negative, recognise
from registry.core.format_support import common_rules
from registry.core.format_support.format import Format
from registry.core.formats import FORMATS
from registry.core.merging.merge import HeldDocument, LocatedFinding, merge
from registry.core.model.documents import Document, Outcome, Via
from registry.core.model.findings import Finding, Rule, Severity
from registry.core.model.services import Service, from_json, to_json
from registry.core.reading.injection import injection_flags
from registry.core.reading.reader import Unreadable, read_json
from registry.core.scoring.rubric import RUBRIC
from registry.core.scoring.score import score
from tests.core.manifests import BODIES, FOUND, JSON_FIXTURES, Fixture, altered, json_values, texts
from tests.core.test_recognise import ORDER_MATTERS, check, row_name
from tests.support.depth import searched

pytestmark = pytest.mark.slow  # many generated documents

HOST = "www.shop.example"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
MISSED = [outcome for outcome in Outcome if outcome is not Outcome.FOUND]
PATHS = sorted({path for form in FORMATS for path in form.paths} | {"/", "/openapi.yaml", "/x.json"})
DIALECTS = {
    form.slug: sorted({fixture.out["dialect"] or "" for fixture in FOUND if fixture.out["format"] == form.slug}) or [""]
    for form in FORMATS
}


def assessed(fixture: Fixture, value: Any) -> Assessment:
    return assess_body(json.dumps(value).encode(), fixture.url, fixture.media_type, {}, expected=fixture.expected)


# --- formats --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.slug)
@given(st.data())
@searched(12)
def test_a_format_reads_any_value_as_any_dialect(form: Format, data: st.DataObject) -> None:
    """Recognised or not: what a format is given it translates, and what it makes can be stored."""
    fixture_values = [fixture.value for fixture in JSON_FIXTURES if fixture.slug == form.slug] or [{}]
    value = data.draw(st.sampled_from(fixture_values).flatmap(altered) | json_values)
    text = None if isinstance(value, dict) else data.draw(st.text(max_size=80))
    document = Document(b"", value, f"https://{HOST}/x", "application/json", {}, text)
    dialect = data.draw(st.sampled_from(DIALECTS[form.slug]))
    service, findings, _ = form.judge(document, dialect)
    assert from_json(json.loads(json.dumps(to_json(service)))) == service
    assert all(RUBRIC[finding.rule.code] is finding.rule for finding in findings)


@given(st.sampled_from(FOUND), texts, json_values)
@searched(120)
def test_an_unknown_field_changes_nothing_but_the_members_that_are_kept(fixture: Fixture, key: str, value: Any) -> None:
    assume("{{" not in json.dumps(value))  # a server record that holds a template anywhere was not rendered
    extended = assessed(fixture, fixture.value | {f"x-unheard-of-{key}": value})
    plain = assessed(fixture, fixture.value)
    assert without_flags(extended.findings) == without_flags(plain.findings)
    assert without_documents(extended.service) == without_documents(plain.service)
    assert (extended.format, extended.dialect, extended.pointers) == (plain.format, plain.dialect, plain.pointers)


def without_flags(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those of what is looked for in every member: instructions, private addresses."""
    flags = {*injection_flags(finding.rule.code for finding in findings), common_rules.ADDRESS_NOT_PUBLIC.code}
    return [finding for finding in findings if finding.rule.code not in flags]


def without_documents(service: Service | None) -> Service | None:
    """Return the service without what holds members as they stand, or is found in them: `native`, served details of
    ADP, signed text, flags."""
    plain = {"detail": None, "injection_flags": ()}
    capabilities = tuple(replace(capability, **plain) for capability in service.capabilities) if service else ()
    return service and replace(service, capabilities=capabilities, identity=Service().identity, native={})


# --- recognition ----------------------------------------------------------------------------------------------------


@given(st.data())
@searched(150)
def test_rows_may_be_tried_in_any_order_that_keeps_the_documented_pairs(data: st.DataObject) -> None:
    """Documents without some of their fields are still recognised by content, not by the order of the table."""
    fixture = data.draw(st.sampled_from([one for one in JSON_FIXTURES if isinstance(one.value, dict)]))
    removed = data.draw(st.sets(st.sampled_from(sorted(fixture.value)))) if fixture.value else set()
    value = {key: part for key, part in fixture.value.items() if key not in removed}
    document = Document(b"", value, f"https://{HOST}/x")
    strong = [row for row in ROWS if row.only_at is None and not row.text and not row.promised]
    order = data.draw(st.permutations(strong))
    matching_rows = [row for row in order if row.test(document) is not None]
    names = list(dict.fromkeys(row_name(row) for row in matching_rows))
    first = next((a for a in names if not any((b, a) in ORDER_MATTERS for b in names)), None)
    assert first == result_name(recognise(document))


def result_name(match: Match | None) -> str | None:
    if match is None:
        return None
    if isinstance(match.result, Negative):
        return "negative"
    return match.result.slug if isinstance(match.result, Format) else match.result.name


# --- bytes ----------------------------------------------------------------------------------------------------------

splinters = st.binary(max_size=6) | st.sampled_from(
    [b"\xef\xbb\xbf", b"\0", b"\\u0000", b"\\ud800", b"{", b"}", b"[" * 40, b",", b'"', b"1e999", b"//", b"---\n",
     b"<html>"]
)  # fmt: skip


@given(st.data())
@searched(150)
def test_documents_with_any_bytes_replaced_are_judged(data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(BODIES))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        end = data.draw(st.integers(start, min(len(raw), start + 40)) | st.just(len(raw)))
        raw = raw[:start] + data.draw(splinters) + raw[end:]
    check(assess_body(raw, f"https://{HOST}{data.draw(st.sampled_from(PATHS))}", None, {}))
    try:
        read_json(raw)
    except Unreadable as refusal:
        assert isinstance(refusal.rule, Rule)


# --- one service of many documents, and its score -------------------------------------------------------------------


@st.composite
def hosts(draw: st.DrawFn) -> list[HeldDocument]:
    """Draw up to six documents of one host, found or not, unchanged or altered, some of them capability details."""
    documents: list[HeldDocument] = []
    for number in range(draw(st.integers(0, 6))):
        fixture = draw(st.sampled_from(JSON_FIXTURES))
        value = draw(st.just(fixture.value) | altered(fixture.value))
        path = draw(st.just("/" + fixture.url.partition("://")[2].partition("/")[2]) | st.just(f"/other/{number}"))
        url, via = f"https://{HOST}{path}", None
        if fixture.expected is not None:
            pointer = f"/capabilities/{number}/detail_url"
            via = Via(f"https://{HOST}/.well-known/agent", pointer, "detail_url", "adp-detail")
        raw = json.dumps(value).encode()
        assessment = assess_body(raw, url, fixture.media_type, {}, via=via)
        if draw(st.integers(0, 5)) == 0:
            assessment = Assessment(draw(st.sampled_from(MISSED)), "x")
        if url not in {document.url for document in documents}:
            documents.append(HeldDocument(url, url, assessment, hashlib.sha256(raw).digest(), NOW, via))
    return documents


@given(hosts(), st.randoms(use_true_random=False))
@searched(120)
def test_any_documents_of_a_host_make_one_service_whatever_their_order(documents: list[HeldDocument], rng: Any) -> None:
    merged = merge(HOST, documents)
    names = [capability.name for capability in merged.service.capabilities] if merged.service else []
    assert len(names) == len(set(names))
    assert {located.document for located in merged.findings} <= {None, *(document.url for document in documents)}
    shuffled = documents[:]
    rng.shuffle(shuffled)
    assert merge(HOST, shuffled) == merged
    if merged.service is not None:
        assert from_json(json.loads(json.dumps(to_json(merged.service)))) == merged.service
        assert 0 <= score(merged.service, merged.findings).value <= 100


def scored_services() -> Iterable[tuple[Service, tuple[LocatedFinding, ...]]]:
    for fixture in FOUND:
        assessment = assessed(fixture, fixture.value)
        if assessment.service is not None:
            yield assessment.service, tuple(LocatedFinding(finding, fixture.url) for finding in assessment.findings)


SERVICES = st.deferred(lambda: st.sampled_from(list(scored_services())))
pointers = st.sampled_from(["", "/name", "/auth/type", *(f"/capabilities/{n}/name" for n in range(4)), "/actions/2"])
places = st.tuples(pointers, st.sampled_from([1, 1, 1, 2, 30]), st.sampled_from([f"https://{HOST}/{n}" for n in "ab"]))


@st.composite
def located_findings(draw: st.DrawFn) -> list[LocatedFinding]:
    """Draw findings of a few rules, so that several share a line of the score."""
    rules = st.sampled_from(draw(st.lists(st.sampled_from(list(RUBRIC.values())), min_size=1, max_size=3)))
    drawn = draw(st.lists(st.tuples(rules, places), min_size=1, max_size=8))
    return [LocatedFinding(Finding(rule, pointer, "", count), document) for rule, (pointer, count, document) in drawn]


@given(SERVICES, located_findings(), st.data())
@searched(200)
def test_removing_a_finding_never_lowers_a_score(
    scored: tuple[Service, Sequence[LocatedFinding]], added: list[LocatedFinding], data: st.DataObject
) -> None:
    service, findings = scored[0], [*scored[1], *added]
    removed = data.draw(st.integers(0, len(findings) - 1))
    with_all = score(service, findings).value
    without = score(service, findings[:removed] + findings[removed + 1 :]).value
    assert 0 <= with_all <= without <= 100


@given(SERVICES, st.text(min_size=1, max_size=200))
@searched(100)
def test_the_wording_of_texts_never_changes_a_score(scored: tuple[Service, Any], praise: str) -> None:
    service, findings = scored
    praised = replace(
        service,
        name=service.name and service.name + praise,
        description=service.description and service.description + praise,
        capabilities=tuple(
            replace(capability, name=capability.name + praise,
                    description=capability.description and capability.description + praise,
                    tags=(*capability.tags, praise), examples=(*capability.examples, praise))
            for capability in service.capabilities
        ),
    )  # fmt: skip
    assert score(praised, findings).value == score(service, findings).value


TEXTS = frozenset({"description", "intent", "summary", "description_for_model", "description_for_human", "note"})


@given(st.sampled_from(FOUND), st.lists(st.sampled_from(["best", "certified", "100/100", "secure", "a2a"]), min_size=1))
@searched(100)
def test_stuffing_a_manifest_never_raises_its_score(fixture: Fixture, praise: list[str]) -> None:
    """Only texts that are long enough already: lengthening a description that is too short may raise the score."""
    plain, stuffed = assessed(fixture, fixture.value), assessed(fixture, stuff(fixture.value, " ".join(praise)))
    assume(plain.service is not None)
    assert stuffed.service is not None
    assert score_value(fixture, stuffed) <= score_value(fixture, plain)


def stuff(value: Any, praise: str) -> Any:
    if isinstance(value, list):
        return [stuff(item, praise) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: f"{part} {praise}" if key in TEXTS and isinstance(part, str) and len(part) > 20 else stuff(part, praise)
        for key, part in value.items()
    }


def score_value(fixture: Fixture, assessment: Assessment) -> int:
    assert assessment.service is not None
    return score(assessment.service, [LocatedFinding(finding, fixture.url) for finding in assessment.findings]).value


def test_no_rule_adds_points() -> None:
    """The two tests above rely on this: no rule adds points."""
    assert all(rule.points >= 0 for rule in RUBRIC.values())
    note, warning = (
        max(r.points for r in RUBRIC.values() if r.severity is s) for s in (Severity.INFO, Severity.WARNING)
    )
    assert note <= warning
