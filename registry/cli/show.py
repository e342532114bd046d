"""Run a query or job for a command and print its result as text or JSON, trust levels and their reasons included."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from registry.actions.mirroring.apply import DecidedAtOrigin
from registry.actions.queries.inspect import ServiceView
from registry.cli.clean import print_json
from registry.cli.common import DONE, NO, demo_folder, print_error
from registry.cli.terminal import console as stdout
from registry.cli.terminal import escaped
from registry.core.merging.trust import (
    CLAIMS_OTHER_SITE,
    DOUBTS,
    IDENTITIES,
    REASONS,
    doubt_of,
    explained_listing,
    shown,
)
from registry.core.model.listing import IdentityState, Query
from registry.core.names.domains import InvalidName, is_confusable
from registry.wiring import Waypost

if TYPE_CHECKING:
    from registry.actions.queries.discover import SearchResult
    from registry.settings import Settings


DEMO_MARK = "demo.lock"
"""A file that the demo creates in its data folder."""
MAX_SHOWN = 20


def identity_line(identity: IdentityState) -> str:
    """Return the word of an identity and what it means."""
    return f"{identity.value}: {IDENTITIES[identity].means}"


def reason_lines(doubt: str | None, reasons: Sequence[str]) -> Iterator[str]:
    """Yield what is in doubt, then the other reasons why the identity is not better known."""
    if doubt is not None:
        yield f"identity in doubt: {doubt}"
    for code in reasons:
        if code not in DOUBTS and not (doubt and code == CLAIMS_OTHER_SITE.code):
            yield f"because: {REASONS[code].says if code in REASONS else code}"


def trust_lines(trust: Mapping[str, Any]) -> Iterator[str]:
    """Yield the meaning of the identity, then its reasons. `trust`: `merging.trust.explained`."""
    yield identity_line(IdentityState(trust["identity"]))
    yield from reason_lines(trust["doubt"], trust["reasons"])


def print_found(console: Console, result: "SearchResult") -> None:
    """Print one result: host, score, capabilities and matched words. Markup in text from sites is escaped."""
    card = result.card
    head = f"[cyan]{card.host}[/]  {escaped(card.name)}, score [bold]{card.score}[/], {card.identity.value}"
    warning = ", [yellow]can be taken for another name[/]" if is_confusable(card.host) else ""
    owned = ", owner proven" if card.owned_since and card.identity is not IdentityState.OWNER_PROVEN else ""
    console.print(f"  {head}, {', '.join(card.formats)}{owned}{warning}{_flagged(card.injection_flags)}")
    if card.canonical_host:
        console.print(f"    its owner lets {escaped(card.canonical_host)} stand for it")
    for words in reason_lines(doubt_of(card.trust), card.trust.get("reasons", ())):
        console.print(f"    [yellow]{escaped(words)}[/]")
    for capability in result.capabilities:
        terms = escaped(", ".join(capability.matched_terms))
        matched = f" [dim](matched: {terms})[/]" if capability.matched_terms else ""
        text = f"[green]{escaped(capability.name)}[/] {escaped(capability.description)}{matched}"
        console.print(f"    {text}{_flagged(capability.injection_flags)}")
    if result.hit.alike_total:
        console.print(f"    [dim]the same at {result.hit.alike_total} other hosts: {', '.join(result.alike)}[/]")


def _flagged(flags: Sequence[str]) -> str:
    return f", [yellow]flagged: {' '.join(flags)}[/]" if flags else ""


async def show_search(waypost: Waypost, query: Query, console: Console = stdout, *, as_json: bool) -> int:
    if not waypost.index_is_fed():
        await waypost.search.drain()  # no worker runs, so pending changes are indexed now
    page = await waypost.search.discover(query)
    for result in page.hits:
        if as_json:
            print_json(_result_json(result))
        else:
            print_found(console, result)
    if page.hits and not as_json:
        for identity in dict.fromkeys(result.card.identity for result in page.hits):
            console.print(f"[dim]{escaped(identity_line(identity))}[/]")
    if not page.hits:
        if not as_json:
            console.print("nothing found")
        if await is_empty(waypost):
            for says in empty_registry_lines(waypost.settings):
                print_error(says)
    return DONE if page.hits else NO


async def is_empty(waypost: Waypost) -> bool:
    return not (await waypost.queries.overview()).services


def empty_registry_lines(settings: "Settings") -> Iterator[str]:
    """Yield that this registry lists nothing, the remedy, and where the demo's registry is, if there is one."""
    if settings.database_url is not None:
        yield "this registry (DATABASE_URL) lists no service yet; `waypost crawl` and `waypost seed` fill it"
        return
    yield f"this registry ({settings.data}) lists no service yet; `waypost crawl` and `waypost seed` fill it"
    demo = demo_folder(settings)
    if (demo / DEMO_MARK).exists():
        yield f"`make demo` filled another one: add --data {demo}, or set WAYPOST_DATA={demo}"


