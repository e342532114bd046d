"""What is computed from a site's schema has a bound, whatever the schema says."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.core.calling import schemas
from registry.core.calling.call import call_of, calls_made
from registry.core.calling.effort import MAX_PATTERN_WORK, MAX_VALUE_WEIGHT, Effort, pattern_work, weight_of
from registry.core.calling.http import TOO_LONG, arguments_of
from registry.core.model.services import Capability, Invocation, Service
from tests.core.calling.hostile_schemas import WORST, enum_and_items, hostile_schemas, slow_patterns

CPU_SECONDS = 0.15
"""Of one example: five times what the most expensive one takes on an idle core of 2026. Without the budget a second to
half a minute."""
SERVICE_CPU_SECONDS = 1.0
POST = Invocation("http", "https://api.ferry.example/x", "POST")


def best_of_three(function: Callable[[], Any]) -> float:
    """Return the least CPU time of three calls, each with empty caches."""
    times = []
    for _ in range(3):
        for cached in (schemas._cached, pattern_work):
            cached.cache_clear()
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("name", WORST)
def test_no_small_schema_is_much_work(name: str) -> None:
    assert best_of_three(lambda: arguments_of(WORST[name], Effort())) < CPU_SECONDS


def test_no_service_is_much_work() -> None:
    """Ten services' worth of hostile schemas in one."""
    worst = [schema for schema in WORST.values() for _ in range(10)]
    service = Service(
        capabilities=tuple(Capability(str(n), str(n), params=p, invocations=(POST,)) for n, p in enumerate(worst))
    )
    assert best_of_three(lambda: list(calls_made(service))) < SERVICE_CPU_SECONDS


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(hostile_schemas)
def test_an_example_is_made_or_left_out_with_a_reason(schema: Any) -> None:
    found = arguments_of(schema, Effort())
    assert weight_of(found.values, MAX_VALUE_WEIGHT) <= MAX_VALUE_WEIGHT
    assert found.values or found.missing or not schema.get("required")
    assert all(part.what and part.why for part in found.missing)
    json.dumps(found.to_json())


@pytest.mark.parametrize(
    "schema", [WORST[name] for name in ("enum-and-items", "slow-patterns", "large-targets", "merged-enums")]
)
def test_a_spent_budget_is_the_reason(schema: Any) -> None:
    found = arguments_of(schema, Effort())
    assert (found.values, [part.why for part in found.missing]) == (
        {}, ["an example of this schema would take too much work"],
    )  # fmt: skip


def test_a_long_example_is_left_out() -> None:
    found = arguments_of({"properties": {"a": {"example": ["x"] * 5_000}}, "required": ["a"]}, Effort())
    assert [part.why for part in found.missing] == [TOO_LONG]


def test_an_ordinary_capability_is_not_hindered_by_a_hostile_one() -> None:
    plain = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    params = (enum_and_items(2_500, 4_000), slow_patterns(300, 30), plain)
    service = Service(
        capabilities=tuple(Capability(str(n), str(n), params=p, invocations=(POST,)) for n, p in enumerate(params))
    )
    examples = [example for example, _ in calls_made(service)]
    assert [bool(example and example.missing) for example in examples] == [True, True, False]
    assert examples[2] is not None and examples[2].values == {"id": 1}


def test_the_budget_of_the_service_ends_too() -> None:
    """Each capability by itself is affordable."""
    params = {"type": "object", "example": {"a": ["x"] * 3_000}}
    capabilities = tuple(Capability(str(n), str(n), params=params, invocations=(POST,)) for n in range(300))
    examples = [example for example, _ in calls_made(Service(capabilities=capabilities))]
    assert [bool(example and example.missing) for example in (examples[0], examples[-1])] == [False, True]
    last = examples[-1]
    assert last is not None and last.missing[0].why == "the examples of this service would take too much work"


@pytest.mark.parametrize("name", WORST)
def test_a_call_without_an_example_costs_nothing(name: str) -> None:
    """What is left for a request: the places of the parameters."""
    capability = Capability(
        "x", "x", params=WORST[name], invocations=(Invocation("http", "https://a.example/x", "GET"),)
    )
    assert best_of_three(lambda: call_of(Service(), capability, None)) < CPU_SECONDS


@pytest.mark.parametrize(
    ("pattern", "works"),
    [(r"^[a-z][a-z0-9_-]{2,}$", True), (r"^\+?[1-9]\d{1,14}$", True), (r"^(?<year>\d{4})-[01]\d$", True), ("a|b", True),
     (r"^.{1,255}$", True), (r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$", True), ("(?i)a", False), ("(?=a)b", False),
     (r"(a)\1", False), ("(a{1,1000}){1,1000}", False), ("(?:(?:){999}){999}", False), ("a{99999999}", False),
     ("(", False), ("a)", False), (r"\p{L}" * 190, False), ("[" + r"\p{L}" * 190 + "]", False)],
)  # fmt: skip
def test_expensive_patterns_are_not_compiled(pattern: str, works: bool) -> None:
    work = pattern_work(pattern)
    assert (work is not None) == works


@given(st.text(max_size=200) | st.from_regex(r"[\[\]()^$|*+?{}0-9a-c\\,pL-]{0,60}"))
def test_any_pattern_has_an_estimate(pattern: str) -> None:
    work = pattern_work(pattern)
    assert work is None or 0 < work <= MAX_PATTERN_WORK


def test_lists_that_are_merged_cost_their_comparisons() -> None:
    effort = Effort()
    arguments_of({"properties": {"a": {"allOf": [{"enum": list(range(300))}] * 2}}, "required": ["a"]}, effort)
    assert Effort().left - effort.left > 300 * 300 // 2


def test_long_references_cost_their_length() -> None:
    effort = Effort()
    arguments_of({"properties": {"a": {"$ref": "#" + "/a" * 10_000}}, "required": ["a"]}, effort)
    assert Effort().left - effort.left > 20_000
