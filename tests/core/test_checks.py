"""Gaps in a service: each is reported by its own rule, and by no other."""

from dataclasses import replace
from typing import Any

import pytest

from registry.core.model.findings import Rule
from registry.core.model.services import Auth, Invocation, Policies, Pricing, Provider, Service
from registry.core.scoring import rules as scoring_rules
from registry.core.scoring.checks import gaps
from tests.core.test_score import CALL, FULL


def with_capability(**changes: Any) -> Service:
    return replace(FULL, capabilities=(replace(FULL.capabilities[0], **changes),))


def with_call(**changes: Any) -> Service:
    return with_capability(invocations=(replace(CALL, **changes),))


GAPS = {
    scoring_rules.SERVICE_UNNAMED: replace(FULL, name=None),
    scoring_rules.SERVICE_UNDESCRIBED: replace(FULL, description=""),
    scoring_rules.SERVICE_WITHOUT_CAPABILITIES: replace(FULL, capabilities=()),
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


def test_a_full_service_has_no_gap() -> None:
    assert gaps(FULL) == ()


@pytest.mark.parametrize(
    "service",
    [
        replace(with_call(auth=Auth(required=True)), auth=Auth()),
        replace(FULL, version=None),
        replace(FULL, provider=Provider("A Ltd"), docs_url="https://a.example/docs"),
        with_capability(params={}),
        with_capability(side_effects=False),
        with_capability(invocations=(Invocation("instructions"),)),
        with_capability(invocations=(), detail_url="https://a.example/x"),
    ],
    ids=["auth of the call", "version of a protocol", "documentation", "no parameters", "reads only", "told in words",
         "told elsewhere"],
)  # fmt: skip
def test_a_member_given_elsewhere_or_as_no_is_no_gap(service: Service) -> None:
    assert gaps(service) == ()


def test_every_gap_of_a_capability_names_it() -> None:
    capability = FULL.capabilities[0]
    service = replace(FULL, capabilities=(capability, replace(capability, id="y", description=None)))
    assert [(finding.pointer, finding.evidence) for finding in gaps(service)] == [("/capabilities/1", "y")]
