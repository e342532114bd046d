"""The benchmark of the crawler measures what it says: its lists, its farm, its names, its sums, and one small run."""

import json
import os
import shutil
import struct
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from benchmarks.crawl import farm, nameserver, namespace, web
from benchmarks.crawl.contest import Run
from benchmarks.crawl.contestants.common import Result
from benchmarks.crawl.lists import Goal, Mixed, Plain, Polite
from benchmarks.crawl.plan import cold_paths
from benchmarks.crawl.report import summary, write_into
from crawler.politeness import PER_ADDRESS, connections_at
from registry.core.addresses import refusal
from registry.core.domains import canonical_host
from registry.core.probes import STEPS

ROOT = Path(__file__).parents[2]


def options(**given: object) -> Namespace:
    usual = {
        "list": "plain",
        "paths": None,
        "only": None,
        "hosts": None,
        "in_flight": None,
        "rounds": 1,
        "where": False,
        "sizes": None,
    }
    return Namespace(**(usual | given))


def answered(name: str, kind: int) -> tuple[int, list[bytes]]:
    """Response code and addresses."""
    asked = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
    asked += b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    reply = nameserver.answer(asked + struct.pack("!HH", kind, 1))
    _, flags, _, answers, _, _ = struct.unpack_from("!6H", reply)
    size = {1: 4, 28: 16}[kind]
    return flags & 15, [reply[-size:]] if answers else []


def test_every_host_is_a_registrable_domain_of_its_own_that_the_crawler_takes() -> None:
    names = [site.name for site in web.sites(500, "mixed")]
    assert [canonical_host(name).domain for name in names] == names
    assert len(set(names)) == 500


def test_addresses_are_public_each_its_own_and_in_many_networks() -> None:
    places = [web.address(site.number, site.manner) for site in web.sites(2_000)]
    assert all(place is not None and refusal(place) is None for place in places)
    assert len(set(places)) == 2_000
    assert len({ip_network(f"{place}/24", strict=False) for place in places}) >= 100
    assert {connections_at(str(place)) for place in places} == {
        PER_ADDRESS
    }  # none is an edge's, with limits of its own


def test_even_the_longest_list_has_an_address_for_each_host() -> None:
    assert len({web.address(number, "site") for number in range(100_000)}) == 100_000


def test_three_percent_of_the_hosts_have_a_manifest() -> None:
    assert sum(site.hit for site in web.sites(2_000)) == pytest.approx(60, abs=1)


def test_mixed_list_has_its_shares_in_every_hundred() -> None:
    assert sum(web.MIXED.values()) == 100
    for first in (0, 700):
        manners = [site.manner for site in web.sites(1_000, "mixed")][first : first + 100]
        assert Counter(manners) == web.MIXED


def test_name_tells_number_and_manner_and_nothing_else_does() -> None:
    assert all(web.read(site.name) == (site.number, site.manner) for site in web.sites(200, "mixed"))
    other = web.name_of(3).replace("site", "robot")
    assert [web.read(name) for name in (other, "example.com", web.name_of(3) + ".com", "")] == [None] * 4


def test_name_server_gives_each_host_its_address() -> None:
    at_home = web.address(5, "site")
    assert at_home is not None
    assert answered(web.name_of(5), 1) == (0, [ip_address(at_home).packed])
    assert answered(web.name_of(5), 28) == (0, [])
    assert answered(web.name_of(5, "dead"), 1) == (3, [])
    code, addresses = answered(web.name_of(5, "refused"), 28)
    assert code == 0 and ip_address(addresses[0]) in ip_network(web.NOBODY_LISTENS)
    silent = web.address(5, "blackhole")
    assert silent is not None and ip_address(silent) in ip_network(web.BLACK_HOLE)


def test_all_ask_what_the_plan_asks_of_a_host_without_anything() -> None:
    paths = cold_paths()
    assert paths[:2] == ["/robots.txt", "/"]
    assert set(paths[3:]) == {step.path for step in STEPS}
    assert Plain(options(paths=12)).paths == paths[:12]


def test_farm_has_a_server_for_every_suffix_of_every_manner(tmp_path: Path) -> None:
    text = farm.configuration(tmp_path)
    assert text.count("{") == text.count("}")
    for manner in web.SERVED:
        assert all(f"server_name *.{suffix};" in text for suffix in web.suffixes(manner))


