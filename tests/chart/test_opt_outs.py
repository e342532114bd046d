"""The hourly job of the chart merges the opt-outs of the database and of its file, also after a restore."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from registry.store.engine import libpq, sqlalchemy_url
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

pytestmark = pytest.mark.long

TEMPLATE = ROOT / "deploy" / "helm" / "waypost" / "templates" / "storage.yaml"


def script(claim: Path) -> str:
    text = TEMPLATE.read_text()
    command: Any = yaml.safe_load(text[text.index("command:\n") : text.index("{{- end }}")])
    shell, options, lines = command["command"]
    assert (shell, options) == ("sh", "-euc")
    return str(lines).replace("/opt-outs/", f"{claim}/")


async def test_no_opt_out_is_lost_by_the_hourly_job(tmp_path: Path, database_url: str) -> None:
    claim, pod = tmp_path / "claim", tmp_path / "pod"
    claim.mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "DATABASE_URL": database_url, "WAYPOST_DATA": str(tmp_path / "data")}

    async def run(folder: Path, *command: str) -> None:
        variables = environment | {"WAYPOST_OPT_OUT_FILE": str(folder / "opt-outs.log")}
        printed = await asyncio.to_thread(
            subprocess.run, command, env=variables, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
        )
        assert printed.returncode == 0, printed.stdout + printed.stderr

    def hosts() -> set[str]:
        with psycopg.connect(libpq(sqlalchemy_url(database_url))) as connection:
            return {host for (host,) in connection.execute("SELECT domain FROM opt_outs")}

    await run(pod, "waypost", "forget", "first.example", "--opt-out", "--yes")
    await run(claim, "sh", "-euc", script(claim))
    assert hosts() == {"first.example"}
    with psycopg.connect(libpq(sqlalchemy_url(database_url))) as connection:  # restored from a backup of before
        connection.execute("DELETE FROM opt_outs")
    await run(tmp_path / "new pod", "waypost", "forget", "second.example", "--opt-out", "--yes")
    await run(claim, "sh", "-euc", script(claim))
    assert hosts() == {"first.example", "second.example"}
    text = (claim / "opt-outs.log").read_text()
    assert "first.example" in text and "second.example" in text
