"""`waypost` commands as processes on a data folder of their own: started, killed, and searched for what they left."""

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
from tests.support.demo import forget_database
from tests.support.shared import ROOT
from tests.support.sites import Sites

PATIENCE = 180.0
"""What hangs is given up after so many seconds. Nothing is measured by it: a command that takes too long to stop says
so itself, by its exit code (registry/cli/ending.py)."""


@dataclass
class Command:
    """A started command; its output goes to `log`."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def tell(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def ended(self, seconds: float = PATIENCE) -> int:
        """Its exit code. Fails with what it said when it goes on for longer."""
        await until(lambda: self.process.poll() is not None, seconds, lambda: f"it goes on: {self.said[-3000:]}")
        return int(self.process.returncode)

    async def says(self, words: str, seconds: float = PATIENCE) -> str:
        """The first line with these words, as soon as it is there."""

        def line() -> str | None:
            return next((one for one in self.said.splitlines() if words in one), None)

        await until(lambda: line() or self.process.poll() is not None, seconds, lambda: f"no {words!r} in {self.said}")
        found = line()
        assert found is not None, self.said
        return found


@dataclass
class House:
    """A data folder, and the one table by which everything that runs on it reaches `sites`."""

    data: Path
    environment: dict[str, str]
    commands: list[Command] = field(default_factory=list)

    @property
    def settings(self) -> Settings:
        return Settings(
            data=self.data,
            database_url=None,
            resolve="table",
            request_delay=0,
            connect_to=self.environment["WAYPOST_CONNECT_TO"],  # type: ignore[arg-type]  # read as from the environment
        )

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> Command:
        """In a session of its own: a signal to this test is none to it."""
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
        """In this process: it then counts as a user of the database."""
        async with open_waypost(self.settings) as waypost:
            yield waypost

    def workers(self) -> list[int]:
        """Process ids of the workers, supervised or not."""
        return [one for one in self._ours() if b"worker" in _read(one, "cmdline").split(b"\0")]

    def processes(self) -> dict[int, str]:
        """Every process that works on the folder, but this one: whom the folder's name gives away."""
        return {one: _read(one, "cmdline").replace(b"\0", b" ").decode(errors="replace") for one in self._ours()}

    def postmaster(self) -> int | None:
        """By its own word: in their first moment its children have its command line."""
        try:
            said = int((self.home() / "data" / "postmaster.pid").read_text().split()[0])
        except (OSError, IndexError):
            return None
        return said if f"-D {self.home()}/data" in self.processes().get(said, "") else None

    async def kill_postmaster(self) -> None:
        """As soon as there is one."""
        await until(self.postmaster, PATIENCE, lambda: f"no server among {self.processes()}")
        postmaster = self.postmaster()
        assert postmaster is not None
        _kill(postmaster)

    def home(self) -> Path:
        """Where the server lives: elsewhere when root's folder cannot be reached by the account that runs it."""
        home = self.data / "postgres"
        link = home / "data"
        return link.readlink().parent if link.is_symlink() else home

    async def is_empty(self, seconds: float = PATIENCE) -> None:
        """Fails when something still runs here after so long."""
        await until(lambda: not self.processes(), seconds, lambda: f"still there: {self.processes()}")

    def kill_all(self) -> None:
        for command in self.commands:
            command.process.kill()
            command.process.wait()
        for one in self.workers():
            _kill(one)

    def _ours(self) -> list[int]:
        setting = f"WAYPOST_DATA={self.data}".encode()
        home = str(self.home()).encode()
        return [
            one
            for one in _all_processes()
            if one != os.getpid()
            and _state(one) != "Z"
            and (setting in _read(one, "environ").split(b"\0") or home in _read(one, "cmdline"))
        ]


@contextmanager
def house(data: Path, served: Sites, authority: Path) -> Iterator[House]:
    """Whatever a test left running there is killed at the end."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "SSL_CERT"))}
    environment |= {
        "DATABASE_URL": "",
        "WAYPOST_DATA": str(data),
        "WAYPOST_RESOLVE": "table",
        "WAYPOST_REQUEST_DELAY": "0",
        "WAYPOST_CONNECT_TO": ",".join(served.connect_to()),
        "SSL_CERT_FILE": str(authority),
    }
    made = House(data, environment)
    try:
        yield made
    finally:
        made.kill_all()
        forget_database(data)


async def until(holds: Callable[[], object], seconds: float, otherwise: Callable[[], str]) -> None:
    """Polls; fails with `otherwise` when it takes longer."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, otherwise()
        await asyncio.sleep(0.05)


def _all_processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _read(process: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{what}").read_bytes()
    except OSError:
        return b""


def _state(process: int) -> str:
    return _read(process, "stat").rpartition(b")")[2][1:2].decode()


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
