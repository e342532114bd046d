"""The composition root: settings -> database, index, actions. Nobody else builds an engine, an index or a clock."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING
from uuid import UUID

import structlog

from registry.actions.answering import explain as explaining
from registry.actions.answering import inspect
from registry.actions.frontier import due as leasing
from registry.actions.frontier import recrawl as recrawling
from registry.actions.frontier import seed as seeding
from registry.actions.frontier import spend as spending
from registry.actions.frontier import submit as submitting
from registry.actions.keeping import forget as forgetting
from registry.actions.keeping import opt_out as opting_out
from registry.actions.keeping import prune as pruning
from registry.actions.keeping import refresh as refreshing
from registry.actions.keeping import rehome as rehoming
from registry.actions.recording import record as recording
from registry.actions.recording import rescore as rescoring
from registry.core import jobs
from registry.core.domains import Host, canonical_host
from registry.core.listing import Filters, Query, SearchUnavailable
from registry.core.retention import Retention
from registry.core.seeds import Refusal, Seeds
from registry.core.visits import FinishedDomain, Lease
from registry.settings import Settings
from registry.store import embedded, migrate
from registry.store.engine import make_engine
from registry.store.errors import BadDatabaseUrl as BadDatabaseUrl  # doors name it
from registry.store.errors import StoreUnavailable
from registry.store.holder import Hold as Hold  # doors name it
from registry.store.holder import hold_job, hold_leases
from registry.store.jobs import RunRecord
from registry.store.recorded import RecordedFeed
from registry.store.records import OptOutRequestRecord
from registry.store.unit_of_work import Store
from registry.wiring.reference import Reference, reference_in_force

if TYPE_CHECKING:
    from registry.actions.answering.discover import DiscoverPage
    from registry.actions.indexing.drain import Drained
    from registry.actions.indexing.reindex import Reindexed
    from registry.actions.indexing.verify import Verified
    from registry.search.backend import IndexHealth
    from registry.wiring.searching import Searching

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0  # a look at a server that runs takes 2 ms

POSTGRES_FOLDER = "postgres"

NOT_READY = (
    embedded.EmbeddedUnavailable,
    migrate.SchemaOutdated,
    StoreUnavailable,
    SearchUnavailable,
)
"""What keeps the registry from answering now and passes, or is mended by its operator; the message says how."""


def utc_now() -> datetime:
    """The clock."""
    return datetime.now(UTC)


class Waypost:
    """The verbs of the registry, bound to one database and one index. Every door works through this."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        search: Callable[[], "Searching"],
        feed: RecordedFeed,
        reference: Reference,
    ) -> None:
        """`search` opens the engine; it is called once, when the first verb needs it."""
        self.settings = settings
        self._store = store
        self._open_search = search
        self._feed = feed
        self._reference = reference
        self._exempt: Collection[str] = frozenset(entry.split(":")[0].lower() for entry in settings.connect_to)

    # domains in

    async def seed(
        self,
        names: Seeds,
        *,
        source: str,
        on_refusal: Callable[[Refusal], None] = lambda _: None,
        progress: Callable[[seeding.SeedReport], None] = lambda _: None,
    ) -> seeding.SeedReport:
        return await seeding.seed(
            self._store, names, source=source, now=utc_now(), exempt=self._exempt, on_refusal=on_refusal,
            progress=progress,
        )  # fmt: skip

    async def fold_candidates(self, on_refusal: Callable[[Refusal], None] = lambda _: None) -> seeding.SeedReport:
        return await seeding.fold_candidates(self._store, now=utc_now(), exempt=self._exempt, on_refusal=on_refusal)

    async def opted_out(self, domain: str) -> Collection[str]:
        """Hosts of a registrable domain that want no visits: these and all below them."""
        async with self._store.begin() as uow:
            return (await uow.opt_outs.of([domain])).get(domain, frozenset())

    async def make_due(self, names: Iterable[str]) -> int:
        return await seeding.make_due(self._store, names, now=utc_now(), exempt=self._exempt)

    async def submit(self, name: str) -> submitting.Submission:
        return await submitting.submit(self._store, name, now=utc_now(), exempt=self._exempt)

    async def wait_recorded(self, domain: str, host: str, *, since: datetime, seconds: float) -> bool:
        return await self._feed.wait(domain, host, since=since, seconds=seconds)

    # who wants to be left alone

    async def forget(self, name: str, *, opt_out: bool, reason: str) -> forgetting.Forgotten:
        how: forgetting.How | None = "operator" if opt_out else None
        return await forgetting.forget(self._store, name, now=utc_now(), opt_out=how, evidence=reason, reason=reason)

    async def ask_opt_out(self, name: str, wish: opting_out.Wish) -> opting_out.Asked:
        return await opting_out.ask(self._store, name, wish, now=utc_now(), exempt=self._exempt)

    async def operator_asks(self, name: str, wish: opting_out.Wish) -> OptOutRequestRecord:
        """The same at once and as often as wanted, by an operator of this registry."""
        return await opting_out.ask_at_once(self._store, name, wish, now=utc_now(), exempt=self._exempt)

    async def opt_out_standing(self, host: str) -> opting_out.Asked:
        return await opting_out.standing(self._store, host)

    async def opt_outs_waiting(self) -> Sequence[OptOutRequestRecord]:
        return await opting_out.waiting(self._store, now=utc_now())

    async def settle_opt_out(self, request: OptOutRequestRecord, proof: opting_out.Proof) -> opting_out.Verdict:
        return await opting_out.settle(self._store, request, proof, now=utc_now())

    async def readmit(self, host: str) -> opting_out.Verdict:
        return await opting_out.readmit(self._store, host, now=utc_now())

    # the crawl

    def hold(self) -> contextlib.AbstractAsyncContextManager[Hold]:
        return hold_leases(self._store.engine)

    async def due(self, *, limit: int, holder: int, only: Collection[str] | None = None) -> Lease | None:
        lease_for = timedelta(seconds=self.settings.lease_seconds)
        return await leasing.due(self._store, limit=limit, now=utc_now(), lease_for=lease_for, holder=holder, only=only)

    async def release(
        self, token: UUID, domains: Sequence[str] | None = None, *, later: timedelta | None = None
    ) -> int:
        return await leasing.release(self._store, token, domains, now=utc_now(), later=later)

    async def recover(self) -> int:
        return await leasing.recover(self._store, now=utc_now())

    async def next_due(self) -> datetime | None:
        return await leasing.next_due(self._store)

    async def record(self, token: UUID, finished: Sequence[FinishedDomain]) -> recording.Recorded:
        return await recording.record(self._store, token, finished, now=utc_now())

    async def record_all(self, finished: Sequence[recording.Leased]) -> recording.Recorded:
        return await recording.record_all(self._store, finished, now=utc_now())

    async def spend(self, made: Mapping[str, int], of: Collection[str]) -> Mapping[str, int]:
        return await spending.spend(self._store, made, of, now=utc_now())

    async def rescore(
        self, progress: Callable[[int, int], None] | None = None, *, only_outdated: bool = False
    ) -> rescoring.Rescored:
        return await rescoring.rescore(self._store, now=utc_now(), progress=progress, only_outdated=only_outdated)

    # the schedule

    def hold_job(self, job: str, *, patient: bool = False) -> contextlib.AbstractAsyncContextManager[Hold | None]:
        return hold_job(self._store.engine, job, patient=patient)

    async def last_runs(self, job: str) -> list[RunRecord]:
        async with self._store.begin() as uow:
            return await uow.jobs.last(job)

    async def begin_run(self, job: str) -> RunRecord:
        """For who holds the job."""
        now = utc_now()
        async with self._store.begin() as uow:
            await uow.jobs.begin(job, now=now)
        return RunRecord(job, now, None, jobs.Outcome.RUNNING)

    async def settle_runs(self, job: str) -> int:
        """For who holds the job: a run that still counts as running has died. Gives their number."""
        async with self._store.begin() as uow:
            return await uow.jobs.settle(job, now=utc_now())

    async def end_run(self, run: RunRecord) -> None:
        async with self._store.begin() as uow:
            await uow.jobs.end(run)

    async def recrawl(self) -> recrawling.Recrawled:
        return await recrawling.recrawl(self._store, now=utc_now(), exempt=self._exempt)

    async def prune(self, retention: Retention) -> Mapping[str, int]:
        return await pruning.prune(self._store, retention, now=utc_now())

    async def refresh(self, urls: Mapping[str, str], fetch: refreshing.Fetch) -> refreshing.Refreshed:
        """What came is in force in this process when this returns, also when it raises RefreshFailed."""
        try:
            return await refreshing.refresh(self._store, urls, fetch, now=utc_now())
        finally:
            await self._reference.adopt()

    async def rehome(self) -> rehoming.Rehomed:
        return await rehoming.rehome(self._store, now=utc_now())

    # the index

    @cached_property
    def search(self) -> "Searching":
        """The search engine, loaded when somebody needs it first: a crawl of hours does without. Raises NOT_READY."""
        return self._open_search()

    async def open_search(self) -> None:
        """For who answers questions: load now and not with the first of them. Raises what is in NOT_READY."""
        await asyncio.to_thread(lambda: self.search)

    async def drain(self) -> "Drained | None":
        return await self.search.drain(utc_now())

    async def reindex(self, progress: Callable[[int, int], None] | None = None) -> "Reindexed":
        return await self.search.reindex(utc_now(), progress)

    async def verify_index(self, *, repair: bool = False) -> "Verified":
        return await self.search.verify(utc_now(), repair=repair)

    def claim_index(self) -> bool:
        """Become the index's writer until this process ends; False while another process is."""
        return self.search.backend.claim()

    def index_is_fed(self) -> bool:
        """Whether some process is the index's writer."""
        from registry.wiring.searching import index_is_fed

        return index_is_fed(self.settings)

    async def index_lag(self) -> int:
        """Services whose index entry is not yet what the database says."""
        return await self.search.lag()

    async def index_health(self) -> "IndexHealth":
        return await self.search.health()

    # answers

    def standing(self) -> Hashable | None:
        """While this is the same, an answer of `discover` is; None: it has to be asked again. See actions/answering."""
        return self.search.standing()

    async def close(self) -> None:
        """Closes the search engine, if it was opened; the database is closed by who opened it."""
        if "search" in vars(self):
            await self.search.close()

    async def discover(self, query: Query, cursor: str | None = None, *, facets: Sequence[str] = ()) -> "DiscoverPage":
        return await self.search.discover(query, cursor, facets)

    async def list_services(
        self, filters: Filters, *, sort: inspect.Sort, limit: int, offset: int, text: str = ""
    ) -> inspect.Listed:
        return await inspect.list_services(self._store, filters, sort=sort, limit=limit, offset=offset, text=text)

    async def service(self, host: str, *, include_details: bool = False) -> inspect.ServiceView | None:
        return await inspect.service(self._store, host, include_details=include_details)

    async def capability(self, host: str, name: str) -> inspect.CapabilityView | None:
        return await inspect.capability(self._store, host, name)

    async def status(self, host: str) -> inspect.HostStatus | None:
        return await inspect.status(self._store, host, now=utc_now())

    def hosts_of(self, names: Iterable[str]) -> list[Host]:
        """The canonical hosts of names that were seeded. Raises InvalidName."""
        return [canonical_host(name, exempt=self._exempt) for name in names]

    async def waiting(self, hosts: Collection[Host]) -> int:
        """How many of the hosts are due and not recorded yet, those in flight included."""
        return await inspect.waiting(self._store, [one.host for one in hosts], now=utc_now())

    async def visits(self, host: str, *, limit: int = 20) -> Sequence[inspect.VisitRow]:
        return await inspect.visits(self._store, host, limit=limit)

    async def explain(self, host: str, *, visits: int = 5) -> explaining.Account | None:
        return await explaining.explain(self._store, host, visits=visits, now=utc_now())

    async def health(self) -> inspect.Health:
        return await inspect.health(self._store)

    async def overview(self) -> inspect.Overview:
        return await inspect.overview(self._store, now=utc_now())

    async def queue(self) -> inspect.Queue:
        return await self.search.queue(utc_now())

    async def check_schema(self) -> None:
        """Raises SchemaOutdated; also what `/readyz` asks."""
        await migrate.check_schema(self._store.engine)


