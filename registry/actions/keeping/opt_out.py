"""A site wants to be left alone, or no longer does: anybody may ask to have that checked, only the site can say it.

Somebody asks (`ask`), a worker looks at the site itself (`core.optout` says where) and hands in what it saw
(`settle`). An opt-out deletes what is stored and stays; it ends when somebody asks for that and none of the three
places where a site can say so says so any more. What an operator of this registry took down, only he takes back.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from registry.actions.frontier.seed import SUBMISSION_HEAD_START
from registry.actions.keeping.forget import forget
from registry.core.domains import canonical_host, registrable_domain
from registry.core.next_visit import Why
from registry.core.optout import covered_host, is_covered
from registry.store.records import ChangeRecord, HostRecord, OptOutRecord, OptOutRequestRecord
from registry.store.unit_of_work import Store, UnitOfWork

Wish = Literal["out", "in"]
Verdict = Literal[
    "opted_out",  # the site says so: it is out
    "no_proof",  # neither its file nor its name server says so: nothing changed
    "unanswered",  # a place that decides could not be read: nothing changed
    "readmitted",  # it says so nowhere any more: it may be visited again
    "still_says_so",  # it was to come back, and still says that it wants to be left alone
    "by_operator",  # an operator of this registry took it down
    "not_opted_out",  # there is nothing to take back
]

AGAIN_AFTER: Final[dict[Wish, timedelta]] = {"out": timedelta(hours=2), "in": timedelta(days=1)}
"""So often a host is looked at because somebody asks; one that opted out once a day, for it wants to be left alone."""

MOST_HOSTS: Final = 3
"""Of one domain in a day: a look costs it two requests, which nobody may multiply by making up names of hosts."""


@dataclass(frozen=True, slots=True)
class Said:
    """A place in which the site says that it wants to be left alone: a URL, or the name of a TXT record."""

    how: Literal["robots", "file", "dns"]
    evidence: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What a look at the site brought. `unanswered`: places that could not be read."""

    said: tuple[Said, ...] = ()
    unanswered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """The request as it stands: queued where it has no verdict. `opt_out`: the row that covers the host, if any."""

    domain: str
    host: str
    request: OptOutRequestRecord | None
    opt_out: OptOutRecord | None


async def ask(store: Store, name: str, wish: Wish, *, now: datetime, exempt: Collection[str] = ()) -> Asked:
    """Queues a look at the site, unless one is queued or was made a short while ago, or today at MOST_HOSTS others.

    Raises InvalidName.
    """
    host = canonical_host(name, exempt=exempt).host
    domain = registrable_domain(host)
    async with store.begin() as uow:
        today = await uow.opt_out_requests.of(domain, since=now - timedelta(days=1))
        last = await uow.opt_out_requests.get(domain, host)
        is_full = len([one for one in today if one.host != host]) >= MOST_HOSTS
        if not is_full and (last is None or _may_ask_again(last, wish, now)):
            last = OptOutRequestRecord(domain, host, wish, now)
            await uow.opt_out_requests.put(last)
        return Asked(domain, host, last, await _covering(uow, domain, host))


async def ask_at_once(
    store: Store, name: str, wish: Wish, *, now: datetime, exempt: Collection[str] = ()
) -> OptOutRequestRecord:
    """The same by an operator of this registry, who may ask whenever he likes. Raises InvalidName."""
    host = canonical_host(name, exempt=exempt).host
    request = OptOutRequestRecord(registrable_domain(host), host, wish, now)
    async with store.begin() as uow:
        await uow.opt_out_requests.put(request)
    return request


async def standing(store: Store, host: str) -> Asked:
    """How a host stands, in its canonical spelling; nothing is queued."""
    domain = registrable_domain(host)
    async with store.begin() as uow:
        return Asked(domain, host, await uow.opt_out_requests.get(domain, host), await _covering(uow, domain, host))


async def waiting(store: Store, *, now: datetime, limit: int = 10) -> Sequence[OptOutRequestRecord]:
    """Requests that wait for a look, the oldest first."""
    async with store.begin() as uow:
        return await uow.opt_out_requests.open(limit=limit, now=now)


async def settle(store: Store, request: OptOutRequestRecord, proof: Proof, *, now: datetime) -> Verdict:
    """Acts on what was seen at the site, and keeps the verdict. Two workers that look at once come to the same."""
    act = _take_out if request.wish == "out" else _take_back
    verdict = await act(store, request.host, proof, now)
    async with store.begin() as uow:
        await uow.opt_out_requests.settle(request, verdict, now=now)
    return verdict


async def readmit(store: Store, host: str, *, now: datetime) -> Verdict:
    """By an operator of this registry: whatever the site says, the opt-out of this host ends."""
    domain = registrable_domain(host)
    async with store.begin() as uow:
        await uow.domains.lock([domain])
        row = await _covering(uow, domain, host)
        if row is None:
            return "not_opted_out"
        await _end(uow, row, now)
        return "readmitted"


async def _take_out(store: Store, host: str, proof: Proof, now: datetime) -> Verdict:
    said = next((one for one in proof.said if one.how != "robots"), None)
    if said is None or said.how == "robots":
        return "unanswered" if proof.unanswered else "no_proof"
    covered = covered_host(host, registrable_domain(host))
    await forget(store, covered, now=now, opt_out=said.how, evidence=said.evidence, reason="the site asked for it")
    return "opted_out"


async def _take_back(store: Store, host: str, proof: Proof, now: datetime) -> Verdict:
    domain = registrable_domain(host)
    async with store.begin() as uow:
        await uow.domains.lock([domain])
        row = await _covering(uow, domain, host)
        if row is None:
            return "not_opted_out"
        if row.how == "operator":
            return "by_operator"
        if covered_host(host, domain) != row.host:
            return "still_says_so"  # it is covered by a host above it, which has to take that back itself
        if proof.said:
            return "still_says_so"
        if proof.unanswered:
            return "unanswered"
        await _end(uow, row, now)
        return "readmitted"


async def _end(uow: UnitOfWork, row: OptOutRecord, now: datetime) -> None:
    """The domain before its hosts, as every writer does. Known hosts are due with the whole plan, as if new."""
    soon = now - SUBMISSION_HEAD_START
    await uow.opt_outs.remove(row.domain, row.host)
    await uow.domains.add([row.domain], source="opt-in", now=now, due=soon)
    await uow.domains.lock([row.domain])
    new = HostRecord(row.domain, row.host, "opt-in", now, soon, submitted_at=now, next_visit_why=Why.ASKED)
    await uow.hosts.add([new])
    still_out = (await uow.opt_outs.of([row.domain])).get(row.domain, frozenset())
    hosts = [one.host for one in await uow.hosts.of([row.domain]) if is_covered(one.host, [row.host])]
    await uow.hosts.make_due([(row.domain, one) for one in hosts if not is_covered(one, still_out)], due=soon)
    await uow.domains.sooner([row.domain], soon=soon, now=now)
    await uow.ledger.add_changes([ChangeRecord(row.domain, row.host, "host.readmitted", now, {"how": row.how})])


async def _covering(uow: UnitOfWork, domain: str, host: str) -> OptOutRecord | None:
    """The opt-out that covers the host; the widest, where several do."""
    rows = [one for one in await uow.opt_outs.rows(domain) if is_covered(host, [one.host])]
    return min(rows, key=lambda one: len(one.host), default=None)


def _may_ask_again(last: OptOutRequestRecord, wish: Wish, now: datetime) -> bool:
    if last.checked_at is None:
        return last.wish != wish
    return now - last.checked_at >= AGAIN_AFTER[wish]
