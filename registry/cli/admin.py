"""`waypost admin`: decisions that only operators of this registry make, and what they look at."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from registry.cli import common
from registry.cli.clean import members, print_json
from registry.cli.common import (
    DONE,
    NO,
    USAGE,
    AsJson,
    DataFolder,
    begins_registry,
    fail,
    on_registry,
    print_error,
    print_line,
)

if TYPE_CHECKING:
    from registry.actions.reports import ReportRecord
    from registry.core.access.holds import HoldKind
    from registry.core.access.tokens import ApiKey
    from registry.core.model.reports import ReportState
    from registry.wiring import Waypost

_PAGE = 500

admin = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Block hosts, examine them, and see who decided what.

    Each decision is an entry of the audit log. Exit code 1 when nothing changed, or nothing was found. """,
)
keys = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="""API keys, with which operators do the same through the API. """
)
opt_outs = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="""The file of opt-outs, which a restored backup needs. """
)
reports = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Read and answer reports about hosts.

    Neither a report nor its acceptance changes anything by itself. Run the command that it calls for, such as
    `waypost forget`. Exit code 1 when there is no such report. """,
)

Host = Annotated[str, typer.Argument(metavar="HOST", help="The host; all hosts below it are covered too.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why: everybody can read it.")]


@admin.command()
def block(host: Host, reason: Reason, data: DataFolder = None, as_json: AsJson = False) -> None:
    """Keep a host from being visited and listed.

    Stored data stays, so that `unblock` shows it again.
    """
    _hold(host, "blocked", reason, data, as_json=as_json)


@admin.command()
def unblock(host: Host, reason: Reason = "", data: DataFolder = None, as_json: AsJson = False) -> None:
    """End a block: the host is shown again and visited next."""
    _hold(host, "blocked", reason, data, ends=True, as_json=as_json)


@admin.command()
def quarantine(host: Host, reason: Reason, data: DataFolder = None, as_json: AsJson = False) -> None:
    """Keep a host from being listed until it is released.

    It is still visited and graded.
    """
    _hold(host, "quarantined", reason, data, as_json=as_json)


@admin.command()
def release(host: Host, reason: Reason = "", data: DataFolder = None, as_json: AsJson = False) -> None:
    """End a quarantine: the latest findings are shown."""
    _hold(host, "quarantined", reason, data, ends=True, as_json=as_json)


def _hold(host: str, kind: "HoldKind", reason: str, data: Path | None, *, ends: bool = False, as_json: bool) -> None:
    """Hold a host, or end its hold, and print the result."""
    from registry.core.access.audit import OPERATOR

    async def work(waypost: "Waypost") -> int:
        change = waypost.access.release if ends else waypost.access.hold
        held = await change(host, kind, actor=OPERATOR, reason=reason)
        if as_json:
            print_json(asdict(held))
        elif held.changed:
            done = "shown again" if ends else "hidden"
            print_line(f"{held.host} {held.kind}: services {done}: {', '.join(held.services) or 'none'}")
        else:
            unchanged = "this host itself is not held; see `waypost admin blocks`" if ends else "it was so already"
            print_line(f"{held.host} {held.kind}: {unchanged}")
        return DONE if held.changed else NO

    if not ends and not reason.strip():
        fail("--reason: must not be empty", USAGE)
    common.run_with_registry(work, data, creates=not ends)


@admin.command()
@on_registry
async def blocks(waypost: "Waypost", as_json: AsJson = False) -> int:
    """List all blocks and quarantines."""
    after, found = ("", "", ""), False
    while holds := await waypost.access.holds(after, limit=_PAGE):
        found = True
        for hold in holds:
            if as_json:
                print_json(members(hold, "host", "kind", "reason", "actor", "since"))
            else:
                print_line("  ".join([_time(hold.since), hold.kind, hold.host, hold.actor, hold.reason]))
        after = (holds[-1].domain, holds[-1].host, holds[-1].kind)
    return DONE if found else NO


@admin.command()
@on_registry
async def audit(
    waypost: "Waypost",
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="Only what concerns this host, and hosts above it.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
    as_json: AsJson = False,
) -> int:
    """Show who changed what and why, the latest first."""
    from registry.core.names.domains import host_syntax

    name, cursor, left = None if host is None else host_syntax(host), None, limit
    while left:
        page = await waypost.access.audit(limit=min(left, _PAGE), cursor=cursor, host=name)
        for entry in page.entries:
            if as_json:
                print_json(asdict(entry))
                continue
            detail = ", ".join(f"{name} {value}" for name, value in entry.detail.items())
            parts = (_time(entry.at), entry.actor, entry.action, entry.host, entry.reason, detail and f"({detail})")
            print_line("  ".join(filter(None, parts)))
        left, cursor = left - len(page.entries), page.cursor
        if cursor is None:
            break
    return DONE if left < limit else NO


@admin.command()
@on_registry
async def queue(waypost: "Waypost", as_json: AsJson = False) -> int:
    """Show what is waiting: visits, submissions, checks of opt-outs, the index, the change feed."""
    load = await waypost.figures.workload()
    if as_json:
        print_json(asdict(load))
        return DONE
    print_line("domains: " + ", ".join(f"{number} {state}" for state, number in load.domains.items()))
    print_line(f"submissions that wait: {load.submissions}{_oldest(load.oldest_submission_at)}")
    print_line(f"submissions put off: {load.postponed}")
    print_line("largest numbers of waiting hosts of one client: " + (", ".join(map(str, load.by_client)) or "none"))
    print_line(f"candidates: {load.candidates}")
    print_line(f"opt-outs to check: {load.opt_out_requests}{_oldest(load.oldest_opt_out_request_at)}")
    print_line(f"services whose index entry is out of date: {load.index_lag}")
    print_line(f"events without a place in the feed: {load.feed_lag}{_oldest(load.oldest_event_at)}")
    return DONE


@keys.command("add")
@begins_registry
async def add_key(
    waypost: "Waypost",
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is, or what for.")],
    scopes: Annotated[
        list[str],
        typer.Option("--scope", metavar="SCOPE", help="audit, blocks, keys, queue, read, reports, visits; repeatable."),
    ],
    expires: Annotated[
        int | None, typer.Option(min=1, max=3_650, metavar="DAYS", help="How long it is valid; by default for ever.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Make a key and show it once.

    Only its digest is stored.
    """
    from registry.actions.access import BadKey

    try:
        key, token = await waypost.access.make_key(name, scopes, days=expires)
    except BadKey as error:
        fail(str(error), USAGE)
    if as_json:
        print_json({**_facts(key), "token": token.text})
    else:
        print_line(f"{key.id}  {key.name}  {', '.join(key.scopes)}{_until(key)}")
        print_line(token.text)
    return DONE


