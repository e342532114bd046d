"""Everything that could make the crawler dial a refused address, tried in one run: `python -m tests.crawler.ssrf`.

The command starts itself again inside a network namespace (see `tests.crawler.namespace`) and prints figures. The exit
code is 1 on any fault. `--quick` spells only a few of the refused addresses. The whole product runs in the namespace
with its real guard: API, seeds, crawl, PostgreSQL (reached through its socket in the file system), index.
"""

import asyncio
import contextlib
import json
import os
import re
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from unittest import mock

import ada_url
import httpx2
import typer

from crawler import session
from crawler.guards import Resolver
from crawler.run import crawl
from crawler.session import FetchSession
from crawler.visit import Visitor
from registry.api.app import create_app
from registry.cli.check import CheckOptions, check_targets
from registry.cli.check_result import CheckResult
from registry.core.model.documents import Outcome, Probe, Purpose
from registry.settings import Settings
from registry.store.visit_log_encoding import unpack
from registry.wiring import Waypost, open_waypost
from tests.crawler.namespace import NameServer, Wire, enclose, run_enclosed, why_not
from tests.crawler.ssrf.spellings import REFUSED, hosts, other_ways, urls
from tests.crawler.ssrf.web import CLASSES, Names, Web, web
from tests.crawler.support import far, new_registry
from tests.support.consistency import faults
from tests.support.sites import Reply, Sites, moved

QUICK: Final = ("loopback", "metadata", "private-a", "v6-loopback", "v6-mapped", "v6-link")
REBINDINGS: Final = 60
PUBLIC: Final = "good.public-control.com"
HOSTS_FILE: Final = "10.0.0.1 in-hosts-file.com\n::1 in-hosts-file-six.com\n127.0.0.1 localhost\n"


def figures(*, quick: bool) -> dict[str, Any]:
    """Run the attack in a namespace, on a new database; the machine must allow namespaces (`why_not`)."""
    with new_registry("ssrf") as url:
        measured: dict[str, Any] = run_enclosed(
            __package__, "--inside", url, *(["--quick"] if quick else []), seconds=900
        )
    return measured


def wrong_figures(measured: dict[str, Any]) -> dict[str, Any]:
    """Return the figures that are wrong; empty when all are right."""
    checks = {
        "refused or unexpected addresses were dialled": measured["dialled"],
        "packets were not seen": measured["lost"],
        "the watch is blind": [] if measured["watch_sees"] else ["a connection made on purpose was not noted"],
        "public controls were not reached": measured["missed"],
        "refusals are not in the ledger": measured["untold"],
        "refused names were accepted": measured["accepted"],
        "refused addresses are advertised": measured["advertised"],
        "a name was asked for again after it was judged": measured["asked_again"],
        "names were looked for in search domains": measured["searched"],
        "the registry is inconsistent": measured["faults"],
    }
    return {name: value for name, value in checks.items() if value}


async def _run_in_namespace(folder: Path, database: str, quick: bool) -> dict[str, Any]:
    address_classes = QUICK if quick else CLASSES
    tried_urls = list(
        dict.fromkeys([*(url for name in address_classes for url in urls(REFUSED[name], PUBLIC)), *other_ways(PUBLIC)])
    )
    names, attack_web = Names(), web(tried_urls, range(0, len(CLASSES), 9 if quick else 1))
    wire, server = Wire(), NameServer.start(names.find)
    watch_works = await _watch_sees(wire)
    async with Sites(_every_site(attack_web, tried_urls), places=("0.0.0.0", "::"), port=443) as sites:
        os.environ["SSL_CERT_FILE"] = str(sites.write_authority(folder))
        os.environ.pop("SSL_CERT_DIR", None)
        with mock.patch.object(session, "Resolver", partial(Resolver, timeout=60)):
            measured = await _attack(_settings(folder, database), attack_web, tried_urls, sites, server)
    await asyncio.sleep(0.1)
    allowed = {("tcp", address, 443) for address in names.public} | {("udp", "127.0.0.1", 53)}
    return measured | {
        "watch_sees": watch_works,
        "lost": wire.lost(),
        "dialled": sorted(map(str, wire.dialled.keys() - allowed)),
        "public_addresses": len({address for kind, address, _ in wire.dialled if kind == "tcp"}),
        "connections": sum(number for (kind, *_), number in wire.dialled.items() if kind == "tcp"),
        "classes": len(CLASSES),
        "urls": len(tried_urls),
        "named": attack_web.named,
    }


