"""What a script sees when a command cannot work: one line, the documented exit code, and no secrets."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # a process for each


def waypost(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    told = subprocess.run(
        [sys.executable, "-m", "registry.cli", *arguments],
        env={**os.environ, "WAYPOST_DATA": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return told.returncode, told.stderr


@pytest.mark.parametrize("arguments", [("search", "x"), ("migrate",), ("worker",)])
def test_a_database_that_is_away_is_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))  # bound but not listening: refused
        url = f"postgresql://nobody:secret@127.0.0.1:{dead.getsockname()[1]}/none"
        code, said = waypost(tmp_path, *arguments, DATABASE_URL=url)
    assert code == 3
    assert "Connection refused" in said
    assert "Traceback" not in said and "secret" not in said


@pytest.mark.parametrize("url", ["mysql://a:secret@b/c", "http//a:secret@b", "postgresql://a:secret@b:port/c"])
def test_what_is_no_database_url_is_wrong_usage(tmp_path: Path, url: str) -> None:
    code, said = waypost(tmp_path, "search", "x", DATABASE_URL=url)
    assert code == 2
    assert "DATABASE_URL" in said and "Traceback" not in said and "secret" not in said


@pytest.mark.parametrize(("name", "value"), [("request_delay", "-1"), ("trusted_proxies", "10.0.0.0/8,proxy")])
def test_a_wrong_setting_is_wrong_usage(tmp_path: Path, name: str, value: str) -> None:
    code, said = waypost(tmp_path, "search", "x", **{f"WAYPOST_{name.upper()}": value})
    assert (code, name in said) == (2, True)


@pytest.mark.parametrize("arguments", [("--once", "dance"), ("prune",), ("--once", "--list")])
def test_a_schedule_that_is_asked_the_wrong_thing_opens_nothing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    code, said = waypost(tmp_path, "schedule", *arguments)
    assert code == 2 and "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_bad_folder_of_sites_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.example").mkdir()
    (tmp_path / "a.example" / "_site.json").write_text('{"sate": "dead"}')
    code, said = waypost(tmp_path, "demo", "--no-serve", "--sites", str(tmp_path), "--data", str(tmp_path / "data"))
    assert code == 2
    assert "_site.json: sate:" in said and "https://" not in said


def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    for arguments in (("demo", "--no-serve", "--data", str(taken)), ("search", "x")):
        code, said = waypost(taken, *arguments)
        assert code == 3
        assert str(taken) in said and "Traceback" not in said and "Errno" not in said


def test_a_port_that_is_taken_is_told_before_any_work(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for arguments in (("demo", "--port", port, "--data", str(tmp_path / "data")), ("serve", "--port", port)):
            code, said = waypost(tmp_path, *arguments)
            assert code == 3
            assert f"port {port}: Address already in use" in said and "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
