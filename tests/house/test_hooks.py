"""What checks manifests in other repositories: the hook for pre-commit, and the action for GitHub.

pre-commit runs the hook with the environment of these tests, because its own would be installed from the web.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from registry.core.formats import FORMATS
from tests.support.builders import adp_manifest
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
PROGRAMS = Path(sys.executable).parent

LEFT_OUT = {
    # of other programs than agents too
    "/.well-known/http-message-signatures-directory", "/.well-known/jwks.json",
    "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource",
    # without a specification, or answers of a server
    "/.well-known/a2a-manifest.json", "/.well-known/acp.json", "/.well-known/ai.txt", "/.well-known/mcp",
    "/.well-known/mcp.json", "/.well-known/mcp/server-cards.json",
}  # fmt: skip
"""Paths of formats that the hook does not check unless its user says so."""

GOOD = {**adp_manifest("kiosk.example", "sell_ticket"), "description": "Sells tickets for trams and ferries."}


def test_the_hook_checks_the_well_known_paths_of_the_formats() -> None:
    paths = {path for form in FORMATS for path in form.paths if path.startswith("/.well-known/")}
    checked = {path for path in paths if re.search(HOOK["files"], f"public{path}")}
    assert paths - checked == LEFT_OUT
    for path in (".well-known/agent", "agent.json", "site/agents.json", "llms.txt"):
        assert re.search(HOOK["files"], path), path
    for path in ("package.json", "openapi.json", ".well-known/security.txt", "my-agent.json", "agent.json.md", "agent"):
        assert not re.search(HOOK["files"], path), path


@pytest.mark.slow
def test_pre_commit_runs_the_hook(tmp_path: Path) -> None:
    hooks, site = tmp_path / "hooks", tmp_path / "site"
    hooks.mkdir()
    manifest = hooks / ".pre-commit-hooks.yaml"
    manifest.write_text(yaml.safe_dump([{**HOOK, "language": "unsupported"}]))
    put(site / "public/.well-known/agent", json.dumps(GOOD))
    put(site / "broken.json", "{")
    commit(hooks)
    commit(site)
    checked = run([PROGRAMS / "pre-commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml"], tmp_path, tmp_path)
    assert checked.returncode == 0, checked.stdout
    command = [PROGRAMS / "pre-commit", "try-repo", hooks, HOOK["id"], "--all-files", "--verbose"]
    passed = run(command, site, tmp_path)
    assert passed.returncode == 0, passed.stdout
    assert "public/.well-known/agent: found" in passed.stdout and "broken.json" not in passed.stdout
    put(site / "public/agent.json", "{")
    commit(site)
    failed = run(command, site, tmp_path)
    assert failed.returncode == 1
    assert re.search(r"public/agent\.json:1:\d+: error: ", failed.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"path": "public/*.json\n"}, 1),
        ({"path": "public/*.json", "fail-on": "never"}, 0),
        ({"path": "good\n\nslash"}, 0),
        ({"path": "slash", "fail-on": "warning"}, 1),
        ({"path": "absent $(touch executed)", "fail-on": "never"}, 2),
        ({"path": "good", "fail-on": "sometimes"}, 2),
        ({}, 2),
    ],
)
def test_the_action_checks_and_keeps_the_log(tmp_path: Path, inputs: dict[str, str], code: int) -> None:
    put(tmp_path / "good", json.dumps(GOOD))
    put(tmp_path / "slash", json.dumps({**GOOD, "base_url": "https://kiosk.example/"}))
    put(tmp_path / "public/agent.json", "{")
    put(tmp_path / "public/a b.json", json.dumps(GOOD))
    link = tmp_path / "runner/waypost/bin/waypost"
    link.parent.mkdir(parents=True)
    link.symlink_to(PROGRAMS / "waypost")
    steps = {step.get("name"): step for step in ACTION["runs"]["steps"]}
    given = {name: value.get("default", "") for name, value in ACTION["inputs"].items()} | inputs
    environment = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], value)
        for name, value in steps["Check"]["env"].items()
    }
    environment |= {"RUNNER_TEMP": str(tmp_path / "runner"), "GITHUB_OUTPUT": str(tmp_path / "output")}
    script = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c"]
    checked = run([*script, steps["Check"]["run"]], tmp_path, tmp_path, environment)
    assert not (tmp_path / "executed").exists()
    if checked.returncode:
        assert (checked.returncode, "::error::" in checked.stdout) == (code, True), checked.stdout
        return
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    log = json.loads(Path(outputs["sarif"]).read_text())
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is (code != 2)
    result = run([*script, steps["Result"]["run"]], tmp_path, tmp_path, {"CODE": outputs["code"]})
    assert result.returncode == code, checked.stdout


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def commit(folder: Path) -> None:
    author = ("-c", "user.name=tests", "-c", "user.email=tests@example.org", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "-A"), (*author, "commit", "-q", "-m", "files")):
        completed = run(["git", *command], folder, folder)
        assert completed.returncode == 0, completed.stdout


def run(
    command: list[Any], folder: Path, home: Path, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    own = {"HOME": str(home), "PRE_COMMIT_HOME": str(home / "pre-commit"), "COLUMNS": "200"}
    own |= {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **own, **(environment or {})}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_SECONDS, check=False,
    )  # fmt: skip
