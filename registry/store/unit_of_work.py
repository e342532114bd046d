"""One transaction with a repository per aggregate. Repositories never commit: `Store.begin` does, at the end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import copy
from functools import cached_property

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from registry.store.api_keys import ApiKeys, Audit
from registry.store.candidates import Candidates, OptOuts
from registry.store.cards import Cards
from registry.store.catalogue import Catalogue
from registry.store.claims import Claims, OwnerSettings
from registry.store.documents import Documents
from registry.store.domains import Domains
from registry.store.engine import libpq, translated
from registry.store.entries import Entries, EntryReads
from registry.store.feed import Feed
from registry.store.history import History, RecentEvents
from registry.store.holds import BlockTable, Holds
from registry.store.hosts import Hosts
from registry.store.jobs import Jobs, References
from registry.store.lane import QueryPool
from registry.store.ledger import Ledger
from registry.store.loading import Loading
from registry.store.mcp_servers import McpServers
from registry.store.mirroring import Mirroring
from registry.store.opt_out_file import OptOutFile
from registry.store.opt_out_requests import OptOutRequests
from registry.store.public_records import PublicRecords
from registry.store.rehoming import Forgetting, Pruning, Rehoming
from registry.store.reports import ReportTable
from registry.store.search_notes import SearchNotes
from registry.store.services import Services
from registry.store.statistics import FacetQueries, StatisticsQueries, WorkloadCounts
from registry.store.submission_lists import SubmissionLists
from registry.store.submissions import Rechecks, Submissions, SubmissionTurns
from registry.store.trust import Trust
from registry.store.webhooks import Webhooks


class UnitOfWork:
    def __init__(self, connection: AsyncConnection, opt_out_file: OptOutFile | None = None) -> None:
        self._connection = connection
        self._opt_out_file = opt_out_file

    @cached_property
    def domains(self) -> Domains:
        return Domains(self._connection)

    @cached_property
    def hosts(self) -> Hosts:
        return Hosts(self._connection)

    @cached_property
    def loading(self) -> Loading:
        return Loading(self._connection)

    @cached_property
    def candidates(self) -> Candidates:
        return Candidates(self._connection)

    @cached_property
    def opt_outs(self) -> OptOuts:
        return OptOuts(self._connection, self._opt_out_file)

    @cached_property
    def holds(self) -> Holds:
        return Holds(self._connection)

    @cached_property
    def opt_out_requests(self) -> OptOutRequests:
        return OptOutRequests(self._connection)

    @cached_property
    def submissions(self) -> Submissions:
        return Submissions(self._connection)

    @cached_property
    def turns(self) -> SubmissionTurns:
        return SubmissionTurns(self._connection)

    @cached_property
    def submission_lists(self) -> SubmissionLists:
        return SubmissionLists(self._connection)

    @cached_property
    def rechecks(self) -> Rechecks:
        return Rechecks(self._connection)

    @cached_property
    def reports(self) -> ReportTable:
        return ReportTable(self._connection)

    @cached_property
    def blocks(self) -> BlockTable:
        return BlockTable(self._connection)

    @cached_property
    def documents(self) -> Documents:
        return Documents(self._connection)

    @cached_property
    def history(self) -> History:
        return History(self._connection)

    @cached_property
    def services(self) -> Services:
        return Services(self._connection)

    @cached_property
    def trust(self) -> Trust:
        return Trust(self._connection)

    @cached_property
    def claims(self) -> Claims:
        return Claims(self._connection)

    @cached_property
    def owner_settings(self) -> OwnerSettings:
        return OwnerSettings(self._connection)

    @cached_property
    def catalogue(self) -> Catalogue:
        return Catalogue(self._connection)

    @cached_property
    def mcp_servers(self) -> McpServers:
        return McpServers(self._connection)

    @cached_property
    def entries(self) -> Entries:
        return Entries(self._connection)

    @cached_property
    def ledger(self) -> Ledger:
        return Ledger(self._connection)

    @cached_property
    def feed(self) -> Feed:
        return Feed(self._connection)

    @cached_property
    def recent(self) -> RecentEvents:
        return RecentEvents(self._connection)

    @cached_property
    def jobs(self) -> Jobs:
        return Jobs(self._connection)

    @cached_property
    def pruning(self) -> Pruning:
        return Pruning(self._connection)

    @cached_property
    def references(self) -> References:
        return References(self._connection)

    @cached_property
    def rehoming(self) -> Rehoming:
        return Rehoming(self._connection)

    @cached_property
    def forgetting(self) -> Forgetting:
        return Forgetting(self._connection)

    @cached_property
    def webhooks(self) -> Webhooks:
        return Webhooks(self._connection)

    @cached_property
    def records(self) -> PublicRecords:
        return PublicRecords(self._connection)

    @cached_property
    def mirroring(self) -> Mirroring:
        return Mirroring(self._connection)

    @cached_property
    def audit(self) -> Audit:
        return Audit(self._connection)

    @cached_property
    def statistics(self) -> StatisticsQueries:
        return StatisticsQueries(self._connection)

    @cached_property
    def api_keys(self) -> ApiKeys:
        return ApiKeys(self._connection)

    @cached_property
    def workload(self) -> WorkloadCounts:
        return WorkloadCounts(self._connection)

    @cached_property
    def search(self) -> SearchNotes:
        return SearchNotes(self._connection)


class Store:
    """The database. `engine` comes from `make_engine` and is closed with the store.

    `cards`, `facets` and `entry_reads` read services for answers through the connections of `lane`, outside of any
    transaction.
    """

    def __init__(self, engine: AsyncEngine, opt_out_file: OptOutFile | None = None) -> None:
        """Open the store. `opt_out_file`: where opt-outs are written before they are committed."""
        self.opt_out_file = opt_out_file
        self.engine = engine
        self.lane = QueryPool(libpq(engine.url))
        self.cards = Cards(self.lane)
        self.facets = FacetQueries(self.lane)
        self.entry_reads = EntryReads(self.lane)
        self._autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")

    def without_file(self) -> "Store":
        """Return this store with opt-outs written only to the database, because the file already has them."""
        store = copy(self)
        store.opt_out_file = None
        return store

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[UnitOfWork]:
        """Yield a transaction, committed at the end of the block and rolled back by any exception.

        Raise Unstorable for values that the database refuses, StoreUnavailable when it is unreachable.
        """
        with translated():
            async with self.engine.begin() as connection:
                yield UnitOfWork(connection, self.opt_out_file)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[UnitOfWork]:
        """Yield a transaction that only reads, in which every query sees the same state (REPEATABLE READ).

        Raise StoreUnavailable.
        """
        with translated():
            async with self.engine.connect() as connection:
                # A separate isolation level for this connection: SQLAlchemy resets it before the next use.
                await connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
                async with connection.begin():
                    yield UnitOfWork(connection)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[UnitOfWork]:
        """Yield repositories without a transaction: each query sees what is committed when it runs. This saves the two
        round trips of begin and commit. Raise StoreUnavailable."""
        with translated():
            async with self._autocommit.connect() as connection:
                yield UnitOfWork(connection)

    async def close(self) -> None:
        await self.lane.close()
        await self.engine.dispose()
