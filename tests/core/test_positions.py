"""Every pointer leads to its value in the source, however the source is laid out."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.core.documents import Json
from registry.core.findings import Finding, Reason
from registry.core.manifest import at
from registry.core.positions import START, Position, place, positions, refused_at
from registry.core.reader import BOM, MAX_INTEGER, Unreadable, read_json

pytestmark = pytest.mark.slow  # hostile texts of full size

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(-1e6, 1e6) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def spaced(value: Json, dice: random.Random) -> str:
    """The value as JSON with white space wherever the grammar has some (RFC 8259 section 2)."""

    def gap() -> str:
        return "".join(dice.choice(" \t\r\n") for _ in range(dice.randrange(4)))

    def text(one: str) -> str:
        return json.dumps(one, ensure_ascii=dice.random() < 0.5)

    if isinstance(value, dict):
        inner = ",".join(f"{gap()}{text(key)}{gap()}:{spaced(child, dice)}" for key, child in value.items())
        written = f"{{{inner or gap()}}}"
    elif isinstance(value, list):
        written = f"[{','.join(spaced(child, dice) for child in value) or gap()}]"
    else:
        written = text(value) if isinstance(value, str) else json.dumps(value)
    return f"{gap()}{written}{gap()}"


def pointers(value: Json, pointer: str = "") -> Iterator[tuple[str, Json]]:
    yield pointer, value
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from pointers(child, at(pointer, key))


def read_at(source: str, position: Position) -> Any:
    """What a reader finds who goes to that line and column."""
    rest = source.split("\n")[position.line - 1 :]
    return json.JSONDecoder(strict=False).raw_decode("\n".join(rest)[position.column - 1 :])[0]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES, st.integers(0, 2**32), st.booleans())
def test_every_pointer_leads_to_its_value(value: Any, seed: int, marked: bool) -> None:
    source = spaced(value, random.Random(seed))
    wanted = dict(pointers(value))
    found = positions(BOM * marked + source.encode(), wanted)
    assert {pointer: read_at(source, found[pointer]) for pointer in wanted} == wanted


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=60) | st.text('{}[]",:\\ \n0a', max_size=60).map(str.encode), st.lists(TEXTS, max_size=3))
def test_no_bytes_break_it(raw: bytes, keys: list[str]) -> None:
    findings = [Finding(Reason.TEMPLATE, at("", *keys)), Finding(Reason.NOT_JSON)]
    lines = raw.decode("utf-8", "replace").split("\n")
    for position in place(raw, findings):
        assert 1 <= position.line <= len(lines)
        assert 1 <= position.column <= len(lines[position.line - 1]) + 1


def test_what_is_missing_is_placed_where_it_should_be() -> None:
    raw = b'{\n  "a": {\n    "b": [1,\n {"c": 2}]\n  }\n}'
    asked = ["/a/b/1/d", "/a/x/y", "/z", "/a/b/7", "/a/b/1/c/d", ""]
    assert positions(raw, asked) == {
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
    ("raw", "reason", "position"),
    [
        ('{"ü": "é", }'.encode(), Reason.TRAILING_COMMA, Position(1, 12)),
        (b'{\n "a": 1 // why\n}', Reason.COMMENT, Position(2, 9)),
        (b'{"a": 1,\n "a": 2}', Reason.DUPLICATE_KEY, Position(2, 6)),
        (b'{"a": [1, 2\n', Reason.TRUNCATED, Position(2, 1)),
        (b'{"a": "\xc3\xa4", "b": "\xff"}', Reason.NOT_UTF8, Position(1, 18)),
        (BOM + b'{"b": "\xff"}', Reason.NOT_UTF8, Position(1, 8)),
        (b'{"a": [0,\n  9007199254740993]}', Reason.NUMBER, Position(2, 3)),
        (b'{"a": {"b": "\\u0000"}}', Reason.NUL, Position(1, 13)),
        (b'{"a": {"b\\u0000": 1}}', Reason.NUL, Position(1, 7)),
        (b'{"a": [' + b"[" * 40 + b"]" * 40 + b"]}", Reason.TOO_DEEP, Position(1, 38)),
        (b'{"a": 1,\n "b": [' + b",".join([b"0"] * 5_001) + b"]}", Reason.TOO_MANY, Position(2, 7)),
        (b'[\n"' + b"x" * 100_001 + b'"]', Reason.TEXT_TOO_LONG, Position(2, 1)),
        (b"", Reason.EMPTY, START),
        (b" " * 5_000_000, Reason.TOO_LARGE, START),
    ],
    ids=lambda value: value.value if isinstance(value, Reason) else "",
)
def test_what_cannot_be_read_is_placed_where_reading_stopped(raw: bytes, reason: Reason, position: Position) -> None:
    with pytest.raises(Unreadable) as refused:
        read_json(raw)
    assert refused.value.reason is reason
    assert refused_at(raw, refused.value) == position
    assert place(raw, [Finding(reason), Finding(Reason.CONTENT_TYPE)]) == (position, START)


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
def test_yaml_is_placed_too(pointer: str, position: Position) -> None:
    assert place(YAML.encode(), [Finding(Reason.OPENAPI_SERVER, pointer)]) == (position,)


def test_yaml_that_cannot_be_read_is_placed_where_reading_stopped() -> None:
    for body, reason in ((b"a: 1\nb: [1\n", Reason.NOT_YAML), (b"a: {b: 1,\n b: 2}", Reason.DUPLICATE_KEY)):
        (found,) = place(body, [Finding(reason)])
        assert found.line >= 2


def test_a_hostile_text_costs_one_pass() -> None:
    """Quotes that nobody closes, escapes and brackets: patterns that make backtracking scanners quadratic."""
    for raw in (b'"\\' * 500_000, b'{"a":"' + b'\\"' * 500_000, b"[" * 1_000_000, b'{"":' * 250_000):
        assert positions(raw, ["/a/b"])["/a/b"].line == 1
