"""The main job, end to end: crawl the sample web, then search it and get responses in ADP's shape."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.demo.sites import SAMPLE_WEB, load_sites
from tests.support.demo import DemoRun, run_demo

pytestmark = pytest.mark.slow

OUTCOMES = {
    "deadend.example": "unreachable",
    "strangercert.example": "tls_error",
    "keepout.example": "disallowed",
    "closedshop.example": "refused",
    "farewell.example": "redirected_away",
    "halfwritten.example": "malformed",
    "nothanks.example": "negative",
    "goodbye.example": "gone",
    "softlanding.example": "absent",
    "echochamber.example": "found",
    "moldshop.example": "found",
    "plainblog.example": "not_a_manifest",
    "factsheet.example": "not_a_manifest",
}


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRun]:
    demo = run_demo(tmp_path_factory.mktemp("sample"))
    yield demo
    demo.forget()


def test_every_host_ends_with_a_stored_outcome(demo_run: DemoRun) -> None:
    hosts = demo_run.report["hosts"]
    assert set(hosts) == set(load_sites(SAMPLE_WEB))
    assert all(host_report["outcome"] for host_report in hosts.values())
    assert {host: hosts[host]["outcome"] for host in OUTCOMES} == OUTCOMES


def test_hosts_that_are_not_listed_have_reasons(demo_run: DemoRun) -> None:
    for host, host_report in demo_run.report["hosts"].items():
        if host_report["state"] == "not_listed":
            assert host_report["reasons"], host


async def test_a_search_by_sentence_responds_in_the_shape_of_adp(demo_run: DemoRun) -> None:
    async with demo_run.client() as client:
        body = (await client.get("/api/discover", params={"q": "send an email"})).json()
    assert body["success"] is True
    assert body["result_count"] == len(body["data"]) > 0
    first_hit = body["data"][0]
    assert first_hit["service"]["domain"] == "mailroom.example"
    assert first_hit["service"]["verified"] is True
    assert first_hit["matching_capabilities"][0]["name"] == "send_email"
    assert first_hit["matching_capabilities"][0]["detail_url"] == "https://mailroom.example/v1/capabilities/send_email"


async def test_services_of_each_format_are_found_by_what_they_do(demo_run: DemoRun) -> None:
    questions = {
        "reschedule a delivery": "parcelhop.example",  # ADP
        "book a seat on a flight": "skylark-air.example",  # AWP
        "buy something handmade": "bazaar-lane.example",  # ATP
        "summarise a long document": "brevity.example",  # WoA
        "second-hand books by isbn": "bookbarn.example",  # AWAS
        "theatre tickets": "concierge.example",  # A2A
        "make a playlist": "tuneful.example",  # MCP
    }
    async with demo_run.client() as client:
        for question, host in questions.items():
            body = (await client.get("/api/discover", params={"q": question, "limit": 1})).json()
            assert [row["service"]["domain"] for row in body["data"]] == [host], question


async def test_capability_details_are_fetched_and_kept(demo_run: DemoRun) -> None:
    async with demo_run.client() as client:
        detail = (await client.get("/api/services/mailroom.example/capabilities/send_email")).json()
        service = (await client.get("/api/services/parcelhop.example")).json()["data"]
    assert (detail["endpoint"], detail["method"]) == ("/emails", "POST")
    assert {parameter["name"] for parameter in detail["parameters"]} >= {"to", "subject", "attachments"}
    reasons = {line["reason"] for line in service["score"]["lines"]}
    assert "adp.detail_unanswered" in reasons


async def test_documents_of_one_host_become_one_service(demo_run: DemoRun) -> None:
    async with demo_run.client() as client:
        service = (await client.get("/api/services/greenbasket.example")).json()["data"]
    assert service["formats"] == ["adp", "awp", "a2a"]
    names = [capability["name"] for capability in service["manifest"]["capabilities"]]
    assert names == ["Plan meals", "order_groceries", "search_groceries"]


async def test_documents_are_also_found_by_links(demo_run: DemoRun) -> None:
    async with demo_run.opened() as waypost:
        by_link = await waypost.queries.service("civic-forms.example")  # `<link rel="ai-actions">`
        by_catalogue = await waypost.queries.service("cardindex.example")  # a card that its own catalogue names
    assert by_link is not None
    assert "awas" in by_link.record.formats
    assert by_catalogue is not None
    assert "a2a" in by_catalogue.record.formats


async def test_a_redirect_inside_the_domain_makes_the_host_an_alias(demo_run: DemoRun) -> None:
    async with demo_run.opened() as waypost:
        alias = await waypost.queries.status("movedhouse.example")
        final = await waypost.queries.status("www.movedhouse.example")
    assert alias is not None
    assert alias.alias_of == "www.movedhouse.example"
    assert alias.state == "not_listed"
    assert final is not None
    assert final.state == "listed"


@pytest.mark.long
def test_a_second_run_has_the_same_outcomes(demo_run: DemoRun) -> None:
    second_run = run_demo(demo_run.data)
    assert {host: host_report["outcome"] for host, host_report in second_run.report["hosts"].items()} == {
        host: host_report["outcome"] for host, host_report in demo_run.report["hosts"].items()
    }


async def test_the_index_holds_as_many_services_as_the_database(demo_run: DemoRun) -> None:
    async with demo_run.opened() as waypost:
        assert await waypost.search.index_lag() == 0
        health = await waypost.search.backend.health()
        overview = await waypost.queries.overview()
    assert health.services == overview.services


def test_the_demo_connects_to_the_sample_web_only(demo_run: DemoRun) -> None:
    """Only names of the connect-to table resolve, and candidates outside it are rejected."""
    log = (Path(demo_run.data) / "worker.log").read_text()
    assert "connect_to.in_force" in log  # the log warns that the table is in force