@keys.command("list")
@on_registry
async def list_keys(waypost: "Waypost", as_json: AsJson = False) -> int:
    """Show all keys without their secrets, revoked ones included."""
    found = await waypost.access.keys()
    for key in found:
        if as_json:
            print_json(_facts(key))
            continue
        used = f", last used on {key.last_used_on}" if key.last_used_on else ", never used"
        state = f", revoked {_time(key.revoked_at)}" if key.revoked_at else _until(key)
        print_line(f"{key.id}  {key.name}  {', '.join(key.scopes)}{state}{used}")
    return DONE if found else NO


def _facts(key: "ApiKey") -> dict[str, Any]:
    return members(key, "id", "name", "scopes", "created_at", "expires_at", "revoked_at", "last_used_on")


def _until(key: "ApiKey") -> str:
    return f", until {_time(key.expires_at)}" if key.expires_at else ""


@keys.command("revoke")
@on_registry
async def revoke_key(
    waypost: "Waypost", key: Annotated[str, typer.Argument(metavar="ID", help="The id that `add` and `list` show.")]
) -> int:
    """Revoke a key, at once and for ever."""
    if await waypost.access.revoke_key(key) is None:
        print_error("there is no such key, or it was revoked already")
        return NO
    return DONE


@opt_outs.command()
@on_registry
async def export(
    waypost: "Waypost",
    database: Annotated[bool, typer.Option("--database", help="Add the opt-outs that only the database has.")] = False,
) -> int:
    """Print this machine's file of opt-outs, for another machine.

    Lines that cannot be read are left out; exit code 1 when there are any.
    """
    from registry.actions.maintenance.opt_out import encoded

    lines, unreadable = await waypost.opt_outs.lines(with_database=database)
    for line in lines:
        typer.echo(encoded(line).decode(), nl=False)
    return _code(unreadable)


