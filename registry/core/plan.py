"""The visit of one host as a pure state machine: which URL next, what the answer changes, how it all ends.

`HostPlan` walks through the table of probes.py. The walk is written as one generator that yields probes and is sent
answers, so that it reads in the order in which a host sees it: robots.txt, front page, control, pointers, the
mandatory paths, likely siblings, what documents point to, conditional probes, capability details. Longer than most
modules because all steps share the same facts about the visit.
"""

import hashlib
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeAlias

from registry.core import probes, robots_record
from registry.core.assess import Assessment, assess, keeps_body, sample
from registry.core.controls import Controls
from registry.core.documents import NO_HEADERS, Fetched, Outcome, Probe, Purpose, Via
from registry.core.domains import InvalidName, canonical_host, host_of, parse_https, registrable_domain
from registry.core.following import DETAIL_REL, MAX_INLINE, Elsewhere, Request, follow, inline
from registry.core.patience import NO_BUDGET, OTHER_HOST, Patience, Purse
from registry.core.redirects import Follow, Stop, redirect
from registry.core.robots import Robots
from registry.core.services import Pointer
from registry.core.summary import found, gone_away, moved_to, only_refusals, seen, served_here, summarise
from registry.core.verdicts import READ, retry_after
from registry.core.visits import Answer, Candidate, HostJob, KnownDocument, Visit

SUB_HOSTS: Final = ("docs", "api", "mcp")
MAX_CANDIDATES: Final = 100
MAX_PENDING: Final = 500
MAX_NAMED: Final = 1000  # URLs of one visit that are kept in mind

_STORED_HEADERS: Final = (
    "link", "content-type", "content-language", "cache-control", "access-control-allow-origin", "etag", "last-modified",
    "expires", "date",
)  # fmt: skip
"""What findings, later assessments, conditional requests and the next visit depend on; cookies and the like are
nobody's business."""

_YARDSTICKS: Final = frozenset({Purpose.CONTROL, Purpose.HOME})
"""What the other answers are measured by."""

_RESUMABLE: Final = frozenset({Purpose.MANIFEST, Purpose.POINTER, Purpose.DETAIL})

_Walk: TypeAlias = Generator[Probe, Fetched, None]
_Asked: TypeAlias = Generator[Probe, Fetched, Answer | None]


