"""`waypost forget` and `waypost optout`: remove hosts from the registry, and readmit them."""

import sys
from dataclasses import asdict
from typing import Literal

import typer
from rich.console import Console

from registry.actions.maintenance.opt_out import Verdict, Wish
from registry.cli.clean import print_json, visible
from registry.cli.common import DONE, NO, USAGE, fail, print_error
from registry.cli.terminal import console as stdout
from registry.cli.terminal import escaped
from registry.core.names.domains import host_syntax, registrable_domain
from registry.settings import Settings
from registry.wiring import Waypost

_MESSAGES: dict[Verdict, str] = {
    "opted_out": "opted out: everything stored about it is deleted, and it will not be visited again",
    "no_proof": "neither its opt-out file nor its TXT record declares it: nothing changed",
    "served_elsewhere": "its opt-out file leads to another host, and no TXT record declares it: nothing changed",
    "unanswered": "the opt-out file and TXT record could not be read: nothing changed, try again later",
    "readmitted": "readmitted and queued for a visit",
    "still_says_so": "the site still declares its opt-out: nothing changed",
    "by_owner": "its owner opted it out with a token: use `--undo --force` to readmit it",
    "by_operator": "an operator of this registry opted it out: use `--undo --force` to readmit it",
    "not_opted_out": "has not opted out",
}
_SUCCESSES: tuple[Verdict, ...] = ("opted_out", "readmitted", "not_opted_out")


def confirm_forgetting(name: str, registry: str, *, opt_out: bool, is_confirmed: bool) -> None:
    """Ask on a terminal whether to delete everything stored about a host. Raise InvalidName.

    `registry` names the registry. End the command with NO when the answer is no, with USAGE without a terminal.
    """
    host = host_syntax(name)
    if is_confirmed:
        return
    extent = "and all hosts below it" if host != registrable_domain(host) else "and all its hosts"
    if not sys.stdin.isatty():
        fail(f"this deletes everything stored about {host} {extent}: confirm with --yes", USAGE)
    future = " and never visit it again" if opt_out else ""
    question = f"Delete everything stored about {host} {extent} from {registry}{future}?"
    if not typer.confirm(visible(question), err=True):
        print_error("nothing was deleted")
        raise typer.Exit(NO)


async def show_forgotten(
    waypost: Waypost, name: str, console: Console = stdout, *, opt_out: bool, reason: str, as_json: bool
) -> int:
    """Delete what is stored about a host or domain, print what was deleted and return the exit code. Raise InvalidName.

    The code is NO when nothing was deleted and no opt-out was requested.
    """
    declared_by: Literal["operator"] | None = "operator" if opt_out else None
    forgotten = await waypost.opt_outs.forget(name, opt_out=declared_by, evidence=reason, reason=reason)
    await waypost.search.drain()
    # Visits of the last day stay without contents, so they are in the counts of the next call too: ignore them.
    was_stored = any(count for table, count in forgotten.rows.items() if table != "visits")
    code = DONE if was_stored or opt_out else NO
    if as_json:
        print_json({**asdict(forgotten), "was_stored": was_stored})
        return code
    extent = " and all hosts below it" if forgotten.host != forgotten.domain else ", the whole domain"
    verdict = "forgotten" if was_stored else "nothing was stored"
    console.print(f"[bold]{escaped(forgotten.host)}[/]{extent}: {verdict}")
    for table, count in forgotten.rows.items() if was_stored else ():
        if count:
            console.print(f"  {count} {table.replace('_', ' ')}")
    console.print(f"  it {'will not be visited again' if forgotten.stays_out else 'can be named or submitted again'}")
    return code


async def show_opt_out(
    waypost: Waypost,
    settings: Settings,
    name: str,
    console: Console = stdout,
    *,
    undo: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Check the site now and apply its opt-out or readmit it. Raise InvalidName and guards.BadSetup."""
    host = host_syntax(name)
    wish: Wish = "in" if undo else "out"
    if undo and force:
        verdict = await waypost.opt_outs.readmit(host)
    else:
        from crawler.checks import OptOutChecks, read_proof

        request = await waypost.opt_outs.request_as_operator(name, wish)
        async with OptOutChecks(settings) as checks:
            verdict = await waypost.opt_outs.settle(request, await read_proof(checks, request.host, wish))
    await waypost.search.drain()
    if as_json:
        print_json({"host": host, "wish": wish, "verdict": verdict})
    else:
        console.print(f"{escaped(host)}: {_MESSAGES[verdict]}")
    return DONE if verdict in _SUCCESSES else NO
