"""Lists and tables: any bytes are read, every line is a name or a refusal, and what is packed stays small."""

import gzip
import io
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler.seeds import lines, tables
from crawler.seeds.opened import BLOCK, MAX_LINE, opened
from crawler.seeds.source import BROKEN_OFF, BadSource
from registry.core.seeds import Refusal, Seed


@pytest.fixture
def kept(tmp_path: Path) -> Callable[[bytes], str]:
    def keep(raw: bytes) -> str:
        path = tmp_path / "list"
        path.write_bytes(raw)
        return str(path)

    return keep


def names(path: str, *, urls: bool = False) -> list[Seed | Refusal]:
    with opened(path) as source:
        return list(lines.names(source, urls=urls))


def rows(path: str, column: str | None = None, *, urls: bool = False) -> list[Seed | Refusal]:
    with opened(path) as source:
        return list(tables.names(source, column=column, urls=urls))


def zipped(*members: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in members:
            archive.writestr(name, raw)
    return packed.getvalue()


def test_names_with_their_lines_and_their_list(kept: Callable[[bytes], str]) -> None:
    raw = b"\xef\xbb\xbfone.com\r\n\r\n# two.com\r\n  three.com # why\rfour.com\nfive.com#x\n\nsix.com"
    assert names(kept(raw)) == [
        Seed("one.com", "list", 1),
        Seed("three.com", "list", 4),
        Seed("four.com", "list", 5),
        Seed("five.com#x", "list", 6),
        Seed("six.com", "list", 8),
    ]


def test_urls_give_their_host_only_when_asked(kept: Callable[[bytes], str]) -> None:
    path = kept(b"https://One.com:8443/x?y\nftp://two.com\nthree.com\nhttps://[::1]/\nhttp://u@four.com/\n")
    assert [one.name for one in names(path)] == [
        "https://One.com:8443/x?y", "ftp://two.com", "three.com", "https://[::1]/", "http://u@four.com/",
    ]  # fmt: skip
    given = names(path, urls=True)
    assert [one.name for one in given if isinstance(one, Seed)] == ["one.com", "three.com", "four.com"]
    assert [(one.name, one.code, one.place) for one in given if isinstance(one, Refusal)] == [
        ("ftp://two.com", "no_host", 2),
        ("https://[::1]/", "no_host", 4),
    ]


def test_a_line_that_is_too_long_costs_only_itself(kept: Callable[[bytes], str]) -> None:
    long = b"x" * (2 * BLOCK + 17)
    first, refused, last = names(kept(b"one.com\n" + long + b"\ntwo.com\n"))
    assert (first.name, last.name, last.place) == ("one.com", "two.com", 3)
    assert isinstance(refused, Refusal) and (refused.code, refused.place) == ("line_too_long", 2)
    assert len(refused.name) < 300
    assert [one.place for one in names(kept(long))] == [1]


def test_lines_across_blocks_are_whole(kept: Callable[[bytes], str]) -> None:
    expected = [f"name-{number}.com" for number in range(60_000)]
    found = names(kept("\r\n".join(expected).encode()))
    assert [one.name for one in found] == expected
    assert [one.place for one in found] == list(range(1, 60_001))


@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([b"\r", b"\n", b"a.com", b"#", b'"', b",", b"\xff"])).map(b"".join)
)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read(kept: Callable[[bytes], str], raw: bytes) -> None:
    path = kept(raw)
    for read in (names, rows):
        try:
            found = read(path)
        except BadSource as error:
            assert str(error)
        else:
            assert all(isinstance(one, Seed | Refusal) and one.place <= len(raw) + 1 for one in found)


@pytest.mark.parametrize("pack", [gzip.compress, lambda raw: gzip.compress(raw[:8]) + gzip.compress(raw[8:]),
                                  lambda raw: zipped(("top.csv", raw))])  # fmt: skip
