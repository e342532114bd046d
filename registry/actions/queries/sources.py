"""The stored documents of a host with their bodies, against which a translation of its service is compared."""

from typing import Final

from registry.core.model.documents import Outcome
from registry.core.names.domains import registrable_domain
from registry.core.translating import Source
from registry.store.unit_of_work import Store

MAX_DOCUMENTS: Final = 100
MAX_BYTES: Final = 4_000_000  # of all bodies together


async def sources(store: Store, host: str) -> tuple[Source, ...]:
    """Return the found documents of the host that describe its service, copies left out; the smallest if there are more
    than MAX_DOCUMENTS, or more bytes than MAX_BYTES."""
    domain = registrable_domain(host)
    async with store.begin() as uow:
        found = [
            document
            for document in await uow.documents.of([domain])
            if document.host == host
            and document.outcome is Outcome.FOUND
            and document.format is not None
            and document.has_body
            and document.alias_of is None
        ]
        kept, size = [], 0
        for document in sorted(found, key=lambda document: (document.size, document.url))[:MAX_DOCUMENTS]:
            size += document.size
            if size <= MAX_BYTES:
                kept.append(document)
        bodies = await uow.documents.bodies({(domain, document.sha256) for document in kept})
    return tuple(
        Source(document.final_url, bodies[domain, document.sha256], document.format, document.media_type, document.via)
        for document in kept
        if document.format is not None and (domain, document.sha256) in bodies
    )
