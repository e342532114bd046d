"""What the answers of a visit show about a document beyond its own bytes and header fields.

Nothing is requested for this: revisits are conditional anyway, and the front page is part of every whole plan.
"""

from collections.abc import Collection, Iterable
from typing import Final

from registry.core.assessing.links import header_targets
from registry.core.model.documents import Fetched, Probe, Purpose
from registry.core.model.observations import Observation
from registry.core.names.domains import host_of
from registry.core.visiting.visits import ProbeResult

MANIFEST_RELATION: Final = "agent-manifest"  # ATP 0.1 section 2.2


def observed(answers: Iterable[ProbeResult], url: str, before: Collection[Observation] = ()) -> frozenset[Observation]:
    """Return what is known of the document requested at `url` after these answers, given what was known before."""
    known = set(before)
    answers = list(answers)
    urls = {url, *(answer.fetched.final_url for answer in answers if answer.probe.url == url)}
    for answer in answers:
        if answer.probe.url == url:
            _update(known, Observation.NOT_REVALIDATED, _ignores_validator(answer.probe, answer.fetched))
        elif answer.probe.purpose is Purpose.HOME:
            _update(known, Observation.NO_HOME_LINK, _lacks_link(answer.fetched, urls))
    return frozenset(known)


def _update(known: set[Observation], observation: Observation, is_seen: bool | None) -> None:
    if is_seen is not None:
        (known.add if is_seen else known.discard)(observation)


def _ignores_validator(probe: Probe, fetched: Fetched) -> bool | None:
    """Return whether a current ETag was sent in vain (RFC 9110 section 13.1.2); None if the answer does not show it."""
    if probe.etag is None:
        return None
    if fetched.status == 304:
        return False
    return True if fetched.status == 200 and fetched.headers.get("etag") == probe.etag else None


def _lacks_link(fetched: Fetched, urls: Collection[str]) -> bool | None:
    """Return whether a front page of the document's own host names none of the URLs; None if it was not answered."""
    hosts = {host_of(url) for url in urls}
    if fetched.failure is not None or fetched.status != 200 or host_of(fetched.final_url) not in hosts:
        return None
    return not any(target in urls for target in header_targets(fetched.final_url, fetched.headers, MANIFEST_RELATION))
