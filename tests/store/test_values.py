"""Values at the border of the database: any input can be stored and read back."""

import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import OperationalError

from registry.store.engine import StoreUnavailable, Unstorable, decode, encode, libpq, make_engine, sqlalchemy_url
from registry.store.unit_of_work import Store
from registry.store.values import clean, clean_json, key_name, ordered_id, url_hash

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
any_text = st.text(st.characters(exclude_categories=()), max_size=50)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e6, 1e6) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(any_text, any_json)
def test_cleaned_values_survive_the_database(database_url: str, text: str, value: Any) -> None:
    cleaned = clean_json(value)
    with psycopg.connect(libpq(sqlalchemy_url(database_url))) as connection:
        row = connection.execute(
            "SELECT %s::text, %s::jsonb::text, %s::text", (clean(text), encode(cleaned), key_name(text))
        ).fetchone()
    assert row is not None
    assert row[0] == clean(text)
    assert decode(row[1].encode()) == cleaned
    assert row[2] == key_name(text)


def test_clean_replaces_only_what_cannot_be_stored() -> None:
    assert clean("a\0b\ud800c\U0001f54ad") == "a\ufffdb\ufffdc\U0001f54ad"
    assert clean("x" * 9, 4) == "xxxx"
    assert clean_json({"k\0": ["\udfff", 1, None, {"x": 1.5}]}) == {"k\ufffd": ["\ufffd", 1, None, {"x": 1.5}]}


def test_long_names_become_short_and_distinct_keys() -> None:
    long_name, other_name = "x" * 5_000 + "a", "x" * 5_000 + "b"
    assert key_name("send_parcel") == "send_parcel"
    assert key_name(long_name) != key_name(other_name)
    assert len(key_name(long_name)) == len(key_name(other_name)) == 200
    assert len(url_hash("https://a.com/\ud800")) == 32


def test_ids_are_ordered_by_time_and_of_version_7() -> None:
    ids = [ordered_id(NOW + timedelta(milliseconds=n)) for n in range(50)]
    assert ids == sorted(ids)
    assert {(identifier.version, identifier.variant) for identifier in ids} == {(7, "specified in RFC 4122")}
    assert len({ordered_id(NOW) for _ in range(1_000)}) == 1_000


@pytest.mark.parametrize("poison", [b"1e5000", b"[" * 2_000 + b"]" * 2_000, b"-1e99999", b"{", b"\xff"])
def test_unreadable_json_is_a_value_error(poison: bytes) -> None:
    with pytest.raises(ValueError):
        decode(poison)
    assert sys.getrecursionlimit() < 2_000 or len(poison) < 4_000


async def test_an_unavailable_server_and_a_bad_value_raise_different_errors(store: Store, tmp_path: Any) -> None:
    unreachable = Store(make_engine(f"postgresql://nobody@/nothing?host={tmp_path}"))
    with pytest.raises(StoreUnavailable) as unavailable:
        async with unreachable.begin() as uow:
            await uow.domains.next_due()
    assert isinstance(unavailable.value.__cause__, OperationalError)
    await unreachable.close()
    with pytest.raises(Unstorable, match="out of range"):
        async with store.begin() as uow:
            await uow.domains.set_aside(["a.com"], now=NOW, step=timedelta(days=1))
            await uow._connection.exec_driver_sql("SELECT 99999999999::int4")
