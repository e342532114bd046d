"""`waypost inspect`: print the crawl ledger of one domain, as tables or as JSON."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from registry.actions.queries.explain import Explanation, HostRecord, VisitRecord, why_next
from registry.actions.queries.unasked import Unasked
from registry.cli.clean import print_json, visible
from registry.cli.common import DONE, NO
from registry.core.names.domains import host_syntax
from registry.core.scheduling.reasons import in_words, shown_time
from registry.wiring import Waypost, utc_now


async def show_account(waypost: Waypost, name: str, visits: int, console: Console, *, as_json: bool) -> int:
    """Print the ledger of a host and return the exit code. Raise InvalidName."""
    host = host_syntax(name)
    account, now = await waypost.queries.explain(host, visits=visits), utc_now()
    if account is None:
        if as_json:
            print_json({"host": host, "known": False})
        else:
            console.print(f"{escape(host)}: unknown host")
        return NO
    if as_json:
        print_json(_account_json(account, now))
    else:
        _print_account(console, account, now)
    return DONE


def _account_json(account: Explanation, now: datetime) -> dict[str, Any]:
    return {
        "host": account.name,
        "known": account.host is not None,
        "opted_out": account.opted_out,
        "domain": asdict(account.domain),
        "requests_last_24h": account.spent,
        **({"about": _host_json(account.host, now), "unasked": asdict(account.unasked)} if account.host else {}),
        "visits": [asdict(visit) for visit in account.visits],
        "hosts": [_host_json(host, now) for host in account.hosts],
    }


def _host_json(host: HostRecord, now: datetime) -> dict[str, Any]:
    """Return the host without the body of robots.txt, which is untrusted bytes, and without internal pending state."""
    members = {key: value for key, value in asdict(host).items() if key not in ("robots_body", "pending")}
    return {**members, "next_visit_at": shown_time(host.next_visit_at, now), "next_visit_says": why_next(host)}


def _print_account(console: Console, account: Explanation, now: datetime) -> None:
    domain = account.domain
    state = "being visited now" if domain.is_leased else f"{account.spent} requests in the last 24 h"
    attempts = f", {domain.attempts} unfinished visits in a row" if domain.attempts > 1 else ""
    console.print(f"[bold]{escape(account.name)}[/] of {escape(domain.domain)}: {state}{attempts}")
    if account.opted_out:
        console.print("  the site opted out: it is not visited and not shown")
    if account.host is not None:
        _print_host(console, account.host, account.unasked, now)
    for visit in account.visits:
        _print_visit(console, visit, now)
    if account.hosts:
        _print_other_hosts(console, account, now)


def _print_host(console: Console, host: HostRecord, unasked: Unasked, now: datetime) -> None:
    origin = f"{host.source}, {_relative_time(host.created_at, now)}" + (
        f", by {host.referrer}" if host.referrer else ""
    )
    lines = {"named": origin}
    if host.outcome is not None:
        repeats = f", {host.streak} times in a row" if host.streak > 1 else ""
        lines["last visit"] = (
            f"{_relative_time(host.last_visit_at, now)}: {_outcome_text(host.outcome.value, host.reason)}{repeats}"
        )
    if host.alias_of:
        lines["answers for it"] = host.alias_of
    if host.robots_at:
        lines["robots.txt"] = f"{host.robots_status or 'could not be read'}, {_relative_time(host.robots_at, now)}"
    lines["next visit"] = f"{_relative_time(shown_time(host.next_visit_at, now), now)}: {why_next(host)}"
    if unasked.paths:
        lines["not asked yet"] = _unasked_text(unasked, now)
    for head, text in lines.items():
        console.print(f"  {head + ':':<16}{escape(visible(text))}", soft_wrap=True)


def _unasked_text(unasked: Unasked, now: datetime) -> str:
    """Return the paths by the visit that will request them."""
    by_visit: dict[int, list[str]] = {}
    for unasked_path in unasked.paths:
        by_visit.setdefault(unasked_path.visit, []).append(unasked_path.path)
    at = unasked.next_whole_plan_at
    when = "if it is visited" if at is None else f"with the next whole plan, {_relative_time(at, now)}"
    texts = {1: when, 2: "with the whole plan after it"}
    return "; ".join(
        f"{', '.join(paths)} ({texts.get(number, f'{number - 1} whole plans later')})"
        for number, paths in sorted(by_visit.items())
    )


def _print_visit(console: Console, visit: VisitRecord, now: datetime) -> None:
    seconds = (visit.finished_at - visit.started_at).total_seconds()
    plan = "whole plan" if visit.whole_plan else "known documents"
    title = (
        f"{visit.started_at:%Y-%m-%d %H:%M:%S} UTC ({_relative_time(visit.started_at, now)}): "
        f"{_outcome_text(visit.outcome.value, visit.reason)}; {plan}, {visit.requests} requests in {seconds:.1f} s"
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
    redirect = f" -> {entry['final_url']}" if entry.get("final_url") else ""
    numbers = (str(entry.get(key, "")) for key in ("size", "ms"))
    # robots.txt and the home page are not expected to be manifests, so that outcome is not worth printing.
    reason = entry.get("reason", "")
    ending = "read" if reason == entry["purpose"] else _outcome_text(entry["outcome"], reason)
    path = entry["url"].removeprefix(f"https://{host}") + redirect
    return path, str(entry.get("status", "")), ending, form, entry.get("type", ""), *numbers


def _print_other_hosts(console: Console, account: Explanation, now: datetime) -> None:
    table = Table(
        "host", "named by", "last visit", "next visit", title="Other hosts of the domain", title_justify="left"
    )
    for host in account.hosts:
        last = _outcome_text(host.outcome.value, host.reason) if host.outcome else "none yet"
        table.add_row(
            host.host,
            escape(host.source),
            escape(last),
            escape(_relative_time(shown_time(host.next_visit_at, now), now)),
        )
    console.print(table)


def _outcome_text(outcome: str, reason: str) -> str:
    return outcome.replace("_", " ") + (f" ({reason})" if reason else "")


def _relative_time(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "never"
    if abs((at - now).total_seconds()) < 30:
        return "now"
    return f"in {in_words(at - now)}" if at > now else f"{in_words(now - at)} ago"
