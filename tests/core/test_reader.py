"""Reading bytes: a value, or one rule that refuses them; strictness, limits, and no exception but Unreadable."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.model.findings import Finding, Rule
from registry.core.reading import reader
from registry.core.reading import rules as reading_rules


def refusal(raw: bytes) -> reader.Unreadable:
    with pytest.raises(reader.Unreadable) as caught:
        reader.read_json(raw)
    return caught.value


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (b"", reading_rules.EMPTY),
        (b" \r\n\t", reading_rules.EMPTY),
        (b"\xef\xbb\xbf", reading_rules.EMPTY),
        ('{"a": "é"}'.encode("latin-1"), reading_rules.NOT_UTF8),
        ('{"a": 1}'.encode("utf-16"), reading_rules.NOT_UTF8),
        (b'{"a": "\xed\xa0\x80"}', reading_rules.NOT_UTF8),
        (b"{", reading_rules.TRUNCATED),
        (b'{"a": "b', reading_rules.TRUNCATED),
        (b"nope", reading_rules.NOT_JSON),
        (b'{"a": 1} {"b": 2}', reading_rules.NOT_JSON),
        (b"{'a': 1}", reading_rules.NOT_JSON),
        (b'{"a": "\\ud800"}', reading_rules.NOT_JSON),
        (b'{"a": "line\nbreak"}', reading_rules.NOT_JSON),
        (b'{"a": NaN}', reading_rules.NOT_JSON),
        (b'{"a": -Infinity}', reading_rules.NOT_JSON),
        (b'{"a": 1,}', reading_rules.TRAILING_COMMA),
        (b"[1,]", reading_rules.TRAILING_COMMA),
        (b'{"a": 1, "a": 2}', reading_rules.DUPLICATE_KEY),
        (b'{"a": 1, "\\u0061": 2}', reading_rules.DUPLICATE_KEY),
        (b'// note\n{"a": 1}', reading_rules.COMMENT),
        (b'{\n  // note\n  "a": 1\n}', reading_rules.COMMENT),
        (b'{"a": 1, /* note */ "b": 2}', reading_rules.COMMENT),
        (b'---\ntitle: x\n---\n{"a": 1}', reading_rules.FRONT_MATTER),
        (b'{"a": 1e999}', reading_rules.NUMBER),
        (b'{"a": 9007199254740993}', reading_rules.NUMBER),
        (b'{"a": ' + b"9" * 5_000 + b"}", reading_rules.NUMBER),
        (b'{"a": "x\\u0000y"}', reading_rules.NUL),
        (b'{"x\\u0000": 1}', reading_rules.NUL),
    ],
)
def test_a_bad_body_breaks_one_rule(raw: bytes, rule: Rule) -> None:
    assert refusal(raw).rule is rule


def test_an_error_has_its_line() -> None:
    error = refusal(b'{\n  "a": 1,\n}')
    assert (error.rule, error.line) == (reading_rules.TRAILING_COMMA, 3)


def test_limits_hold_exactly() -> None:
    assert reader.read_json(b"[" * reader.MAX_DEPTH + b"1" + b"]" * reader.MAX_DEPTH)
    assert refusal(b"[" * (reader.MAX_DEPTH + 1) + b"]" * (reader.MAX_DEPTH + 1)).rule is reading_rules.TOO_DEEP
    assert refusal(b"[" * 100_000 + b"]" * 100_000).rule is reading_rules.TOO_DEEP
    assert reader.read_json(b"[" + b"1," * (reader.MAX_ITEMS - 1) + b"1]")
    assert refusal(b"[" + b"1," * reader.MAX_ITEMS + b"1]").rule is reading_rules.TOO_MANY
    keys = ",".join(f'"k{number}": 1' for number in range(reader.MAX_KEYS))
    assert reader.read_json(f"{{{keys}}}".encode())
    assert refusal(f'{{{keys}, "one_more": 1}}'.encode()).rule is reading_rules.TOO_MANY
    assert reader.read_json(b'["' + b"x" * reader.MAX_CHARS + b'"]')
    assert refusal(b'["' + b"x" * (reader.MAX_CHARS + 1) + b'"]').rule is reading_rules.TEXT_TOO_LONG
    assert refusal(b'{"' + b"x" * (reader.MAX_CHARS + 1) + b'": 1}').rule is reading_rules.TEXT_TOO_LONG
    assert refusal(b'"' + b"x" * reader.MAX_BYTES + b'"').rule is reading_rules.TOO_LARGE


@pytest.mark.parametrize(
    ("raw", "value", "rule", "pointer"),
    [
        (b'{"max": 9223372036854775807}', {"max": "9223372036854775807"}, reading_rules.NUMBER, "/max"),
        (b'{"max": -9007199254740993, "b": 1}', {"max": "-9007199254740993", "b": 1}, reading_rules.NUMBER, "/max"),
        (b'{"max": 1e999, "b": 1}', {"b": 1}, reading_rules.NUMBER, "/max"),
        (b"[1e999, 1]", [None, 1], reading_rules.NUMBER, "/0"),
        (b'{"a": "' + b"x" * 100_001 + b'"}', {"a": "x" * 100_000}, reading_rules.CUT, "/a"),
        (b'{"' + b"x" * 100_001 + b'": 1, "b": 2}', {"b": 2}, reading_rules.CUT, ""),
        (b'{"a": [' + b"0," * 10_000 + b"0]}", {"a": [0] * 10_000}, reading_rules.CUT, "/a"),
    ],
    ids=lambda value: value.code if isinstance(value, Rule) else repr(value)[:40],
)
def test_a_part_over_a_cap_is_cut_and_noted(raw: bytes, value: object, rule: Rule, pointer: str) -> None:
    cuts: list[Finding] = []
    assert reader.read_json(raw, cuts) == value
    assert [(cut.rule, cut.pointer) for cut in cuts] == [(rule, pointer)]


def test_only_the_first_members_of_a_huge_object_are_read() -> None:
    cuts: list[Finding] = []
    read = reader.read_json(json.dumps({f"k{n}": n for n in range(12_000)}).encode(), cuts)
    assert isinstance(read, dict)
    assert list(read) == [f"k{n}" for n in range(reader.MAX_KEYS)]
    assert cuts[0].evidence == "12000 keys in one object; the first 10000 are read"


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_values_below_the_deepest_level_are_left_out(opening: str, closing: str) -> None:
    levels = reader.MAX_DEPTH + 20
    cuts: list[Finding] = []
    value = reader.read_json(f"{opening * levels}1{closing * levels}".encode(), cuts)
    assert json.dumps(value).count(closing) == reader.MAX_DEPTH
    assert [cut.pointer.count("/") for cut in cuts] == [reader.MAX_DEPTH]


def test_many_cuts_are_counted_not_listed() -> None:
    cuts: list[Finding] = []
    reader.read_json(b"[" + b"9007199254740993," * 99 + b"1]", cuts)
    assert [cut.count for cut in cuts] == [1, 1, 1, 1, 95]


def test_a_cut_value_is_checked_again() -> None:
    """What is cut must be within the caps, so a NUL inside of it still refuses the document."""
    raw = b'{"max": 9007199254740993, "a": {"b": {"c": "x\\u0000y"}}}'
    with pytest.raises(reader.Unreadable) as caught:
        reader.read_json(raw, [])
    assert caught.value.rule is reading_rules.NUL


def test_valid_documents_are_read() -> None:
    assert reader.read_json(b'\xef\xbb\xbf{"a": [1, 2.5, true, null, "\\ud83d\\ude00"]}') == {
        "a": [1, 2.5, True, None, "😀"]
    }
    assert reader.read_json(b'{"a": -9007199254740992, "b": 1e-400}') == {"a": -(2**53), "b": 0.0}
    assert reader.read_text("\ufeffhei\n".encode()) == "hei\n"


@given(st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_reading_any_bytes_raises_only_unreadable(raw: bytes) -> None:
    try:
        reader.read_json(raw)
    except reader.Unreadable as error:
        assert isinstance(error.rule, Rule)


@given(st.text(max_size=200), st.sampled_from(["", "{", '{"a": ', "[", "//", "/*", "---\n", "<", "<!doctype "]))
@settings(max_examples=200, deadline=None)
def test_reading_any_text_raises_only_unreadable(text: str, start: str) -> None:
    raw = (start + text).encode()
    try:
        reader.read_json(raw)
    except reader.Unreadable as error:
        assert len(error.evidence) <= 200
    assert reader.is_html(start + text) in (True, False)
    assert reader.looks_like_json(start + text) in (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "<!doctype html>",
        "\n<!DOCTYPE HTML PUBLIC>",
        "<html lang=no>",
        '<?xml version="1.0"?><html>',
        "<!-- x -->\n<html>",
        "<!--><!---><!-- x --!>\n<html>",
    ],
)
def test_web_pages_are_known(text: str) -> None:
    assert reader.is_html(text)


@pytest.mark.parametrize("text", ['{"a": "<html>"}', "# Title <html>", "<urlset/>", "<htmlx>", "html"])
def test_other_texts_are_no_web_pages(text: str) -> None:
    assert not reader.is_html(text)


@pytest.mark.parametrize("piece", ["<!--", "<!---->", "<!-->", "<!-- -->", "<?xml>", "<!-- --!> "])
def test_a_web_page_is_found_in_linear_time(piece: str) -> None:
    assert not reader.is_html(piece * 10_000)
