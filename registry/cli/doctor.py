"""The command `doctor`: checks what a registry needs from its machine and its settings, each with a remedy.

Every check has a time limit, and a check that fails does not keep the others from running.
"""

import asyncio
import os
import resource
import shlex
import stat
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from ipaddress import ip_address, ip_network
from itertools import islice
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from crawler.guards import ResolutionError, Resolver
from crawler.run import download
from registry.cli import common
from registry.cli.clean import print_json
from registry.cli.common import DONE, NO
from registry.cli.registry_state import (
    FULL_DISK_BYTES,
    IDLE_SCHEDULE,
    LOW_DISK_BYTES,
    database_text,
    look,
    print_hanging,
    space_text,
    time_text,
)
from registry.core.scheduling.jobs import BROKEN, Kind
from registry.settings import Settings, unknown_variables
from registry.wiring import NOT_READY, BadDatabaseUrl, open_waypost, opt_out_path, utc_now
from registry.wiring.diagnosis import OLDEST_SERVER, DatabaseFacts, examine_database, schema_fault
from registry.wiring.signing_keys import KeyFiles, KeysUnusable
from registry.wiring.space import disk_space

CHECK_SECONDS: Final = 20.0
"""Time for the database, and for the registry on it: the embedded server may have to start first."""
RESOLVER_SECONDS: Final = 3.0
DOWNLOAD_SECONDS: Final = 15.0
DOWNLOAD_BYTES: Final = 1_000_000
CLOCK_WARNING: Final = timedelta(seconds=5)
CLOCK_ERROR: Final = timedelta(minutes=1)
SPARE_CONNECTIONS: Final = 20
SPARE_FILES: Final = 256
MAX_KEY_FILES: Final = 200
WIDEST_PROXY_NETWORK: Final = 8  # bits; a wider one lets most of the internet say where it comes from

POOLER_REMEDY: Final = (
    "Let DATABASE_SESSION_URL name the server itself, or a pooler in session mode that takes `options`."
)

_REMEDIES: Final[Mapping[Kind, str]] = {
    "job_failed": "`waypost schedule --list` shows why.",
    "job_overdue": "Start `waypost schedule`, or see its log.",
    "index_behind": "Start `waypost worker`, or see its log.",
    "feed_behind": "Start `waypost worker`, or see its log.",
    "space_low": "Make room, or lower WAYPOST_MIN_FREE_MB.",
    "visits_stopped": "Start `waypost worker`, or see its log.",
}

