"""Submission: canonical names, one visit, and a client that waits for a visit by a worker."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from registry.actions.frontier.submit import MAX_PER_CLIENT
from registry.core.model.documents import Outcome
from registry.core.visiting.visits import FinishedDomain, Visit, skipped
from registry.store.records import OptOutRecord
from tests.api.sites import NEW, NOTHING, PIGEON, SITES
from tests.support import shapes
from tests.support.api import PUBLIC_URL, Api
from tests.support.builders import Page, Site, adp_manifest, adp_site, crawl, finish, hosts_of, record, take
from tests.support.database import execute, rows
from tests.support.hang import HANG_SECONDS
from tests.support.shapes import assert_shape

STATUS_URL = f"{PUBLIC_URL}/api/services/{NEW}/status"


async def visit_next(api: Api, site: Site, *, alias_of: str | None = None) -> None:
    """Lease, visit and record what is due, as a worker does, until the new host was visited."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            lease = await take(api.store, limit=1, now=datetime.now(UTC))
            if lease is None:
                await asyncio.sleep(0.01)
                continue
            now, sites = datetime.now(UTC), {**SITES, NEW: site}
            finished = [finish(job, sites, now) for job in lease.domains]
            if NEW in hosts_of(lease):
                finished = [
                    replace(finished_domain, visits=tuple(_aliased(finished_domain.visits, alias_of)))
                    for finished_domain in finished
                ]
            await record(api.store, lease.token, finished, now=now)
            if NEW in hosts_of(lease):
                return


def _aliased(visits: Sequence[Visit], alias_of: str | None) -> list[Visit]:
    return [replace(visit, alias_of=alias_of) if visit.host == NEW else visit for visit in visits]


async def test_a_host_visited_while_the_client_waits_is_returned_as_listed(own_api: Api) -> None:
    worker = asyncio.create_task(visit_next(own_api, adp_site(NEW, "fold_letters")))
    response = await own_api.post("/api/services?wait=20", json={"domain": f"HTTPS://{NEW.upper()}/some/path"})
    await worker
    assert response.status_code == 201, response.text
    data = response.json()["data"]
    assert (data["domain"], data["trust_level"], data["verified"]) == (NEW, "verified", True)
    assert (data["detail_url_ok"], data["response_time_ms"]) == (True, 20)
    assert response.headers["location"] == STATUS_URL
    assert (await own_api.json(f"/api/services/{NEW}"))["data"]["domain"] == NEW


async def test_a_host_without_valid_documents_gets_the_reasons(own_api: Api) -> None:
    site = {"/.well-known/agent": Page(b'{"spec_version": "1.0", }'), "/agent.json": Page("<!doctype html><p>hi")}
    worker = asyncio.create_task(visit_next(own_api, site))
    response = await own_api.post("/api/services?wait=20", json={"domain": NEW})
    await worker
    assert response.status_code == 422, response.text
    body = response.json()
    assert_shape(shapes.FAILED, body)
    assert body["errors"]
    assert all(isinstance(error, str) for error in body["errors"])
    assert body["status_url"] == STATUS_URL


async def test_an_alias_leads_to_the_host_it_redirects_to(own_api: Api) -> None:
    worker = asyncio.create_task(visit_next(own_api, {}, alias_of=f"www.{NEW}"))
    response = await own_api.post("/api/services?wait=20", json={"domain": NEW})
    await worker
    assert response.status_code == 202, response.text
    assert response.json()["data"]["domain"] == f"www.{NEW}"
    assert f"www.{NEW} answers for this host." in (await own_api.json(f"/api/services/{NEW}/status"))["data"]["reasons"]


async def test_an_unreachable_host_gets_the_reason(own_api: Api) -> None:
    worker = asyncio.create_task(visit_next(own_api, Page(failure=Outcome.UNREACHABLE, reason="connect_timeout")))
    response = await own_api.post("/api/services?wait=20", json={"domain": NEW})
    await worker
    assert response.status_code == 422
    assert any("connect_timeout" in error for error in response.json()["errors"])


async def test_a_client_waits_as_long_as_requested_and_is_queued_once(own_api: Api) -> None:
    for _ in range(2):
        response = await own_api.post("/api/services?wait=0", json={"domain": NEW})
        assert response.status_code == 202, response.text
        assert response.json()["data"]["status"] == "queued"
        assert response.json()["data"]["status_url"] == STATUS_URL
    status = (await own_api.json(f"/api/services/{NEW}/status"))["data"]
    assert (status["state"], status["outcome"]) == ("queued", None)
    lease = await take(own_api.store, now=datetime.now(UTC), limit=100)
    assert lease is not None
    assert [host.host for job in lease.domains for host in job.hosts].count(NEW) == 1


