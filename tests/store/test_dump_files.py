"""The files of a dump: written whole or not at all, and read with distrust."""

import errno
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from registry.store import dump_files
from registry.store.dump_files import (
    BadDump,
    DumpError,
    DumpFileManifest,
    DumpFolder,
    DumpRunning,
    DumpWriter,
    Part,
    lines,
    read_manifest,
    verify,
)

FIRST, SECOND, THIRD = "20261124T010000Z", "20261125T010000Z", "20261126T010000Z"
ABOUT = DumpFileManifest(
    FIRST, "2026-11-24T01:00:00+00:00", "https://registry.example", "cursor", 7, True, {}, {"services": 1}
)


def write(folder: Path, snapshot: str = FIRST, *, count: int = 300, keep: int = 2, **options: int) -> DumpFileManifest:
    with DumpWriter(folder, snapshot, **options) as writer:
        for number in range(count):
            writer.add(f"d{number:05} d{number:05}", json.dumps({"number": number, "snapshot": snapshot}).encode())
        manifest = replace(ABOUT, snapshot=snapshot, parts=writer.finish())
        writer.publish(manifest, keep=keep)
    return read_manifest((folder / "manifest.json").read_bytes())


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name != ".lock"}


def only_part(folder: Path) -> tuple[Path, Part]:
    (part,) = write(folder).parts
    return folder / part.name, part


def test_parts_are_bounded_and_hold_every_line_in_order(tmp_path: Path) -> None:
    manifest = write(tmp_path, part_bytes=4_000, frame_bytes=1_000)
    assert len(manifest.parts) > 2
    read = []
    for part in manifest.parts:
        path = tmp_path / part.name
        verify(path, part)
        found = [json.loads(line)["number"] for line in lines(path, part)]
        assert (len(found), path.stat().st_size) == (part.rows, part.bytes)
        assert part.size <= 4_000 and part.first == f"d{found[0]:05} d{found[0]:05}"
        read += found
    assert read == list(range(300))


def test_each_frame_can_be_decompressed_alone(tmp_path: Path) -> None:
    (part,) = write(tmp_path, frame_bytes=1_000).parts
    raw = (tmp_path / part.name).read_bytes()
    first = zstandard.ZstdDecompressor().decompressobj()
    text = first.decompress(raw)
    assert first.unused_data and text.endswith(b"\n") and json.loads(text.splitlines()[0])["number"] == 0
    rest = zstandard.ZstdDecompressor().decompressobj().decompress(first.unused_data)
    assert json.loads(rest.splitlines()[0])["number"] == text.count(b"\n")


def test_the_last_dumps_stay_and_older_ones_go(tmp_path: Path) -> None:
    first, second, third = (write(tmp_path, snapshot) for snapshot in (FIRST, SECOND, THIRD))
    assert files(tmp_path) == {
        "manifest.json", f"manifest-{SECOND}.json", f"manifest-{THIRD}.json",
        *(part.name for manifest in (second, third) for part in manifest.parts),
    }  # fmt: skip
    folder = DumpFolder(tmp_path)
    assert folder.part(second.parts[0].name) == second.parts[0]
    assert folder.part(first.parts[0].name) is None


def test_a_dump_that_fails_leaves_the_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    synced = os.fsync

    def full(descriptor: int) -> None:
        synced(descriptor)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DumpError, match="No space left"):
        write(tmp_path, SECOND, part_bytes=2_000, frame_bytes=500)
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before


def test_a_dump_that_is_interrupted_leaves_no_trace(tmp_path: Path) -> None:
    write(tmp_path)
    before = files(tmp_path)
    with (
        pytest.raises(KeyboardInterrupt),
        DumpWriter(tmp_path, SECOND, part_bytes=2_000, frame_bytes=500) as writer,
    ):
        for number in range(200):
            writer.add(f"d{number}", b"x" * 100)
        raise KeyboardInterrupt
    assert files(tmp_path) == before


def test_what_a_killed_writer_left_is_deleted_by_the_next(tmp_path: Path) -> None:
    (tmp_path / f"{FIRST}-00001.writing").write_bytes(b"half")
    orphan = tmp_path / f"{FIRST}-00001-{'0' * 16}.ndjson.zst"
    orphan.write_bytes(b"a part without a manifest")
    manifest = write(tmp_path, SECOND)
    assert files(tmp_path) == {"manifest.json", f"manifest-{SECOND}.json", manifest.parts[0].name}


def test_a_second_dump_of_the_same_second_is_refused(tmp_path: Path) -> None:
    """Their parts could have the same names, and a failure of the second would delete those of the first."""
    write(tmp_path)
    before = files(tmp_path)
    with pytest.raises(DumpError, match="this second"):
        write(tmp_path)
    assert files(tmp_path) == before


def test_one_dump_at_a_time(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, FIRST), pytest.raises(DumpRunning):
        DumpWriter(tmp_path, SECOND).__enter__()
    write(tmp_path, SECOND)


@pytest.mark.parametrize(
    "name",
    [
        "../manifest.json",
        "manifest.json",
        ".lock",
        "..",
        "",
        "/etc/passwd",
        f"{FIRST}-00001-{'0' * 16}.ndjson.zst",
        "\0",
    ],
)
def test_only_parts_of_a_manifest_are_found(tmp_path: Path, name: str) -> None:
    write(tmp_path)
    assert DumpFolder(tmp_path).part(name) is None


def test_a_folder_without_a_dump(tmp_path: Path) -> None:
    folder = DumpFolder(tmp_path / "missing")
    assert folder.manifest() is None and folder.part("x") is None


