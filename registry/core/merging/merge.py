"""The documents of one host -> one service with per-field provenance (docs/merge.md).

Every finding that needs two documents is made here: missing capability details and pointer targets, contradictions,
signatures, endpoints on another site, names of others. Documents come in with their assessments; nothing is read or
fetched. Each question has its own module in `merging/`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from registry.core.format_support import common_rules
from registry.core.format_support.public_addresses import public_merged
from registry.core.merging.access import Metadata
from registry.core.merging.claims import claims, look_alikes
from registry.core.merging.conflicts import conflicts
from registry.core.merging.details import details_of, with_details
from registry.core.merging.fields import united
from registry.core.merging.held import (
    PRECEDENCE,
    Held,
    LocatedFinding,
    Merged,
    described,
    finding,
    formats_of,
    found,
    in_order,
    observations_of,
    without_copies,
)
from registry.core.merging.identity import with_signatures
from registry.core.merging.offering import reason_not_to_list
from registry.core.merging.referrals import with_referrals
from registry.core.merging.sites import mark_off_site
from registry.core.merging.tool_lists import with_tool_lists
from registry.core.model.documents import Outcome
from registry.core.names.domains import registrable_domain
from registry.core.visiting.observing import observed
from registry.core.visiting.visits import ProbeResult

__all__ = ["PRECEDENCE", "Held", "LocatedFinding", "Merged", "held_from", "merge"]


def held_from(answer: ProbeResult, answers: Sequence[ProbeResult] = ()) -> Held:
    """Return the answer that the crawler brought back as a document that its host holds. `answers`: of its visit."""
    probe, fetched = answer.probe, answer.fetched
    seen = observed(answers, probe.url)
    return Held(fetched.final_url, probe.url, answer.assessment, fetched.sha256, fetched.at, probe.via, seen)


def merge(host: str, host_documents: Sequence[Held]) -> Merged:
    """Return one service from all current documents of `host`, in any order. Never raises on assessed documents."""
    host_documents = in_order(host_documents)
    documents = with_tool_lists(without_copies(found(host_documents)))
    findings = [
        LocatedFinding(one, document.url)
        for document in chain(documents, _broken(host_documents))
        for one in document.assessment.findings
    ]
    findings += observations_of(documents)
    documents, detail_findings = with_details(documents, details_of(host_documents))
    documents, signature_findings = with_signatures(documents, host)
    documents, pointer_findings = with_referrals(documents, host_documents, host)
    findings += (*detail_findings, *signature_findings, *pointer_findings)
    formats_and_urls = formats_of(documents), tuple(document.url for document in documents)
    parts = described(Metadata.set_aside(documents))
    service = Metadata(documents, host).complete(united(parts))
    service, left_out = public_merged(service, host)  # guard: merge-gate
    findings += [LocatedFinding(finding(common_rules.ADDRESS_NOT_PUBLIC, "", address)) for address in left_out]
    reason = reason_not_to_list(documents, service, host) if documents else None
    if reason is not None or not documents:
        findings += [LocatedFinding(finding(reason, "", ", ".join(formats_and_urls[0])))] if reason else []
        return Merged(None, tuple(findings), *formats_and_urls)
    service, off_site_findings = mark_off_site(service, registrable_domain(host))
    findings += (LocatedFinding(one) for one in chain(conflicts(parts), off_site_findings))
    findings += [one for one in claims(parts) if one not in findings]  # a claimed domain is the name in some formats
    findings += look_alikes(host, service)
    return Merged(service, tuple(findings), *formats_and_urls)


def _broken(host_documents: Iterable[Held]) -> Iterator[Held]:
    """Yield documents that are unreadable or deny a protocol: their findings state why they do not count."""
    return (
        document for document in host_documents if document.assessment.outcome in (Outcome.MALFORMED, Outcome.NEGATIVE)
    )