def _result_json(result: "SearchResult") -> dict[str, Any]:
    card, is_owned = result.card, result.card.owned_since is not None
    return {
        "host": card.host,
        "name": card.name,
        "description": card.description,
        "score": card.score,
        "trust_level": card.trust_level.value,
        "trust": shown(card.trust_level, card.trust, card.trust_since, is_owned=is_owned),
        "owned": is_owned,
        "canonical_host": card.canonical_host,
        "formats": list(card.formats),
        "relevance": round(result.relevance, 4),
        "matched_terms": list(result.matched_terms),
        "injection_flags": list(card.injection_flags),
        "alike": list(result.alike),
        "alike_total": result.hit.alike_total,
        "capabilities": [capability._asdict() for capability in result.capabilities],
    }


async def show_submissions(waypost: Waypost, names: Sequence[str], console: Console = stdout, *, as_json: bool) -> int:
    refused = False
    for name in names:
        try:
            answer: dict[str, Any] = asdict(await waypost.frontier.submit(name))
        except (InvalidName, DecidedAtOrigin) as error:
            answer, refused = {"state": "refused", "name": name, "code": error.code, "reason": str(error)}, True
        if as_json:
            print_json(answer)
        else:
            reason = f" ({escaped(answer['reason'])})" if "reason" in answer else ""
            warning = ", [yellow]can be taken for another name[/]" if answer.get("confusable") else ""
            console.print(f"{escaped(name)}: {answer['state']}{reason}{warning}")
    return NO if refused else DONE


async def show_reindex(waypost: Waypost, *, as_json: bool) -> int:
    with _bar("indexing", quiet=as_json) as update:
        rebuilt = await waypost.search.reindex(update)
    if as_json:
        print_json(asdict(rebuilt))
    else:
        stdout.print(f"{rebuilt.services} services indexed, generation {rebuilt.generation}")
    return DONE


async def show_rescore(waypost: Waypost, *, as_json: bool) -> int:
    with _bar("scoring", quiet=as_json) as update:
        rescored = await waypost.maintenance.rescore(update)
    await waypost.search.drain()
    if as_json:
        print_json(asdict(rescored))
    else:
        stdout.print(f"{rescored.hosts} hosts scored, {rescored.changed} changed, {len(rescored.failed)} failed")
        for host in rescored.failed:
            stdout.print(f"  {escaped(host)}: its documents could not be assessed; see the log")
    return NO if rescored.failed else DONE


@contextlib.contextmanager
def _bar(description: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal, and yield the callback that moves it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=stdout, transient=True, disable=quiet) as progress:
        task = progress.add_task(description, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


async def show_comparison(waypost: Waypost, *, repair: bool, as_json: bool) -> int:
    """Compare the index with the database, print the differences and return the exit code."""
    comparison = await waypost.search.verify_index(repair=repair)
    code = NO if comparison.wrong else DONE
    if as_json:
        print_json({"equal": not comparison.wrong, **asdict(comparison)})
        return code
    stdout.print(f"{comparison.services} services in the database, {comparison.pending} of them not yet indexed")
    for name in ("missing", "extra", "different"):
        hosts: tuple[str, ...] = getattr(comparison, name)
        if hosts:
            suffix = f" and {len(hosts) - MAX_SHOWN} more" if len(hosts) > MAX_SHOWN else ""
            stdout.print(f"{name}: {escaped(', '.join(hosts[:MAX_SHOWN]))}{suffix}")
    if comparison.repaired:
        stdout.print("queued: the next drain repairs the index (a running worker, or serve)")
    elif not comparison.wrong:
        stdout.print("the index matches the database")
    return code


async def show_visited(waypost: Waypost, hosts: Sequence[str], console: Console = stdout, *, as_json: bool) -> int:
    """Print the result for each host. Return the number of listed hosts."""
    listed = 0
    for host in hosts:
        status, view = await waypost.queries.status(host), await waypost.queries.service(host)
        listed += view is not None
        if as_json:
            print_json({"host": host, **(asdict(status) if status else {}), **(_service(view) if view else {})})
            continue
        outcome = "not visited"
        if status is not None and status.outcome is not None:
            outcome = "; ".join(status.reasons) or status.outcome.value
        console.print(f"[bold]{escaped(host)}[/]: {escaped(outcome)}")
        if view:
            record = view.record
            trust = explained_listing(record.listing, record.trust_since, is_owned=view.ownership.state == "proven")
            console.print(
                f"  {escaped(record.name)}, score [bold]{record.score}[/], {trust['identity']}, "
                f"{', '.join(record.formats)}, {record.cap_count} capabilities{_flagged(record.injection_flags)}",
                highlight=False,
            )
            for words in trust_lines(trust):
                console.print(f"  {escaped(words)}", highlight=False)
    return listed


def _service(view: ServiceView) -> dict[str, Any]:
    record = view.record
    return {
        "name": record.name,
        "score": record.score,
        "trust_level": record.trust_level.value,
        "trust": explained_listing(record.listing, record.trust_since, is_owned=view.ownership.state == "proven"),
        "formats": list(record.formats),
        "capabilities": [capability.name for capability in view.service.capabilities],
    }