def test_packed_lists_are_read_whatever_they_are_called(
    kept: Callable[[bytes], str], pack: Callable[[bytes], bytes]
) -> None:
    assert [one.name for one in names(kept(pack(b"one.com\ntwo.com\n")))] == ["one.com", "two.com"]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (zipped(("a", b"one.com"), ("b", b"two.com")), "an archive of 2 files"),
        (zipped(), "an archive of 0 files"),
        (b"PK\x03\x04 and nothing else", "not a zip file"),
        ("one.com\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_what_cannot_be_a_list_is_told_at_once(kept: Callable[[bytes], str], raw: bytes, says: str) -> None:
    with pytest.raises(BadSource, match=says):
        names(kept(raw))


def test_a_list_that_is_not_there_is_told(tmp_path: Path) -> None:
    for path, says in ((tmp_path / "none", "No such file"), (tmp_path, "directory")):
        with pytest.raises(BadSource, match=says):
            names(str(path))


@pytest.mark.parametrize("harm", [lambda raw: raw[:-9], lambda raw: raw[:60] + b"\xff" * 20 + raw[80:]])
@pytest.mark.parametrize("pack", [gzip.compress, lambda raw: zipped(("top.csv", raw))])
def test_a_packed_list_that_breaks_off_says_so_and_keeps_what_came(
    kept: Callable[[bytes], str], pack: Callable[[bytes], bytes], harm: Callable[[bytes], bytes]
) -> None:
    raw = "\n".join(f"{zlib.crc32(bytes([number]))}.com" for number in range(250)).encode()
    try:
        found = names(kept(harm(pack(raw))))
    except BadSource:
        return  # the directory of an archive stands at its end
    assert isinstance(found[-1], Refusal) and found[-1].code == BROKEN_OFF + "broken"
    assert [one.name for one in found[:-1]] == raw.decode().split()[: len(found) - 1]


@pytest.mark.parametrize("pack", [gzip.compress, lambda raw: zipped(("top.csv", raw))])
def test_a_bomb_neither_fills_memory_nor_runs_for_long(
    kept: Callable[[bytes], str], pack: Callable[[bytes], bytes]
) -> None:
    path = kept(pack(b"one.com\n" + b"\0" * (64 * 2**20)))
    tracemalloc.start()
    try:
        found = names(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [one.code for one in found if isinstance(one, Refusal)] == ["line_too_long", BROKEN_OFF + "broken"]
    assert found[0].name == "one.com"
    assert most < 8 * 2**20


@pytest.mark.parametrize(
    ("raw", "column", "expected"),
    [
        (b"1,one.com\r\n2,two.co.uk\r\n", None, ["one.com", "two.co.uk"]),
        (b"1,one.com\n2,two.com\n", "2", ["one.com", "two.com"]),
        (b"rank,Domain\n1,one.com\n", None, ["one.com"]),
        (b"\xef\xbb\xbfhost\tkind\none.com\tx\n", None, ["one.com"]),
        (b"name;domain\nSome, Inc;one.com\n", None, ["one.com"]),
        (b'"Some, ""Inc""",one.com\n"x",two.com\n', "2", ["one.com", "two.com"]),
        (b"a,b\none.com,two.com\n", "B", ["two.com"]),
        (b"one.com\ntwo.com\n", None, ["one.com", "two.com"]),
        (b"rank,domain\n1,one.com\n", "2", ["one.com"]),
        (b"", None, []),
    ],
)
def test_the_column_of_names(kept: Callable[[bytes], str], raw: bytes, column: str | None, expected: list[str]) -> None:
    assert [one.name for one in rows(kept(raw), column)] == expected


def test_rows_that_cannot_be_read_cost_only_themselves(kept: Callable[[bytes], str]) -> None:
    found = rows(kept(b'1,one.com\n2\n3,"two.com\n4,three.com\n'))
    assert [one.name for one in found if isinstance(one, Seed)] == ["one.com", "three.com"]
    assert [(one.code, one.place) for one in found if isinstance(one, Refusal)] == [("short_row", 2), ("bad_row", 3)]


@pytest.mark.parametrize(("raw", "column"), [(b"1,x\n", None), (b"a,b\n", "c"), (b"a,b\n", "3"), (b"a,b\n", "0")])
def test_a_table_without_such_a_column_is_wrong_usage(
    kept: Callable[[bytes], str], raw: bytes, column: str | None
) -> None:
    with pytest.raises(BadSource, match="column"):
        rows(kept(raw), column)


def test_a_line_may_be_as_long_as_a_row_is(kept: Callable[[bytes], str]) -> None:
    assert len(rows(kept(b"one.com," + b"x" * (MAX_LINE - 9) + b"\n"))) == 1
