"""`waypost check --sarif`: a log that code hosts take as it is, whatever the files hold."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from registry.cli import app
from registry.cli.porch import DONE, NO, USAGE
from registry.cli.sarif import FINGERPRINT, sarif_log
from registry.core.findings import Reason, Severity
from registry.core.scoring.rubric import RUBRIC
from tests.support.builders import adp_manifest, awp_manifest
from tests.support.sarif import assert_sarif
from tests.support.shared import ROOT

BODIES = sorted((ROOT / "tests" / "formats").glob("*/*/body"))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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


def places(run: dict[str, Any]) -> set[tuple[str, str | None]]:
    found = [one["locations"][0]["physicalLocation"]["artifactLocation"] for one in run["results"]]
    return {(one["uri"], one.get("uriBaseId")) for one in found}


def sloppy() -> dict[str, Any]:
    """Errors, warnings and notes."""
    return {**adp_manifest("kiosk.example", "a", "b"), "base_url": "https://kiosk.example/", "spec_version": 1}


def test_one_log_holds_all_targets(here: Path) -> None:
    run = sarif(write(here / "agent", sloppy()), write(here / "agent.json", awp_manifest("bikes.example")))
    assert {uri for uri, _ in places(run)} == {"agent", "agent.json"}
    assert {one["level"] for one in run["results"]} == {"error", "warning", "note"}
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        reason.value for reason in RUBRIC if any(one["ruleId"] == reason.value for one in run["results"])
    ]
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_results_agree_with_the_json(here: Path) -> None:
    target = write(here / "agent", sloppy())
    run = sarif(target)
    (line,) = CliRunner().invoke(app, ["check", "--json", target]).stdout.splitlines()
    levels = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    told = {
        (one["reason"], levels[one["severity"]], one["line"], one["column"])
        for one in json.loads(line)["documents"][0]["findings"]
    }
    shown = set()
    for one in run["results"]:
        region = one["locations"][0]["physicalLocation"]["region"]
        shown.add((one["ruleId"], one["level"], region["startLine"], region["startColumn"]))
    assert told <= shown
    assert {name.partition(".")[0] for name, *_ in shown - told} <= {"service", "capability"}


def test_files_are_named_as_a_repository_names_them(here: Path) -> None:
    broken = '{"a": '
    inside = write(here / "public" / "a b#ü.json", broken)
    outside = write(here.parent / "elsewhere" / "agent.json", broken)
    run = sarif(inside, "./public/../public/a b#ü.json", outside)
    assert places(run) == {
        ("public/a%20b%23%C3%BC.json", "%SRCROOT%"),
        (f"file://{here.parent.as_posix()}/elsewhere/agent.json", None),
    }


def test_standard_input_has_a_name() -> None:
    result = CliRunner().invoke(app, ["check", "--sarif", "-"], input="{")
    log = json.loads(result.stdout)
    assert_sarif(log)
    assert places(log["runs"][0]) == {("stdin", "%SRCROOT%")}


def test_fingerprints_outlive_moved_lines(here: Path) -> None:
    def prints(run: dict[str, Any]) -> list[str]:
        return [one["partialFingerprints"][FINGERPRINT] for one in run["results"]]

    target = write(here / "agent", sloppy())
    before = sarif(target)
    write(here / "agent", "\n\n" + json.dumps(sloppy(), indent=8))
    after = sarif(target)
    lines = [
        [one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in run["results"]]
        for run in (before, after)
    ]
    assert lines[0] != lines[1]
    assert sorted(prints(before)) == sorted(prints(after))
    assert len(set(prints(after))) == len(after["results"])


def test_what_could_not_be_read_is_a_failed_run(here: Path) -> None:
    run = sarif(write(here / "agent", sloppy()), "gone.json", code=USAGE)
    (invocation,) = run["invocations"]
    (notice,) = invocation["toolExecutionNotifications"]
    assert (invocation["executionSuccessful"], notice["level"]) == (False, "error")
    assert "gone.json" in notice["message"]["text"]
    assert run["results"]


def test_texts_of_files_are_no_markup(here: Path) -> None:
    manifest = sloppy()
    manifest["pricing"] = {"type": "[pay](http://evil.example) {0} }{ \x1b[31m"}
    run = sarif(write(here / "agent", manifest), "gone [x](y) {1}", code=USAGE)
    text = next(one["message"]["text"] for one in run["results"] if one["ruleId"] == "adp.pricing")
    assert "[pay] (http" in text
    assert "{{0}}" in text


def test_rules_tell_where_they_come_from(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write(here / "agent", sloppy())
    broken = write(here / "broken", "{,}")
    rules = {rule["id"]: rule for rule in sarif(target, broken)["tool"]["driver"]["rules"]}
    assert rules["document.not_json"]["helpUri"] == "https://www.rfc-editor.org/rfc/rfc8259#section-2"
    assert "helpUri" not in rules["adp.version"]
    assert RUBRIC[Reason.ADP_VERSION].fix in rules["adp.version"]["help"]["text"]
    monkeypatch.setenv("WAYPOST_PUBLIC_URL", "https://registry.example/")
    driver = sarif(target)["tool"]["driver"]
    assert driver["informationUri"] == "https://registry.example/"
    assert {rule["helpUri"] for rule in driver["rules"] if rule["id"] == "adp.version"} == {
        "https://registry.example/api/rubric"
    }


def test_nothing_wrong_is_a_log_too() -> None:
    assert_sarif(json.loads(sarif_log([])))


def test_every_fixture_makes_a_valid_log() -> None:
    run = sarif(*map(str, BODIES))
    assert len({one["ruleId"] for one in run["results"]}) > 100
    assert all("region" in one["locations"][0]["physicalLocation"] for one in run["results"])


def test_a_clean_run_passes(here: Path) -> None:
    manifest = {**adp_manifest("kiosk.example", "sell_ticket"), "description": "Sells tickets for trams and ferries."}
    assert sarif(write(here / "agent", manifest), code=DONE)["results"]
