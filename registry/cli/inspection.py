"""`waypost inspect`: print the crawl ledger of one domain, as tables or as JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from registry.actions.queries import inspect
from registry.actions.queries.inspect import HostReport, ServiceView, why_next
from registry.cli.clean import print_json
from registry.cli.common import DONE, NO
from registry.cli.show import trust_lines
from registry.cli.terminal import console as stdout
from registry.cli.terminal import escaped
from registry.core.merging.trust import explained_listing
from registry.core.names.domains import host_syntax
from registry.core.scheduling.policy import in_words, shown_time
from registry.wiring import Waypost, utc_now

WIDE: Final = 120
"""Columns of a terminal from which the media types of answers are shown too."""

ANSWER_COLUMNS: Final = 28
"""Most columns of an answer on a narrower terminal: half of what 80 columns leave, so that most paths fit a line."""


async def show_account(waypost: Waypost, name: str, visits: int, console: Console = stdout, *, as_json: bool) -> int:
    """Print the ledger of a host and return the exit code. Raise InvalidName."""
    host = host_syntax(name)
    account, now = await waypost.queries.explain(host, visits=visits), utc_now()
    status, service = await waypost.queries.status(host), await waypost.queries.service(host)
    if account is None:
        if as_json:
            print_json({"host": host, "known": False})
        else:
            console.print(f"{escaped(host)}: unknown host")
        return NO
    if as_json:
        print_json(_account_json(account, status, service, now))
    else:
        _print_account(console, account, status, service, now)
    return DONE


def _account_json(
    account: inspect.Explanation, status: HostReport | None, service: ServiceView | None, now: datetime
) -> dict[str, Any]:
    known = account.host
    value = {
        "host": account.name,
        "known": known is not None,
        "opted_out": account.opted_out,
        "domain": asdict(account.domain),
        "requests_last_24h": account.spent,
        **({"about": _host_json(known, now), "unasked": asdict(account.unasked)} if known else {}),
        "visits": [_visit_json(visit) for visit in account.visits],
        "hosts": [_host_json(host, now) for host in account.hosts],
    }
    if status is not None:
        flags = list(status.injection_flags)
        value |= {"state": status.state, "reasons": list(status.reasons), "injection_flags": flags}
    if service is not None:
        value["trust_level"] = service.record.trust_level.value
        is_owned = service.ownership.state == "proven"
        value["trust"] = explained_listing(service.record.listing, service.record.trust_since, is_owned=is_owned)
        value["ownership"] = asdict(service.ownership)
        value["canonical_host"] = service.setting.canonical if service.setting else None
    return value


def _host_json(host: inspect.HostRecord, now: datetime) -> dict[str, Any]:
    """Return the host without the body of robots.txt, which is untrusted, and without internal pending state."""
    members = {key: value for key, value in asdict(host).items() if key not in ("robots_body", "pending")}
    return {**members, "next_visit_at": shown_time(host.next_visit_at, now), "next_visit_says": why_next(host)}


def _visit_json(visit: inspect.VisitRecord) -> dict[str, Any]:
    """Return the visit with its requests and answers instead of their stored bytes."""
    return {key: value for key, value in asdict(visit).items() if key != "packed"} | {"answers": visit.vector}


def _print_account(
    console: Console,
    account: inspect.Explanation,
    status: HostReport | None,
    service: ServiceView | None,
    now: datetime,
) -> None:
    domain = account.domain
    state = "being visited now" if domain.is_leased else f"{account.spent} requests in the last 24 h"
    attempts = f", {domain.attempts} unfinished visits in a row" if domain.attempts > 1 else ""
    console.print(f"[bold]{escaped(account.name)}[/] of {escaped(domain.domain)}: {state}{attempts}")
    if account.opted_out:
        console.print("  the site opted out: it is not visited and not shown")
    if account.host is not None:
        facts = _table(show_header=False)
        facts.add_column(no_wrap=True)
        facts.add_column(overflow="fold")
        for name, text in (*_status_lines(status, service, now), *_host_lines(account.host, account.unasked, now)):
            facts.add_row(f"{name}:", escaped(text))
        console.print(_indented(facts))
    for visit in account.visits:
        console.print(f"\n{escaped(_visit_title(visit, now))}")
        console.print(_indented(_answers_table(visit, has_type=console.width >= WIDE)))
    if account.hosts:
        console.print("\nOther hosts of the domain")
        console.print(_indented(_other_hosts_table(account, now)))


def _status_lines(status: HostReport | None, service: ServiceView | None, now: datetime) -> Iterator[tuple[str, str]]:
    if status is not None:
        yield "state", status.state.replace("_", " ")
        yield from (("reason", reason) for reason in status.reasons)
        if status.injection_flags:
            yield "flagged", ", ".join(status.injection_flags)
    if service is not None:
        trust = explained_listing(
            service.record.listing, service.record.trust_since, is_owned=service.ownership.state == "proven"
        )
        yield from (("identity", words) for words in trust_lines(trust))
        if service.ownership.state == "proven":
            yield "owner", f"proven {_relative_time(service.ownership.since, now)}, by {service.ownership.method}"
        if service.setting is not None and service.setting.canonical is not None:
            yield "stands for it", service.setting.canonical


def _host_lines(host: inspect.HostRecord, unasked: inspect.UnprobedPaths, now: datetime) -> Iterator[tuple[str, str]]:
    named_by = f", by {host.referrer}" if host.referrer else ""
    yield "named", f"{host.source}, {_relative_time(host.created_at, now)}{named_by}"
    if host.outcome is not None:
        repeats = f", {host.streak} times in a row" if host.streak > 1 else ""
        ending = _outcome_text(host.outcome.value, host.reason)
        yield "last visit", f"{_relative_time(host.last_visit_at, now)}: {ending}{repeats}"
    if host.alias_of:
        yield "answers for it", host.alias_of
    if host.robots_at:
        yield "robots.txt", f"{host.robots_status or 'could not be read'}, {_relative_time(host.robots_at, now)}"
    yield "next visit", f"{_relative_time(shown_time(host.next_visit_at, now), now)}: {why_next(host)}"
    if unasked.paths:
        yield "not asked yet", _unasked_text(unasked, now)


def _unasked_text(unasked: inspect.UnprobedPaths, now: datetime) -> str:
    """Return the unrequested paths by the visit that will request them."""
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


def _indented(table: Table) -> Padding:
    return Padding(table, (0, 0, 0, 2))


def _table(**options: Any) -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), **options)


def _visit_title(visit: inspect.VisitRecord, now: datetime) -> str:
    seconds = (visit.finished_at - visit.started_at).total_seconds()
    plan = "whole plan" if visit.whole_plan else "known documents"
    sent = "" if visit.sent in (None, visit.requests) else f", {visit.sent} sent,"
    address = f" at {visit.address}" if visit.address else ""
    return (
        f"{visit.started_at:%Y-%m-%d %H:%M:%S} UTC ({_relative_time(visit.started_at, now)}): "
        f"{_outcome_text(visit.outcome.value, visit.reason)}; {plan}, "
        f"{visit.requests} requests{sent} in {seconds:.1f} s{address}"
    )


def _answers_table(visit: inspect.VisitRecord, *, has_type: bool) -> Table:
    """Return the requests of a visit, one per row. The path is the last column and is folded, so 80 columns suffice."""
    table = _table()
    table.add_column("answer", max_width=None if has_type else ANSWER_COLUMNS, overflow="fold")
    if has_type:
        table.add_column("type", overflow="fold")
    table.add_column("bytes", justify="right", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    table.add_column("asked", overflow="fold")
    for entry in visit.vector:
        answer, media_type, *others = map(escaped, _cells(visit.host, entry))
        table.add_row(answer, *((media_type,) if has_type else ()), *others)
    return table


def _cells(host: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return answer (status, outcome, format), media type, size, time and path of a request."""
    form = "/".join(filter(None, (entry.get("format"), entry.get("dialect"))))
    # robots.txt and the home page are not expected to be manifests, so that outcome is not worth printing.
    reason = entry.get("reason", "")
    if reason == f"status_{entry.get('status')}":
        reason = ""
    ending = "read" if reason == entry["purpose"] else _outcome_text(entry["outcome"], reason)
    answer = " ".join(filter(None, (str(entry.get("status") or ""), ending, form)))
    redirect = f" -> {entry['final_url']}" if entry.get("final_url") else ""
    rpc_method = f" {entry['rpc']}" if "rpc" in entry else ""
    path = entry["url"].removeprefix(f"https://{host}") + redirect + rpc_method
    return answer, entry.get("type") or "", str(entry.get("size", "")), str(entry.get("ms", "")), path


def _other_hosts_table(account: inspect.Explanation, now: datetime) -> Table:
    table = _table()
    for name in ("host", "named by", "last visit", "next visit"):
        table.add_column(name, overflow="fold")
    for host in account.hosts:
        last = _outcome_text(host.outcome.value, host.reason) if host.outcome else "none yet"
        next_visit = _relative_time(shown_time(host.next_visit_at, now), now)
        table.add_row(*map(escaped, (host.host, host.source, last, next_visit)))
    return table


def _outcome_text(outcome: str, reason: str) -> str:
    return outcome.replace("_", " ") + (f" ({reason})" if reason else "")


def _relative_time(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "never"
    if abs((at - now).total_seconds()) < 30:
        return "now"
    return f"in {in_words(at - now)}" if at > now else f"{in_words(now - at)} ago"