def _settings(folder: Path, database: str) -> Settings:
    return Settings(
        data=folder,
        database_url=database,  # type: ignore[arg-type]  # read as from the environment
        request_delay=0,
        request_budget=200,
        domain_daily_budget=10_000,
        submit_wait=0,
        submit_rate=1_000_000,
        read_rate=1_000_000,
        hosts_in_flight=40,
        lease_batch=20,
        connect_timeout=60,  # sites, name server and crawler share one process, and none of them keeps silent
        request_timeout=120,
        host_deadline=3_600,
        call_checks="all",
    )


def _every_site(attack_web: Web, tried_urls: Sequence[str]) -> dict[str, Any]:
    """Add the submitted and seeded controls to the sites of the ways, and a site that redirects to every tried URL."""
    redirects = {
        f"/{number}": moved(url.replace("\n", "").encode().decode("latin-1")) for number, url in enumerate(tried_urls)
    }
    controls = {name: Reply(b"{}") for name in _controls()}
    return {**attack_web.sites, **controls, PUBLIC: redirects | {"/ok": moved("/there"), "/there": Reply(b"{}")}}


def _controls() -> tuple[str, ...]:
    return ("control-seed.com", "control-submit.com", "six-control.com", "control-check.com")


async def _watch_sees(wire: Wire) -> bool:
    """Make connections on purpose and return whether they were recorded; otherwise a clean record proves nothing."""
    for family, address, port in ((socket.AF_INET, "10.9.8.7", 8443), (socket.AF_INET6, "fc00::7", 22)):
        with socket.socket(family) as attempt, contextlib.suppress(OSError):
            attempt.settimeout(1)
            attempt.connect((address, port))
    await asyncio.sleep(0.1)
    wire.lost()
    is_recorded = {("tcp", "10.9.8.7", 8443), ("tcp", "fc00::7", 22)} <= wire.dialled.keys()
    wire.dialled.clear()
    return is_recorded


async def _attack(
    settings: Settings, attack_web: Web, tried_urls: Sequence[str], sites: Sites, server: NameServer
) -> dict[str, Any]:
    host_spellings = list(dict.fromkeys(spelling for name in REFUSED.values() for spelling in hosts(name)))
    seeded_names = [f"{kind}{number}-seeds.com" for number in range(len(CLASSES)) for kind in "cn"]
    submitted = [f"{kind}{number}-submits.com" for number in range(len(CLASSES)) for kind in "cn"]
    rebinding_names = [f"r{number}-{turn}.com" for number in range(len(CLASSES)) for turn in range(2)][:REBINDINGS]
    mixed_names = [f"m{number}-seeds.com" for number in range(len(CLASSES))]
    local_names = ["in-hosts-file.com", "in-hosts-file-six.com", "nobody.com"]
    async with open_waypost(settings) as waypost:
        report = await waypost.frontier.seed([*host_spellings, *tried_urls, *_controls()[::2]], source="ssrf")
        accepted = sorted((await _domains(waypost)) - set(_controls()) - {PUBLIC, "public-control.com"})
        await waypost.frontier.seed(
            [*attack_web.roots, *seeded_names, *rebinding_names, *mixed_names, *local_names], source="ssrf"
        )
        accepted += await _submit(waypost, [*host_spellings, *(url for url in tried_urls if not _is_public(url))], 4)
        accepted += await _submit(waypost, [*submitted, "control-submit.com"], 2, expect_success=True)
        for _ in range(6):
            await crawl(waypost, settings, until_idle=True)
            if not (await waypost.frontier.fold_candidates()).hosts:
                break
        for root in attack_web.roots:  # the first visit learns the addresses for calls, the next one checks them
            if root.startswith("w-calls-"):
                await waypost.frontier.recheck(root, client=None, by_owner=True)
        await crawl(waypost, settings, until_idle=True)
        ledger = await _ledger(waypost)
        inconsistencies = await faults(waypost, [*seeded_names, *submitted, *_controls()[:3]])
        advertised = await _advertised(waypost)
    accepted += await _accepted_by_check(settings, tried_urls)
    unrecorded = _unrecorded_refusals(ledger, [*seeded_names, *submitted, *local_names[:2], *_names_of_ways(server)])
    answered_names = {name for name in mixed_names if any(row[3] for row in ledger.get(name, ()))}
    unanswered = {name: ledger.get(name) for name in mixed_names if name not in answered_names}
    single_fetches = await _redirected_and_rebound(settings, tried_urls, server)
    return {
        "accepted": accepted,
        "untold": unrecorded + single_fetches["untold"],
        "missed": [
            *(
                f"{way}: {host}"
                for way, targets in attack_web.controls.items()
                for host, path in targets
                if path not in sites.paths(host)
            ),
            *(name for name in _controls() if not sites.paths(name)),
            *(f"{name}: {entries}" for name, entries in unanswered.items()),
            *single_fetches["missed"],
        ],
        "advertised": advertised,
        "asked_again": single_fetches["asked_again"],
        "searched": sorted(name for name in server.asked if name.endswith("example.org")),  # resolv.conf names it
        "faults": inconsistencies,
        "refused_names": len(report.refused),
        "refusals_stored": sum(row[1] == "refused_address" for rows in ledger.values() for row in rows),
        "rebindings": single_fetches["rebindings"],
        "outcomes_stored": sum(len(rows) for rows in ledger.values()),
    }


