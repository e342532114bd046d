"""Verify the signatures of documents with keys in documents of the same host (A2A 1.0 section 8.4)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from registry.core.format_support.signatures import Key, Verdict, header_of, verify
from registry.core.merging import rules
from registry.core.merging.held import Held, LocatedFinding, finding
from registry.core.model.services import Service, Signature
from registry.core.names.domains import host_of

MAX_SIGNATURES: Final = 5  # of one document
_REASONS: Final = {
    Verdict.VERIFIED: rules.SIGNATURE_VERIFIED,
    Verdict.BROKEN: rules.SIGNATURE_BROKEN,
    Verdict.NO_KEY: rules.SIGNATURE_NO_KEY,
    Verdict.UNSUPPORTED: rules.SIGNATURE_UNSUPPORTED,
}
_KNOWN: Final = {Verdict.VERIFIED: True, Verdict.BROKEN: False}


def with_signatures(documents: Sequence[Held], host: str) -> tuple[list[Held], list[LocatedFinding]]:
    """Return the documents with their signatures judged and without the texts that were signed, and the findings."""
    keys = [key for document in documents if host_of(document.url) == host for key in _keys(document)]
    findings: list[LocatedFinding] = []
    result = []
    for document in documents:
        service = document.assessment.service
        if service is None or not service.identity.signatures:
            result.append(document)
            continue
        signatures = []
        for signature in service.identity.signatures[:MAX_SIGNATURES]:
            verdict = Verdict.UNSUPPORTED
            if service.identity.signed is not None:
                verdict = verify(signature, service.identity.signed, keys)
            signatures.append(replace(signature, verified=_KNOWN.get(verdict)))
            findings.append(
                LocatedFinding(
                    finding(_REASONS[verdict], signature.pointer, _algorithm_and_key_id(signature)), document.url
                )
            )
        result.append(_with_judged_signatures(document, service, signatures))
    return result, findings


def _with_judged_signatures(document: Held, service: Service, signatures: Sequence[Signature]) -> Held:
    identity = replace(service.identity, signatures=tuple(signatures), signed=None)
    return replace(document, assessment=replace(document.assessment, service=replace(service, identity=identity)))


def _keys(document: Held) -> tuple[Key, ...]:
    return document.assessment.service.identity.keys if document.assessment.service else ()


def _algorithm_and_key_id(signature: Signature) -> str:
    """Return algorithm and key id, as the signature itself states them."""
    header = header_of(signature.protected) or {}
    values = (header.get(name) for name in ("alg", "kid"))
    return " ".join(value for value in values if isinstance(value, str) and value.isprintable())
