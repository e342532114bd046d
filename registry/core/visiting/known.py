"""The requests for documents of earlier visits."""

from typing import Final

from registry.core.model.documents import Outcome, Probe, Via
from registry.core.names.domains import parse_https
from registry.core.visiting import probes
from registry.core.visiting.visits import KnownDocument

_VALIDATED: Final = frozenset({Outcome.FOUND, Outcome.NEGATIVE})


def probe_for(host: str, document: KnownDocument) -> Probe:
    """Return the request for a known document, as a path of the plan or as a pointer."""
    url = parse_https(document.url) or document.url
    for step in probes.STEPS:
        if url == f"https://{host}{step.path}":
            return probes.manifest_probe(host, step)
    expected = document.via.expected if document.via else document.format
    return probes.pointer_probe(url, document.via or Via(url, "", "known", expected), expected)


def with_validators(probe: Probe, known: KnownDocument | None, *, whole_plan: bool) -> Probe:
    """Add the validators of a known document (RFC 9110 section 13).

    Not in a whole plan: pointers, conditions and controls depend on the body, so it is fetched again.
    """
    if known is None or known.outcome not in _VALIDATED:
        return probe
    via = probe.via or known.via
    if whole_plan:
        return probe._replace(via=via)
    return probe._replace(etag=known.etag, last_modified=known.last_modified, via=via)
