"""YAML is read as the JSON it represents, with a cost that its author cannot inflate."""

import importlib.util
import json
import sys
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.model.findings import Finding, Rule
from registry.core.reading import rules as reading_rules
from registry.core.reading import yaml_reader
from registry.core.reading.reader import MAX_DEPTH, Unreadable
from registry.core.reading.yaml_reader import MAX_CHARS, MAX_LEVELS, places, read_yaml

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(max_codepoint=0xD7FF, exclude_categories=["Cc", "Zl", "Zp"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc -:#{", max_size=6), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(JSON)
def test_json_is_yaml(value: Any) -> None:
    """YAML 1.2 is a superset of JSON: the output of a JSON writer reads as the same value."""
    assert read_yaml(json.dumps(value, ensure_ascii=False)) == value


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=5), st.integers(0, 10**6) | st.text("abc xyz")))
def test_block_style_is_read(value: dict[str, Any]) -> None:
    assert read_yaml(yaml.safe_dump(value)) == value


HOSTILE = st.lists(
    st.sampled_from(
        ["a: ", "- ", "&a ", "*a", "&b ", "*b", "[", "]", "{", "}", ", ", "? ", ": ", "\n", "  ", "    ", "|\n", "> ",
         "!!python/name:os ", "!!binary ", "!x ", "<<: ", "'", '"', "\\x", "# ", "---\n", "...\n", "%YAML 1.1\n", "x",
         "\t", "\0", "1e999", "9" * 400, "0x1F", "yes", "2026-11-21", "~"]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(HOSTILE | st.text(max_size=60))
def test_hostile_yaml_is_read_as_json_or_refused(text: str) -> None:
    try:
        value = read_yaml(text)
    except Unreadable as refusal:
        assert refusal.evidence.isprintable()
    else:
        assert json.loads(json.dumps(value, allow_nan=False)) == value


def laughs(levels: int, width: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a: 1\na: 2", reading_rules.DUPLICATE_KEY),
        ("a: {b: 1, 'b': 2}", reading_rules.DUPLICATE_KEY),
        (laughs(9, 9), reading_rules.TOO_MANY),
        (laughs(60, 2), reading_rules.TOO_MANY),
        ("a: &a [*a]", reading_rules.YAML_ALIASES),
        ("a: &a {b: &b [*a, *b]}", reading_rules.YAML_ALIASES),
        ("a: *nothing", reading_rules.YAML_ALIASES),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), reading_rules.TOO_DEEP),
        ("[" * (MAX_LEVELS + 2) + "]" * (MAX_LEVELS + 2), reading_rules.TOO_DEEP),
        ("[" * 200_000, reading_rules.TOO_DEEP),
        ("- " * 5_000, reading_rules.TOO_DEEP),
        ("? [a]\n: 1", reading_rules.NOT_YAML),
        ("a: !!python/object/apply:os.getcwd []", reading_rules.NOT_YAML),
        ("a: !!timestamp 2026-11-21", reading_rules.NOT_YAML),
        ("a: !!set {x: }", reading_rules.NOT_YAML),
        ("a: 1\n---\nb: 2", reading_rules.NOT_YAML),
        ("a: [1", reading_rules.NOT_YAML),
        ("a: 1e999", reading_rules.NUMBER),
        ("a: 99999999999999999999", reading_rules.NUMBER),
        ("\n".join(f"k{n}: 1" for n in range(10_001)), reading_rules.TOO_MANY),
        ("# " + "x" * MAX_CHARS, reading_rules.TOO_LARGE),
    ],
    ids=lambda value: value.code if isinstance(value, Rule) else repr(value[:30]),
)
def test_invalid_yaml_is_refused_with_its_rule(text: str, rule: Rule) -> None:
    with pytest.raises(Unreadable) as refusal:
        read_yaml(text)
    assert refusal.value.rule is rule


def test_a_refusal_has_the_line_and_column() -> None:
    with pytest.raises(Unreadable) as refusal:
        read_yaml("a: 1\nb:\n  c: 1\n  c: 2\n")
    assert (refusal.value.line, refusal.value.column) == (4, 3)


@pytest.mark.parametrize("text", [laughs(9, 9), "[" * 200_000, "- " * 5_000, "# " + "x" * MAX_CHARS])
def test_what_would_cost_too_much_is_refused_not_cut(text: str) -> None:
    with pytest.raises(Unreadable):
        read_yaml(text, [])


@pytest.mark.parametrize(
    ("text", "value", "pointers"),
    [
        ("a: 99999999999999999999999999", {"a": "99999999999999999999999999"}, ["/a"]),
        ("a: [1e999, 2]", {"a": [None, 2]}, ["/a/0"]),
        ("a: " + "[" * MAX_LEVELS + "]" * MAX_LEVELS, None, ["/a" + "/0" * (MAX_DEPTH - 1)]),
    ],
)
def test_a_part_over_a_cap_is_cut_and_noted(text: str, value: Any, pointers: list[str]) -> None:
    cuts: list[Finding] = []
    read = read_yaml(text, cuts)
    assert value is None or read == value
    assert [cut.pointer for cut in cuts] == pointers


def test_aliases_count_as_what_they_expand_to() -> None:
    read = read_yaml("a: &a {x: 1}\nb: [" + "*a, " * 5_000 + "]")
    assert isinstance(read, dict)
    assert read["b"] == [{"x": 1}] * 5_000


def test_aliases_within_the_limits_are_expanded() -> None:
    assert read_yaml("a: &a {x: 1}\nb: *a\nc: [*a, *a]") == {"a": {"x": 1}, "b": {"x": 1}, "c": [{"x": 1}, {"x": 1}]}


def test_only_json_types_are_recognised() -> None:
    text = "a: yes\nb: 2026-11-21\nc: 0x1F\nd: 1:30\ne: 'true'\nf: true\n200: ok\ng: ~\nh: 1.50\n<<: x"
    assert read_yaml(text) == {
        "a": "yes", "b": "2026-11-21", "c": "0x1F", "d": "1:30", "e": "true", "f": True, "200": "ok", "g": None,
        "h": 1.5, "<<": "x",
    }  # fmt: skip


def test_positions_count_characters_and_start_at_one() -> None:
    text = 'é: "ü"\r\nlist:\r\n  - a: 1\r\n    漢: 2\r\n'
    assert places(text, ["/é", "/list", "/list/0/漢", "/list/5", "/missing"]) == {
        "/é": (1, 4), "/list": (3, 3), "/list/0/漢": (4, 8), "/list/5": (3, 3), "/missing": (1, 1),
    }  # fmt: skip


def test_without_libyaml_the_import_fails_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml.cyaml", None)
    spec = importlib.util.spec_from_file_location("yaml_reader_without_libyaml", yaml_reader.__file__)
    with pytest.raises(ImportError, match="built without libyaml"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
