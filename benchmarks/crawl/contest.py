"""Run the contestants in turns, each in a separate process, and collect their results."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.crawl import postgres
from benchmarks.crawl.contestants.common import Result, Task
from benchmarks.crawl.farm import Farm
from benchmarks.crawl.namespace import Missing

CONTESTANTS: dict[str, str] = {
    "waypost": "benchmarks.crawl.contestants.waypost",
    "waypost-signed": "benchmarks.crawl.contestants.waypost",
    "transport": "benchmarks.crawl.contestants.transport",
    "engine": "benchmarks.crawl.contestants.engine",
    "aiohttp": "benchmarks.crawl.contestants.plain_aiohttp",
    "aiohttp-uvloop": "benchmarks.crawl.contestants.plain_aiohttp",
    "scrapy-naive": "benchmarks.crawl.contestants.scrapy_naive",
    "scrapy-tuned": "benchmarks.crawl.contestants.scrapy_tuned",
    "go": "",
}
"""Name -> module to run; `go` is a separate program, built outside of the namespace."""

GO_SOURCE = Path(__file__).parent / "contestants" / "go" / "main.go"

EXTRA: Mapping[str, Mapping[str, Any]] = {"aiohttp-uvloop": {"uvloop": True}, "waypost-signed": {"signed": True}}


@dataclass
class Run:
    """One run of one contestant. `requests`: as counted by the farm."""

    contestant: str
    result: Result
    requests: int

    @property
    def ms(self) -> float:
        """CPU milliseconds per host."""
        return 1e3 * self.result.cpu / max(1, self.result.hosts)

    @property
    def postgres_ms(self) -> float:
        """CPU milliseconds of the database per host."""
        return 1e3 * float(self.result.notes.get("postgres", 0.0)) / max(1, self.result.hosts)


def build_go(folder: Path) -> Path:
    """Build the Go contestant and return its path. Raise Missing without a Go toolchain."""
    if shutil.which("go") is None:
        raise Missing("the contestant `go` needs a Go toolchain on PATH")
    program = folder / "go-contestant"
    environment = {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local"}
    subprocess.run(["go", "build", "-o", str(program), str(GO_SOURCE)], env=environment, check=True)
    return program


@dataclass
class Arena:
    """The environment of the contest: web farm, database server, folder and CPU core."""

    farm: Farm
    server: str  # URL of the PostgreSQL server
    template: str  # name of the migrated database on it
    folder: Path
    core: int | None  # of the contestants
    go: str | None = None
    _main: int = field(init=False)

    def __post_init__(self) -> None:
        self._main = postgres.main_process(self.server)

    def run(self, contestant: str, task: Task) -> Run:
        """Run one contestant on a fresh database. Raise RuntimeError when it fails."""
        with (
            tempfile.TemporaryDirectory(dir=self.folder) as folder,
            postgres.fresh(self.server, self.template) as database,
        ):
            resources = {"database_url": database, "postgres": self._main, "data": folder}
            extra = {**resources, **EXTRA.get(contestant, {}), **task.extra}
            full_task = Task(**{**vars(task), "extra": extra, "core": self.core})
            requests_before = self.farm.requests()
            result = self._run_program(contestant, full_task.write(Path(folder) / "task.json"))
            if contestant.startswith("waypost"):
                result.notes["seconds_per_host"] = postgres.seconds_per_visit(database)
            return Run(contestant, result, self.farm.requests() - requests_before)

    def _run_program(self, contestant: str, task: Path) -> Result:
        module = CONTESTANTS[contestant]
        command = [sys.executable, "-m", module, str(task)] if module else [self.go or "go-contestant", str(task)]
        if self.core is not None and not module:
            command = ["taskset", "-c", str(self.core), *command]
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "DATABASE_"))
        }
        certificates = {"SSL_CERT_FILE": str(self.farm.authority), "SSL_CERT_DIR": str(self.folder / "none")}
        completed = subprocess.run(command, env=environment | certificates, capture_output=True, text=True, check=False)
        if completed.returncode:
            raise RuntimeError(f"{contestant} failed ({completed.returncode}):\n{completed.stderr[-3000:]}")
        return Result(**json.loads(completed.stdout.splitlines()[-1]))


def contest(arena: Arena, tasks: Mapping[str, Task], rounds: int) -> Iterable[Run]:
    """Yield the runs: every contestant once per round, with a rotated order in each round."""
    for number in range(rounds):
        names = list(tasks)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            yield arena.run(name, tasks[name])
