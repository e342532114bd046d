"""Gaps in a service: each is reported by its own rule, and by no other."""

from dataclasses import replace
from typing import Any

import pytest

from registry.core.formats import FORMATS
from registry.core.model.findings import Rule, Section, Severity
from registry.core.model.services import Auth, Invocation, Origin, Policies, Pricing, Provider, Service
from registry.core.scoring import rules as scoring_rules
from registry.core.scoring.checks import gaps
from registry.core.scoring.rubric import SECTION_POINTS
from tests.core.test_score import CALL, FULL


def with_capability(**changes: Any) -> Service:
    return replace(FULL, capabilities=(replace(FULL.capabilities[0], **changes),))


def with_call(**changes: Any) -> Service:
    return with_capability(invocations=(replace(CALL, **changes),))


GAPS = {
    scoring_rules.SERVICE_UNNAMED: replace(FULL, name=None),
    scoring_rules.SERVICE_UNDESCRIBED: replace(FULL, description=""),
    scoring_rules.SERVICE_AUTH_UNKNOWN: replace(FULL, auth=Auth()),
    scoring_rules.SERVICE_PRICING_UNKNOWN: replace(FULL, pricing=Pricing()),
    scoring_rules.SERVICE_RATE_LIMIT_UNKNOWN: replace(FULL, policies=Policies(privacy_url="https://a.example/privacy")),
    scoring_rules.SERVICE_UNVERSIONED: replace(FULL, version=None, protocols=()),
    scoring_rules.SERVICE_WITHOUT_TERMS: replace(FULL, policies=replace(FULL.policies, terms_url=None)),
    scoring_rules.SERVICE_PROVIDER_UNKNOWN: replace(FULL, provider=Provider(contact="agents@a.example")),
    scoring_rules.SERVICE_WITHOUT_CONTACT: replace(FULL, provider=Provider("A Ltd")),
    scoring_rules.SERVICE_SYNTHETIC: replace(FULL, synthetic=True),
    scoring_rules.CAPABILITY_UNDESCRIBED: with_capability(description=None),
    scoring_rules.CAPABILITY_WITHOUT_PARAMS: with_capability(params=None),
    scoring_rules.CAPABILITY_WITHOUT_RESULT: with_capability(result=None),
    scoring_rules.CAPABILITY_UNREACHABLE: with_call(endpoint=None),
    scoring_rules.CAPABILITY_SIDE_EFFECTS_UNKNOWN: with_capability(side_effects=None),
    scoring_rules.CAPABILITY_UNCONFIRMED: with_call(method="DELETE"),
}


@pytest.mark.parametrize(("rule", "service"), GAPS.items(), ids=[rule.code for rule in GAPS])
def test_a_gap_has_its_own_rule(rule: Rule, service: Service) -> None:
    assert [finding.rule for finding in gaps(service)] == [rule]


@pytest.mark.parametrize(("rule", "service"), GAPS.items(), ids=[rule.code for rule in GAPS])
def test_what_no_format_of_the_service_asks_for_is_a_note(rule: Rule, service: Service) -> None:
    texts = {"name": Origin("https://a.example/llms.txt", "", "llms-txt")}
    (finding,) = gaps(replace(service, provenance=texts))
    if rule is scoring_rules.SERVICE_SYNTHETIC:  # what a document is, and not what it lacks
        assert finding.rule is rule
    else:
        assert finding.rule is scoring_rules.ADVICE.get(rule, rule)
        assert (finding.rule.severity, finding.rule.points) == (Severity.INFO, 0)
        assert (finding.rule.says, finding.rule.section) == (rule.says, rule.section)


def without_capabilities(form: str) -> list[Rule]:
    origins = {"name": Origin("https://a.example/manifest", "/name", form)}
    return [finding.rule for finding in gaps(replace(FULL, capabilities=(), provenance=origins))]


