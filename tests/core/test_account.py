"""Nothing is dropped in silence: each entry of a document is read, has a finding, or is said to be unread."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.format_support import common_rules
from registry.core.format_support.account import MAX_UNREAD, Part, count_unread, survey
from registry.core.format_support.format import Format, Judgement
from registry.core.format_support.manifest import FINDINGS_PER_REASON
from registry.core.format_support.shapes import LIST, OBJECT, TEXT
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
from registry.core.model.documents import Document, Json, Outcome
from registry.core.model.findings import Finding, Severity
from registry.core.reading.reader import Unreadable, read_json
from registry.core.reading.yaml_reader import read_yaml
from tests.core.test_corpus import ROWS, judge
from tests.formats.test_fixtures import CASES, assess_case, case_name
from tests.support.shared import SHARED

OF_ACCOUNT = {common_rules.UNREAD, common_rules.PARTLY_READ}
OF_TYPE = {common_rules.WRONG_TYPE, common_rules.REQUIRED_TYPE}


def fixtures() -> Iterator[tuple[Format, str, Document]]:
    """Yield format, dialect and document of each fixture that is found and holds JSON or YAML."""
    for case in CASES:
        expected = json.loads((case / "expected.json").read_text())
        if expected["outcome"] == Outcome.FOUND and (value := parsed((case / "body").read_bytes())) is not None:
            url = json.loads((case / "response.json").read_text())["url"]
            yield FORMAT_BY_SLUG[expected["format"]], expected["dialect"] or "", Document(b"", value, url)


def parsed(raw: bytes) -> dict[str, Json] | None:
    for read in (read_json, lambda raw: read_yaml(raw.decode())):
        try:
            value = read(raw)
        except (Unreadable, UnicodeDecodeError):
            continue
        return value if isinstance(value, dict) else None
    return None


def replaced(document: Document, pointer: str, value: Json) -> Document:
    """Return the document with another value at a place that it has."""
    changed: Any = copy.deepcopy(document.value)
    holder = changed
    *keys, last = [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]
    for key in keys:
        holder = holder[int(key) if isinstance(holder, list) else key]
    holder[int(last) if isinstance(holder, list) else last] = value
    return replace(document, value=changed)


def is_about(finding: Finding, place: str) -> bool:
    """Return whether the finding is at the place, in it, or about a part around it."""
    return f"{finding.pointer}/".startswith(f"{place}/") or f"{place}/".startswith(f"{finding.pointer}/")


@cache
def valid_entries() -> list[tuple[Format, str, Document, str]]:
    """Return the entries of the fixtures in which everything was read."""
    found = []
    for form, dialect, document in fixtures():
        if all(entry.not_read == 0 for entry in form.judge(document, dialect).entries):
            entries = survey(form.parts, form.types, document.value).entries
            found += [(form, dialect, document, entry.pointer) for entry in entries]
    return found


def test_every_format_has_entries_that_a_fixture_shows() -> None:
    shown = {form.slug for form, *_ in valid_entries()}
    assert {form.slug for form in FORMATS if form.parts} == shown


@pytest.mark.parametrize("instead", [7, True, [], "none", {}], ids=repr)
def test_an_entry_of_another_type_is_never_dropped_in_silence(instead: Json) -> None:
    for form, dialect, document, pointer in valid_entries():
        if "~" in pointer or len(pointer) > 80:
            continue  # cut or quoted keys do not lead back into the document
        before, after = form.judge(document, dialect), form.judge(replaced(document, pointer, instead), dialect)
        assert said_or_read(before, after, pointer), (form.slug, document.url, pointer)


def said_or_read(before: Judgement, after: Judgement, place: str) -> bool:
    """Return whether a change at a place is read, or has a finding that was not there before."""
    lost = sum(count.not_read for count in after.entries)
    new = (finding for finding in after.findings if finding not in before.findings or finding.pointer == place)
    return lost == 0 or any(is_about(finding, place) for finding in new)


@pytest.mark.parametrize("instead", [7, "none", True, [], {}], ids=repr)
def test_a_container_of_another_type_is_said_to_be_one(instead: Json) -> None:
    for form, dialect, document, entry in valid_entries():
        place = entry.rpartition("/")[0]
        if "~" in place or len(place) > 80 or place == "":
            continue
        changed = replaced(document, place, instead)
        if place not in survey(form.parts, form.types, changed.value).wrong_types:
            continue
        findings = form.judge(changed, dialect).findings
        assert any(is_about(finding, place) for finding in findings), (form.slug, place)
        assert not [one for one in findings if one.pointer == place and one.rule.is_about_absence], (form.slug, place)


def test_a_member_of_a_wrong_type_is_never_called_missing() -> None:
    """The types that a format declares for its members, each broken in a document where it was right."""
    seen = set()
    for form, dialect, document in fixtures():
        if len(form.judge(document, dialect).findings) >= FINDINGS_PER_REASON:
            continue  # only the first findings of a rule are kept
        surveyed = survey(form.parts, form.types, document.value)
        places = [(pointer, kind) for pointer, kind in form.types.items()]
        places += [
            (f"{one.pointer}/{name}", kind) for one in surveyed.entries for name, kind in one.part.members.items()
        ]
        for place, kind in places:
            if "~" in place or len(place) > 80:
                continue
            try:
                changed = replaced(document, place, "text" if kind in (LIST, OBJECT) else {"text": 1})
            except (KeyError, TypeError, ValueError, IndexError):
                continue  # the fixture has no such member, or another shape
            findings = form.judge(changed, dialect).findings
            assert any(is_about(finding, place) and finding.pointer for finding in findings), (form.slug, place)
            assert [one for one in findings if one.pointer == place and one.rule.is_about_absence] == [], place
            seen.add((form.slug, kind.says))
    assert len(seen) > len(FORMATS)


def check_account(name: str, assessment: Assessment) -> None:
    """Check that each entry of a document was counted once: as read, by a finding, or as unread."""
    unread = [one for one in assessment.findings if one.rule is common_rules.UNREAD]
    not_read = sum(count.not_read for count in assessment.entries)
    silent = sum(finding.count for finding in unread)
    assert silent == count_unread([finding.evidence for finding in unread])
    explained = sum(one.count for one in assessment.findings if one.rule not in OF_ACCOUNT)
    covering = [one for one in assessment.findings if one.rule is common_rules.TOO_MANY_CAPABILITIES or not one.pointer]
    assert silent <= not_read <= silent + (not_read if covering else explained), name


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_the_entries_of_a_fixture_add_up(case: Path) -> None:
    check_account(case_name(case), assess_case(case))


@pytest.mark.skipif(not ROWS, reason="shared test data absent: corpus (set WAYPOST_SHARED)")
def test_the_entries_of_real_documents_add_up() -> None:
    for row in ROWS:
        check_account(row["file"], judge(row))
    for path in sorted((SHARED / "fresh").rglob("*.*")):
        check_account(path.name, assess_body(path.read_bytes(), f"https://www.shop.com/{path.name}"))


CARD = {
    "protocolVersion": "0.3.0", "name": "Ferry desk", "description": "Sells ferry tickets", "version": "1.0.0",
    "url": "https://ferry.example/a2a", "capabilities": {}, "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
}  # fmt: skip
SKILL = {"id": "book", "name": "Book", "description": "Books a crossing", "tags": ["ferry"]}
API = {
    "openapi": "3.1.0",
    "info": {"title": "Ferries", "version": "1"},
    "servers": [{"url": "https://api.ferry.example"}],
}
CALL = {"summary": "Lists crossings", "responses": {"200": {"description": "Crossings"}}}


def codes(slug: str, dialect: str, value: dict[str, Json], path: str = "/d.json") -> dict[str, list[str]]:
    """Return the pointers of the findings of the account, by code."""
    found: dict[str, list[str]] = {}
    for one in FORMAT_BY_SLUG[slug].judge(Document(b"", value, f"https://ferry.example{path}"), dialect).findings:
        if one.rule in OF_ACCOUNT | OF_TYPE:
            found.setdefault(one.rule.code, []).append(one.pointer)
    return found


@pytest.mark.parametrize(
    ("slug", "dialect", "value", "expected"),
    [
        ("a2a", "0.3.0", {**CARD, "skills": "book, cancel"}, {"document.wrong_type": ["/skills"]}),
        ("a2a", "0.3.0", {**CARD, "skills": [SKILL], "name": ["Ferry"]}, {"document.required_type": ["/name"]}),
        ("a2a", "0.3.0", {**CARD, "skills": [SKILL], "version": 1}, {"document.wrong_type": ["/version"]}),
        ("a2a", "0.3.0", {**CARD, "skills": [SKILL], "version": None}, {}),
        ("openapi", "3.1.0", {**API, "paths": {"/c": {"get": CALL, "x-note": {"a": 1, "b": 2}}, "x-p": 1}}, {}),
        (
            "openapi", "3.1.0", {**API, "paths": {"/c": {"get": CALL, "GET": CALL}}},
            {"document.partly_read": [""], "document.unread": ["/paths/~1c/GET"]},
        ),
        (
            "openapi", "3.1.0", {**API, "paths": {"/c": {"get": CALL}, "/d": "list of crossings"}},
            {"document.partly_read": [""], "document.unread": ["/paths/~1d"]},
        ),
        ("openapi", "3.1.0", {**API, "paths": [{"/c": {"get": CALL}}]}, {
            "document.required_type": ["/paths"], "document.partly_read": [""], "document.unread": ["/paths/0"],
        }),
        (
            "awp", "0.2", {"awp_version": "0.2", "domain": "ferry.example", "intent": "Ferries",
             "actions": [{"id": "a", "description": 5, "inputs": {}, "outputs": {}, "auth_required": False}]},
            {"document.wrong_type": ["/actions/0/description"]},
        ),
        (
            "mcp-server-card", "v1", {"name": "example.ferry/desk", "description": "Ferries", "version": "1",
             "remotes": [{"type": "streamable-http", "url": {"href": "https://ferry.example/mcp"}}]},
            {"document.wrong_type": ["/remotes/0/url"]},
        ),
    ],
)  # fmt: skip
def test_what_was_not_read_is_said(
    slug: str, dialect: str, value: dict[str, Json], expected: dict[str, list[str]]
) -> None:
    assert codes(slug, dialect, value) == expected


def test_findings_about_unread_entries_are_bounded() -> None:
    number = MAX_UNREAD + 40
    paths: dict[str, Json] = {
        "/c": {"get": CALL},
        **{f"https://quay.example/{index}": {"get": CALL} for index in range(number)},
    }
    judgement = FORMAT_BY_SLUG["openapi"].judge(Document(b"", {**API, "paths": paths}, "https://f.example/o"), "3.1.0")
    unread = [finding for finding in judgement.findings if finding.rule is common_rules.UNREAD]
    assert len(unread) == MAX_UNREAD and sum(finding.count for finding in unread) == number
    assert count_unread([finding.evidence for finding in unread]) == number
    assert judgement.entries == (("operation", 1, number),)


def test_a_document_that_was_left_out_as_a_whole_gives_one_finding() -> None:
    value = {"@type": "AgentManifest", "capabilities": [{"endpoint": "/c"}]}
    findings = (
        FORMAT_BY_SLUG["atp"].judge(Document(b"", value, "http://ferry.example/.well-known/agent.json"), "").findings
    )
    assert [finding.rule.severity for finding in findings] == [Severity.ERROR]


def test_a_hostile_document_costs_one_walk() -> None:
    part = Part("/a/*/*/*", "entry", TEXT)
    value: Json = {"a": [[[1] * 30] * 30] * 30}
    surveyed = survey((part,), {}, value)
    assert len(surveyed.entries) == 30**3 and len(surveyed.wrong_types) == 30**3
