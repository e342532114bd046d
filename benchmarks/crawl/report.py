"""Figures as lines, as tables, and beside what was hoped for."""

import os
import platform
import ssl
import subprocess
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.crawl.contest import Run


def line(run: Run) -> str:
    """One run, as it ends."""
    result, own = run.result, run.postgres_ms
    database = f" (PostgreSQL {own:.2f})" if own else ""
    return (
        f"{run.contestant:15} {result.hosts:7,} hosts {run.ms:7.3f} ms CPU/host{database}"
        f" {1e3 / run.ms:7.0f} hosts/CPU-s"
        f" {run.requests / result.hosts:5.1f} requests/host {result.hits:5} hits {result.wall:7.1f} s"
        f" {result.rss_start:5.0f} -> {result.rss_peak:5.0f} MB"
    )


def as_json(run: Run) -> dict[str, Any]:
    return {"contestant": run.contestant, "ms": run.ms, "requests": run.requests, **asdict(run.result)}


def by_contestant(runs: list[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.contestant, []).append(run)
    return found


def machine() -> str:
    """Processor, versions, commit: what a figure belongs to."""
    model = [row for row in Path("/proc/cpuinfo").read_text().splitlines() if row.startswith("model name")]
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    packages = ", ".join(f"{name} {version(name)}" for name in ("scrapy", "aiohttp", "pyreqwest", "uvloop"))
    return (
        f"{os.cpu_count()} cores of {model[0].partition(': ')[2] if model else platform.machine()}, "
        f"CPython {platform.python_version()}, {ssl.OPENSSL_VERSION.rpartition(' ')[0][:20].strip()}, {packages}, "
        f"commit {commit.stdout.strip() or 'unknown'}"
    )


def summary(chosen: Any, runs: list[Run], *, markdown: bool) -> str:
    found = by_contestant(runs)
    costs = {name: median(run.ms for run in turns) for name, turns in found.items()}
    rows = []
    for name, turns in found.items():
        ratio = f"{costs['aiohttp'] / costs[name]:.2f}" if "aiohttp" in costs else ""
        rows.append(
            f"{name:15} {costs[name]:7.3f} ms {1e3 / costs[name]:6.0f} hosts/CPU-s {ratio:>6} x aiohttp "
            f"{max(run.result.rss_peak for run in turns):6.0f} MB"
        )
    wheres = [where(name, turns) for name, turns in found.items() if "where" in turns[0].result.notes]
    return "\n".join(["", machine(), *rows, *wheres])


def where(contestant: str, turns: list[Run]) -> str:
    """CPU milliseconds per host by room, the medians of all rounds, then the functions of the main thread."""
    rows = [f"\n{contestant}: CPU ms per host by room ({len(turns)} rounds)"]
    for kind, least in (("rooms", 0.0005), ("functions", 0.01)):
        found: dict[str, list[float]] = {}
        for run in turns:
            for name, seconds in run.result.notes["where"][kind].items():
                found.setdefault(name, []).append(1e3 * seconds / run.result.hosts)
        spent = {name: median(values + [0.0] * (len(turns) - len(values))) for name, values in found.items()}
        rows += [f"{ms:8.3f}  {name}" for name, ms in sorted(spent.items(), key=lambda one: -one[1]) if ms >= least]
        rows.append(f"{sum(spent.values()):8.3f}  all of it\n" if kind == "rooms" else "")
    watching = median(1e3 * run.result.notes["where"]["watching"] / run.result.hosts for run in turns)
    steps = median(run.result.notes["where"]["steps"] / run.result.hosts for run in turns)
    return "\n".join([*rows, f"({steps:.0f} steps of tasks per host; watching cost {watching:.3f} ms more)"])
