"""Prometheus itself judges the alerts and the dashboard: it reads the rules, tries each, and is asked every query."""

import json
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.cluster import free_ports, process, until_answered
from tests.chart.tools import HERE
from tests.support.hang import HANG_SECONDS
from tests.support.queries import ALERTS, shipped_queries
from tests.support.shared import ROOT

pytestmark = pytest.mark.long

PROMETHEUS = ROOT / "deploy" / "prometheus"


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not on PATH (Debian: prometheus)")
    return found


def promtool(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program("promtool"), *arguments],
        cwd=folder, capture_output=True, text=True, timeout=HANG_SECONDS, check=False,
    )  # fmt: skip


def test_the_rules_and_the_scrape_configuration_are_read(tmp_path: Path) -> None:
    text = (PROMETHEUS / "scrape.yml").read_text().replace("/etc/prometheus/waypost", str(PROMETHEUS))
    (tmp_path / "prometheus.yml").write_text(text)
    printed = promtool("check", "config", "prometheus.yml", folder=tmp_path)
    assert printed.returncode == 0, printed.stderr
    assert "rules found" in printed.stdout


def tried(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    rules = yaml.safe_load(text)
    for group in rules["groups"]:
        for rule in group["rules"]:
            del rule["annotations"]
    (folder / "alerts.yml").write_text(yaml.safe_dump(rules))
    shutil.copy(HERE / "alerts_test.yml", folder)
    return promtool("test", "rules", "alerts_test.yml", folder=folder)


def test_every_alert_is_silent_when_it_must_be_and_fires_when_it_must(tmp_path: Path) -> None:
    text = (PROMETHEUS / "alerts.yml").read_text()
    printed = tried(tmp_path, text)
    assert printed.returncode == 0, printed.stdout + printed.stderr


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_that_never_fires_or_always_does_is_found(tmp_path: Path, rule: dict[str, Any]) -> None:
    for expression in ("vector(0) > 0", "vector(1)"):
        rules = [one | {"expr": expression} if one is rule else one for one in ALERTS]
        printed = tried(tmp_path, yaml.safe_dump({"groups": [{"name": "planted", "rules": rules}]}))
        assert printed.returncode != 0 and rule["alert"] in printed.stdout + printed.stderr


def test_a_prometheus_answers_every_query(tmp_path: Path) -> None:
    (tmp_path / "prometheus.yml").write_text("{}\n")
    (port,) = free_ports(1)
    command: list[str | Path] = [
        program("prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    log = tmp_path / "log"
    with process(command, log) as started:
        until_answered(f"http://127.0.0.1:{port}/-/ready", started, log)
        for where, query in [*shipped_queries(), ("planted", "sum by (")]:
            url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
            try:
                with urllib.request.urlopen(url, timeout=HANG_SECONDS) as response:
                    status = json.load(response)["status"]
            except urllib.error.HTTPError as refused:
                status = json.load(refused)["error"]
            assert (status == "success") is (where != "planted"), (where, status)
