"""Figures as lines, as tables, and beside what was hoped for."""

import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.crawl.contest import Run
from benchmarks.crawl.lists import Goal, Trial, Turns

LEAST_MS = {"rooms": 0.0005, "functions": 0.01}


def line(run: Run) -> str:
    """One run, as it ends."""
    result, own = run.result, run.postgres_ms
    database = f" (PostgreSQL {own:.2f})" if own else ""
    return (
        f"{run.contestant:16} {result.hosts:7,} hosts {run.ms:7.3f} ms CPU/host{database}"
        f" {1e3 / run.ms:7.0f} hosts/CPU-s {run.requests / result.hosts:5.1f} requests/host"
        f" {result.hits:5} hits {result.wall:7.1f} s {result.rss_start:5.0f} -> {result.rss_peak:5.0f} MB"
        + "".join(f", {count} {outcome}" for outcome, count in result.notes.get("outcomes", {}).items())
    )


def as_json(run: Run) -> dict[str, Any]:
    return {"contestant": run.contestant, "ms": run.ms, "requests": run.requests, **asdict(run.result)}


def summary(trial: Trial, runs: Sequence[Run], *, markdown: bool) -> str:
    """Medians over the rounds as a table, what was hoped for, the machine; with `--where` the rooms."""
    turns: dict[str, list[Run]] = {}
    for run in runs:
        turns.setdefault(run.contestant, []).append(run)
    rows = [_COLUMNS, *(_row(name, some, turns) for name, some in turns.items())]
    goals = [_GOALS, *(_goal(one) for one in trial.goals(turns) if one.got is not None)]
    parts = [table(rows, markdown)]
    if len(goals) > 1:
        parts.append(table(goals, markdown))
    parts += [" ".join(said)] if (said := trial.remarks(turns)) else []
    parts += [_where(name, some, markdown) for name, some in turns.items() if "where" in some[0].result.notes]
    return "\n" + "\n\n".join([*parts, machine()])


def write_into(page: Path, key: str, tables: str) -> None:
    """Puts the tables between the two marks of that key. Raises LookupError for a page without them."""
    begin, end = f"<!-- {key} -->", f"<!-- /{key} -->"
    text = page.read_text()
    if begin not in text or end not in text:
        raise LookupError(f"{page} has no place marked {begin}")
    before, after = text.partition(begin)[0], text.partition(end)[2]
    page.write_text(f"{before}{begin}\n{tables.strip()}\n{end}{after}")


_COLUMNS = ("", "hosts", "CPU ms/host", "PostgreSQL ms/host", "hosts/CPU-s", "× aiohttp", "requests/host", "wall s",
            "hosts/s", "s/host", "peak MB")  # fmt: skip
_PACKAGES = ("scrapy", "aiohttp", "pyreqwest", "uvloop")
_GOALS = ("", "goal", "measured", "met")


def _row(name: str, some: Sequence[Run], turns: Turns) -> tuple[str, ...]:
    cost, result = median(run.ms for run in some), some[-1].result
    wall = median(run.result.wall for run in some)
    aiohttp = median(run.ms for run in turns["aiohttp"]) if "aiohttp" in turns else None
    own = median(run.postgres_ms for run in some)
    each = [run.result.notes["seconds_per_host"] for run in some if "seconds_per_host" in run.result.notes]
    return (
        name,
        f"{result.hosts:,}",
        f"{cost:.2f}",
        f"{own:.2f}" if own else "",
        f"{1e3 / cost:.0f}",
        f"{aiohttp / cost:.2f}" if aiohttp else "",
        f"{median(run.requests / run.result.hosts for run in some):.1f}",
        f"{wall:.1f}",
        f"{result.hosts / wall:.0f}",
        f"{median(each):.1f}" if each else "",
        f"{max(run.result.rss_peak for run in some):.0f}",
    )


def _goal(one: Goal) -> tuple[str, ...]:
    assert one.got is not None
    return (one.says, f"{'≤' if one.at_most else '≥'} {one.wanted:,g}", f"{one.got:,.2f}", "yes" if one.met else "NO")


def _where(contestant: str, some: Sequence[Run], markdown: bool) -> str:
    """CPU milliseconds per host by room, the medians of all rounds, then the functions."""
    parts = []
    for kind, least in LEAST_MS.items():
        found: dict[str, list[float]] = {}
        for run in some:
            for name, seconds in run.result.notes["where"][kind].items():
                found.setdefault(name, []).append(1e3 * seconds / run.result.hosts)
        spent = {name: median(values + [0.0] * (len(some) - len(values))) for name, values in found.items()}
        rows = [(name, f"{ms:.3f}") for name, ms in sorted(spent.items(), key=lambda one: -one[1]) if ms >= least]
        if kind == "rooms":
            rows.append(("all of it", f"{sum(spent.values()):.3f}"))
        parts.append(table([(f"{contestant}: {kind}", "CPU ms/host"), *rows], markdown))
    watching = median(1e3 * run.result.notes["where"]["watching"] / run.result.hosts for run in some)
    steps = median(run.result.notes["where"]["steps"] / run.result.hosts for run in some)
    return "\n\n".join([*parts, f"({steps:.0f} steps of tasks per host; watching took {watching:.3f} ms beside that)"])


def table(rows: Sequence[tuple[str, ...]], markdown: bool) -> str:
    """Columns in which nobody has anything are left out."""
    used = [at for at in range(len(rows[0])) if at == 0 or any(row[at] for row in rows[1:])]
    rows = [tuple(row[at] for at in used) for row in rows]
    if markdown:
        head = ["| " + " | ".join(rows[0]) + " |", "| --- |" + " ---: |" * (len(used) - 1)]
        return "\n".join([*head, *("| " + " | ".join(row) + " |" for row in rows[1:])])
    widths = [max(len(row[at]) for row in rows) for at in range(len(used))]
    return "\n".join(
        "  ".join(cell.ljust(width) if at == 0 else cell.rjust(width)
                  for at, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    )  # fmt: skip


def machine(*names: str) -> str:
    """Processor, versions of those packages, commit: what a figure belongs to."""
    models = [row for row in Path("/proc/cpuinfo").read_text().splitlines() if row.startswith("model name")]
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    packages = ", ".join(f"{name} {version(name)}" for name in names or _PACKAGES)
    return (
        f"{os.cpu_count()} cores of {models[0].partition(': ')[2] if models else platform.machine()}, "
        f"load {os.getloadavg()[0]:.1f}, CPython {platform.python_version()}, {packages}, "
        f"commit {commit.stdout.strip() or 'unknown'}"
    )
