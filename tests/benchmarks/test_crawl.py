"""The benchmark of the crawler: its lists, its farm, its names, its sums, and one small run."""

import json
import os
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from ipaddress import ip_network
from pathlib import Path

import pytest

from benchmarks.crawl import namespace, web
from benchmarks.crawl.contest import Run
from benchmarks.crawl.contestants.common import Result
from benchmarks.crawl.lists import Goal, Mixed, Plain, Polite
from benchmarks.crawl.plan import cold_paths
from crawler.politeness import PER_ADDRESS, max_connections
from registry.core.names.addresses import refusal
from tests.support.hang import HANG_SECONDS

ROOT = Path(__file__).parents[2]


def options(**changes: object) -> Namespace:
    defaults = {
        "list": "plain",
        "paths": None,
        "only": None,
        "hosts": None,
        "in_flight": None,
        "rounds": 1,
        "where": False,
        "sizes": None,
    }
    return Namespace(**(defaults | changes))


def test_addresses_are_public_each_its_own_and_in_many_networks() -> None:
    addresses = [web.address(site.number, site.manner) for site in web.sites(2_000)]
    assert all(address is not None and refusal(address) is None for address in addresses)
    assert len(set(addresses)) == 2_000
    assert len({ip_network(f"{address}/24", strict=False) for address in addresses}) >= 100
    assert {max_connections(str(address)) for address in addresses} == {
        PER_ADDRESS
    }  # none belongs to a shared network, which has other limits


def test_mixed_list_has_its_shares_in_every_hundred() -> None:
    assert sum(web.MIXED.values()) == 100
    for start in (0, 700):
        manners = [site.manner for site in web.sites(1_000, "mixed")][start : start + 100]
        assert Counter(manners) == web.MIXED


def test_unknown_contestants_are_named() -> None:
    with pytest.raises(namespace.Missing, match="curl"):
        Mixed(options(only="waypost,curl"))


def test_goals_are_medians_over_the_rounds() -> None:
    costs = {"waypost": (2.0, 3.0, 9.0), "aiohttp": (6.0, 7.5, 8.0)}  # CPU seconds of a thousand hosts
    runs = {
        name: [Run(name, Result(1_000, cpu=seconds), 20_000) for seconds in cpu_seconds]
        for name, cpu_seconds in costs.items()
    }
    goals = {goal.description: goal for goal in Plain(options()).goals(runs)}
    assert goals["waypost, times plain aiohttp"].measured == pytest.approx(2.5)
    assert goals["waypost, times plain aiohttp"].met
    assert goals["transport, times plain aiohttp"].met is None
    assert not Goal("memory", 250, 251, at_most=True).met


def test_memory_is_counted_per_host_beyond_the_first_flight() -> None:
    def flight(hosts: int, rss: float) -> Run:
        notes = {"most_in_flight": hosts, "seconds_per_host": 20.0, "full_rate": 0.045 * hosts}
        return Run(f"{hosts}", Result(3 * hosts, cpu=0.006 * hosts, wall=62.5, rss_peak=rss, notes=notes), 60 * hosts)

    runs = {"small": [flight(500, 200.0)], "great": [flight(4_500, 400.0)]}
    memory, rate = Polite(options(list="polite")).goals(runs)[1:]
    assert memory.measured == pytest.approx(200 * 1024 / 4_000)
    assert rate.measured == pytest.approx(0.045 * 20.0)
    assert "One core is full at 500 hosts a second" in " ".join(Polite(options(list="polite")).remarks(runs))


@pytest.mark.long
def test_forty_hosts_from_end_to_end() -> None:
    """waypost finds every manifest of the farm, and sends no more requests than the others except for its finds."""
    try:
        namespace.check_tools("nginx", "taskset")
    except namespace.Missing as missing:
        pytest.skip(str(missing))
    command = [sys.executable, "-m", "benchmarks.crawl", "--only", "waypost,transport,aiohttp", "--hosts", "40"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "DATABASE_"))}
    completed = subprocess.run(
        [*command, "--rounds", "1", "--in-flight", "20", "--where", "--json"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS, check=False,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr[-3000:]
    runs = {run["contestant"]: run for run in map(json.loads, completed.stdout.splitlines())}
    requests = 40 * len(cold_paths())
    assert runs["aiohttp"]["requests"] == runs["aiohttp"]["answers"] == requests
    assert runs["transport"]["requests"] == runs["transport"]["answers"] == requests
    assert runs["waypost"]["requests"] >= requests
    assert runs["waypost"]["hosts"] == 40
    assert runs["waypost"]["hits"] == sum(site.hit for site in web.sites(40)) == 1
    for run in runs.values():
        profile = run["notes"]["where"]
        assert sum(profile["rooms"].values()) + profile["watching"] == pytest.approx(run["cpu"], rel=0.2)
