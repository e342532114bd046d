"""Repository of feedback of clients about answers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import delete, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert

from registry.core.model.feedback import NOTE_CHARS, Verdict
from registry.core.wording.text import QUERY_CHARS
from registry.store.repository import Repository, selected
from registry.store.tables import FeedbackRow
from registry.store.values import clean


@dataclass(frozen=True, slots=True)
class FeedbackRecord:
    """A row of `feedback`, without its client. `capability`: empty for the service as a whole. `status`: of the failed
    call, None without an answer."""

    domain: str
    host: str
    id: UUID
    capability: str
    verdict: Verdict
    status: int | None
    q: str
    note: str
    at: datetime


@dataclass(frozen=True, slots=True)
class FeedbackFigure:
    """How many clients gave the same feedback about a capability. A client counts once a day."""

    capability: str
    verdict: Verdict
    status: int | None
    count: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class HostFeedback:
    """Feedback about one host, by verdict."""

    host: str
    right: int
    wrong: int
    call_failed: int
    last_at: datetime


_OF_HOSTS = text("""
SELECT host, count(*) FILTER (WHERE verdict = 'right'), count(*) FILTER (WHERE verdict = 'wrong'),
    count(*) FILTER (WHERE verdict = 'call_failed'), max(at)
FROM feedback GROUP BY domain, host
ORDER BY count(*) FILTER (WHERE verdict <> 'right') DESC, max(at) DESC, host LIMIT :limit
""")
_PRUNE_HOST = text("""
DELETE FROM feedback WHERE domain = :domain AND host = :host AND id IN (
    SELECT id FROM feedback WHERE domain = :domain AND host = :host ORDER BY id DESC OFFSET :keep)
""")


class FeedbackTable(Repository):
    async def put(self, record: FeedbackRecord, *, client: str, keep: int) -> bool:
        """Store feedback in place of what this client said before about the capability; return whether there was any.
        Keep the latest `keep` rows of the host. The caller has locked the domain."""
        row = FeedbackRow
        same = (row.host == record.host, row.capability == record.capability, row.client == client)
        replaced = await self._touched(delete(row).where(row.domain == record.domain, *same))
        values = asdict(record) | {"q": clean(record.q, QUERY_CHARS), "note": clean(record.note, NOTE_CHARS)}
        await self._execute(insert(row).values(values | {"client": client}))
        await self._execute(_PRUNE_HOST, {"domain": record.domain, "host": record.host, "keep": keep})
        return replaced > 0

    async def count_of(self, client: str) -> int:
        """Return how many rows are the client's."""
        return await self._number(select(func.count()).where(FeedbackRow.client == client))

    async def figures(self, domain: str, host: str, *, limit: int) -> Sequence[FeedbackFigure]:
        """Return the feedback about a host in figures, the most frequent first."""
        row, number = FeedbackRow, func.count()
        columns = (row.capability, row.verdict, row.status)
        statement = select(*columns, number, func.max(row.at)).where(row.domain == domain, row.host == host)
        statement = statement.group_by(*columns).order_by(number.desc(), *columns).limit(limit)
        return await self._list(FeedbackFigure, statement)

    async def with_texts(self, domain: str, host: str, *, limit: int) -> Sequence[FeedbackRecord]:
        """Return feedback about a host that has a note or a question, the latest first."""
        row = FeedbackRow
        statement = select(*_COLUMNS).where(row.domain == domain, row.host == host, or_(row.note != "", row.q != ""))
        return await self._list(FeedbackRecord, statement.order_by(row.id.desc()).limit(limit))

    async def of_hosts(self, *, limit: int) -> Sequence[HostFeedback]:
        """Return the hosts with feedback, the most complaints first."""
        return await self._list(HostFeedback, _OF_HOSTS, {"limit": limit})

    async def erase_clients(self, *, before: datetime) -> int:
        """Erase the clients of feedback given before then."""
        row = FeedbackRow
        return await self._touched(update(row).where(row.client.is_not(None), row.at <= before).values(client=None))


_COLUMNS: Final = selected(FeedbackRow, FeedbackRecord)
