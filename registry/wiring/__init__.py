"""The composition root: settings -> database, search engine, actions. Nothing else creates an engine or a clock.

Every interface works with a `Waypost`: the registry's actions, bound to one database and grouped by purpose.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from registry.actions import Clock
from registry.actions.access import AccessActions
from registry.actions.dumps import DumpActions
from registry.actions.feed import FeedActions
from registry.actions.feedback import FeedbackActions
from registry.actions.frontier.frontier import FrontierActions
from registry.actions.jobs import JobActions
from registry.actions.maintenance.maintenance import MaintenanceActions
from registry.actions.maintenance.opt_out import OptOutActions
from registry.actions.mirroring.apply import MirrorActions
from registry.actions.ownership.claiming import ClaimActions
from registry.actions.ownership.owning import OwnershipActions
from registry.actions.queries.entries import EntryQueries
from registry.actions.queries.evidence import EvidenceQueries
from registry.actions.queries.inspect import QueryActions
from registry.actions.queries.mcp_servers import McpServerQueries
from registry.actions.queries.statistics import FigureActions
from registry.actions.recording.record import CrawlActions
from registry.actions.reports import ReportActions
from registry.actions.site_checks import SiteCheckActions
from registry.actions.webhooks import WebhookActions
from registry.core.model.listing import SearchUnavailable
from registry.settings import Settings
from registry.store import migrate
from registry.store.domains import WrongClock as WrongClock  # the crawler catches it
from registry.store.embedded_postgres.server import EmbeddedUnavailable
from registry.store.engine import ANSWER_SECONDS, connect, make_engine, session_conninfo
from registry.store.engine import BadDatabaseUrl as BadDatabaseUrl  # the interfaces catch it
from registry.store.engine import StoreUnavailable as StoreUnavailable  # the interfaces catch it
from registry.store.holder import HeldLock as HeldLock  # the interfaces name it
from registry.store.holder import SessionsUnusable, check_sessions
from registry.store.migrate import OutdatedSchema as OutdatedSchema  # the interfaces catch it
from registry.store.opt_out_file import OptOutFile
from registry.store.primary import split, watch
from registry.store.recorded import RecordedListener
from registry.store.unit_of_work import Store
from registry.tasks import running_beside
from registry.wiring import space
from registry.wiring.compute import ComputePool
from registry.wiring.embedded_database import database_url as database_url  # the command line uses it
from registry.wiring.embedded_database import kept_running
from registry.wiring.maintenance_mode import MaintenanceMode
from registry.wiring.reference import Reference, reference_in_force
from registry.wiring.traces import TracesUnavailable as TracesUnavailable  # the interfaces catch it
from registry.wiring.traces import trace_statements
from registry.wiring.traces import tracing as tracing  # the interfaces use it

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from registry.actions.queries.discover import SearchActions

_log = logging.getLogger(__name__)


MAX_SKEW: Final = timedelta(seconds=30)
"""Difference from the database's clock with which a worker takes no leases: half of the shortest lease."""


def utc_now() -> datetime:
    """Return the current time: the clock that use cases get."""
    return datetime.now(UTC)


class OptOutFileUnreadable(Exception):
    """The file of opt-outs cannot be read, so serving and crawling must not start: sites in it may have opted out."""


NOT_READY = (
    EmbeddedUnavailable, OptOutFileUnreadable, OutdatedSchema, SessionsUnusable, StoreUnavailable, SearchUnavailable
)  # fmt: skip
"""Errors that keep the registry from answering for a while, or until its operator acts on the message."""


