"""`waypost admin`: the decisions of operators, on their own machine."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from registry.cli import app
from registry.cli.common import DONE, NO, USAGE
from tests.cli.conftest import BIKES

pytestmark = pytest.mark.slow  # a database for each


def admin(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["admin", *arguments], catch_exceptions=False)


def state() -> str:
    shown = CliRunner().invoke(app, ["inspect", BIKES, "--json"], catch_exceptions=False)
    found: str = json.loads(shown.stdout)["state"]
    return found


def listed(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("begin", "end", "held"), [("block", "unblock", "blocked"), ("quarantine", "release", "not_listed")]
)
def test_a_host_is_held_and_released(registry: Path, begin: str, end: str, held: str) -> None:
    assert state() == "listed"
    result = admin(begin, BIKES, "--reason", "spam")
    assert (result.exit_code, BIKES in result.stdout) == (DONE, True)
    assert state() == held
    assert admin(begin, BIKES, "--reason", "spam").exit_code == NO
    (shown,) = listed(admin("blocks", "--json"))
    assert (shown["host"], shown["reason"], shown["actor"]) == (BIKES, "spam", "operator:cli")
    assert admin(end, BIKES).exit_code == DONE
    assert admin(end, BIKES).exit_code == NO
    assert state() in ("listed", "queued")
    assert admin("blocks").exit_code == NO


def test_a_reason_is_needed(registry: Path) -> None:
    assert admin("block", BIKES, "--reason", " ").exit_code == USAGE
    assert admin("block", BIKES).exit_code == USAGE
    assert admin("block", "not a host", "--reason", "x").exit_code != DONE
    assert state() == "listed"


def test_the_audit_log_shows_what_was_decided(registry: Path) -> None:
    assert admin("audit").exit_code == NO
    admin("block", BIKES, "--reason", "spam\u202e\x1b[2J")
    admin("keys", "add", "ops", "--scope", "queue")
    entries = listed(admin("audit", "--json"))
    assert [entry["action"] for entry in entries] == ["key.made", "host.blocked"]
    assert [entry["action"] for entry in listed(admin("audit", "--json", "--host", f"x.{BIKES}"))] == ["host.blocked"]
    assert len(listed(admin("audit", "--json", "--limit", "1"))) == 1
    text = admin("audit").stdout
    assert "host.blocked" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_keys_are_shown_once_and_revoked(registry: Path) -> None:
    made = json.loads(
        admin("keys", "add", "ops", "--scope", "queue", "--scope", "audit", "--expires", "7", "--json").stdout
    )
    assert made["token"].startswith(f"wp_key_{made['id']}_")
    assert made["scopes"] == ["audit", "queue"]
    assert made["expires_at"] is not None
    shown = admin("keys", "list").stdout
    assert made["id"] in shown
    assert made["token"] not in shown
    assert admin("keys", "revoke", made["id"]).exit_code == DONE
    assert admin("keys", "revoke", made["id"]).exit_code == NO
    assert "revoked" in admin("keys", "list").stdout
    assert admin("keys", "add", "ops", "--scope", "everything").exit_code == USAGE
    assert admin("keys", "add", "ops").exit_code == USAGE


def test_the_queue_is_counted(registry: Path) -> None:
    counts = json.loads(admin("queue", "--json").stdout)
    assert counts["domains"] == {"due": 1, "leased": 0, "waiting": 0, "never": 0}
    assert counts["submissions"] == 0
    assert "submissions that wait: 0" in admin("queue").stdout


def test_opt_outs_are_taken_to_another_machine(registry: Path, tmp_path: Path) -> None:
    CliRunner().invoke(app, ["forget", "pigeons.com", "--opt-out", "--yes"], catch_exceptions=False)
    exported = admin("opt-outs", "export")
    assert exported.exit_code == DONE
    assert json.loads(exported.stdout)["host"] == "pigeons.com"
    assert admin("opt-outs", "export", "--database").stdout == exported.stdout
    (registry / "opt-outs.log").rename(tmp_path / "of another machine")
    assert admin("opt-outs", "export").stdout == ""
    assert admin("opt-outs", "export", "--database").stdout == exported.stdout
    other = tmp_path / "other.log"
    other.write_text(exported.stdout.replace("x", "x") + "torn\n")
    replayed = admin("opt-outs", "replay", str(other), "--json")
    assert replayed.exit_code == NO, "a line cannot be read"
    assert json.loads(replayed.stdout.splitlines()[0]) == {
        "lines": 1, "opted_out": [], "readmitted": [], "unreadable": 1,
    }  # fmt: skip
    assert admin("opt-outs", "replay", str(tmp_path / "none.log")).exit_code == USAGE
