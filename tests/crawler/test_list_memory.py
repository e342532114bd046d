"""What a hostile registry's answer costs in memory, by the peak of a process of its own."""

import ctypes
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard

from crawler import mirror as mirroring
from crawler.seeds import ard, lines, mcp_registry, pages, sitemap, tables, waypost
from crawler.seeds.online import ReadError
from crawler.seeds.opened import opened
from crawler.seeds.source import BadSource
from registry.actions.mirroring.received import RefusedRecord, received
from registry.core.names.seeds import Refusal
from registry.core.reading.foreign_lists import cut_list
from registry.core.reading.reader import Unreadable
from registry.store.dump_files import BadDump, Part, read_manifest
from registry.store.dump_files import lines as lines_of
from tests.support.depth import DEPTH
from tests.support.shared import ROOT

LARGE = 45_000_000
USUAL = ("objects", "text", "a million entries")
"""The answers of an ordinary run; with WAYPOST_TEST_DEPTH above 1 all of them, for minutes."""

BOUND = 150
"""Megabytes above a process that holds the answer (docs/safety.md)."""


def bodies(member: str) -> Iterator[tuple[str, bytes]]:
    """Yield hostile answers of 45 MB."""
    head = b'{"%s":[' % member.encode()
    fillings = {
        "nested": (b"[", b""), "objects": (b"{},", b"{}]}"), "arrays": (b"[],", b"[]]}"), "numbers": (b"1.5,", b"1]}"),
        "unique": (b"", b""), "long number": (b"9", b"]}"), "escapes": (b"\\u00e9", b'"]}'), "text": (b"x", b'"]}'),
        "quotes": (b'\\"', b""), "in one entry": (b"{},", b"{}]]}"), "repeated": (b'"a":1,', b'"a":1}]}'),
    }  # fmt: skip
    for name, (filling, tail) in fillings.items():
        if DEPTH == 1 and name not in USUAL:
            continue
        if name == "unique":
            body = head + b"{" + b",".join(b'"%x":{}' % number for number in range(LARGE // 12)) + b"}]}"
        else:
            opening = {"escapes": b'"', "text": b'"', "quotes": b'"', "in one entry": b"[", "repeated": b"{"}
            start = head + opening.get(name, b"")
            body = start + filling * ((LARGE - len(start)) // len(filling)) + tail
        yield name, body
    entry = b'{"entity":{"id":"a.example"},"domain":"a.example","host":"a.example","kind":"absent"}'
    yield "a million entries", head + b",".join([entry] * (LARGE // len(entry))) + b"]}"
    filled = b'"a":[%s1]' % (b"1," * 2_000)
    yield "full entries", head + b",".join([b"{" + filled + b"}"] * (8_000_000 // len(filled))) + b"]}"
    emoji = b'{"host":"a.example","a":"' + "\U0001f600".encode() + b"x" * 15_000_000 + b'"}'
    yield "one large record", head + emoji + b"]}"


def read_feed(body: bytes) -> None:
    mirroring._page(cut_list(body[: mirroring.FEED_BYTES], "events", max_entries=2_000))


def read_records(body: bytes) -> None:
    entries = iter(cut_list(body[: mirroring.RECORDS_BYTES], "records", max_entries=100))
    is_over = False
    while not is_over:
        batch, is_over = mirroring._next_batch(entries)
        for raw in batch:
            with suppress(RefusedRecord):
                received(raw)


def read_seeds(cut: str, read: Callable[[object], object]) -> Callable[[bytes], None]:
    def reading(body: bytes) -> None:
        for entry in pages.readable_entries(pages.cut_page(body[: pages.PAGE_CAP], cut), None):
            read(entry)

    return reading


def read_part(body: bytes) -> None:
    """Read a part whose one line is the answer, and whose lines are as short as they may be."""
    for raw in (body, b"ab\n" * 15_000_000):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "part"
            path.write_bytes(zstandard.ZstdCompressor(level=1).compress(raw))
            reading = lines_of(path, Part("p", "", path.stat().st_size, len(raw), 500_000, "", ""))
            is_over = False
            while not is_over:
                batch, is_over = mirroring._next_batch(reading)
                for line in batch:
                    with suppress(RefusedRecord):
                        received(line)


def read_file(body: bytes) -> None:
    """Read a list in a file as each kind of source does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list"
        for raw in (body, b"a,b\n" * 20_000):
            path.write_bytes(raw)
            for names in (lines.names, tables.names, mcp_registry.saved):
                with suppress(BadSource), opened(str(path)) as source:
                    for _ in names(source):
                        pass


def read_archive(_: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for number in range(60_000):
                archive.writestr(f"{number}", b"")
        with pytest.raises(BadSource, match="too many files"), opened(str(path)):
            pass


def read_sitemap(body: bytes) -> None:
    many = 100_000 if DEPTH == 1 else 2_000_000
    for raw in (body, b"a\n" * 10 * many, b"<urlset>" + b"<url><loc>x</loc></url>" * many):
        assert all(isinstance(refusal, Refusal) for refusal in sitemap.read(raw, "https://a.example/").refused)


READERS: dict[str, tuple[str, Callable[[bytes], None]]] = {
    "feed": ("events", read_feed),
    "records": ("records", read_records),
    "manifest": ("parts", lambda body: void(read_manifest(body[: 4 * 1024 * 1024]))),
    "part": ("records", read_part),
    "waypost": ("data", lambda body: void(waypost._entries(body[: pages.PAGE_CAP], "", ""))),
    "ard": ("items", read_seeds("items", lambda entry: list(ard._hosts_in_entry(entry)))),
    "mcp-registry": ("servers", read_seeds("servers", lambda entry: list(mcp_registry._hosts_in_server(entry)))),
    "file": ("servers", read_file),
    "archive": ("", read_archive),
    "sitemap": ("", read_sitemap),
}


def void(_: object) -> None:
    pass


def memory_mb(name: str) -> int:
    """Return a size of this process (proc_pid_status(5)): VmRSS now, VmHWM at most since it was reset."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) // 1024


def measure(reader: str) -> None:
    """Print by how much reading each answer raised the memory of this process at most."""
    member, read = READERS[reader]
    for name, body in bodies(member):
        if DEPTH == 1 and name not in USUAL:
            continue
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
        before = memory_mb("VmRSS")
        with suppress(Unreadable, ReadError, BadDump):
            read(body)
        sys.stdout.write(f"{memory_mb('VmHWM') - before:5} MB  {reader}: {name}\n")
        if reader == "archive":
            return


QUICK = ("manifest", "ard", "mcp-registry")


@pytest.mark.slow
@pytest.mark.parametrize(
    "reader", [*QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in READERS if name not in QUICK)]
)
def test_no_answer_of_another_registry_costs_much_memory(reader: str) -> None:
    command = [sys.executable, "-c", f"from tests.crawler.test_list_memory import measure; measure({reader!r})"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    growth = [int(line.split()[0]) for line in output.splitlines()]
    assert growth and max(growth) < BOUND, output
