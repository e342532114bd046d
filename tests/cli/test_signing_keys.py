"""`waypost keys`: what it prints, and that it never prints a private key."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from registry.cli import app
from registry.cli.common import DONE, NO, UNAVAILABLE, USAGE


@pytest.fixture(autouse=True)
def _environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_DATA", str(tmp_path))
    monkeypatch.setenv("WAYPOST_PUBLIC_URL", "https://registry.example")
    monkeypatch.setattr("registry.wiring.signing_keys.LEAST_LEAD_SECONDS", 0)  # the first key signs at once


def keys(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["keys", *arguments], catch_exceptions=False)


def rows(result: Result) -> list[dict[str, str]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_life_of_a_key(tmp_path: Path) -> None:
    assert keys("list").exit_code == NO
    (first,) = rows(keys("new", "--json"))
    assert first["state"] == "in use"
    secret = json.loads(next((tmp_path / "signing-keys").iterdir()).read_text())["d"]
    rotated = {row["id"]: row["state"] for row in rows(keys("rotate", "--json"))}
    assert sorted(rotated.values()) == ["in use", "next"] and rotated[first["id"]] == "in use"
    assert keys("remove", first["id"]).exit_code == USAGE
    assert keys("remove", first["id"], "--force").exit_code == DONE
    assert keys("remove", first["id"]).exit_code == NO
    rows(keys("rotate", "--now", "--json"))
    printed = [keys("list"), keys("list", "--json"), keys("new"), keys("rotate")]
    assert all(result.exit_code == DONE and secret not in result.output for result in printed)
    private = [json.loads(path.read_text())["d"] for path in (tmp_path / "signing-keys").iterdir()]
    assert not any(text in result.output for text in private for result in printed)


def test_a_second_key_waits_until_sites_know_it() -> None:
    keys("new")
    (second,) = rows(keys("new", "--json"))
    assert second["state"] == "next" and second["listed_until"] is None


def test_unusable_files_and_addresses_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_PUBLIC_URL", "http://registry.example")
    assert "nothing is signed" in keys("new").output
    (tmp_path / "signing-keys" / "x.pem").write_text("no key")
    result = CliRunner().invoke(app, ["keys", "list"])
    assert result.exit_code == UNAVAILABLE and "x.pem is neither" in result.output
