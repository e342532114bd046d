"""The visit of one host as a pure state machine: the next URL, the effect of its answer, the end of the visit.

The order of requests is docs/crawler.md, "Stages". It is written as one generator that yields probes and is sent
answers, so that the code reads in the order of the requests. The state is in its parts: `RequestBudget` and
`StopPolicy` (limits.py), `VisitResults`, `RobotsCache`, `PointerQueue` and `CandidateHosts`.
"""

from collections.abc import Callable, Collection, Generator, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from registry.core.assessing.assess import assess
from registry.core.assessing.controls import Controls
from registry.core.format_support.probing import ABSENT
from registry.core.model.documents import NO_HEADERS, FetchResult, Outcome, Probe, Purpose
from registry.core.names.domains import host_of
from registry.core.visiting import call_checks, limits, probes, results, summary, tool_lists
from registry.core.visiting.limits import NO_BUDGET, OTHER_HOST, RequestBudget, StopPolicy
from registry.core.visiting.pointers import DETAIL_REL, CandidateHosts, Follow, PointerQueue, Stop, redirect
from registry.core.visiting.probes import Step
from registry.core.visiting.results import VisitResults
from registry.core.visiting.robots import Robots
from registry.core.visiting.robots_record import RobotsCache, verdict
from registry.core.visiting.visits import HostJob, ProbeResult, Visit

MAX_PENDING: Final = 500

_RESUMABLE: Final = frozenset({Purpose.MANIFEST, Purpose.POINTER, Purpose.DETAIL})

_Walk: TypeAlias = Generator[Probe, FetchResult, None]
_Request: TypeAlias = Generator[Probe, FetchResult, ProbeResult | None]


