"""The command `crawl`: visit named hosts once, or load a list and visit everything that is due.

With `--from`, the list is loaded into the frontier first, and a report is printed at the end.
"""

import asyncio
from collections.abc import Sequence

from rich.console import Console

from crawler.run import crawl
from registry.cli.clean import print_json
from registry.cli.common import INTERRUPTED, NO
from registry.cli.live import live_progress
from registry.cli.show import show_visited
from registry.cli.shutdown import exit_after_deadline, stop_on_signals
from registry.cli.terminal import errors, escaped
from registry.core.names.domains import Host
from registry.core.names.seeds import Refusal
from registry.settings import Settings
from registry.wiring import Waypost, open_waypost
from registry.wiring.upkeep import last_drain

POLL_SECONDS = 1.0


async def run_crawl(settings: Settings, names: Sequence[str], *, console: Console, as_json: bool) -> int:
    """Visit the named hosts once, index and print the results. A running worker may visit some of them instead."""
    async with open_waypost(settings) as waypost:
        refused: list[Refusal] = []
        await waypost.frontier.seed(names, source="command", on_refusal=refused.append)
        accepted = [name for name in names if name not in {refusal.name for refusal in refused}]
        await waypost.frontier.make_due(accepted)
        hosts = waypost.frontier.hosts_of(accepted)
        with stop_on_signals() as stop, live_progress(errors, quiet=as_json) as progress:
            async with exit_after_deadline(stop):
                while not stop.is_set() and await waypost.frontier.waiting(hosts):
                    await waypost.crawl.recover()  # reclaims the leases of a killed crawl
                    await crawl(
                        waypost,
                        settings,
                        until_idle=True,
                        only={host.domain for host in hosts},
                        progress=progress,
                        stop=stop,
                    )
                    hosts = await _with_alias_targets(waypost, hosts)
                    if not stop.is_set() and await waypost.frontier.waiting(hosts):
                        await asyncio.sleep(POLL_SECONDS)
            interrupted = stop.is_set()
        waypost.search.backend.claim()
        await (last_drain(waypost) if interrupted else waypost.search.drain())
        for refusal in refused:
            if as_json:
                print_json({"host": refusal.name, "state": "refused", "reasons": [refusal.message]})
            else:
                console.print(f"{escaped(refusal.name)}: refused, {escaped(refusal.message)}")
        listed = await show_visited(waypost, [host.host for host in hosts], console, as_json=as_json)
    if interrupted:
        return INTERRUPTED
    return 0 if listed and not refused else NO


async def _with_alias_targets(waypost: Waypost, hosts: Sequence[Host]) -> list[Host]:
    """Return the hosts, followed by the hosts they are aliases of (apex and `www.`)."""
    statuses = [await waypost.queries.status(host.host) for host in hosts]
    alias_targets = {status.alias_of for status in statuses if status and status.alias_of} - {
        host.host for host in hosts
    }
    return [*hosts, *waypost.frontier.hosts_of(sorted(alias_targets))]
