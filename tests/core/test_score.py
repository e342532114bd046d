"""Points are only lost, only through findings, and never for what a format cannot express."""

import json
from dataclasses import replace

from registry.core.assessing import rules as assessing_rules
from registry.core.format_support import common_rules
from registry.core.formats.adp import rules as adp_rules
from registry.core.merging.merge import LocatedFinding
from registry.core.model import services
from registry.core.model.findings import Finding, Rule
from registry.core.scoring import rules as scoring_rules
from registry.core.scoring.rubric import RUBRIC, SECTION_POINTS, VERSION
from registry.core.scoring.score import Score, score

CALL = services.Invocation("http", "https://a.example/x", "POST")
FULL = services.Service(
    name="A",
    description="Does everything there is to do.",
    version="1.0.0",
    provider=services.Provider("A Ltd", "https://a.example", "agents@a.example"),
    capabilities=(
        services.Capability(
            "x", "x", "Does it.", {"type": "object"}, {"type": "object"}, side_effects=True, invocations=(CALL,)
        ),
    ),
    auth=services.Auth((services.AuthScheme("none"),), False),
    pricing=services.Pricing("free"),
    policies=services.Policies(terms_url="https://a.example/terms", rate_limit=services.RateLimit(10, "1m")),
    protocols=(services.Protocol("adp", "1.0"),),
    provenance={
        name: services.Origin(f"https://a.example/{form}", f"/{name}", form)
        for name, form in (("name", "adp"), ("description", "awp"), ("version", "atp"))
    },
)
"""Everything that is graded, from documents whose formats together ask for all of it."""


def points_lost(result: Score) -> dict[Rule, float]:
    return {line.rule: line.points for line in result.lines}


def test_a_complete_service_scores_100() -> None:
    result = score(FULL, [])
    assert result.value == sum(SECTION_POINTS.values()) == 100
    assert result.lines == ()
    assert result.version == VERSION


def test_every_point_lost_has_a_line_with_its_remedy() -> None:
    result = score(
        replace(FULL, description=None, provider=None),
        [LocatedFinding(Finding(assessing_rules.CONTENT_TYPE), "https://a.example/")],
    )
    assert result.value == round(100 - sum(line.points for line in result.lines))
    assert {
        scoring_rules.SERVICE_UNDESCRIBED,
        scoring_rules.SERVICE_PROVIDER_UNKNOWN,
        assessing_rules.CONTENT_TYPE,
    } <= set(points_lost(result))
    for line in result.lines:
        rule, stored = line.rule, line.to_json()
        assert (stored["says"], stored["fix"], stored["spec"]) == (rule.says, rule.fix, rule.spec)


def test_a_rule_costs_its_share_of_the_capabilities() -> None:
    undescribed = services.Capability("y", "y", None, params={}, result={}, side_effects=False, invocations=(CALL,))
    full = scoring_rules.CAPABILITY_UNDESCRIBED.points
    one_of_two = replace(FULL, capabilities=(*FULL.capabilities, undescribed))
    assert points_lost(score(one_of_two, []))[scoring_rules.CAPABILITY_UNDESCRIBED] == full / 2
    one_of_many = replace(FULL, capabilities=(*FULL.capabilities * 99, undescribed))
    assert points_lost(score(one_of_many, []))[scoring_rules.CAPABILITY_UNDESCRIBED] == full / 4  # at least a quarter


def test_summarised_findings_count_in_full() -> None:
    many = replace(FULL, capabilities=FULL.capabilities * 40)
    listed = [
        LocatedFinding(Finding(adp_rules.NAME, f"/capabilities/{n}/name"), "https://a.example/") for n in range(4)
    ]
    summary = LocatedFinding(
        Finding(adp_rules.NAME, "/capabilities/4/name", "and 36 more of 40", 36), "https://a.example/"
    )
    (line,) = score(many, [*listed, summary]).lines
    assert (line.count, line.points) == (40, adp_rules.NAME.points)


def test_a_finding_about_the_whole_document_costs_in_full() -> None:
    whole, part = (
        LocatedFinding(Finding(common_rules.TEMPLATE, pointer), "https://a.example/")
        for pointer in ("", "/capabilities/0/id")
    )
    many = replace(FULL, capabilities=FULL.capabilities * 40)
    assert (
        points_lost(score(many, [part]))[common_rules.TEMPLATE]
        < points_lost(score(many, [whole]))[common_rules.TEMPLATE]
    )
    assert points_lost(score(many, [part, whole])) == points_lost(score(many, [whole]))


def test_a_section_never_falls_below_zero() -> None:
    everything = [LocatedFinding(Finding(rule), "https://a.example/") for rule in RUBRIC.values()]
    result = score(services.Service(), everything)
    assert 0 <= result.value <= 100
    assert all(points >= 0 for points in result.sections.values())


def test_repeating_a_finding_costs_nothing_more() -> None:
    once = [LocatedFinding(Finding(assessing_rules.CONTENT_TYPE), "https://a.example/")]
    assert score(FULL, once * 50).value == score(FULL, once).value


def test_a_skill_is_not_blamed_for_what_its_format_cannot_say() -> None:
    skill = services.Capability(
        "s", "s", "Talks.", invocations=(services.Invocation("a2a_skill", "https://a.example/a2a", "POST"),)
    )
    reasons = set(points_lost(score(replace(FULL, capabilities=(skill,)), [])))
    assert not reasons & {scoring_rules.CAPABILITY_WITHOUT_PARAMS, scoring_rules.CAPABILITY_SIDE_EFFECTS_UNKNOWN}


def test_an_unread_detail_is_unknown_and_not_zero() -> None:
    pointer = services.Capability(
        "p", "p", "Later.", detail_url="https://a.example/p", invocations=(services.Invocation("pointer"),)
    )
    assert score(replace(FULL, capabilities=(pointer,)), []).value == 100


def test_the_stored_form_is_json() -> None:
    stored = json.loads(json.dumps(score(replace(FULL, name=None), []).to_json()))
    assert stored["lines"][0]["reason"] == scoring_rules.SERVICE_UNNAMED.code
    assert stored["facts"]["capabilities"] == 1