def _is_public(url: str) -> bool:
    """True for a spelling that is the public control once it is cut to its host, as the API does."""
    return PUBLIC in url


async def _submit(waypost: Waypost, names: Sequence[str], status: int, *, expect_success: bool = False) -> list[str]:
    """Return the names to which `POST /api/services` responded with another status class than `status`."""
    transport = httpx2.ASGITransport(create_app(waypost, waypost.settings))
    unexpected: list[str] = []
    async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as client:
        for name in names:
            response = await client.post("/api/services?wait=0", json={"domain": name})
            if response.status_code // 100 != status:
                unexpected.append(f"{'not ' if expect_success else ''}submitted: {name!r} {response.status_code}")
    return unexpected


async def _domains(waypost: Waypost) -> set[str]:
    async with waypost._store.engine.connect() as connection:
        return set((await connection.exec_driver_sql("SELECT host FROM hosts")).scalars())


async def _ledger(waypost: Waypost) -> dict[str, list[tuple[str, str, str, int]]]:
    """Return host -> (url, outcome, reason, status) of every visit (url empty) and of every probe in their vectors."""
    ledger: dict[str, list[tuple[str, str, str, int]]] = {}
    async with waypost._store.engine.connect() as connection:
        rows = await connection.exec_driver_sql("SELECT host, outcome, reason, vector FROM visits")
        for row in rows:
            host, outcome, reason, vector = tuple(row)
            ledger.setdefault(host, []).append(("", outcome, reason, 0))
            for probe_entry in unpack(host, bytes(vector)):
                probe_host = ada_url.URL(probe_entry["url"]).hostname
                probe_row = (
                    probe_entry["url"],
                    probe_entry["outcome"],
                    probe_entry.get("reason", ""),
                    probe_entry.get("status") or 0,
                )
                ledger.setdefault(probe_host, []).append(probe_row)
    return ledger


def _unrecorded_refusals(ledger: dict[str, list[tuple[str, str, str, int]]], names: Sequence[str]) -> list[str]:
    """Return names with refused addresses whose ledger entries lack that outcome, or have any other.

    A path below a host whose robots.txt could not be fetched is `disallowed`, which also means that it was not dialled.
    """
    deviations = []
    for name in names:
        outcomes = {(outcome, reason) for _, outcome, reason, _ in ledger.get(name, ())}
        is_refused = any(outcome == "refused_address" and reason for outcome, reason in outcomes)
        if not is_refused or {outcome for outcome, _ in outcomes} - {"refused_address", "disallowed"}:
            deviations.append(f"{name}: {sorted(outcomes)}")
    return deviations


def _names_of_ways(server: NameServer) -> list[str]:
    """Return every name with refused addresses that was looked up because some site led to it."""
    looked_up = {name for name in server.asked if re.match(r"[cn]\d", name)}
    return sorted(name for name in looked_up if not name.endswith("-checks.com"))


async def _advertised(waypost: Waypost) -> list[str]:
    """Return refused addresses among everything that the registry publishes about services."""
    refused_addresses = {str(ip_address(address)) for address in REFUSED.values()}
    advertised: list[str] = []
    async with waypost._store.engine.connect() as connection:
        for table in ("services", "capabilities"):
            for (row,) in await connection.exec_driver_sql(f"SELECT row_to_json(t)::text FROM {table} t"):
                texts = _texts(json.loads(row))
                advertised += (
                    f"{table}{path}: {text}"
                    for path, text in texts
                    if "/claims/" not in path and _address_in(text) in refused_addresses
                )
    return advertised


