"""Judge the answers of one visit against its controls, and keep what later steps need.

Also here: requests for documents of earlier visits, and observations about a document from the other answers, which
cost no request of their own. A visit lasts for minutes and thousands run at once, so memory per visit counts: only
bodies that will be stored are kept, and equal parts of answers are shared.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from registry.core.assessing.assess import Assessment, assess, keeps_body, sample
from registry.core.assessing.controls import Controls
from registry.core.assessing.firewalls import REFUSALS
from registry.core.assessing.mining import MAX_HEADER, header_targets
from registry.core.assessing.verdicts import READ, retry_after
from registry.core.model.documents import NO_HEADERS, FetchResult, Observation, Outcome, Probe, Purpose, Via
from registry.core.names.domains import host_of, parse_https
from registry.core.visiting import probes
from registry.core.visiting.visits import HostJob, KnownDocument, ProbeResult

MANIFEST_RELATION: Final = "agent-manifest"  # ATP 0.1 section 2.2


def observed(answers: Iterable[ProbeResult], url: str, before: Collection[Observation] = ()) -> frozenset[Observation]:
    """Return the observations about the document at `url` after these answers, given the earlier observations."""
    known = set(before)
    answers = list(answers)
    urls = {url, *(answer.fetched.final_url for answer in answers if answer.probe.url == url)}
    for answer in answers:
        observation, is_seen = Observation.NOT_REVALIDATED, None
        if answer.probe.url == url:
            is_seen = _ignores_validator(answer.probe, answer.fetched)
        elif answer.probe.purpose is Purpose.HOME:
            observation, is_seen = Observation.NO_HOME_LINK, _lacks_link(answer.fetched, urls)
        if is_seen is not None:
            (known.add if is_seen else known.discard)(observation)
    return frozenset(known)


def _ignores_validator(probe: Probe, fetched: FetchResult) -> bool | None:
    """Return whether a current ETag was sent in vain (RFC 9110 section 13.1.2); None if the answer does not show it."""
    if probe.etag is None:
        return None
    if fetched.status == 304:
        return False
    return True if fetched.status == 200 and fetched.headers.get("etag") == probe.etag else None


def _lacks_link(fetched: FetchResult, urls: Collection[str]) -> bool | None:
    """Return whether the front page of the document's host names no URL of these; None without an answer."""
    hosts = {host_of(url) for url in urls}
    if fetched.failure is not None or fetched.status != 200 or host_of(fetched.final_url) not in hosts:
        return None
    return not any(target in urls for target in header_targets(fetched.final_url, fetched.headers, MANIFEST_RELATION))


_STORED_HEADERS: Final = (
    "link", "content-type", "content-language", "cache-control", "access-control-allow-origin", "etag", "last-modified",
    "expires", "date",
)  # fmt: skip
"""Header fields that findings, later assessments, conditional requests and the next visit depend on. Others, such as
cookies, are not stored."""

SHOWN_HEADERS: Final = (
    *_STORED_HEADERS, "age", "allow", "content-disposition", "content-encoding", "content-location", "server",
    "strict-transport-security", "vary", "x-content-type-options", "x-robots-tag",
)  # fmt: skip
"""Header fields that are shown as evidence of how a document was served. None of them names or marks the crawler."""

SHOWN_CHARS: Final = 500  # characters of each that are shown

_HEADER_CHARS: Final = {name: None if name in _STORED_HEADERS else SHOWN_CHARS for name in SHOWN_HEADERS}


