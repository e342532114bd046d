"""`waypost seed` and `waypost crawl --from`: output, provenance, and exit codes that scripts can rely on."""

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import IO, Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from crawler.seeds import SEEDS
from crawler.seeds.opened import opened
from registry.cli import app
from registry.cli.common import DONE, NO, USAGE
from registry.cli.crawling import run_from
from registry.cli.seeding import seeds
from registry.core.names.seeds import OWN_LISTS
from registry.store.engine import make_engine
from registry.store.records import CandidateRecord
from registry.store.unit_of_work import Store
from tests.crawler.support import settings
from tests.support.builders import ADP, NOW, adp_manifest, on
from tests.support.database import rows
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT
from tests.support.sites import Reply, Sites


@pytest.fixture
def run_seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str) -> Any:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("WAYPOST_DATA", str(tmp_path / "data"))

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["seed", *arguments], catch_exceptions=False)

    return invoke


def stored_rows(database_url: str, statement: str) -> list[tuple[Any, ...]]:
    async def read() -> list[tuple[Any, ...]]:
        store = Store(make_engine(database_url))
        try:
            return await rows(store, statement)
        finally:
            await store.close()

    return asyncio.run(read())


def write_file(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_every_source_has_a_command_and_documentation() -> None:
    commands = {
        registered.name or registered.callback.__name__.replace("_", "-")
        for registered in seeds.registered_commands
        if registered.callback
    }
    manual = (ROOT / "docs" / "seeds.md").read_text()
    for source in SEEDS:
        assert {"document": "links"}.get(source.slug, source.slug) in commands
        assert f"`{source.slug}`" in manual, "the provenance that it leaves"
    assert len(commands) == len(SEEDS)
    assert {source.slug for source in SEEDS if "name of the file" in source.referrer} == OWN_LISTS
    assert all(f"waypost seed {command}" in manual for command in commands)


def test_a_list_is_summarised_and_its_provenance_stored(run_seed: Any, tmp_path: Path, database_url: str) -> None:
    path = write_file(tmp_path, "mine.txt", "one.com\nhttps://two.com/\nco.uk\nOne.com\n")
    result = run_seed("file", path)
    assert result.exit_code == DONE
    assert result.stdout.splitlines() == [
        "file: 4 names: 1 new hosts, 1 new domains, 1 known before, 2 refused",
        "  1 has_scheme: give the host name only, without a scheme",
        "    https://two.com/  (line 2)",
        "  1 public_suffix: this is a public suffix: names are registered below it",
        "    co.uk  (line 3)",
        "  with --urls the hosts of URLs are taken",
    ]
    refused_file = tmp_path / "refused"
    second_result = run_seed("file", path, "--urls", "--name", "my list", "--refused", str(refused_file), "--json")
    assert json.loads(second_result.stdout) == {
        "source": "file", "names": 4, "domains": 1, "hosts": 1, "known": 2, "refused": {"public_suffix": 1},
        "examples": {"public_suffix": ["co.uk"]}, "complete": True,
    }  # fmt: skip
    (line,) = refused_file.read_text().splitlines()
    assert json.loads(line) == {
        "name": "co.uk", "code": "public_suffix", "referrer": "my list", "line": 3,
        "message": "this is a public suffix: names are registered below it",
    }  # fmt: skip
    assert stored_rows(database_url, "SELECT host, source, referrer FROM hosts ORDER BY host") == [
        ("one.com", "file", "mine.txt"),
        ("two.com", "file", "my list"),
    ]


def test_a_limit_takes_the_top_of_a_ranked_list(run_seed: Any, tmp_path: Path, database_url: str) -> None:
    path = write_file(tmp_path, "top.csv", "1,one.com\r\n2,two.com\r\n3,three.com\r\n")
    assert run_seed("tranco", path, "--limit", "2").exit_code == DONE
    ranked = stored_rows(database_url, "SELECT domain, source FROM domains ORDER BY next_visit_at")
    assert ranked == [("one.com", "tranco"), ("two.com", "tranco")]


def test_a_column_of_a_table_is_seeded(run_seed: Any, tmp_path: Path, database_url: str) -> None:
    path = write_file(tmp_path, "t.tsv", "kind\tsite\nx\thttps://one.com/\n")
    assert run_seed("csv", path, "--column", "Site", "--urls").exit_code == DONE
    assert stored_rows(database_url, "SELECT host, source, referrer FROM hosts") == [("one.com", "csv", "t.tsv")]


def test_a_saved_list_of_servers_is_seeded(run_seed: Any, tmp_path: Path, database_url: str) -> None:
    document = {"name": "com.one/x", "remotes": [{"type": "sse", "url": "https://mcp.one.com/"}]}
    path = write_file(tmp_path, "servers.json", json.dumps({"servers": [{"server": document}]}))
    assert run_seed("mcp-registry", "--file", path).exit_code == DONE
    expected = [("mcp.one.com", "one.com", "mcp-registry", "com.one/x")]
    assert stored_rows(database_url, "SELECT host, domain, source, referrer FROM hosts") == expected


def test_links_of_stored_documents_are_seeded(run_seed: Any, database_url: str) -> None:
    async def add_candidates() -> None:
        store = Store(make_engine(database_url))
        async with store.begin() as uow:
            await uow.candidates.add(
                CandidateRecord(
                    "com" if is_bad else f"n{n}.com", "com" if is_bad else f"n{n}.com", "x.com", "ard", "x", NOW
                )
                for n, is_bad in enumerate([False] * 3 + [True])
            )
        await store.close()

    asyncio.run(add_candidates())
    result = run_seed("links")
    assert result.exit_code == DONE
    assert result.stdout.splitlines()[0] == "document: 4 names: 3 new hosts, 3 new domains, 0 known before, 1 refused"
    assert stored_rows(database_url, "SELECT DISTINCT source, referrer FROM hosts") == [("document", "x.com")]
    assert run_seed("links").exit_code == DONE


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("file", "nowhere"), USAGE, "nowhere: No such file or directory"),
        (("csv", "words.txt", "--column", "host"), USAGE, "no column is called 'host'"),
        (("mcp-registry", "--file", "words.txt"), USAGE, "not JSON"),
        (("mcp-registry", "--file", "words.txt", "--url", "https://x.com"), USAGE, "exclude each other"),
        (("sitemap", "http://one.com/s.xml"), USAGE, "only https URLs"),
        (("file", "words.txt", "--refused", "nowhere/x"), USAGE, "nowhere/x: No such file or directory"),
        (("file", "words.txt"), NO, ""),
        (("file", "broken.gz"), NO, ""),
    ],
)
def test_exit_codes(
    run_seed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_file(tmp_path, "words.txt", "not a name\n")
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b and nothing else")
    result = run_seed(*arguments)
    assert (result.exit_code, message in result.stderr) == (code, True), result.stderr


@pytest.mark.slow
def test_standard_input_and_sitemaps_are_read_and_output_is_escaped(tmp_path: Path, database_url: str) -> None:
    environment = {
        **os.environ,
        "DATABASE_URL": database_url,
        "WAYPOST_DATA": str(tmp_path),
        "WAYPOST_RESOLVE": "table",
    }
    completed = subprocess.run(
        [sys.executable, "-m", "registry.cli", "seed", "file", "-"],
        input=b"one.com\nb\xff.com\n\x1b[31mred.com\n", env=environment, capture_output=True,
        timeout=HANG_SECONDS, check=False,
    )  # fmt: skip
    assert completed.returncode == DONE, completed.stderr
    assert b"1 new hosts" in completed.stdout and b"\x1b" not in completed.stdout
    completed = subprocess.run(
        [sys.executable, "-m", "registry.cli", "seed", "sitemap", "https://nowhere.com/s.xml", "--json"],
        env=environment, capture_output=True, timeout=HANG_SECONDS, check=False,
    )  # fmt: skip
    assert completed.returncode == NO, completed.stderr
    assert json.loads(completed.stdout)["refused"] == {"source_not_read": 1}


@pytest.mark.slow
def test_reading_standard_input_can_be_interrupted(tmp_path: Path, database_url: str) -> None:
    environment = {**os.environ, "DATABASE_URL": database_url, "WAYPOST_DATA": str(tmp_path)}
    command = [sys.executable, "-m", "registry.cli", "seed", "file", "-"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"one.com\n")
        process.stdin.flush()
        deadline = time.monotonic() + HANG_SECONDS
        try:
            while _unread(process.stdin):
                assert time.monotonic() < deadline, "the line is not read"
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            assert process.wait(HANG_SECONDS) == 130
        finally:
            process.kill()


def _unread(pipe: IO[bytes]) -> int:
    """Return the number of bytes in the pipe that the reader has not taken yet (pipe(7), FIONREAD)."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.slow
async def test_one_pass_visits_the_list_and_all_due_hosts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    adp_site = {ADP: Reply(json.dumps(adp_manifest("good.example")))}
    sites = {"good.example": adp_site, "bare.example": {}, "waits.example": {}}
    path = write_file(tmp_path, "list", "# mine\ngood.example\nbare.example\nabsent.example\nco.uk\n")
    async with Sites(sites) as served:
        monkeypatch.setenv("SSL_CERT_FILE", str(served.write_authority(tmp_path)))
        table = served.connect_to()
        crawl_settings = settings(*table, database_url=database_url, data=tmp_path / "data")

        async def run_once(*, summary: bool) -> tuple[int, list[dict[str, Any]]]:
            with opened(path) as source:
                code = await run_from(
                    crawl_settings, source, urls=False, console=Console(), as_json=True, summary=summary
                )
            output_lines = capsys.readouterr().out.splitlines()  # with logs among it, as no command redirected them
            return code, [json.loads(line) for line in output_lines if line.startswith("{")]

        store = Store(make_engine(database_url))
        await on(store, exempt=list(sites)).frontier.seed(["waits.example"], source="test")
        code, lines = await run_once(summary=False)
        request_count = len(served.seen)
        second_code, (only_line,) = await run_once(summary=True)
        seeded_rows = await rows(store, "SELECT host, source, referrer FROM hosts WHERE source = 'file' ORDER BY host")
        await store.close()
    assert code == second_code == DONE
    assert seeded_rows == [("bare.example", "file", "list"), ("good.example", "file", "list")]
    *hosts, summary_line = lines
    assert {host_row["host"]: host_row["outcome"] for host_row in hosts} == {
        "good.example": "found", "bare.example": "absent", "waits.example": "absent",
    }  # fmt: skip
    assert next(host_row["formats"] for host_row in hosts if host_row["host"] == "good.example") == ["adp"]
    summary = summary_line["summary"]
    assert (summary["hosts"], summary["formats"]) == (3, {"adp": 1})
    assert summary["requests"] == sum(host_row["requests"] for host_row in hosts) == request_count
    assert summary["seeded"]["refused"] == {"special_use": 1, "public_suffix": 1}
    assert (only_line["summary"]["hosts"], only_line["summary"]["seeded"]["known"]) == (0, 2), "nothing is due any more"


def test_hosts_and_a_list_exclude_each_other() -> None:
    for arguments in ([], ["one.com", "--from", "list"]):
        assert CliRunner().invoke(app, ["crawl", *arguments]).exit_code == USAGE
