"""`waypost crawl` with very many names: refused ones are named, and do not keep the others from being visited."""

import json
from pathlib import Path

import pytest

from registry.actions.frontier.frontier import KEPT
from registry.cli.common import NO
from registry.cli.crawling import run_crawl
from registry.cli.terminal import CleanConsole
from registry.settings import Settings
from tests.support.builders import ADP, adp_manifest
from tests.support.sites import Reply, Sites

HOST = "pigeons.example"


async def test_every_refused_name_is_printed_and_the_others_are_visited(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = [f"bad_name{number}.{HOST}" for number in range(KEPT + 5)]
    async with Sites({HOST: {ADP: Reply(json.dumps(adp_manifest(HOST, "send")))}}) as web:
        monkeypatch.setenv("SSL_CERT_FILE", str(web.write_authority(tmp_path)))
        settings = Settings(
            data=tmp_path, database_url=database_url, connect_to=web.connect_to(), resolve="table", request_delay=0
        )
        assert await run_crawl(settings, [*refused, HOST], console=CleanConsole(), as_json=True) == NO
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert [row["host"] for row in results if row.get("state") == "refused"] == refused
    assert HOST in [row["host"] for row in results if row.get("state") != "refused"]
