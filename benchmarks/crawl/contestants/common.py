"""What every contestant does alike: read its task, keep to its core, say what it took."""

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
    """What is to be crawled. `delay`: seconds between two requests to one host. `extra` is a contestant's own."""

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
    """What it came to. CPU is that of the contestant's process, with all its threads, while it crawled.

    `rss_start`: MB when the clock started, after imports and preparations; `rss_peak`: the most since then.
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
    """CPU seconds, seconds and memory of this process from its making until `stop`.

    With `where` in the task's `extra` also where the CPU went; to be made on the running event loop then.
    """

    def __init__(self, task: Task) -> None:
        self._where = Where() if task.extra.get("where") else None
        Path("/proc/self/clear_refs").write_text("5")  # the peak of memory starts anew
        self._rss = _status("VmRSS")
        self._cpu, self._wall = cpu(), time.monotonic()

    def stop(self, result: Result) -> Result:
        result.cpu, result.wall = cpu() - self._cpu, time.monotonic() - self._wall
        result.rss_start, result.rss_peak = self._rss, _status("VmHWM")
        if self._where is not None:
            result.notes["where"] = self._where.stop()
        return result


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def rss() -> float:
    """MB of memory that this process has now."""
    return _status("VmRSS")


def run(contestant: Callable[[Task], Result]) -> None:
    """The whole program of a contestant; its result is the last line that it prints."""
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
