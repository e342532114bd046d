"""Ownership over HTTP: claim, prove, act, and everything that is refused."""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from registry.actions.webhooks import Outgoing
from registry.core.names.domains import registrable_domain
from registry.core.visiting.call_checks import CallCheck
from registry.core.webhooks import MAX_CHALLENGES_OF_HOST, Attempt
from tests.api.sites import NEW, PIGEON, PIGEON_BASE
from tests.support.api import Api
from tests.support.database import until_true

pytestmark = pytest.mark.slow  # a database and an index for each

OTHER = "api.other.example"
OWNER = f"/api/owner/{PIGEON}"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def claimed(api: Api, **body: str) -> dict[str, Any]:
    response = await api.post("/api/claims", json={"domain": PIGEON, "method": "dns", **body})
    assert response.status_code == 201, response.text
    assert response.headers["cache-control"] == "no-store, no-transform"
    data: dict[str, Any] = response.json()["data"]
    return data


async def proven(api: Api, **body: str) -> str:
    claim = await claimed(api, **body)
    headers, url = bearer(claim["claim_token"]), f"/api/claims/{claim['id']}"
    waiting = (await api.post(f"{url}/check?wait=0", headers=headers)).json()["data"]
    assert (waiting["state"], waiting["waiting"], "owner_token" in waiting) == ("open", True, False)
    for check in await api.waypost.claims.take(10):
        await api.waypost.claims.settle(check.claim, "published")
    assert (await api.get(url, headers=headers)).json()["data"]["state"] == "proven"
    token: str = (await api.post(f"{url}/check?wait=0", headers=headers)).json()["data"]["owner_token"]
    again = (await api.post(f"{url}/check?wait=0", headers=headers)).json()["data"]
    assert "owner_token" not in again, "shown once"
    return token


async def pinned(api: Api) -> dict[str, str]:
    """Prove two hosts, and let the one that is not listed stand for the other; return the headers of its owner."""
    consent = await proven(api, domain=NEW)
    headers = bearer(await proven(api))
    waiting = await api.client.put(f"{OWNER}/canonical", headers=headers, json={"canonical": NEW})
    assert waiting.status_code == 200, waiting.text
    said = waiting.json()["data"]
    assert (said["canonical_host"], said["pinned_host"]) == (None, NEW)
    changed = await api.client.put(f"{OWNER}/canonical", headers=headers, json={"canonical": NEW, "consent": consent})
    assert changed.json()["data"]["canonical_host"] == NEW
    return headers


async def test_consent_to_a_pin_is_a_token_of_the_other_host(own_api: Api) -> None:
    await proven(own_api, domain=NEW)
    token = await proven(own_api)
    for consent in (5, "nonsense", token):
        body = {"canonical": NEW, "consent": consent}
        refused = await own_api.client.put(f"{OWNER}/canonical", headers=bearer(token), json=body)
        assert (refused.status_code, refused.json()["type"].rpartition("/")[2]) == (400, "invalid-body"), refused.text


