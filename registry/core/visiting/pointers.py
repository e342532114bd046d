"""Decide which pointers and redirects a visit follows, and which other hosts are seeded later.

A pointer is requested now, seeds another host, or is ignored (docs/crawler.md, "Pointers"). The target of a redirect
is judged at every hop (docs/crawler.md, "Redirects").
"""

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from registry.core.assessing.assess import assess
from registry.core.assessing.controls import Controls
from registry.core.assessing.mining import EXPECTED
from registry.core.assessing.verdicts import is_home
from registry.core.format_support.probing import JSON_CAP
from registry.core.model.documents import FetchResult, Outcome, Probe, Purpose, Via
from registry.core.model.services import Pointer
from registry.core.names import domains
from registry.core.names.inside import inside_host
from registry.core.visiting import probes
from registry.core.visiting.probes import detail_probe, pointer_probe
from registry.core.visiting.results import VisitResults
from registry.core.visiting.visits import HostCandidate, ProbeResult

DETAIL_REL: Final = "detail_url"
MAX_INLINE: Final = 20  # payloads of one visit that are assessed without a request

_FOLLOWED = frozenset({*EXPECTED, "agentmap", "agentic-manifest", "service-meta", "alternative", "entry", "item"})
_TEMPLATE = re.compile(r"[{}]|%7[bd]", re.IGNORECASE)


def follow(pointer: Pointer, document: str) -> Probe | HostCandidate | None:
    """Decide about one pointer of `document`, the final URL of the document that holds it: return a request of this
    visit, another host that must serve the document itself, or None.

    Endpoints, status pages and templates are never requested: only URLs that promise a document, by its format or by a
    relation in _FOLLOWED. Capability details must be on the registrable domain that serves their manifest.
    """
    if pointer.url is None or _TEMPLATE.search(pointer.url):
        return None
    url = domains.parse_https(pointer.url, document)
    host, home = domains.host_of(url or ""), domains.host_of(document)
    if url is None or host is None or home is None:
        return None
    if not domains.same_site(host, home):  # guard: pointer-same-site
        return None if pointer.rel == DETAIL_REL else HostCandidate(host, pointer.rel, document)
    via = Via(document, pointer.pointer, pointer.rel, pointer.expected)
    if pointer.rel == DETAIL_REL:
        return detail_probe(url, via)
    if pointer.expected is not None or pointer.rel in _FOLLOWED:
        return pointer_probe(url, via, pointer.expected)
    return HostCandidate(host, pointer.rel, document) if host != home else None


def inline(pointer: Pointer, document: str, at: datetime) -> tuple[Probe, FetchResult] | None:
    """Return a document inside another, as if fetched from the outer URL with the JSON Pointer as fragment."""
    try:
        body = json.dumps(pointer.payload, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError):
        return None
    if len(body) > JSON_CAP:
        return None
    url = f"{document}#{pointer.pointer}"
    via = Via(document, pointer.pointer, pointer.rel, pointer.expected)
    probe = Probe(url, Purpose.POINTER, "S5", "application/json", JSON_CAP, via)
    return probe, FetchResult(url, url, at, 200, {"content-type": "application/json"}, body)


SUB_HOSTS: Final = ("docs", "api", "mcp")
MAX_CANDIDATES: Final = 100
MAX_NAMED: Final = 1000  # URLs whose depth is kept in one visit


class CandidateHosts:
    """Other hosts that a visit learned of, each with the first document that named it."""

    __slots__ = ("_exempt", "_host", "by_host")

    def __init__(self, host: str, exempt: Collection[str]) -> None:
        self._host, self._exempt = host, exempt
        self.by_host: dict[str, HostCandidate] = {}

    def add(self, host: str, rel: str, document: str) -> None:
        """Ignore names that are not valid public hosts, and all above MAX_CANDIDATES."""
        try:
            canonical = domains.canonical_host(host, exempt=self._exempt).host
        except domains.InvalidName:
            return
        if canonical != self._host and len(self.by_host) < MAX_CANDIDATES:
            self.by_host.setdefault(canonical, HostCandidate(canonical, rel, document))

    def add_sub_hosts(self) -> None:
        domain = domains.registrable_domain(self._host)
        for label in SUB_HOSTS:
            self.add(f"{label}.{domain}", "sub-host", f"https://{self._host}/")


