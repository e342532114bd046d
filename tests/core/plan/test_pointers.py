"""Requests that documents cause: pointers, catalogues, capability details."""

import json

from registry.core.model.documents import Outcome, Purpose, Via
from registry.core.visiting import probes
from registry.core.visiting.visits import HostJob
from tests.core.plan.sites import AWP, HOME, HOST, adp, answer, card, catalogue, details_site, entry, paths
from tests.support.web import Page, Web, page, visit

# --- pointers


def test_links_of_the_front_page_are_followed() -> None:
    home = page(
        '<html><head><link rel="ai-actions" href="/actions.json">',
        "text/html",
        link='</deep/agent.json>; rel="agent-manifest"',
    )
    action = {"id": "a", "path": "/a", "method": "GET"}
    actions = page(json.dumps({"version": "1.0", "name": "Shop", "description": "d", "actions": [action]}))
    done = visit(Web({HOST: {"/": home, "/deep/agent.json": page(AWP), "/actions.json": actions}}))
    assert answer(done, "/deep/agent.json").assessment.format == "awp"
    assert answer(done, "/deep/agent.json").probe.via == Via(f"{HOME}/", "", "agent-manifest", None)
    assert answer(done, "/actions.json").assessment.format == "awas"
    assert done.outcome is Outcome.FOUND
    assert "/.well-known/agents.json" in paths(done)  # a hit by a pointer counts as a hit


def test_pointers_in_robots() -> None:
    robots = page("Agentmap: https://shop.example/map.json\n# agentic-manifest: /acts.json\n", "text/plain")
    requested = paths(visit(Web({HOST: {"/robots.txt": robots}})))
    assert requested[-2:] == ["/map.json", "/acts.json"]


def test_a_catalogue_leads_to_documents_here_and_candidates_elsewhere() -> None:
    listed = catalogue(
        entry("a", f"{HOME}/cards/a.json"),
        entry("b", "https://agents.other.example/card.json"),
        entry("c", "https://api.shop.example/card.json"),
        entry("d", f"{HOME}/cards/{{tenant}}.json"),
        entry("e", "https://10.0.0.1/card.json"),
    )
    web = Web(
        {
            HOST: {"/.well-known/ard.json": page(listed), "/cards/a.json": page(card())},
            "api.shop.example": {"/card.json": page(card())},
            "agents.other.example": {},
        }
    )
    done = visit(web)
    assert answer(done, "/cards/a.json").probe.via is not None
    assert answer(done, "https://api.shop.example/card.json").assessment.outcome is Outcome.FOUND
    assert {c.host for c in done.candidates} == {"agents.other.example", "api.shop.example"}
    assert not any("tenant" in url or "other.example" in url for url in web.asked)


def test_at_most_ten_pointers_are_followed() -> None:
    listed = catalogue(*(entry(f"n{n}", f"{HOME}/cards/{n}.json") for n in range(30)))
    done = visit(Web({HOST: {"/.well-known/ard.json": page(listed)}}), budget=100)
    assert sum(a.probe.purpose is Purpose.POINTER for a in done.answers) == probes.MAX_POINTERS
    assert done.pending == ()


def test_catalogues_that_name_catalogues_end_at_depth_four() -> None:
    def site(path: str) -> Page:
        if path == "/.well-known/ard.json" or path.startswith("/level/"):
            level = int(path.rpartition("/")[2]) if path.startswith("/level/") else 0
            return page(catalogue(entry(f"l{level}", f"{HOME}/level/{level + 1}", "application/ai-catalog+json")))
        return page("", "text/plain", 404)

    levels = [path for path in paths(visit(Web({HOST: site}))) if path.startswith("/level/")]
    assert levels == [f"/level/{n}" for n in range(1, probes.MAX_DEPTH + 1)]


def test_a_payload_inside_a_catalogue_is_judged_without_a_request() -> None:
    data = {"name": "Agent", "url": f"{HOME}/rpc", "skills": [], "capabilities": {}, "version": "1"}
    listed = catalogue(entry("inner", data=data))
    web = Web({HOST: {"/.well-known/ard.json": page(listed)}})
    done = visit(web)
    inner = next(a for a in done.answers if "#" in a.probe.url)
    assert (inner.assessment.outcome, inner.assessment.format) == (Outcome.FOUND, "a2a")
    assert inner.probe.url.startswith(f"{HOME}/.well-known/ard.json#/entries/0/")
    assert not any("#" in url for url in web.asked) and done.requests == len(web.asked)


# --- capability details


def test_details_have_their_own_budget_and_continue_on_the_next_visit() -> None:
    web = Web({HOST: details_site(60)})
    first = visit(web)
    details = [a for a in first.answers if a.probe.purpose is Purpose.DETAIL]
    assert len(details) == 25 and all(a.assessment.format == "adp-detail" for a in details)
    assert details[0].probe.via == Via(
        f"{HOME}/.well-known/agent", "/capabilities/0/detail_url", "detail_url", "adp-detail"
    )
    assert [p.url for p in first.pending] == [f"{HOME}/d/{n}" for n in range(25, 60)]
    second = visit(web, job=HostJob(HOST, whole_plan=False, pending=first.pending, robots=first.robots))
    third = visit(web, job=HostJob(HOST, whole_plan=False, pending=second.pending, robots=first.robots))
    assert [v.requests for v in (second, third)] == [25, 10]
    assert third.pending == ()


def test_details_on_another_site_are_never_requested() -> None:
    web = Web({HOST: {"/.well-known/agent": page(adp(3, "https://other.example/d/{}"))}, "other.example": {}})
    done = visit(web)
    assert not any("/d/" in url for url in web.asked)
    assert "other.example" not in [c.host for c in done.candidates]
