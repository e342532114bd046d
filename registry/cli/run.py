"""The commands that keep something running: demo, crawl, serve, worker."""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import structlog
from rich.console import Console
from rich.markup import escape

from crawler.flight import Tally
from crawler.run import crawl, stop_on_signals
from registry.cli.live import Progress, live_progress, now_and_then, tell_tally
from registry.cli.metrics import Figures, served
from registry.cli.serving import bound, serve_api, url_of
from registry.cli.show import print_json, print_report, show_visited
from registry.core.domains import Host
from registry.demo.sites import SAMPLE_WEB
from registry.demo.tour import crawled, demo_settings
from registry.settings import Settings
from registry.wiring import Waypost, child_environment, open_waypost
from registry.wiring.upkeep import upkeep
from registry.wiring.workers import Worker

NO, INTERRUPTED = 1, 130
_ELSEWHERE_SECONDS = 1.0

log = structlog.get_logger(__name__)


async def run_demo(data: Path, port: int, sites: Path | None, *, serve: bool, console: Console, as_json: bool) -> None:
    """The tour; then the API on the same database until interrupted."""
    with bound("127.0.0.1", port) if serve else contextlib.nullcontext() as listening:
        settings = demo_settings(data, listening.getsockname()[1] if listening else port)
        async with crawled(settings, sites or SAMPLE_WEB, console) as (waypost, report):
            if as_json:
                print_json(report.to_json())
            else:
                print_report(console, report)
            if listening:
                await serve_api(waypost, listening, console)


async def run_serve(settings: Settings, host: str, port: int, metrics: str | None = None) -> None:
    """The API; with nothing configured also a worker, beside an embedded index that nobody feeds a feeder."""
    with bound(host, port) as listening:
        if "public_url" not in settings.model_fields_set:
            settings = settings.model_copy(update={"public_url": url_of(listening)})
        async with open_waypost(settings) as waypost:
            with contextlib.ExitStack() as children:
                shown = () if metrics is None else ("--metrics", metrics)
                if settings.database_url is None:
                    children.enter_context(Worker(child_environment(settings), *shown))
                elif not waypost.index_is_fed():
                    children.enter_context(Worker(child_environment(settings), "--drain-only", *shown))
                await serve_api(waypost, listening, Console(stderr=True))


async def run_worker(
    settings: Settings, *, drain_only: bool, stop_with_stdin: bool, metrics: tuple[str, int] | None = None
) -> None:
    """Until SIGINT, SIGTERM or, for a supervised child, the end of standard input."""
    async with contextlib.AsyncExitStack() as stack:
        waypost = await stack.enter_async_context(open_waypost(settings))
        stop = stack.enter_context(stop_on_signals())
        if stop_with_stdin:
            _set_at_end_of_input(stop)
        waypost.claim_index()
        await stack.enter_async_context(upkeep(waypost, crawls=not drain_only))
        figures = await stack.enter_async_context(served(waypost, metrics))
        log.info("worker.started", drain_only=drain_only)
        if drain_only:
            await stop.wait()
        else:
            tell_tally(await crawl(waypost, settings, until_idle=False, progress=_kept(figures), stop=stop))
        await waypost.drain()
        log.info("worker.stopped")


def _kept(figures: Figures) -> Progress:
    """The tally where the metrics find it, and in the log now and then."""
    tell = now_and_then()

    def keep(tally: Tally) -> None:
        figures.tally = tally
        tell(tally)

    return keep


def _set_at_end_of_input(stop: asyncio.Event) -> None:
    """A pipe from the parent closes when it dies, however it dies. A thread: no loop waits on every kind of file.

    Without `sys.stdin`: Ctrl-C reaches parent and child at once, and an interpreter that ends while a thread holds the
    lock of that buffer aborts.
    """
    loop, stdin = asyncio.get_running_loop(), sys.stdin.fileno()

    def wait() -> None:
        while os.read(stdin, 4096):
            pass
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=wait, name="stdin", daemon=True).start()


async def run_crawl(settings: Settings, names: Sequence[str], *, console: Console, as_json: bool) -> int:
    """One pass over the named hosts, stored and indexed; a running worker may take some of them, which is as good."""
    async with open_waypost(settings) as waypost:
        refused = (await waypost.seed(names, source="command")).refused
        taken = [name for name in names if name not in {one.name for one in refused}]
        await waypost.make_due(taken)
        hosts = waypost.hosts_of(taken)
        with stop_on_signals() as stop, live_progress(Console(stderr=True), quiet=as_json) as show:
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
        await waypost.drain()
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
