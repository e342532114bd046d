"""The benchmark of the crawler: its lists, its farm, its names, its sums, and one small run."""

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
from crawler.politeness import PER_ADDRESS, max_connections
from registry.core.names.addresses import refusal
from registry.core.names.domains import canonical_host
from registry.core.visiting.probes import STEPS
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


def resolve(name: str, kind: int) -> tuple[int, list[bytes]]:
    """Return response code and addresses."""
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
    query += b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    reply = nameserver.answer(query + struct.pack("!HH", kind, 1))
    _, flags, _, answers, _, _ = struct.unpack_from("!6H", reply)
    size = {1: 4, 28: 16}[kind]
    return flags & 15, [reply[-size:]] if answers else []


def test_every_host_is_a_registrable_domain_that_the_crawler_accepts() -> None:
    names = [site.name for site in web.sites(500, "mixed")]
    assert [canonical_host(name).domain for name in names] == names
    assert len(set(names)) == 500


def test_addresses_are_public_each_its_own_and_in_many_networks() -> None:
    addresses = [web.address(site.number, site.manner) for site in web.sites(2_000)]
    assert all(address is not None and refusal(address) is None for address in addresses)
    assert len(set(addresses)) == 2_000
    assert len({ip_network(f"{address}/24", strict=False) for address in addresses}) >= 100
    assert {max_connections(str(address)) for address in addresses} == {
        PER_ADDRESS
    }  # none belongs to a shared network, which has other limits


def test_even_the_longest_list_has_an_address_for_each_host() -> None:
    assert len({web.address(number, "site") for number in range(100_000)}) == 100_000


def test_three_percent_of_the_hosts_have_a_manifest() -> None:
    assert sum(site.hit for site in web.sites(2_000)) == pytest.approx(60, abs=1)


def test_mixed_list_has_its_shares_in_every_hundred() -> None:
    assert sum(web.MIXED.values()) == 100
    for start in (0, 700):
        manners = [site.manner for site in web.sites(1_000, "mixed")][start : start + 100]
        assert Counter(manners) == web.MIXED


def test_only_names_of_the_farm_encode_number_and_manner() -> None:
    assert all(web.read(site.name) == (site.number, site.manner) for site in web.sites(200, "mixed"))
    other = web.name_of(3).replace("site", "robot")
    assert [web.read(name) for name in (other, "example.com", web.name_of(3) + ".com", "")] == [None] * 4


def test_name_server_gives_each_host_its_address() -> None:
    site_address = web.address(5, "site")
    assert site_address is not None
    assert resolve(web.name_of(5), 1) == (0, [ip_address(site_address).packed])
    assert resolve(web.name_of(5), 28) == (0, [])
    assert resolve(web.name_of(5, "dead"), 1) == (3, [])
    code, addresses = resolve(web.name_of(5, "refused"), 28)
    assert code == 0 and ip_address(addresses[0]) in ip_network(web.REFUSING_NETWORK)
    blackhole_address = web.address(5, "blackhole")
    assert blackhole_address is not None and ip_address(blackhole_address) in ip_network(web.BLACK_HOLE)


def test_contestants_request_the_paths_of_the_probe_plan() -> None:
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


def test_tables_leave_out_empty_columns() -> None:
    runs = [Run("go", Result(100, cpu=0.2, wall=1.0, rss_peak=40), 2_000)]
    tables = summary(Plain(options()), runs, markdown=True)
    assert "| go | 100 | 2.00 | 500 | 20.0 | 1.0 | 100 | 40 |" in tables
    assert "PostgreSQL" not in tables


def test_tables_are_written_between_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- plain-12 -->\nold\n<!-- /plain-12 -->\nb\n")
    write_into(page, Plain(options(paths=12)).key, "new")
    assert page.read_text() == "a\n<!-- plain-12 -->\nnew\n<!-- /plain-12 -->\nb\n"
    with pytest.raises(LookupError):
        write_into(page, "mixed", "new")


@pytest.mark.slow
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


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool, path=None: None if tool == "nginx" else f"/bin/{tool}")
    with pytest.raises(namespace.Missing, match="nginx"):
        namespace.check_tools("nginx")
