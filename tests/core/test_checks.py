"""What a service leaves unsaid: each gap is told by its own reason, and by no other."""

from dataclasses import replace
from typing import Any

import pytest

from registry.core.findings import Reason
from registry.core.scoring.checks import gaps
from registry.core.services import Auth, Invocation, Policies, Pricing, Provider, Service
from tests.core.test_score import CALL, FULL


def with_capability(**changes: Any) -> Service:
    return replace(FULL, capabilities=(replace(FULL.capabilities[0], **changes),))


def with_call(**changes: Any) -> Service:
    return with_capability(invocations=(replace(CALL, **changes),))


GAPS = {
    Reason.SERVICE_UNNAMED: replace(FULL, name=None),
    Reason.SERVICE_UNDESCRIBED: replace(FULL, description=""),
    Reason.SERVICE_WITHOUT_CAPABILITIES: replace(FULL, capabilities=()),
    Reason.SERVICE_AUTH_UNKNOWN: replace(FULL, auth=Auth()),
    Reason.SERVICE_PRICING_UNKNOWN: replace(FULL, pricing=Pricing()),
    Reason.SERVICE_RATE_LIMIT_UNKNOWN: replace(FULL, policies=Policies(privacy_url="https://a.example/privacy")),
    Reason.SERVICE_UNVERSIONED: replace(FULL, version=None, protocols=()),
    Reason.SERVICE_WITHOUT_TERMS: replace(FULL, policies=replace(FULL.policies, terms_url=None)),
    Reason.SERVICE_PROVIDER_UNKNOWN: replace(FULL, provider=Provider(contact="agents@a.example")),
    Reason.SERVICE_WITHOUT_CONTACT: replace(FULL, provider=Provider("A Ltd")),
    Reason.SERVICE_SYNTHETIC: replace(FULL, synthetic=True),
    Reason.CAPABILITY_UNDESCRIBED: with_capability(description=None),
    Reason.CAPABILITY_WITHOUT_PARAMS: with_capability(params=None),
    Reason.CAPABILITY_WITHOUT_RESULT: with_capability(result=None),
    Reason.CAPABILITY_UNREACHABLE: with_call(endpoint=None),
    Reason.CAPABILITY_SIDE_EFFECTS_UNKNOWN: with_capability(side_effects=None),
    Reason.CAPABILITY_UNCONFIRMED: with_call(method="DELETE"),
}


@pytest.mark.parametrize(("reason", "service"), GAPS.items(), ids=[reason.value for reason in GAPS])
def test_a_gap_has_its_own_reason(reason: Reason, service: Service) -> None:
    assert [finding.reason for finding in gaps(service)] == [reason]


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
def test_saying_it_elsewhere_or_saying_no_is_no_gap(service: Service) -> None:
    assert gaps(service) == ()


def test_every_gap_of_a_capability_names_it() -> None:
    one = FULL.capabilities[0]
    several = replace(FULL, capabilities=(one, replace(one, id="y", description=None)))
    assert [(finding.pointer, finding.evidence) for finding in gaps(several)] == [("/capabilities/1", "y")]
