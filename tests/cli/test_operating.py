"""`waypost doctor`, `status` and `config`: what an operator asks a registry, each fault with its remedy."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from registry.settings import Settings, variable
from registry.store.diagnosis import examine
from registry.store.engine import libpq, sqlalchemy_url
from registry.wiring import utc_now
from tests.support import forked
from tests.support.pooler import needs_pgbouncer, pooled
from tests.support.terminal import run_on_terminal

pytestmark = pytest.mark.slow  # a process for each


def run(*arguments: str, **environment: str) -> tuple[int, list[str], str]:
    """Return the exit code, the lines of standard output, and standard error."""
    ended = forked.waypost(arguments, {**os.environ, "WAYPOST_RESOLVE": "table", **environment})
    assert b"Traceback" not in ended.stderr, ended.stderr.decode()
    return ended.returncode, ended.stdout.decode().splitlines(), ended.stderr.decode()


def findings(**environment: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the exit code of `doctor`, and its worst finding of each check."""
    code, lines, _ = run("doctor", "--json", **environment)
    order = ("ok", "warning", "error")
    worst: dict[str, dict[str, Any]] = {}
    for found in map(json.loads, lines):
        known = worst.get(found["check"])
        if known is None or order.index(found["level"]) > order.index(known["level"]):
            worst[found["check"]] = found
    return code, worst


def test_a_sound_registry_has_no_error(registry: Path) -> None:
    code, found = findings()
    assert code == 0, found
    named = "settings contact proxies disk keys database schema clock index crawlers schedule names egress"
    assert set(found) >= {*named.split(), "session locks"}
    assert {name for name, one in found.items() if one["level"] != "ok" and not one["remedy"]} == set()
    assert found["crawlers"]["level"] == found["schedule"]["level"] == found["contact"]["level"] == "warning"


FAULTS = (
    ({"WAYPOST_TRUSTED_PROXIES": "10.0.0.0/8,0.0.0.0/0"}, "proxies", "error", "0.0.0.0/0"),
    ({"WAYPOST_TRUSTED_PROXIES": "::/0"}, "proxies", "error", "::/0"),
    ({"WAYPOST_PUBLIC_URL": "http://registry.example.org"}, "proxies", "warning", "in the clear"),
    ({"WAYPOST_PUBLIC_URL": "https://registry.example.org"}, "proxies", "warning", "one limit"),
    ({"WAYPOST_PUBLIC_URL": "https://10.1.2.3"}, "contact", "warning", "https://10.1.2.3/bot"),
    ({"WAYPOST_CONTACT_URL": "https://bot.example.org/\x1b[31m"}, "contact", "ok", "\x1b"),  # as JSON; no terminal
    ({"WAYPOST_MAX_CONNECTION": "5"}, "settings", "warning", "WAYPOST_MAX_CONNECTION"),
    ({"MEILI_URL": "http://127.0.0.1:9"}, "index", "error", "http://127.0.0.1:9"),
    ({"DATABASE_URL": "postgresql://a:secret@127.0.0.1:9/none"}, "database", "error", "refused"),
    ({"DATABASE_URL": "mysql://a:secret@127.0.0.1/none"}, "database", "error", "DATABASE_URL"),
)


@pytest.mark.parametrize(("environment", "check", "level", "words"), FAULTS)
def test_a_fault_is_found(registry: Path, environment: dict[str, str], check: str, level: str, words: str) -> None:
    code, found = findings(**environment)
    assert (found[check]["level"], words in found[check]["text"]) == (level, True), found[check]
    assert (code, "secret" in str(found)) == (int(level == "error"), False)


def test_an_empty_database_has_no_schema(tmp_path: Path, empty_database_url: str) -> None:
    code, found = findings(DATABASE_URL=empty_database_url, WAYPOST_DATA=str(tmp_path))
    assert (code, found["schema"]["level"], "waypost migrate" in found["schema"]["text"]) == (1, "error", True)
    assert "index" not in found
    with psycopg.connect(libpq(sqlalchemy_url(empty_database_url)), autocommit=True) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num text)")
        connection.execute("INSERT INTO alembic_version VALUES ('abcdef012345')")
    code, found = findings(DATABASE_URL=empty_database_url, WAYPOST_DATA=str(tmp_path))
    assert (code, "abcdef012345, which is newer" in found["schema"]["text"]) == (1, True)


def test_keys_that_others_can_read_are_an_error(registry: Path) -> None:
    assert run("keys", "new")[0] == 0
    (key,) = (registry / "signing-keys").glob("*.jwk")
    assert findings()[1]["keys"]["level"] == "ok"
    key.chmod(0o644)
    assert findings()[1]["keys"]["level"] == "ok", "the folder is closed to others"
    key.parent.chmod(0o755)
    code, found = findings()
    assert (code, found["keys"]["level"], str(key) in found["keys"]["text"]) == (1, "error", True)
    key.write_text("{}")
    assert findings()[1]["keys"]["level"] == "error"