def test_a_truncated_or_changed_part_is_refused(tmp_path: Path) -> None:
    path, part = only_part(tmp_path)
    raw = path.read_bytes()
    for bad in (raw[:-1], raw + b"\0", raw[:50] + bytes([raw[50] ^ 1]) + raw[51:]):
        path.write_bytes(bad)
        with pytest.raises(BadDump):
            verify(path, part)


def test_a_wrong_hash_is_refused(tmp_path: Path) -> None:
    path, part = only_part(tmp_path)
    with pytest.raises(BadDump):
        verify(path, replace(part, sha256="0" * 64))


def part_of(path: Path, raw: bytes, *, size: int, rows: int) -> Part:
    path.write_bytes(raw)
    return Part(path.name, hashlib.sha256(raw).hexdigest(), len(raw), size, rows, "a", "b")


def test_a_bomb_ends_at_the_stated_size(tmp_path: Path) -> None:
    """100 MB in 10 KB, said to be 1 MB: what is read stays near the stated size."""
    bomb = zstandard.ZstdCompressor().compress(b"0" * 100_000_000)
    part = part_of(tmp_path / "bomb", bomb, size=1_000_000, rows=1)
    verify(tmp_path / "bomb", part)
    with pytest.raises(BadDump, match="more than the manifest states"):
        list(lines(tmp_path / "bomb", part))


def test_a_frame_that_asks_for_a_huge_window_is_refused(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=30, enable_ldm=True)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    raw = compressor.compress(b"x\n" * 1_000) + compressor.flush()
    part = part_of(tmp_path / "wide", raw, size=2_000, rows=1_000)
    with pytest.raises(BadDump, match="not valid zstd"):
        list(lines(tmp_path / "wide", part))


@pytest.mark.parametrize(
    ("raw", "size", "rows"),
    [
        (b"a\nb\n", 4, 3),  # fewer rows
        (b"a\nb\n", 5, 2),  # shorter
        (b"a\nb", 3, 2),  # the last line has no end
        (b"a\nb\n", 4, 1),  # more rows
    ],
)
def test_a_part_holds_what_the_manifest_states(tmp_path: Path, raw: bytes, size: int, rows: int) -> None:
    part = part_of(tmp_path / "part", zstandard.ZstdCompressor().compress(raw), size=size, rows=rows)
    with pytest.raises(BadDump):
        list(lines(tmp_path / "part", part))


def test_what_is_not_zstd_is_refused(tmp_path: Path) -> None:
    part = part_of(tmp_path / "part", b"plainly not zstd", size=16, rows=1)
    with pytest.raises(BadDump):
        list(lines(tmp_path / "part", part))


def test_a_line_without_end_is_not_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_files, "LINE_BYTES", 3_000_000)
    raw = zstandard.ZstdCompressor().compress(b"0" * 10_000_000)
    part = part_of(tmp_path / "part", raw, size=10_000_000, rows=1)
    with pytest.raises(BadDump):
        list(lines(tmp_path / "part", part))


def test_a_line_that_is_too_long_is_left_out_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_files, "LINE_BYTES", 3_000_000)
    raw = b"one\n" + b"0" * 10_000_000 + b"\n" + b"1" * 3_000_000 + b"\ntwo\n"
    part = part_of(tmp_path / "part", zstandard.ZstdCompressor().compress(raw), size=len(raw), rows=4)
    assert list(lines(tmp_path / "part", part)) == [b"one", b"", b"1" * 3_000_000, b"two"]


def lie(**changes: Any) -> bytes:
    part = Part(f"{FIRST}-00001-{'0' * 16}.ndjson.zst", "0" * 64, 100, 1_000, 1, "a a", "b b")
    return json.dumps({**replace(ABOUT, parts=(part,)).to_json(), **changes}).encode()


def part_lie(**changes: Any) -> bytes:
    (part,) = json.loads(lie())["parts"]
    return lie(parts=[{**part, **changes}])


def test_the_plain_manifest_is_read() -> None:
    assert read_manifest(lie()).cursor == "cursor"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{}",
        lie(format="other"),
        lie(version=2),
        lie(feed=None),
        lie(feed={"cursor": "x" * 501, "sequence": 1}),
        lie(feed={"cursor": "x", "sequence": -1}),
        lie(feed={"cursor": "x", "sequence": 1.5}),
        lie(snapshot="../../x"),
        lie(parts={}),
        lie(parts=[3]),
        part_lie(name="../manifest.json"),
        part_lie(name="/etc/passwd"),
        part_lie(sha256="0" * 63),
        part_lie(bytes=-1),
        part_lie(bytes=2**40),
        part_lie(size=2**40),
        part_lie(rows=True),
        part_lie(rows="1"),
        lie(parts=2 * json.loads(lie())["parts"]),
    ],
)
def test_a_manifest_that_lies_is_refused(raw: bytes) -> None:
    with pytest.raises(BadDump):
        read_manifest(raw)


def test_a_manifest_that_announces_a_bomb_is_refused() -> None:
    """Ten thousand times the compressed size."""
    with pytest.raises(BadDump, match="compressed more"):
        read_manifest(part_lie(size=1_000_000))


def test_a_record_that_is_too_large_for_a_line_is_no_part_of_a_dump(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_files, "LINE_BYTES", 100)
    with DumpWriter(tmp_path, FIRST) as writer, pytest.raises(DumpError):
        writer.add("a a", b"x" * 100)
