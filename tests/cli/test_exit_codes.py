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


WRONG = {
    "WAYPOST_READ_RATE": ("abc", "must be a whole number, at least 1; it is 'abc'"),
    "WAYPOST_REQUEST_BUDGET": ("0", "must be a whole number from 1 to 200; it is '0'"),
    "WAYPOST_HOSTS_IN_FLIGHT": ("9\x1b[31m", "must be a whole number from 1 to 20,000; it is '9\\x1b[31m'"),
    "WAYPOST_REQUEST_DELAY": ("-1", "must be a number from 0 to 60; it is '-1'"),
    "WAYPOST_HOST_DEADLINE": ("", "must be a number above 0, at most 3,600; it is empty"),
    "WAYPOST_LOG_LEVEL": ("loud", "must be one of DEBUG, INFO, WARNING, ERROR; it is 'loud'"),
    "WAYPOST_DUMP_RESTRICTED": ("perhaps", "must be true or false; it is 'perhaps'"),
    "WAYPOST_PUBLIC_URL": ("ftp://" + "x" * 500, "must be an http or https address without a query, such as https://"),
    "WAYPOST_TRUSTED_PROXIES": ("10.0.0.0/8,proxy", "'proxy' does not appear to be an IPv4 or IPv6 network"),
}


def test_all_wrong_settings_are_named_with_what_is_allowed(tmp_path: Path) -> None:
    code, stderr = waypost(tmp_path, "search", "x", **{name: value for name, (value, _) in WRONG.items()})
    lines = {line.split(": ")[1]: line for line in stderr.splitlines()}
    assert (code, set(lines)) == (2, set(WRONG))
    assert [name for name, (_, said) in WRONG.items() if said not in lines[name]] == []
    assert max(map(len, lines.values())) < 250


def test_an_unknown_variable_is_a_warning_with_the_nearest_name(tmp_path: Path) -> None:
    given = {"WAYPOST_READ_RATES": "5", "WAYPOST_DATABASE_URL": "postgresql://a:secret@b/c", "WAYPOST_QQ": ""}
    code, stderr = waypost(tmp_path, "search", "x", **given)
    warnings = [line.removeprefix("waypost: warning: ") for line in stderr.splitlines() if "warning" in line]
    assert code == 1 and "secret" not in stderr
    assert warnings == [
        "WAYPOST_DATABASE_URL is not a setting; did you mean DATABASE_URL?",
        "WAYPOST_QQ is not a setting; `waypost config` lists all settings",
        "WAYPOST_READ_RATES is not a setting; did you mean WAYPOST_READ_RATE?",
    ]


READS = (
    ("search", "send", "an", "email"), ("inspect", "a.example"), ("changes",),
    ("translate", "a.example", "--to", "awp"), ("schedule", "--list"), ("mirror", "--status"),
    ("verify-index",), ("export",), ("forget", "a.example", "--yes"),
    ("admin", "queue"), ("admin", "unblock", "a.example"), ("admin", "keys", "list"), ("webhooks", "list"),
)  # fmt: skip


@pytest.mark.parametrize("arguments", READS)
def test_commands_that_read_begin_no_registry(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """A server would take seconds to start, to answer that there is nothing."""
    folder = tmp_path / "none"
    code, stderr = waypost(folder, *arguments)
    assert (code, len(stderr.splitlines())) == (1, 1)
    assert f"{folder} holds no registry yet; `waypost crawl HOST`" in stderr
    assert not folder.exists()


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
