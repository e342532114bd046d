"""`waypost forget` and `waypost optout`: who is taken out of the registry, and who comes back."""

from dataclasses import asdict

from rich.console import Console
from rich.markup import escape

from registry.actions.keeping.opt_out import Verdict
from registry.cli.show import DONE, NO, print_json
from registry.core.domains import host_syntax
from registry.settings import Settings
from registry.wiring import Waypost

_SAYS: dict[Verdict, str] = {
    "opted_out": "opted out: everything stored of it is deleted, and it stays out",
    "no_proof": "neither its well-known file nor its TXT record says so: nothing changed",
    "unanswered": "the places that decide could not be read: nothing changed, try again later",
    "readmitted": "may be visited again, and is queued",
    "still_says_so": "still says that it wants to be left alone: nothing changed",
    "by_operator": "was taken down by an operator of this registry: `--undo --force` takes that back",
    "not_opted_out": "has not opted out",
}
_GOOD: tuple[Verdict, ...] = ("opted_out", "readmitted", "not_opted_out")


async def show_forgotten(
    waypost: Waypost, name: str, console: Console, *, opt_out: bool, reason: str, as_json: bool
) -> int:
    """Raises InvalidName."""
    gone = await waypost.forget(name, opt_out=opt_out, reason=reason)
    await waypost.drain()
    if as_json:
        print_json(asdict(gone))
        return DONE
    below = " and all hosts below it" if gone.host != gone.domain else ", the whole domain"
    console.print(f"[bold]{escape(gone.host)}[/]{below}: forgotten", highlight=False)
    for table, number in gone.rows.items():
        if number:
            console.print(f"  {number} {table.replace('_', ' ')}", highlight=False)
    stays = "it stays out for good" if gone.stays_out else "it may be named or submitted again"
    console.print(f"  {stays}", highlight=False)
    return DONE


async def show_opt_out(
    waypost: Waypost, settings: Settings, name: str, console: Console, *, undo: bool, force: bool, as_json: bool
) -> int:
    """Looks at the site now. Raises InvalidName and guards.BadSetup."""
    host = host_syntax(name)
    verdict = await waypost.readmit(host) if undo and force else await _looked(waypost, settings, name, undo=undo)
    await waypost.drain()
    if as_json:
        print_json({"host": host, "wish": "in" if undo else "out", "verdict": verdict})
    else:
        console.print(f"{escape(host)}: {_SAYS[verdict]}", highlight=False)
    return DONE if verdict in _GOOD else NO


async def _looked(waypost: Waypost, settings: Settings, name: str, *, undo: bool) -> Verdict:
    from crawler.optout import read_proof
    from crawler.visit import Visitor

    request = await waypost.operator_asks(name, "in" if undo else "out")
    async with Visitor(settings) as visitor:
        return await waypost.settle_opt_out(request, await read_proof(visitor, request.host))
