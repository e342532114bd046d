"""Example arguments: the document's own where they are valid, else made, always valid under the schema."""

from collections.abc import Callable
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from uuid import UUID

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.calling.effort import CAPABILITY_EFFORT, Effort
from registry.core.calling.http import NOT_DESCRIBED, arguments_of
from registry.core.calling.schemas import Root, fault, keywords
from tests.core.manifests import json_values


def arguments(schema: Any, **given_values: Any) -> Any:
    params = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    return arguments_of(params, Effort(), given_values)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer", "examples": ["seven", 7]}, 7),
        ({"type": "integer", "example": 8}, 8),
        ({"type": "string", "examples": {"long": {"value": "Oslo"}}}, "Oslo"),
        ({"type": "string", "default": "en"}, "en"),
        ({"enum": ["", "nb", "en"]}, "nb"),
        ({"const": None}, None),
        ({"type": "string", "enum": ["a"], "default": "b"}, "a"),
    ],
)
def test_the_documents_own_values_come_first(schema: Any, value: Any) -> None:
    found = arguments(schema)
    assert (found.values, found.derived, found.missing) == ({"x": value}, (), ())


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "string", "minLength": 12, "maxLength": 14},
        {"type": "string", "maxLength": 2},
        {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        {"type": "string", "pattern": r"^0x[a-fA-F0-9]{40}$"},
        {"type": "string", "pattern": r"^https?:\/\/[^\s/]+", "maxLength": 40},
        {"type": "string", "pattern": r"[a-z]+@[a-z]+", "minLength": 9},
        {"type": "string", "pattern": r"^(?=.*\d)(?=.*[a-z]).{8,}$"},
        {"type": "string", "pattern": r"^(?!quay:)[a-z.]+$"},
        {"type": "string", "pattern": r"^[A-Z]{3}-\d{4}$"},
        {"type": "string", "pattern": r"^QY[0-9a-f]{32}$"},
        {"type": "string", "pattern": r"^quay:([a-z]+)(?:[^:]*):\d{2,4}$", "minLength": 14},
        {"type": "string", "pattern": r"^quay:[a-z]{0,63}:[^/].{0,1023}$", "maxLength": 1600},
        {"type": "string", "pattern": r"^quay:[^:]{1,63}:[^:]{0,63}:[^:]{0,63}:berth\/b-[0-9a-f]{8,17}$"},
        {"type": "string", "pattern": r"^berth-[a-z]+$", "minLength": 31, "maxLength": 31},
        {"type": "string", "pattern": "^berth-", "minLength": 12},
        {"type": "string", "pattern": r"/^\d{4}[a-z]$/i"},  # as JavaScript writes it in code
        {"type": "string", "pattern": r"^(?:north|south)(?:-(?:east|west))?$"},
        {"type": "string", "pattern": r"^[\w.-]{20,30}$", "maxLength": 25},
        {"type": "string", "format": "uuid"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "email", "maxLength": 40},
        {"type": "string", "format": "of-its-own"},
        {"type": "integer", "minimum": 3, "maximum": 4},
        {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
        {"type": "integer", "minimum": 3, "exclusiveMinimum": True},  # OpenAPI 3.0
        {"type": "number", "minimum": 0.2, "maximum": 0.3},
        {"type": "integer", "multipleOf": 7, "minimum": 20},
        {"type": "number", "exclusiveMaximum": 0},
        {"type": ["null", "boolean"]},
        {"type": "string", "nullable": True},
        {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2},
        {"type": "array", "items": [{"type": "number"}]},
        {"type": "array", "maxItems": 0},
        {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "object", "required": ["c"]}}},
        {"type": "object", "minProperties": 2, "properties": {"a": {"type": "integer"}}},
        {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
        {"properties": {"a": {"const": 1}}, "required": ["a"], "dependentRequired": {"a": ["b"]}},
        {"allOf": [{"type": "integer", "minimum": 5}, {"maximum": 6}]},
        {"allOf": [{"properties": {"a": {"minimum": 2}}, "required": ["a"]}, {"properties": {"a": {"maximum": 2}}}]},
        {"oneOf": [{"type": "null"}, {"type": "string", "minLength": 20}]},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object", "properties": {"a": False}},
        {"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 3}], "minimum": 4},
        {"type": "object", "required": ["k"], "properties": {"k": {"enum": ["a"]}},
         "if": {"properties": {"k": {"const": "a"}}}, "then": {"required": ["z"]}},
    ],
)  # fmt: skip
def test_a_made_value_is_valid(schema: Any) -> None:
    found = arguments(schema)
    assert found.missing == ()
    jsonschema.Draft202012Validator(keywords(schema) if isinstance(schema, dict) else schema).validate(
        found.values["x"]
    )
    assert found.derived == ("x",)


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "string", "pattern": r"^(?=b)a"},
        {"type": "string", "pattern": "(" * 40 + "q{3}" + ")" * 40},
        {"type": "string", "minLength": 5, "maxLength": 3},
        {"type": "array", "minItems": 1_000_000},
        {"type": "string", "minLength": 1_000_000},
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"$ref": "#/properties/x"},
        {"type": "object", "required": ["x"], "properties": {"x": {"$ref": "#/properties/x"}}},
        {"type": "integer", "not": {}},
        {"type": "integer", "not": {"const": 1}},
    ],
)
def test_what_cannot_be_filled_is_missing_with_a_reason(schema: Any) -> None:
    found = arguments(schema)
    assert [part.what for part in found.missing] == ["x"] or "x" in found.values
    assert all(part.why for part in found.missing)
    assert found.missing or schema == {"$ref": "#/properties/x"}


