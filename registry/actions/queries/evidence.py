"""Evidence about a host: its current documents with their bytes, their history, and the service at an earlier time.

Hosts that opted out or are blocked, and hidden services, have no evidence. An earlier service is made from the
documents of that time by today's rules, because past states are not stored; its score is the stored one, if it was
kept.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from statistics import median
from typing import Final, Literal

from registry.actions import Clock
from registry.actions.recording.present import ListingFacts, held_documents, present
from registry.actions.recording.reconcile import Current
from registry.core import evidence as rules
from registry.core.calling.http import Arguments
from registry.core.merging.merge import Usage, usage_of
from registry.core.model.documents import has_body
from registry.core.model.services import Policies, from_json
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.store.catalogue import ServiceView
from registry.store.documents import EarlierVersion, VersionRecord
from registry.store.records import DocumentRecord, ScoreRecord, VisitRecord
from registry.store.services import ScoreStep as ScoreStep  # the interfaces read it
from registry.store.unit_of_work import Store, UnitOfWork
from registry.store.values import key_name, url_hash

MAX_DOCUMENTS: Final = 500
MAX_COMPARED: Final = 4 << 20  # bytes of all versions that one page of a history compares
MAX_SCORES: Final = 60
MAX_VISITS: Final = 2_000  # latest visits that a series of days is made of
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_VERSION: Final = b"\x01"
_HOST_BYTES: Final = 8
_CURSOR_BYTES: Final = 1 + 8 + 32 + _HOST_BYTES

BytesState = Literal["kept", "not_kept", "forbidden"]


class OptedOut(Exception):
    """An opt-out or a block covers the host."""


class InvalidHistoryCursor(ValueError):
    """The text is no cursor of this host's history."""


@dataclass(frozen=True, slots=True)
class CurrentDocument:
    """A current document. `id`: the SHA-256 of its URL. `bytes_state`: whether its bytes can be read."""

    id: str
    record: DocumentRecord
    bytes_state: BytesState


