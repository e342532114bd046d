"""`waypost` commands as processes on a data folder of their own: start them, kill them, and find what they left."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from registry.settings import Settings
from registry.wiring import Waypost, open_waypost
from tests.support.cluster import copy_cluster
from tests.support.demo import forget_database
from tests.support.hang import HANG_SECONDS, NETWORK_ENVIRONMENT, pause
from tests.support.shared import ROOT
from tests.support.sites import Sites


@dataclass
class Command:
    """A started command; its output goes to `log`."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def send_signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def exit_code(self, seconds: float = HANG_SECONDS) -> int:
        """Return its exit code. Fail with its output if it still runs after `seconds`."""
        await until(lambda: self.process.poll() is not None, seconds, lambda: f"it goes on: {self.output[-3000:]}")
        return int(self.process.returncode)

    async def line_with(self, words: str, seconds: float = HANG_SECONDS) -> str:
        """Return the first line of output with these words, as soon as it is there."""

        def find_line() -> str | None:
            return next((line for line in self.output.splitlines() if words in line), None)

        await until(
            lambda: find_line() or self.process.poll() is not None, seconds, lambda: f"no {words!r} in {self.output}"
        )
        matching_line = find_line()
        assert matching_line is not None, self.output
        return matching_line


@dataclass
class DataFolder:
    """A data folder, and the connect-to table through which everything that runs on it reaches `sites`."""

    data: Path
    environment: dict[str, str]
    commands: list[Command] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        return Settings(
            data=self.data,
            database_url=self.environment["DATABASE_URL"] or None,
            resolve="table",
            request_delay=0,
            connect_to=self.environment["WAYPOST_CONNECT_TO"],  # type: ignore[arg-type]  # read as from the environment
        )

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> Command:
        """Start a command in a session of its own, so that it gets no signal sent to this test's process group."""
        log = self.data.parent / f"{self.data.name}-{len(self.commands)}-{arguments[0]}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "registry.cli", *arguments],
                env=self.environment,
                cwd=ROOT,
                stdin=stdin,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.commands.append(Command(process, log))
        return self.commands[-1]

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Waypost]:
        """Open the registry in this process, which then counts as a user of the database."""
        async with open_waypost(self.settings) as waypost:
            yield waypost

    def workers(self) -> list[int]:
        """Return the process ids of the workers, supervised or not."""
        return [pid for pid in self._pids() if b"worker" in _read(pid, "cmdline").split(b"\0")]

    def processes(self) -> dict[int, str]:
        """Return the command line of every process that works on the folder, except this one."""
        return {pid: _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace") for pid in self._pids()}

    def postmaster(self) -> int | None:
        """Return the process id in its pid file. Right after a fork its children have the same command line."""
        try:
            pid = int((self.home() / "data" / "postmaster.pid").read_text().split()[0])
        except (OSError, IndexError):
            return None
        return pid if f"-D {self.home()}/data" in self.processes().get(pid, "") else None

    async def kill_postmaster(self) -> None:
        """Kill the database server, as soon as there is one."""
        await until(self.postmaster, HANG_SECONDS, lambda: f"no server among {self.processes()}")
        postmaster = self.postmaster()
        assert postmaster is not None
        _kill(postmaster)

    def home(self) -> Path:
        """Return the server's folder, which is elsewhere when the account that runs it cannot reach root's folder."""
        home = self.data / "postgres"
        link = home / "data"
        return link.readlink().parent if link.is_symlink() else home

    async def until_unused(self, seconds: float = HANG_SECONDS) -> None:
        """Fail if a process still runs on this folder after `seconds`."""
        await until(lambda: not self.processes(), seconds, lambda: f"still there: {self.processes()}")

    def kill_all(self) -> None:
        for command in self.commands:
            command.process.kill()
            command.process.wait()
        for pid in self.workers():
            _kill(pid)

    def _pids(self) -> list[int]:
        setting = f"WAYPOST_DATA={self.data}".encode()
        home = str(self.home()).encode()
        return [
            pid
            for pid in _all_processes()
            if pid != os.getpid()
            and _state(pid) != "Z"
            and (setting in _read(pid, "environ").split(b"\0") or home in _read(pid, "cmdline"))
        ]


@contextmanager
def new_data_folder(data: Path, web: Sites, authority: Path, database_url: str = "") -> Iterator[DataFolder]:
    """Yield a data folder that reaches `web`. Kill what a test left running there.

    Without the URL of a database it has a PostgreSQL of its own, which takes seconds to start and to stop.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "SSL_CERT"))}
    environment |= {
        "DATABASE_URL": database_url,
        "WAYPOST_DATA": str(data),
        "WAYPOST_RESOLVE": "table",
        "WAYPOST_REQUEST_DELAY": "0",
        "WAYPOST_READ_RATE": "1000000",
        "WAYPOST_PAGE_RATE": "1000000",
        **NETWORK_ENVIRONMENT,
        "WAYPOST_CONNECT_TO": ",".join(web.connect_to()),
        "SSL_CERT_FILE": str(authority),
    }
    data.mkdir(parents=True, exist_ok=True)
    data_folder = DataFolder(data, environment)
    if not database_url:
        copy_cluster(data / "postgres")
    try:
        yield data_folder
    finally:
        data_folder.kill_all()
        forget_database(data)


async def until(condition: Callable[[], object], seconds: float, message: Callable[[], str]) -> None:
    """Poll until the condition holds; fail with `message` after `seconds`."""
    deadline = time.monotonic() + seconds
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < deadline, message()
        await asyncio.sleep(pause(time.monotonic() - began, 0.05))
        began = time.monotonic()


def _all_processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _read(process: int, file_name: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{file_name}").read_bytes()
    except OSError:
        return b""


def _state(process: int) -> str:
    return _read(process, "stat").rpartition(b")")[2][1:2].decode()


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
