"""A variable in an endpoint is a finding exactly where no parameter describes it."""

import json
from typing import Any

import pytest

from registry.core.assessing.assess import Assessment, assess_body

HOST = "https://pigeonpost.example"
PARCEL = {"name": "parcel", "type": "string", "required": True, "description": "The number of the parcel."}


def atp(path: str, *parameters: dict[str, Any], count: int = 1) -> Assessment:
    capability = {
        "name": "Track", "description": "Tracks a parcel.", "endpoint": path, "method": "GET",
        "parameters": list(parameters), "response": {"type": "object"},
    }  # fmt: skip
    body = {
        "@context": "https://atp.dev/schema/v1", "@type": "AgentManifest", "name": "Pigeonpost",
        "description": "Parcels by pigeon.", "version": "1.0.0",
        "capabilities": [{"id": f"track-{number}", **capability} for number in range(count)],
    }  # fmt: skip
    return assess_body(json.dumps(body).encode(), f"{HOST}/.well-known/agent.json", "application/json")


def templated(assessment: Assessment) -> list[tuple[str, int]]:
    return [(one.pointer, one.count) for one in assessment.findings if one.rule.code == "endpoint.templated"]


def test_a_described_variable_is_no_finding() -> None:
    assert templated(atp("/parcels/{parcel}", PARCEL)) == []


@pytest.mark.parametrize("path", ["/parcels/{number}", "/parcels/{parcel}/{leg}", "/{parcel}/:leg"])
def test_a_variable_without_a_parameter_is_found_where_it_stands(path: str) -> None:
    assert templated(atp(path, PARCEL)) == [("/capabilities/0/endpoint", 1)]


def test_many_described_variables_leave_no_count_behind() -> None:
    assert templated(atp("/parcels/{parcel}", PARCEL, count=400)) == []
    assert sum(count for _, count in templated(atp("/parcels/{parcel}", count=400))) == 400


@pytest.mark.parametrize("stated", [True, False, None])
def test_an_api_description_states_side_effects_in_an_extension(stated: bool | None) -> None:
    operation: dict[str, Any] = {"operationId": "check", "responses": {"200": {"description": "The findings."}}}
    operation |= {} if stated is None else {"x-side-effects": stated}
    body = {
        "openapi": "3.1.0",
        "info": {"title": "Pigeonpost", "version": "1"},
        "servers": [{"url": HOST}],
        "paths": {"/check": {"post": operation}},
    }
    assessment = assess_body(json.dumps(body).encode(), f"{HOST}/openapi.json", "application/json")
    assert assessment.service is not None
    assert assessment.service.capabilities[0].side_effects is stated