@dataclass(frozen=True, slots=True)
class HostEvidence:
    """Current documents of a host. `usage`: the site's terms for further use of its texts."""

    documents: Sequence[CurrentDocument]
    total: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class HistoryItem:
    """A version and the version it replaced. `why_not`: why the two cannot be compared; None if `bodies` has both."""

    version: VersionRecord
    earlier: EarlierVersion | None
    why_not: rules.WhyNot | None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A page of history. `bodies`: by SHA-256, of the versions to compare. `cursor`: of the next page, or None."""

    items: Sequence[HistoryItem]
    bodies: Mapping[bytes, bytes]
    cursor: str | None

    @property
    def size(self) -> int:
        """Return the number of bytes to compare."""
        return sum(map(len, self.bodies.values()))


async def visible(uow: UnitOfWork, domain: str, host: str) -> Policies | None:
    """Return the policies of the host's service (empty if it has no service); None if the host is unknown or hidden.
    Raise OptedOut."""
    if is_covered(host, (await uow.opt_outs.of([domain])).get(domain, frozenset())):  # guard: evidence-opt-out
        raise OptedOut
    service = (await uow.services.of([domain])).get(host)
    if service is not None and service.hidden:  # guard: evidence-hidden
        return None
    if service is None and await uow.hosts.get(domain, host) is None:
        return None
    return Policies() if service is None else from_json(service.model).policies


def difference_of(
    item: HistoryItem, bodies: Mapping[bytes, bytes]
) -> tuple[list[dict[str, object]], bool] | rules.WhyNot:
    """Return the operations that turn the earlier version into this one and whether some are missing, or why there are
    none."""
    if item.why_not is not None or item.earlier is None:
        return item.why_not or "first"
    result = rules.compared(bodies[item.earlier.sha256], bodies[item.version.sha256])
    return result if isinstance(result, str) else (result.operations, result.truncated)


def _is_forbidden(record: DocumentRecord, policies: Policies) -> bool:
    return rules.forbids_copies(record.fetched_with.get("headers", {}), policies.caching)


def _why_not(version: VersionRecord, earlier: EarlierVersion | None, left: int) -> rules.WhyNot | None:
    if earlier is None:
        return "first"
    if not (has_body(version.outcome, version.reason) and has_body(earlier.outcome, earlier.reason)):
        return "no_document"
    if version.sha256 == earlier.sha256:
        return "same_bytes"
    return "too_large" if version.size + earlier.size > left else None  # guard: history-bytes


def _check(visit: VisitRecord) -> rules.UptimeCheck | None:
    try:
        times = [entry["ms"] for entry in visit.vector if "status" in entry and "ms" in entry]
    except ValueError:  # a vector of another program version: the outcome of the visit is known, its speed is not
        times = []
    ms = round(median(times)) if times else None
    status = rules.status_of(visit.outcome, ms)
    return None if status is None else rules.UptimeCheck(visit.started_at, status, ms)


def _cursor(version: VersionRecord, host: str) -> str:
    moment = ((version.changed_at - _EPOCH) // _MICROSECOND).to_bytes(8, "big", signed=True)
    return base64.urlsafe_b64encode(_VERSION + moment + version.url_hash + _of_host(host)).rstrip(b"=").decode()


def _place(cursor: str, host: str) -> tuple[datetime, bytes]:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        is_ours = len(raw) == _CURSOR_BYTES and raw.startswith(_VERSION)
        moment = _EPOCH + timedelta(microseconds=int.from_bytes(raw[1:9], "big", signed=True))
    except (ValueError, OverflowError):
        raise InvalidHistoryCursor("it was not made by this registry") from None
    if not is_ours:
        raise InvalidHistoryCursor("it was not made by this registry")
    if raw[-_HOST_BYTES:] != _of_host(host):  # guard: history-cursor-host
        raise InvalidHistoryCursor("it belongs to another host")
    return moment, raw[9:41]


def _of_host(host: str) -> bytes:
    return hashlib.sha256(host.encode()).digest()[:_HOST_BYTES]


MAX_BYTES: Final = 16 << 20  # bytes of documents that are read again for one answer; the smallest first


@dataclass(frozen=True, slots=True)
class EarlierState:
    """Stored facts about a host at an earlier time. `missing`: URLs of documents whose bytes are not kept or did not
    fit. `first`: the earliest version kept of any document of the host. Can be pickled."""

    domain: str
    host: str
    at: datetime
    first: datetime | None
    documents: tuple[DocumentRecord, ...]
    bodies: Mapping[tuple[str, bytes], bytes]
    missing: tuple[str, ...]
    score: ScoreRecord | None

    @property
    def size(self) -> int:
        return sum(map(len, self.bodies.values()))

    def view(self) -> ServiceView | None:
        """Return the service that these documents describe, or None."""
        standing = ListingFacts(max((item.seen_at for item in self.documents), default=self.at), 0, False, False)
        held = held_documents([Current(record) for record in self.documents], self.bodies)
        shown = present(self.domain, self.host, held, None, standing, self.at)
        if shown.service is None or shown.score is None:
            return None
        record, grade = shown.service, self.score or shown.score
        record = replace(
            record,
            score=grade.value,
            rubric_version=grade.rubric_version,
            created_at=min((item.first_seen_at for item in self.documents), default=self.at),
            updated_at=max((item.changed_at for item in self.documents), default=self.at),
            trust_since={},
        )
        stated = [one.data | ({} if one.detail is None else {"detail": one.detail}) for one in shown.capabilities]
        service = from_json({**record.model, "capabilities": stated})
        examples = {
            key_name(item.name): Arguments.from_json(item.example)
            for item in shown.capabilities
            if item.example is not None
        }
        reach = {key_name(item.name): item.reach for item in shown.capabilities if item.reach is not None}
        return ServiceView(
            record=record, service=service, findings=shown.findings, breakdown=grade.breakdown,
            documents=self.documents, examples=examples, reach=reach,
        )  # fmt: skip


_KEPT: Final = ("outcome", "reason", "format", "dialect", "status", "size", "sha256", "changed_at")


def _record(domain: str, host: str, version: VersionRecord, current: DocumentRecord | None) -> DocumentRecord:
    """Return the document as it was then. Facts that the history does not keep (where redirects led, what named it)
    come from the current document of the URL; findings are made again."""
    if current is None:
        current = DocumentRecord(
            domain, host, version.url, version.url, "manifest", version.outcome, version.reason, version.sha256,
            version.size, False, version.changed_at, version.changed_at, version.changed_at, "",
        )  # fmt: skip
    if current.sha256 == version.sha256 and current.outcome is version.outcome:
        return replace(current, changed_at=version.changed_at, seen_at=version.changed_at)
    kept = {name: getattr(version, name) for name in _KEPT}
    return replace(
        current, **kept, has_body=has_body(version.outcome, version.reason), seen_at=version.changed_at,
        first_seen_at=min(current.first_seen_at, version.changed_at), alias_of=None, findings=[], missed_at=None,
    )  # fmt: skip


@dataclass(eq=False)
class EvidenceQueries:
    """Reads the documents of hosts, their history and their earlier states."""

    _store: Store
    _clock: Clock

    async def evidence(self, host: str) -> HostEvidence | None:
        """Return the current documents of a host by URL, at most MAX_DOCUMENTS; None if the host is unknown or hidden.
        Raise OptedOut."""
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            policies = await visible(uow, domain, host)
            if policies is None:
                return None
            found = [record for record in await uow.documents.of([domain]) if record.host == host]
            known = await uow.hosts.get(domain, host)
        found.sort(key=lambda record: record.url)
        documents = []
        for record in found[:MAX_DOCUMENTS]:
            state: BytesState = "kept" if record.has_body else "not_kept"
            if _is_forbidden(record, policies):  # guard: evidence-wishes
                state = "forbidden"
            documents.append(CurrentDocument(url_hash(record.url).hex(), record, state))
        robots = known.robots_body if known is not None else None
        return HostEvidence(documents, len(found), usage_of(policies, robots))

    async def document_bytes(self, host: str, document: CurrentDocument) -> bytes | None:
        """Return the bytes of a document as received; None if they are no longer stored."""
        key = (registrable_domain(host), document.record.sha256)
        if document.bytes_state != "kept":
            return None
        async with self._store.begin() as uow:
            return (await uow.documents.bodies({key})).get(key)

    async def history(self, host: str, *, cursor: str | None, limit: int) -> HistoryPage | None:
        """Return versions of the host's documents, the latest first; None as `evidence` does. Raise OptedOut and
        InvalidHistoryCursor."""
        domain = registrable_domain(host)
        before = None if cursor is None else _place(cursor, host)
        async with self._store.begin() as uow:
            policies = await visible(uow, domain, host)
            if policies is None:
                return None
            found = await uow.documents.versions(domain, host, before=before, limit=limit + 1)
            current = {record.url: record for record in await uow.documents.of([domain]) if record.host == host}
            forbidden = {url for url, record in current.items() if _is_forbidden(record, policies)}
            left, items, wanted = MAX_COMPARED, [], set()
            for version, earlier in found[:limit]:
                why_not = "forbidden" if version.url in forbidden else _why_not(version, earlier, left)
                if why_not is None and earlier is not None:
                    left -= version.size + earlier.size
                    wanted |= {version.sha256, earlier.sha256}
                items.append(HistoryItem(version, earlier, why_not))
            bodies = await uow.documents.bodies({(domain, sha256) for sha256 in wanted})
        by_digest = {sha256: body for (_, sha256), body in bodies.items()}
        for place, item in enumerate(items):
            if (
                item.why_not is None
                and item.earlier
                and not {item.version.sha256, item.earlier.sha256} <= by_digest.keys()
            ):
                items[place] = replace(item, why_not="not_kept")
        return HistoryPage(items, by_digest, _cursor(found[limit - 1][0], host) if len(found) > limit else None)

    async def uptime(self, host: str, *, days: int) -> list[rules.Day] | None:
        """Return each of the last `days` days in UTC, the earliest first; None if no service is listed there."""
        domain, today = registrable_domain(host), self._clock().astimezone(UTC).date()
        async with self._store.begin() as uow:
            if await uow.catalogue.name(domain, host) is None:
                return None
            visits = await uow.ledger.visits(domain, host, limit=MAX_VISITS)
        since = datetime.combine(rules.first_day(today, days), time(), UTC)
        checks = [check for visit in visits if visit.started_at >= since and (check := _check(visit)) is not None]
        return rules.series(checks, today, days)

    async def scores(self, host: str) -> list[ScoreStep] | None:
        """Return the latest MAX_SCORES changes of the host's score, latest first; None if no service is listed
        there."""
        domain = registrable_domain(host)
        async with self._store.read() as uow:
            if await uow.catalogue.name(domain, host) is None:
                return None
            return await uow.services.score_steps(domain, host, limit=MAX_SCORES)

    async def is_shown(self, host: str) -> bool:
        """Return whether the host is known and not hidden. Raise OptedOut."""
        async with self._store.read() as uow:
            return await visible(uow, registrable_domain(host), host) is not None

    async def stored_then(self, host: str, at: datetime) -> EarlierState | None:
        """Return the stored facts about a host at this time; None if the host is unknown or hidden. Raise OptedOut.
        `documents` is empty if there is no data for that time."""
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            policies = await visible(uow, domain, host)
            if policies is None:
                return None
            first = await uow.documents.first_version_at(domain, host)
            versions = await uow.documents.versions_at(domain, host, at)
            current = {record.url: record for record in await uow.documents.of([domain]) if record.host == host}
            score = await uow.services.last_score(domain, host, until=at)
            documents, wanted, missing, left = [], {}, [], MAX_BYTES
            for version in sorted(versions, key=lambda version: (version.size, version.url)):
                record = _record(domain, host, version, current.get(version.url))
                documents.append(record)
                if not record.has_body:
                    continue
                if version.size > left or _is_forbidden(record, policies):
                    missing.append(version.url)
                    continue
                left -= version.size
                wanted[domain, version.sha256] = version.url
            bodies = await uow.documents.bodies(wanted.keys())
        missing += [url for key, url in wanted.items() if key not in bodies]
        return EarlierState(domain, host, at, first, tuple(documents), bodies, tuple(sorted(missing)), score)