def test_slow_contestants_get_a_part_of_the_list() -> None:
    trial = Plain(options(hosts=80))
    hosts = trial.list_of(80)
    assert len(trial.task("waypost", hosts, 5).hosts) == 80
    assert len(trial.task("scrapy-naive", hosts, 5).hosts) == 10


def test_unknown_contestants_are_named() -> None:
    with pytest.raises(namespace.Missing, match="curl"):
        Mixed(options(only="waypost,curl"))


def test_goals_are_medians_over_the_rounds() -> None:
    costs = {"waypost": (2.0, 3.0, 9.0), "aiohttp": (6.0, 7.5, 8.0)}  # CPU seconds of a thousand hosts
    turns = {name: [Run(name, Result(1_000, cpu=one), 20_000) for one in some] for name, some in costs.items()}
    goals = {goal.says: goal for goal in Plain(options()).goals(turns)}
    assert goals["waypost, times plain aiohttp"].got == pytest.approx(2.5)
    assert goals["waypost, times plain aiohttp"].met
    assert goals["transport, times plain aiohttp"].met is None
    assert not Goal("memory", 250, 251, at_most=True).met


def test_memory_is_counted_per_host_beyond_the_first_flight() -> None:
    def flight(hosts: int, rss: float) -> Run:
        notes = {"most_in_flight": hosts, "seconds_per_host": 20.0, "full_rate": 0.045 * hosts}
        return Run(f"{hosts}", Result(3 * hosts, cpu=0.006 * hosts, wall=62.5, rss_peak=rss, notes=notes), 60 * hosts)

    turns = {"small": [flight(500, 200.0)], "great": [flight(4_500, 400.0)]}
    each, rate = Polite(options(list="polite")).goals(turns)[1:]
    assert each.got == pytest.approx(200 * 1024 / 4_000)
    assert rate.got == pytest.approx(0.045 * 20.0)
    assert "One core is full at 500 hosts a second" in " ".join(Polite(options(list="polite")).remarks(turns))


def test_tables_leave_out_what_nobody_has() -> None:
    runs = [Run("go", Result(100, cpu=0.2, wall=1.0, rss_peak=40), 2_000)]
    shown = summary(Plain(options()), runs, markdown=True)
    assert "| go | 100 | 2.00 | 500 | 20.0 | 1.0 | 100 | 40 |" in shown
    assert "PostgreSQL" not in shown


def test_tables_are_written_between_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- plain-12 -->\nold\n<!-- /plain-12 -->\nb\n")
    write_into(page, Plain(options(paths=12)).key, "new")
    assert page.read_text() == "a\n<!-- plain-12 -->\nnew\n<!-- /plain-12 -->\nb\n"
    with pytest.raises(LookupError):
        write_into(page, "mixed", "new")


@pytest.mark.slow
def test_forty_hosts_from_end_to_end() -> None:
    """waypost finds every manifest of the farm, and asks no more than the others beyond its finds."""
    try:
        namespace.check_tools("nginx", "taskset")
    except namespace.Missing as missing:
        pytest.skip(str(missing))
    command = [sys.executable, "-m", "benchmarks.crawl", "--only", "waypost,transport,aiohttp", "--hosts", "40"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WAYPOST_", "DATABASE_"))}
    done = subprocess.run(
        [*command, "--rounds", "1", "--in-flight", "20", "--where", "--json"],
        cwd=ROOT, env=clean, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    runs = {run["contestant"]: run for run in map(json.loads, done.stdout.splitlines())}
    asked = 40 * len(cold_paths())
    assert runs["aiohttp"]["requests"] == runs["aiohttp"]["answers"] == asked
    assert runs["transport"]["requests"] == runs["transport"]["answers"] == asked
    assert runs["waypost"]["requests"] >= asked
    assert runs["waypost"]["hosts"] == 40
    assert runs["waypost"]["hits"] == sum(site.hit for site in web.sites(40)) == 1
    for run in runs.values():
        where = run["notes"]["where"]
        assert sum(where["rooms"].values()) + where["watching"] == pytest.approx(run["cpu"], rel=0.2)


def test_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool, path=None: None if tool == "nginx" else f"/bin/{tool}")
    with pytest.raises(namespace.Missing, match="nginx"):
        namespace.check_tools("nginx")
