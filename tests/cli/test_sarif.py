"""`waypost check --sarif`: a log that code hosts accept, whatever the files contain."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from registry.cli import app
from registry.cli.check_result import sarif_log
from registry.cli.common import DONE, NO, USAGE
from registry.core.formats.adp import rules as adp_rules
from registry.core.model.findings import Severity
from registry.core.scoring.rubric import RUBRIC
from registry.core.scoring.sarif import FINGERPRINT
from tests.support.builders import adp_manifest, awp_manifest
from tests.support.sarif import assert_sarif
from tests.support.shared import ROOT

BODIES = sorted((ROOT / "tests" / "formats").glob("*/*/body"))


@pytest.fixture(autouse=True)
def cwd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("WAYPOST_PUBLIC_URL", raising=False)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def sarif(*arguments: str, code: int = NO) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["check", "--sarif", *arguments], catch_exceptions=False)
    assert result.exit_code == code
    assert result.stdout.isascii() and result.stdout.count("\n") == 1
    log = json.loads(result.stdout)
    assert_sarif(log)
    run: dict[str, Any] = log["runs"][0]
    return run


def write(path: Path, value: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))
    return str(path)


def artifact_uris(run: dict[str, Any]) -> set[tuple[str, str | None]]:
    locations = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"]]
    return {(location["uri"], location.get("uriBaseId")) for location in locations}


def flawed_manifest() -> dict[str, Any]:
    """Return a manifest with errors, warnings and notes."""
    return {**adp_manifest("kiosk.example", "a", "b"), "base_url": "https://kiosk.example/", "spec_version": 1}


def test_one_log_holds_all_targets(cwd: Path) -> None:
    run = sarif(write(cwd / "agent", flawed_manifest()), write(cwd / "agent.json", awp_manifest("bikes.example")))
    assert {uri for uri, _ in artifact_uris(run)} == {"agent", "agent.json"}
    assert {result["level"] for result in run["results"]} == {"error", "warning", "note"}
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        code for code in RUBRIC if any(result["ruleId"] == code for result in run["results"])
    ]
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_results_agree_with_the_json(cwd: Path) -> None:
    target = write(cwd / "agent", flawed_manifest())
    run = sarif(target)
    (line,) = CliRunner().invoke(app, ["check", "--json", target]).stdout.splitlines()
    levels = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    findings = {
        (finding["reason"], levels[finding["severity"]], finding["line"], finding["column"])
        for finding in json.loads(line)["documents"][0]["findings"]
    }
    results = set()
    for result in run["results"]:
        region = result["locations"][0]["physicalLocation"]["region"]
        results.add((result["ruleId"], result["level"], region["startLine"], region["startColumn"]))
    assert findings <= results
    assert {name.partition(".")[0] for name, *_ in results - findings} <= {"service", "capability"}


def test_files_are_named_relative_to_the_repository(cwd: Path) -> None:
    broken = '{"a": '
    inside = write(cwd / "public" / "a b#ü.json", broken)
    outside = write(cwd.parent / "elsewhere" / "agent.json", broken)
    run = sarif(inside, "./public/../public/a b#ü.json", outside)
    assert artifact_uris(run) == {
        ("public/a%20b%23%C3%BC.json", "%SRCROOT%"),
        (f"file://{cwd.parent.as_posix()}/elsewhere/agent.json", None),
    }


def test_standard_input_is_named_stdin() -> None:
    result = CliRunner().invoke(app, ["check", "--sarif", "-"], input="{")
    log = json.loads(result.stdout)
    assert_sarif(log)
    assert artifact_uris(log["runs"][0]) == {("stdin", "%SRCROOT%")}


def test_fingerprints_do_not_depend_on_line_numbers(cwd: Path) -> None:
    def fingerprints(run: dict[str, Any]) -> list[str]:
        return [result["partialFingerprints"][FINGERPRINT] for result in run["results"]]

    target = write(cwd / "agent", flawed_manifest())
    before = sarif(target)
    write(cwd / "agent", "\n\n" + json.dumps(flawed_manifest(), indent=8))
    after = sarif(target)
    lines = [
        [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in run["results"]]
        for run in (before, after)
    ]
    assert lines[0] != lines[1]
    assert sorted(fingerprints(before)) == sorted(fingerprints(after))
    assert len(set(fingerprints(after))) == len(after["results"])


def test_an_unreadable_target_is_a_failed_run(cwd: Path) -> None:
    run = sarif(write(cwd / "agent", flawed_manifest()), "gone.json", code=USAGE)
    (invocation,) = run["invocations"]
    (notice,) = invocation["toolExecutionNotifications"]
    assert (invocation["executionSuccessful"], notice["level"]) == (False, "error")
    assert "gone.json" in notice["message"]["text"]
    assert run["results"]


def test_texts_of_files_are_escaped(cwd: Path) -> None:
    manifest = flawed_manifest()
    manifest["pricing"] = {"type": "[pay](http://evil.example) {0} }{ \x1b[31m"}
    run = sarif(write(cwd / "agent", manifest), "gone [x](y) {1}", code=USAGE)
    text = next(result["message"]["text"] for result in run["results"] if result["ruleId"] == "adp.pricing")
    assert "[pay] (http" in text
    assert "{{0}}" in text


def test_rules_link_to_their_specification_or_the_rubric(cwd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write(cwd / "agent", flawed_manifest())
    broken = write(cwd / "broken", "{,}")
    rules = {rule["id"]: rule for rule in sarif(target, broken)["tool"]["driver"]["rules"]}
    assert rules["document.not_json"]["helpUri"] == "https://www.rfc-editor.org/rfc/rfc8259#section-2"
    assert "helpUri" not in rules["adp.version"]
    assert adp_rules.VERSION.fix in rules["adp.version"]["help"]["text"]
    monkeypatch.setenv("WAYPOST_PUBLIC_URL", "https://registry.example/")
    driver = sarif(target)["tool"]["driver"]
    assert driver["informationUri"] == "https://registry.example/"
    assert {rule["helpUri"] for rule in driver["rules"] if rule["id"] == "adp.version"} == {
        "https://registry.example/api/rubric"
    }


def test_an_empty_log_is_valid() -> None:
    assert_sarif(json.loads(sarif_log([])))


def test_every_fixture_makes_a_valid_log() -> None:
    run = sarif(*map(str, BODIES))
    assert len({result["ruleId"] for result in run["results"]}) > 100
    assert all("region" in result["locations"][0]["physicalLocation"] for result in run["results"])


def test_a_clean_run_passes(cwd: Path) -> None:
    manifest = {**adp_manifest("kiosk.example", "sell_ticket"), "description": "Sells tickets for trams and ferries."}
    assert sarif(write(cwd / "agent", manifest), code=DONE)["results"]
