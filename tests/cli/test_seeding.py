"""`waypost seed` and `waypost crawl --from`: what is told, what is kept, exit codes a script can trust."""

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
from registry.actions.frontier.seed import seed as add
from registry.cli import app
from registry.cli.onepass import run_from
from registry.cli.porch import DONE, NO, USAGE
from registry.cli.seeding import seeds
from registry.core.seeds import OWN_LISTS
from registry.store.engine import make_engine
from registry.store.records import CandidateRecord
from registry.store.unit_of_work import Store
from tests.crawler.support import settings
from tests.support.builders import ADP, NOW, adp_manifest
from tests.support.database import database_server, database_template, database_url, rows
from tests.support.shared import ROOT
from tests.support.sites import Reply, Sites

__all__ = ["database_server", "database_template", "database_url"]


@pytest.fixture
def seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str) -> Any:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("WAYPOST_DATA", str(tmp_path / "data"))

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["seed", *arguments], catch_exceptions=False)

    return invoke


def stored(database_url: str, statement: str) -> list[tuple[Any, ...]]:
    async def read() -> list[tuple[Any, ...]]:
        store = Store(make_engine(database_url))
        try:
            return await rows(store, statement)
        finally:
            await store.close()

    return asyncio.run(read())


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_every_source_has_a_command_and_a_place_in_the_manual() -> None:
    commands = {
        one.name or one.callback.__name__.replace("_", "-") for one in seeds.registered_commands if one.callback
    }
    manual = (ROOT / "docs" / "seeds.md").read_text()
    for source in SEEDS:
        assert {"document": "links"}.get(source.slug, source.slug) in commands
        assert f"`{source.slug}`" in manual, "the provenance that it leaves"
    assert len(commands) == len(SEEDS)
    assert {source.slug for source in SEEDS if "name of the file" in source.referrer} == OWN_LISTS
    assert all(f"waypost seed {command}" in manual for command in commands)


def test_a_list_is_told_and_its_provenance_kept(seed: Any, tmp_path: Path, database_url: str) -> None:
    path = written(tmp_path, "mine.txt", "one.com\nhttps://two.com/\nco.uk\nOne.com\n")
    answer = seed("file", path)
    assert answer.exit_code == DONE
    assert answer.stdout.splitlines() == [
        "file: 4 names: 1 new hosts, 1 new domains, 1 known before, 2 refused",
        "  1 has_scheme: give the host name only, without a scheme",
        "    https://two.com/  (line 2)",
        "  1 public_suffix: this is a public suffix: names are registered below it",
        "    co.uk  (line 3)",
        "  with --urls the hosts of URLs are taken",
    ]
    kept = tmp_path / "refused"
    again = seed("file", path, "--urls", "--name", "my list", "--refused", str(kept), "--json")
    assert json.loads(again.stdout) == {
        "source": "file", "names": 4, "domains": 1, "hosts": 1, "known": 2, "refused": {"public_suffix": 1},
        "examples": {"public_suffix": ["co.uk"]}, "complete": True,
    }  # fmt: skip
    (line,) = kept.read_text().splitlines()
    assert json.loads(line) == {
        "name": "co.uk", "code": "public_suffix", "referrer": "my list", "place": 3,
        "message": "this is a public suffix: names are registered below it",
    }  # fmt: skip
    assert stored(database_url, "SELECT host, source, referrer FROM hosts ORDER BY host") == [
        ("one.com", "file", "mine.txt"),
        ("two.com", "file", "my list"),
    ]


def test_the_top_of_a_ranked_list(seed: Any, tmp_path: Path, database_url: str) -> None:
    path = written(tmp_path, "top.csv", "1,one.com\r\n2,two.com\r\n3,three.com\r\n")
    assert seed("tranco", path, "--limit", "2").exit_code == DONE
    ranked = stored(database_url, "SELECT domain, source FROM domains ORDER BY next_visit_at")
    assert ranked == [("one.com", "tranco"), ("two.com", "tranco")]


def test_a_column_of_a_table(seed: Any, tmp_path: Path, database_url: str) -> None:
    path = written(tmp_path, "t.tsv", "kind\tsite\nx\thttps://one.com/\n")
    assert seed("csv", path, "--column", "Site", "--urls").exit_code == DONE
    assert stored(database_url, "SELECT host, source, referrer FROM hosts") == [("one.com", "csv", "t.tsv")]


def test_a_saved_list_of_servers(seed: Any, tmp_path: Path, database_url: str) -> None:
    document = {"name": "com.one/x", "remotes": [{"type": "sse", "url": "https://mcp.one.com/"}]}
    path = written(tmp_path, "servers.json", json.dumps({"servers": [{"server": document}]}))
    assert seed("mcp-registry", "--file", path).exit_code == DONE
    expected = [("mcp.one.com", "one.com", "mcp-registry", "com.one/x")]
    assert stored(database_url, "SELECT host, domain, source, referrer FROM hosts") == expected


