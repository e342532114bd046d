"""Demo, crawl and serve."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from crawler.run import crawl, stop_on_signals
from registry.cli.ending import in_time
from registry.cli.live import live_progress
from registry.cli.serving import bound, serve_api, url_of
from registry.cli.show import print_json, print_report, show_visited
from registry.core.domains import Host
from registry.demo.sites import SAMPLE_WEB
from registry.demo.tour import crawled, demo_settings
from registry.settings import Settings
from registry.wiring import Waypost, child_environment, open_waypost
from registry.wiring.upkeep import last_drain
from registry.wiring.workers import Worker

NO, INTERRUPTED = 1, 130
_ELSEWHERE_SECONDS = 1.0


async def run_demo(data: Path, port: int, sites: Path | None, *, serve: bool, console: Console, as_json: bool) -> None:
    """The tour; then the API on the same database until interrupted."""
    with bound("127.0.0.1", port) if serve else contextlib.nullcontext() as listening:
        settings = demo_settings(data, listening.getsockname()[1] if listening else port)
        async with crawled(settings, sites or SAMPLE_WEB, console) as (waypost, report, worker):
            if as_json:
                print_json(report.to_json())
            else:
                print_report(console, report)
            if listening:
                await serve_api(waypost, listening, console, at_stop=worker.let_go)


async def run_serve(settings: Settings, host: str, port: int, metrics: str | None = None) -> None:
    """The API; with nothing configured also a worker, beside an embedded index that nobody feeds a feeder."""
    with bound(host, port) as listening:
        if "public_url" not in settings.model_fields_set:
            settings = settings.model_copy(update={"public_url": url_of(listening)})
        async with open_waypost(settings) as waypost:
            shown = () if metrics is None else ("--metrics", metrics)
            console = Console(stderr=True)
            if settings.database_url is not None and waypost.index_is_fed():
                await serve_api(waypost, listening, console)
                return
            duty = () if settings.database_url is None else ("--drain-only",)
            with Worker(child_environment(settings), *duty, *shown) as worker:
                await serve_api(waypost, listening, console, at_stop=worker.let_go)


async def run_crawl(settings: Settings, names: Sequence[str], *, console: Console, as_json: bool) -> int:
    """One pass over the named hosts, stored and indexed; a running worker may take some of them, which is as good."""
    async with open_waypost(settings) as waypost:
        refused = (await waypost.seed(names, source="command")).refused
        taken = [name for name in names if name not in {one.name for one in refused}]
        await waypost.make_due(taken)
        hosts = waypost.hosts_of(taken)
        with stop_on_signals() as stop, live_progress(Console(stderr=True), quiet=as_json) as show:
            async with in_time(stop):
                while not stop.is_set() and await waypost.waiting(hosts):
                    await waypost.recover()  # what a crawl that was killed still holds
                    await crawl(
                        waypost, settings, until_idle=True, only={one.domain for one in hosts}, progress=show, stop=stop
                    )
                    hosts = await _with_answering(waypost, hosts)
                    if not stop.is_set() and await waypost.waiting(hosts):
                        await asyncio.sleep(_ELSEWHERE_SECONDS)
            interrupted = stop.is_set()
        waypost.claim_index()
        await (last_drain(waypost) if interrupted else waypost.drain())
        for one in refused:
            if as_json:
                print_json({"host": one.name, "state": "refused", "reasons": [one.message]})
            else:
                console.print(f"{escape(one.name)}: refused, {escape(one.message)}")
        listed = await show_visited(waypost, [one.host for one in hosts], console, as_json=as_json)
    if interrupted:
        return INTERRUPTED
    return 0 if listed and not refused else NO


async def _with_answering(waypost: Waypost, hosts: Sequence[Host]) -> list[Host]:
    """The hosts, and behind them those of the same domain that answer for one (apex and `www.`)."""
    statuses = [await waypost.status(one.host) for one in hosts]
    named = {one.alias_of for one in statuses if one and one.alias_of} - {one.host for one in hosts}
    return [*hosts, *waypost.hosts_of(sorted(named))]
