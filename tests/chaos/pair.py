"""A primary and a synchronous standby, each in a network namespace of its own that can be cut off."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from registry.settings import Settings
from registry.wiring import migrate_database
from tests.flow.kills import print_line
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

_ENCLOSE: Final = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
"""The end of the program ends every process, namespace and mount that it made."""

NETWORK: Final = "10.99.0."
DATABASE: Final = "waypost"
SECONDS: Final = 420
"""Time for a scenario."""


def binaries() -> Path | None:
    """Return the folder of the newest PostgreSQL of this machine that has pg_basebackup; None if there is none."""
    folders = Path("/usr/lib/postgresql").glob("*/bin")
    complete = [folder for folder in folders if (folder / "postgres").exists() and (folder / "pg_basebackup").exists()]
    return max(complete, key=lambda folder: int(folder.parent.name), default=None)


def why_not(*tools: str) -> str | None:
    """Return why this machine cannot run the enclosed programs; None if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs Linux and root: it makes network namespaces"
    if missing := [tool for tool in ("unshare", "ip", "setpriv", *tools) if shutil.which(tool) is None]:
        return f"needs {', '.join(missing)}"
    if subprocess.run([*_ENCLOSE, "true"], check=False, capture_output=True).returncode:
        return "this machine does not allow namespaces"
    return None


def run_enclosed(module: str, *arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a module of the tests in namespaces of its own, without any network. Raise TimeoutExpired."""
    return subprocess.run(
        [*_ENCLOSE, sys.executable, "-m", module, *arguments],
        cwd=ROOT, check=False, capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip


def report_of(module: str, name: str) -> dict[str, Any]:
    """Run a scenario, show its report and return it. Skip the test where this machine cannot run it."""
    if reason := why_not():
        pytest.skip(reason)
    if binaries() is None:
        pytest.skip("needs a PostgreSQL server of the system with pg_basebackup")
    ran = run_enclosed(module, name, seconds=SECONDS)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    report: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    print_line(json.dumps(report))
    return report


def enclose() -> None:
    """Set up loopback and a bridge for the servers; exit if this is not a namespace of our own."""
    if sh("ip", "-o", "link").count("\n") != 1 or sh("ip", "route") or sh("ip", "-6", "route"):
        sys.exit("there is more than loopback here: not a namespace of our own")
    Path("/run/netns").mkdir(exist_ok=True)
    sh("mount", "-t", "tmpfs", "none", "/run/netns")
    sh("ip", "link", "set", "lo", "up")
    sh("ip", "link", "add", "br0", "type", "bridge")
    sh("ip", "address", "add", f"{NETWORK}1/24", "dev", "br0")
    sh("ip", "link", "set", "br0", "up")


def sh(*words: str) -> str:
    """Run a command and return its output. Fail with what it said."""
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANG_SECONDS)
    assert ran.returncode == 0, f"{' '.join(words)}: {ran.stdout}{ran.stderr}"
    return ran.stdout


@dataclass
class Server:
    """A PostgreSQL in its own namespace. `name` is the namespace's, `folder` must be reachable for its account."""

    name: str
    number: int
    folder: Path
    binaries: Path

    @property
    def address(self) -> str:
        return f"{NETWORK}{self.number}"

    @property
    def data(self) -> Path:
        return self.folder / self.name

    def add_network(self) -> None:
        """Connect a new namespace to the bridge. Neighbours are fixed, so that a cut is silence, not an ICMP error."""
        inner, outer = f"in{self.number}", f"out{self.number}"
        sh("ip", "netns", "add", self.name)
        sh("ip", "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", self.name)
        sh("ip", "link", "set", outer, "master", "br0", "up")
        for command in ("link set lo up", f"address add {self.address}/24 dev {inner}", f"link set {inner} up"):
            sh("ip", "-n", self.name, *command.split())
        mac = sh("ip", "netns", "exec", self.name, "cat", f"/sys/class/net/{inner}/address").strip()
        sh("ip", "neigh", "replace", self.address, "lladdr", mac, "dev", "br0", "nud", "permanent")

    def run(self, program: str, *arguments: str) -> str:
        """Run one of PostgreSQL's programs as its account, in the namespace."""
        account = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
        return sh("ip", "netns", "exec", self.name, *account, str(self.binaries / program), *arguments)

    def create(self) -> None:
        """Make an empty cluster that trusts the network."""
        self.run("initdb", "-D", str(self.data), "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        with (self.data / "postgresql.conf").open("a") as conf:
            conf.write("listen_addresses = '*'\nunix_socket_directories = ''\nmax_connections = 200\n")
        with (self.data / "pg_hba.conf").open("a") as hba:
            hba.write(f"host all,replication all {NETWORK}0/24 trust\n")

    def copy(self, primary: "Server") -> None:
        """Make a standby of the primary, under this server's name."""
        source = f"host={primary.address} user=postgres application_name={self.name}"
        self.run("pg_basebackup", "-d", source, "-D", str(self.data), "-R", "-c", "fast", "--no-sync")

    def start(self) -> None:
        log = self.folder / f"{self.name}.log"
        self.run("pg_ctl", "start", "-w", "-s", "-D", str(self.data), "-l", str(log))

    def promote(self) -> None:
        self.run("pg_ctl", "promote", "-w", "-s", "-D", str(self.data))

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to every process of the server, as the death or the freeze of its machine would."""
        for pid in sh("ip", "netns", "pids", self.name).split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), number)

    def cut(self, is_cut: bool = True) -> None:
        """Let every packet from and to the server vanish, or let them pass again."""
        sh("ip", "link", "set", f"out{self.number}", *(("nomaster",) if is_cut else ("master", "br0")))

    def rows(self, statement: str, seconds: int = 20) -> list[tuple[Any, ...]]:
        """Return the rows of a query by the superuser. Raise psycopg.Error."""
        with psycopg.connect(
            host=self.address, user="postgres", dbname=DATABASE, autocommit=True, connect_timeout=seconds,
            application_name="chaos",
        ) as connection:  # fmt: skip
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []


def start_one(folder: Path) -> Server:
    """Return a running server with an empty database."""
    found = binaries()
    assert found is not None
    shutil.chown(folder, "postgres")
    server = Server("one", 11, folder, found)
    server.add_network()
    server.create()
    server.start()
    place = ("-h", server.address, "-U", "postgres")
    server.run("createdb", *place, "-T", "template0", "-E", "UTF8", "--locale=C.UTF-8", DATABASE)
    return server


async def migrate(folder: Path, *servers: Server) -> str:
    """Bring the schema of the servers' database up to date; return the URL that names them all."""
    addresses = ",".join(server.address for server in servers)
    url = f"postgresql://postgres@{addresses}/{DATABASE}?target_session_attrs=read-write"
    await migrate_database(Settings(data=folder, database_url=url))
    return url


def start_pair(folder: Path) -> tuple[Server, Server]:
    """Return a primary and its synchronous standby, running, with an empty database."""
    primary = start_one(folder)
    standby = Server("two", 12, folder, primary.binaries)
    standby.add_network()
    standby.copy(primary)
    standby.start()
    primary.rows(f"ALTER SYSTEM SET synchronous_standby_names = '{standby.name}'")
    primary.rows("SELECT pg_reload_conf()")
    wait(
        lambda: primary.rows("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"),
        "no synchronous standby",
        30,
    )
    return primary, standby


def wait(condition: Callable[[], object], message: str, seconds: float = HANG_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, message
        time.sleep(0.1)