def test_links_of_stored_documents(seed: Any, database_url: str) -> None:
    async def name() -> None:
        store = Store(make_engine(database_url))
        async with store.begin() as uow:
            await uow.candidates.add(
                CandidateRecord("com" if bad else f"n{n}.com", "com" if bad else f"n{n}.com", "x.com", "ard", "x", NOW)
                for n, bad in enumerate([False] * 3 + [True])
            )
        await store.close()

    asyncio.run(name())
    answer = seed("links")
    assert answer.exit_code == DONE
    assert answer.stdout.splitlines()[0] == "document: 4 names: 3 new hosts, 3 new domains, 0 known before, 1 refused"
    assert stored(database_url, "SELECT DISTINCT source, referrer FROM hosts") == [("document", "x.com")]
    assert seed("links").exit_code == DONE


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
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
    seed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "words.txt", "not a name\n")
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b and nothing else")
    answer = seed(*arguments)
    assert (answer.exit_code, says in answer.stderr) == (code, True), answer.stderr


@pytest.mark.slow
def test_standard_input_a_sitemap_and_names_that_would_speak_to_the_terminal(tmp_path: Path, database_url: str) -> None:
    environment = {
        **os.environ,
        "DATABASE_URL": database_url,
        "WAYPOST_DATA": str(tmp_path),
        "WAYPOST_RESOLVE": "table",
    }
    told = subprocess.run(
        [sys.executable, "-m", "registry.cli", "seed", "file", "-"],
        input=b"one.com\nb\xff.com\n\x1b[31mred.com\n", env=environment, capture_output=True, timeout=180, check=False,
    )  # fmt: skip
    assert told.returncode == DONE, told.stderr
    assert b"1 new hosts" in told.stdout and b"\x1b" not in told.stdout
    told = subprocess.run(
        [sys.executable, "-m", "registry.cli", "seed", "sitemap", "https://nowhere.com/s.xml", "--json"],
        env=environment, capture_output=True, timeout=180, check=False,
    )  # fmt: skip
    assert told.returncode == NO, told.stderr
    assert json.loads(told.stdout)["refused"] == {"source_not_read": 1}


@pytest.mark.slow
def test_who_waits_for_more_of_standard_input_can_be_interrupted(tmp_path: Path, database_url: str) -> None:
    environment = {**os.environ, "DATABASE_URL": database_url, "WAYPOST_DATA": str(tmp_path)}
    command = [sys.executable, "-m", "registry.cli", "seed", "file", "-"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"one.com\n")
        process.stdin.flush()
        until = time.monotonic() + 120
        while _unread(process.stdin) and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(120) == 130
        finally:
            process.kill()


def _unread(pipe: IO[bytes]) -> int:
    """Bytes that the other side has not taken yet (pipe(7), FIONREAD)."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.slow
async def test_one_pass_visits_the_list_and_all_that_waits_and_tells_each_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hit = {ADP: Reply(json.dumps(adp_manifest("good.example")))}
    sites = {"good.example": hit, "bare.example": {}, "waits.example": {}}
    path = written(tmp_path, "list", "# mine\ngood.example\nbare.example\nabsent.example\nco.uk\n")
    async with Sites(sites) as served:
        monkeypatch.setenv("SSL_CERT_FILE", str(served.write_authority(tmp_path)))
        table = served.connect_to()
        told = settings(*table, database_url=database_url, data=tmp_path / "data")

        async def once(*, summary: bool) -> tuple[int, list[dict[str, Any]]]:
            with opened(path) as source:
                code = await run_from(told, source, urls=False, console=Console(), as_json=True, summary=summary)
            said = capsys.readouterr().out.splitlines()  # logs among it: no command has sent them elsewhere
            return code, [json.loads(line) for line in said if line.startswith("{")]

        store = Store(make_engine(database_url))
        await add(store, ["waits.example"], source="test", now=NOW, exempt=list(sites))
        code, lines = await once(summary=False)
        asked = len(served.seen)
        again, (only,) = await once(summary=True)
        kept = await rows(store, "SELECT host, source, referrer FROM hosts WHERE source = 'file' ORDER BY host")
        await store.close()
    assert code == again == DONE
    assert kept == [("bare.example", "file", "list"), ("good.example", "file", "list")]
    *hosts, last = lines
    assert {one["host"]: one["outcome"] for one in hosts} == {
        "good.example": "found", "bare.example": "absent", "waits.example": "absent",
    }  # fmt: skip
    assert next(one["formats"] for one in hosts if one["host"] == "good.example") == ["adp"]
    summary = last["summary"]
    assert (summary["hosts"], summary["formats"]) == (3, {"adp": 1})
    assert summary["requests"] == sum(one["requests"] for one in hosts) == asked
    assert summary["seeded"]["refused"] == {"special_use": 1, "public_suffix": 1}
    assert (only["summary"]["hosts"], only["summary"]["seeded"]["known"]) == (0, 2), "nothing is due any more"


def test_hosts_and_a_list_exclude_each_other() -> None:
    for arguments in ([], ["one.com", "--from", "list"]):
        assert CliRunner().invoke(app, ["crawl", *arguments]).exit_code == USAGE
