"""Points are only lost, only to findings, and never to what a format has no place for."""

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.assess import assess_body
from registry.core.findings import Finding, Reason, Severity
from registry.core.merge import Noted
from registry.core.scoring.rubric import RUBRIC, SECTION_POINTS, VERSION
from registry.core.scoring.score import Score, score
from registry.core.services import (
    Auth,
    AuthScheme,
    Capability,
    Invocation,
    Policies,
    Pricing,
    Protocol,
    Provider,
    RateLimit,
    Service,
)

CALL = Invocation("http", "https://a.example/x", "POST")
FULL = Service(
    name="A",
    description="Does everything there is to do.",
    version="1.0.0",
    provider=Provider("A Ltd", "https://a.example", "agents@a.example"),
    capabilities=(
        Capability(
            "x",
            "x",
            "Does it.",
            params={"type": "object"},
            result={"type": "object"},
            side_effects=True,
            invocations=(CALL,),
        ),
    ),
    auth=Auth((AuthScheme("none"),), False),
    pricing=Pricing("free"),
    policies=Policies(terms_url="https://a.example/terms", rate_limit=RateLimit(10, "1m")),
    protocols=(Protocol("adp", "1.0"),),
)


def lost(result: Score) -> dict[Reason, float]:
    return {line.reason: line.points for line in result.lines}


def test_nothing_missing_is_a_hundred() -> None:
    result = score(FULL, [])
    assert result.value == 100
    assert result.lines == ()
    assert result.version == VERSION


def test_the_sections_make_a_hundred() -> None:
    assert sum(SECTION_POINTS.values()) == 100


def test_every_point_lost_has_a_line_with_its_remedy() -> None:
    result = score(
        replace(FULL, description=None, provider=None), [Noted(Finding(Reason.CONTENT_TYPE), "https://a.example/")]
    )
    assert result.value == round(100 - sum(line.points for line in result.lines))
    assert {Reason.SERVICE_UNDESCRIBED, Reason.SERVICE_PROVIDER_UNKNOWN, Reason.CONTENT_TYPE} <= set(lost(result))
    for line in result.lines:
        rule = RUBRIC[line.reason]
        assert (line.says, line.fix, line.spec) == (rule.says, rule.fix, rule.spec)


def test_a_reason_costs_its_share_of_the_capabilities() -> None:
    silent = Capability("y", "y", None, params={}, result={}, side_effects=False, invocations=(CALL,))
    full = RUBRIC[Reason.CAPABILITY_UNDESCRIBED].points
    one_of_two = replace(FULL, capabilities=(*FULL.capabilities, silent))
    assert lost(score(one_of_two, []))[Reason.CAPABILITY_UNDESCRIBED] == full / 2
    one_of_many = replace(FULL, capabilities=(*FULL.capabilities * 99, silent))
    assert lost(score(one_of_many, []))[Reason.CAPABILITY_UNDESCRIBED] == full / 4  # never under a quarter


def test_findings_that_stand_for_others_count_as_all_of_them() -> None:
    many = replace(FULL, capabilities=FULL.capabilities * 40)
    found = [Noted(Finding(Reason.ADP_NAME, f"/capabilities/{n}/name"), "https://a.example/") for n in range(4)]
    rest = Noted(Finding(Reason.ADP_NAME, "/capabilities/4/name", "and 36 more of 40", 36), "https://a.example/")
    (line,) = score(many, [*found, rest]).lines
    assert (line.count, line.points) == (40, RUBRIC[Reason.ADP_NAME].points)


def test_a_reason_that_touches_the_whole_once_costs_the_whole() -> None:
    whole, part = (
        Noted(Finding(Reason.TEMPLATE, pointer), "https://a.example/") for pointer in ("", "/capabilities/0/id")
    )
    many = replace(FULL, capabilities=FULL.capabilities * 40)
    assert lost(score(many, [part]))[Reason.TEMPLATE] < lost(score(many, [whole]))[Reason.TEMPLATE]
    assert lost(score(many, [part, whole])) == lost(score(many, [whole]))


def test_a_section_never_falls_below_zero() -> None:
    everything = [Noted(Finding(reason), "https://a.example/") for reason in Reason]
    result = score(Service(), everything)
    assert 0 <= result.value <= 100
    assert all(points >= 0 for points in result.sections.values())


def test_repeating_a_finding_costs_nothing_more() -> None:
    once = [Noted(Finding(Reason.CONTENT_TYPE), "https://a.example/")]
    assert score(FULL, once * 50).value == score(FULL, once).value


def test_a_skill_is_not_blamed_for_what_its_format_cannot_say() -> None:
    skill = Capability("s", "s", "Talks.", invocations=(Invocation("a2a_skill", "https://a.example/a2a", "POST"),))
    reasons = set(lost(score(replace(FULL, capabilities=(skill,)), [])))
    assert not reasons & {Reason.CAPABILITY_WITHOUT_PARAMS, Reason.CAPABILITY_SIDE_EFFECTS_UNKNOWN}


def test_an_unread_detail_is_unknown_and_not_zero() -> None:
    pointer = Capability("p", "p", "Later.", detail_url="https://a.example/p", invocations=(Invocation("pointer"),))
    assert score(replace(FULL, capabilities=(pointer,)), []).value == 100


def test_a_delete_without_confirmation_is_told() -> None:
    delete = replace(FULL.capabilities[0], invocations=(replace(CALL, method="DELETE"),))
    assert Reason.CAPABILITY_UNCONFIRMED in lost(score(replace(FULL, capabilities=(delete,)), []))


def test_the_stored_form_is_json() -> None:
    stored = json.loads(json.dumps(score(replace(FULL, name=None), []).to_json()))
    assert stored["lines"][0]["reason"] == Reason.SERVICE_UNNAMED.value
    assert stored["facts"]["capabilities"] == 1


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=400))
def test_text_never_lifts_a_score(text: str) -> None:
    """Whatever a description says, it is worth no more than any other description."""

    def saying(words: str) -> dict[str, object]:
        action = {"id": "x", "endpoint": "/x", "method": "GET", "description": words}
        return {"awp_version": "0.2", "domain": "a.example", "intent": words, "actions": [action]}

    scores = []
    for one in (saying("plain " + text), saying("plain")):
        judged = assess_body(json.dumps(one).encode(), "https://a.example/agent.json", "application/json")
        assert judged.service is not None
        scores.append(score(judged.service, [Noted(f, "https://a.example/agent.json") for f in judged.findings]).value)
    assert scores[0] <= scores[1]


def test_severities_of_the_table_are_ordered_by_cost() -> None:
    """A note never costs more than an error may."""
    costs = {s: max(rule.points for rule in RUBRIC.values() if rule.severity is s) for s in Severity}
    assert costs[Severity.INFO] <= costs[Severity.WARNING]
