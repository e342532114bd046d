"""Paths that a first bulk visit leaves out: all of them from named hosts, a few in each revisit of others."""

import json
from datetime import date, timedelta

import pytest

from registry.core.format_support.format import Role
from registry.core.formats import FORMATS
from registry.core.model.documents import Outcome
from registry.core.visiting import limits, probes
from registry.core.visiting.visits import HostJob
from tests.core.plan.sites import HOME, HOST, known, paths
from tests.support.web import Web, page, visit

NAMED = HostJob(HOST, whole_plan=True, named=True)
FURTHER = [step.path for step in probes.FURTHER]
TODAY = date(2026, 3, 1)

PLUGIN = {
    "schema_version": "v1", "name_for_human": "Lamps", "name_for_model": "lamps",
    "description_for_human": "Order lamps.", "description_for_model": "Order lamps and shades.",
    "auth": {"type": "none"}, "api": {"type": "openapi", "url": f"{HOME}/api/lamps.json"},
}  # fmt: skip
OPENAPI = {
    "openapi": "3.1.0", "info": {"title": "Lamps", "version": "1"}, "servers": [{"url": HOME}],
    "paths": {"/lamps": {"get": {"operationId": "listLamps", "responses": {"200": {"description": "Lamps"}}}}},
}  # fmt: skip


def only(path: str, document: object) -> Web:
    return Web({HOST: {path: page(json.dumps(document))}})


@pytest.mark.parametrize(
    ("path", "document", "form"),
    [
        ("/.well-known/ai-plugin.json", PLUGIN, "ai-plugin"),
        ("/openapi.json", OPENAPI, "openapi"),
        ("/.well-known/openapi.json", OPENAPI, "openapi"),
        ("/openapi.yaml", OPENAPI, "openapi"),
        ("/swagger.json", OPENAPI, "openapi"),
    ],
)
def test_the_only_document_of_a_named_host_is_found(path: str, document: object, form: str) -> None:
    assert visit(only(path, document)).outcome is Outcome.ABSENT, "a first bulk visit does not look there"
    done = visit(only(path, document), job=NAMED, budget=60)
    assert (done.outcome, done.reason) == (Outcome.FOUND, form)


def test_a_named_host_gets_every_path_of_every_format_that_lists_a_host() -> None:
    done = visit(Web({HOST: {}}), job=NAMED, budget=60)
    promised = {
        path
        for form in FORMATS
        if form.role in (Role.SERVICE, Role.POINTERS)
        for path in (*form.paths, *form.promises())
    }
    assert promised - set(paths(done)) == set()
    assert done.pending == () and done.requests <= 45


@pytest.mark.parametrize("job", [NAMED, HostJob(HOST, whole_plan=True, further=tuple(FURTHER))])
def test_nothing_is_lost_when_the_budget_ends(job: HostJob) -> None:
    web = Web({HOST: {}})
    first = visit(web, job=job, budget=30)
    second = visit(web, job=HostJob(HOST, whole_plan=True, pending=first.pending, robots=first.robots), budget=30)
    assert set(FURTHER) <= {*paths(first), *paths(second)} and first.pending and not second.pending


def test_a_document_found_at_a_further_path_is_followed_like_any_other() -> None:
    site = {"/.well-known/ai-plugin.json": page(json.dumps(PLUGIN)), "/api/lamps.json": page(json.dumps(OPENAPI))}
    done = visit(Web({HOST: site}), job=HostJob(HOST, whole_plan=True, further=("/.well-known/ai-plugin.json",)))
    assert "/api/lamps.json" in paths(done)
    assert "/.well-known/agents.json" in paths(done), "and what needs a hit is requested after one"


def test_a_revisit_requests_only_the_paths_whose_turn_it_is() -> None:
    turn = ("/.well-known/x402", "/.well-known/acp.json")
    web = Web({HOST: {}})
    done = visit(web, job=HostJob(HOST, whole_plan=True, further=turn))
    assert set(paths(done)) & set(FURTHER) == set(turn)
    assert len(web.asked) == 20 + len(turn)


def test_a_path_is_not_requested_in_place_of_a_document_that_was_found() -> None:
    done = visit(only("/openapi.json", OPENAPI), job=NAMED, budget=60)
    assert not {"/openapi.yaml", "/swagger.json", "/.well-known/openapi.json"} & set(paths(done))
    job = HostJob(HOST, True, known=(known("/openapi.json", "{}", "openapi"),), further=("/swagger.json",))
    assert "/swagger.json" not in paths(visit(only("/openapi.json", OPENAPI), job=job))


def test_a_named_host_that_refuses_everything_gets_no_further_requests() -> None:
    web = Web({HOST: lambda path: page("no", "text/plain", 404 if path == "/robots.txt" else 403)})
    done = visit(web, job=NAMED, budget=60)
    assert not set(FURTHER) & set(paths(done)) and done.outcome is Outcome.REFUSED
    assert "/.well-known/awas.json" in paths(done) and "/.well-known/agent-card.json" not in paths(done)


def test_turns_go_to_the_paths_that_were_never_requested_then_to_the_oldest() -> None:
    old, recent = (TODAY - timedelta(days=200)).isoformat(), (TODAY - timedelta(days=100)).isoformat()
    asked = dict.fromkeys(FURTHER, recent) | {FURTHER[3]: old}
    del asked[FURTHER[7]]
    steps = limits.further_steps(HOST, short=False)
    assert [step.path for step in limits.in_turn(steps, asked, (), TODAY)] == [FURTHER[7], FURTHER[3]]
    assert limits.in_turn(steps, asked, {FURTHER[3], FURTHER[7]}, TODAY) == []


def test_a_sub_host_takes_turns_with_everything_that_its_short_list_leaves_out() -> None:
    short_list = [step.path for step in probes.SHORT["api"]]
    further = [step.path for step in limits.further_steps("api.shop.example", short=True)]
    assert set(further) | set(short_list) == {step.path for step in (*probes.STEPS, *probes.FURTHER)}
    assert not set(further) & set(short_list)
