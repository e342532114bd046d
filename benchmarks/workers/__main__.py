"""`python -m benchmarks.workers`: `waypost worker` as 1, 2, 4 and 8 processes on one queue, two of them killed.

Each worker has a network namespace, an address and an index of its own, as on a machine of its own; they share only
PostgreSQL. They crawl the farm of benchmarks/crawl. With more than two workers, two die by SIGKILL while they visit.
The farm's log says who asked whom and when: that tells the share of each worker, and whether two workers ever asked one
domain at the same time.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.crawl import farm, namespace, postgres
from benchmarks.crawl.nameserver import ADDRESSES
from benchmarks.crawl.report import machine, table, write_into
from benchmarks.crawl.web import sites
from registry.store.embedded_postgres import server as embedded

SERVER, TEMPLATE = "WAYPOST_BENCH_SERVER", "WAYPOST_BENCH_TEMPLATE"
KILLED: Final = 2
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_START: Final = 'read go; mount --bind "$1" /etc/resolv.conf && exec "$2" -m registry.cli worker'
_SEED: Final = """
import asyncio, sys
from registry.settings import Settings
from registry.wiring import open_waypost
async def main():
    async with open_waypost(Settings()) as waypost:
        report = await waypost.frontier.seed(sys.stdin.read().split(), source="benchmark")
        assert not report.refused, report.refused[:3]
asyncio.run(main())
"""
_LEFT: Final = "SELECT count(*) FROM domains WHERE lease_token IS NOT NULL OR next_visit_at <= now()"
_VISITS: Final = "SELECT count(*), count(DISTINCT host) FROM visits"
_OVERLAPPING: Final = """
SELECT count(*) FROM visits a JOIN visits b USING (domain)
WHERE (a.host, a.started_at) < (b.host, b.started_at) AND a.started_at < b.finished_at AND b.started_at < a.finished_at
"""


@dataclass(frozen=True, slots=True)
class Turn:
    """One run. `shares`: requests of each worker, killed ones last. `asked_at_once`: domains that two workers asked in
    turns, by the farm's log; `visited_at_once`: pairs of visits of one domain that overlap, by the database."""

    workers: int
    hosts: int
    visits: int
    cpu: float
    postgres: float
    wall: float
    killed: int
    shares: Sequence[int]
    begun_again: int
    asked_at_once: int
    visited_at_once: int

    def row(self) -> tuple[str, ...]:
        survivors = self.shares[: self.workers - self.killed]
        return (
            str(self.workers), f"{self.hosts:,}", f"{self.hosts / self.cpu:,.0f}", f"{1e3 * self.cpu / self.hosts:.2f}",
            f"{1e3 * self.postgres / self.hosts:.2f}", f"{self.wall:,.0f}", str(self.killed), str(self.begun_again),
            f"{min(survivors) / max(survivors):.2f}", str(self.visits - self.hosts),
            str(self.asked_at_once), str(self.visited_at_once),
        )  # fmt: skip


HEAD: Final = (
    "workers", "hosts", "hosts/CPU-s", "CPU ms/host", "PostgreSQL ms/host", "wall s", "killed",
    "domains asked again by another", "least share / largest", "hosts visited twice", "domains asked at once",
    "visits at once",
)  # fmt: skip


class Worker:
    """A worker behind a link to the farm's namespace."""

    def __init__(self, number: int, folder: Path, environment: dict[str, str]) -> None:
        self.address = f"10.9.{number}.2"
        self._log = (folder / f"worker-{number}.log").open("wb")
        arguments = [
            "unshare",
            "--net",
            "--mount",
            "sh",
            "-c",
            _START,
            "sh",
            str(folder / "resolv.conf"),
            sys.executable,
        ]
        data = {"WAYPOST_DATA": str(folder / f"data-{number}")}
        self.process = subprocess.Popen(
            arguments, env=environment | data, stdin=subprocess.PIPE, stdout=self._log, stderr=self._log
        )
        self._link(number)
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")
        self.process.stdin.close()
        self.cpu = self._before = 0.0

    def wait(self) -> None:
        """Return when it is ready to work; what it spent until then does not count."""
        while b"worker.started" not in Path(self._log.name).read_bytes():
            if self.process.poll() is not None:
                raise RuntimeError(Path(self._log.name).read_text()[-2000:])
            time.sleep(0.2)
        self.read_cpu()
        self._before, self.cpu = self.cpu, 0.0

    def _link(self, number: int) -> None:
        pid = str(self.process.pid)
        own = Path("/proc/self/ns/net").readlink()
        while Path(f"/proc/{pid}/ns/net").readlink() == own:
            time.sleep(0.01)
        # in the table `local`, because there every other address is local
        _run(f"ip link add farm{number} type veth peer name worker netns {pid}")
        _run(f"ip addr add 10.9.{number}.1/30 dev farm{number}")
        _run(f"ip link set farm{number} up")
        _run(f"ip route replace 10.9.{number}.2/32 dev farm{number} table local")
        inside = f"nsenter --net=/proc/{pid}/ns/net ip"
        for arguments in ("link set lo up", f"addr add {self.address}/30 dev worker", "link set worker up",
                          f"route add default via 10.9.{number}.1"):  # fmt: skip
            _run(f"{inside} {arguments}")

    def read_cpu(self) -> None:
        with suppress(OSError):
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
            self.cpu = (int(fields[11]) + int(fields[12])) / _TICKS - self._before

    def end(self, number: signal.Signals) -> None:
        self.read_cpu()
        self.process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        self.process.kill()
        self._log.close()


