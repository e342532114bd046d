"""One mistake is one cause, whatever it costs in findings; no finding and no point is lost on the way."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from registry.core.assessing.drafts import UNKNOWN_HOST, judge_draft
from registry.core.merging.merge import HeldDocument
from registry.core.scoring.causes import Cause, causes_of, kind_of_place
from registry.core.scoring.report import Report, report
from tests.support.builders import awp_manifest
from tests.support.shared import ROOT

BODIES = sorted((ROOT / "tests" / "formats").glob("*/*/body"))


def reported(value: Any) -> Report:
    raw = value if isinstance(value, bytes) else json.dumps(value, indent=1).encode()
    draft = judge_draft(raw, None)
    document = HeldDocument(draft.url, draft.url, draft.assessment, b"", datetime(2026, 3, 1, tzinfo=UTC))
    return report(draft.host or UNKNOWN_HOST, [document], {draft.url: raw})


def by_reason(value: Any) -> dict[str, Cause]:
    return {cause.first.rule.code: cause for cause in causes_of(reported(value).everything)}


@pytest.mark.parametrize("body", BODIES, ids=lambda body: "/".join(body.parts[-3:-1]))
def test_each_finding_is_in_one_cause_and_each_point_too(body: Path) -> None:
    everything = reported(body.read_bytes()).everything
    causes = causes_of(everything)
    told = [one for cause in causes for one in (*cause.findings, *cause.follows)]
    assert sorted(map(id, told)) == sorted(map(id, everything))
    assert sum(cause.points for cause in causes) == pytest.approx(sum(one.points for one in everything))
    assert [cause.severity for cause in causes] == sorted((c.severity for c in causes), key="error warning info".find)


SHOP = {"spec_version": "1.0", "name": "Kiosk", "description": "Sells newspapers at the station."}
ADP = {**SHOP, "base_url": "https://kiosk.example", "auth": {"type": "none"}, "pricing": {"type": "free"}}
TYPO: dict[str, Any] = {"name": "order", "descripton": "Order a paper", "detail_url": "/order"}
CALL = {"endpoint": "/pay", "method": "GET", "auth_required": False, "outputs": {}}


def actions(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {**awp_manifest("kiosk.example"), "actions": entries}


@pytest.mark.parametrize(
    ("document", "reason", "follows"),
    [
        pytest.param(
            {**ADP, "capabilities": [TYPO]},
            "adp.capability_required",
            {"service.without_capabilities", "service.nothing_to_call", "service.nothing_to_judge"},
            id="the only capability is left out",
        ),
        pytest.param(
            {**ADP, "capabilities": []},
            "adp.capabilities",
            {"service.without_capabilities", "service.nothing_to_call", "service.nothing_to_judge"},
            id="no capability is listed",
        ),
        pytest.param(
            {**ADP, "auth": {"type": "token"}, "capabilities": [{**TYPO, "description": "Order a paper"}]},
            "adp.auth",
            {"service.auth_unknown"},
            id="an unknown kind of authentication",
        ),
        pytest.param(
            actions([{"id": "pay", "inputs": {}, **CALL}]),
            "awp.action_description",
            {"capability.undescribed"},
            id="an action without description",
        ),
        pytest.param(
            actions([{"id": "pay", "description": "Pay for a paper", **CALL}]),
            "awp.action_inputs",
            {"capability.without_params"},
            id="an action without inputs",
        ),
    ],
)
def test_what_follows_from_a_mistake_is_told_with_it(document: Any, reason: str, follows: set[str]) -> None:
    causes = by_reason(document)
    assert {one.rule.code for one in causes[reason].follows} == follows
    assert follows.isdisjoint(causes)
    assert causes[reason].points > causes[reason].first.points


def test_the_same_mistake_in_many_entries_is_one_cause_with_its_first_places() -> None:
    many = [{"id": f"pay{number}", "inputs": {}, **CALL} for number in range(40)]
    cause = by_reason(actions(many))["awp.action_description"]
    assert cause.count == 40
    places = cause.to_json()["places"]
    assert [one["pointer"] for one in places] == [f"/actions/{index}" for index in range(5)]
    assert len({one["line"] for one in places}) == 5


def test_different_members_of_one_rule_are_different_causes() -> None:
    entries = [{"id": "pay", "name": "Pay", "method": "GET", "endpoint": "/pay"} for _ in range(2)]
    document = {"specVersion": "1.1", "name": "Kiosk", "actions": [*entries, {**entries[0], "id": "get", "name": ""}]}
    causes = [
        cause for cause in causes_of(reported(document).everything) if cause.first.rule.code == "awas.action_text"
    ]
    kinds = sorted(kind_of_place(cause.first.finding.pointer) for cause in causes)
    assert kinds == ["/actions/*/description", "/actions/*/name"]


@pytest.mark.parametrize(
    ("pointer", "kind"),
    [
        ("", ""),
        ("/name", "/name"),
        ("/skills/3/name", "/skills/*/name"),
        ("/paths/~1rent~1{id}/post/responses", "/paths/*/*/responses"),
        ("/mcpServers/get|put/url", "/mcpServers/*/url"),
        ("/auth/type", "/auth/type"),
        ("/" + "/".join(["9"] * 300), "/" + "/".join(["*"] * 300)),
    ],
)
def test_the_kind_of_a_place_leaves_out_which_entry_it_is(pointer: str, kind: str) -> None:
    assert kind_of_place(pointer) == kind