async def test_the_life_of_an_ownership(own_api: Api) -> None:
    headers = bearer(await proven(own_api))
    service = (await own_api.json(f"/api/services/{PIGEON}"))["data"]
    assert (service["ownership"]["state"], service["ownership"]["method"]) == ("proven", "dns")

    assert (await own_api.post(f"{OWNER}/hide", headers=headers)).json()["data"]["changed"]
    assert (await own_api.get(f"/api/services/{PIGEON}")).status_code == 404
    assert PIGEON not in str(await own_api.json("/api/services", include_unverified="true", limit="100"))
    assert (await own_api.get(OWNER, headers=headers)).json()["data"]["hidden"]
    assert (await own_api.post(f"{OWNER}/show", headers=headers)).json()["data"]["changed"]

    note = await own_api.client.put(f"{OWNER}/note", headers=headers, json={"note": "Closed on Sundays."})
    assert note.status_code == 200, note.text
    service = (await own_api.json(f"/api/services/{PIGEON}"))["data"]
    assert service["owner_note"] == "Closed on Sundays."
    assert "owner_note" in service["untrusted_text"]

    unpinned = await own_api.client.put(f"{OWNER}/canonical", headers=headers, json={"canonical": None})
    assert unpinned.status_code == 200
    url = f"https://{PIGEON}/hook"
    hook = await own_api.client.put(f"{OWNER}/webhook", headers=headers, json={"url": url, "types": ["service.*"]})
    assert hook.json()["data"]["state"] == "unverified"
    assert hook.json()["data"]["secret"].startswith("whsec_")
    shown = (await own_api.get(OWNER, headers=headers)).json()["data"]
    assert shown["webhook"]["url"] == url
    assert "secret" not in shown["webhook"]
    assert (await own_api.client.delete(f"{OWNER}/webhook", headers=headers)).json()["data"]["changed"]
    assert (await own_api.post(f"{OWNER}/recheck", headers=headers)).status_code == 200

    new = (await own_api.post(f"{OWNER}/token", headers=headers)).json()["data"]["owner_token"]
    assert (await own_api.get(OWNER, headers=headers)).status_code == 401
    assert (await own_api.post(f"{OWNER}/opt-out", headers=bearer(new))).status_code == 200
    assert (await own_api.get(f"/api/services/{PIGEON}")).status_code == 410
    standing = (await own_api.json(f"/api/opt-outs/{PIGEON}"))["data"]
    assert (standing["opted_out"], standing["how"]) == (True, "owner")


async def test_checks_of_addresses_for_calls_are_shown_and_switched_off(own_api: Api) -> None:
    headers, path = bearer(await proven(own_api)), f"/api/services/{PIGEON}/capabilities/create_parcel"
    assert (await own_api.json(path))["endpoint_check"] is None
    assert (await own_api.json(f"/api/services/{PIGEON}"))["data"]["endpoint_checks"] == []
    address, at = f"{PIGEON_BASE}/v1/create_parcel", datetime(2026, 11, 20, 8, tzinfo=UTC)
    gone = f"{PIGEON_BASE}/v1/no_longer_named"
    checks = [CallCheck(url, "OPTIONS", False, 410, "status_410", at) for url in (address, gone)]
    async with own_api.store.begin() as uow:
        await uow.call_checks.add({(registrable_domain(PIGEON), PIGEON): checks})
    shown = {
        "address": address, "method": "OPTIONS", "answers": False, "status": 410, "reason": "status_410",
        "checked_at": "2026-11-20T08:00:00.000Z",
    }  # fmt: skip
    assert (await own_api.json(path))["endpoint_check"] == shown
    assert (await own_api.json(f"/api/services/{PIGEON}"))["data"]["endpoint_checks"] == [shown]

    off = await own_api.client.delete(f"{OWNER}/call-checks", headers=headers)
    assert off.status_code == 200 and off.json()["data"]["changed"], off.text
    assert not (await own_api.get(OWNER, headers=headers)).json()["data"]["checks_calls"]
    assert (await own_api.post(f"{OWNER}/call-checks", headers=headers)).json()["data"]["changed"]
    assert (await own_api.get(OWNER, headers=headers)).json()["data"]["checks_calls"]


async def test_every_row_shows_who_owns_the_host(own_api: Api) -> None:
    await pinned(own_api)
    found = (await own_api.json("/api/discover", q="parcel"))["data"]
    rows = [row["service"] for row in found] + (await own_api.json("/api/services", limit=100))["data"]
    shown = [(row["domain"], row["owned"], row["canonical_host"]) for row in rows]
    assert shown.count((PIGEON, True, NEW)) == 2
    assert {row[1:] for row in shown if row[0] != PIGEON} == {(False, None)}
    listed = (await own_api.json("/ard/agents", pageSize=100))["items"]
    searched = (await own_api.post("/ard/search", json={"query": {"text": "parcel"}})).json()["results"]
    for entry in (*listed, *searched):
        known = entry["metadata"]
        expected = (True, NEW) if known["waypost:host"] == PIGEON else (False, None)
        assert (known["waypost:owned"], known["waypost:canonicalHost"]) == expected
    assert PIGEON in {entry["metadata"]["waypost:host"] for entry in searched}


