"""Everything that could make the crawler dial a refused address, tried at once: `python -m tests.crawler.ssrf`.

Starts itself again inside a network namespace (see `tests.crawler.namespace`) and prints figures; exit code 1 when
anything is wrong. `--quick` spells only a few of the refused addresses. What runs in there is the whole product with
its real guard: API, seeds, crawl, PostgreSQL (reached through its socket in the file system), index.
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

from crawler import visit
from crawler.guards import Resolver
from crawler.run import crawl
from crawler.visit import Session, Visitor
from registry.api.app import create_app
from registry.cli.check import Asked, check_targets
from registry.cli.checked import Checked
from registry.core.documents import Outcome, Probe, Purpose
from registry.core.redirects import redirect
from registry.settings import Settings
from registry.store import embedded
from registry.store.migrate import upgrade
from registry.store.vectors import unpack
from registry.wiring import Waypost, open_waypost
from tests.crawler.namespace import NameServer, Wire, enclose, run_enclosed, why_not
from tests.crawler.ssrf.spellings import REFUSED, hosts, other_ways, urls
from tests.crawler.ssrf.web import CLASSES, Names, Web, web
from tests.crawler.support import far
from tests.support.consistency import faults
from tests.support.database import new_database, on
from tests.support.sites import Reply, Sites, moved

QUICK: Final = ("loopback", "metadata", "private-a", "v6-loopback", "v6-mapped", "v6-link")
REBINDINGS: Final = 60
PUBLIC: Final = "good.public-control.com"
HOSTS_FILE: Final = "10.0.0.1 in-hosts-file.com\n::1 in-hosts-file-six.com\n127.0.0.1 localhost\n"


def figures(*, quick: bool) -> dict[str, Any]:
    """Runs it all in a namespace, on a database of its own; the machine must allow it (`why_not`)."""
    with _database() as url:
        found: dict[str, Any] = run_enclosed(__package__, "--inside", url, *(["--quick"] if quick else []), seconds=900)
    return found


def wrong(found: dict[str, Any]) -> dict[str, Any]:
    """What is not as it must be; empty when all is well."""
    checks = {
        "refused or unexpected addresses were dialled": found["dialled"],
        "packets were not seen": found["lost"],
        "the watch is blind": [] if found["watch_sees"] else ["a connection made on purpose was not noted"],
        "public controls were not reached": found["missed"],
        "refusals are not in the ledger": found["untold"],
        "refused names were accepted": found["accepted"],
        "refused addresses are advertised": found["advertised"],
        "a name was asked for again after it was judged": found["asked_again"],
        "names were looked for in search domains": found["searched"],
        "the registry is inconsistent": found["faults"],
    }
    return {name: value for name, value in checks.items() if value}


@contextlib.contextmanager
def _database() -> Iterator[str]:
    """Only the embedded server: it listens in the file system, which a network namespace does not hide."""
    server = embedded.start(Path(tempfile.gettempdir()) / f"waypost-tests-{os.geteuid()}")
    try:
        with new_database(server.dsn, "ssrf") as name:
            url = on(server.dsn, name)
            upgrade(url)
            yield url
    finally:
        server.release()


async def _inside(folder: Path, database: str, quick: bool) -> dict[str, Any]:
    spelled = QUICK if quick else CLASSES
    tried = list(
        dict.fromkeys([*(url for name in spelled for url in urls(REFUSED[name], PUBLIC)), *other_ways(PUBLIC)])
    )
    names, inside = Names(), web(tried, range(0, len(CLASSES), 9 if quick else 1))
    wire, server = Wire(), NameServer.start(names.find)
    sees = await _watch_sees(wire)
    async with Sites(_every_site(inside, tried), places=("0.0.0.0", "::"), port=443) as sites:
        os.environ["SSL_CERT_FILE"] = str(sites.write_authority(folder))
        os.environ.pop("SSL_CERT_DIR", None)
        with mock.patch.object(visit, "Resolver", partial(Resolver, timeout=60)):
            found = await _attack(_settings(folder, database), inside, tried, sites, server)
    await asyncio.sleep(0.1)
    allowed = {("tcp", address, 443) for address in names.public} | {("udp", "127.0.0.1", 53)}
    return found | {
        "watch_sees": sees,
        "lost": wire.lost(),
        "dialled": sorted(map(str, wire.dialled.keys() - allowed)),
        "public_addresses": len({address for kind, address, _ in wire.dialled if kind == "tcp"}),
        "connections": sum(number for (kind, *_), number in wire.dialled.items() if kind == "tcp"),
        "classes": len(CLASSES),
        "urls": len(tried),
        "named": inside.named,
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
        connect_timeout=60,  # sites, name server and crawler share one process, and nobody is silent
        request_timeout=120,
        host_deadline=3_600,
    )


def _every_site(inside: Web, tried: Sequence[str]) -> dict[str, Any]:
    """Beside those of the ways: the submitted and seeded controls, and one that redirects wherever it is asked to."""
    leads = {f"/{number}": moved(url.replace("\n", "").encode().decode("latin-1")) for number, url in enumerate(tried)}
    controls = {name: Reply(b"{}") for name in _controls()}
    return {**inside.sites, **controls, PUBLIC: leads | {"/ok": moved("/there"), "/there": Reply(b"{}")}}


def _controls() -> tuple[str, ...]:
    return ("control-seed.com", "control-submit.com", "six-control.com", "control-check.com")


async def _watch_sees(wire: Wire) -> bool:
    """Connections made on purpose, so that nothing below means that there was nothing to see."""
    for family, address, port in ((socket.AF_INET, "10.9.8.7", 8443), (socket.AF_INET6, "fc00::7", 22)):
        with socket.socket(family) as attempt, contextlib.suppress(OSError):
            attempt.settimeout(1)
            attempt.connect((address, port))
    await asyncio.sleep(0.1)
    wire.lost()
    seen = {("tcp", "10.9.8.7", 8443), ("tcp", "fc00::7", 22)} <= wire.dialled.keys()
    wire.dialled.clear()
    return seen


async def _attack(
    settings: Settings, inside: Web, tried: Sequence[str], sites: Sites, server: NameServer
) -> dict[str, Any]:
    spelled = list(dict.fromkeys(one for name in REFUSED.values() for one in hosts(name)))
    named = [f"{kind}{number}-seeds.com" for number in range(len(CLASSES)) for kind in "cn"]
    submitted = [f"{kind}{number}-submits.com" for number in range(len(CLASSES)) for kind in "cn"]
    rebinding = [f"r{number}-{turn}.com" for number in range(len(CLASSES)) for turn in range(2)][:REBINDINGS]
    mixed = [f"m{number}-seeds.com" for number in range(len(CLASSES))]
    local = ["in-hosts-file.com", "in-hosts-file-six.com", "nobody.com"]
    async with open_waypost(settings) as waypost:
        report = await waypost.seed([*spelled, *tried, *_controls()[::2]], source="ssrf")
        accepted = sorted((await _domains(waypost)) - set(_controls()) - {PUBLIC, "public-control.com"})
        await waypost.seed([*inside.roots, *named, *rebinding, *mixed, *local], source="ssrf")
        accepted += await _submit(waypost, [*spelled, *(one for one in tried if not _is_public(one))], 4)
        accepted += await _submit(waypost, [*submitted, "control-submit.com"], 2, wanted=True)
        for _ in range(6):
            await crawl(waypost, settings, until_idle=True)
            if not (await waypost.fold_candidates()).hosts:
                break
        ledger = await _ledger(waypost)
        found = await faults(waypost, [*named, *submitted, *_controls()[:3]])
        advertised = await _advertised(waypost)
    accepted += await _looked_at_by_hand(settings, tried)
    untold = _untold(ledger, [*named, *submitted, *local[:2], *_names_of_ways(server)])
    answered = {name for name in mixed if any(row[3] for row in ledger.get(name, ()))}
    odd = {name: ledger.get(name) for name in mixed if name not in answered}
    again = await _redirected_and_rebound(settings, tried, server)
    return {
        "accepted": accepted,
        "untold": untold + again["untold"],
        "missed": [
            *(
                f"{way}: {host}"
                for way, aims in inside.controls.items()
                for host, path in aims
                if path not in sites.paths(host)
            ),
            *(name for name in _controls() if not sites.paths(name)),
            *(f"{name}: {said}" for name, said in odd.items()),
            *again["missed"],
        ],
        "advertised": advertised,
        "asked_again": again["asked_again"],
        "searched": sorted(name for name in server.asked if name.endswith("example.org")),  # resolv.conf names it
        "faults": found,
        "refused_names": len(report.refused),
        "refusals_stored": sum(row[1] == "refused_address" for rows in ledger.values() for row in rows),
        "rebindings": again["rebindings"],
        "outcomes_stored": sum(len(rows) for rows in ledger.values()),
    }


def _is_public(url: str) -> bool:
    """A spelling that comes down to the public control when it is cut to its host, as the API does."""
    return PUBLIC in url


async def _submit(waypost: Waypost, names: Sequence[str], status: int, *, wanted: bool = False) -> list[str]:
    """Names that `POST /api/services` answered otherwise than with `status` hundred and something."""
    transport = httpx2.ASGITransport(create_app(waypost, waypost.settings))
    odd: list[str] = []
    async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as client:
        for name in names:
            answer = await client.post("/api/services?wait=0", json={"domain": name})
            if answer.status_code // 100 != status:
                odd.append(f"{'not ' if wanted else ''}submitted: {name!r} {answer.status_code}")
    return odd


async def _domains(waypost: Waypost) -> set[str]:
    async with waypost._store.engine.connect() as connection:
        return set((await connection.exec_driver_sql("SELECT host FROM hosts")).scalars())


async def _ledger(waypost: Waypost) -> dict[str, list[tuple[str, str, str, int]]]:
    """Host -> (url, outcome, reason, status) of every visit (url empty) and of every probe in their vectors."""
    found: dict[str, list[tuple[str, str, str, int]]] = {}
    async with waypost._store.engine.connect() as connection:
        rows = await connection.exec_driver_sql("SELECT host, outcome, reason, vector FROM visits")
        for row in rows:
            host, outcome, reason, vector = tuple(row)
            found.setdefault(host, []).append(("", outcome, reason, 0))
            for one in unpack(host, bytes(vector)):
                of = ada_url.URL(one["url"]).hostname
                told = (one["url"], one["outcome"], one.get("reason", ""), one.get("status") or 0)
                found.setdefault(of, []).append(told)
    return found


def _untold(ledger: dict[str, list[tuple[str, str, str, int]]], names: Sequence[str]) -> list[str]:
    """Names with refused addresses of which the ledger does not say so, or says something else as well.

    A path below a host whose robots.txt could not be asked for is disallowed: that says the same twice.
    """
    wrong = []
    for name in names:
        said = {(outcome, reason) for _, outcome, reason, _ in ledger.get(name, ())}
        told = any(outcome == "refused_address" and reason for outcome, reason in said)
        if not told or {outcome for outcome, _ in said} - {"refused_address", "disallowed"}:
            wrong.append(f"{name}: {sorted(said)}")
    return wrong


def _names_of_ways(server: NameServer) -> list[str]:
    """Every name with refused addresses that some site led to: each was looked up, or its way leads nowhere."""
    named = {name for name in server.asked if re.match(r"[cn]\d", name)}
    return sorted(name for name in named if not name.endswith("-checks.com"))


async def _advertised(waypost: Waypost) -> list[str]:
    """Refused addresses among all that the registry tells about services."""
    refused = {str(ip_address(address)) for address in REFUSED.values()}
    odd: list[str] = []
    async with waypost._store.engine.connect() as connection:
        for table in ("services", "capabilities"):
            for (row,) in await connection.exec_driver_sql(f"SELECT row_to_json(t)::text FROM {table} t"):
                told = _texts(json.loads(row))
                odd += (
                    f"{table}{at}: {text}" for at, text in told if "/claims/" not in at and _address_in(text) in refused
                )
    return odd


def _texts(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(one, f"{at}/{key}")
    elif isinstance(value, str):
        yield at, value


def _address_in(url: str) -> str:
    try:
        return str(ip_address(ada_url.URL(url).hostname.strip("[]")))
    except ValueError:
        return ""


async def _looked_at_by_hand(settings: Settings, tried: Sequence[str]) -> list[str]:
    """`waypost check` with every spelling; what it does not refuse is said."""
    names = ["c0-checks.com", "control-check.com"]
    asked = Asked(settings.model_copy(update={"database_url": None}))
    seen = await asyncio.to_thread(lambda: list(check_targets([*tried, *names], asked)))
    odd: list[str] = []
    for one in seen[:-2]:
        if isinstance(one, Checked) and (PUBLIC not in one.target or one.outcome is Outcome.FOUND):
            odd.append(f"checked: {one.target!r} {one.outcome.value}")
    last = [(one.outcome, bool(one.reason)) if isinstance(one, Checked) else None for one in seen[-2:]]
    if last[0] != (Outcome.REFUSED_ADDRESS, True):
        odd.append(f"checked: {names[0]} {last[0]}")
    return odd


async def _redirected_and_rebound(settings: Settings, tried: Sequence[str], server: NameServer) -> dict[str, Any]:
    """Single requests: every spelling as a redirect of a page and of robots.txt; names that change their address."""
    untold, missed, again, came = [], [], [], Counter[str]()
    async with Visitor(settings) as visitor:
        for purpose in (Purpose.MANIFEST, Purpose.ROBOTS):
            async with Session(visitor, visitor.pace(), far()) as session:
                session._seconds = 600.0  # thousands of requests of one session
                for number, url in enumerate(tried):
                    fetched = await _fetch(session, f"https://{PUBLIC}/{number}", purpose)
                    relative = ada_url.URL(fetched.final_url).hostname == PUBLIC and fetched.status is not None
                    if not relative and not (fetched.failure and fetched.reason):
                        untold.append(f"redirect to {url!r}: {fetched.failure}")
                good = await _fetch(session, f"https://{PUBLIC}/ok", purpose)
                if good.body != b"{}":
                    missed.append(f"redirect: {good.failure} {good.reason}")
        for number in range(REBINDINGS):
            name = f"r{number % len(CLASSES)}-once-{number // 4}.com"
            before = server.asked[name]
            async with Session(visitor, visitor.pace(), far()) as session:
                one = await _fetch(session, f"https://{name}/x", Purpose.MANIFEST)
                await _fetch(session, f"https://{name}/y", Purpose.MANIFEST)
            came[one.failure.value if one.failure else "answered"] += 1
            if server.asked[name] - before > 2:  # A and AAAA, for both requests
                again.append(name)
    if set(came) - {"refused_address", "answered"}:
        missed.append(f"rebinding: {came}")
    return {"untold": untold, "missed": missed, "asked_again": again, "rebindings": dict(came)}


async def _fetch(session: Session, url: str, purpose: Purpose) -> Any:
    probe = Probe(url, purpose, "S2", "application/json, */*;q=0.1", 10_000)
    return await session.fetch(probe, lambda p, at, location, hops: redirect(at, location, hops, p.purpose))


def main() -> int:
    if reason := why_not():
        typer.echo(f"skipped: {reason}")
        return 0
    began = time.monotonic()
    found = figures(quick="--quick" in sys.argv)
    bad = wrong(found)
    for name, value in found.items():
        if not isinstance(value, list):
            typer.echo(f"{name:18} {value}")
    typer.echo(f"{'seconds':18} {time.monotonic() - began:.0f}")
    for name, value in bad.items():
        typer.echo(f"WRONG: {name}: {value if not isinstance(value, list) else value[:20]}")
    typer.echo("0 connections to refused addresses; every control reached" if not bad else "FAILED")
    return 1 if bad else 0


def _enclosed(arguments: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        enclose(Path(scratch), HOSTS_FILE)
        found = asyncio.run(_inside(Path(scratch), arguments[1], "--quick" in arguments))
        typer.echo(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(_enclosed(sys.argv[1:]) if sys.argv[1:2] == ["--inside"] else main())
