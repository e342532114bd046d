"""What holds for every document that anybody can write. WAYPOST_TEST_DEPTH=20 searches for twenty times as long."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from registry.core.assess import Assessment, assess_body
from registry.core.documents import Document, Outcome, Via
from registry.core.findings import Finding, Reason, Severity
from registry.core.format import Format
from registry.core.merge import Held, Noted, merge
from registry.core.reader import Unreadable, read_json
from registry.core.recognise import FORMATS, ROWS, Match, Negative, recognise
from registry.core.scoring.rubric import RUBRIC
from registry.core.scoring.score import score
from registry.core.services import Service, from_json, to_json
from tests.core.manifests import BODIES, FOUND, JSON_FIXTURES, Fixture, altered, json_values, texts
from tests.core.test_recognise import ORDER_MATTERS, check, row_name
from tests.support.depth import searched

pytestmark = pytest.mark.slow  # many generated documents

HOST = "www.shop.example"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
PATHS = sorted({path for form in FORMATS for path in form.paths} | {"/", "/openapi.yaml", "/x.json"})
DIALECTS = {
    form.slug: sorted({one.out["dialect"] or "" for one in FOUND if one.out["format"] == form.slug}) or [""]
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
    own = [one.value for one in JSON_FIXTURES if one.slug == form.slug] or [{}]
    value = data.draw(st.sampled_from(own).flatmap(altered) | json_values)
    text = None if isinstance(value, dict) else data.draw(st.text(max_size=80))
    document = Document(b"", value, f"https://{HOST}/x", "application/json", {}, text)
    dialect = data.draw(st.sampled_from(DIALECTS[form.slug]))
    service, findings = form.judge(document, dialect)
    assert from_json(json.loads(json.dumps(to_json(service)))) == service
    assert all(finding.reason in RUBRIC for finding in findings)


@given(st.sampled_from(FOUND), texts, json_values)
@searched(120)
def test_a_field_that_no_specification_knows_changes_nothing(fixture: Fixture, key: str, value: Any) -> None:
    assume("{{" not in json.dumps(value))  # a server record that holds a template anywhere was not rendered
    extended = assessed(fixture, fixture.value | {f"x-unheard-of-{key}": value})
    plain = assessed(fixture, fixture.value)
    assert extended.findings == plain.findings
    assert said(extended.service) == said(plain.service)
    assert (extended.format, extended.dialect, extended.pointers) == (plain.format, plain.dialect, plain.pointers)


def said(service: Service | None) -> Service | None:
    """Without what stands for the whole document: capability details of ADP as they were served, what was signed."""
    capabilities = tuple(replace(one, detail=None) for one in service.capabilities) if service else ()
    return service and replace(service, capabilities=capabilities, identity=Service().identity)


# --- recognition ----------------------------------------------------------------------------------------------------


@given(st.data())
@searched(150)
def test_rows_may_be_tried_in_any_order_that_keeps_the_documented_pairs(data: st.DataObject) -> None:
    """Documents that have lost some of their fields are still told apart by what they hold, not by who asks first."""
    fixture = data.draw(st.sampled_from([one for one in JSON_FIXTURES if isinstance(one.value, dict)]))
    lost = data.draw(st.sets(st.sampled_from(sorted(fixture.value)))) if fixture.value else set()
    document = Document(b"", {key: part for key, part in fixture.value.items() if key not in lost}, f"https://{HOST}/x")
    strong = [row for row in ROWS if row.only_at is None and not row.text and not row.promised]
    order = data.draw(st.permutations(strong))
    answers = [row for row in order if row.test(document) is not None]
    names = list(dict.fromkeys(row_name(row) for row in answers))
    first = next((a for a in names if not any((b, a) in ORDER_MATTERS for b in names)), None)
    assert first == named(recognise(document))


def named(match: Match | None) -> str | None:
    if match is None:
        return None
    if isinstance(match.what, Negative):
        return "negative"
    return match.what.slug if isinstance(match.what, Format) else match.what.name


@given(json_values, st.sampled_from(PATHS), st.sampled_from([None, *(form.slug for form in FORMATS)]))
@searched(100)
def test_recognition_answers_for_any_value_at_any_path(value: Any, path: str, promised: str | None) -> None:
    match = recognise(Document(b"", value, f"https://{HOST}{path}"), promised)
    assert match is None or isinstance(value, dict)


# --- bytes ----------------------------------------------------------------------------------------------------------

splinters = st.binary(max_size=6) | st.sampled_from(
    [b"\xef\xbb\xbf", b"\0", b"\\u0000", b"\\ud800", b"{", b"}", b"[" * 40, b",", b'"', b"1e999", b"//", b"---\n",
     b"<html>"]
)  # fmt: skip


@given(st.data())
@searched(150)
def test_documents_cut_and_mended_with_any_bytes_are_judged(data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(BODIES))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        end = data.draw(st.integers(start, min(len(raw), start + 40)) | st.just(len(raw)))
        raw = raw[:start] + data.draw(splinters) + raw[end:]
    check(assess_body(raw, f"https://{HOST}{data.draw(st.sampled_from(PATHS))}", None, {}))
    try:
        read_json(raw)
    except Unreadable as refusal:
        assert isinstance(refusal.reason, Reason)


# --- one service of many documents, and its score -------------------------------------------------------------------


@st.composite
def hosts(draw: st.DrawFn) -> list[Held]:
    """Up to six documents of one host, found or not, whole or altered, some of them capability details."""
    found: list[Held] = []
    for number in range(draw(st.integers(0, 6))):
        fixture = draw(st.sampled_from(JSON_FIXTURES))
        value = draw(st.just(fixture.value) | altered(fixture.value))
        path = draw(st.just("/" + fixture.url.partition("://")[2].partition("/")[2]) | st.just(f"/other/{number}"))
        url, via = f"https://{HOST}{path}", None
        if fixture.expected is not None:
            via = Via(
                f"https://{HOST}/.well-known/agent", f"/capabilities/{number}/detail_url", "detail_url", "adp-detail"
            )
        raw = json.dumps(value).encode()
        judged = assess_body(raw, url, fixture.media_type, {}, via=via)
        if draw(st.integers(0, 5)) == 0:
            judged = Assessment(draw(st.sampled_from([one for one in Outcome if one is not Outcome.FOUND])), "x")
        if url not in {one.url for one in found}:
            found.append(Held(url, url, judged, hashlib.sha256(raw).digest(), NOW, via))
    return found


@given(hosts(), st.randoms(use_true_random=False))
@searched(120)
def test_any_documents_of_a_host_make_one_service_whatever_their_order(held: list[Held], chance: Any) -> None:
    merged = merge(HOST, held)
    names = [one.name for one in merged.service.capabilities] if merged.service else []
    assert len(names) == len(set(names))
    assert {noted.document for noted in merged.findings} <= {None, *(one.url for one in held)}
    shuffled = held[:]
    chance.shuffle(shuffled)
    assert merge(HOST, shuffled) == merged
    if merged.service is not None:
        assert from_json(json.loads(json.dumps(to_json(merged.service)))) == merged.service
        assert 0 <= score(merged.service, merged.findings).value <= 100


def scored_services() -> Iterable[tuple[Service, tuple[Noted, ...]]]:
    for fixture in FOUND:
        judged = assessed(fixture, fixture.value)
        if judged.service is not None:
            yield judged.service, tuple(Noted(finding, fixture.url) for finding in judged.findings)


SERVICES = list(scored_services())
pointers = st.sampled_from(["", "/name", "/auth/type", *(f"/capabilities/{n}/name" for n in range(4)), "/actions/2"])
places = st.tuples(pointers, st.sampled_from([1, 1, 1, 2, 30]), st.sampled_from([f"https://{HOST}/{n}" for n in "ab"]))


@st.composite
def notes(draw: st.DrawFn) -> list[Noted]:
    """Findings of a few reasons, so that several share a line of the score."""
    reasons = st.sampled_from(draw(st.lists(st.sampled_from(list(Reason)), min_size=1, max_size=3)))
    drawn = draw(st.lists(st.tuples(reasons, places), min_size=1, max_size=8))
    return [Noted(Finding(reason, pointer, "", count), document) for reason, (pointer, count, document) in drawn]


@given(st.sampled_from(SERVICES), notes(), st.data())
@searched(200)
def test_a_finding_less_never_lowers_a_score(
    known: tuple[Service, Sequence[Noted]], more: list[Noted], data: st.DataObject
) -> None:
    service, noted = known[0], [*known[1], *more]
    left = data.draw(st.integers(0, len(noted) - 1))
    with_all, without = score(service, noted).value, score(service, noted[:left] + noted[left + 1 :]).value
    assert 0 <= with_all <= without <= 100


@given(st.sampled_from(SERVICES), st.text(min_size=1, max_size=200))
@searched(100)
def test_what_texts_say_never_moves_a_score(known: tuple[Service, Sequence[Noted]], praise: str) -> None:
    service, noted = known
    louder = replace(
        service,
        name=service.name and service.name + praise,
        description=service.description and service.description + praise,
        capabilities=tuple(
            replace(one, name=one.name + praise, description=one.description and one.description + praise,
                    tags=(*one.tags, praise), examples=(*one.examples, praise))
            for one in service.capabilities
        ),
    )  # fmt: skip
    assert score(louder, noted).value == score(service, noted).value


TEXTS = frozenset({"description", "intent", "summary", "description_for_model", "description_for_human", "note"})


@given(st.sampled_from(FOUND), st.lists(st.sampled_from(["best", "certified", "100/100", "secure", "a2a"]), min_size=1))
@searched(100)
def test_stuffing_a_manifest_never_lifts_its_score(fixture: Fixture, praise: list[str]) -> None:
    """Texts that are long enough already: a description that is too short for its format may well be mended."""
    plain, stuffed = assessed(fixture, fixture.value), assessed(fixture, stuff(fixture.value, " ".join(praise)))
    assume(plain.service is not None)
    assert stuffed.service is not None
    assert worth(fixture, stuffed) <= worth(fixture, plain)


def stuff(value: Any, praise: str) -> Any:
    if isinstance(value, list):
        return [stuff(item, praise) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: f"{part} {praise}" if key in TEXTS and isinstance(part, str) and len(part) > 20 else stuff(part, praise)
        for key, part in value.items()
    }


def worth(fixture: Fixture, judged: Assessment) -> int:
    assert judged.service is not None
    return score(judged.service, [Noted(finding, fixture.url) for finding in judged.findings]).value


def test_the_cost_of_a_rule_has_the_right_sign() -> None:
    """What the two tests above rest on: no rule gives points."""
    assert all(rule.points >= 0 for rule in RUBRIC.values())
    worst = [max(r.points for r in RUBRIC.values() if r.severity is s) for s in (Severity.INFO, Severity.WARNING)]
    assert all(less <= more for less, more in pairwise(worst))