class HostPlan:
    """One visit of one host. Call `next` and `take` in turn until `next` gives None, then `finish`; or finish early.

    `now`: start of the visit (aware, UTC), against which a cached robots.txt is old. `nonce`: 32 hexadecimal digits
    that nobody can guess, fresh for each visit; the names of the controls are made of it. `exempt`: names of the
    connect-to table. Never yields a URL twice, nor more requests than `budget` (redirects included) plus
    `detail_budget`, nor anything that robots.txt forbids.
    """

    def __init__(
        self,
        job: HostJob,
        *,
        now: datetime,
        nonce: str,
        exempt: Collection[str] = (),
        budget: int = probes.BUDGET,
        detail_budget: int = probes.DETAIL_BUDGET,
    ) -> None:
        self._job, self._now, self._nonce, self._exempt = job, now, nonce, exempt
        self._purse, self._patience = Purse(budget, detail_budget), Patience()
        self._known = {document.url: document for document in job.known}
        self._home = f"https://{job.host}/"
        self._answers: list[Answer] = []
        self._retry_after: int | None = None
        self._home_words = probes.NO_WORDS
        self._controls = Controls()
        self._robots: dict[str, Robots] = {}
        self._robots_record = job.robots
        self._visited: dict[str, None] = {}  # no set: of these sizes they take three times as much
        self._depth: dict[str, int] = {}
        self._mined = 0
        self._final = False
        self._queue: list[Probe] = []
        self._details: list[Probe] = []
        self._pending: list[Probe] = []
        self._candidates: dict[str, Candidate] = {}
        self._deferred: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._earlier: dict[str, tuple[str, ...]] = {}
        self._followed = self._inlined = 0
        self._alias_of: str | None = None
        self._walk = self._visit()
        self._waiting: Probe | None = next(self._walk, None)

    # --- what the transport calls

    @property
    def robots(self) -> Robots | None:
        """What robots.txt says to us; None until it was read."""
        return self._robots.get(self._job.host)

    @property
    def held(self) -> int:
        """Bytes of bodies that the visit keeps until it is recorded."""
        robots = len(self._robots_record.body) if self._robots_record else 0
        return robots + sum(len(one.fetched.body) for one in self._answers)

    def next(self) -> Probe | None:
        """The request to make now; the same until it was taken. None: the visit is over."""
        return self._waiting

    @property
    def is_last(self) -> bool:
        """Whether the visit ends with the answer to `next`, unless that has news. Most visits have one such request."""
        more = self._queue or self._details or self._job.known or self._job.pending
        return self._final and not more and not any(map(_leads_on, self._answers))

    def take(self, probe: Probe, fetched: Fetched) -> None:
        """Hand in the answer to the probe that `next` gave. Raises ValueError for any other probe."""
        if probe is not self._waiting and probe != self._waiting:
            raise ValueError("not the probe that is waiting for an answer")
        try:
            self._waiting = self._walk.send(fetched)
        except StopIteration:
            self._waiting = None

    def redirect(self, probe: Probe, from_url: str, location: str | None, hops: Sequence[str]) -> Follow | Stop:
        """The decision on one hop of `probe`; `hops` are the URLs asked for before `from_url`.

        Beyond `redirects.redirect`: robots.txt of the target host must allow the target. Where that file was not read
        yet the answer is Stop(SKIPPED, OTHER_HOST), and the plan asks for the target itself, after the file.
        """
        earlier = (*self._earlier.get(probe.url, ()), *hops)
        decision = redirect(from_url, location, earlier, probe.purpose)
        if isinstance(decision, Stop):
            return decision
        if not self._purse.affords(probe.purpose, len(hops) + 2):
            return Stop(Outcome.SKIPPED, NO_BUDGET)
        if probe.purpose is Purpose.ROBOTS:
            return decision
        host = self._host(decision.url)
        robots = self._robots.get(host)
        if robots is None:
            self._deferred[probe.url] = (decision.url, (*earlier, from_url))
            return Stop(Outcome.SKIPPED, OTHER_HOST, host)
        return decision if robots.allowed(decision.url) else Stop(Outcome.DISALLOWED, robots.reason or "robots", host)

    def finish(self, started_at: datetime, finished_at: datetime) -> Visit:
        """The visit so far. Unfinished business (details, pointers) is pending for the next one."""
        host = self._job.host
        held = {document.url for document in self._job.known if document.outcome is Outcome.FOUND}
        outcome, reason = summarise(host, self._answers, held)
        if self._patience.ended and outcome is not Outcome.FOUND:
            outcome, reason = self._patience.ended
        if found(self._answers, host):
            self._add_sub_hosts()
        return Visit(
            host=host,
            started_at=started_at,
            finished_at=finished_at,
            outcome=outcome,
            reason=reason,
            answers=tuple(self._answers),
            whole_plan=self._job.whole_plan,
            requests=self._purse.spent,
            address=next(
                (a.fetched.address for a in self._answers if a.fetched.address and served_here(a, host)), None
            ),
            robots=self._robots_record,
            pending=self._left_over(),
            candidates=tuple(self._candidates.values()),
            alias_of=self._alias_of,
            retry_after=self._retry_after,
        )

    # --- the walk

    def _visit(self) -> _Walk:
        host = self._job.host
        yield from self._read_robots(host)
        robots = self._robots.get(host, Robots(reachable=False, reason="robots_not_read"))
        if ending := robots_record.verdict(robots):
            self._patience.end(*ending)
            return
        self._purse.slow_down(robots.crawl_delay)
        for pointer in robots.pointers:
            self._consider(pointer, f"{self._home}robots.txt", 1)
        if any(probe.purpose is Purpose.MANIFEST for probe in self._job.pending):
            yield from self._resumed()
        elif self._job.whole_plan or self._job.short:
            yield from self._cold()
        yield from self._ask_known()
        for probe in self._job.pending:
            if probe.purpose is Purpose.DETAIL:
                self._details.append(probe)
            else:
                yield from self._ask(probe)
        yield from self._follow_pointers()
        if self._job.whole_plan and not self._job.short and found(self._answers, host):
            yield from self._ask_conditional()
            yield from self._follow_pointers()
        yield from self._ask_details()

    def _cold(self) -> _Walk:
        host = self._job.host
        home = yield from self._ask(probes.home_probe(host))
        control = yield from self._ask(probes.control_probe(host, f"/.well-known/{self._nonce}.json"))
        self._recognise_alias(home, control)
        if self._job.short:
            label = host.partition(".")[0]
            yield from self._ask_steps(probes.SHORT.get(label, probes.STEPS), final=True)
            return
        yield from self._ask_steps([step for step in probes.STEPS if step.stage in ("S1", "S2")])
        if not only_refusals(self._answers):
            yield from self._ask_steps([step for step in probes.STEPS if step.stage == "S3"], final=True)

    def _resumed(self) -> _Walk:
        """A whole plan that was cut goes on where it stopped; it needs its yardstick again."""
        host = self._job.host
        yield from self._ask(probes.home_probe(host))
        yield from self._ask(probes.control_probe(host, f"/.well-known/{self._nonce}.json"))
        for probe in self._job.pending:
            if probe.purpose is Purpose.MANIFEST:
                yield from self._ask(probe)
        yield from self._ask_steps([step for step in probes.STEPS if step.fallback_of is not None])

    def _ask_steps(self, steps: Sequence[probes.Step], *, final: bool = False) -> _Walk:
        """`final`: nothing else is asked of a host that has nothing."""
        for step in steps:
            if step.fallback_of is None or self._outcome_of(step.fallback_of) in probes.ABSENT:
                self._final = final and step is steps[-1]
                yield from self._ask(probes.manifest_probe(self._job.host, step))
        self._final = False

    def _ask_known(self) -> _Walk:
        """Documents of earlier visits. Details are asked again with the whole plan, or when their manifest changed."""
        for document in self._job.known:
            if "#" in document.url:
                continue  # carried inside another document
            if document.via is not None and document.via.rel == DETAIL_REL:
                if self._job.whole_plan:
                    self._details.append(probes.detail_probe(document.url, document.via))
            elif document.outcome in (Outcome.FOUND, Outcome.NEGATIVE, Outcome.MALFORMED):
                yield from self._ask(self._probe_for(document))

    def _ask_conditional(self) -> _Walk:
        asked = 0
        so_far = seen(self._job.host, self._answers, self._home_words)
        for step, wanted in probes.CONDITIONAL:
            fallback = step.fallback_of is None or self._outcome_of(step.fallback_of) in probes.ABSENT
            if asked == probes.MAX_CONDITIONAL or not fallback or not wanted(so_far):
                continue
            if (yield from self._ask(probes.manifest_probe(self._job.host, step))) is not None:
                asked += 1
                so_far = seen(self._job.host, self._answers, self._home_words)

    def _follow_pointers(self) -> _Walk:
        self._mine()
        while self._queue and self._followed < probes.MAX_POINTERS:
            probe = self._queue.pop(0)
            self._followed += probe.url not in self._visited
            yield from self._ask(probe)
            self._mine()

    def _ask_details(self) -> _Walk:
        while self._details and not self._patience.ended:
            yield from self._ask(self._details.pop(0))

    # --- one request

    def _ask(self, probe: Probe) -> _Asked:
        """The answer, or None where nothing was asked: asked before, no budget left, or the visit is over."""
        if self._patience.ended or probe.url in self._visited:
            return None
        robots = self._robots.get(host := self._host(probe.url))
        if robots is None:
            yield from self._read_robots(host)
            robots = self._robots.get(host)
        if robots is None or not self._purse.affords(probe.purpose):
            self._pending.append(probe)
            return None
        self._visited[probe.url] = None
        if not robots.allowed(probe.url):
            reason = robots.reason or "robots"
            refusal = Fetched(probe.url, probe.url, self._now, failure=Outcome.DISALLOWED, reason=reason)
            return self._record(probe, refusal, requests=0)
        if self._known:
            probe = self._conditional(probe)
        fetched = yield probe
        answer = self._record(probe, fetched, 1 + len(fetched.hops))
        if self._deferred and probe.url in self._deferred:
            target, self._earlier[target] = self._deferred.pop(probe.url)
            self._depth[target] = self._depth.get(probe.url, 0)
            return (yield from self._ask(probe._replace(url=target, etag=None, last_modified=None)))
        if probe.purpose is Purpose.MANIFEST and _is_in_doubt(answer):
            yield from self._ask_control_like(probe, answer, fetched)
        return answer

    def _read_robots(self, host: str) -> _Walk:
        cached = self._job.robots
        if host == self._job.host and cached is not None and robots_record.fresh(cached, self._now):
            self._robots[host] = Robots.from_answer(cached.status, cached.body)
            return
        probe = probes.robots_probe(host)
        if self._patience.ended or probe.url in self._visited or not self._purse.affords(probe.purpose):
            return
        self._visited[probe.url] = None
        fetched = yield probe
        self._record(probe, fetched, 1 + len(fetched.hops))
        record = robots_record.keep(fetched)
        for served in {host, self._host(fetched.final_url) or host}:  # www. and apex share one file more often than not
            self._robots.setdefault(served, Robots.from_answer(record.status, record.body, f"robots_{fetched.reason}"))
        if host == self._job.host:
            self._robots_record = record

    def _ask_control_like(self, probe: Probe, answer: Answer, fetched: Fetched) -> _Walk:
        """A second and third yardstick, only when the verdict hangs on it (probe-plan.md section 2)."""
        if self._known.get(probe.url) and not self._job.whole_plan:
            return  # its verdict was weighed when it was found
        if not served_here(answer, self._job.host):
            return
        name = probe.url.rpartition("/")[2]
        if name.endswith((".txt", ".md")):
            control = f"/{self._fresh_name('text')}.txt"
        elif "." not in name:
            control = f"/.well-known/{self._fresh_name('bare')}"
        else:
            return
        if (yield from self._ask(probes.control_probe(self._job.host, control))) is not None:
            self._reassess(answer, fetched)

    def _record(self, probe: Probe, fetched: Fetched, requests: int) -> Answer:
        self._purse.pay(probe.purpose, requests)
        before = self._answers[-1].fetched.dropped if self._answers else None  # most pages "not found" are the same
        answer = _answer(probe, fetched, self._assessed(probe, fetched), before)
        self._answers.append(answer)
        if probe.purpose in _YARDSTICKS:
            self._learn(probe.purpose, fetched)
        if fetched.status in (429, 503) and (seconds := retry_after(fetched)) is not None:
            self._retry_after = max(seconds, self._retry_after or 0)
        if fetched.hops:
            self._visited[fetched.final_url] = None  # a path that redirects to another of the plan answers for both
        host = self._host(fetched.final_url)
        if host == self._job.host:
            self._patience.judge(answer.assessment)
        else:  # where a redirect led to is another host's affair
            self._add_candidate(host, "redirect", probe.url)
        if fetched.failure is Outcome.REDIRECTED_AWAY:
            self._add_candidate(fetched.reason.removeprefix("to "), "redirect", probe.url)
        return answer

    def _assessed(self, probe: Probe, fetched: Fetched) -> Assessment:
        assessment = assess(probe, fetched, self._controls)
        known = self._known.get(probe.url) if assessment.reason == "unchanged" else None
        if known is not None:
            reason = known.reason or assessment.reason  # why it is negative is as true as it was
            return replace(assessment, outcome=known.outcome, format=known.format, reason=reason)
        return assessment

    def _learn(self, purpose: Purpose, fetched: Fetched) -> None:
        if purpose is Purpose.CONTROL:
            self._controls = Controls((*self._controls.samples, sample(fetched)), self._controls.home_ok)
        elif fetched.failure is None:
            self._controls = Controls(self._controls.samples, fetched.status in READ)
            self._home_words = probes.words_in_home(fetched.body)

    def _reassess(self, doubted: Answer, fetched: Fetched) -> None:
        """With one more control. What was found may turn out to be nothing; what is nothing stays it."""
        for at, one in enumerate(self._answers):
            if one is doubted:
                self._answers[at] = _answer(one.probe, fetched, self._assessed(one.probe, fetched))
            elif one.probe.purpose is Purpose.MANIFEST and one.assessment.outcome is Outcome.FOUND:
                self._answers[at] = _answer(one.probe, one.fetched, self._assessed(one.probe, one.fetched))

    def _left_over(self) -> tuple[Probe, ...]:
        """What a later visit goes on with: no budget, no time, or the host ended this one."""
        if self._alias_of:
            return ()
        waiting = [self._waiting] if self._waiting else []
        unasked = [probe for probe in (*self._job.pending, *self._details) if probe.url not in self._visited]
        unique = {
            probe.url: probe._replace(etag=None, last_modified=None) for probe in (*self._pending, *waiting, *unasked)
        }
        return tuple(probe for probe in unique.values() if probe.purpose in _RESUMABLE)[:MAX_PENDING]

    # --- pointers and candidates

    def _mine(self) -> None:
        """Look through the answers that came since the last time for pointers."""
        while self._mined < len(self._answers):
            answer = self._answers[self._mined]
            self._mined += 1
            if answer.assessment.outcome in (Outcome.FOUND, Outcome.NEGATIVE) or answer.probe.purpose is Purpose.HOME:
                self._mine_answer(answer)

    def _mine_answer(self, answer: Answer) -> None:
        depth = self._depth.get(answer.probe.url, 0) + 1
        known = self._known.get(answer.probe.url)
        unchanged = known is not None and known.sha256 == answer.fetched.sha256
        for pointer in answer.assessment.pointers:
            if pointer.payload is not None:
                self._take_inline(answer, pointer, depth)
            elif not (unchanged and pointer.rel == DETAIL_REL and pointer.url in self._known):
                self._consider(pointer, answer.fetched.final_url, depth)

    def _consider(self, pointer: Pointer, document: str, depth: int) -> None:
        match follow(pointer, document):
            case Elsewhere(host, rel, named_by):
                self._add_candidate(host, rel, named_by)
            case Request(probe) if depth <= probes.MAX_DEPTH and probe.url not in self._visited:
                host = host_of(probe.url) or ""
                if host != self._job.host:
                    self._add_candidate(host, pointer.rel, document)
                if probe.url not in self._depth and len(self._depth) < MAX_NAMED:
                    self._depth[probe.url] = depth
                    (self._details if probe.purpose is Purpose.DETAIL else self._queue).append(probe)

    def _take_inline(self, answer: Answer, pointer: Pointer, depth: int) -> None:
        carried = inline(pointer, answer.fetched.final_url, answer.fetched.at)
        if carried is None or depth > probes.MAX_DEPTH or self._inlined >= MAX_INLINE:
            return
        probe, fetched = carried
        if probe.url in self._visited:
            return
        self._visited[probe.url] = None
        assessment = assess(probe, fetched, Controls())
        if assessment.outcome is Outcome.FOUND:
            self._inlined += 1
            self._depth[probe.url] = depth
            self._answers.append(Answer(probe, fetched, assessment))

    def _add_sub_hosts(self) -> None:
        domain = registrable_domain(self._job.host)
        for label in SUB_HOSTS:
            self._add_candidate(f"{label}.{domain}", "sub-host", self._home)

    def _add_candidate(self, host: str, rel: str, document: str) -> None:
        try:
            named = canonical_host(host, exempt=self._exempt).host
        except InvalidName:
            return
        if named != self._job.host and len(self._candidates) < MAX_CANDIDATES:
            self._candidates.setdefault(named, Candidate(named, rel, document))

    # --- facts

    def _recognise_alias(self, home: Answer | None, control: Answer | None) -> None:
        """A host that moved as a whole is crawled where it went, if that is on the same site."""
        if reason := gone_away(home, control):
            self._patience.end(Outcome.REDIRECTED_AWAY, reason)
        self._alias_of = moved_to(self._job.host, home, control)
        if self._alias_of is not None:
            self._patience.end(Outcome.REDIRECTED_AWAY, "alias")

    def _outcome_of(self, path: str) -> Outcome | None:
        url = f"https://{self._job.host}{path}"
        for one in reversed(self._answers):
            if one.probe.url == url or one.fetched.final_url == url:
                return one.assessment.outcome
        return None

    def _host(self, url: str) -> str:
        """The host of a canonical URL; nearly always the one that is visited."""
        return self._job.host if url.startswith(self._home) else host_of(url) or ""

    def _fresh_name(self, shape: str) -> str:
        return hashlib.sha256(f"{self._nonce} {shape}".encode()).hexdigest()[:32]

    def _conditional(self, probe: Probe) -> Probe:
        known = self._known.get(probe.url)
        if known is None or known.outcome not in (Outcome.FOUND, Outcome.NEGATIVE):
            return probe
        via = probe.via or known.via
        if self._job.whole_plan:  # pointers, conditions and controls hang on what it says: it is read again
            return probe._replace(via=via)
        return probe._replace(etag=known.etag, last_modified=known.last_modified, via=via)

    def _probe_for(self, document: KnownDocument) -> Probe:
        url = parse_https(document.url) or document.url
        for step in probes.STEPS:
            if url == f"https://{self._job.host}{step.path}":
                return probes.manifest_probe(self._job.host, step)
        expected = document.via.expected if document.via else document.format
        return probes.pointer_probe(url, document.via or Via(url, "", "known", expected), expected)


def _leads_on(answer: Answer) -> bool:
    return answer.assessment.outcome is Outcome.FOUND or bool(answer.assessment.pointers)


def _is_in_doubt(answer: Answer) -> bool:
    return answer.assessment.outcome is Outcome.FOUND or answer.fetched.status in (401, 403)


def _answer(probe: Probe, fetched: Fetched, judged: Assessment, like: tuple[int, bytes] | None = None) -> Answer:
    """What stays of an answer once it was judged. A visit lasts: it holds the bodies that are stored, and no others."""
    headers = fetched.headers
    if keeps_body(judged):
        stored = {name: headers[name] for name in _STORED_HEADERS if name in headers}
        return Answer(probe, fetched.reduced(stored, keep_body=True), judged)
    told = _typed(headers.get("content-type"))
    return Answer(probe, fetched.reduced(told, keep_body=False, like=like), judged)


@lru_cache(maxsize=256)  # nearly all answers have one of a few
def _typed(content_type: str | None) -> Mapping[str, str]:
    return NO_HEADERS if content_type is None else MappingProxyType({"content-type": content_type[:200]})
