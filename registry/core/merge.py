"""The documents of one host -> one service with per-field provenance (formats.md section 4; docs/merge.md).

Every finding that needs two documents is made here: a capability detail or a pointer that led nowhere, documents that
contradict each other, signatures, endpoints on another site. Documents come in with their assessments; nothing is read
or fetched. Each question has its room in `merging/`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from registry.core.documents import Outcome
from registry.core.domains import registrable_domain
from registry.core.format import Role
from registry.core.merging.access import Metadata
from registry.core.merging.conflicts import conflicts
from registry.core.merging.details import details_of, with_details
from registry.core.merging.fields import united
from registry.core.merging.held import (
    PRECEDENCE,
    Held,
    Merged,
    Noted,
    described,
    formats_of,
    found,
    in_order,
    role_of,
    without_copies,
)
from registry.core.merging.identity import with_signatures
from registry.core.merging.referrals import with_referrals
from registry.core.merging.sites import mark_off_site
from registry.core.visits import Answer

__all__ = ["PRECEDENCE", "Held", "Merged", "Noted", "held_from", "merge"]


def held_from(answer: Answer) -> Held:
    """What the crawler brought back, as a document that its host holds."""
    fetched = answer.fetched
    return Held(fetched.final_url, answer.probe.url, answer.assessment, fetched.sha256, fetched.at, answer.probe.via)


def merge(host: str, held: Sequence[Held]) -> Merged:
    """One service from all current documents of `host`, whatever their order; never raises on assessed documents."""
    held = in_order(held)
    documents = without_copies(found(held))
    noted = [Noted(f, one.url) for one in chain(documents, _broken(held)) for f in one.assessment.findings]
    documents, about_details = with_details(documents, details_of(held))
    documents, about_signatures = with_signatures(documents, host)
    documents, about_pointers = with_referrals(documents, held, host)
    noted += (*about_details, *about_signatures, *about_pointers)
    named = formats_of(documents), tuple(one.url for one in documents)
    if not any(_offers(one) for one in documents):
        return Merged(None, tuple(noted), *named)
    parts = described(Metadata.set_aside(documents))
    service = Metadata(documents, host).complete(united(parts))
    service, strangers = mark_off_site(service, registrable_domain(host))
    noted += (Noted(f) for f in chain(conflicts(parts), strangers))
    return Merged(service, tuple(noted), *named)


def _broken(held: Iterable[Held]) -> Iterator[Held]:
    """What looked like a document and was not readable: its findings tell the operator why it does not count."""
    return (one for one in held if one.assessment.outcome in (Outcome.MALFORMED, Outcome.NEGATIVE))


def _offers(one: Held) -> bool:
    """Does the document by itself make its host a service? A list of other servers, say, does not."""
    service = one.assessment.service
    if role_of(one) is not Role.SERVICE or service is None:
        return False
    return bool(service.capabilities or service.protocols or service.name)