@opt_outs.command()
@begins_registry
async def replay(
    waypost: "Waypost",
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of opt-outs, of this machine or another.")],
    as_json: AsJson = False,
) -> int:
    """Apply a file of opt-outs to the database.

    Entries that the database lacks take effect, ends of opt-outs included. Every start applies this machine's file.
    """
    try:
        replayed, unreadable = await waypost.opt_outs.replay_file(file)
    except OSError as error:
        fail(f"{file}: {error.strerror}", USAGE)
    if as_json:
        print_json(members(replayed, "lines", "opted_out", "readmitted") | {"unreadable": unreadable})
    else:
        print_line(f"{replayed.lines} lines; opted out: {', '.join(replayed.opted_out) or 'none'}")
        print_line(f"readmitted: {', '.join(replayed.readmitted) or 'none'}")
    return _code(unreadable)


def _code(unreadable: int) -> int:
    if unreadable:
        print_error(f"{unreadable} lines cannot be read")
    return NO if unreadable else DONE


@reports.command("list")
@on_registry
async def list_reports(
    waypost: "Waypost",
    closed: Annotated[bool, typer.Option("--closed", help="Show decided reports instead.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show reports with their texts, the latest first."""
    states: list[ReportState] = ["accepted", "rejected"] if closed else ["open", "in_review"]
    page = await waypost.reports.page(states)
    for report in page.reports:
        texts = page.texts[report.id]
        if as_json:
            print_json(_report_facts(report) | {"texts": texts})
        else:
            _show_report(report, texts)
    return DONE


@reports.command()
def resolve(
    report: Annotated[str, typer.Argument(metavar="ID", help="The id that `list` shows.")],
    state: Annotated[str, typer.Argument(metavar="STATE", help="in_review, accepted, rejected or open.")],
    answer: Annotated[str, typer.Option(help="Read by the owner of the host and by everyone who filed it.")] = "",
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Decide a report, and answer it."""
    from registry.core.access.audit import OPERATOR
    from registry.core.model.reports import STATES

    if state not in STATES:
        fail(f"STATE must be one of {', '.join(STATES)}", USAGE)
    try:
        report_id = UUID(report)
    except ValueError:
        fail("ID must be the id of a report", USAGE)

    async def work(waypost: "Waypost") -> int:
        resolved = await waypost.reports.resolve(report_id, state, answer, actor=OPERATOR)
        if resolved is None:
            print_error("there is no such report")
            return NO
        if as_json:
            print_json(_report_facts(resolved.report))
        else:
            _show_report(resolved.report, [])
        return DONE

    common.run_with_registry(work, data)


def _show_report(report: "ReportRecord", texts: Sequence[str]) -> None:
    times = f", reported {report.filings} times" if report.filings > 1 else ""
    print_line(f"{report.id}: {report.host} {report.code}, {report.state}{times}")
    for text in texts:
        print_line(f"  {text}")
    if report.answer:
        print_line(f"  answer: {report.answer}")


def _report_facts(report: "ReportRecord") -> dict[str, Any]:
    facts = members(report, "code", "state", "filings", "filed_at", "updated_at")
    return {"id": str(report.id), "domain": report.host, **facts, "answer": report.answer or None}


def _oldest(at: datetime | None) -> str:
    return f", the oldest since {_time(at)}" if at else ""


def _time(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if at else "never"


admin.add_typer(keys, name="keys")
admin.add_typer(opt_outs, name="opt-outs")
admin.add_typer(reports, name="reports")
