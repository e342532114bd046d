"""Signatures of documents, judged with the keys that documents of the same host hold (A2A 1.0 section 8.4)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from registry.core.domains import host_of
from registry.core.findings import Reason
from registry.core.merging.held import Held, Noted, finding
from registry.core.services import Service, Signature
from registry.core.signatures import Key, Verdict, header_of, verify

MAX_SIGNATURES: Final = 5  # of one document
_REASONS: Final = {
    Verdict.VERIFIED: Reason.SIGNATURE_VERIFIED,
    Verdict.BROKEN: Reason.SIGNATURE_BROKEN,
    Verdict.NO_KEY: Reason.SIGNATURE_NO_KEY,
    Verdict.UNSUPPORTED: Reason.SIGNATURE_UNSUPPORTED,
}
_KNOWN: Final = {Verdict.VERIFIED: True, Verdict.BROKEN: False}


def with_signatures(documents: Sequence[Held], host: str) -> tuple[list[Held], list[Noted]]:
    """The documents with their signatures judged and without the texts that were signed."""
    keys = [key for one in documents if host_of(one.url) == host for key in _keys(one)]
    noted: list[Noted] = []
    judged = []
    for one in documents:
        service = one.assessment.service
        if service is None or not service.identity.signatures:
            judged.append(one)
            continue
        known = []
        for signature in service.identity.signatures[:MAX_SIGNATURES]:
            verdict = Verdict.UNSUPPORTED
            if service.identity.signed is not None:
                verdict = verify(signature, service.identity.signed, keys)
            known.append(replace(signature, verified=_KNOWN.get(verdict)))
            noted.append(Noted(finding(_REASONS[verdict], signature.pointer, _named(signature)), one.url))
        judged.append(_with(one, service, known))
    return judged, noted


def _with(one: Held, service: Service, signatures: Sequence[Signature]) -> Held:
    identity = replace(service.identity, signatures=tuple(signatures), signed=None)
    return replace(one, assessment=replace(one.assessment, service=replace(service, identity=identity)))


def _keys(one: Held) -> tuple[Key, ...]:
    return one.assessment.service.identity.keys if one.assessment.service else ()


def _named(signature: Signature) -> str:
    """Algorithm and key id, as the signature itself names them."""
    header = header_of(signature.protected) or {}
    named = (header.get(name) for name in ("alg", "kid"))
    return " ".join(value for value in named if isinstance(value, str) and value.isprintable())
