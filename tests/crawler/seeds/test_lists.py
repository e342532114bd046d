"""Lists and tables: any bytes are read, every line is a name or a refusal, and packed lists use little memory."""

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
from registry.core.names.seeds import Refusal, Seed

Write = Callable[[bytes], str]


@pytest.fixture
def write_list(tmp_path: Path) -> Write:
    def write_list(raw: bytes) -> str:
        path = tmp_path / "list"
        path.write_bytes(raw)
        return str(path)

    return write_list


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


def test_names_with_their_lines_and_their_list(write_list: Write) -> None:
    raw = b"\xef\xbb\xbfone.com\r\n\r\n# two.com\r\n  three.com # why\rfour.com\nfive.com#x\n\nsix.com"
    assert names(write_list(raw)) == [
        Seed("one.com", "list", 1),
        Seed("three.com", "list", 4),
        Seed("four.com", "list", 5),
        Seed("five.com#x", "list", 6),
        Seed("six.com", "list", 8),
    ]


def test_urls_are_reduced_to_hosts_only_on_request(write_list: Write) -> None:
    path = write_list(b"https://One.com:8443/x?y\nftp://two.com\nthree.com\nhttps://[::1]/\nhttp://u@four.com/\n")
    assert [entry.name for entry in names(path)] == [
        "https://One.com:8443/x?y", "ftp://two.com", "three.com", "https://[::1]/", "http://u@four.com/",
    ]  # fmt: skip
    entries = names(path, urls=True)
    assert [entry.name for entry in entries if isinstance(entry, Seed)] == ["one.com", "three.com", "four.com"]
    assert [(entry.name, entry.code, entry.line) for entry in entries if isinstance(entry, Refusal)] == [
        ("ftp://two.com", "no_host", 2),
        ("https://[::1]/", "no_host", 4),
    ]


def test_a_line_that_is_too_long_is_skipped(write_list: Write) -> None:
    long_line = b"x" * (2 * BLOCK + 17)
    first, refused, last = names(write_list(b"one.com\n" + long_line + b"\ntwo.com\n"))
    assert (first.name, last.name, last.line) == ("one.com", "two.com", 3)
    assert isinstance(refused, Refusal) and (refused.code, refused.line) == ("line_too_long", 2)
    assert len(refused.name) < 300
    assert [entry.line for entry in names(write_list(long_line))] == [1]


def test_lines_across_blocks_are_joined(write_list: Write) -> None:
    expected = [f"name-{number}.com" for number in range(60_000)]
    entries = names(write_list("\r\n".join(expected).encode()))
    assert [entry.name for entry in entries] == expected
    assert [entry.line for entry in entries] == list(range(1, 60_001))


@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([b"\r", b"\n", b"a.com", b"#", b'"', b",", b"\xff"])).map(b"".join)
)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read(write_list: Write, raw: bytes) -> None:
    path = write_list(raw)
    for read_list in (names, rows):
        try:
            entries = read_list(path)
        except BadSource as error:
            assert str(error)
        else:
            assert all(isinstance(entry, Seed | Refusal) and entry.line <= len(raw) + 1 for entry in entries)


@pytest.mark.parametrize("pack", [gzip.compress, lambda raw: gzip.compress(raw[:8]) + gzip.compress(raw[8:]),
                                  lambda raw: zipped(("top.csv", raw))])  # fmt: skip
def test_packed_lists_are_recognised_by_content(write_list: Write, pack: Callable[[bytes], bytes]) -> None:
    assert [entry.name for entry in names(write_list(pack(b"one.com\ntwo.com\n")))] == ["one.com", "two.com"]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (zipped(("a", b"one.com"), ("b", b"two.com")), "an archive of 2 files"),
        (zipped(), "an archive of 0 files"),
        (b"PK\x03\x04 and nothing else", "not a zip file"),
        ("one.com\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_a_file_that_is_no_list_is_refused_at_once(write_list: Write, raw: bytes, message: str) -> None:
    with pytest.raises(BadSource, match=message):
        names(write_list(raw))


def test_a_missing_list_is_reported(tmp_path: Path) -> None:
    for path, message in ((tmp_path / "none", "No such file"), (tmp_path, "directory")):
        with pytest.raises(BadSource, match=message):
            names(str(path))


@pytest.mark.parametrize("damage", [lambda raw: raw[:-9], lambda raw: raw[:60] + b"\xff" * 20 + raw[80:]])
@pytest.mark.parametrize("pack", [gzip.compress, lambda raw: zipped(("top.csv", raw))])
def test_a_truncated_packed_list_keeps_its_complete_lines(
    write_list: Write, pack: Callable[[bytes], bytes], damage: Callable[[bytes], bytes]
) -> None:
    raw = "\n".join(f"{zlib.crc32(bytes([number]))}.com" for number in range(250)).encode()
    try:
        entries = names(write_list(damage(pack(raw))))
    except BadSource:
        return  # an archive has its directory at its end
    assert isinstance(entries[-1], Refusal) and entries[-1].code == BROKEN_OFF + "broken"
    assert [entry.name for entry in entries[:-1]] == raw.decode().split()[: len(entries) - 1]


@pytest.mark.parametrize("pack", [gzip.compress, lambda raw: zipped(("top.csv", raw))])
def test_a_decompression_bomb_is_cut_off(write_list: Write, pack: Callable[[bytes], bytes]) -> None:
    path = write_list(pack(b"one.com\n" + b"\0" * (64 * 2**20)))
    tracemalloc.start()
    try:
        entries = names(path)
        peak_memory = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [entry.code for entry in entries if isinstance(entry, Refusal)] == ["line_too_long", BROKEN_OFF + "broken"]
    assert entries[0].name == "one.com"
    assert peak_memory < 8 * 2**20


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
def test_the_column_of_names_is_found(write_list: Write, raw: bytes, column: str | None, expected: list[str]) -> None:
    assert [entry.name for entry in rows(write_list(raw), column)] == expected


def test_rows_that_cannot_be_read_are_skipped(write_list: Write) -> None:
    entries = rows(write_list(b'1,one.com\n2\n3,"two.com\n4,three.com\n'))
    assert [entry.name for entry in entries if isinstance(entry, Seed)] == ["one.com", "three.com"]
    assert [(entry.code, entry.line) for entry in entries if isinstance(entry, Refusal)] == [
        ("short_row", 2),
        ("bad_row", 3),
    ]


@pytest.mark.parametrize(("raw", "column"), [(b"1,x\n", None), (b"a,b\n", "c"), (b"a,b\n", "3"), (b"a,b\n", "0")])
def test_a_table_without_the_column_is_a_usage_error(write_list: Write, raw: bytes, column: str | None) -> None:
    with pytest.raises(BadSource, match="column"):
        rows(write_list(raw), column)


def test_a_row_may_be_as_long_as_the_longest_line(write_list: Write) -> None:
    assert len(rows(write_list(b"one.com," + b"x" * (MAX_LINE - 9) + b"\n"))) == 1
