"""What is measured: which hosts, which paths, who takes part, and what was hoped for."""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.crawl.contest import CONTESTANTS, Arena, Run, contest
from benchmarks.crawl.contestants.common import Task
from benchmarks.crawl.namespace import Missing
from benchmarks.crawl.plan import cold_paths
from benchmarks.crawl.web import sites


@dataclass
class Plain:
    """Hosts that answer: what does a host cost? `hosts` of the slow contestants are fewer: the cost is per host."""

    kind = "plain"
    names: list[str]
    hosts: int
    in_flight: int
    rounds: int
    paths: list[str]
    where: bool = False

    @property
    def most_hosts(self) -> int:
        return self.hosts

    def runs(self, arena: Arena) -> Iterator[Run]:
        every = [site.name for site in sites(self.hosts, self.kind)]
        tasks = {name: self.task(name, every) for name in self.names}
        yield from contest(arena, tasks, self.rounds)

    def task(self, contestant: str, hosts: list[str]) -> Task:
        fewer = hosts[: max(1, len(hosts) // SLOW.get(contestant, 1))]
        return Task(fewer, self.paths, self.in_flight, extra={"where": True} if self.where else {})


SLOW = {"scrapy-naive": 8, "scrapy-tuned": 4}
"""These get one of so many hosts, or a run would take minutes."""

PARTICIPANTS = ("waypost", "transport", "aiohttp", "aiohttp-uvloop", "scrapy-naive", "scrapy-tuned")


def plain(options: argparse.Namespace) -> Plain:
    return Plain(_names(options, PARTICIPANTS), options.hosts or 2_000, options.in_flight or 400, options.rounds,
                 _paths(options), options.where)  # fmt: skip


def _names(options: argparse.Namespace, default: tuple[str, ...]) -> list[str]:
    names = options.only.split(",") if options.only else list(default)
    if unknown := [name for name in names if name not in CONTESTANTS]:
        raise Missing(f"no such contestant: {', '.join(unknown)} (there are {', '.join(CONTESTANTS)})")
    return names


def _paths(options: argparse.Namespace) -> list[str]:
    return cold_paths()[: options.paths]


LISTS: dict[str, Callable[[argparse.Namespace], Plain]] = {"plain": plain}