class HostPlan:
    """One visit of one host. Call `next` and `take` in turn until `next` returns None, then `finish`; or finish early.

    `now`: start of the visit (aware, UTC), which decides whether a stored robots.txt is too old. `nonce`: 32
    hexadecimal digits, random for each visit; the names of the controls are made from it. `exempt`: names of the
    connect-to table. Never yields a URL twice (except OPTIONS and HEAD), nor more requests than `budget` (redirects
    included) plus `detail_budget` plus those of call checks, nor more than `total_budget` of all kinds, nor anything
    that robots.txt forbids.
    """

    def __init__(
        self,
        job: HostJob,
        *,
        now: datetime,
        nonce: str,
        exempt: Collection[str] = (),
        lists_tools: bool = False,
        budget: int = probes.BUDGET,
        detail_budget: int = probes.DETAIL_BUDGET,
        total_budget: int | None = None,
    ) -> None:
        self._job, self._now, self._nonce, self._lists_tools = job, now, nonce, lists_tools
        self._home = f"https://{job.host}/"
        self._budget, self._stop = RequestBudget(budget, detail_budget, total_budget), StopPolicy()
        self._results = VisitResults(job)
        self._robots = RobotsCache(job.host, job.robots)
        self._visited: dict[str, None] = {}  # not a set: at these sizes sets take three times the memory
        self._candidates = CandidateHosts(job.host, exempt)
        self._pointers = PointerQueue(job.host, self._visited, self._candidates)
        self._is_final_step = False
        self._pending: list[Probe] = []
        self._deferred: dict[str, tuple[str, tuple[str, ...]]] = {}  # by probe URL: redirect target, hops before it
        self._earlier_hops: dict[str, tuple[str, ...]] = {}  # by redirect target
        self._alias_of: str | None = None
        self._calls: tuple[call_checks.CallCheck, ...] = ()
        self._walk = self._visit()
        self._current_probe: Probe | None = next(self._walk, None)

    # --- what the transport calls

    @property
    def robots(self) -> Robots | None:
        """Return the rules of the visited host's robots.txt; None until it is read."""
        return self._robots.by_host.get(self._job.host)

    @property
    def held(self) -> int:
        """Return the size in bytes of the bodies that the visit keeps until it is recorded."""
        robots = len(self._robots.record.body) if self._robots.record else 0
        return robots + self._results.body_bytes

    def next(self) -> Probe | None:
        """Return the request to make now; the same until its answer was taken. None: the visit is over."""
        return self._current_probe

    @property
    def is_last(self) -> bool:
        """Return whether the visit ends with the answer to `next`, unless that answer leads to further requests. Most
        visits have exactly one such request; the transport need not keep its connection open."""
        is_alone = self._is_final_step and not (self._job.known or self._job.pending or self._job.calls)
        return is_alone and self._pointers.is_empty and not self._results.leads_on

    def take(self, probe: Probe, fetched: FetchResult) -> None:
        """Take the answer to the probe that `next` returned. Raise ValueError for any other probe."""
        if probe is not self._current_probe and probe != self._current_probe:
            raise ValueError("not the probe that is waiting for an answer")
        try:
            self._current_probe = self._walk.send(fetched)
        except StopIteration:
            self._current_probe = None

    def redirect(self, probe: Probe, from_url: str, location: str | None, hops: Sequence[str]) -> Follow | Stop:
        """Decide about one hop of `probe`; `hops` are the URLs that were requested before `from_url`. Beyond
        `pointers.redirect`: robots.txt of the target host must allow the target. While that file has not been read the
        decision is Stop(SKIPPED, OTHER_HOST), and the plan requests the target itself after the file."""
        earlier_hops = (*self._earlier_hops.get(probe.url, ()), *hops)
        decision = redirect(from_url, location, earlier_hops, probe.purpose)
        if isinstance(decision, Stop):
            return decision
        if probe.post and self._host(decision.url) != self._host(from_url):  # guard: post-redirect-host
            return Stop(Outcome.REFUSED, "redirect_other_host_post")
        if not self._budget.allows(probe.purpose, len(hops) + 2):
            return Stop(Outcome.SKIPPED, NO_BUDGET)  # guard: redirect-budget
        if probe.purpose is Purpose.ROBOTS:
            return decision
        host = self._host(decision.url)
        robots = self._robots.by_host.get(host)
        if robots is None:
            self._deferred[probe.url] = (decision.url, (*earlier_hops, from_url))
            return Stop(Outcome.SKIPPED, OTHER_HOST, host)
        # guard: robots-after-redirect
        return decision if robots.allowed(decision.url) else Stop(Outcome.DISALLOWED, robots.reason or "robots", host)

    def finish(self, started_at: datetime, finished_at: datetime, sent: int | None = None) -> Visit:
        """Return the visit so far. Requests that were not made (details, pointers) are pending for the next one.
        `sent`: requests for which the transport at least tried a connection; None: all that the plan asked for."""
        host, answers = self._job.host, self._results.answers
        known_urls = {document.url for document in self._job.known if document.outcome is Outcome.FOUND}
        outcome, reason = summary.summarise(host, answers, known_urls)
        if self._stop.ended and outcome is not Outcome.FOUND:
            outcome, reason = self._stop.ended
        if summary.find_served(answers, host):
            self._candidates.add_sub_hosts()
        reached = (answer for answer in answers if answer.fetched.address and summary.served_here(answer, host))
        addresses = (answer.fetched.address for answer in reached)
        return Visit(
            host=host,
            started_at=started_at,
            finished_at=finished_at,
            outcome=outcome,
            reason=reason,
            answers=tuple(answers),
            whole_plan=self._job.whole_plan,
            requests=self._budget.spent,
            sent=self._budget.spent if sent is None else sent,
            standing=self._job.standing,
            address=next(addresses, None),
            robots=self._robots.record,
            pending=self._list_left_over(),
            candidates=tuple(self._candidates.by_host.values()),
            alias_of=self._alias_of,
            retry_after=self._results.retry_after,
            calls=self._calls,
        )

    # --- the walk

    def _visit(self) -> _Walk:
        host = self._job.host
        yield from self._read_robots(host)
        robots = self._robots.by_host.get(host) or Robots(reachable=False, reason="robots_not_read")
        if ending := verdict(robots):
            self._stop.end(*(summary.firewall(self._results.answers) or ending))
            return
        self._budget.limit_for_delay(robots.crawl_delay)
        for pointer in robots.pointers:
            self._pointers.add(pointer, f"{self._home}robots.txt", 1)
        is_resumed = any(probe.purpose is Purpose.MANIFEST for probe in self._job.pending)
        if is_resumed or self._job.whole_plan or self._job.short:
            yield from self._whole_plan(is_resumed)
        yield from self._request_known()
        for probe in self._job.pending:
            if probe.purpose is Purpose.DETAIL:
                self._pointers.details.append(probe)
            else:
                yield from self._request(probe)
        yield from self._follow_pointers()
        if not is_resumed and not summary.only_refusals(self._results.answers):
            # the paths that a first bulk visit leaves out: all if a user asked for the host, else by turns
            further, found = limits.steps_of(self._job), self._results.has_found
            yield from self._request_steps(further, lambda step: not found(step.fallback_of), final=True)
            yield from self._follow_pointers()
        if self._job.whole_plan and not self._job.short and summary.find_served(self._results.answers, host):
            yield from self._request_conditional()
            yield from self._follow_pointers()
        if self._lists_tools and self._job.whole_plan:
            yield from self._list_tools()
        while self._pointers.details and not self._stop.ended:
            yield from self._request(self._pointers.details.pop(0))
        self._calls = yield from call_checks.check_calls(self._job.calls, self._ask_call)

    def _whole_plan(self, is_resumed: bool) -> _Walk:
        """Begin a whole plan, or continue one that was cut short: its front page and control are needed again to judge
        the answers."""
        host = self._job.host
        home = yield from self._request(probes.home_probe(host))
        control = yield from self._request(probes.control_probe(host, f"/.well-known/{self._nonce}.json"))
        if is_resumed:
            for probe in self._job.pending:
                if probe.purpose is Purpose.MANIFEST:
                    yield from self._request(probe)
            yield from self._request_steps([step for step in probes.STEPS if step.fallback_of is not None])
            return
        # a host that moved as a whole: on the same site it is an alias of its target
        if reason := summary.gone_away(home, control):
            self._stop.end(Outcome.REDIRECTED_AWAY, reason)
        self._alias_of = summary.moved_to(host, home, control)
        if self._alias_of is not None:
            self._stop.end(Outcome.REDIRECTED_AWAY, "alias")
        if self._job.short:
            yield from self._request_steps(limits.short_list(host), final=not self._job.further)
            return
        yield from self._request_steps([step for step in probes.STEPS if step.stage in ("S1", "S2")])
        if not summary.only_refusals(self._results.answers):
            last = [step for step in probes.STEPS if step.stage == "S3"]
            yield from self._request_steps(last, final=not (self._job.named or self._job.further))

    def _request_steps(
        self, steps: Sequence[Step], applies: Callable[[Step], bool] | None = None, *, final: bool = False
    ) -> _Walk:
        """Request the steps that apply. `final`: they are the last requests to a host without documents."""
        for step in steps:
            if (applies or self._applies)(step):
                self._is_final_step = final and step is steps[-1]
                yield from self._request(probes.manifest_probe(self._job.host, step))
        self._is_final_step = False

    def _request_known(self) -> _Walk:
        """Request documents of earlier visits: details with the whole plan only, or when their manifest changed."""
        for document in self._job.known:
            if "#" in document.url or (document.via is not None and document.via.rel == tool_lists.REL):
                continue  # carried inside another document; requested by POST
            if document.via is not None and document.via.rel == DETAIL_REL:
                if self._job.whole_plan:
                    self._pointers.details.append(probes.detail_probe(document.url, document.via))
            elif document.outcome in (Outcome.FOUND, Outcome.NEGATIVE, Outcome.MALFORMED):
                yield from self._request(results.probe_for(self._job.host, document))

    def _request_conditional(self) -> _Walk:
        """Run stage S4 (docs/crawler.md, "Conditions")."""
        requested = 0
        facts = summary.host_facts(self._job.host, self._results.answers, self._results.home_topics)
        for step, is_met in probes.CONDITIONAL:
            if requested == probes.MAX_CONDITIONAL or not self._applies(step) or not is_met(facts):
                continue
            if (yield from self._request(probes.manifest_probe(self._job.host, step))) is not None:
                requested += 1
                facts = summary.host_facts(self._job.host, self._results.answers, self._results.home_topics)

    def _list_tools(self) -> _Walk:
        """Run stage S6 (docs/crawler.md, "Tools")."""
        documents = summary.find_served(self._results.answers, self._job.host)
        for url, via in tool_lists.endpoints(self._job.host, documents):
            if url in self._visited:
                continue
            self._visited[url] = None
            listed = yield from tool_lists.conversation(url, via, self._exchange)
            self._results.answers.append(tool_lists.answer(url, via, listed, self._now))

    def _exchange(self, probe: Probe) -> Generator[Probe, FetchResult, FetchResult | None]:
        """Return the answer to one message; None where it was not sent. The same URL gets several messages."""
        if self._stop.ended:
            return None
        robots = yield from self._rules_for(probe.url)
        if robots is None or not self._budget.allows(probe.purpose):
            return None
        if not robots.allowed(probe.url):  # guard: robots-of-tools
            reason = robots.reason or "robots"
            return FetchResult(probe.url, probe.url, self._now, failure=Outcome.DISALLOWED, reason=reason)
        fetched = yield probe
        self._record(probe, fetched, 1 + len(fetched.hops))
        return fetched

    def _ask_call(self, probe: Probe) -> Generator[Probe, FetchResult, FetchResult | None]:
        """Return the answer to a check of an address for calls; None where it was not sent (stage S7). It decides
        nothing about the host: neither the end of the visit nor the time of the next one."""
        if self._stop.ended:
            return None
        robots = yield from self._rules_for(probe.url)
        if robots is None or not self._budget.allows(probe.purpose):
            return None
        if robots.allowed(probe.url):  # guard: robots-of-calls
            fetched = yield probe
            self._budget.spend(probe.purpose, 1)
        else:
            fetched = self._not_allowed(probe.url, robots)
        kept = fetched.reduced(NO_HEADERS, keep_body=False)
        self._results.answers.append(ProbeResult(probe, kept, assess(probe, fetched, Controls())))
        return fetched

    def _not_allowed(self, url: str, robots: Robots) -> FetchResult:
        """Return why robots.txt prevents the check: a host that served no robots.txt because it is silent is silent."""
        robots_url = probes.robots_probe(self._host(url)).url
        for answer in reversed(self._results.answers):
            if answer.probe.url == robots_url and answer.fetched.failure in (Outcome.UNREACHABLE, Outcome.TLS_ERROR):
                return FetchResult(url, url, self._now, failure=answer.fetched.failure, reason=answer.fetched.reason)
        return FetchResult(url, url, self._now, failure=Outcome.DISALLOWED, reason=robots.reason or "robots")

    def _follow_pointers(self) -> _Walk:
        self._pointers.collect(self._results)
        while (probe := self._pointers.next_document()) is not None:
            yield from self._request(probe)
            self._pointers.collect(self._results)

    # --- one request

    def _request(self, probe: Probe) -> _Request:
        """Return the answer; None where nothing was requested: a known URL, a spent budget, or an ended visit."""
        if self._stop.ended or probe.url in self._visited:
            return None
        robots = yield from self._rules_for(probe.url)
        if robots is None or not self._budget.allows(probe.purpose):
            self._pending.append(probe)
            return None
        self._visited[probe.url] = None
        if not robots.allowed(probe.url):  # guard: robots-rules
            reason = robots.reason or "robots"
            refusal = FetchResult(probe.url, probe.url, self._now, failure=Outcome.DISALLOWED, reason=reason)
            return self._record(probe, refusal, requests=0)
        if self._results.known:
            known_document = self._results.known.get(probe.url)
            probe = results.with_validators(probe, known_document, whole_plan=self._job.whole_plan)
        fetched = yield probe
        answer = self._record(probe, fetched, 1 + len(fetched.hops))
        if self._deferred and probe.url in self._deferred:
            target, self._earlier_hops[target] = self._deferred.pop(probe.url)
            self._pointers.inherit_depth(target, probe.url)
            return (yield from self._request(probe._replace(url=target, etag=None, last_modified=None)))
        is_in_doubt = answer.assessment.outcome is Outcome.FOUND or answer.fetched.status in (401, 403)
        if probe.purpose is Purpose.MANIFEST and is_in_doubt:
            yield from self._request_control_like(probe, answer, fetched)
        return answer

    def _rules_for(self, url: str) -> Generator[Probe, FetchResult, Robots | None]:
        """Return the rules of a host's robots.txt, which is requested if it was not yet; None: it was not read."""
        host = self._host(url)
        if self._robots.by_host.get(host) is None:
            yield from self._read_robots(host)
        return self._robots.by_host.get(host)

    def _read_robots(self, host: str) -> _Walk:
        if self._robots.use_stored(host, self._now):
            return
        probe = probes.robots_probe(host)
        if self._stop.ended or probe.url in self._visited or not self._budget.allows(probe.purpose):
            return
        self._visited[probe.url] = None
        fetched = yield probe
        self._record(probe, fetched, 1 + len(fetched.hops))
        self._robots.add(host, self._host(fetched.final_url) or host, fetched)

    def _request_control_like(self, probe: Probe, answer: ProbeResult, fetched: FetchResult) -> _Walk:
        """Request a second or third control when the verdict depends on it (docs/crawler.md, "Controls")."""
        if self._results.known.get(probe.url) and not self._job.whole_plan:
            return  # it was compared with a control when it was found
        if not summary.served_here(answer, self._job.host):
            return
        path = probes.control_like(probe.url, self._nonce)
        if path and (yield from self._request(probes.control_probe(self._job.host, path))) is not None:
            self._results.reassess(answer, fetched)

    def _record(self, probe: Probe, fetched: FetchResult, requests: int) -> ProbeResult:
        self._budget.spend(probe.purpose, requests)
        answer = self._results.add(probe, fetched)
        if fetched.hops:
            self._visited[fetched.final_url] = None  # a path that redirects to another of the plan answers for both
        host = self._host(fetched.final_url)
        if host == self._job.host:
            self._stop.observe(answer.assessment)
        else:  # the answer of a redirect's target is not about this host
            self._candidates.add(host, "mcp" if probe.post else "redirect", probe.url)
        if fetched.failure is Outcome.REDIRECTED_AWAY:
            self._candidates.add(fetched.reason.removeprefix("to "), "redirect", probe.url)
        return answer

    def _list_left_over(self) -> tuple[Probe, ...]:
        """Return the requests for a later visit, if budget or time ran out or the visit was ended."""
        if self._alias_of:
            return ()
        current = [self._current_probe] if self._current_probe else []
        unvisited = [probe for probe in (*self._job.pending, *self._pointers.details) if probe.url not in self._visited]
        left_over = (*self._pending, *current, *unvisited)
        unique = {probe.url: probe._replace(etag=None, last_modified=None) for probe in left_over}
        return tuple(probe for probe in unique.values() if probe.purpose in _RESUMABLE)[:MAX_PENDING]

    # --- facts

    def _applies(self, step: Step) -> bool:
        """Return whether the step is not a fallback, or the path before it is absent."""
        return step.fallback_of is None or self._results.outcome_of(step.fallback_of) in ABSENT

    def _host(self, url: str) -> str:
        """Return the host of a canonical URL, nearly always the visited host."""
        return self._job.host if url.startswith(self._home) else host_of(url) or ""
