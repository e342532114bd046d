"""The file of opt-outs: what was appended is read again, whatever else is in the file."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.store.opt_out_file import MAX_LINE_BYTES, OptOutFile, OptOutLine, encoded, read_lines
from tests.support.builders import NOW
from tests.support.hang import HANG_SECONDS

LINE = OptOutLine("out", "pigeons.com", "file", "https://pigeons.com/.well-known/waypost-optout.txt", NOW)
OTHER = OptOutLine("in", "doves.com", "dns", "", NOW + timedelta(hours=1))


def test_lines_are_read_as_they_were_appended(tmp_path: Path) -> None:
    file = OptOutFile(tmp_path / "new" / "opt-outs.log")
    assert file.read() == ([], 0)
    file.append([LINE])
    file.append([OTHER, LINE])
    assert file.read() == ([LINE, OTHER, LINE], 0)
    assert file.path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("left", range(1, len(encoded(LINE))))
def test_a_torn_last_line_loses_no_other(tmp_path: Path, left: int) -> None:
    """A process may die after any number of bytes, and another goes on with the file."""
    file = OptOutFile(tmp_path / "opt-outs.log")
    file.path.write_bytes(encoded(OTHER) + encoded(LINE)[:left])
    is_whole = left == len(encoded(LINE)) - 1  # only its end is missing
    file.append([LINE])
    assert file.read() == ([OTHER, *([LINE] if is_whole else []), LINE], 0 if is_whole else 1)


@pytest.mark.parametrize("key", ["at", "action", "host", "how", "evidence", "sum"])
def test_a_changed_line_is_not_believed(key: str) -> None:
    members = orjson.loads(encoded(LINE))
    for change in ({key: "x.com"}, {key: None}):
        assert read_lines([orjson.dumps(members | change)]) == ([], 1)
    del members[key]
    assert read_lines([orjson.dumps(members)]) == ([], 1)


def test_a_line_without_end_is_bounded() -> None:
    assert read_lines([b'"' * (MAX_LINE_BYTES + 1)]) == ([], 1)


@given(st.lists(st.binary(max_size=80).map(lambda raw: raw.replace(b"\n", b"") + b"\n")))
def test_whatever_stands_between_lines_of_a_file_they_are_read(noise: list[bytes]) -> None:
    lines, _ = read_lines([*noise, encoded(LINE), *noise, encoded(OTHER)])
    assert lines == [LINE, OTHER]


def test_appends_at_the_same_time_keep_each_line_whole(tmp_path: Path) -> None:
    file = OptOutFile(tmp_path / "opt-outs.log")
    lines = [OptOutLine("out", f"site-{number}.com", "file", "x" * 2_000, NOW) for number in range(100)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda line: file.append([line]), lines))
    read, unreadable = file.read()
    assert sorted(read, key=str) == sorted(lines, key=str)
    assert unreadable == 0


def test_what_was_appended_survives_a_kill(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom registry.store.opt_out_file import OptOutFile\n"
        "from tests.store.test_opt_out_file import LINE\n"
        "OptOutFile(Path(sys.argv[1])).append([LINE])\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "opt-outs.log"
    process = subprocess.run([sys.executable, "-c", program, str(path)], timeout=HANG_SECONDS, check=False)
    assert process.returncode == -9
    assert OptOutFile(path).read() == ([LINE], 0)


def test_a_line_is_on_the_disk_when_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(
        "os.fsync", lambda descriptor: synced.append(Path(f"/proc/self/fd/{descriptor}").stat().st_size)
    )
    file = OptOutFile(tmp_path / "opt-outs.log")
    file.append([LINE])
    assert synced[0] == len(encoded(LINE)), "synced before the line was written, or not at all"