async def test_an_owner_has_the_webhook_tested_and_sees_the_attempts(own_api: Api) -> None:
    headers, test = bearer(await proven(own_api)), f"{OWNER}/webhook/test?wait=0"
    assert (await own_api.post(test, headers=headers)).status_code == 400, "there is none"
    await own_api.client.put(f"{OWNER}/webhook", headers=headers, json={"url": f"https://{PIGEON}/hook"})

    async def attempt(made: Attempt) -> str:
        [outgoing] = await own_api.waypost.webhooks.due(10, ())
        await own_api.waypost.webhooks.record(outgoing, made)
        return outgoing.message.purpose

    async def owned() -> Any:
        return (await own_api.get(OWNER, headers=headers)).json()["data"]

    assert await attempt(Attempt(None, "connection_refused", duration_ms=3)) == "challenge"
    assert (await owned())["webhook"]["next_attempt_at"] is not None
    assert await own_api.waypost.webhooks.due(10, ()) == [], "not before the next attempt"
    asked = (await own_api.post(test, headers=headers)).json()["data"]
    assert (asked["says"], asked["delivery"]) == ("A worker sends it within seconds.", None)
    assert await attempt(Attempt(200)) == "challenge", "the owner asked for it"
    await own_api.post(test, headers=headers)
    assert await attempt(Attempt(204, duration_ms=5)) == "test"
    assert await own_api.waypost.webhooks.due(10, ()) == [], "a test is sent once"
    waiting = asyncio.create_task(own_api.post(test.replace("wait=0", "wait=20"), headers=headers))
    due: list[Outgoing] = []

    async def is_due() -> bool:
        due.extend(await own_api.waypost.webhooks.due(10, ()))
        return bool(due)

    await until_true(is_due)
    await own_api.waypost.webhooks.record(due[0], Attempt(500, "http_500", duration_ms=9))
    data = (await waiting).json()["data"]
    assert (data["says"], data["delivery"]["status"]) == ("Not delivered.", 500)
    shown = await owned()
    assert [(one["event"], one["delivered"], one["status"], one["reason"]) for one in shown["deliveries"]] == [
        ("webhook.test", False, 500, "http_500"),
        ("webhook.test", True, 204, ""),
        ("webhook.challenge", True, 200, ""),
        ("webhook.challenge", False, None, "connection_refused"),
    ]
    assert shown["webhook"]["state"] == "active", "a test has no effect"
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE webhooks SET disabled_at = now(), disabled_reason = 'gone'")
    assert (await own_api.post(test, headers=headers)).status_code == 400


async def test_a_challenge_that_an_owner_asks_for_counts_against_the_limits(own_api: Api) -> None:
    headers, test = bearer(await proven(own_api)), f"{OWNER}/webhook/test?wait=0"
    await own_api.client.put(f"{OWNER}/webhook", headers=headers, json={"url": f"https://{PIGEON}/hook"})
    for _ in range(MAX_CHALLENGES_OF_HOST):
        assert (await own_api.post(test, headers=headers)).status_code == 200
        [outgoing] = await own_api.waypost.webhooks.due(10, ())
        await own_api.waypost.webhooks.record(outgoing, Attempt(500, "http_500"))
    refused = await own_api.post(test, headers=headers)
    assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 80_000


async def test_a_token_tells_its_host(own_api: Api) -> None:
    token = await proven(own_api)
    told = (await own_api.get("/api/owner", headers=bearer(token))).json()["data"]
    assert (told["domain"], told["scope"]) == (PIGEON, "host")
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    for other in (wrong, "wp_owner_0123456789abcdef_" + "x" * 43, "nonsense"):
        assert (await own_api.get("/api/owner", headers=bearer(other))).status_code == 401


async def test_a_check_says_what_it_found_and_when_the_next_is_possible(own_api: Api) -> None:
    claim = await claimed(own_api, method="file")
    headers, url = bearer(claim["claim_token"]), f"/api/claims/{claim['id']}"
    assert (claim["check_after"], claim["next_check_at"], claim["token_taken"]) == (None, None, False)
    await own_api.post(f"{url}/check?wait=0", headers=headers)
    [check] = await own_api.waypost.claims.take(10)
    await own_api.waypost.claims.settle(check.claim, "missing", "http_403")
    data = (await own_api.get(url, headers=headers)).json()["data"]
    assert (data["reason"], data["says"]) == ("http_403", "The server refuses the file (status 403).")
    assert data["fix"] and data["check_after"] > data["checked_at"]
    assert data["next_check_at"] is None, "a file is requested only when the claimant asks"