@pytest.mark.parametrize(
    ("name", "as_read"),
    [("google-datetime", datetime.fromisoformat), ("dateTime", datetime.fromisoformat), ("guid", UUID),
     ("uint64", int), ("double", float), ("date-time-rfc1123", parsedate_to_datetime)],
)  # fmt: skip
def test_formats_by_other_names_are_known(name: str, as_read: Callable[[str], object]) -> None:
    assert as_read(arguments({"type": "string", "format": name}).values["x"])


def test_a_list_of_values_counts_more_than_a_type_that_none_has() -> None:
    assert arguments({"type": "integer", "enum": ["7", "8"]}).values == {"x": "7"}
    assert arguments({"type": ["integer", "null"], "enum": ["7", 8]}).values == {"x": 8}


def test_different_items_are_taken_from_a_list() -> None:
    schema = {"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 3, "uniqueItems": True}
    assert arguments(schema).values == {"x": ["a", "b", "c"]}


def test_references_inside_the_schema_are_followed() -> None:
    params = {
        "$defs": {"seat": {"type": "object", "required": ["row"], "properties": {"row": {"$ref": "#/$defs/row"}}},
                  "row": {"type": "integer", "minimum": 4}},
        "properties": {"seat": {"$ref": "#/$defs/seat"}},
        "required": ["seat"],
    }  # fmt: skip
    assert arguments_of(params, Effort()).values == {"seat": {"row": 4}}


def test_a_schema_that_is_a_reference_is_followed() -> None:
    plan = {"type": "object", "properties": {"cone": {"type": "integer", "minimum": 6}}, "required": ["cone"]}
    found = arguments_of({"$ref": "#/$defs/plan", "$defs": {"plan": plan}}, Effort())
    assert (found.values, found.derived) == ({"cone": 6}, ("cone",))


def test_optional_parameters_have_the_documents_values_or_none() -> None:
    params = {
        "properties": {
            "a": {"type": "string"},
            "b": {"default": 2},
            "c": {"type": "integer", "example": "no"},
            "d": {},
        },
        "required": ["d"],
    }
    assert arguments_of(params, Effort()).values == {"b": 2, "d": "example"}


def test_optional_values_that_exclude_each_other_are_left_out() -> None:
    params = {
        "properties": {"a": {"default": 1}, "b": {"default": 2}, "c": {"type": "integer"}},
        "required": ["c"],
        "not": {"required": ["a", "b"]},
    }
    assert arguments_of(params, Effort()).values == {"c": 1}


def test_a_schema_says_more_than_its_properties() -> None:
    params = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    found = arguments_of(params, Effort())
    assert (found.values, found.missing) == ({"a": 1}, ())


def test_a_whole_example_and_an_example_request_are_used() -> None:
    params = {"properties": {"a": {"type": "integer"}}, "required": ["a"], "examples": [{"a": "no"}, {"a": 5}]}
    assert arguments_of(params, Effort()).values == {"a": 5}
    assert arguments({"type": "integer"}, x=9, y=1).values == {"x": 9}
    assert arguments({"type": "integer"}, x="nine").values == {"x": 1}


def test_without_a_description_the_parameters_are_missing() -> None:
    assert [part.why for part in arguments_of(None, Effort()).missing] == [NOT_DESCRIBED]


def test_effort_is_bounded() -> None:
    params: dict[str, Any] = {"properties": {}, "required": ["a"], "$defs": {}}
    params["$defs"]["n"] = {"type": "object", "required": list("abcdefgh"),
                            "properties": {name: {"$ref": "#/$defs/n"} for name in "abcdefgh"}}  # fmt: skip
    params["properties"]["a"] = {"$ref": "#/$defs/n"}
    effort = Effort(2_000)
    found = arguments_of(params, effort)
    assert found.missing
    assert effort.left > -20_000
    spent = Effort(0)
    assert arguments_of({"properties": {"a": {"type": "integer"}}, "required": ["a"]}, spent).missing


@given(json_values)
def test_any_schema_gives_valid_arguments_or_a_reason(schema: Any) -> None:
    for params in ({"properties": schema, "required": schema}, {"properties": {"x": schema}, "required": ["x"]}):
        found = arguments_of(params, Effort())
        if not found.missing:
            assert fault(Root(params).settled(params), found.values, Effort()) is None


KEYWORDS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "array", "object", ["string", "null"], "odd"]),
        "minLength": st.integers(0, 5), "maxLength": st.integers(0, 5), "minimum": st.integers(-3, 3),
        "maximum": st.integers(-3, 3), "multipleOf": st.sampled_from([2, 0.5, 0, -1]), "minItems": st.integers(0, 3),
        "uniqueItems": st.booleans(), "enum": st.lists(json_values, max_size=2), "default": json_values,
        "pattern": st.sampled_from(["^a+$", "(", "[0-9]{2}", "(?=a)", r"\d"]), "format": st.sampled_from(["date", "x"]),
        "required": st.just(["a"]), "nullable": st.booleans(),
    },
)  # fmt: skip


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    optional = {
        "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
        "items": inner,
        "anyOf": st.lists(inner, min_size=1, max_size=2),
        "allOf": st.lists(inner, min_size=1, max_size=2),
        "not": inner,
    }
    return st.builds(lambda left, right: {**left, **right}, KEYWORDS, st.fixed_dictionaries({}, optional=optional))


@given(st.recursive(KEYWORDS, _nested, max_leaves=6))
def test_schemas_give_arguments_that_another_validator_accepts(schema: Any) -> None:
    params = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    found = arguments_of(params, Effort())
    if not found.missing:
        settled = Root(params).settled(params)
        if "(" not in str(schema):  # patterns that only one of the validators reads
            jsonschema.Draft202012Validator(settled).validate(found.values)


@given(st.text(max_size=30) | st.from_regex(r"[\[\]()^$|*+?{}0-9a-c\\,-]{0,20}"))
def test_any_pattern_gives_a_valid_text_or_a_reason(pattern: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    found = arguments(schema)
    assert found.missing or fault(schema, found.values["x"], Effort()) is None


@pytest.mark.parametrize("pattern", ["((a{9}){9}){99999}", "(((((){500}){500}){500}){500})", "(" * 500, "a{999999999}"])
def test_patterns_cannot_cost_much(pattern: str) -> None:
    effort = Effort()
    params = {"properties": {"x": {"pattern": pattern}}, "required": ["x"]}
    assert arguments_of(params, effort).missing
    assert effort.left > 0.9 * CAPABILITY_EFFORT