async def test_a_mended_host_is_submitted_again_and_visited(own_api: Api) -> None:
    broken = {"/.well-known/agent": Page(b'{"spec_version": "1.0", }')}
    for site, status in ((broken, 422), (adp_site(NEW, "fold_letters"), 201), (adp_site(NEW, "fold_maps"), 201)):
        worker = asyncio.create_task(visit_next(own_api, site))
        response = await own_api.post("/api/services?wait=20", json={"domain": NEW})
        await worker
        assert response.status_code == status, response.text
        await pass_time(own_api, minutes=2)
    capabilities = (await own_api.json(f"/api/services/{NEW}"))["data"]["manifest"]["capabilities"]
    assert [capability["name"] for capability in capabilities] == ["fold_maps"]


async def test_a_host_that_was_just_visited_is_a_conflict_that_says_when(own_api: Api) -> None:
    await visit_submitted(own_api, PIGEON)
    response = await own_api.post("/api/services", json={"domain": PIGEON})
    assert response.status_code == 409
    body = response.json()
    assert_shape(shapes.FAILED, body)
    assert body["status_url"] == f"{PUBLIC_URL}/api/services/{PIGEON}/status"
    assert (body["code"], body["outcome"], body["next_step"]["page"]) == ("too_soon", "found", "claim")
    assert body["last_visit_at"] < body["retry_at"] < body["next_visit_at"]
    assert 0 < int(response.headers["retry-after"]) <= 60
    status = (await own_api.json(f"/api/services/{PIGEON}/status"))["data"]
    assert (status["recheck_bound"], status["recheck_at"]) == ("too_soon", body["retry_at"])
    await pass_time(own_api, minutes=2)
    status = (await own_api.json(f"/api/services/{PIGEON}/status"))["data"]
    assert (status["recheck_bound"], status["recheck_at"]) == (None, None)


async def visit_submitted(api: Api, host: str) -> None:
    assert (await api.post("/api/services?wait=0", json={"domain": host})).status_code == 202
    await crawl(api.store, SITES, datetime.now(UTC))


async def pass_time(api: Api, *, minutes: int) -> None:
    """Make all visits and submissions older by this."""
    ago = f"- interval '{minutes} minutes'"
    await execute(api.store, f"UPDATE hosts SET last_visit_at = last_visit_at {ago}, submitted_at = submitted_at {ago}")


async def test_a_host_without_documents_is_queued_again(own_api: Api) -> None:
    response = await own_api.post("/api/services?wait=0", json={"domain": NOTHING})
    assert response.status_code == 202


async def test_a_client_is_told_why_it_may_not_submit_more(own_api: Api) -> None:
    names = [f"new{number}.pigeon-shop.com" for number in range(MAX_PER_CLIENT + 1)]
    *accepted, refused = [await own_api.post("/api/services?wait=0", json={"domain": name}) for name in names]
    assert [response.status_code for response in accepted] == [202] * MAX_PER_CLIENT
    assert refused.status_code == 429
    assert_shape(shapes.FAILED, refused.json())
    assert refused.json()["code"] == "client_domain"
    assert "The domain itself" in refused.json()["error"]
    assert 86_000 < int(refused.headers["retry-after"]) <= 86_400
    clients = await rows(own_api.store, "SELECT DISTINCT client FROM submissions")
    assert clients == [("203.0.113.7",)]


async def test_a_postponed_visit_is_shown_in_plain_words(own_api: Api) -> None:
    host = "new.pigeon-shop.com"

    await own_api.post("/api/services?wait=0", json={"domain": host})
    now = datetime.now(UTC)
    lease = await take(own_api.store, now=now)
    assert lease is not None
    (job,) = [job for job in lease.domains if job.domain == "pigeon-shop.com"]
    postponed = FinishedDomain(job.domain, (skipped(job.hosts[0], now, "new_hosts_budget"),))
    await record(own_api.store, lease.token, [postponed], now=now)
    response = await own_api.post("/api/services?wait=20", json={"domain": host})
    assert response.status_code == 202 and "postponed" in response.json()["data"]["message"]
    sentence = "Not visited: the little-known hosts of this domain"
    status = (await own_api.json(f"/api/services/{host}/status"))["data"]
    assert status["state"] == "queued" and status["reasons"][0].startswith(sentence)
    (visit,) = (await own_api.json(f"/api/services/{host}/crawl"))["data"]["visits"]
    assert (visit["requests"], visit["sent"]) == (0, 0) and visit["says"].startswith(sentence)


