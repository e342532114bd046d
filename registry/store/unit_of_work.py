"""One transaction with a repository per aggregate. Repositories never commit: `Store.begin` does, at the end."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import copy
from functools import cached_property
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from registry.store.api_keys import ApiKeys, Audit
from registry.store.call_checks import CallChecks
from registry.store.cards import Cards
from registry.store.catalogue import Catalogue
from registry.store.claims import Claims, OwnerSettings
from registry.store.documents import Documents
from registry.store.domains import Domains
from registry.store.engine import libpq, shares_sessions, sqlalchemy_url, translated
from registry.store.feed import Feed
from registry.store.feedback import FeedbackTable
from registry.store.forgetting import Forgetting
from registry.store.holds import BlockTable, Holds
from registry.store.hosts import Candidates, Hosts
from registry.store.jobs import Jobs
from registry.store.lane import QueryPool
from registry.store.ledger import Ledger
from registry.store.mcp_servers import McpServers
from registry.store.mirroring import Mirroring
from registry.store.opt_out_file import OptOutFile
from registry.store.opt_outs import OptOutRequests, OptOuts
from registry.store.pruning import Pruning
from registry.store.public_records import PublicRecords
from registry.store.reference import References
from registry.store.rehoming import Rehoming
from registry.store.replica import ReplicaPool
from registry.store.reports import ReportTable
from registry.store.search_notes import SearchNotes
from registry.store.services import Services
from registry.store.site_checks import SiteChecks
from registry.store.statistics import StatisticsQueries
from registry.store.submissions import Submissions
from registry.store.visit_months import VisitMonths
from registry.store.webhooks import Webhooks

T = TypeVar("T")


def _repository(make: Callable[[AsyncConnection], T]) -> cached_property[T]:
    """Return a property that makes a repository of the transaction at its first use."""
    return cached_property(lambda uow: make(uow._connection))


class UnitOfWork:
    domains = _repository(Domains)
    hosts = _repository(Hosts)
    candidates = _repository(Candidates)
    holds = _repository(Holds)
    opt_out_requests = _repository(OptOutRequests)
    submissions = _repository(Submissions)
    reports = _repository(ReportTable)
    feedback = _repository(FeedbackTable)
    site_checks = _repository(SiteChecks)
    blocks = _repository(BlockTable)
    documents = _repository(Documents)
    call_checks = _repository(CallChecks)
    services = _repository(Services)
    claims = _repository(Claims)
    owner_settings = _repository(OwnerSettings)
    catalogue = _repository(Catalogue)
    mcp_servers = _repository(McpServers)
    ledger = _repository(Ledger)
    feed = _repository(Feed)
    jobs = _repository(Jobs)
    pruning = _repository(Pruning)
    visit_months = _repository(VisitMonths)
    references = _repository(References)
    rehoming = _repository(Rehoming)
    forgetting = _repository(Forgetting)
    webhooks = _repository(Webhooks)
    records = _repository(PublicRecords)
    mirroring = _repository(Mirroring)
    audit = _repository(Audit)
    statistics = _repository(StatisticsQueries)
    api_keys = _repository(ApiKeys)
    search = _repository(SearchNotes)

    def __init__(self, connection: AsyncConnection, opt_out_file: OptOutFile | None = None) -> None:
        self._connection = connection
        self.opt_outs = OptOuts(connection, opt_out_file)


class Store:
    """The database. `engine` comes from `make_engine` and is closed with the store. `cards` reads services for answers
    through the connections of `lane`, outside of any transaction."""

    def __init__(
        self,
        engine: AsyncEngine,
        opt_out_file: OptOutFile | None = None,
        *,
        read_url: str | None = None,
        staleness: float = 2,
    ) -> None:
        """Open the store. `opt_out_file`: where opt-outs are written before they are committed. `read_url`: a replica
        for `cards`, used while it is at most `staleness` seconds behind. Raise BadDatabaseUrl."""
        self.opt_out_file = opt_out_file
        self.engine = engine
        self.lane = QueryPool(libpq(engine.url), prepares=not shares_sessions(engine))
        if read_url is not None:
            replica = sqlalchemy_url(read_url, "DATABASE_READ_URL", "prefer-standby")
            self.lane = ReplicaPool(libpq(replica), self.lane, staleness)
        self.cards = Cards(self.lane)
        self._autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")

    def without_file(self) -> "Store":
        """Return this store with opt-outs written only to the database, because the file already has them."""
        store = copy(self)
        store.opt_out_file = None
        return store

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[UnitOfWork]:
        """Yield a transaction, committed at the end of the block and rolled back by any exception. Raise Unstorable for
        values that the database refuses, StoreUnavailable when it is unreachable."""
        with translated():
            async with self.engine.begin() as connection:
                yield UnitOfWork(connection, self.opt_out_file)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[UnitOfWork]:
        """Yield a transaction that only reads, in which every query sees the same state (REPEATABLE READ). Raise
        StoreUnavailable."""
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
