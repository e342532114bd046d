"""Bytes -> value, or one stored reason: strictness, caps, and nothing but Unreadable leaving."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.findings import Reason
from registry.core.reader import (
    MAX_BYTES,
    MAX_CHARS,
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_KEYS,
    Unreadable,
    is_html,
    looks_like_json,
    read_json,
    read_text,
)


def refusal(raw: bytes) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        read_json(raw)
    return caught.value


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", Reason.EMPTY),
        (b" \r\n\t", Reason.EMPTY),
        (b"\xef\xbb\xbf", Reason.EMPTY),
        ('{"a": "é"}'.encode("latin-1"), Reason.NOT_UTF8),
        ('{"a": 1}'.encode("utf-16"), Reason.NOT_UTF8),
        (b'{"a": "\xed\xa0\x80"}', Reason.NOT_UTF8),
        (b"{", Reason.TRUNCATED),
        (b'{"a": "b', Reason.TRUNCATED),
        (b"nope", Reason.NOT_JSON),
        (b'{"a": 1} {"b": 2}', Reason.NOT_JSON),
        (b"{'a': 1}", Reason.NOT_JSON),
        (b'{"a": "\\ud800"}', Reason.NOT_JSON),
        (b'{"a": "line\nbreak"}', Reason.NOT_JSON),
        (b'{"a": NaN}', Reason.NOT_JSON),
        (b'{"a": -Infinity}', Reason.NOT_JSON),
        (b'{"a": 1,}', Reason.TRAILING_COMMA),
        (b"[1,]", Reason.TRAILING_COMMA),
        (b'{"a": 1, "a": 2}', Reason.DUPLICATE_KEY),
        (b'{"a": 1, "\\u0061": 2}', Reason.DUPLICATE_KEY),
        (b'// note\n{"a": 1}', Reason.COMMENT),
        (b'{\n  // note\n  "a": 1\n}', Reason.COMMENT),
        (b'{"a": 1, /* note */ "b": 2}', Reason.COMMENT),
        (b'---\ntitle: x\n---\n{"a": 1}', Reason.FRONT_MATTER),
        (b'{"a": 1e999}', Reason.NUMBER),
        (b'{"a": 9007199254740993}', Reason.NUMBER),
        (b'{"a": ' + b"9" * 5_000 + b"}", Reason.NUMBER),
        (b'{"a": "x\\u0000y"}', Reason.NUL),
        (b'{"x\\u0000": 1}', Reason.NUL),
    ],
)
def test_a_bad_body_has_one_reason(raw: bytes, reason: Reason) -> None:
    assert refusal(raw).reason is reason


def test_the_place_of_an_error_is_told() -> None:
    error = refusal(b'{\n  "a": 1,\n}')
    assert (error.reason, error.line) == (Reason.TRAILING_COMMA, 3)


def test_caps_hold_at_their_edges() -> None:
    assert read_json(b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH)
    assert refusal(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)).reason is Reason.TOO_DEEP
    assert refusal(b"[" * 100_000 + b"]" * 100_000).reason is Reason.TOO_DEEP
    assert read_json(b"[" + b"1," * (MAX_ITEMS - 1) + b"1]")
    assert refusal(b"[" + b"1," * MAX_ITEMS + b"1]").reason is Reason.TOO_MANY
    keys = ",".join(f'"k{number}": 1' for number in range(MAX_KEYS))
    assert read_json(f"{{{keys}}}".encode())
    assert refusal(f'{{{keys}, "one_more": 1}}'.encode()).reason is Reason.TOO_MANY
    assert read_json(b'["' + b"x" * MAX_CHARS + b'"]')
    assert refusal(b'["' + b"x" * (MAX_CHARS + 1) + b'"]').reason is Reason.TEXT_TOO_LONG
    assert refusal(b'{"' + b"x" * (MAX_CHARS + 1) + b'": 1}').reason is Reason.TEXT_TOO_LONG
    assert refusal(b'"' + b"x" * MAX_BYTES + b'"').reason is Reason.TOO_LARGE


def test_what_is_fine_is_read() -> None:
    assert read_json(b'\xef\xbb\xbf{"a": [1, 2.5, true, null, "\\ud83d\\ude00"]}') == {"a": [1, 2.5, True, None, "😀"]}
    assert read_json(b'{"a": -9007199254740992, "b": 1e-400}') == {"a": -(2**53), "b": 0.0}
    assert read_text("\ufeffhei\n".encode()) == "hei\n"


@given(st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_only_unreadable_leaves_the_reader(raw: bytes) -> None:
    try:
        read_json(raw)
    except Unreadable as error:
        assert isinstance(error.reason, Reason)


@given(st.text(max_size=200), st.sampled_from(["", "{", '{"a": ', "[", "//", "/*", "---\n", "<", "<!doctype "]))
@settings(max_examples=200, deadline=None)
def test_only_unreadable_leaves_the_reader_for_texts(text: str, start: str) -> None:
    raw = (start + text).encode()
    try:
        read_json(raw)
    except Unreadable as error:
        assert len(error.evidence) <= 200
    assert is_html(start + text) in (True, False)
    assert looks_like_json(start + text) in (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "<!doctype html>",
        "\n<!DOCTYPE HTML PUBLIC>",
        "<html lang=no>",
        '<?xml version="1.0"?><html>',
        "<!-- x -->\n<html>",
    ],
)
def test_web_pages_are_known(text: str) -> None:
    assert is_html(text)


@pytest.mark.parametrize("text", ['{"a": "<html>"}', "# Title <html>", "<urlset/>", "<htmlx>", "html"])
def test_other_texts_are_no_web_pages(text: str) -> None:
    assert not is_html(text)


def test_a_web_page_is_found_in_linear_time() -> None:
    assert not is_html("<!--" * 100_000)
