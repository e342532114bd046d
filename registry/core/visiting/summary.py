"""The result of a visit as a whole: documents found, an alias or a move, and one outcome.

The order of outcomes is docs/crawler.md, "Outcomes".
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from registry.core.format_support.format import Role
from registry.core.format_support.probing import HostFacts
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.model.documents import ABSENCE, Outcome, Purpose
from registry.core.names.authority import is_own_answer
from registry.core.names.domains import host_of
from registry.core.visiting.probes import words_in
from registry.core.visiting.visits import ProbeResult

_INFORMATIVE: Final = {Outcome.NEGATIVE: 0, Outcome.MALFORMED: 1, Outcome.GONE: 2, Outcome.NOT_A_MANIFEST: 3}
_PAGES: Final = frozenset({"html", "empty", "text"})  # a page at a manifest's path is no more than an absence
_ASKED: Final = frozenset({Purpose.MANIFEST, Purpose.POINTER})
_REFUSALS: Final = frozenset({403, 429})


def served_here(answer: ProbeResult, host: str) -> bool:
    """Return whether this host itself answered: not another one, to which it or its platform redirects."""
    fetched = answer.fetched
    # guard: document-redirect
    return fetched.final_url.startswith(f"https://{host}/") and is_own_answer(host, fetched.hops)


def find_served(answers: Sequence[ProbeResult], host: str) -> list[ProbeResult]:
    """Return the documents that this host served."""
    return [answer for answer in answers if answer.assessment.outcome is Outcome.FOUND and served_here(answer, host)]


def summarise(host: str, answers: Sequence[ProbeResult], known_urls: Collection[str]) -> tuple[Outcome, str]:
    """Return FOUND when the host served a document that makes it a service, else the most informative reason why not.
    `known_urls` are the URLs of documents it served before: what became of them says more than any other path."""
    documents = find_served(answers, host)
    services = [document for document in documents if _makes_a_service(document)]
    if services:
        return Outcome.FOUND, services[0].assessment.format or ""
    requested = [answer for answer in answers if answer.probe.purpose in _ASKED]
    for answer in requested:
        if answer.probe.url in known_urls and answer.assessment.outcome is not Outcome.FOUND:
            return _verdict(answer)
    other_formats = sorted({document.assessment.format or "" for document in documents})
    verdicts = map(_verdict, requested)
    informative = [verdict for verdict in verdicts if verdict[0] in _INFORMATIVE and verdict[1] not in _PAGES]
    if informative:
        first = min(informative, key=lambda verdict: _INFORMATIVE[verdict[0]])
        if first[0] is not Outcome.NOT_A_MANIFEST or not other_formats:
            return first
    if not other_formats and (refusal := firewall(requested)):  # the host is not said to have nothing
        return refusal
    if other_formats:
        return Outcome.NOT_A_MANIFEST, "only " + ", ".join(other_formats)
    return _find_most_common(requested or answers)


def firewall(answers: Sequence[ProbeResult]) -> tuple[Outcome, str] | None:
    """Return the first refusal of a firewall; None if there was none."""
    verdicts = map(_verdict, answers)
    return next((verdict for verdict in verdicts if verdict[0] is Outcome.REFUSED_BY_FIREWALL), None)


def moved_to(host: str, home: ProbeResult | None, control: ProbeResult | None) -> str | None:
    """Return the host that both the front page and a random name moved to, with its path kept: the whole host moved."""
    if home is None or control is None or not control.fetched.final_url.endswith(_path(control.probe.url)):
        return None
    target = host_of(home.fetched.final_url)
    return target if target != host and target == host_of(control.fetched.final_url) else None


def gone_away(home: ProbeResult | None, control: ProbeResult | None) -> str | None:
    """Return the reason if the front page and a random name both lead to the same other site."""
    if home is None or control is None or home.assessment.outcome is not Outcome.REDIRECTED_AWAY:
        return None
    return home.assessment.reason if _verdict(home) == _verdict(control) else None


def only_refusals(answers: Sequence[ProbeResult]) -> bool:
    """Return whether every path so far was answered with 403 or 429: more guesses would only annoy."""
    purposes = (Purpose.HOME, Purpose.CONTROL, Purpose.MANIFEST)
    statuses = [answer.fetched.status for answer in answers if answer.probe.purpose in purposes]
    return bool(statuses) and all(status in _REFUSALS for status in statuses)


def host_facts(host: str, answers: Sequence[ProbeResult], home_topics: frozenset[str]) -> HostFacts:
    """Return the facts that conditional probes depend on. `home_topics`: named by the front page (`words_in`)."""
    documents = find_served(answers, host)
    here = [answer for answer in answers if host_of(answer.probe.url) == host]
    services = [document.assessment.service for document in documents if document.assessment.service is not None]
    protocols = (protocol for service in services for protocol in service.protocols)
    rpc = (protocol.endpoint for protocol in protocols if protocol.id in ("mcp", "a2a") and protocol.endpoint)
    return HostFacts(
        label=host.partition(".")[0],
        formats=frozenset(document.assessment.format or "" for document in documents),
        outcomes={_path(answer.probe.url): answer.assessment.outcome for answer in here},
        words=home_topics.union(*(words_in(document.fetched.body) for document in documents)),
        rpc_here=any(host_of(endpoint) == host for endpoint in rpc),
    )


def _find_most_common(answers: Sequence[ProbeResult]) -> tuple[Outcome, str]:
    """Return the most common absence if there is any, else the most common outcome. Unknown outcomes of other paths say
    something about those paths, not about the host."""
    verdicts = [_verdict(answer) for answer in answers if answer.assessment.outcome is not Outcome.SKIPPED]
    absences = [verdict for verdict in verdicts if verdict[0] in ABSENCE]
    most_common = Counter(absences or verdicts).most_common(1)
    return most_common[0][0] if most_common else (Outcome.SKIPPED, "nothing_asked")


def _verdict(answer: ProbeResult) -> tuple[Outcome, str]:
    return answer.assessment.outcome, answer.assessment.reason


def _makes_a_service(answer: ProbeResult) -> bool:
    """Return whether the document describes a service or is a catalogue with entries, which may be its host's offer."""
    form, service = FORMAT_BY_SLUG.get(answer.assessment.format or ""), answer.assessment.service
    if form is None or service is None or form.role is not Role.POINTERS:
        return form is not None and form.role is Role.SERVICE
    return bool(service.capabilities)


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3]
