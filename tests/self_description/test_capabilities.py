"""The list of capabilities agrees with the API that answers."""

from typing import Any

import pytest

from registry.core.model.services import is_semantic_type
from registry.self_description.capabilities import CAPABILITIES, CapabilityParameter, OwnCapability
from registry.self_description.service import limit_of, output_of
from registry.settings import Settings
from tests.api.test_openapi import DOCUMENT

IDS = [capability.name for capability in CAPABILITIES]


def operation_of(capability: OwnCapability) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][capability.path][capability.method.lower()]
    return found


@pytest.mark.parametrize("capability", CAPABILITIES, ids=IDS)
def test_every_parameter_is_one_of_the_operation(capability: OwnCapability) -> None:
    operation = operation_of(capability)
    known = {(one["name"], one["in"]): one for one in operation.get("parameters", ())}
    for parameter in capability.parameters:
        if parameter.place == "body":
            assert parameter.name in _members_of_body(operation), parameter.name
        elif parameter.place != "whole_body":
            described = known[parameter.name, parameter.place]
            assert described["required"] is parameter.required
            _assert_bounds(parameter, described["schema"])
    if not capability.enveloped:
        required = {name for (name, _), one in known.items() if one["required"]}
        assert required <= {parameter.name for parameter in capability.parameters}


@pytest.mark.parametrize("capability", CAPABILITIES, ids=IDS)
def test_side_effects_are_those_of_the_operation(capability: OwnCapability) -> None:
    stated = operation_of(capability).get("x-side-effects", False)
    assert stated is capability.side_effects
    assert capability.method == "POST" or not capability.side_effects


def test_every_operation_that_is_not_a_get_says_whether_it_changes_anything() -> None:
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            assert method == "get" or isinstance(operation.get("x-side-effects"), bool), (method, path)


@pytest.mark.parametrize("capability", CAPABILITIES, ids=IDS)
def test_outputs_describe_members_and_never_nothing(capability: OwnCapability) -> None:
    output = output_of(capability, DOCUMENT)
    assert output["type"] == "object" and output["properties"]
    assert not _open_parts(output)


def test_names_and_limits() -> None:
    assert len(set(IDS)) == len(IDS)
    settings = Settings(read_rate=600, submit_rate=60)
    for capability in CAPABILITIES:
        assert is_semantic_type(capability.semantic_type)
        assert capability.title.lower().replace(" ", "_") == capability.name
        limit = limit_of(capability, settings)
        assert limit.requests is not None and 1 <= limit.requests <= 600
        assert limit.window == {"work": "1m", "submissions": "1h"}[capability.limit]


def _members_of_body(operation: dict[str, Any]) -> set[str]:
    """Return the members of all shapes that a body may have."""
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    branches = schema.get("anyOf", [schema])
    names = [branch["$ref"].rpartition("/")[2] if "$ref" in branch else None for branch in branches]
    schemas = [
        DOCUMENT["components"]["schemas"][name] if name else branch
        for name, branch in zip(names, branches, strict=True)
    ]
    return {member for one in schemas for member in one["properties"]}


def _assert_bounds(parameter: CapabilityParameter, schema: dict[str, Any]) -> None:
    """Assert that no value is allowed here that the operation refuses."""
    branch = next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)
    for keyword, is_within in (("maximum", int.__le__), ("minimum", int.__ge__), ("maxLength", int.__le__)):
        if keyword in branch and "enum" not in parameter.rules:
            assert is_within(parameter.rules[keyword], branch[keyword]), (parameter.name, keyword)
    allowed = branch.get("enum", branch.get("items", {}).get("enum"))
    if allowed and parameter.kind == "string":
        for value in parameter.rules.get("enum", str(parameter.example).split(",")):
            assert value in allowed, (parameter.name, value)


def _open_parts(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts without a type that every format can name."""
    parts = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return [part for one in parts for part in ([one] if "type" not in one else _open_parts(one))]
