"""A difference, applied in order, makes one version of the other; it is bounded, and says when it is cut."""

import copy
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from registry.core.changes.versions import MAX_OPERATIONS, MAX_VALUE_BYTES, Operation, difference

KEYS = st.sampled_from(["a", "b", "/", "~", "~1", "", "ä"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", "y"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4))
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


def apply(value: Any, operations: list[Operation]) -> Any:
    """Apply a patch as RFC 6902 section 4 says, and check that `old` is what was there."""
    root = {"": copy.deepcopy(value)}
    for operation in operations:
        keys = [key.replace("~1", "/").replace("~0", "~") for key in operation["path"].split("/")]
        parent: Any = root
        for key in keys[:-1]:
            parent = parent[int(key) if isinstance(parent, list) else key]
        last: Any = int(keys[-1]) if isinstance(parent, list) else keys[-1]
        if operation["op"] != "add":
            assert parent[last] == operation["old"]
        if operation["op"] == "remove":
            del parent[last]
        elif operation["op"] == "add" and isinstance(parent, list):
            parent.insert(last, operation["value"])
        else:
            parent[last] = operation["value"]
    return root[""]


@given(OBJECTS, OBJECTS)
def test_applied_it_makes_the_one_of_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    found = difference(before, after)
    assert not found.truncated
    assert apply(before, found.operations) == after
    assert bool(found.operations) == (before != after)


def test_it_names_the_place_and_both_values() -> None:
    before = {"capabilities": {"send/mail": {"params": {"to": "text"}, "tags": ["a"]}}, "score": 80}
    after = {"capabilities": {"send/mail": {"params": {"to": "list"}, "tags": ["a", "b"]}}, "score": 81}
    assert difference(before, after).operations == [
        {"op": "replace", "path": "/capabilities/send~1mail/params/to", "value": "list", "old": "text"},
        {"op": "add", "path": "/capabilities/send~1mail/tags/1", "value": "b"},
        {"op": "replace", "path": "/score", "value": 81, "old": 80},
    ]


def test_values_beyond_the_cap_are_left_out_and_pointers_stay() -> None:
    large = "x" * (MAX_VALUE_BYTES // 2)
    found = difference({}, {"a": large, "b": large, "c": "small"})
    assert found.truncated
    assert [sorted(operation) for operation in found.operations] == [
        ["op", "path", "value"], ["op", "path"], ["op", "path", "value"],
    ]  # fmt: skip


def test_a_long_list_of_changes_is_cut() -> None:
    found = difference({}, {str(number): number for number in range(MAX_OPERATIONS + 1)})
    assert (len(found.operations), found.truncated) == (MAX_OPERATIONS, True)


@given(st.integers(1, 40), st.integers(1, 3_000))
def test_it_is_bounded_whatever_the_keys(depth: int, chars: int) -> None:
    before: Any = 1
    after: Any = 2
    for _ in range(depth):
        before, after = {"k" * chars: before}, {"k" * chars: after}
    found = difference(before, after)
    assert len(orjson.dumps(found.operations)) < MAX_VALUE_BYTES + 1_000


def test_what_no_database_stores_is_left_out() -> None:
    found = difference({"a": 2**70}, {"a": "\ud800"})
    assert (found.operations, found.truncated) == ([{"op": "replace", "path": "/a"}], True)
