"""YAML is read as the JSON that it stands for, at a price that its author cannot choose."""

import importlib.util
import json
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core import yaml_reader
from registry.core.findings import Reason
from registry.core.reader import MAX_DEPTH, Unreadable
from registry.core.yaml_reader import MAX_CHARS, read_yaml

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
    """YAML 1.2 is a superset of JSON: what a JSON writer writes reads the same."""
    assert read_yaml(json.dumps(value, ensure_ascii=False)) == value


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=5), st.integers(0, 10**6) | st.text("abc xyz")))
def test_blocks_are_read(value: dict[str, Any]) -> None:
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
def test_hostile_yaml_gives_json_or_a_reason(text: str) -> None:
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
    ("text", "reason"),
    [
        ("a: 1\na: 2", Reason.DUPLICATE_KEY),
        ("a: {b: 1, 'b': 2}", Reason.DUPLICATE_KEY),
        (laughs(9, 9), Reason.TOO_MANY),
        (laughs(60, 2), Reason.TOO_MANY),
        ("a: &a x\nb: [" + "*a, " * 101 + "]", Reason.YAML_ALIASES),
        ("a: &a [*a]", Reason.YAML_ALIASES),
        ("a: &a {b: &b [*a, *b]}", Reason.YAML_ALIASES),
        ("a: *nothing", Reason.YAML_ALIASES),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), Reason.TOO_DEEP),
        ("[" * 200_000, Reason.TOO_DEEP),
        ("- " * 5_000, Reason.TOO_DEEP),
        ("? [a]\n: 1", Reason.NOT_YAML),
        ("a: !!python/object/apply:os.getcwd []", Reason.NOT_YAML),
        ("a: !!timestamp 2026-11-21", Reason.NOT_YAML),
        ("a: !!set {x: }", Reason.NOT_YAML),
        ("a: 1\n---\nb: 2", Reason.NOT_YAML),
        ("a: [1", Reason.NOT_YAML),
        ("a: 1e999", Reason.NUMBER),
        ("a: 99999999999999999999", Reason.NUMBER),
        ("\n".join(f"k{n}: 1" for n in range(2_001)), Reason.TOO_MANY),
        ("# " + "x" * MAX_CHARS, Reason.TOO_LARGE),
    ],
    ids=lambda value: value if isinstance(value, Reason) else repr(value[:30]),
)
def test_what_is_refused(text: str, reason: Reason) -> None:
    with pytest.raises(Unreadable) as refusal:
        read_yaml(text)
    assert refusal.value.reason is reason


def test_the_place_of_a_mistake_is_told() -> None:
    with pytest.raises(Unreadable) as refusal:
        read_yaml("a: 1\nb:\n  c: 1\n  c: 2\n")
    assert (refusal.value.line, refusal.value.column) == (4, 3)


def test_aliases_within_reason_are_read() -> None:
    assert read_yaml("a: &a {x: 1}\nb: *a\nc: [*a, *a]") == {"a": {"x": 1}, "b": {"x": 1}, "c": [{"x": 1}, {"x": 1}]}


def test_only_what_json_can_say_has_a_type() -> None:
    text = "a: yes\nb: 2026-11-21\nc: 0x1F\nd: 1:30\ne: 'true'\nf: true\n200: ok\ng: ~\nh: 1.50\n<<: x"
    assert read_yaml(text) == {
        "a": "yes", "b": "2026-11-21", "c": "0x1F", "d": "1:30", "e": "true", "f": True, "200": "ok", "g": None,
        "h": 1.5, "<<": "x",
    }  # fmt: skip


@pytest.fixture(scope="module")
def without_libyaml() -> ModuleType:
    """The module as it is where PyYAML was built without libyaml."""
    spec = importlib.util.spec_from_file_location("yaml_reader_in_python", yaml_reader.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "__with_libyaml__", False)
        spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
@pytest.mark.parametrize(
    "text",
    [
        "a: yes\nb: 'true'\nc: true\nd: ~\ne: 1.50\nf: |\n  x\n  y\ng: >-\n  x\n  y\nh: \"\\u00e9\"\n",
        "a: &a {x: [1, 2]}\nb: *a\n",
        "? a\n: - b\n  - c: d\n",
        "",
    ],
)
def test_without_libyaml_the_same_is_read(without_libyaml: ModuleType, text: str) -> None:
    assert read_yaml(text) == without_libyaml.read_yaml(text)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
def test_without_libyaml_less_is_read(without_libyaml: ModuleType) -> None:
    text = "a: x\n#" + "x" * without_libyaml.MAX_CHARS
    assert read_yaml(text) == {"a": "x"}
    with pytest.raises(Unreadable) as refusal:
        without_libyaml.read_yaml(text)
    assert refusal.value.reason is Reason.TOO_LARGE