@pytest.mark.parametrize("form", ["adp", "a2a"])
def test_a_service_without_the_capabilities_that_its_format_demands_loses_three_sections(form: str) -> None:
    rules = without_capabilities(form)
    assert rules == [
        scoring_rules.SERVICE_WITHOUT_CAPABILITIES,
        scoring_rules.SERVICE_NOTHING_TO_CALL,
        scoring_rules.SERVICE_NOTHING_TO_JUDGE,
    ]
    assert {rule.section: rule.points for rule in rules} == {
        section: SECTION_POINTS[section] for section in (Section.COMPLETENESS, Section.OPERABILITY, Section.SAFETY)
    }


@pytest.mark.parametrize("form", ["mcp-server-json", "openapi", "aid"])
def test_a_format_that_demands_no_capability_leaves_a_note(form: str) -> None:
    assert without_capabilities(form) == [scoring_rules.ADVICE[scoring_rules.SERVICE_WITHOUT_CAPABILITIES]]


def test_a_capability_is_graded_by_the_formats_that_describe_it() -> None:
    """AWP asks for results, OpenAPI does not; both describe capabilities of this service."""
    calls = {form: replace(CALL, origin=Origin(f"https://a.example/{form}", "", form)) for form in ("awp", "openapi")}
    awp, openapi = (
        replace(FULL.capabilities[0], id=form, result=None, invocations=(call,)) for form, call in calls.items()
    )
    assert {finding.pointer: finding.rule for finding in gaps(replace(FULL, capabilities=(awp, openapi)))} == {
        "/capabilities/0": scoring_rules.CAPABILITY_WITHOUT_RESULT,
        "/capabilities/1": scoring_rules.ADVICE[scoring_rules.CAPABILITY_WITHOUT_RESULT],
    }


def test_each_rule_with_a_note_is_asked_for_by_some_format_and_only_such_rules() -> None:
    asked = frozenset().union(*(form.asks for form in FORMATS))
    assert {rule.code for rule in scoring_rules.ADVICE} == {
        code for code in asked if code.startswith(("service.", "capability."))
    }


SPECIFICATIONS = {
    "adp": "ADP 1.0", "adp-detail": "ADP 1.0", "awp": "AWP 0.2", "atp": "ATP 0.1", "woa": "WoA draft-00",
    "awas": "AWAS 1.0", "a2a": "A2A 1.0", "openapi": "OpenAPI 3.1", "ai-plugin": "ai-plugin v1",
    "agents-json": "agents.json 0.1.0", "anp": "ANP agent description 1.0", "agent-json": "agent.json 1.3",
    "mcp-server-card": "MCP server card v1", "mcp-server-json": "server.json schema",
    "agent-skills-index": "Agent Skills discovery 0.2.0",
}  # fmt: skip


@pytest.mark.parametrize("rule", scoring_rules.ADVICE, ids=lambda rule: rule.code)
def test_a_price_is_charged_by_the_specifications_that_the_rule_names(rule: Rule) -> None:
    asking = {SPECIFICATIONS[form.slug] for form in FORMATS if rule.code in form.asks}
    assert asking == {name for name in SPECIFICATIONS.values() if name in rule.spec}


@pytest.mark.parametrize(
    "service",
    [
        FULL,
        replace(with_call(auth=Auth(required=True)), auth=Auth()),
        replace(FULL, version=None),
        replace(FULL, provider=Provider("A Ltd"), docs_url="https://a.example/docs"),
        with_capability(params={}),
        with_capability(side_effects=False),
        with_capability(invocations=(Invocation("instructions"),)),
        with_capability(invocations=(), detail_url="https://a.example/x"),
    ],
    ids=["full", "auth of the call", "version of a protocol", "documentation", "no parameters", "reads only",
         "told in words", "told elsewhere"],
)  # fmt: skip
def test_a_member_given_elsewhere_or_as_no_is_no_gap(service: Service) -> None:
    assert gaps(service) == ()


def test_every_gap_of_a_capability_names_it() -> None:
    capability = FULL.capabilities[0]
    service = replace(FULL, capabilities=(capability, replace(capability, id="y", description=None)))
    assert [(finding.pointer, finding.evidence) for finding in gaps(service)] == [("/capabilities/1", "y")]
