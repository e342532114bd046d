"""A command that cannot work prints one line and no secrets, and exits with the documented code."""

import os
import socket
from pathlib import Path

import pytest

from tests.support import forked

pytestmark = pytest.mark.slow  # a process for each


def waypost(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    completed = forked.waypost(arguments, {**os.environ, "WAYPOST_DATA": str(folder), **environment})
    return completed.returncode, completed.stderr.decode()


@pytest.mark.parametrize("arguments", [("search", "x"), ("migrate",), ("worker",)])
def test_an_unavailable_database_is_reported_in_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))  # bound but not listening, so connections are refused
        url = f"postgresql://nobody:secret@127.0.0.1:{dead.getsockname()[1]}/none"
        code, stderr = waypost(tmp_path, *arguments, DATABASE_URL=url)
    assert code == 3
    assert "Connection refused" in stderr
    assert "Traceback" not in stderr and "secret" not in stderr


@pytest.mark.parametrize("url", ["mysql://a:secret@b/c", "http//a:secret@b", "postgresql://a:secret@b:port/c"])
def test_an_invalid_database_url_is_a_usage_error(tmp_path: Path, url: str) -> None:
    code, stderr = waypost(tmp_path, "search", "x", DATABASE_URL=url)
    assert code == 2
    assert "DATABASE_URL" in stderr and "Traceback" not in stderr and "secret" not in stderr


@pytest.mark.parametrize(("name", "value"), [("request_delay", "-1"), ("trusted_proxies", "10.0.0.0/8,proxy")])
def test_an_invalid_setting_is_a_usage_error(tmp_path: Path, name: str, value: str) -> None:
    code, stderr = waypost(tmp_path, "search", "x", **{f"WAYPOST_{name.upper()}": value})
    assert (code, name in stderr) == (2, True)


@pytest.mark.parametrize("arguments", [("--once", "dance"), ("prune",), ("--once", "--list")])
def test_wrong_arguments_of_schedule_open_nothing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    code, stderr = waypost(tmp_path, "schedule", *arguments)
    assert code == 2 and "Traceback" not in stderr
    assert list(tmp_path.iterdir()) == []


def test_a_bad_folder_of_sites_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.example").mkdir()
    (tmp_path / "a.example" / "_site.json").write_text('{"sate": "dead"}')
    code, stderr = waypost(tmp_path, "demo", "--no-serve", "--sites", str(tmp_path), "--data", str(tmp_path / "data"))
    assert code == 2
    assert "_site.json: sate:" in stderr and "https://" not in stderr


def test_an_unusable_data_folder_is_reported(tmp_path: Path) -> None:
    existing_file = tmp_path / "taken"
    existing_file.touch()
    for arguments in (("demo", "--no-serve", "--data", str(existing_file)), ("search", "x")):
        code, stderr = waypost(existing_file, *arguments)
        assert code == 3
        assert str(existing_file) in stderr and "Traceback" not in stderr and "Errno" not in stderr


def test_a_used_port_is_reported_before_any_work(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        for arguments in (("demo", "--port", port, "--data", str(tmp_path / "data")), ("serve", "--port", port)):
            code, stderr = waypost(tmp_path, *arguments)
            assert code == 3
            assert f"port {port}: Address already in use" in stderr and "Traceback" not in stderr
    assert list(tmp_path.iterdir()) == []
