"""Reports over HTTP: the shape of the contract, the secret address, and what is refused."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.actions.reports import MOST_OF_CLIENT, MOST_OF_REPORT
from registry.core.access.audit import OPERATOR
from tests.api.sites import BIKES, NOTHING, PIGEON, SITES
from tests.support import shapes
from tests.support.api import PUBLIC_URL, Api
from tests.support.database import rows
from tests.support.shapes import assert_shape

PATH = "/api/reports"
REASON = "Every call answers 410."


async def filed(api: Api, domain: str = PIGEON, reason: str = REASON, **members: Any) -> Any:
    response = await api.post(PATH, json={"domain": domain, "reason": reason, **members})
    assert response.status_code == 200, response.text
    assert_shape(shapes.REPORTED, response.json())
    return response.json()["data"]


async def test_a_report_of_the_contract_is_filed(own_api: Api) -> None:
    """ADP registries know `domain` and `reason` only."""
    data = await filed(own_api)
    assert (data["domain"], data["code"]) == (PIGEON, "other")
    path = data["status_url"].removeprefix(PUBLIC_URL)
    status = await own_api.get(path)
    assert status.headers["cache-control"] == "private, no-cache, no-transform"
    shown = status.json()["data"]
    assert (shown["reason"], shown["state"], shown["answer"]) == (REASON, "open", None)
    (report,) = await own_api.waypost.reports.of_host(PIGEON)
    await own_api.waypost.reports.resolve(report.id, "rejected", "It answers.", actor=OPERATOR)
    shown = (await own_api.json(path))["data"]
    assert (shown["state"], shown["answer"]) == ("rejected", "It answers.")


async def test_a_repeated_report_has_no_new_address(own_api: Api) -> None:
    await filed(own_api, code="dead")
    assert (await filed(own_api, code="dead"))["status_url"] is None
    assert (await filed(own_api, code="spam"))["status_url"]


async def test_a_report_that_is_only_counted_is_answered_without_an_address(own_api: Api) -> None:
    for number in range(MOST_OF_REPORT):
        filing = await own_api.waypost.reports.file(PIGEON, "dead", REASON, client=f"198.51.100.{number}")
        assert filing.state == "filed"
    data = await filed(own_api, code="dead")
    assert data["status_url"] is None and data["message"].startswith("Counted:")
    (report,) = await own_api.waypost.reports.of_host(PIGEON)
    assert report.filings == MOST_OF_REPORT + 1


async def test_wrong_addresses_show_nothing(own_api: Api) -> None:
    token = (await filed(own_api))["status_url"].rpartition("/")[2]
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    for wrong in (changed, token.upper(), "x", "%00", token.replace("report", "owner"), "w" * 5_000):
        response = await own_api.get(f"{PATH}/{wrong}")
        assert response.status_code == 404
        assert_shape(shapes.FAILED, response.json())


@pytest.mark.parametrize(
    "body",
    [
        {}, [], {"domain": PIGEON}, {"domain": PIGEON, "reason": "    a    "}, {"domain": PIGEON, "reason": 12345},
        {"domain": 1, "reason": REASON}, {"domain": PIGEON, "reason": REASON, "code": "ugly"},
        {"domain": PIGEON, "reason": "\u200b" * 50}, {"domain": PIGEON, "reason": REASON, "code": ["spam"]},
    ],
)  # fmt: skip
async def test_bodies_of_another_shape_are_refused(own_api: Api, body: Any) -> None:
    response = await own_api.post(PATH, json=body)
    assert (response.status_code, response.json()["success"]) == (400, False)
    assert await rows(own_api.store, "SELECT count(*) FROM reports") == [(0,)]


async def test_unknown_hosts_are_404(own_api: Api) -> None:
    for domain in ("unknown.example", "10.0.0.1", "no host", "x" * 3_000):
        response = await own_api.post(PATH, json={"domain": domain, "reason": REASON})
        assert response.status_code in (400, 404)
        assert_shape(shapes.FAILED, response.json())
    await filed(own_api, NOTHING)
    await filed(own_api, f"HTTPS://{BIKES.upper()}/agent.json")


async def test_a_client_is_told_when_it_may_report_again(own_api: Api) -> None:
    hosts = list(SITES)
    for number in range(MOST_OF_CLIENT):
        await filed(own_api, hosts[number % len(hosts)], code=("spam", "dead")[number // len(hosts)])
    response = await own_api.post(PATH, json={"domain": PIGEON, "reason": REASON, "code": "malware"})
    assert (response.status_code, response.json()["code"]) == (429, "client_budget")
    assert 86_000 < int(response.headers["retry-after"]) <= 86_400


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(["domain", "reason", "code", "x"]), st.text(max_size=30) | st.none()))
@pytest.mark.asyncio(loop_scope="module")
async def test_no_body_is_a_fault(api: Api, body: dict[str, Any]) -> None:
    response = await api.post(PATH, content=json.dumps(body))
    assert response.status_code in (400, 404), response.text


async def test_reports_change_no_answer(own_api: Api) -> None:
    def shown(found: Any) -> Any:
        return [(row["service"]["domain"], row["why"], row["service"]["score"]) for row in found["data"]]

    before = await own_api.json("/api/discover", q="send a parcel")
    for code in ("spam", "malware", "dead", "wrong", "impersonation"):
        await filed(own_api, code=code)
    after = await own_api.json("/api/discover", q="send a parcel", limit=9)
    assert shown(after)[: len(shown(before))] == shown(before)
