"""Events of the change feed in words."""

from typing import Any

import pytest

from registry.core.changes.versions import Version, changed, listed
from registry.core.changes.words import MAX_ITEMS, MAX_NAMES, ChangedPart, changed_parts, changed_reasons


def _version(fields: dict[str, Any], **capabilities: dict[str, Any]) -> Version:
    return Version.of(fields, capabilities, {})


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"score": 88}, {"score": 94}, ChangedPart("score", before="88", after="94")),
        ({"version": "1"}, {}, ChangedPart("version", before="1")),
        ({}, {"docs_url": "https://a.example"}, ChangedPart("documentation", after="https://a.example")),
        ({"formats": ["adp"]}, {"formats": ["adp", "a2a"]}, ChangedPart("formats", after="a2a")),
        (
            {"auth": {"schemes": [{"name": "X-Key"}]}, "auth_type": "api_key"},
            {"auth": {"schemes": [{"name": "X-Pass"}]}, "auth_type": "oauth2"},
            ChangedPart("credentials", before="X-Key", after="X-Pass"),
        ),
        ({"pricing": {"model": "free"}}, {"pricing": {"model": "paid", "url": "u"}}, ChangedPart("price")),
        ({"description": "short"}, {"description": "long " * 100}, ChangedPart("description")),
    ],
    ids=lambda value: getattr(value, "label", None),
)
def test_a_field_that_changed(before: dict[str, Any], after: dict[str, Any], said: ChangedPart) -> None:
    assert changed_parts(changed(_version(before), _version(after)) or {}) == [said]


def test_capabilities_that_changed_alike_are_told_together() -> None:
    before = _version(
        {}, rent={"params": {"a": 1}}, sell={"params": {"a": 1}}, **{"a/b~c": {"description": "x"}}, old={}
    )
    after = _version({}, rent={"params": {}}, sell={"params": {}}, **{"a/b~c": {"description": "y"}}, new={})
    assert changed_parts(changed(before, after) or {}) == [
        ChangedPart("capability added", ("new",)),
        ChangedPart("capability removed", ("old",)),
        ChangedPart("capabilities changed", ("rent", "sell"), parts=("parameters",)),
        ChangedPart("capability changed", ("a/b~c",), parts=("description",)),
    ]


def test_a_new_service_offers_capabilities_and_adds_none() -> None:
    (part,) = changed_parts(listed(_version({}, **{f"c{number:02}": {} for number in range(20)})))
    assert (part.label, len(part.names), part.more) == ("capabilities", MAX_NAMES, 20 - MAX_NAMES)


@pytest.mark.parametrize(
    "payload",
    [
        {}, {"changed": None, "difference": None, "capabilities": None},
        {"changed": [1, None, {}], "difference": [1, {"path": 7}, {"path": "no slash"}, {}]},
        {"capabilities": {"added": [2]}},
        {"changed": [f"field_{number}" for number in range(500)]},
        {"changed": ["native"], "difference": [{"op": "add", "path": "/native", "value": [[[{}]]]}]},
    ],
)  # fmt: skip
def test_any_payload_is_told_within_bounds(payload: dict[str, Any]) -> None:
    assert len(changed_parts(payload)) <= MAX_ITEMS


def test_reasons_are_those_that_differ() -> None:
    before = {"adp.detail_unanswered": [2, 6.0], "document.content_type": [1, 1.0], "gone.rule": [1, 0.5]}
    after = {"adp.detail_unanswered": [1, 3.0], "document.content_type": [1, 1.0], "adp_detail.type": [4, 2.0]}
    found = changed_reasons(before, after)
    assert [(one.reason, one.before, one.after, one.points) for one in found] == [
        ("adp.detail_unanswered", 2, 1, 3.0), ("adp_detail.type", 0, 4, -2.0), ("gone.rule", 1, 0, 0.5),
    ]  # fmt: skip
    assert found[0].says.startswith("The detail_url of a capability") and found[2].says == "gone.rule"
    assert changed_reasons(None, after) == []
