"""What is measured: which hosts, what is asked of them, who takes part, and what is hoped for."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, ClassVar, Final

from benchmarks.crawl.contest import CONTESTANTS, Arena, Run, contest
from benchmarks.crawl.contestants.common import Task
from benchmarks.crawl.namespace import Missing
from benchmarks.crawl.plan import cold_paths
from benchmarks.crawl.web import sites

Turns = Mapping[str, Sequence[Run]]
"""The runs of one benchmark by the name of the contestant, or of what was varied."""

WATCHED: Final = ("waypost", "transport", "aiohttp", "aiohttp-uvloop")
"""Contestants with an event loop of their own, on which `--where` can watch."""

SLOW: Final[Mapping[str, int]] = {"scrapy-naive": 8, "scrapy-tuned": 4}
"""These get one of so many hosts, or a run would take minutes: the cost is per host."""

GROUND: Final = 500
"""Hosts in flight beyond which memory is counted per host."""


@dataclass(frozen=True)
class Goal:
    """What was hoped for, what came, and whether that is enough. `got` None: its contestants did not take part."""

    says: str
    wanted: float
    got: float | None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        if self.got is None:
            return None
        return self.got <= self.wanted if self.at_most else self.got >= self.wanted


@dataclass
class Trial:
    """One benchmark: its defaults are those of the class, its options those of the command line."""

    options: argparse.Namespace
    participants: ClassVar[tuple[str, ...]] = ("waypost",)
    web: ClassVar[str] = "plain"
    usual_hosts: ClassVar[int] = 2_000
    usual_in_flight: ClassVar[int] = 1_000
    delay: ClassVar[float] = 0.0
    patience: ClassVar[Mapping[str, Any]] = {}
    paths: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.paths = cold_paths()[: self.options.paths]
        self.names = self.options.only.split(",") if self.options.only else list(self.participants)
        if unknown := [name for name in self.names if name not in CONTESTANTS]:
            raise Missing(f"no such contestant: {', '.join(unknown)} (there are {', '.join(CONTESTANTS)})")

    @property
    def hosts(self) -> int:
        return int(self.options.hosts or self.usual_hosts)

    @property
    def in_flight(self) -> int:
        return int(self.options.in_flight or self.usual_in_flight)

    def most_hosts(self) -> int:
        return self.hosts

    def runs(self, arena: Arena) -> Iterator[Run]:
        every = self.list_of(self.hosts)
        tasks = {name: self.task(name, every, self.in_flight) for name in self.names}
        yield from contest(arena, tasks, self.options.rounds)

    def list_of(self, hosts: int) -> list[str]:
        return [site.name for site in sites(hosts, self.web)]

    def task(self, contestant: str, hosts: Sequence[str], in_flight: int) -> Task:
        fewer = list(hosts[: max(1, len(hosts) // SLOW.get(contestant, 1))])
        extra = {"where": True} if self.options.where and contestant in WATCHED else {}
        return replace(Task(fewer, self.paths, in_flight, delay=self.delay, extra=extra), **self.patience)

    @property
    def key(self) -> str:
        """The mark in docs/performance.md between which the tables of this benchmark stand."""
        parts = (self.options.list, str(self.options.paths or ""), "where" if self.options.where else "")
        return "-".join(part for part in parts if part)

    def goals(self, turns: Turns) -> list[Goal]:
        return []

    def remarks(self, turns: Turns) -> list[str]:
        """What follows from the figures, in sentences."""
        return []


PATIENT: Final[Mapping[str, Any]] = {"timeout": 90.0, "connect_timeout": 30.0, "host_deadline": 900.0}
"""Where every host answers, a busy machine must not turn one into a dead host that costs less."""


class Plain(Trial):
    """Hosts that answer: what does one cost?"""

    patience = PATIENT
    participants = ("waypost", "transport", "aiohttp", "aiohttp-uvloop", "scrapy-naive", "scrapy-tuned")

    def goals(self, turns: Turns) -> list[Goal]:
        peak = max((run.result.rss_peak for run in turns.get("waypost", [])), default=None)
        return [
            Goal("transport, times plain aiohttp", 3.0, _times(turns, "transport", "aiohttp")),
            Goal("waypost, times plain aiohttp", 2.0, _times(turns, "waypost", "aiohttp")),
            Goal("waypost, times naive Scrapy", 35.0, _times(turns, "waypost", "scrapy-naive")),
            Goal(f"waypost, MB of memory at {self.in_flight:,} hosts in flight", 250.0, peak, at_most=True),
        ]


class Mixed(Trial):
    """Dead, refusing, silent, blocking, slow hosts and catch-alls among others: how long does it take?"""

    participants = ("waypost", "aiohttp")
    web = "mixed"
    usual_in_flight = 1_000

    def goals(self, turns: Turns) -> list[Goal]:
        got = None
        if "waypost" in turns and "aiohttp" in turns:
            got = median(run.result.wall for run in turns["aiohttp"])
            got /= median(run.result.wall for run in turns["waypost"])
        return [Goal("time of probing all paths blindly, times waypost's", 8.0, got)]


class Growth(Trial):
    """The same crawl over more and more domains: is a host as cheap among 100,000 as among 1,000?"""

    patience = PATIENT

    @property
    def sizes(self) -> list[int]:
        return [int(size) for size in (self.options.sizes or "1000,10000,30000").split(",")]

    def most_hosts(self) -> int:
        return max(self.sizes)

    def runs(self, arena: Arena) -> Iterator[Run]:
        for _ in range(self.options.rounds):
            for size in self.sizes:
                run = arena.run("waypost", self.task("waypost", self.list_of(size), self.in_flight))
                yield _renamed(run, f"{size:,} domains")

    def goals(self, turns: Turns) -> list[Goal]:
        costs = [median(run.ms for run in some) for some in turns.values()]
        return [Goal("dearest size, times the cheapest", 1.2, max(costs) / min(costs), at_most=True)]


class Polite(Trial):
    """A second between two requests to one host: how many hosts can be in flight, and at what price in memory?"""

    delay = 1.0
    patience = PATIENT
    usual_in_flight = 4_000
    waves = 3

    @property
    def steps(self) -> list[int]:
        return [step for step in (GROUND, 1_000, 2_000) if step < self.in_flight] + [self.in_flight]

    def most_hosts(self) -> int:
        return self.waves * self.in_flight

    def runs(self, arena: Arena) -> Iterator[Run]:
        for _ in range(self.options.rounds):
            for step in self.steps:
                for name in self.names:
                    hosts = self.list_of(self.options.hosts or self.waves * step)
                    run = arena.run(name, self.task(name, hosts, step))
                    yield _renamed(run, f"{name}, {step:,} in flight")

    def goals(self, turns: Turns) -> list[Goal]:
        seen = _Flights.of(turns)
        if seen is None:
            return []
        rate = seen.most.result.notes.get("full_rate")
        return [
            Goal("hosts in flight at once in one process", 4_000, seen.in_flight),
            Goal(f"KB of memory for each host beyond the first {seen.ground:,}", 60.0, seen.each, at_most=True),
            Goal(
                "hosts a second while the flight is full, of what hosts in flight / time per host allow",
                0.8,
                rate / seen.possible if rate else None,
            ),
        ]

    def remarks(self, turns: Turns) -> list[str]:
        """Where CPU or memory, not politeness, ends it."""
        seen = _Flights.of(turns)
        if seen is None or not seen.each:
            return []
        seconds, cost = seen.in_flight / seen.possible, seen.most.ms
        full = 1e3 / cost * seconds
        memory = seen.most.result.rss_peak + (full - seen.in_flight) * seen.each / 1024
        return [
            f"A visit takes {seconds:.1f} s, so {seen.in_flight:,} hosts in flight allow {seen.possible:.0f} a second.",
            f"One core is full at {1e3 / cost:.0f} hosts a second: {full:,.0f} in flight, {memory:,.0f} MB.",
            f"Each GB of memory more holds {1024 * 1024 / seen.each:,.0f} hosts more, which is"
            f" {1024 * 1024 / seen.each / seconds:,.0f} a second.",
        ]


@dataclass(frozen=True)
class _Flights:
    """The smallest and the greatest flight of waypost, compared. `each`: KB per host; `possible`: hosts a second."""

    ground: int
    in_flight: int
    most: Run
    each: float | None
    possible: float

    @classmethod
    def of(cls, turns: Turns) -> "_Flights | None":
        every = (run for some in turns.values() for run in some if "most_in_flight" in run.result.notes)
        runs = sorted(every, key=lambda run: int(run.result.notes["most_in_flight"]))
        if not runs:
            return None
        least, most = runs[0], runs[-1]
        ground, in_flight = least.result.notes["most_in_flight"], most.result.notes["most_in_flight"]
        more = 1024 * (most.result.rss_peak - least.result.rss_peak)
        each = more / (in_flight - ground) if in_flight > ground else None
        return cls(ground, in_flight, most, each, in_flight / most.result.notes["seconds_per_host"])


def _times(turns: Turns, one: str, other: str) -> float | None:
    """How many times as many hosts per CPU-second."""
    if one not in turns or other not in turns:
        return None
    return median(run.ms for run in turns[other]) / median(run.ms for run in turns[one])


def _renamed(run: Run, name: str) -> Run:
    return Run(name, run.result, run.requests)


LISTS: Final[Mapping[str, Callable[[argparse.Namespace], Trial]]] = {
    "plain": Plain,
    "mixed": Mixed,
    "growth": Growth,
    "polite": Polite,
}
