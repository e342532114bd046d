"""The main job: the sample web goes in, answers in ADP's shape come out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.demo.sites import SAMPLE_WEB, load_sites
from tests.support.demo import Ran, run_demo

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
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    done = run_demo(tmp_path_factory.mktemp("sample"))
    yield done
    done.forget()


def test_every_host_ends_with_a_stored_outcome(ran: Ran) -> None:
    hosts = ran.report["hosts"]
    assert set(hosts) == set(load_sites(SAMPLE_WEB))
    assert all(one["outcome"] for one in hosts.values())
    assert {host: hosts[host]["outcome"] for host in OUTCOMES} == OUTCOMES


def test_hosts_that_are_not_listed_say_why(ran: Ran) -> None:
    for host, one in ran.report["hosts"].items():
        if one["state"] == "not_listed":
            assert one["reasons"], host


async def test_a_sentence_is_answered_in_the_shape_of_adp(ran: Ran) -> None:
    async with ran.client() as client:
        answer = (await client.get("/api/discover", params={"q": "send an email"})).json()
    assert answer["success"] is True
    assert answer["result_count"] == len(answer["data"]) > 0
    first = answer["data"][0]
    assert first["service"]["domain"] == "mailroom.example"
    assert first["service"]["verified"] is True
    assert first["matching_capabilities"][0]["name"] == "send_email"
    assert first["matching_capabilities"][0]["detail_url"] == "https://mailroom.example/v1/capabilities/send_email"


async def test_each_format_is_found_by_what_it_does(ran: Ran) -> None:
    questions = {
        "reschedule a delivery": "parcelhop.example",  # ADP
        "book a seat on a flight": "skylark-air.example",  # AWP
        "buy something handmade": "bazaar-lane.example",  # ATP
        "summarise a long document": "brevity.example",  # WoA
        "second-hand books by isbn": "bookbarn.example",  # AWAS
        "theatre tickets": "concierge.example",  # A2A
        "make a playlist": "tuneful.example",  # MCP
    }
    async with ran.client() as client:
        for question, host in questions.items():
            answer = (await client.get("/api/discover", params={"q": question, "limit": 1})).json()
            assert [row["service"]["domain"] for row in answer["data"]] == [host], question


async def test_capability_details_are_fetched_and_kept(ran: Ran) -> None:
    async with ran.client() as client:
        detail = (await client.get("/api/services/mailroom.example/capabilities/send_email")).json()
        missing = (await client.get("/api/services/parcelhop.example")).json()["data"]
    assert (detail["endpoint"], detail["method"]) == ("/emails", "POST")
    assert {one["name"] for one in detail["parameters"]} >= {"to", "subject", "attachments"}
    reasons = {line["reason"] for line in missing["score"]["lines"]}
    assert "adp.detail_unanswered" in reasons


async def test_documents_of_one_host_become_one_service(ran: Ran) -> None:
    async with ran.client() as client:
        service = (await client.get("/api/services/greenbasket.example")).json()["data"]
    assert service["formats"] == ["adp", "awp", "a2a"]
    names = [one["name"] for one in service["manifest"]["capabilities"]]
    assert names == ["Plan meals", "order_groceries", "search_groceries"]


async def test_links_lead_where_no_path_was_guessed(ran: Ran) -> None:
    async with ran.opened() as waypost:
        by_link = await waypost.service("civic-forms.example")  # `<link rel="ai-actions">`: a path nobody guesses
        by_catalogue = await waypost.service("cardindex.example")  # a card that its own catalogue names
    assert by_link is not None
    assert "awas" in by_link.record.formats
    assert by_catalogue is not None
    assert "a2a" in by_catalogue.record.formats


async def test_a_redirect_inside_the_domain_names_the_host_that_answers(ran: Ran) -> None:
    async with ran.opened() as waypost:
        alias = await waypost.status("movedhouse.example")
        final = await waypost.status("www.movedhouse.example")
    assert alias is not None
    assert alias.alias_of == "www.movedhouse.example"
    assert alias.state == "not_listed"
    assert final is not None
    assert final.state == "listed"


def test_a_second_run_is_quick_and_changes_nothing(ran: Ran) -> None:
    again = run_demo(ran.data)
    assert {h: one["outcome"] for h, one in again.report["hosts"].items()} == {
        h: one["outcome"] for h, one in ran.report["hosts"].items()
    }


async def test_the_index_says_what_the_database_says(ran: Ran) -> None:
    async with ran.opened() as waypost:
        assert await waypost.index_lag() == 0
        health = await waypost.index_health()
        overview = await waypost.overview()
    assert health.services == overview.services


def test_only_the_sample_web_was_asked(ran: Ran) -> None:
    """Nothing but the table resolves, and candidates outside it are not taken."""
    log = (Path(ran.data) / "worker.log").read_text()
    assert "connect_to.in_force" in log  # told loudly