WRITES = ("recheck", "hide", "show", "call-checks", "token", "opt-out", "webhook/test")


async def test_without_a_valid_token_nothing_is_allowed(own_api: Api) -> None:
    claim = await claimed(own_api)
    invented = "wp_owner_0123456789abcdef_" + "x" * 43
    for token in ("", "nonsense", claim["claim_token"], invented):
        for path in WRITES:
            refused = await own_api.post(f"{OWNER}/{path}", headers=bearer(token))
            assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert (await own_api.get(OWNER, headers=bearer(token))).status_code == 401
    url = f"/api/claims/{claim['id']}"
    assert (await own_api.get(url)).status_code == 401
    assert (await own_api.post(f"{url}/check", headers=bearer(invented))).status_code == 401
    other = await claimed(own_api)
    assert (await own_api.get(url, headers=bearer(other["claim_token"]))).status_code == 401


async def test_a_token_of_another_host_is_forbidden(own_api: Api) -> None:
    headers = bearer(await proven(own_api, domain="doves.com"))
    for path in WRITES:
        assert (await own_api.post(f"{OWNER}/{path}", headers=headers)).status_code == 403
    for path, body in (
        ("note", {"note": "x"}),
        ("canonical", {"canonical": None}),
        ("webhook", {"url": "https://a.com/"}),
    ):
        assert (await own_api.client.put(f"{OWNER}/{path}", headers=headers, json=body)).status_code == 403
    assert (await own_api.get(f"/api/services/{PIGEON}")).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        [], {}, {"domain": 1, "method": "dns"}, {"domain": PIGEON}, {"domain": PIGEON, "method": "mail"},
        {"domain": PIGEON, "method": ["dns"]}, {"domain": PIGEON, "method": "file", "scope": "domain"},
        {"domain": PIGEON, "method": "dns", "more": 1}, {"domain": "127.0.0.1", "method": "dns"},
        {"domain": "co.uk", "method": "dns", "scope": "domain"}, {"domain": "x" * 3_000, "method": "dns"},
    ],
)  # fmt: skip
async def test_bad_claims_are_refused(own_api: Api, body: object) -> None:
    assert (await own_api.post("/api/claims", json=body)).status_code == 400


async def test_bad_settings_are_refused(own_api: Api) -> None:
    headers = bearer(await proven(own_api))
    for path, body in (
        ("note", {"note": 1}), ("note", {"note": "x" * 501}), ("note", []), ("note", {"note": "", "more": 1}),
        ("canonical", {}), ("canonical", {"canonical": 1}), ("canonical", {"canonical": "doves.com"}),
        ("canonical", {"canonical": "bad name"}), ("webhook", {}), ("webhook", {"url": "http://a.com/"}),
        ("webhook", {"url": "https://127.0.0.1/"}), ("webhook", {"url": "https://user:pass@a.com/"}),
        ("webhook", {"url": "https://a.com/", "types": ["invented"]}),
        ("webhook", {"url": "https://a.com/", "types": "all"}),
    ):  # fmt: skip
        refused = await own_api.client.put(f"{OWNER}/{path}", headers=headers, json=body)
        assert refused.status_code == 400, (path, body, refused.text)
    assert (await own_api.post(f"{OWNER}/opt-out", headers=headers, json={"undo": "yes"})).status_code == 400
    assert (await own_api.post(f"{OWNER}/opt-out", headers=headers, json={"undo": True})).status_code == 400


async def test_no_log_shows_a_token(own_api: Api, caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    caplog.set_level(logging.DEBUG)
    token = await proven(own_api)
    headers = bearer(token)
    await own_api.post(f"{OWNER}/hide", headers=headers)
    await own_api.post(f"{OWNER}/opt-out?token={token}", headers=headers)
    written = capfd.readouterr()
    own = "".join(entry.getMessage() for entry in caplog.records if not entry.name.startswith("httpx"))
    assert token.split("_", 3)[3] not in own + written.out + written.err, "but for the log of the client"
