"""The visit log over HTTP: requests, outcomes, and the reason for the time of the next visit."""

from datetime import UTC, datetime

import pytest

from registry.core.names.seeds import Seed
from registry.store.records import OptOutRecord
from tests.api.sites import FAILING, NEW, NOTHING, PIGEON
from tests.support.api import Api
from tests.support.builders import on

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_listed_host_has_its_visits_with_all_responses(api: Api) -> None:
    data = (await api.json(f"/api/services/{PIGEON.upper()}/crawl"))["data"]
    assert data["domain"] == PIGEON and data["registrable_domain"] == "pigeonpost.example"
    latest = data["visits"][0]
    assert latest["requests"] == len(latest["answers"])
    manifest = next(answer for answer in latest["answers"] if answer["url"].endswith("/.well-known/agent"))
    assert manifest["outcome"] == "found" and manifest["format"] == "adp"
    assert [visit["started_at"] for visit in data["visits"]] == sorted(
        (visit["started_at"] for visit in data["visits"]), reverse=True
    )


async def test_a_host_without_documents_has_its_outcome_and_next_visit(api: Api) -> None:
    host = (await api.json(f"/api/services/{NOTHING}/crawl"))["data"]["host"]
    assert host["outcome"] == "absent"
    assert host["next_visit"]["why"] == "policy" and host["next_visit"]["at"] > host["last_visit_at"]
    assert "absent" in host["next_visit"]["says"]


async def test_a_host_that_fails_counts_its_failures(api: Api) -> None:
    data = (await api.json(f"/api/services/{FAILING}/crawl", visits=50))["data"]
    assert data["host"]["streak"] == 3 and len(data["visits"]) == 4
    assert "3 times in a row" in data["host"]["next_visit"]["says"]


async def test_the_number_of_visits_can_be_chosen(api: Api) -> None:
    assert len((await api.json(f"/api/services/{FAILING}/crawl", visits=2))["data"]["visits"]) == 2
    assert (await api.json(f"/api/services/{FAILING}/crawl", visits=0))["data"]["visits"] == []
    assert (await api.get(f"/api/services/{FAILING}/crawl?visits=many")).status_code == 400


async def test_an_unknown_host_of_a_known_domain_lists_the_known_hosts(api: Api) -> None:
    data = (await api.json("/api/services/other.pigeonpost.example/crawl"))["data"]
    assert data["host"] is None and data["visits"] == []
    assert PIGEON in [host["host"] for host in data["hosts"]]


@pytest.mark.parametrize("name", ["nobody-ever.example", "%00", "a" * 300, "..", "127.0.0.1"])
async def test_an_unknown_host_is_a_404(api: Api, name: str) -> None:
    response = await api.get(f"/api/services/{name}/crawl")
    assert response.status_code == 404 and response.json()["success"] is False


@pytest.mark.asyncio(loop_scope="function")
async def test_a_submission_is_the_reason_of_the_next_visit(own_api: Api) -> None:
    await own_api.post("/api/services?wait=0", json={"domain": NEW})
    next_visit = (await own_api.json(f"/api/services/{NEW}/crawl"))["data"]["host"]["next_visit"]
    assert next_visit["why"] == "asked"
    assert abs((datetime.fromisoformat(next_visit["at"]) - datetime.now(UTC)).total_seconds()) < 60  # never in the past


@pytest.mark.asyncio(loop_scope="function")
async def test_names_of_private_seed_lists_are_not_published(own_api: Api) -> None:
    for source, name in (("file", "one.com"), ("tranco", "two.com"), ("mcp-registry", "three.com")):
        await on(own_api.store, datetime.now(UTC)).frontier.seed([Seed(name, "customers of may")], source=source)
    ledgers = [(await own_api.json(f"/api/services/{name}.com/crawl"))["data"] for name in ("one", "two", "three")]
    assert [(ledger["host"]["source"], ledger["host"]["referrer"]) for ledger in ledgers] == [
        ("file", None),
        ("tranco", None),
        ("mcp-registry", "customers of may"),
    ]


@pytest.mark.asyncio(loop_scope="function")
async def test_of_a_site_that_opted_out_only_the_opt_out_is_shown(own_api: Api) -> None:
    async with own_api.store.begin() as uow:
        await uow.opt_outs.add(
            [OptOutRecord("pigeonpost.example", "pigeonpost.example", "robots", "", datetime.now(UTC))]
        )
    data = (await own_api.json(f"/api/services/{PIGEON}/crawl"))["data"]
    assert data["opted_out"] is True
    assert data["visits"] == [] and data["hosts"] == [] and data["host"] is None
