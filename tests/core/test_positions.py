"""Every pointer leads to its value in the source, for any layout of the source."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.core.assessing import rules as assessing_rules
from registry.core.format_support import common_rules
from registry.core.formats.openapi import rules as openapi_rules
from registry.core.model.documents import Json
from registry.core.model.findings import Finding, Rule
from registry.core.reading import rules as reading_rules
from registry.core.reading.json_pointer import at
from registry.core.reading.positions import START, Position, place, positions, refused_at
from registry.core.reading.reader import BOM, MAX_INTEGER, Unreadable, read_json

pytestmark = pytest.mark.slow  # hostile texts of full size

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(-1e6, 1e6) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def spaced(value: Json, rng: random.Random) -> str:
    """Return the value as JSON with random white space wherever the grammar allows it (RFC 8259 section 2)."""

    def gap() -> str:
        return "".join(rng.choice(" \t\r\n") for _ in range(rng.randrange(4)))

    def text(content: str) -> str:
        return json.dumps(content, ensure_ascii=rng.random() < 0.5)

    if isinstance(value, dict):
        inner = ",".join(f"{gap()}{text(key)}{gap()}:{spaced(child, rng)}" for key, child in value.items())
        encoded = f"{{{inner or gap()}}}"
    elif isinstance(value, list):
        encoded = f"[{','.join(spaced(child, rng) for child in value) or gap()}]"
    else:
        encoded = text(value) if isinstance(value, str) else json.dumps(value)
    return f"{gap()}{encoded}{gap()}"


def pointers(value: Json, pointer: str = "") -> Iterator[tuple[str, Json]]:
    yield pointer, value
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from pointers(child, at(pointer, key))


def read_at(source: str, position: Position) -> Any:
    """Return the value that starts at this line and column."""
    lines = source.split("\n")[position.line - 1 :]
    return json.JSONDecoder(strict=False).raw_decode("\n".join(lines)[position.column - 1 :])[0]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES, st.integers(0, 2**32), st.booleans())
def test_every_pointer_leads_to_its_value(value: Any, seed: int, with_bom: bool) -> None:
    source = spaced(value, random.Random(seed))
    expected = dict(pointers(value))
    found = positions(BOM * with_bom + source.encode(), expected)
    assert {pointer: read_at(source, found[pointer]) for pointer in expected} == expected


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=60) | st.text('{}[]",:\\ \n0a', max_size=60).map(str.encode), st.lists(TEXTS, max_size=3))
def test_any_bytes_have_valid_positions(raw: bytes, keys: list[str]) -> None:
    findings = [Finding(common_rules.TEMPLATE, at("", *keys)), Finding(reading_rules.NOT_JSON)]
    lines = raw.decode("utf-8", "replace").split("\n")
    for position in place(raw, findings):
        assert 1 <= position.line <= len(lines)
        assert 1 <= position.column <= len(lines[position.line - 1]) + 1


def test_a_missing_member_is_placed_at_its_container() -> None:
    raw = b'{\n  "a": {\n    "b": [1,\n {"c": 2}]\n  }\n}'
    json_pointers = ["/a/b/1/d", "/a/x/y", "/z", "/a/b/7", "/a/b/1/c/d", ""]
    assert positions(raw, json_pointers) == {
        "/a/b/1/d": Position(4, 2),
        "/a/x/y": Position(2, 8),
        "/z": Position(1, 1),
        "/a/b/7": Position(3, 10),
        "/a/b/1/c/d": Position(4, 8),
        "": Position(1, 1),
    }


def test_keys_are_compared_as_they_are_read() -> None:
    long = "k" * 200
    raw = json.dumps({"a/b": 1, "m~n": 2, "": 3, "é": 4, long: 5, "01": [6]}, indent=1).encode()
    source = raw.decode()
    for pointer, value in {"/a~1b": 1, "/m~0n": 2, "/": 3, "/é": 4, at("", long): 5, "/01/0": 6}.items():
        assert read_at(source, positions(raw, [pointer])[pointer]) == value


def test_columns_are_characters() -> None:
    raw = '{"ключ": "значение", "🐦": [true]}'.encode()
    assert positions(raw, ["/🐦/0"])["/🐦/0"] == Position(1, 28)
    assert positions(BOM + raw, [""])[""] == START


@pytest.mark.parametrize(
    ("raw", "rule", "position"),
    [
        ('{"ü": "é", }'.encode(), reading_rules.TRAILING_COMMA, Position(1, 12)),
        (b'{\n "a": 1 // why\n}', reading_rules.COMMENT, Position(2, 9)),
        (b'{"a": 1,\n "a": 2}', reading_rules.DUPLICATE_KEY, Position(2, 6)),
        (b'{"a": [1, 2\n', reading_rules.TRUNCATED, Position(2, 1)),
        (b'{"a": "\xc3\xa4", "b": "\xff"}', reading_rules.NOT_UTF8, Position(1, 18)),
        (BOM + b'{"b": "\xff"}', reading_rules.NOT_UTF8, Position(1, 8)),
        (b'{"a": {"b": "\\u0000"}}', reading_rules.NUL, Position(1, 13)),
        (b'{"a": {"b\\u0000": 1}}', reading_rules.NUL, Position(1, 7)),
        (b"", reading_rules.EMPTY, START),
        (b" " * 5_000_000, reading_rules.TOO_LARGE, START),
    ],
    ids=lambda value: value.code if isinstance(value, Rule) else "",
)
def test_unreadable_json_is_placed_where_reading_stopped(raw: bytes, rule: Rule, position: Position) -> None:
    with pytest.raises(Unreadable) as refused:
        read_json(raw)
    assert refused.value.rule is rule
    assert refused_at(raw, refused.value) == position
    assert place(raw, [Finding(rule), Finding(assessing_rules.CONTENT_TYPE)]) == (position, START)


@pytest.mark.parametrize(
    ("raw", "rule", "position"),
    [
        (b'{"a": [0,\n  9007199254740993]}', reading_rules.NUMBER, Position(2, 3)),
        (b'{"a": [' + b"[" * 60 + b"]" * 60 + b"]}", reading_rules.TOO_DEEP, Position(1, 54)),
        (b'{"a": 1,\n "b": [' + b",".join([b"0"] * 10_001) + b"]}", reading_rules.TOO_MANY, Position(2, 7)),
        (b'[\n"' + b"x" * 100_001 + b'"]', reading_rules.TEXT_TOO_LONG, Position(2, 1)),
    ],
    ids=lambda value: value.code if isinstance(value, Rule) else "",
)
def test_a_part_over_a_cap_has_its_place_refused_or_cut(raw: bytes, rule: Rule, position: Position) -> None:
    with pytest.raises(Unreadable) as refused:
        read_json(raw)
    assert refused.value.rule is rule
    assert refused_at(raw, refused.value) == position
    cuts: list[Finding] = []
    read_json(raw, cuts)
    assert place(raw, cuts) == (position,)


YAML = """\
# tides
openapi: 3.1.0
info: {title: Gezeiten, "größe": [1, {x: 2}]}
paths:
  /tides/~now:
    get: &get
      operationId: tides
    head: *get