class Waypost:
    """The use cases of the registry, grouped by purpose and bound to one database and one search engine."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        open_search: "Callable[[], SearchActions]",
        listener: RecordedListener,
        reference: Reference,
        clock: Clock = utc_now,
    ) -> None:
        """Bind the use cases. `open_search` is called once, when `search` is first used."""
        exempt: Collection[str] = frozenset(entry.split(":")[0].lower() for entry in settings.connect_to)
        self.settings = settings
        # hosts to visit: seed, submit, request again, make due
        self.frontier = FrontierActions(store, clock, exempt)
        self.recorded = listener  # waits until a visit is recorded
        # lease domains to a crawler, record the results
        max_skew = MAX_SKEW if clock is utc_now else None
        lease_for = timedelta(seconds=settings.lease_seconds)
        self.crawl = CrawlActions(store, clock, lease_for, settings.call_checks, max_skew)
        self.opt_outs = OptOutActions(store, clock, exempt)  # requests not to be visited, and their effects
        self.site_checks = SiteCheckActions(store, clock, exempt)  # visits on request that change nothing
        self.access = AccessActions(store, clock)  # operators: API keys, holds, the audit log
        # claims of ownership, and their proofs
        self.claims = ClaimActions(store, clock, timedelta(hours=settings.claim_recheck_hours), exempt)
        self.ownership = OwnershipActions(store, clock, exempt)  # settings of owners
        self.feed = FeedActions(store)  # the change feed: pages of events, their places, its state
        # subscriptions to the change feed, and messages to their receivers
        disable_after = timedelta(days=settings.webhook_disable_days)
        self.webhooks = WebhookActions(store, clock, settings.public_url, disable_after, exempt)
        self.queries = QueryActions(store, clock)  # services, hosts and visits from the database
        self.evidence = EvidenceQueries(store, clock)  # documents of hosts, their history and earlier states
        self.entries = EntryQueries(store)  # services as entries of catalogues
        self.mcp_servers = McpServerQueries(store)  # records of the MCP registry's API
        # counts over the whole registry, some kept for a minute
        intervals = partial(_job_intervals, settings)
        shortage = partial(space.shortage, settings)
        self.figures = FigureActions(store, clock, lambda: self.search.backend.target, intervals, shortage)
        # rescore, prune, refresh reference data, move hosts to another domain
        self.maintenance = MaintenanceActions(store, clock, reference.adopt)
        self.jobs = JobActions(store, clock)  # locks and the log of the recurring jobs
        self.dumps = DumpActions(store, clock, settings)  # write dumps, find them, records of single hosts
        self.mirror = MirrorActions(store, clock, exempt)  # records of the origin, if this registry is a mirror
        self.reports = ReportActions(store, clock)  # reports of clients about hosts, and the answers
        self.feedback = FeedbackActions(store, clock)  # verdicts of clients on answers
        self.compute = ComputePool(settings.compute_processes)  # work on large documents, in other processes
        self.mode = MaintenanceMode(store, settings.maintenance)  # whether writes are refused, and work pauses
        self._store = store
        self._open_search = open_search

    @cached_property
    def search(self) -> "SearchActions":
        """Return the use cases that need the search engine: discover services; feed, rebuild and verify the index.

        The first use opens it, so a crawler never pays for it. Raise one of NOT_READY.
        """
        return self._open_search()

    async def open_search(self) -> None:
        """Open the search engine now instead of with the first query. Raise one of NOT_READY."""
        await asyncio.to_thread(lambda: self.search)

    def trace(self, tracer: "Tracer") -> None:
        """Record searches, and the statements that the database gets for a request, as spans below the current one."""
        self.search.span = partial(tracer.start_as_current_span, record_exception=False, set_status_on_exception=False)
        trace_statements(tracer, self._store.engine.sync_engine)

    def notes(self) -> list[str]:
        """Return what an operator has to know although the registry answers. Raise OSError."""
        shortage = space.shortage(self.settings)
        notes = {"space": shortage, "maintenance": self.mode.message}
        return [f"{name}: {note}" for name, note in notes.items() if note is not None]

    def index_is_fed(self) -> bool:
        """Return whether some process is the writer of the index. Does not open the search engine."""
        from registry.wiring.searching import index_is_fed

        return index_is_fed(self.settings)

    async def close(self) -> None:
        """End the waits of `feed` and the processes of `compute`, and close the search engine if it was opened. The
        caller closes the database, which it opened."""
        await self.feed.close()
        await self.compute.close()
        if "search" in vars(self):
            await self.search.backend.close()


async def migrate_database(settings: Settings) -> str:
    """Bring the schema of the database up to date and return its revision. Raise BadDatabaseUrl or NOT_READY."""
    url, release = await asyncio.to_thread(database_url, settings)
    try:
        engine = make_engine(url, session_url=settings.session_url)
        try:
            await check_sessions(engine)
        finally:
            await engine.dispose()
        await asyncio.to_thread(migrate.upgrade, settings.session_url or url)
    finally:
        release()
    return migrate.current_head()


@contextlib.asynccontextmanager
async def open_waypost(settings: Settings, *, clients_wait: bool = False) -> AsyncIterator[Waypost]:
    """Connect to the database and check its schema; the search engine is opened by its first use.

    `clients_wait`: give up a statement that is not answered within ANSWER_SECONDS. Raise BadDatabaseUrl or one of
    NOT_READY; OutdatedSchema if a configured database was not migrated, SessionsUnusable if its locks do not hold. The
    embedded database belongs to this program alone, so it is migrated automatically.
    """
    url, release = await asyncio.to_thread(database_url, settings)
    try:
        async with contextlib.AsyncExitStack() as stack:
            if settings.database_url is None:
                await asyncio.to_thread(migrate.upgrade, url)
                await stack.enter_async_context(kept_running(settings))
            engine = make_engine(
                url,
                pool_size=settings.database_pool,
                max_overflow=settings.database_overflow,
                pool_timeout=settings.database_wait,
                session_url=settings.session_url,
                answer_seconds=ANSWER_SECONDS if clients_wait else None,
            )
            store = Store(
                engine,
                OptOutFile(opt_out_path(settings)),
                read_url=settings.read_url,
                staleness=settings.read_staleness,
            )
            stack.push_async_callback(store.close)
            if len(split(sessions := session_conninfo(engine))) > 1:
                look = partial(connect, sessions, name="waypost look", answer_seconds=ANSWER_SECONDS)
                await stack.enter_async_context(running_beside(watch(look)))
            await migrate.check_schema(engine)
            await check_sessions(engine)
            await _replay_own_file(store)  # guard: opt-outs-replayed
            reference = await stack.enter_async_context(reference_in_force(store))
            listener = await stack.enter_async_context(RecordedListener(store))
            waypost = Waypost(settings, store, partial(_open_search, settings, store), listener, reference)
            stack.push_async_callback(waypost.close)
            await stack.enter_async_context(waypost.mode.followed())
            yield waypost
    finally:
        await asyncio.to_thread(release)


def _open_search(settings: Settings, store: Store) -> "SearchActions":
    from registry.wiring.searching import open_search

    return open_search(settings, store, utc_now)


def _job_intervals(settings: Settings) -> Mapping[str, timedelta]:
    from registry.wiring.schedule import JOBS  # which imports this package

    return {job.name: timedelta(seconds=job.interval(settings)) for job in JOBS}


def opt_out_path(settings: Settings) -> Path:
    return settings.opt_out_file or settings.data / "opt-outs.log"


async def _replay_own_file(store: Store) -> None:
    """Apply this machine's file of opt-outs, before anything is served or crawled. Raise OptOutFileUnreadable."""
    if store.opt_out_file is None:
        return
    try:
        lines, unreadable = await asyncio.to_thread(store.opt_out_file.read)
    except OSError as error:
        raise OptOutFileUnreadable(f"{store.opt_out_file.path}: {error.strerror}") from error
    if unreadable:
        _log.warning("%d lines of %s cannot be read", unreadable, store.opt_out_file.path)
    if lines:
        replayed = await OptOutActions(store.without_file(), utc_now).replay(lines)
        if replayed.opted_out or replayed.readmitted:
            counts = len(replayed.opted_out), len(replayed.readmitted)
            _log.warning("the database was older than the opt-outs: %d applied, %d ended", *counts)
