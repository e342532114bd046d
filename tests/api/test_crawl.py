"""The ledger over HTTP: what was asked, what came, why the next visit is when it is."""

from datetime import UTC, datetime

import pytest

from registry.actions.frontier.seed import seed
from registry.core.seeds import Seed
from registry.store.records import OptOutRecord
from tests.api.conftest import Api
from tests.api.sites import FAILING, NEW, NOTHING, PIGEON

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_listed_host_shows_each_visit_with_its_answers(api: Api) -> None:
    data = (await api.json(f"/api/services/{PIGEON.upper()}/crawl"))["data"]
    assert data["domain"] == PIGEON and data["registrable_domain"] == "pigeonpost.example"
    latest = data["visits"][0]
    assert latest["requests"] == len(latest["answers"])
    manifest = next(one for one in latest["answers"] if one["url"].endswith("/.well-known/agent"))
    assert manifest["outcome"] == "found" and manifest["format"] == "adp"
    assert [one["started_at"] for one in data["visits"]] == sorted(
        (one["started_at"] for one in data["visits"]), reverse=True
    )


async def test_a_host_without_anything_says_what_came_and_when_it_is_asked_again(api: Api) -> None:
    host = (await api.json(f"/api/services/{NOTHING}/crawl"))["data"]["host"]
    assert host["outcome"] == "absent"
    assert host["next_visit"]["why"] == "policy" and host["next_visit"]["at"] > host["last_visit_at"]
    assert "absent" in host["next_visit"]["says"]


async def test_a_host_that_fails_counts_its_failures(api: Api) -> None:
    data = (await api.json(f"/api/services/{FAILING}/crawl", visits=50))["data"]
    assert data["host"]["streak"] == 3 and len(data["visits"]) == 4
    assert "3 times in a row" in data["host"]["next_visit"]["says"]


async def test_as_many_visits_as_wanted(api: Api) -> None:
    assert len((await api.json(f"/api/services/{FAILING}/crawl", visits=2))["data"]["visits"]) == 2
    assert (await api.json(f"/api/services/{FAILING}/crawl", visits=0))["data"]["visits"] == []
    assert (await api.get(f"/api/services/{FAILING}/crawl?visits=many")).status_code == 400


async def test_a_sibling_of_a_known_host_is_told_of_its_domain(api: Api) -> None:
    data = (await api.json("/api/services/other.pigeonpost.example/crawl"))["data"]
    assert data["host"] is None and data["visits"] == []
    assert PIGEON in [one["host"] for one in data["hosts"]]


@pytest.mark.parametrize("name", ["nobody-ever.example", "%00", "a" * 300, "..", "127.0.0.1"])
async def test_what_nobody_named_is_unknown(api: Api, name: str) -> None:
    response = await api.get(f"/api/services/{name}/crawl")
    assert response.status_code == 404 and response.json()["success"] is False


@pytest.mark.asyncio(loop_scope="function")
async def test_a_submission_is_why(own_api: Api) -> None:
    await own_api.post("/api/services?wait=0", json={"domain": NEW})
    asked = (await own_api.json(f"/api/services/{NEW}/crawl"))["data"]["host"]["next_visit"]
    assert asked["why"] == "asked"
    assert abs((datetime.fromisoformat(asked["at"]) - datetime.now(UTC)).total_seconds()) < 60  # never in the past


@pytest.mark.asyncio(loop_scope="function")
async def test_what_the_operator_calls_a_list_is_nobody_elses_business(own_api: Api) -> None:
    for source, name in (("file", "one.com"), ("tranco", "two.com"), ("mcp-registry", "three.com")):
        await seed(own_api.store, [Seed(name, "customers of may")], source=source, now=datetime.now(UTC))
    told = [(await own_api.json(f"/api/services/{name}.com/crawl"))["data"] for name in ("one", "two", "three")]
    assert [(one["host"]["source"], one["host"]["referrer"]) for one in told] == [
        ("file", None),
        ("tranco", None),
        ("mcp-registry", "customers of may"),
    ]


@pytest.mark.asyncio(loop_scope="function")
async def test_of_a_site_that_opted_out_only_that_is_told(own_api: Api) -> None:
    async with own_api.store.begin() as uow:
        await uow.opt_outs.add(
            [OptOutRecord("pigeonpost.example", "pigeonpost.example", "robots", "", datetime.now(UTC))]
        )
    data = (await own_api.json(f"/api/services/{PIGEON}/crawl"))["data"]
    assert data["opted_out"] is True
    assert data["visits"] == [] and data["hosts"] == [] and data["host"] is None
