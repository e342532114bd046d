"""Which URLs are requested, in which order, under which conditions."""

import json

import pytest

from registry.core.model.documents import Outcome
from registry.core.visiting import probes
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.visits import HostJob, Visit
from tests.core.plan.sites import AWP, HOME, HOST, paths
from tests.support.web import NONCE, NOW, Site, Web, page, visit


def test_a_cold_host_costs_twenty_requests_in_the_order_of_the_plan() -> None:
    web = Web({HOST: {}})
    done = visit(web)
    assert paths(done) == ["/robots.txt", "/", f"/.well-known/{NONCE}.json", *(step.path for step in probes.STEPS)]
    assert (done.outcome, done.requests, len(web.asked)) == (Outcome.ABSENT, 20, 20)
    assert done.address == "203.0.113.9" and done.pending == () and done.candidates == ()


@pytest.mark.parametrize(
    ("site", "job", "last"),
    [
        ({}, HostJob(HOST, whole_plan=True), True),
        ({}, HostJob("mcp.shop.example", whole_plan=True, short=True), True),
        ({}, HostJob(HOST, whole_plan=True, further=("/.well-known/x402",)), True),
        ({}, HostJob(HOST, whole_plan=True, named=True), True),
        ({"/agent.json": page(AWP)}, HostJob(HOST, whole_plan=True), False),
        ({"/": page('<link rel="service-desc" href="/api.json">', "text/html")}, HostJob(HOST, True), False),
        ({"/robots.txt": page(f"Agentmap: {HOME}/map.json\n", "text/plain")}, HostJob(HOST, True), False),
        ({"/robots.txt": page("User-agent: *\nDisallow: /\n", "text/plain")}, HostJob(HOST, True), False),
    ],
)
def test_the_last_request_is_known_if_no_condition_is_left(site: Site, job: HostJob, last: bool) -> None:
    """Closing a connection too early costs another one; leaving it open costs memory."""
    web = Web({job.host: site})
    plan = HostPlan(job, now=NOW, nonce=NONCE, exempt=frozenset(web.sites))
    last_flags = []
    while (probe := plan.next()) is not None:
        last_flags.append(plan.is_last)
        plan.take(probe, web.fetch(plan, probe))
    assert last_flags == [False] * (len(last_flags) - last) + [True] * last


@pytest.mark.parametrize(
    ("first", "fallback", "status", "requested"),
    [
        ("/.well-known/ard.json", "/.well-known/ai-catalog.json", 404, True),
        ("/.well-known/ard.json", "/.well-known/ai-catalog.json", 410, True),
        ("/.well-known/ard.json", "/.well-known/ai-catalog.json", 500, False),
        ("/.well-known/mcp/server-card.json", "/.well-known/mcp.json", 404, True),
        ("/.well-known/mcp/server-card.json", "/.well-known/mcp.json", 403, False),
    ],
)
def test_fallbacks_are_requested_only_if_the_first_is_absent(
    first: str, fallback: str, status: int, requested: bool
) -> None:
    done = visit(Web({HOST: {first: page("gone", "text/plain", status)}}))
    assert (fallback in paths(done)) is requested


def conditional(done: Visit) -> list[str]:
    return [a.probe.url.removeprefix(HOME) for a in done.answers if a.probe.stage == "S4"]


def test_conditional_paths_need_a_hit() -> None:
    done = visit(Web({HOST: {"/agent.json": page(AWP)}}))
    assert (done.outcome, done.reason) == (Outcome.FOUND, "awp")
    names = ("ai-plugin", "agents", "agent-permissions")
    assert conditional(done) == [f"/.well-known/{name}.json" for name in names]


def test_documents_decide_which_conditional_paths_are_requested() -> None:
    awp = json.loads(AWP) | {"description": "Speaks MCP, takes USDC, has skills; see /auth.md and openapi"}
    done = visit(Web({HOST: {"/agent.json": page(json.dumps(awp))}}))
    requested = conditional(done)
    assert {"/openapi.json", "/openapi.yaml", "/auth.md"} <= set(requested)
    assert {"/.well-known/mcp", "/.well-known/x402", "/.well-known/skills/index.json"} <= set(requested)
    assert "/pricing.md" not in requested and len(requested) <= probes.MAX_CONDITIONAL


@pytest.mark.parametrize("has_metadata", [True, False])
def test_the_oauth_metadata_of_an_mcp_endpoint_is_asked_at_its_own_path(has_metadata: bool) -> None:
    root, own = "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/v1/mcp"
    remote = {"type": "streamable-http", "url": f"{HOME}/v1/mcp"}
    card = {"name": "example.shop/tills", "version": "1", "description": "Tills.", "remotes": [remote]}
    metadata = {"resource": f"{HOME}/v1/mcp", "scopes_supported": ["tills:read"]}
    site = {"/.well-known/mcp/server-card.json": page(json.dumps(card))}
    done = visit(Web({HOST: site | ({own: page(json.dumps(metadata))} if has_metadata else {})}))
    assert own in paths(done)
    assert (root in conditional(done)) is not has_metadata


def test_openapi_in_yaml_is_asked_only_where_json_is_absent() -> None:
    openapi = json.dumps({"openapi": "3.1.0", "info": {"title": "x", "version": "1"}, "paths": {}})
    host = "api.shop.example"
    requested = paths(visit(Web({host: {"/agent.json": page(AWP), "/openapi.json": page(openapi)}}), host), host)
    assert "/openapi.json" in requested and "/openapi.yaml" not in requested


@pytest.mark.parametrize(("label", "count"), [("mcp", 5), ("api", 5), ("docs", 5)])
def test_sub_hosts_of_a_hit_get_their_short_list(label: str, count: int) -> None:
    host = f"{label}.shop.example"
    web = Web({host: {}})
    done = visit(web, host, job=HostJob(host, whole_plan=True, short=True))
    assert len(web.asked) == 3 + count
    assert paths(done, host)[3:] == [step.path for step in probes.SHORT[label]]
