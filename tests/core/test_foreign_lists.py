"""Lists of other registries, cut into entries before anything is parsed."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.reading import foreign_lists
from registry.core.reading.reader import Unreadable

_TEXT = st.text(st.sampled_from('a"\\[]{},: \n\u00e9\U0001f600'), max_size=6)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT | st.just("list"), inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(_JSON, max_size=5), st.dictionaries(_TEXT, _JSON, max_size=3), st.sampled_from([None, 1]))
@settings(max_examples=200, deadline=None)
def test_a_cut_list_is_what_a_parser_reads(entries: list[Any], around: dict[str, Any], indent: int | None) -> None:
    value = {**around, "list": entries, "z": around}
    for ensure_ascii in (True, False):
        raw = json.dumps(value, indent=indent, ensure_ascii=ensure_ascii).encode()
        cut = foreign_lists.cut_list(raw, "list", max_entries=5)
        assert cut.envelope == value | {"list": []}
        assert cut.is_list and [json.loads(entry) for entry in cut] == entries
        assert foreign_lists.count_values(raw) >= len(entries)
    alone = foreign_lists.cut_list(json.dumps(entries, indent=indent).encode(), None, max_entries=5)
    assert (alone.envelope, alone.is_list, [json.loads(entry) for entry in alone]) == ([], True, entries)


@given(st.text(st.sampled_from('[]{},:"\\a1 '), max_size=60), st.sampled_from([b"", b'{"list":', b'{"list":[']))
@settings(max_examples=300, deadline=None)
def test_nothing_but_a_refusal_leaves_it(text: str, head: bytes) -> None:
    for member in ("list", None):
        try:
            cut = foreign_lists.cut_list(head + text.encode(), member, max_entries=3)
        except Unreadable:
            continue
        for entry in cut:
            try:
                foreign_lists.read_entry(entry)
            except Unreadable as refusal:
                assert foreign_lists.reason_of(refusal)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"list":[1,2,3,4]}', "too_many"),
        (b'{"list":[1,2,3', "not_json"),
        (b'{"list":[1],"list":[2]}', "duplicate_key"),
        (b'{"list":[1}', "not_json"),
        (b'{"list":["\\"\\"', "truncated"),
        (b"[" * 300, "depth"),
        (b'{"list":[],"a":"%s"}' % (b"x" * foreign_lists.ENVELOPE_BYTES), "too_large"),
        (b'{"list":[],"a":[%s1]}' % (b"1," * foreign_lists.ENTRY_VALUES), "too_many"),
        (b'{"list":[],"a":1e999}', "number"),
    ],
)
def test_an_answer_over_a_bound_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(Unreadable) as refused:
        foreign_lists.cut_list(raw, "list", max_entries=3)
    assert foreign_lists.reason_of(refused.value) == reason


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'"%s"' % (b"x" * foreign_lists.ENTRY_BYTES), "too_large"),
        (b"[%s1]" % (b"{}," * foreign_lists.ENTRY_VALUES), "too_many"),
        (b"[%s no JSON]" % (b"{}," * foreign_lists.ENTRY_VALUES), "too_many"),  # counted before it is parsed
        (b'{"a":1,"a":2}', "duplicate_key"),
        (b"NaN", "not_json"),
        (b"9" * 5_000, "not_json"),
        (b"[" * 60 + b"]" * 60, "depth"),
        (b'"%s"' % (b"x" * 200_000), "text_too_long"),
        (b'"\\u0000"', "nul"),
    ],
)
def test_an_entry_over_a_bound_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(Unreadable) as refused:
        foreign_lists.read_entry(raw)
    assert foreign_lists.reason_of(refused.value) == reason


def test_a_value_at_the_bounds_is_read() -> None:
    raw = b"[" + b"1," * 8 + b"1]"
    assert foreign_lists.parse_bounded(raw, max_bytes=len(raw), max_values=9) == [1] * 9
    for max_bytes, max_values in ((len(raw) - 1, 9), (len(raw), 8)):
        with pytest.raises(Unreadable):
            foreign_lists.parse_bounded(raw, max_bytes=max_bytes, max_values=max_values)
