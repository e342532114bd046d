"""Parameters in forms of publishers' own become JSON Schema; whatever describes nothing is left alone."""

import pytest
from hypothesis import given

from registry.core.format_support.loose import first_parameters, first_result, parameters_of
from registry.core.model.documents import Json
from tests.core.manifests import json_values


@pytest.mark.parametrize(
    ("value", "properties", "required"),
    [
        ({"day": "string", "seats": "integer (required)"}, {"day": {"type": "string"}, "seats": {"type": "integer"}},
         ["seats"]),
        ({"day?": "the day of the crossing"}, {"day": {"description": "the day of the crossing"}}, None),
        ({"seats": {"type": "integer", "minimum": 1, "required": True}}, {"seats": {"type": "integer", "minimum": 1}},
         ["seats"]),
        (["day", {"name": "seats", "type": "int", "required": True}], {"day": {}, "seats": {"type": "integer"}},
         ["seats"]),
        ({"type": "string", "id": "string"}, {"type": {"type": "string"}, "id": {"type": "string"}}, None),
        ({"seats": 2, "class": ["open", "cabin"]}, {"seats": {"examples": [2]}, "class": {"enum": ["open", "cabin"]}},
         None),
    ],
)  # fmt: skip
def test_maps_and_lists(value: Json, properties: object, required: list[str] | None) -> None:
    schema = parameters_of(value) or {}
    assert schema["properties"] == properties
    assert schema.get("required") == required


def test_a_json_schema_is_kept() -> None:
    schema = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
    assert parameters_of(schema) == schema


@pytest.mark.parametrize("value", [None, {}, [], 7, "string", True])
def test_nothing(value: Json) -> None:
    assert parameters_of(value) is None


def test_the_first_member_that_describes_something_counts() -> None:
    holder: dict[str, Json] = {"params": {}, "input": {"day": "string"}, "returns": "A ticket.", "output": None}
    assert first_parameters(holder) == {"type": "object", "properties": {"day": {"type": "string"}}}
    assert first_result(holder) == (None, "A ticket.")


@given(json_values)
def test_no_value_raises(value: Json) -> None:
    parameters_of(value)
    first_result({"output": value})
