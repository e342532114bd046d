"""`python -m benchmarks.mcp.tasks SITES`: tasks done end to end by a client that reads nothing but the text of MCP.

SITES is a folder of recorded sites (the layout of `waypost demo --sites`). They are crawled first, or read from the
data of an earlier demo of the folder (`--data`). For each row of tasks.tsv the client asks discover_services, takes the
first confident row that can be called (the first of all where none is confident), asks get_capability where the row
does not suffice, replaces values by what the caller knows, and hands the request to a judge that reads the original
document. Exits with 1 below 95 %.
"""

import argparse
import asyncio
import contextlib
import csv
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from rich.console import Console

from benchmarks.crawl.report import table
from benchmarks.mcp.task_client import Told, Unfit, capability_of, fill, rows_of, suffices
from benchmarks.mcp.task_judge import Place, Sent, judge
from registry.demo.sites import Site, load_sites
from registry.demo.tour import crawled, demo_settings
from registry.wiring import Waypost, open_waypost
from tests.mcp.serving import connected, served
from tests.support.demo import forget_database

TASKS: Final = Path(__file__).with_name("tasks.tsv")
GOAL: Final = 0.95
NOT_CALLED: Final = "not called"
CAPABILITY, SERVICE, NEAREST = "a confident capability", "a confident service", "what is nearest"


class Ask(Protocol):
    def __call__(self, tool: str, /, **arguments: str) -> Awaitable[str]:
        """Return the text of a tool's result."""


@dataclass(frozen=True, slots=True)
class Task:
    """A sentence, what the caller knows by name, and the capabilities that answer."""

    text: str
    values: Mapping[str, str]
    answers: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`fault` is None for an accepted request. `row`: number and confidence of the row that was called. `requests`: how
    many the registry was asked."""

    task: Task
    kind: str
    fault: str | None
    row: tuple[int, str] = (0, "")
    requests: int = 1
    place: Place | None = None
    sent: Sent | None = None


def tasks_of(file: Path) -> list[Task]:
    """Return the tasks of a table: `name=value; …` and `host path#pointer capability | …`, the path `-` for an answer
    that no document says how to call."""
    with file.open(newline="", encoding="utf-8") as rows:
        return [_task(row) for row in csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE)]


def _task(row: Mapping[str, str]) -> Task:
    values = dict(pair.split("=", 1) for pair in row["values"].split("; ") if pair)
    return Task(row["text"], values, tuple(map(_place, row["answers"].split(" | "))))


def _place(answer: str) -> Place:
    host, where, capability = answer.split(" ", 2)
    path, _, pointer = where.partition("#")
    return Place(host, None if where == "-" else path, pointer, capability)


async def do(task: Task, ask: Ask, sites: Mapping[str, Site]) -> Outcome:
    text = await ask("discover_services", q=task.text)
    rows = rows_of(text)
    picked = _pick(rows)
    if picked is None:
        first = f"no row has a call; the first is {rows[0].host} {rows[0].name}" if rows else text
        return Outcome(task, NOT_CALLED, first)
    told, confidence = picked
    row = (rows.index(told) + 1, confidence)
    place = next((one for one in task.answers if (one.host, one.capability) == (told.host, told.name)), None)
    if place is None:
        return Outcome(task, NOT_CALLED, f"wrong: {told.host} {told.name}", row)
    requests = 1
    if not suffices(told, task.values):
        told = capability_of(await ask("get_capability", domain=place.host, name=place.capability), place.host)
        requests = 2
    try:
        sent = fill(told, task.values, task.text)
    except Unfit as unfit:
        return Outcome(task, told.kind or NOT_CALLED, str(unfit), row, requests, place)
    fault = judge(sent, place, sites[place.host], task.values)
    return Outcome(task, told.kind, fault, row, requests, place, sent)


def _pick(rows: Sequence[Told]) -> tuple[Told, str] | None:
    """Return the first row with a call, of those with the best confidence, and that confidence."""
    callable_rows = [row for row in rows if row.has_call]
    for confidence, chosen in (
        (CAPABILITY, [row for row in callable_rows if row.confident and row.name is not None]),
        (SERVICE, [row for row in callable_rows if row.row_confident]),
        (NEAREST, callable_rows),
    ):
        if chosen:
            return chosen[0], confidence
    return None


async def done(tasks: Sequence[Task], waypost: Waypost, sites: Mapping[str, Site]) -> list[Outcome]:
    """Do the tasks with the official client, connected to a server over `waypost`."""
    settings = waypost.settings.model_copy(update={"read_rate": 1_000_000})
    async with served(waypost, settings) as address, connected(address) as client:

        async def ask(tool: str, /, **arguments: str) -> str:
            result: Any = await client.call_tool(tool, arguments)
            return str(result.content[0].text)

        return [await do(task, ask, sites) for task in tasks]


@contextlib.asynccontextmanager
async def _registry(sites: Path, data: Path | None, scratch: Path) -> AsyncIterator[Waypost]:
    if data is not None:
        async with open_waypost(demo_settings(data, 0)) as waypost:
            yield waypost
    else:
        async with crawled(demo_settings(scratch, 0), sites, Console(stderr=True)) as demo:
            yield demo.waypost


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp.tasks", description=__doc__)
    parser.add_argument("sites", type=Path, help="folder of recorded sites")
    parser.add_argument("--data", type=Path, help="data folder of an earlier `waypost demo --sites` of this folder")
    parser.add_argument("--tasks", type=Path, default=TASKS, help="another table of tasks")
    options = parser.parse_args()

    async def run(scratch: Path) -> list[Outcome]:
        async with _registry(options.sites, options.data, scratch) as waypost:
            return await done(tasks_of(options.tasks), waypost, load_sites(options.sites))

    with tempfile.TemporaryDirectory(prefix="waypost-tasks-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)  # the account that runs the database must reach its folder
        outcomes = asyncio.run(run(folder))
        forget_database(folder)
    for outcome in outcomes:
        if outcome.fault is not None:
            print(f"{outcome.task.text}\n    {outcome.fault[:400]}")
    print(table(_by_kind(outcomes), markdown=False))
    accepted = [outcome for outcome in outcomes if outcome.fault is None]
    from_rows = ", ".join(
        f"{sum(one.row[1] == confidence for one in accepted)} from {confidence}"
        for confidence in (CAPABILITY, SERVICE, NEAREST)
    )
    print(
        f"{len(accepted)} of {len(outcomes)} accepted ({100 * len(accepted) / len(outcomes):.1f} %): {from_rows}; "
        f"{sum(one.row[0] == 1 for one in accepted)} from row 1; "
        f"{sum(one.requests == 1 for one in accepted)} after one request to the registry"
    )
    sys.exit(len(accepted) < GOAL * len(outcomes))


def _by_kind(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    asked = Counter(outcome.kind for outcome in outcomes)
    accepted = Counter(outcome.kind for outcome in outcomes if outcome.fault is None)
    return [("kind", "tasks", "accepted"), *((kind, str(asked[kind]), str(accepted[kind])) for kind in sorted(asked))]


if __name__ == "__main__":
    main()