"""


@pytest.mark.parametrize(
    ("pointer", "position"),
    [
        ("", START),
        ("/info/größe/1/x", Position(3, 42)),
        ("/paths/~1tides~1~0now/get/operationId", Position(7, 20)),
        ("/paths/~1tides~1~0now/get/summary", Position(6, 10)),
        ("/servers", Position(2, 1)),
        ("/info/größe/7", Position(3, 34)),
    ],
)
def test_positions_in_yaml_are_found(pointer: str, position: Position) -> None:
    assert place(YAML.encode(), [Finding(openapi_rules.SERVER, pointer)]) == (position,)


def test_unreadable_yaml_is_placed_where_reading_stopped() -> None:
    for body, rule in ((b"a: 1\nb: [1\n", reading_rules.NOT_YAML), (b"a: {b: 1,\n b: 2}", reading_rules.DUPLICATE_KEY)):
        (position,) = place(body, [Finding(rule)])
        assert position.line >= 2


def test_a_hostile_text_is_scanned_in_linear_time() -> None:
    """Unclosed quotes, escapes and brackets are patterns that make backtracking scanners quadratic."""
    for raw in (b'"\\' * 500_000, b'{"a":"' + b'\\"' * 500_000, b"[" * 1_000_000, b'{"":' * 250_000):
        assert positions(raw, ["/a/b"])["/a/b"].line == 1