class VisitResults:
    """`answers` in the order of the requests. `home_topics`: words on the front page (`probes.words_in`). `known`:
    documents of earlier visits by URL. `retry_after`: the longest wait in seconds that the host asked for."""

    __slots__ = ("_controls", "_host", "answers", "home_topics", "known", "retry_after")

    def __init__(self, job: HostJob) -> None:
        self._host = job.host
        self.known: dict[str, KnownDocument] = {document.url: document for document in job.known}
        self.answers: list[ProbeResult] = []
        self.home_topics = probes.NO_WORDS
        self.retry_after: int | None = None
        self._controls = Controls()

    @property
    def body_bytes(self) -> int:
        """Return the size in bytes of all bodies that are kept."""
        return sum(len(answer.fetched.body) for answer in self.answers)

    @property
    def leads_on(self) -> bool:
        """Return whether an answer so far causes further requests: a document was found, or pointers."""
        assessments = (answer.assessment for answer in self.answers)
        return any(one.outcome is Outcome.FOUND or one.pointers for one in assessments)

    def add(self, probe: Probe, fetched: FetchResult) -> ProbeResult:
        """Judge and keep one answer."""
        last_dropped = self.answers[-1].fetched.dropped if self.answers else None  # most "not found" pages are the same
        result = _reduce(probe, fetched, self._judge(probe, fetched), last_dropped)
        self.answers.append(result)
        is_own = result.assessment.outcome is not Outcome.REFUSED_BY_FIREWALL
        if probe.purpose is Purpose.CONTROL and is_own:  # guard: firewall-control
            self._controls = replace(self._controls, samples=(*self._controls.samples, sample(fetched)))
        elif probe.purpose is Purpose.HOME and fetched.failure is None:
            home_ok, lets_in = is_own and fetched.status in READ, is_own and fetched.status not in REFUSALS
            self._controls = Controls(self._controls.samples, home_ok, lets_in)
            self.home_topics = probes.words_in(fetched.body, is_home=True)
        if fetched.status in (429, 503) and (seconds := retry_after(fetched)) is not None:
            self.retry_after = max(seconds, self.retry_after or 0)
        return result

    def reassess(self, doubted: ProbeResult, fetched: FetchResult) -> None:
        """Judge again after one more control: `doubted`, whose whole answer is `fetched`, and all found manifests. A
        found document may turn out to be a soft 404; an absence stays one."""
        for index, answer in enumerate(self.answers):
            is_found = answer.probe.purpose is Purpose.MANIFEST and answer.assessment.outcome is Outcome.FOUND
            if answer is doubted or is_found:
                whole = fetched if answer is doubted else answer.fetched
                self.answers[index] = _reduce(answer.probe, whole, self._judge(answer.probe, whole))

    def outcome_of(self, path: str) -> Outcome | None:
        """Return the latest outcome at a path of the visited host; None if it was not requested."""
        url = f"https://{self._host}{path}"
        for answer in reversed(self.answers):
            if answer.probe.url == url or answer.fetched.final_url == url:
                return answer.assessment.outcome
        return None

    def has_found(self, path: str | None) -> bool:
        """Return whether there is a document at a path of the visited host, of this visit or of an earlier one."""
        if path is None:
            return False
        known = self.known.get(f"https://{self._host}{path}")
        return self.outcome_of(path) is Outcome.FOUND or (known is not None and known.outcome is Outcome.FOUND)

    def _judge(self, probe: Probe, fetched: FetchResult) -> Assessment:
        assessment = assess(probe, fetched, self._controls)
        known = self.known.get(probe.url) if assessment.reason == "unchanged" else None
        if known is not None:
            reason = known.reason or assessment.reason  # the reason of a negative document has not changed either
            return replace(assessment, outcome=known.outcome, format=known.format, reason=reason)
        return assessment


def _reduce(
    probe: Probe, fetched: FetchResult, assessment: Assessment, like: tuple[int, bytes] | None = None
) -> ProbeResult:
    """Return the answer with the headers needed later, and with its body only if that is stored. A front page keeps a
    `Link` field that names a manifest. `like`: size and digest of another body, shared when they are the same."""
    headers = fetched.headers
    if keeps_body(assessment):
        stored = {name: headers[name][:limit] for name, limit in _HEADER_CHARS.items() if name in headers}
        return ProbeResult(probe, fetched.reduced(stored, keep_body=True), assessment)
    kept = _content_type_only(headers.get("content-type"))
    if probe.purpose is Purpose.HOME and MANIFEST_RELATION in (link := headers.get("link", "")[:MAX_HEADER]):
        kept = {**kept, "link": link}
    return ProbeResult(probe, fetched.reduced(kept, keep_body=False, like=like), assessment)


@lru_cache(maxsize=256)  # nearly all answers have one of a few types
def _content_type_only(content_type: str | None) -> Mapping[str, str]:
    return NO_HEADERS if content_type is None else MappingProxyType({"content-type": content_type[:200]})


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
    """Add the validators of a known document (RFC 9110 section 13). Not in a whole plan: pointers, conditions and
    controls depend on the body, so it is fetched again."""
    if known is None or known.outcome not in _VALIDATED:
        return probe
    via = probe.via or known.via
    if whole_plan:
        return probe._replace(via=via)
    return probe._replace(etag=known.etag, last_modified=known.last_modified, via=via)