def database_url(settings: Settings) -> tuple[str, Callable[[], None]]:
    """The database to use, started where it is the embedded one; the callable lets go of it."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value(), lambda: None
    server = embedded.start(settings.data / POSTGRES_FOLDER)
    return server.dsn, server.release


@contextlib.asynccontextmanager
async def open_waypost(settings: Settings) -> AsyncIterator[Waypost]:
    """The database connected and checked; the search engine is opened by the first verb that needs it.

    Raises BadDatabaseUrl and what is in NOT_READY; SchemaOutdated: a real server that was not migrated. The embedded
    database belongs to this program alone, so it is migrated as a matter of course.
    """
    url, let_go = await asyncio.to_thread(database_url, settings)
    try:
        async with contextlib.AsyncExitStack() as stack:
            if settings.database_url is None:
                await asyncio.to_thread(migrate.upgrade, url)
                await stack.enter_async_context(_kept_up(settings))
            store = Store(make_engine(url))
            stack.push_async_callback(store.close)
            await migrate.check_schema(store.engine)
            reference = await stack.enter_async_context(reference_in_force(store))
            feed = await stack.enter_async_context(RecordedFeed(store))
            waypost = Waypost(settings, store, partial(_searching, settings, store), feed, reference)
            stack.push_async_callback(waypost.close)
            yield waypost
    finally:
        await asyncio.to_thread(let_go)


def _searching(settings: Settings, store: Store) -> "Searching":
    from registry.wiring.searching import open_searching

    return open_searching(settings, store)


@contextlib.asynccontextmanager
async def _kept_up(settings: Settings) -> AsyncIterator[None]:
    """A killed embedded server is started again while the block runs; until then its users see StoreUnavailable."""

    restarted: asyncio.Task[None] | None = None
    held: embedded.EmbeddedServer | None = None

    def start() -> None:
        """The older hold falls after the newer is there: a folder that was made anew has another server."""
        nonlocal held
        older, held = held, embedded.start(settings.data / POSTGRES_FOLDER)
        if older is not None:
            older.release()

    async def look() -> None:
        nonlocal restarted
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                restarted = asyncio.create_task(asyncio.to_thread(start))
                await asyncio.shield(restarted)
            except (embedded.EmbeddedUnavailable, OSError) as error:
                log.warning("postgres.not_restarted", error=str(error))

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        # A thread is not cancelled. One that came to it after this process let go of the server would hold it again, or
        # start it anew for nobody.
        await asyncio.gather(looking, *([restarted] if restarted else []), return_exceptions=True)
        if held is not None:
            await asyncio.to_thread(held.release)


def child_environment(settings: Settings, **extra: str) -> Mapping[str, str]:
    """The same settings for another process of ours; `extra` for what is no setting (SSL_CERT_FILE)."""
    return settings.as_environment() | extra