def _run(command: str) -> None:
    subprocess.run(command.split(), check=True)


def run(workers: int, hosts: int, folder: Path, web: farm.Farm, server: str, template: str, delay: float) -> Turn:
    with postgres.fresh(server, template) as database, tempfile.TemporaryDirectory(dir=folder) as scratch:
        home = Path(scratch)
        (home / "resolv.conf").write_text(f"nameserver {ADDRESSES[1]}\noptions timeout:5 attempts:3\n")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "DATABASE_"))},
            "DATABASE_URL": database, "WAYPOST_DATA": str(home), "SSL_CERT_FILE": str(web.authority),
            "SSL_CERT_DIR": str(home / "none"), "WAYPOST_REQUEST_DELAY": str(delay), "WAYPOST_REQUEST_TIMEOUT": "60",
            "WAYPOST_HOST_DEADLINE": "600", "WAYPOST_CONNECT_TIMEOUT": "30", "WAYPOST_LEASE_BATCH": "20",
            "WAYPOST_HOSTS_IN_FLIGHT": "100",
        }  # fmt: skip
        names = "\n".join(site.name for site in sites(hosts))
        log = folder / "access.log"
        start = log.stat().st_size if log.exists() else 0
        main = postgres.main_process(server)
        with _working(workers, home, environment) as group, postgres.connected(database) as reader:
            for worker in group:
                worker.wait()
            begun, spent = time.monotonic(), postgres.cpu(main)
            subprocess.run([sys.executable, "-c", _SEED], input=names, text=True, check=True, env=environment)
            doomed = group[-KILLED:] if workers > KILLED else []
            left = hosts
            while left:
                time.sleep(0.5)
                left = int(str((reader.execute(_LEFT).fetchone() or (0,))[0]))
                if doomed and left <= hosts * 0.6:
                    for worker in doomed:
                        worker.end(signal.SIGKILL)
                    doomed = []
                if all(worker.process.poll() is not None for worker in group):
                    raise RuntimeError(f"no worker is left:\n{(home / 'worker-1.log').read_text()[-2000:]}")
            wall, spent = time.monotonic() - begun, postgres.cpu(main) - spent
            visits, visited = (int(str(value)) for value in reader.execute(_VISITS).fetchone() or (0, 0))
            overlapping = int(str((reader.execute(_OVERLAPPING).fetchone() or (0,))[0]))
        with log.open() as lines:
            lines.seek(start)
            asked = [line.split() for line in lines]
    by_worker = Counter(address for _, address, _ in asked)
    again, at_once = _changes(asked)
    return Turn(workers, visited, visits, sum(worker.cpu for worker in group), spent, wall,
                KILLED if workers > KILLED else 0, [by_worker[worker.address] for worker in group], again,
                at_once, overlapping)  # fmt: skip


def _changes(asked: Sequence[list[str]]) -> tuple[int, int]:
    """Return how many domains a second worker asked after the first one, and how many the first one asked after that
    again: two at once."""
    askers: dict[str, list[str]] = {}
    for _, address, host in sorted(map(tuple, asked)):
        turns = askers.setdefault(host, [])
        if not turns or turns[-1] != address:
            turns.append(address)
    several = [turns for turns in askers.values() if len(turns) > 1]
    return len(several), sum(len(set(turns)) < len(turns) for turns in several)


@contextmanager
def _working(count: int, folder: Path, environment: dict[str, str]) -> Iterator[list[Worker]]:
    group: list[Worker] = []
    try:
        for number in range(1, count + 1):
            group.append(Worker(number, folder, environment))
        yield group
    finally:
        for worker in group:
            if worker.process.poll() is None:
                worker.end(signal.SIGTERM)
        for number in range(1, len(group) + 1):  # a link dies with the namespace of its other end, but not at once
            subprocess.run(["ip", "link", "del", f"farm{number}"], check=False, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8], help="numbers of workers (1 2 4 8)")
    parser.add_argument("--hosts", type=int, default=2_000, help="how many hosts (2,000)")
    parser.add_argument("--delay", type=float, default=0.1, help="seconds between two requests to a domain (0.1)")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the table into its place on that page")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        namespace.check_tools("nginx", "nsenter")
    except namespace.Missing as missing:
        sys.exit(f"the benchmark cannot run: {missing}")
    if SERVER in os.environ:
        _inside(options)
        return
    server = embedded.start(Path(tempfile.gettempdir()) / f"waypost-workers-{os.geteuid()}")
    try:
        with postgres.template(server.dsn) as template:
            variables = {SERVER: server.dsn, TEMPLATE: template}
            sys.exit(namespace.enter(sys.argv[1:], variables, "benchmarks.workers"))
    finally:
        server.release()


def _inside(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)
        namespace.enclose(folder)
        rows: list[tuple[str, ...]] = [HEAD]
        with farm.running(folder, options.hosts, logged=True) as web:
            for workers in options.workers:
                turn = run(workers, options.hosts, folder, web, os.environ[SERVER], os.environ[TEMPLATE], options.delay)
                rows.append(turn.row())
                print(turn, file=sys.stderr, flush=True)
        print(table(rows, markdown=False), machine(), sep="\n\n")
        if options.page is not None:
            write_into(options.page, "workers", f"{table(rows, markdown=True)}\n\n{machine()}")


if __name__ == "__main__":
    main()