Level = Literal["ok", "warning", "error"]
_MARK_WIDTH: Final = 9
_COLOURS: Final = {"ok": "green", "warning": "yellow", "error": "red"}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `remedy`: what to do; empty if all is well."""

    check: str
    level: Level
    text: str
    remedy: str = ""


async def show_diagnosis(settings: Settings, *, online: bool, as_json: bool) -> int:
    """Print each finding as it is made. Return NO if one is an error."""
    levels: set[Level] = set()
    async for found in diagnosis(settings, online=online):
        levels.add(found.level)
        if as_json:
            print_json(asdict(found))
            continue
        mark = f"[{_COLOURS[found.level]}]{found.level.ljust(_MARK_WIDTH)}[/]"
        print_hanging(mark, f"{found.check}: {found.text}", _MARK_WIDTH)
        if found.remedy:
            print_hanging(" " * _MARK_WIDTH, found.remedy, _MARK_WIDTH)
    return NO if "error" in levels else DONE


async def diagnosis(settings: Settings, *, online: bool) -> AsyncIterator[Finding]:
    """Yield a finding for each check; several for one check if several things are wrong. Never raise for a fault."""
    for settings_finding in (*_settings(), *_identity(settings), *_proxies(settings), *_files(settings)):
        yield settings_finding
    facts: DatabaseFacts | None = None
    if not common.has_registry(settings):
        remedy = "`waypost serve` or `waypost crawl HOST` begins one."
        yield Finding("database", "warning", f"{settings.data} holds no registry yet.", remedy)
    else:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                facts = await examine_database(settings)
        except TimeoutError:
            yield Finding("database", "error", f"No answer within {CHECK_SECONDS:.0f} s.", "Start the server.")
        except (BadDatabaseUrl, OSError, *NOT_READY) as error:
            yield Finding("database", "error", _sentence(error), _database_remedy(settings, error))
    if facts is not None:
        for found in _database(settings, facts):
            yield found
        if schema_fault(facts.schema) is None:
            async for found in _registry(settings):
                yield found
    yield await _resolver(settings)
    yield await _egress(settings) if online else Finding("egress", "ok", "Not checked; --online does.")


def _settings() -> Iterator[Finding]:
    unknown = unknown_variables()
    if not unknown:
        yield Finding("settings", "ok", "All variables are known, all values allowed.")
    for name, nearest in unknown.items():
        remedy = f"Did you mean {nearest}?" if nearest else "`waypost config` lists all settings."
        yield Finding("settings", "warning", f"{name} is not a setting.", remedy)


def _identity(settings: Settings) -> Iterator[Finding]:
    if _is_local(settings.contact):
        remedy = "Set WAYPOST_PUBLIC_URL, or WAYPOST_CONTACT_URL, to an address that sites can open."
        yield Finding("contact", "warning", f"The crawler tells sites to look at {settings.contact}.", remedy)
    elif settings.contact_email is None:
        yield Finding("contact", "ok", f"{settings.contact}; no mail address (WAYPOST_CONTACT_EMAIL).")
    else:
        yield Finding("contact", "ok", f"{settings.reachable_at.removeprefix('+')}.")


def _proxies(settings: Settings) -> Iterator[Finding]:
    wide = [name for name in settings.trusted_proxies if _prefix(name) < WIDEST_PROXY_NETWORK]
    public = not _is_local(settings.public_url)
    if wide:
        text = f"WAYPOST_TRUSTED_PROXIES has {wide[0]}: everyone there can pretend any address."
        yield Finding("proxies", "error", text, "Name only your own proxies.")
    if public and not settings.public_url.startswith("https://"):
        text = f"WAYPOST_PUBLIC_URL is {settings.public_url}: keys and tokens would be sent in the clear."
        yield Finding("proxies", "warning", text, "Serve it by https.")
    elif public and not settings.trusted_proxies:
        text = "A proxy with TLS stands before this registry and WAYPOST_TRUSTED_PROXIES is empty: all clients share"
        yield Finding("proxies", "warning", f"{text} one limit.", "Set it to the proxy's address.")
    elif not wide:
        yield Finding("proxies", "ok", "Addresses of clients are taken as the settings say.")


def _files(settings: Settings) -> Iterator[Finding]:
    """Check the disk, that the folders can be written, who reads the keys, and the limit of open files."""
    space = disk_space(settings.data)
    level: Level = "error" if space.free < FULL_DISK_BYTES else "warning" if space.free < LOW_DISK_BYTES else "ok"
    remedy = "" if level == "ok" else "Make room; a full disk stops the database."
    yield Finding("disk", level, f"{settings.data}: {space_text(space)}.", remedy)
    places = {settings.data, opt_out_path(settings).parent, *([settings.dumps] if settings.dumps else [])}
    for place in sorted(places):
        if (fault := _write_fault(place)) is not None:
            remedy = "Run waypost as the owner of the folder, or name another one."
            yield Finding("folders", "error", f"{place}: {fault}.", remedy)
    yield from _keys(settings)
    limit, wanted = resource.getrlimit(resource.RLIMIT_NOFILE)[1], settings.max_connections + SPARE_FILES
    if limit != resource.RLIM_INFINITY and limit < wanted:
        remedy = f"Raise it to {wanted} (LimitNOFILE=), or lower WAYPOST_MAX_CONNECTIONS."
        yield Finding("open files", "warning", f"The limit is {limit}: not all connections fit.", remedy)


def _write_fault(folder: Path) -> str | None:
    """Return why files cannot be made in a folder; a missing folder is judged by the one in which it would be made."""
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not existing.is_dir():
        return "not a folder" if existing == folder else f"{existing} is not a folder"
    return None if os.access(existing, os.W_OK | os.X_OK) else f"{existing} cannot be written"


def _keys(settings: Settings) -> Iterator[Finding]:
    try:
        keys = KeyFiles(settings)
        number = len(keys.read())
        places = [keys.path, *([settings.meili_keys] if settings.meili_keys else [])]
        open_files = [file for place in places for file in _open_to_others(place)]
    except (KeysUnusable, OSError) as error:
        yield Finding("keys", "error", _sentence(error), "Repair or remove the file.")
        return
    if open_files:
        text = f"Other accounts can read {open_files[0]}."
        yield Finding("keys", "error", text, f"Run chmod go= {shlex.quote(str(open_files[0]))}")
    else:
        text = f"Keys that sign requests: {number}; no other account can read them."
        yield Finding("keys", "ok", text if number else "No keys: requests are not signed.")


def _open_to_others(place: Path) -> list[Path]:
    """Return the files of a folder of keys, or the one file, that other accounts can read."""
    if not place.exists() or (place.is_dir() and not place.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH)):
        return []
    files = islice(place.rglob("*"), MAX_KEY_FILES) if place.is_dir() else [place]
    return sorted(file for file in files if file.is_file() and file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _database(settings: Settings, facts: DatabaseFacts) -> Iterator[Finding]:
    yield Finding("database", "ok", f"{database_text(settings, facts)}.")
    if facts.version // 10_000 < OLDEST_SERVER:
        yield Finding("database", "error", "The server is too old.", f"Use PostgreSQL {OLDEST_SERVER} or later.")
    if facts.encoding != "UTF8":
        yield Finding("database", "error", f"Its encoding is {facts.encoding}.", "Create it with -E UTF8.")
    if facts.is_read_only:
        yield Finding("database", "error", "The server is a standby.", "Name the primary in DATABASE_URL.")
    if facts.connections + SPARE_CONNECTIONS > facts.max_connections:
        text = f"{facts.connections} of {facts.max_connections} connections are in use."
        yield Finding("database", "warning", text, "Raise max_connections, or run fewer processes.")
    fault = schema_fault(facts.schema)
    if fault is None:
        yield Finding("schema", "ok", f"Current ({facts.schema}).")
    elif settings.database_url is None:
        yield Finding("schema", "ok", "The next command upgrades it.")
    else:
        yield Finding("schema", "error", f"{fault[0].upper()}{fault[1:]}.")
    if facts.keeps_sessions:
        yield Finding("session locks", "ok", "Each connection has its own session.")
    else:
        yield Finding("session locks", "error", "A pooler shares sessions, so locks do not hold.", POOLER_REMEDY)
    ahead = abs(facts.clock_ahead)
    level: Level = "error" if ahead > CLOCK_ERROR else "warning" if ahead > CLOCK_WARNING else "ok"
    text = f"This machine's clock and the database's differ by {ahead.total_seconds():.1f} s."
    yield Finding("clock", level, text, "" if level == "ok" else "Synchronise both (NTP).")


async def _registry(settings: Settings) -> AsyncIterator[Finding]:
    """Check the index, the crawlers and the schedule."""
    try:
        async with asyncio.timeout(CHECK_SECONDS), open_waypost(settings) as waypost:
            state = await look(waypost)
    except TimeoutError:
        yield Finding("registry", "error", f"Not open within {CHECK_SECONDS:.0f} s.", "See the log of the database.")
        return
    except (OSError, *NOT_READY) as error:
        yield Finding("registry", "error", _sentence(error))
        return
    server = f" at {settings.meili_url}" if settings.meili_url else ""
    if state.index_fault or state.index in ("away", "unreadable"):
        remedy = "Start the search server." if settings.meili_url else "Run `waypost reindex`."
        yield Finding("index", "error", f"{state.index_fault or state.index}{server}.", remedy)
    elif state.index != "ready":
        remedy = "A process is building it." if state.is_fed else "Start `waypost serve` or `waypost worker`."
        yield Finding("index", "warning", f"It is {state.index}{server}.", remedy)
    elif lag := state.operation.queue.index_lag if state.operation is not None else 0:
        remedy = "A process feeds it." if state.is_fed else "Start `waypost serve` or `waypost worker`."
        yield Finding("index", "ok" if state.is_fed else "warning", f"{lag} changes wait for it{server}.", remedy)
    else:
        yield Finding("index", "ok", f"In step with the database{server}.")
    if state.operation is None:
        return
    if state.operation.crawlers or state.is_mirror:
        yield Finding("crawlers", "ok", f"{state.operation.crawlers} running.")
    else:
        yield Finding("crawlers", "warning", "None runs.", "Start `waypost serve` or `waypost worker`.")
    now, runs = utc_now(), state.operation.runs
    if state.is_led or any(now - run.started_at < IDLE_SCHEDULE for run in runs):
        yield Finding("schedule", "ok", "A process runs the jobs." if state.is_led else "Jobs ran in the last day.")
    else:
        remedy = "Start `waypost schedule`, or run `waypost schedule --once` by cron."
        yield Finding("schedule", "warning", "Nothing runs the recurring jobs.", remedy)
    for run in runs:
        ago = f"{run.outcome.value} {time_text(now - run.started_at)} ago"
        if run.outcome in BROKEN:
            remedy = f"`waypost schedule --once {run.job}` runs it again."
            yield Finding(f"job {run.job}", "warning", f"{ago}{f': {run.error}' if run.error else ''}.", remedy)
        else:
            yield Finding(f"job {run.job}", "ok", f"{ago}.")
    for incident in state.operation.incidents:
        if incident.kind != "job_failed":
            yield Finding("incident", "warning", incident.says, _REMEDIES[incident.kind])


async def _resolver(settings: Settings) -> Finding:
    if settings.resolve == "table":
        return Finding("names", "ok", "Only names of WAYPOST_CONNECT_TO resolve (WAYPOST_RESOLVE=table).")
    host = urlsplit(settings.suffix_list_url).hostname or "iana.org"
    resolver = Resolver(RESOLVER_SECONDS)
    try:
        await resolver.addresses(host)
    except ResolutionError as error:
        text = f"This machine cannot resolve {host}: {error.reason}."
        return Finding("names", "warning", text, "Visits need DNS: see /etc/resolv.conf.")
    finally:
        await resolver.close()
    return Finding("names", "ok", f"{host} resolves.")


async def _egress(settings: Settings) -> Finding:
    url = settings.suffix_list_url or settings.ipv4_registry_url
    if not url:
        return Finding("egress", "ok", "No address to ask: WAYPOST_SUFFIX_LIST_URL is empty.")
    remedy = "Visits need port 443 to the internet: see the firewall, and proxies are not used."
    try:
        async with asyncio.timeout(DOWNLOAD_SECONDS):
            answer = await download(url, settings, cap=DOWNLOAD_BYTES)
    except (TimeoutError, OSError, ValueError) as error:
        return Finding("egress", "error", f"{url}: {str(error) or 'no answer'}.", remedy)
    if answer.status is None:
        return Finding("egress", "error", f"{url}: {answer.reason or 'no answer'}.", remedy)
    return Finding("egress", "ok", f"{url} answers ({answer.status}).")


def _is_local(url: str) -> bool:
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return not ip_address(host).is_global
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local", ".internal")) or "." not in host


def _prefix(network: str) -> int:
    return ip_network(network, strict=False).prefixlen


def _database_remedy(settings: Settings, error: Exception) -> str:
    if settings.database_url is None:
        return "See log/ and start.log in the folder postgres of the data folder."
    if "startup parameter" in str(error):
        return POOLER_REMEDY
    return "Start the server, and compare DATABASE_URL with what it allows."


def _sentence(error: Exception) -> str:
    text = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return f"{text[:1].upper()}{text[1:]}".rstrip(".") + "."
