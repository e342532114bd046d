"""What a visit learns about other documents and hosts: pointers to follow, and hosts to seed later."""

from collections.abc import Collection, Mapping
from typing import Final

from registry.core.assessing.assess import assess
from registry.core.assessing.controls import Controls
from registry.core.model.documents import Outcome, Probe, Purpose
from registry.core.model.services import Pointer
from registry.core.names.domains import InvalidName, canonical_host, host_of, registrable_domain
from registry.core.visiting import probes
from registry.core.visiting.following import DETAIL_REL, MAX_INLINE, Elsewhere, Request, follow, inline
from registry.core.visiting.results import VisitResults
from registry.core.visiting.visits import HostCandidate, ProbeResult

SUB_HOSTS: Final = ("docs", "api", "mcp")
MAX_CANDIDATES: Final = 100
MAX_NAMED: Final = 1000  # URLs whose depth is kept in one visit


class CandidateHosts:
    """Other hosts that a visit learned of, each with the first document that named it."""

    __slots__ = ("_by_host", "_exempt", "_host")

    def __init__(self, host: str, exempt: Collection[str]) -> None:
        self._host, self._exempt = host, exempt
        self._by_host: dict[str, HostCandidate] = {}

    def add(self, host: str, rel: str, document: str) -> None:
        """Ignore names that are not valid public hosts, and all above MAX_CANDIDATES."""
        try:
            canonical = canonical_host(host, exempt=self._exempt).host
        except InvalidName:
            return
        if canonical != self._host and len(self._by_host) < MAX_CANDIDATES:
            self._by_host.setdefault(canonical, HostCandidate(canonical, rel, document))

    def add_sub_hosts(self) -> None:
        domain = registrable_domain(self._host)
        for label in SUB_HOSTS:
            self.add(f"{label}.{domain}", "sub-host", f"https://{self._host}/")

    def all(self) -> tuple[HostCandidate, ...]:
        return tuple(self._by_host.values())


class PointerQueue:
    """URLs that documents of this visit point to, in the order of their discovery.

    `visited` is the plan's own record of requested URLs; the queue reads it, and adds documents that are carried
    inside others. Capability details wait in `details`, because they have a budget of their own.
    """

    __slots__ = ("_candidates", "_collected", "_depth", "_documents", "_followed", "_host", "_inlined", "_visited",
                 "details")  # fmt: skip

    def __init__(self, host: str, visited: dict[str, None], candidates: CandidateHosts) -> None:
        self._host, self._visited, self._candidates = host, visited, candidates
        self._documents: list[Probe] = []
        self.details: list[Probe] = []
        self._depth: dict[str, int] = {}
        self._collected = self._followed = self._inlined = 0

    @property
    def is_empty(self) -> bool:
        return not self._documents and not self.details

    def next_document(self) -> Probe | None:
        """Remove and return the next pointer; None when there is none, or MAX_POINTERS were followed."""
        if not self._documents or self._followed >= probes.MAX_POINTERS:  # guard: pointer-count
            return None
        probe = self._documents.pop(0)
        self._followed += probe.url not in self._visited
        return probe

    def inherit_depth(self, url: str, source: str) -> None:
        """Count `url` as being as deep as `source`, which redirected to it."""
        self._depth[url] = self._depth.get(source, 0)

    def collect(self, results: VisitResults) -> None:
        """Add the pointers of the answers that came since the last call."""
        answers = results.answers
        while self._collected < len(answers):
            answer = answers[self._collected]
            self._collected += 1
            if answer.assessment.outcome in (Outcome.FOUND, Outcome.NEGATIVE) or answer.probe.purpose is Purpose.HOME:
                self._collect_from(answer, results)

    def add(self, pointer: Pointer, document: str, depth: int) -> None:
        """Queue a pointer that may be requested in this visit; other hosts become candidates."""
        match follow(pointer, document):
            case Elsewhere(host, rel, named_by):
                self._candidates.add(host, rel, named_by)
            case Request(probe) if depth <= probes.MAX_DEPTH and probe.url not in self._visited:  # guard: pointer-depth
                host = host_of(probe.url) or ""
                if host != self._host:
                    self._candidates.add(host, pointer.rel, document)
                if probe.url not in self._depth and len(self._depth) < MAX_NAMED:
                    self._depth[probe.url] = depth
                    (self.details if probe.purpose is Purpose.DETAIL else self._documents).append(probe)

    def _collect_from(self, answer: ProbeResult, results: VisitResults) -> None:
        depth = self._depth.get(answer.probe.url, 0) + 1
        known = results.known.get(answer.probe.url)
        unchanged = known is not None and known.sha256 == answer.fetched.sha256
        for pointer in answer.assessment.pointers:
            if pointer.payload is not None:
                self._assess_inline(answer, pointer, depth, results)
            elif not (unchanged and _is_known_detail(pointer, results.known)):
                self.add(pointer, answer.fetched.final_url, depth)

    def _assess_inline(self, answer: ProbeResult, pointer: Pointer, depth: int, results: VisitResults) -> None:
        """Assess a document that is carried inside another, without a request."""
        inlined = inline(pointer, answer.fetched.final_url, answer.fetched.at)
        if inlined is None or depth > probes.MAX_DEPTH or self._inlined >= MAX_INLINE:
            return
        probe, fetched = inlined
        if probe.url in self._visited:
            return
        self._visited[probe.url] = None
        assessment = assess(probe, fetched, Controls())
        if assessment.outcome is Outcome.FOUND:
            self._inlined += 1
            self._depth[probe.url] = depth
            results.answers.append(ProbeResult(probe, fetched, assessment))


def _is_known_detail(pointer: Pointer, known: Mapping[str, object]) -> bool:
    """True for a capability detail of an earlier visit: it is requested again only when its manifest changed."""
    return pointer.rel == DETAIL_REL and pointer.url in known
