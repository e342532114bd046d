"""The plan as a state machine: it stays within its limits for any responses of a host."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.model.documents import FetchResult, Outcome, Probe, Purpose
from registry.core.names.domains import host_of, same_site
from registry.core.visiting import probes
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.visits import HostJob, Visit
from tests.core.plan.sites import AWP, HOME, HOST, adp, answer, catalogue, entry, known
from tests.support.web import NONCE, NOW, Broken, Site, Web, moved, page, visit


def test_taking_another_probe_is_an_error() -> None:
    plan = HostPlan(HostJob(HOST, whole_plan=True), now=NOW, nonce=NONCE, exempt={HOST})
    first = plan.next()
    assert first is not None and plan.next() == first
    other = first._replace(url=f"{HOME}/else")
    with pytest.raises(ValueError, match="not the probe"):
        plan.take(other, FetchResult(other.url, other.url, NOW, 404))


def test_a_visit_that_never_began_has_an_outcome() -> None:
    done = visit(Web({HOST: {}}), steps=0)
    assert (done.outcome, done.reason, done.requests) == (Outcome.SKIPPED, "nothing_asked", 0)


LOCATIONS = st.sampled_from(
    ["/", "/agent.json", "/x", "https://www.shop.example/", "https://www.shop.example/agent.json", "http://shop.example/",
     "https://other.example/", "https://127.0.0.1/", "", "https://shop.example/.well-known/agent"]
)  # fmt: skip
POINTING = st.lists(
    st.sampled_from(["/a", "/b", "/agent.json", "https://www.shop.example/c", "https://other.example/d"]), max_size=5
)
BODIES = st.one_of(
    st.just(AWP),
    st.integers(0, 40).map(adp),
    POINTING.map(lambda urls: catalogue(*(entry(f"e{n}", HOME + u if u[0] == "/" else u) for n, u in enumerate(urls)))),
    st.just("<html><head><link rel=ard href=/a><link rel=api-catalog href=https://www.shop.example/b>"),
    st.just("{}"),
    st.just("not json"),
    st.just("User-agent: *\nDisallow: /a\nCrawl-delay: 9"),
)
ANSWERS = st.one_of(
    st.builds(
        lambda body, status: page(body, status=status), BODIES, st.sampled_from([200, 200, 200, 203, 404, 403, 500])
    ),
    st.builds(moved, LOCATIONS, st.sampled_from([301, 302, 307, 308])),
    st.builds(
        Broken,
        st.sampled_from([Outcome.UNREACHABLE, Outcome.TLS_ERROR, Outcome.TOO_LARGE]),
        st.sampled_from(["request_timeout", "reset", "body"]),
    ),
    st.builds(lambda: page("later", status=429, retry_after="9")),
)
NAMES = ["/", "/robots.txt", "/llms.txt", "/a", "/b", "/c", *(step.path for step in probes.STEPS)]
SITES = st.builds(
    lambda responses, default: lambda path: responses.get(path, default),
    st.dictionaries(st.sampled_from(NAMES), ANSWERS, max_size=12),
    ANSWERS,
)


@settings(max_examples=150, deadline=None)
@given(SITES, SITES, st.integers(1, 45), st.integers(0, 30), st.integers(1, 80), st.booleans())
def test_a_visit_ends_within_its_limits_for_any_responses(
    site: Site, other_site: Site, budget: int, detail_budget: int, total: int, whole_plan: bool
) -> None:
    web = Web({HOST: site, "www.shop.example": other_site, "other.example": other_site})
    pending = (probes.detail_probe(f"{HOME}/d/1", None), probes.pointer_probe(f"{HOME}/p", None, None))
    job = HostJob(HOST, whole_plan=whole_plan, known=(known("/agent.json", AWP),), pending=pending)
    probe_urls: list[str] = []
    budgets = {"budget": budget, "detail_budget": detail_budget, "total_budget": total}
    plan = HostPlan(job, now=NOW, nonce=NONCE, exempt=set(web.sites), **budgets)
    spent = {True: 0, False: 0}
    while (probe := plan.next()) is not None:
        probe_urls.append(probe.url)
        fetched = web.fetch(plan, probe)
        spent[probe.purpose is Purpose.DETAIL] += 1 + len(fetched.hops)
        plan.take(probe, fetched)
        assert len(probe_urls) < 200
    done = plan.finish(NOW, NOW)
    assert len(probe_urls) == len(set(probe_urls))
    assert spent[False] <= budget and spent[True] <= detail_budget
    assert done.requests == len(web.asked) <= total
    assert all(same_site(host_of(url) or "", HOST) for url in web.asked)
    assert isinstance(done.outcome, Outcome)
    requested_again = {p.url for p in done.pending} & set(probe_urls)
    assert not requested_again
    assert_robots_read_first(web, done)


def assert_robots_read_first(web: Web, done: Visit) -> None:
    robots_responses = [a.fetched for a in done.answers if a.probe.purpose is Purpose.ROBOTS]
    hosts = {host_of(url) for fetched in robots_responses for url in (fetched.url, *fetched.hops, fetched.final_url)}
    assert {host_of(url) for url in web.asked if not url.endswith("/robots.txt")} <= hosts


def probe_of(visit: Visit, path: str) -> Probe:
    return answer(visit, path).probe


def test_accept_and_caps() -> None:
    done = visit(Web({HOST: {}}))
    assert probe_of(done, "/.well-known/woa.json").accept == "application/woa+json, application/json, */*;q=0.1"
    assert probe_of(done, "/agent.json").cap == 1024 * 1024
    assert probe_of(done, "/.well-known/agent-card.json").cap == 4 * 1024 * 1024
    assert probe_of(done, "/llms.txt").cap == 512 * 1024 and probes.keeps_head(probe_of(done, "/llms.txt"))
    assert probes.keeps_head(probe_of(done, "/")) and not probes.keeps_head(probe_of(done, "/agent.json"))
    assert probe_of(done, "/robots.txt").cap == 500 * 1024
