"""`waypost export` and `waypost mirror`: write a dump, copy another registry."""

import asyncio
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

from crawler.mirror import Mirror, MirrorOrigin
from crawler.seeds.online import ReadError
from registry.actions.dumps import BadDump, DumpError
from registry.actions.mirroring.apply import NotAMirror
from registry.cli.clean import print_json
from registry.cli.common import DONE, INTERRUPTED, NO, UNAVAILABLE, USAGE, print_error
from registry.cli.shutdown import exit_after_deadline, stop_on_signals
from registry.cli.terminal import console
from registry.settings import Settings
from registry.wiring import Waypost, open_waypost

FOLDER = "mirror"
MAX_SHOWN = 20


async def show_export(
    waypost: Waypost, folder: Path | None, *, with_documents: bool, without_restricted: bool | None, as_json: bool
) -> int:
    """Write a dump and print its figures. Return UNAVAILABLE when it cannot be written."""
    try:
        exported = await waypost.dumps.export(
            folder, with_documents=with_documents, without_restricted=without_restricted
        )
    except DumpError as error:
        print_error(f"the dump was not written: {error}")
        return UNAVAILABLE
    if as_json:
        print_json(asdict(exported))
        return DONE
    counts = ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in exported.counts.items())
    console.print(f"{exported.snapshot}: {counts}; {exported.parts} parts, {exported.bytes} bytes")
    return DONE


async def run_mirror(settings: Settings, url: str, *, once: bool, source: Path | None, reload_hours: float) -> int:
    """Mirror until SIGINT or SIGTERM, with `once` until the copy is current. Only one process may mirror."""
    async with open_waypost(settings) as waypost:
        with stop_on_signals() as stop:
            async with exit_after_deadline(stop), waypost.jobs.hold("mirror") as hold:
                if hold is None:
                    print_error("another process mirrors into this database")
                    return NO
                async with MirrorOrigin(url, settings, stop) as origin:
                    mirror = Mirror(waypost, origin, settings.data / FOLDER, timedelta(hours=reload_hours), source)
                    working = asyncio.create_task(mirror.run(once=once))
                    ends = [asyncio.create_task(stop.wait()), asyncio.create_task(hold.until_lost())]
                    try:
                        await asyncio.wait({working, *ends}, return_when=asyncio.FIRST_COMPLETED)
                        return await _result(working, stopped=INTERRUPTED if once else DONE, is_stopped=stop.is_set())
                    finally:
                        for task in (working, *ends):
                            task.cancel()
                        await asyncio.gather(working, *ends, return_exceptions=True)


async def _result(working: "asyncio.Task[None]", *, stopped: int, is_stopped: bool) -> int:
    if not working.done():
        return stopped if is_stopped else UNAVAILABLE
    try:
        await working
    except NotAMirror as error:
        print_error(str(error))
        return USAGE
    except (ReadError, BadDump) as error:
        print_error(f"the registry could not be copied: {error}")
        return UNAVAILABLE
    return DONE


async def show_mirror(settings: Settings, *, as_json: bool) -> int:
    """Print how far the copy is, and the hosts whose records were refused. Return NO without a copy."""
    async with open_waypost(settings) as waypost:
        progress = await waypost.mirror.progress()
        if progress is None:
            print_error("this registry is no mirror")
            return NO
        counts = await waypost.mirror.counts()
        refused = await waypost.mirror.refused(limit=MAX_SHOWN)
    manifest = progress.manifest or {}
    shown = {
        "origin": progress.origin,
        "phase": progress.phase,
        "snapshot": manifest.get("snapshot"),
        "parts_loaded": progress.part,
        "parts": len(manifest.get("parts", ())),
        "sequence": progress.sequence,
        "behind_seconds": progress.behind_s,
        "contact_at": progress.contact_at,
        "hosts": counts,
        "refused_lines": progress.refused,
        "refused": {record.host: record.reason for record in refused},
    }
    if as_json:
        print_json(shown)
        return DONE
    for name, value in shown.items():
        console.print(f"{name.replace('_', ' ')}: {value}", markup=False, highlight=False)
    return DONE
