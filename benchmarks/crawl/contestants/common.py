"""Shared by all contestants: read the task, pin to a core, measure, print the result."""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.crawl.where import Where


@dataclass(frozen=True)
class Task:
    """A crawl. `delay`: seconds between two requests to one host. `extra`: options of a single contestant."""

    hosts: list[str]
    paths: list[str]
    in_flight: int
    delay: float = 0.0
    core: int | None = None
    timeout: float = 15.0
    connect_timeout: float = 5.0
    host_deadline: float = 120.0
    extra: dict[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        path.write_text(json.dumps(asdict(self)))
        return path


@dataclass
class Result:
    """The result. `cpu`: seconds of the contestant's process, with all its threads, during the crawl.

    `rss_start`: MB at the start of the measurement, after imports and preparation; `rss_peak`: the maximum since then.
    """

    hosts: int
    hits: int = 0
    answers: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    rss_start: float = 0.0
    rss_peak: float = 0.0
    notes: dict[str, Any] = field(default_factory=dict)


class Meter:
    """Measures CPU seconds, wall seconds and memory of this process from its creation until `stop`.

    With `where` in the task's `extra` it also profiles the CPU; it must then be created on the running event loop.
    """

    def __init__(self, task: Task) -> None:
        self._where = Where() if task.extra.get("where") else None
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak memory
        self._rss = _status("VmRSS")
        self._cpu, self._wall = cpu(), time.monotonic()

    def stop(self, result: Result) -> Result:
        result.cpu, result.wall = cpu() - self._cpu, time.monotonic() - self._wall
        result.rss_start, result.rss_peak = self._rss, _status("VmHWM")
        if self._where is not None:
            result.notes["where"] = self._where.stop()
        return result


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def rss() -> float:
    """Return the current resident memory of this process in MB."""
    return _status("VmRSS")


def run(contestant: Callable[[Task], Result]) -> None:
    """Run a contestant's program; the last line that it prints is its result."""
    task = Task(**json.loads(Path(sys.argv[1]).read_text()))
    if task.core is not None:
        os.sched_setaffinity(0, {task.core})
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))
    result = contestant(task)
    print(json.dumps(asdict(result)), flush=True)


def _status(field_name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field_name + ":"):
            return int(line.split()[1]) / 1024
    raise LookupError(field_name)