def _texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(child, f"{path}/{key}")
    elif isinstance(value, str):
        yield path, value


def _address_in(url: str) -> str:
    try:
        return str(ip_address(ada_url.URL(url).hostname.strip("[]")))
    except ValueError:
        return ""


async def _accepted_by_check(settings: Settings, tried_urls: Sequence[str]) -> list[str]:
    """Run `waypost check` with every spelling; return what it does not refuse."""
    names = ["c0-checks.com", "control-check.com"]
    options = CheckOptions(settings.model_copy(update={"database_url": None}))
    results = await asyncio.to_thread(lambda: list(check_targets([*tried_urls, *names], options)))
    not_refused: list[str] = []
    for checked in results[:-2]:
        if isinstance(checked, CheckResult) and (PUBLIC not in checked.target or checked.outcome is Outcome.FOUND):
            not_refused.append(f"checked: {checked.target!r} {checked.outcome.value}")
    last_outcomes = [
        (result.outcome, bool(result.reason)) if isinstance(result, CheckResult) else None for result in results[-2:]
    ]
    if last_outcomes[0] != (Outcome.REFUSED_ADDRESS, True):
        not_refused.append(f"checked: {names[0]} {last_outcomes[0]}")
    return not_refused


async def _redirected_and_rebound(settings: Settings, tried_urls: Sequence[str], server: NameServer) -> dict[str, Any]:
    """Fetch single URLs: every spelling as a redirect of a page and of robots.txt; names that change their address."""
    unrecorded, missed, asked_again, outcomes = [], [], [], Counter[str]()
    async with Visitor(settings) as visitor:
        for purpose in (Purpose.MANIFEST, Purpose.ROBOTS):
            async with visitor.session(far()) as session:
                session.host_seconds = 600.0  # thousands of requests of one session
                for number, url in enumerate(tried_urls):
                    fetched = await _fetch(session, f"https://{PUBLIC}/{number}", purpose)
                    relative = ada_url.URL(fetched.final_url).hostname == PUBLIC and fetched.status is not None
                    if not relative and not (fetched.failure and fetched.reason):
                        unrecorded.append(f"redirect to {url!r}: {fetched.failure}")
                control = await _fetch(session, f"https://{PUBLIC}/ok", purpose)
                if control.body != b"{}":
                    missed.append(f"redirect: {control.failure} {control.reason}")
        for number in range(REBINDINGS):
            name = f"r{number % len(CLASSES)}-once-{number // 4}.com"
            before = server.asked[name]
            async with visitor.session(far()) as session:
                first_fetch = await _fetch(session, f"https://{name}/x", Purpose.MANIFEST)
                await _fetch(session, f"https://{name}/y", Purpose.MANIFEST)
            outcomes[first_fetch.failure.value if first_fetch.failure else "answered"] += 1
            if server.asked[name] - before > 2:  # A and AAAA, for both requests
                asked_again.append(name)
    if set(outcomes) - {"refused_address", "answered"}:
        missed.append(f"rebinding: {outcomes}")
    return {"untold": unrecorded, "missed": missed, "asked_again": asked_again, "rebindings": dict(outcomes)}


async def _fetch(session: FetchSession, url: str, purpose: Purpose) -> Any:
    probe = Probe(url, purpose, "S2", "application/json, */*;q=0.1", 10_000)
    return await session.fetch(probe)


def main() -> int:
    if reason := why_not():
        typer.echo(f"skipped: {reason}")
        return 0
    began = time.monotonic()
    measured = figures(quick="--quick" in sys.argv)
    failures = wrong_figures(measured)
    for name, value in measured.items():
        if not isinstance(value, list):
            typer.echo(f"{name:18} {value}")
    typer.echo(f"{'seconds':18} {time.monotonic() - began:.0f}")
    for name, value in failures.items():
        typer.echo(f"WRONG: {name}: {value if not isinstance(value, list) else value[:20]}")
    typer.echo("0 connections to refused addresses; every control reached" if not failures else "FAILED")
    return 1 if failures else 0


def _enclosed(arguments: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        enclose(Path(scratch), HOSTS_FILE)
        measured = asyncio.run(_run_in_namespace(Path(scratch), arguments[1], "--quick" in arguments))
        typer.echo(json.dumps(measured))
    return 0


if __name__ == "__main__":
    sys.exit(_enclosed(sys.argv[1:]) if sys.argv[1:2] == ["--inside"] else main())
