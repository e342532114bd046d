"""`waypost inspect`: the ledger of one domain, for people and for scripts."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from registry.actions.answering.explain import Account, why_next
from registry.cli.checked import visible
from registry.cli.show import DONE, NO, print_json
from registry.core.domains import host_syntax
from registry.core.next_visit import in_words, upcoming
from registry.store.records import HostRecord, VisitRecord
from registry.wiring import Waypost, utc_now


async def show_account(waypost: Waypost, name: str, visits: int, console: Console, *, as_json: bool) -> int:
    """Raises InvalidName."""
    host = host_syntax(name)
    account, now = await waypost.explain(host, visits=visits), utc_now()
    if account is None:
        if as_json:
            print_json({"host": host, "known": False})
        else:
            console.print(f"{escape(host)}: nobody ever named it", highlight=False)
        return NO
    if as_json:
        print_json(_as_json(account, now))
    else:
        _print_account(console, account, now)
    return DONE


def _as_json(account: Account, now: datetime) -> dict[str, Any]:
    return {
        "host": account.name,
        "known": account.host is not None,
        "opted_out": account.opted_out,
        "domain": asdict(account.domain),
        "requests_last_24h": account.spent,
        **({"about": _host_json(account.host, now)} if account.host else {}),
        "visits": [asdict(one) for one in account.visits],
        "hosts": [_host_json(one, now) for one in account.hosts],
    }


def _host_json(host: HostRecord, now: datetime) -> dict[str, Any]:
    """Without the body of robots.txt, which is bytes of a stranger, and what is pending, which is ours."""
    told = {key: value for key, value in asdict(host).items() if key not in ("robots_body", "pending")}
    return {**told, "next_visit_at": upcoming(host.next_visit_at, now), "next_visit_says": why_next(host)}


def _print_account(console: Console, account: Account, now: datetime) -> None:
    domain = account.domain
    state = "being visited now" if domain.is_leased else f"{account.spent} requests in the last 24 h"
    attempts = f", {domain.attempts} visits in a row that nobody finished" if domain.attempts > 1 else ""
    console.print(f"[bold]{escape(account.name)}[/] of {escape(domain.domain)}: {state}{attempts}", highlight=False)
    if account.opted_out:
        console.print("  the site asked to be left alone: it is not visited and not shown", highlight=False)
    if account.host is not None:
        _print_host(console, account.host, now)
    for visit in account.visits:
        _print_visit(console, visit, now)
    if account.hosts:
        _print_others(console, account, now)


def _print_host(console: Console, host: HostRecord, now: datetime) -> None:
    named = f"{host.source}, {_when(host.created_at, now)}" + (f", by {host.referrer}" if host.referrer else "")
    lines = {"named": named}
    if host.outcome is not None:
        times = f", {host.streak} times in a row" if host.streak > 1 else ""
        lines["last visit"] = f"{_when(host.last_visit_at, now)}: {_ended(host.outcome.value, host.reason)}{times}"
    if host.alias_of:
        lines["answers for it"] = host.alias_of
    if host.robots_at:
        lines["robots.txt"] = f"{host.robots_status or 'could not be read'}, {_when(host.robots_at, now)}"
    lines["next visit"] = f"{_when(upcoming(host.next_visit_at, now), now)}: {why_next(host)}"
    for head, text in lines.items():
        console.print(f"  {head + ':':<16}{escape(visible(text))}", highlight=False, soft_wrap=True)


def _print_visit(console: Console, visit: VisitRecord, now: datetime) -> None:
    took = (visit.finished_at - visit.started_at).total_seconds()
    plan = "whole plan" if visit.whole_plan else "known documents"
    title = (
        f"{visit.started_at:%Y-%m-%d %H:%M:%S} UTC ({_when(visit.started_at, now)}): "
        f"{_ended(visit.outcome.value, visit.reason)}; {plan}, {visit.requests} requests in {took:.1f} s"
        + (f" at {visit.address}" if visit.address else "")
    )
    table = Table(
        "asked", "status", "outcome", "format", "type", "bytes", "ms", title=escape(title), title_justify="left"
    )
    for entry in visit.vector:
        table.add_row(*(escape(visible(cell)) for cell in _cells(visit.host, entry)))
    console.print(table)


def _cells(host: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    form = "/".join(filter(None, (entry.get("format"), entry.get("dialect"))))
    went = f" -> {entry['final_url']}" if entry.get("final_url") else ""
    numbers = (str(entry.get(key, "")) for key in ("size", "ms"))
    # robots.txt and the home page are read for themselves: that they are no manifest is nothing to tell.
    reason = entry.get("reason", "")
    ended = "read" if reason == entry["purpose"] else _ended(entry["outcome"], reason)
    asked = entry["url"].removeprefix(f"https://{host}") + went
    return asked, str(entry.get("status", "")), ended, form, entry.get("type", ""), *numbers


def _print_others(console: Console, account: Account, now: datetime) -> None:
    table = Table(
        "host", "named by", "last visit", "next visit", title="Other hosts of the domain", title_justify="left"
    )
    for host in account.hosts:
        last = _ended(host.outcome.value, host.reason) if host.outcome else "none yet"
        table.add_row(
            host.host, escape(host.source), escape(last), escape(_when(upcoming(host.next_visit_at, now), now))
        )
    console.print(table)


def _ended(outcome: str, reason: str) -> str:
    return outcome.replace("_", " ") + (f" ({reason})" if reason else "")


def _when(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "never"
    if abs((at - now).total_seconds()) < 30:
        return "now"
    return f"in {in_words(at - now)}" if at > now else f"{in_words(now - at)} ago"
