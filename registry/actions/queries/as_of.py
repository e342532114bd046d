"""A service as its documents said it at an earlier time.

The documents are those that were current then, read by the rules of today: the states of services are not stored. The
score is the one that was computed then, where it is kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from registry.actions.queries.evidence import visible
from registry.actions.recording.present import Standing, held_documents, present
from registry.actions.recording.reconcile import Current
from registry.core.calling.arguments import Arguments
from registry.core.evidence.versions import has_bytes
from registry.core.evidence.wishes import forbids_copies
from registry.core.model.services import from_json
from registry.core.names.domains import registrable_domain
from registry.store.catalogue import ServiceView
from registry.store.history import VersionRecord
from registry.store.records import DocumentRecord, ScoreRecord
from registry.store.unit_of_work import Store
from registry.store.values import key_name

MAX_BYTES: Final = 16 << 20
"""Bytes of documents that are read again for one answer; the smallest first."""


@dataclass(frozen=True, slots=True)
class Then:
    """What is stored of a host at an earlier time. `missing`: URLs of documents whose bytes are not kept any more, or
    for which there is no room. `first`: the earliest version that is kept of any document of the host. Pickle can
    carry it."""

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
        """Return the service that these documents describe; None: they describe none."""
        standing = Standing(max((item.seen_at for item in self.documents), default=self.at), 0, False, False)
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
        capabilities = [
            item.data | ({} if item.detail is None else {"detail": item.detail}) for item in shown.capabilities
        ]
        service = from_json({**record.model, "capabilities": capabilities})
        examples = {
            key_name(item.name): Arguments.from_json(item.example)
            for item in shown.capabilities
            if item.example is not None
        }
        return ServiceView(
            record, service, shown.findings, grade.breakdown, None, None, self.documents, examples=examples
        )


async def stored_then(store: Store, host: str, at: datetime) -> Then | None:
    """Return what is stored of the host as of this time; None when it is unknown or must not be shown. Raise OptedOut.

    `documents` is empty when nothing is known of that time.
    """
    domain = registrable_domain(host)
    async with store.begin() as uow:
        policies = await visible(uow, domain, host)
        if policies is None:
            return None
        first = await uow.history.first(domain, host)
        versions = await uow.history.at(domain, host, at)
        current = {record.url: record for record in await uow.documents.of([domain]) if record.host == host}
        score = await uow.history.score(domain, host, at)
        documents, wanted, missing, left = [], {}, [], MAX_BYTES
        for version in sorted(versions, key=lambda version: (version.size, version.url)):
            record = _record(domain, host, version, current.get(version.url))
            documents.append(record)
            if not record.has_body:
                continue
            headers = record.fetched_with.get("headers", {})
            if version.size > left or forbids_copies(headers, policies.caching):
                missing.append(version.url)
                continue
            left -= version.size
            wanted[domain, version.sha256] = version.url
        bodies = await uow.documents.bodies(wanted.keys())
    missing += [url for key, url in wanted.items() if key not in bodies]
    return Then(domain, host, at, first, tuple(documents), bodies, tuple(sorted(missing)), score)


def _record(domain: str, host: str, version: VersionRecord, current: DocumentRecord | None) -> DocumentRecord:
    """Return the document as it was then. What the history does not keep (where redirects led, what named it) is taken
    from the current document of the URL; findings are made again."""
    if current is None:
        current = DocumentRecord(
            domain, host, version.url, version.url, "manifest", version.outcome, version.reason, version.sha256,
            version.size, False, version.changed_at, version.changed_at, version.changed_at, "",
        )  # fmt: skip
    if current.sha256 == version.sha256 and current.outcome is version.outcome:
        return replace(current, changed_at=version.changed_at, seen_at=version.changed_at)
    return replace(
        current,
        outcome=version.outcome,
        reason=version.reason,
        format=version.format,
        dialect=version.dialect,
        status=version.status,
        size=version.size,
        sha256=version.sha256,
        has_body=has_bytes(version.outcome, version.reason),
        changed_at=version.changed_at,
        seen_at=version.changed_at,
        first_seen_at=min(current.first_seen_at, version.changed_at),
        alias_of=None,
        findings=[],
        missed_at=None,
    )