class PointerQueue:
    """URLs that documents of this visit point to, in the order of their discovery. `visited` is the plan's own record
    of requested URLs; the queue reads it, and adds documents that are carried inside others. Capability details wait in
    `details`, because they have a budget of their own."""

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
        """Remove and return the next pointer; None when the queue is empty or MAX_POINTERS were followed."""
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
            is_read = answer.assessment.outcome in (Outcome.FOUND, Outcome.NEGATIVE)
            if not is_read and answer.probe.purpose is not Purpose.HOME:
                continue
            depth, known = self._depth.get(answer.probe.url, 0) + 1, results.known.get(answer.probe.url)
            unchanged = known is not None and known.sha256 == answer.fetched.sha256
            for pointer in answer.assessment.pointers:
                if pointer.payload is not None:
                    self._assess_inline(answer, pointer, depth, results)
                elif not (unchanged and pointer.rel == DETAIL_REL and pointer.url in results.known):
                    # a known capability detail is requested again only when its manifest changed
                    self.add(pointer, answer.fetched.final_url, depth)

    def add(self, pointer: Pointer, document: str, depth: int) -> None:
        """Queue a pointer that may be requested in this visit; other hosts become candidates."""
        match follow(pointer, document):
            case HostCandidate(host, rel, named_by):
                self._candidates.add(host, rel, named_by)
            case Probe(url) as probe if depth <= probes.MAX_DEPTH and url not in self._visited:  # guard: pointer-depth
                host = domains.host_of(url) or ""
                if host != self._host:
                    self._candidates.add(host, pointer.rel, document)
                if url not in self._depth and len(self._depth) < MAX_NAMED:
                    self._depth[url] = depth
                    (self.details if probe.purpose is Purpose.DETAIL else self._documents).append(probe)

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


STATUSES: Final = frozenset({301, 302, 303, 307, 308})
MAX_HOPS: Final = 3
MAX_HOPS_ROBOTS: Final = 5  # RFC 9309 section 2.3.1.2
LOCATION_NOT_READ: Final = "redirect_not_ascii"  # reason of a redirect whose `Location` could not be read


@dataclass(frozen=True, slots=True)
class Follow:
    """Request `url` next: canonical, https, port 443, within the registrable domain of the request."""

    url: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Do not follow; the answer ends with this outcome. `target` is the host of the location, if it has one."""

    outcome: Outcome
    reason: str
    target: str | None = None


def redirect(from_url: str, location: str | None, hops: Sequence[str], purpose: Purpose) -> Follow | Stop:
    """Decide about a `Location` that came with one of STATUSES. `from_url` is the URL that answered, `hops` the URLs
    requested before it, in order. The address of the target is not checked here but when it is dialled."""
    if not location or not location.strip():
        return Stop(Outcome.SERVER_ERROR, "redirect_without_location")
    url = domains.parse_https(location, from_url)
    if url is None:
        target = domains.parse_url(location[: 4 * domains.MAX_URL_CHARS], from_url)
        return Stop(Outcome.REFUSED_ADDRESS, _refusal_reason(target), domains.host_of(target.href) if target else None)
    from_host, target_host = domains.host_of(from_url) or "", domains.host_of(url) or ""
    if not domains.same_site(from_host, target_host):  # guard: redirect-same-site
        # clients read the reason, so it must not disclose names of private networks
        named = target_host if inside_host(url) is None else "no public host"  # guard: private-redirect
        return Stop(Outcome.REDIRECTED_AWAY, f"to {named}", target_host)
    if purpose not in (Purpose.HOME, Purpose.ROBOTS) and is_home(url):
        return Stop(Outcome.ABSENT, "redirect_home", target_host)
    limit = MAX_HOPS_ROBOTS if purpose is Purpose.ROBOTS else MAX_HOPS
    if url == from_url or url in hops or len(hops) >= limit:  # guard: redirect-limit
        return Stop(Outcome.SERVER_ERROR, "redirect_loop", target_host)
    return Follow(url)


def _refusal_reason(target: domains.Url | None) -> str:
    """Return the rule of parse_https that a target broke, for the ledger."""
    if target is None:
        return "redirect_unreadable"
    if target.scheme != "https":
        return "redirect_http" if target.scheme == "http" else "redirect_scheme"
    if not target.is_name:
        return "redirect_address"
    if target.has_user:
        return "redirect_userinfo"
    return "redirect_port" if target.port else "redirect_name"