async def test_an_opted_out_domain_stays_out(own_api: Api) -> None:
    async with own_api.store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("pigeonpost.example", NEW, "robots", "", datetime.now(UTC))])
    response = await own_api.post("/api/services?wait=0", json={"domain": NEW})
    assert response.status_code == 403
    assert_shape(shapes.FAILED, response.json())


@pytest.mark.parametrize(
    ("domain", "code"),
    [
        ("localhost", "special_use"),
        ("printer.local", "special_use"),
        ("127.0.0.1", "ip_address"),
        ("0x7f.1", "numeric"),
        ("[::1]", "ip_address"),
        ("https://user:secret@host.dev/", "has_userinfo"),
        ("host.dev:8443", "has_port"),
        ("co.uk", "public_suffix"),
        ("no-such-top-level.zzzz", "unknown_tld"),
        ("a b.dev", "whitespace"),
        ("", "empty"),
        ("javascript:alert(1)", "has_scheme"),
        ("x" * 300 + ".dev", "too_long"),
        ("x" * 5_000, "too_long"),
    ],
)
async def test_names_of_no_public_host_are_refused_with_their_rule(own_api: Api, domain: str, code: str) -> None:
    response = await own_api.post("/api/services", json={"domain": domain})
    assert response.status_code == 400
    assert_shape(shapes.FAILED, response.json())
    assert response.json()["code"] == code
    assert "secret" not in response.text


async def test_a_pasted_manifest_is_assessed_and_never_listed(own_api: Api) -> None:
    manifest = adp_manifest("paste.pigeonpost.dev", "fold_letters")
    response = await own_api.post("/api/services", json={"manifest": manifest, "domain": "other.dev"})
    assert response.status_code == 200, response.text
    data = response.json()["data"]
    assert (data["domain"], data["trust_level"], data["verified"]) == ("paste.pigeonpost.dev", "unverified", False)
    assert (await own_api.get("/api/services/paste.pigeonpost.dev")).status_code == 404
    assert (await own_api.get("/api/services/paste.pigeonpost.dev/status")).status_code == 404


async def test_a_broken_manifest_gets_every_error(own_api: Api) -> None:
    manifest = adp_manifest("paste.pigeonpost.dev", "fold_letters")
    del manifest["description"]
    manifest["capabilities"].append({"name": "nameless", "detail_url": "/x"})
    response = await own_api.post("/api/services", json={"manifest": manifest})
    assert response.status_code == 422
    errors = response.json()["errors"]
    assert any(error.startswith("description: ") for error in errors)
    assert any(error.startswith("capabilities[1]") for error in errors)


@pytest.mark.parametrize("manifest", [{}, {"name": "x"}, {"available": False}, {"jsonrpc": "2.0"}])
async def test_a_pasted_document_that_is_no_manifest_is_refused(own_api: Api, manifest: object) -> None:
    response = await own_api.post("/api/services", json={"manifest": manifest})
    assert response.status_code == 422
    assert response.json()["errors"]


async def test_a_document_can_be_checked_before_it_is_published(own_api: Api) -> None:
    manifest = adp_manifest("paste.pigeonpost.dev", "fold_letters", description="short")
    validation = (await own_api.post("/api/validate", json=manifest)).json()
    assert_shape(shapes.VALIDATED, validation)
    assert validation["valid"] is False
    assert validation["errors"][0]["path"] == "description"
    assert validation["errors"][0]["fix"]
    valid = (await own_api.post("/api/validate", json=adp_manifest("paste.pigeonpost.dev", "fold_letters"))).json()
    assert (valid["valid"], valid["errors"], valid["format"]) == (True, [], "adp")


async def test_formats_recognised_by_their_path_can_be_checked(own_api: Api) -> None:
    actions = {
        "version": "1.0",
        "name": "Kiosk",
        "description": "Sells newspapers and tickets.",
        "actions": [
            {"id": "buy-paper", "name": "Buy", "description": "Buys a paper.", "path": "/buy", "method": "POST"},
        ],
    }
    elsewhere = await own_api.post("/api/validate?at=/.well-known/agent", json=actions)
    assert elsewhere.json()["format"] == "agent-json"  # a card in a shape of its own, as far as its path tells
    at_path = await own_api.post("/api/validate?at=/.well-known/ai-actions.json", json=actions)
    assert (at_path.json()["format"], at_path.json()["valid"]) == ("awas", True)


async def test_a_body_that_is_not_json_has_the_shape_of_a_validation(own_api: Api) -> None:
    response = await own_api.post("/api/validate", content=b"{")
    assert response.status_code == 400
    assert_shape(shapes.VALIDATED, response.json())
    assert (response.json()["valid"], response.json()["errors"][0]["path"]) == (False, "$")
