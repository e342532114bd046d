"""How a registry is doing, and the command `status`, which shows it on one screen."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from registry.actions.queries.statistics import OperationFigures
from registry.cli import common
from registry.cli.clean import print_json
from registry.cli.common import DONE, NO
from registry.cli.terminal import console, escaped
from registry.core.model.listing import SearchUnavailable
from registry.core.scheduling.jobs import BROKEN
from registry.settings import Settings
from registry.wiring import StoreUnavailable, Waypost, open_waypost, utc_now
from registry.wiring.diagnosis import DatabaseFacts, examine_database
from registry.wiring.space import DiskSpace, disk_space

LOW_DISK_BYTES: Final = 1_000_000_000
FULL_DISK_BYTES: Final = 100_000_000
IDLE_SCHEDULE: Final = timedelta(days=1)
"""Where jobs run by cron, each runs at least this often; otherwise a process leads the schedule."""

_LABEL_WIDTH: Final = 10


@dataclass(frozen=True, slots=True)
class RegistryState:
    """`index`: state of the search index; `index_fault`: why it cannot be asked. `is_fed`: a process feeds the index.
    `is_led`: a process runs the schedule. `is_mirror`: it copies another registry and visits nothing."""

    services: int
    operation: OperationFigures | None
    index: str
    index_fault: str
    is_fed: bool
    is_led: bool
    is_mirror: bool
    maintenance: str | None = None

    def problems(self, now: datetime) -> Iterator[str]:
        """Yield a sentence for each thing that is not well, with its remedy."""
        if self.index_fault or self.index == "away":
            yield f"The search engine does not answer{f': {self.index_fault}' if self.index_fault else ''}."
        elif self.index != "ready":
            remedy = "it is being built" if self.is_fed else "start `waypost serve` or `waypost worker`"
            yield f"The search index is {self.index}: {remedy}."
        if self.operation is None:
            return
        queue, runs = self.operation.queue, self.operation.runs
        if queue.index_lag and not self.is_fed:
            yield f"Changes wait for the index ({queue.index_lag}) and nothing feeds it: start `waypost worker`."
        if not self.is_mirror and queue.domains["due"] and not self.operation.crawlers:
            yield f"Domains are due ({queue.domains['due']}) and nothing visits them: start `waypost worker`."
        if not self.is_led and not any(now - run.started_at < IDLE_SCHEDULE for run in runs):
            yield "Nothing runs the recurring jobs: start `waypost schedule`, or run it by cron with --once."
        yield from (incident.says for incident in self.operation.incidents)


async def look(waypost: Waypost) -> RegistryState:
    """Return the state of an open registry. Raise one of NOT_READY if the database is away."""
    index, fault = "unknown", ""
    operation = None
    try:
        await waypost.open_search()
        index = (await waypost.search.backend.health()).state.value
        operation = await waypost.figures.operation()
    except StoreUnavailable:
        raise
    except (OSError, SearchUnavailable) as error:
        fault = str(error)
    return RegistryState(
        services=(await waypost.queries.overview()).services,
        operation=operation,
        index=index,
        index_fault=fault,
        is_fed=waypost.index_is_fed(),
        is_led=await waypost.jobs.is_led(),
        is_mirror=await waypost.mirror.progress() is not None,
        maintenance=waypost.mode.message,
    )


def space_text(space: DiskSpace) -> str:
    return f"{size_text(space.free)} of {size_text(space.total)} free"


def size_text(number: int) -> str:
    """Return a number of bytes as "12.3 GB"."""
    size, unit = float(number), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1_000 or unit == "TB":
            break
        size /= 1_000
    return f"{size:.0f} {unit}" if unit in ("B", "kB") or size >= 100 else f"{size:.1f} {unit}"


def database_text(settings: Settings, facts: DatabaseFacts) -> str:
    """Return which database it is: never its password."""
    version = f"{facts.version // 10_000}.{facts.version % 10_000}"
    where = "embedded" if settings.database_url is None else f"at {facts.place}"
    return f"PostgreSQL {version}, {where}, {size_text(facts.size)}"


async def show_status(settings: Settings, *, as_json: bool) -> int:
    """Print the status. Return NO if something is not well. Raise BadDatabaseUrl or one of NOT_READY."""
    async with open_waypost(settings) as waypost:
        facts, state = await examine_database(settings), await look(waypost)
    disk, now = disk_space(settings.data), utc_now()
    problems = list(state.problems(now))
    if disk.free < LOW_DISK_BYTES:
        problems.append(f"The disk of {settings.data} is nearly full.")
    if state.maintenance is not None:
        problems.append(f"In maintenance: {state.maintenance} End it with `waypost maintenance off`.")
    if not state.services:
        problems.append("No service is listed: add hosts with `waypost seed` or `waypost crawl`.")
    if as_json:
        print_json(_status_json(settings, facts, state, disk, problems))
    else:
        for label, text in _status_lines(settings, facts, state, disk, now):
            print_hanging(f"[bold]{label.ljust(_LABEL_WIDTH)}[/] ", text, _LABEL_WIDTH + 1)
        for problem in problems:
            print_hanging(f"[yellow]{'problem'.ljust(_LABEL_WIDTH)}[/] ", problem, _LABEL_WIDTH + 1)
        console.print("[green]well[/]" if not problems else f"[yellow]{_count(len(problems), 'problem')}[/]")
    return NO if problems else DONE


def print_hanging(mark: str, text: str, indent: int) -> None:
    """Print markup and untrusted text beside it, whose further lines are indented on a terminal; elsewhere one line."""
    lines = [text]
    if console.is_terminal:
        lines = textwrap.wrap(text, max(console.width - indent, 20), break_on_hyphens=False, break_long_words=False)
    for number, line in enumerate(lines):
        console.print(f"{' ' * indent if number else mark}{escaped(line)}", soft_wrap=True)


def _status_lines(
    settings: Settings, facts: DatabaseFacts, state: RegistryState, disk: DiskSpace, now: datetime
) -> Iterator[tuple[str, str]]:
    yield "waypost", common.version()
    yield "folder", f"{settings.data}, {space_text(disk)}"
    yield "database", database_text(settings, facts)
    yield "services", f"{state.services} listed" + (", a copy of another registry" if state.is_mirror else "")
    if state.operation is not None:
        yield from _operation_lines(state.operation, now)
    fed = "fed by a process" if state.is_fed else "fed by no process"
    lag = _lag_text(state.operation) if state.index == "ready" else ""
    yield "index", f"{state.index}{lag}, {fed}"
    yield "schedule", "a process runs it" if state.is_led else "no process runs it"
    for run in state.operation.runs if state.operation is not None else ():
        error = f": {run.error}" if run.error and run.outcome in BROKEN else ""
        yield "", f"{run.job} {run.outcome.value} {time_text(now - run.started_at)} ago{error}"


def _operation_lines(operation: OperationFigures, now: datetime) -> Iterator[tuple[str, str]]:
    queue = operation.queue
    waits = f", the longest for {time_text(queue.age)}" if queue.domains["due"] else ""
    yield "queue", f"{_count(queue.domains['due'], 'domain')} due{waits}; {queue.candidates} found names to look at"
    yield "crawlers", f"{operation.crawlers or 'none'} running"
    outcomes = sorted(operation.visited.items(), key=lambda item: -item[1])
    named = f": {', '.join(f'{count} {outcome}' for outcome, count in outcomes[:5])}" if outcomes else ""
    total, last_hour = sum(operation.visited.values()), operation.visited_last_hour
    yield "visits", f"{_count(total, 'host')} in the last day, {last_hour} in the last hour{named}"


def _lag_text(operation: OperationFigures | None) -> str:
    if operation is None:
        return ""
    lag = operation.queue.index_lag
    return f", {_count(lag, 'change')} to take in" if lag else ", in step with the database"


def time_text(time: timedelta) -> str:
    """Return a time as "3 min", rounded down."""
    seconds = max(0, int(time.total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _status_json(
    settings: Settings, facts: DatabaseFacts, state: RegistryState, disk: DiskSpace, problems: Sequence[str]
) -> dict[str, Any]:
    operation = state.operation
    return {
        "healthy": not problems,
        "problems": problems,
        "version": common.version(),
        "data": str(settings.data),
        "disk": {"free": disk.free, "total": disk.total},
        "database": {"embedded": settings.database_url is None, "version": facts.version, "bytes": facts.size},
        "services": state.services,
        "mirror": state.is_mirror,
        "queue": None
        if operation is None
        else {
            "domains": operation.queue.domains,
            "longest_wait_seconds": round(operation.queue.age.total_seconds()),
            "candidates": operation.queue.candidates,
        },
        "crawlers": operation and operation.crawlers,
        "visited_last_day": operation and operation.visited,
        "visited_last_hour": operation and operation.visited_last_hour,
        "index": {"state": state.index, "fed": state.is_fed, "lag": operation and operation.queue.index_lag},
        "schedule": {
            "leader": state.is_led,
            "jobs": {
                run.job: {"outcome": run.outcome.value, "started_at": run.started_at, "error": run.error}
                for run in (operation.runs if operation is not None else ())
            },
        },
    }
