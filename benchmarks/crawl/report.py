"""Format results as lines, as tables, and compared with the goals."""

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
    """Return one run as a line of text."""
    result, database_ms = run.result, run.postgres_ms
    database = f" (PostgreSQL {database_ms:.2f})" if database_ms else ""
    return (
        f"{run.contestant:16} {result.hosts:7,} hosts {run.ms:7.3f} ms CPU/host{database}"
        f" {1e3 / run.ms:7.0f} hosts/CPU-s {run.requests / result.hosts:5.1f} requests/host"
        f" {result.hits:5} hits {result.wall:7.1f} s {result.rss_start:5.0f} -> {result.rss_peak:5.0f} MB"
        + "".join(f", {count} {outcome}" for outcome, count in result.notes.get("outcomes", {}).items())
    )


def as_json(run: Run) -> dict[str, Any]:
    return {"contestant": run.contestant, "ms": run.ms, "requests": run.requests, **asdict(run.result)}


def summary(trial: Trial, runs: Sequence[Run], *, markdown: bool) -> str:
    """Return medians over the rounds, goals, and the machine as text; with `--where` also CPU by part of the code."""
    turns: dict[str, list[Run]] = {}
    for run in runs:
        turns.setdefault(run.contestant, []).append(run)
    rows = [_COLUMNS, *(_row(name, contestant_runs, turns) for name, contestant_runs in turns.items())]
    goals = [_GOALS, *(_goal(goal) for goal in trial.goals(turns) if goal.measured is not None)]
    parts = [table(rows, markdown)]
    if len(goals) > 1:
        parts.append(table(goals, markdown))
    parts += [" ".join(remarks)] if (remarks := trial.remarks(turns)) else []
    parts += [
        _profile_tables(name, contestant_runs, markdown)
        for name, contestant_runs in turns.items()
        if "where" in contestant_runs[0].result.notes
    ]
    return "\n" + "\n\n".join([*parts, machine()])


def write_into(page: Path, key: str, tables: str) -> None:
    """Write the tables between the two marks of the key. Raise LookupError for a page without the marks."""
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


def _row(name: str, runs: Sequence[Run], turns: Turns) -> tuple[str, ...]:
    cost, result = median(run.ms for run in runs), runs[-1].result
    wall = median(run.result.wall for run in runs)
    aiohttp = median(run.ms for run in turns["aiohttp"]) if "aiohttp" in turns else None
    database_ms = median(run.postgres_ms for run in runs)
    seconds_per_host = [run.result.notes["seconds_per_host"] for run in runs if "seconds_per_host" in run.result.notes]
    return (
        name,
        f"{result.hosts:,}",
        f"{cost:.2f}",
        f"{database_ms:.2f}" if database_ms else "",
        f"{1e3 / cost:.0f}",
        f"{aiohttp / cost:.2f}" if aiohttp else "",
        f"{median(run.requests / run.result.hosts for run in runs):.1f}",
        f"{wall:.1f}",
        f"{result.hosts / wall:.0f}",
        f"{median(seconds_per_host):.1f}" if seconds_per_host else "",
        f"{max(run.result.rss_peak for run in runs):.0f}",
    )


def _goal(goal: Goal) -> tuple[str, ...]:
    assert goal.measured is not None
    return (
        goal.description,
        f"{'≤' if goal.at_most else '≥'} {goal.target:,g}",
        f"{goal.measured:,.2f}",
        "yes" if goal.met else "NO",
    )


def _profile_tables(contestant: str, runs: Sequence[Run], markdown: bool) -> str:
    """Return tables of CPU milliseconds per host, by part of the code and by function, as medians of all rounds."""
    parts = []
    for kind, least in LEAST_MS.items():
        samples: dict[str, list[float]] = {}
        for run in runs:
            for name, seconds in run.result.notes["where"][kind].items():
                samples.setdefault(name, []).append(1e3 * seconds / run.result.hosts)
        spent = {name: median(values + [0.0] * (len(runs) - len(values))) for name, values in samples.items()}
        rows = [(name, f"{ms:.3f}") for name, ms in sorted(spent.items(), key=lambda item: -item[1]) if ms >= least]
        if kind == "rooms":
            rows.append(("all of it", f"{sum(spent.values()):.3f}"))
        parts.append(table([(f"{contestant}: {kind}", "CPU ms/host"), *rows], markdown))
    watching = median(1e3 * run.result.notes["where"]["watching"] / run.result.hosts for run in runs)
    steps = median(run.result.notes["where"]["steps"] / run.result.hosts for run in runs)
    return "\n\n".join([*parts, f"({steps:.0f} steps of tasks per host; watching took {watching:.3f} ms beside that)"])


def table(rows: Sequence[tuple[str, ...]], markdown: bool) -> str:
    """Return the rows as a table, without columns that are empty in all rows."""
    used_columns = [column for column in range(len(rows[0])) if column == 0 or any(row[column] for row in rows[1:])]
    rows = [tuple(row[column] for column in used_columns) for row in rows]
    if markdown:
        head = ["| " + " | ".join(rows[0]) + " |", "| --- |" + " ---: |" * (len(used_columns) - 1)]
        return "\n".join([*head, *("| " + " | ".join(row) + " |" for row in rows[1:])])
    widths = [max(len(row[column]) for row in rows) for column in range(len(used_columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) if column == 0 else cell.rjust(width)
                  for column, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    )  # fmt: skip


def machine(*names: str) -> str:
    """Return the conditions of the figures: processor, load, versions of the packages, commit."""
    models = [row for row in Path("/proc/cpuinfo").read_text().splitlines() if row.startswith("model name")]
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    packages = ", ".join(f"{name} {version(name)}" for name in names or _PACKAGES)
    return (
        f"{os.cpu_count()} cores of {models[0].partition(': ')[2] if models else platform.machine()}, "
        f"load {os.getloadavg()[0]:.1f}, CPython {platform.python_version()}, {packages}, "
        f"commit {commit.stdout.strip() or 'unknown'}"
    )
