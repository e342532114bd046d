"""The benchmarks: the hosts of each, the requested paths, the contestants, and the goals."""

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
"""The runs of one benchmark by contestant, or by the varied parameter."""

WATCHED: Final = ("waypost", "transport", "aiohttp", "aiohttp-uvloop")
"""Contestants with their own event loop, which `--where` can profile."""

SLOW: Final[Mapping[str, int]] = {"scrapy-naive": 8, "scrapy-tuned": 4}
"""Slow contestant -> divisor of its number of hosts, because a full run would take minutes. Costs are per host."""

BASE_IN_FLIGHT: Final = 500
"""Hosts in flight from which on memory is counted per additional host."""


@dataclass(frozen=True)
class Goal:
    """A target value and the measured one, which is None if the crawlers that it compares were not run."""

    description: str
    target: float
    measured: float | None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        if self.measured is None:
            return None
        return self.measured <= self.target if self.at_most else self.measured >= self.target


@dataclass
class Trial:
    """One benchmark: the class has its defaults, the command line its options."""

    options: argparse.Namespace
    participants: ClassVar[tuple[str, ...]] = ("waypost",)
    web: ClassVar[str] = "plain"
    usual_hosts: ClassVar[int] = 2_000
    usual_in_flight: ClassVar[int] = 1_000
    delay: ClassVar[float] = 0.0
    timeouts: ClassVar[Mapping[str, Any]] = {}
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
        hosts = self.list_of(self.hosts)
        tasks = {name: self.task(name, hosts, self.in_flight) for name in self.names}
        yield from contest(arena, tasks, self.options.rounds)

    def list_of(self, hosts: int) -> list[str]:
        return [site.name for site in sites(hosts, self.web)]

    def task(self, contestant: str, hosts: Sequence[str], in_flight: int) -> Task:
        fewer = list(hosts[: max(1, len(hosts) // SLOW.get(contestant, 1))])
        extra = {"where": True} if self.options.where and contestant in WATCHED else {}
        return replace(Task(fewer, self.paths, in_flight, delay=self.delay, extra=extra), **self.timeouts)

    @property
    def key(self) -> str:
        """The mark in benchmarks/README.md that encloses the tables of this benchmark."""
        parts = (self.options.list, str(self.options.paths or ""), "where" if self.options.where else "")
        return "-".join(part for part in parts if part)

    def goals(self, turns: Turns) -> list[Goal]:
        return []

    def remarks(self, turns: Turns) -> list[str]:
        """Return conclusions from the figures, as sentences."""
        return []


LONG_TIMEOUTS: Final[Mapping[str, Any]] = {"timeout": 90.0, "connect_timeout": 30.0, "host_deadline": 900.0}
"""Long timeouts for lists where every host answers: a busy machine must not time out a host, which would cost less."""


class Plain(Trial):
    """Measure the cost of a host, with hosts that all answer."""

    timeouts = LONG_TIMEOUTS
    participants = ("waypost", "transport", "aiohttp", "aiohttp-uvloop", "scrapy-naive", "scrapy-tuned")

    def goals(self, turns: Turns) -> list[Goal]:
        peak = max((run.result.rss_peak for run in turns.get("waypost", [])), default=None)
        return [
            Goal("transport, times plain aiohttp", 3.0, _ratio(turns, "transport", "aiohttp")),
            Goal("waypost, times plain aiohttp", 2.0, _ratio(turns, "waypost", "aiohttp")),
            Goal("waypost, times naive Scrapy", 35.0, _ratio(turns, "waypost", "scrapy-naive")),
            Goal("signed requests, times the speed without", 0.97, _ratio(turns, "waypost-signed", "waypost")),
            Goal(f"waypost, MB of memory at {self.in_flight:,} hosts in flight", 250.0, peak, at_most=True),
        ]


class Mixed(Trial):
    """Measure the time for a mix with dead, refusing, silent, blocking and slow hosts and catch-alls."""

    participants = ("waypost", "aiohttp")
    web = "mixed"
    usual_in_flight = 1_000

    def goals(self, turns: Turns) -> list[Goal]:
        measured = None
        if "waypost" in turns and "aiohttp" in turns:
            measured = median(run.result.wall for run in turns["aiohttp"])
            measured /= median(run.result.wall for run in turns["waypost"])
        return [Goal("time of probing all paths blindly, times waypost's", 8.0, measured)]


class Growth(Trial):
    """Measure the cost per host for growing numbers of domains."""

    timeouts = LONG_TIMEOUTS

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
        costs = [median(run.ms for run in runs) for runs in turns.values()]
        return [Goal("dearest size, times the cheapest", 1.2, max(costs) / min(costs), at_most=True)]


class Polite(Trial):
    """Measure how many hosts can be in flight with a second between requests to one host, and their memory."""

    delay = 1.0
    timeouts = LONG_TIMEOUTS
    usual_in_flight = 4_000
    waves = 3

    @property
    def steps(self) -> list[int]:
        return [step for step in (BASE_IN_FLIGHT, 1_000, 2_000) if step < self.in_flight] + [self.in_flight]

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
        flights = _Flights.of(turns)
        if flights is None:
            return []
        rate = flights.most.result.notes.get("full_rate")
        return [
            Goal("hosts in flight at once in one process", 4_000, flights.in_flight),
            Goal(
                f"KB of memory for each host beyond the first {flights.base_in_flight:,}",
                60.0,
                flights.kb_per_host,
                at_most=True,
            ),
            Goal(
                "hosts a second while the flight is full, of what hosts in flight / time per host allow",
                0.8,
                rate / flights.possible_rate if rate else None,
            ),
        ]

    def remarks(self, turns: Turns) -> list[str]:
        """Return the limits by CPU and memory, rather than by politeness."""
        flights = _Flights.of(turns)
        if flights is None or not flights.kb_per_host:
            return []
        seconds, cost = flights.in_flight / flights.possible_rate, flights.most.ms
        full_in_flight = 1e3 / cost * seconds
        memory = flights.most.result.rss_peak + (full_in_flight - flights.in_flight) * flights.kb_per_host / 1024
        return [
            f"A visit takes {seconds:.1f} s, so {flights.in_flight:,} hosts in flight allow"
            f" {flights.possible_rate:.0f} a second.",
            f"One core is full at {1e3 / cost:.0f} hosts a second: {full_in_flight:,.0f} in flight, {memory:,.0f} MB.",
            f"Each GB of memory more holds {1024 * 1024 / flights.kb_per_host:,.0f} hosts more, which is"
            f" {1024 * 1024 / flights.kb_per_host / seconds:,.0f} a second.",
        ]


@dataclass(frozen=True)
class _Flights:
    """Waypost's runs with the fewest and the most hosts in flight. `kb_per_host`: of memory; `possible_rate`: hosts a
    second."""

    base_in_flight: int
    in_flight: int
    most: Run
    kb_per_host: float | None
    possible_rate: float

    @classmethod
    def of(cls, turns: Turns) -> "_Flights | None":
        counted = (
            run for contestant_runs in turns.values() for run in contestant_runs if "most_in_flight" in run.result.notes
        )
        runs = sorted(counted, key=lambda run: int(run.result.notes["most_in_flight"]))
        if not runs:
            return None
        least, most = runs[0], runs[-1]
        base_in_flight, in_flight = least.result.notes["most_in_flight"], most.result.notes["most_in_flight"]
        extra_kb = 1024 * (most.result.rss_peak - least.result.rss_peak)
        kb_per_host = extra_kb / (in_flight - base_in_flight) if in_flight > base_in_flight else None
        return cls(base_in_flight, in_flight, most, kb_per_host, in_flight / most.result.notes["seconds_per_host"])


def _ratio(turns: Turns, contestant: str, baseline: str) -> float | None:
    """Return how many times as many hosts per CPU second `contestant` visits as `baseline`."""
    if contestant not in turns or baseline not in turns:
        return None
    return median(run.ms for run in turns[baseline]) / median(run.ms for run in turns[contestant])


def _renamed(run: Run, name: str) -> Run:
    return Run(name, run.result, run.requests)


LISTS: Final[Mapping[str, Callable[[argparse.Namespace], Trial]]] = {
    "plain": Plain,
    "mixed": Mixed,
    "growth": Growth,
    "polite": Polite,
}