def test_a_folder_without_a_registry_is_no_error_and_stays_as_it_is(tmp_path: Path) -> None:
    code, found = findings(WAYPOST_DATA=str(tmp_path / "none"), DATABASE_URL="")
    assert (code, found["database"]["level"]) == (0, "warning")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    code, found = findings(WAYPOST_DATA=str(tmp_path / "file" / "data"), DATABASE_URL="")
    assert (code, found["folders"]["level"]) == (1, "error")


@needs_pgbouncer
@pytest.mark.parametrize(("mode", "keeps"), [("transaction", False), ("session", True)])
async def test_a_pooler_that_shares_sessions_is_noticed(database_url: str, mode: str, keeps: bool) -> None:
    with pooled(database_url, mode, takes_options=True) as url:
        assert (await examine(url, utc_now)).keeps_sessions is keeps


def test_status_says_what_is_wrong_until_it_is_right(registry: Path, database_url: str) -> None:
    code, lines, stderr = run("status", "--json")
    assert lines, stderr
    (shown,) = map(json.loads, lines)
    assert (code, shown["healthy"], shown["services"], shown["index"]["state"]) == (1, False, 1, "missing")
    assert any("waypost schedule" in problem for problem in shown["problems"])
    assert run("reindex")[0] == run("schedule", "--once", "prune")[0] == 0
    with psycopg.connect(libpq(sqlalchemy_url(database_url)), autocommit=True) as connection:
        connection.execute("UPDATE domains SET next_visit_at = now() + interval '1 day'")
    code, lines, _ = run("status", "--json")
    (shown,) = map(json.loads, lines)
    assert (code, shown["healthy"], shown["problems"]) == (0, True, [])
    assert shown["schedule"]["jobs"]["prune"]["outcome"] == "done"
    code, lines, _ = run("status")
    labels = [line.split()[0] for line in lines]
    assert labels[:9] == [
        "waypost", "folder", "database", "services", "queue", "crawlers", "visits", "index", "schedule"
    ]  # fmt: skip
    assert (code, labels[-1]) == (0, "well")
    assert "\x1b" not in "".join(lines)


def test_status_of_a_lost_database_is_one_line(tmp_path: Path) -> None:
    url = "postgresql://a:secret@127.0.0.1:9/none"
    code, lines, stderr = run("status", DATABASE_URL=url, WAYPOST_DATA=str(tmp_path))
    assert (code, lines, "secret" in stderr) == (3, [], False)
    assert len([line for line in stderr.splitlines() if line.startswith("waypost:")]) == 1


def test_config_shows_where_values_are_from_and_no_secret(tmp_path: Path) -> None:
    given = {
        "WAYPOST_DATA": "/elsewhere", "DATABASE_URL": "postgresql://a:secret@b/c", "MEILI_MASTER_KEY": "secret",
        "MEILI_URL": "http://me:secret@search.example:7700", "WAYPOST_READ_RATE": "7", "WAYPOST_CONTACT_EMAIL": "",
        "waypost_connect_to": "a.example:443:127.0.0.1:1,b.example:443:127.0.0.1:2",
    }  # fmt: skip
    code, lines, _ = run("config", "--json", "--data", str(tmp_path), **given)
    shown = {one["variable"]: one for one in map(json.loads, lines)}
    assert code == 0 and list(shown) == [variable(name) for name in Settings.model_fields]
    assert "secret" not in "".join(line.replace('"secret":', "") for line in lines)
    assert (shown["WAYPOST_DATA"]["value"], shown["WAYPOST_DATA"]["origin"]) == (str(tmp_path), "command line")
    assert (shown["WAYPOST_READ_RATE"]["value"], shown["WAYPOST_READ_RATE"]["origin"]) == ("7", "environment")
    assert (shown["DATABASE_URL"]["value"], shown["DATABASE_URL"]["set"]) == (None, True)
    assert shown["MEILI_INDEX"]["origin"] == "default"
    assert shown["WAYPOST_CONNECT_TO"]["value"] == given["waypost_connect_to"]
    code, lines, _ = run("config", "--changed", **given)
    assert {line.split()[0] for line in lines if not line.startswith(" ")} >= {"WAYPOST_DATA", "DATABASE_URL"}
    assert "MEILI_INDEX" not in "\n".join(lines)
    assert max(map(len, lines)) <= 120 and "secret" not in "".join(lines)


@pytest.mark.parametrize(("preference", "is_coloured"), [("NO_COLOR=", True), ("NO_COLOR=1", False)])
def test_errors_are_coloured_on_a_terminal_unless_not_wanted(
    tmp_path: Path, preference: str, is_coloured: bool
) -> None:
    environment = {**os.environ, "WAYPOST_DATA": str(tmp_path), "WAYPOST_QQ": "1"}
    command = ["env", preference, sys.executable, "-m", "registry.cli", "search", "x"]
    code, output = run_on_terminal(command, environment)
    assert (code, output.count(b"\n"), b"\x1b[3" in output) == (1, output.count(b"\n"), is_coloured)
    assert b"warning" in output and b"holds no registry yet" in output
