"""What later visits use of earlier ones, and what is left pending for later."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from registry.core.model.documents import Outcome, Purpose, Via
from registry.core.visiting import probes
from registry.core.visiting.visits import HostJob, RobotsRecord
from tests.core.plan.sites import AWP, HOME, HOST, adp, answer, card, details_site, known, paths, verdict
from tests.support.web import NOW, Site, Web, page, visit


def test_a_later_visit_requests_known_documents_only() -> None:
    web = Web({HOST: {"/agent.json": page(AWP, etag='"1"')}})
    done = visit(web, job=HostJob(HOST, whole_plan=False, known=(known("/agent.json", AWP),)))
    assert paths(done) == ["/robots.txt", "/agent.json"]
    assert (done.outcome, done.reason) == (Outcome.FOUND, "awp")
    result = answer(done, "/agent.json")
    assert (result.fetched.status, result.assessment.reason, result.assessment.format) == (304, "unchanged", "awp")


def test_a_whole_plan_requests_known_documents_unconditionally() -> None:
    """A document decides what else is requested, and a 304 has no content to decide with."""
    body = json.dumps(json.loads(AWP) | {"description": "Takes USDC"})
    web = Web({HOST: {"/agent.json": page(body, etag='"1"')}})
    done = visit(web, job=HostJob(HOST, whole_plan=True, known=(known("/agent.json", body),)))
    assert answer(done, "/agent.json").fetched.status == 200
    assert "/.well-known/x402" in paths(done)


def test_an_unchanged_negative_keeps_its_reason() -> None:
    web = Web({HOST: {"/agent.json": page('{"error": "none"}', etag='"1"')}})
    negative = replace(known("/agent.json", "", "awp"), outcome=Outcome.NEGATIVE, reason="stated_absence")
    done = visit(web, job=HostJob(HOST, whole_plan=False, known=(negative,)))
    assert answer(done, "/agent.json").fetched.status == 304
    assert (done.outcome, done.reason) == (Outcome.NEGATIVE, "stated_absence")


def test_a_revisit_sends_no_control_for_a_known_document() -> None:
    body = adp(0)
    web = Web({HOST: {"/.well-known/agent": page(body)}})
    visit(web, job=HostJob(HOST, whole_plan=False, known=(known("/.well-known/agent", body, "adp"),)))
    assert web.asked == [f"{HOME}/robots.txt", f"{HOME}/.well-known/agent"]


def test_a_lost_document_is_the_outcome_of_the_visit() -> None:
    done = visit(Web({HOST: {}}), job=HostJob(HOST, whole_plan=True, known=(known("/agent.json", AWP),)))
    assert (done.outcome, done.reason) == (Outcome.ABSENT, "status_404")
    broken = {"/agent.json": page("", "text/plain", 500)}
    done = visit(Web({HOST: broken}), job=HostJob(HOST, whole_plan=False, known=(known("/agent.json", AWP),)))
    assert (done.outcome, done.reason) == (Outcome.SERVER_ERROR, "status_500")


def test_a_known_pointer_keeps_its_promise() -> None:
    via = Via(f"{HOME}/", "", "ai-actions", "awas")
    weak = (
        '{"actions": [{"id": "a", "path": "/a", "method": "GET"}], "name": "x", "description": "y", "version": "1.0"}'
    )
    done = visit(
        Web({HOST: {"/odd.json": page(weak)}}),
        job=HostJob(HOST, whole_plan=False, known=(known("/odd.json", "older", "awas", via=via),)),
    )
    assert answer(done, "/odd.json").assessment.format == "awas"
    assert answer(done, "/odd.json").probe.via == via


def test_details_are_requested_again_for_a_changed_manifest_or_a_whole_plan() -> None:
    via = Via(f"{HOME}/.well-known/agent", "/capabilities/0/detail_url", "detail_url", "adp-detail")
    documents = (known("/.well-known/agent", adp(1), "adp"), known("/d/0", "{}", "adp-detail", etag=None, via=via))
    web = Web({HOST: details_site(1)})
    unchanged = visit(web, job=HostJob(HOST, whole_plan=False, known=documents))
    assert "/d/0" not in paths(unchanged)
    whole = visit(web, job=HostJob(HOST, whole_plan=True, known=documents))
    assert answer(whole, "/d/0").assessment.format == "adp-detail"
    without_validator = (replace(documents[0], etag=None), documents[1])
    changed = visit(Web({HOST: details_site(2)}), job=HostJob(HOST, whole_plan=False, known=without_validator))
    assert {"/d/0", "/d/1"} <= set(paths(changed))


@pytest.mark.parametrize(
    ("age", "status", "cached"), [(23, 200, True), (25, 200, False), (1, 404, True), (1, 503, False), (1, None, False)]
)
def test_robots_of_an_earlier_visit_hold_for_a_day(age: int, status: int | None, cached: bool) -> None:
    record = RobotsRecord(status, b"User-agent: *\nDisallow: /agent.json", NOW - timedelta(hours=age))
    web = Web({HOST: {}})
    done = visit(web, job=HostJob(HOST, whole_plan=True, robots=record))
    assert (f"{HOME}/robots.txt" not in web.asked) is cached
    assert (verdict(done, "/agent.json")[0] is Outcome.DISALLOWED) is (cached and status == 200)


@pytest.mark.parametrize("whole_plan", [True, False])
def test_a_host_with_a_long_crawl_delay_is_visited_in_parts(whole_plan: bool) -> None:
    site = {
        "/robots.txt": page("User-agent: *\nCrawl-delay: 10", "text/plain"),
        "/.well-known/agent-card.json": page(card()),
    }
    web = Web({HOST: site})
    first = visit(web)
    assert len(web.asked) == 12 and first.pending
    second = visit(web, job=HostJob(HOST, whole_plan, pending=first.pending, robots=first.robots))
    assert second.outcome is Outcome.FOUND and second.requests <= 12
    assert any(a.probe.purpose is Purpose.CONTROL for a in second.answers)  # it needs its control again
    requested = {*paths(first), *paths(second), *(p.url.removeprefix(HOME) for p in second.pending)}
    assert {step.path for step in probes.STEPS} <= requested


def test_sub_hosts_of_a_hit_become_candidates_where_they_may_exist() -> None:
    sites: dict[str, Site] = {HOST: {"/agent.json": page(AWP)}, "mcp.shop.example": {}, "elsewhere.example": {}}
    done = visit(Web(sites))
    assert [(c.host, c.rel) for c in done.candidates] == [("mcp.shop.example", "sub-host")]
    sub_host_sites: dict[str, Site] = {"mcp.shop.example": {"/agent.json": page(AWP)}, "docs.shop.example": {}}
    assert [c.host for c in visit(Web(sub_host_sites), "mcp.shop.example").candidates] == ["docs.shop.example"]
    assert visit(Web({HOST: {}, "mcp.shop.example": {}})).candidates == ()
