"""The operations of operators: keys and scopes, blocks and quarantines, the audit log, what waits."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import pytest

from registry.core.access.audit import AuditEvent
from registry.core.access.tokens import SCOPES, Scope
from registry.core.names.seeds import Seed
from registry.edge.requests import unauthorized
from registry.wiring.schedule import JOB_BY_NAME
from tests.api.sites import PIGEON, TOOLS
from tests.support.api import PUBLIC_URL, Api
from tests.support.builders import on
from tests.support.database import rows

pytestmark = pytest.mark.slow  # a database and an index for each

OPERATIONS: dict[tuple[str, str], Scope] = {
    ("GET", "/api/admin/blocks"): "blocks",
    ("POST", "/api/admin/blocks"): "blocks",
    ("DELETE", f"/api/admin/blocks/{PIGEON}"): "blocks",
    ("GET", "/api/admin/audit"): "audit",
    ("GET", "/api/admin/queue"): "queue",
    ("GET", "/api/admin/queue/domains"): "queue",
    ("GET", "/api/admin/queue/failing"): "queue",
    ("GET", "/api/admin/seeds"): "queue",
    ("GET", "/api/admin/jobs"): "queue",
    ("POST", "/api/admin/visits"): "visits",
    ("GET", "/api/admin/keys"): "keys",
    ("POST", "/api/admin/keys"): "keys",
    ("DELETE", "/api/admin/keys/0123456789abcdef"): "keys",
    ("GET", "/api/admin/reports"): "reports",
    ("POST", f"/api/admin/reports/{UUID(int=1)}"): "reports",
}


async def key_for(api: Api, *scopes: Scope, days: int | None = None) -> dict[str, str]:
    """Return the header of a request with a new key."""
    _, token = await api.waypost.access.make_key("test", scopes, days=days)
    return {"Authorization": f"Bearer {token.text}"}


async def ask(api: Api, method: str, path: str, headers: dict[str, str], **options: Any) -> Any:
    return await api.client.request(method, path, headers=headers, **options)


async def shown(api: Api) -> set[str]:
    listed = await api.json("/api/services", limit=100, include_unverified="true")
    return {row["domain"] for row in listed["data"]}


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
async def test_every_operation_needs_a_key_with_its_scope(own_api: Api, method: str, path: str) -> None:
    scope = OPERATIONS[method, path]
    reads = "read" if method == "GET" else scope
    others = await key_for(own_api, *(other for other in SCOPES if other not in (scope, reads)))
    for headers, status in (
        ({}, 401),
        ({"Authorization": "Bearer x"}, 401),
        ({"Authorization": "Bearer wp_key_0123456789abcdef_" + "a" * 43}, 401),
        (others, 403),
    ):
        answer = await ask(own_api, method, path, headers)
        assert answer.status_code == status, answer.text
        assert ("www-authenticate" in answer.headers) == (status == 401)
    assert await rows(own_api.store, "SELECT 1 FROM listing_holds") == []
    for able in {scope, reads}:
        allowed = await ask(own_api, method, path, await key_for(own_api, able))
        assert allowed.status_code in (200, 400, 404), allowed.text


async def test_a_key_makes_keys_that_can_do_and_last_no_more_and_revokes_them(own_api: Api) -> None:
    _, token = await own_api.waypost.access.make_key("Ann", ["keys", "queue"], days=10)
    headers = {"Authorization": f"Bearer {token.text}"}
    own = (await ask(own_api, "GET", "/api/admin/key", headers)).json()["data"]
    assert (own["name"], own["scopes"], own["revoked_at"]) == ("Ann", ["keys", "queue"], None)
    body = {"name": " Ben ", "scopes": ["queue"], "days": 9, "reason": "Ben looks after it."}
    for change, status in (
        ({"scopes": ["blocks"]}, 403), ({"scopes": ["queue", "read"]}, 403), ({"days": 11}, 403),
        ({"scopes": ["nothing"]}, 400), ({"scopes": []}, 400), ({"days": 0}, 400), ({"name": " "}, 400),
        ({"name": "a\n"}, 400), ({"name": "x" * 101}, 400), ({"scopes": "queue"}, 400),
    ):  # fmt: skip
        answer = await ask(own_api, "POST", "/api/admin/keys", headers, json={**body, **change})
        assert answer.status_code == status, answer.text
    endless = {name: value for name, value in body.items() if name != "days"}
    assert (await ask(own_api, "POST", "/api/admin/keys", headers, json=endless)).status_code == 403
    made = await ask(own_api, "POST", "/api/admin/keys", headers, json=body)
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store, no-transform"), made.text
    ben = made.json()["data"]
    assert (await ask(own_api, "GET", "/api/admin/queue", {"Authorization": f"Bearer {ben['token']}"})).is_success
    page = (await ask(own_api, "GET", "/api/admin/keys?limit=1", headers)).json()["data"]
    assert [one["id"] for one in page["keys"]] == [ben["id"]] and "token" not in page["keys"][0]
    after = (await ask(own_api, "GET", "/api/admin/keys", headers, params={"cursor": page["cursor"]})).json()["data"]
    assert own["id"] in [one["id"] for one in after["keys"]] and ben["id"] not in [one["id"] for one in after["keys"]]
    for cursor in ("x", "2026-01-01T00:00:00/", "2026-01-01T00:00:00+00:00/\0", "/" * 99):
        refused = await ask(own_api, "GET", "/api/admin/keys", headers, params={"cursor": cursor})
        assert refused.status_code == 400, cursor
    for status in (200, 404):
        gone = await ask(own_api, "DELETE", f"/api/admin/keys/{ben['id']}?reason=He+left.", headers)
        assert gone.status_code == status, gone.text
    assert (await ask(own_api, "DELETE", "/api/admin/keys/%00", headers)).status_code == 404
    assert (
        await ask(own_api, "GET", "/api/admin/queue", {"Authorization": f"Bearer {ben['token']}"})
    ).status_code == 401
    log = await ask(
        own_api, "GET", f"/api/admin/audit?subject=key&actor=key:{own['id']}", await key_for(own_api, "read")
    )
    entries = [(one["key_name"], one["action"], one["reason"]) for one in log.json()["data"]["entries"]]
    assert entries[:2] == [("Ann", "key.revoked", "He left."), ("Ann", "key.made", "Ben looks after it.")]
    assert all(one["actor"] == f"key:{own['id']}" for one in log.json()["data"]["entries"])
    assert ben["token"].rpartition("_")[2] not in log.text


async def test_an_operator_sees_the_queue_and_has_a_host_visited(own_api: Api) -> None:
    async def get(path: str, **query: str) -> Any:
        answer = await ask(own_api, "GET", f"/api/admin/{path}", reading, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    reading, visiting = await key_for(own_api, "read"), await key_for(own_api, "visits")
    seeds = [Seed(f"shop-{number}.com", "shops.txt") for number in range(5)]
    await own_api.waypost.frontier.seed(seeds, source="file")
    found, cursor = [], ""
    for _ in range(20):
        page = await get("queue/domains", limit="2", **({"cursor": cursor} if cursor else {}))
        found += [(one["domain"], one["host"], one["why"]) for one in page["domains"]]
        if (cursor := page["cursor"]) is None:
            break
    assert [one for one in found if one[0].startswith("shop-")] == [
        (f"shop-{number}.com", f"shop-{number}.com", "new") for number in range(5)
    ]
    assert len(found) == len(set(found))
    assert (await get("queue/domains", state="leased"))["domains"] == []
    assert await own_api.waypost.crawl.lease(limit=1, holder=1, only=["shop-0.com"]) is not None
    (leased,) = (await get("queue/domains", state="leased"))["domains"]
    assert (leased["domain"], leased["attempts"]) == ("shop-0.com", 1)
    (shops,) = [one for one in (await get("seeds"))["lists"] if one["list"] == "shops.txt"]
    assert (shops["source"], shops["hosts"], shops["waiting"], shops["found"]) == ("file", 5, 5, 0)
    assert all(one["failures"] > 0 for one in (await get("queue/failing"))["hosts"])
    jobs = await get("jobs")
    assert {one["job"] for one in jobs["jobs"]} == set(JOB_BY_NAME) and jobs["scheduled"] is False
    for cursor in ("x", "2026-01-01T00:00:00/a", "2026-01-01T00:00:00+00:00/\0"):
        refused = await ask(own_api, "GET", "/api/admin/queue/domains", reading, params={"cursor": cursor})
        assert refused.status_code == 400, cursor
    for domain, status in ((PIGEON.upper(), 202), ("never-seen.com", 404), ("com", 400), ("\u202e", 400)):
        body = {"domain": domain, "reason": "It was mended."}
        asked = await ask(own_api, "POST", "/api/admin/visits", visiting, json=body)
        assert asked.status_code == status, asked.text
    (entry,) = (await get("audit", subject="host", actor="key"))["entries"]
    assert (entry["action"], entry["host"], entry["reason"]) == ("host.recheck_asked", PIGEON, "It was mended.")
    public = await own_api.json("/api/audit")
    assert [one["reason"] for one in public["data"]["decisions"] if one["action"] == "host.recheck_asked"] == [""]


async def test_wrong_revoked_and_expired_keys_are_told_alike(own_api: Api) -> None:
    key, token = await own_api.waypost.access.make_key("test", ["queue"], days=None)
    _, old = await on(own_api.store, datetime.now(UTC) - timedelta(days=2)).access.make_key("old", ["queue"], days=1)
    await own_api.waypost.access.revoke_key(key.id)
    valid, _ = await own_api.waypost.access.make_key("other", ["queue"], days=None)
    wrong = f"wp_key_{valid.id}_{'c' * 43}"
    answers = [
        await ask(own_api, "GET", "/api/admin/queue", {"Authorization": f"Bearer {text}"})
        for text in (token.text, old.text, wrong)
    ]
    assert [answer.status_code for answer in answers] == [401] * 3
    assert {answer.json()["detail"] for answer in answers} == {unauthorized().detail}


async def test_a_secret_is_stored_and_logged_nowhere(own_api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    _, token = await own_api.waypost.access.make_key("test", ["queue"], days=None)
    await ask(own_api, "GET", "/api/admin/queue", {"Authorization": f"Bearer {token.text}"})
    await ask(own_api, "GET", "/api/admin/audit", {"Authorization": f"Bearer {token.text}"})
    for (table,) in await rows(own_api.store, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        query = f"SELECT count(*) FROM {table} t WHERE strpos(t::text, '{token.secret}') > 0"
        assert await rows(own_api.store, query) == [(0,)], table
    assert token.secret not in caplog.text
    assert token.secret not in repr(token)


async def test_the_day_of_the_last_use_is_noted(own_api: Api) -> None:
    await ask(own_api, "GET", "/api/admin/queue", await key_for(own_api, "queue"))
    (key,) = await own_api.waypost.access.keys()
    assert key.last_used_on == datetime.now(UTC).date()


@pytest.mark.parametrize("kind", ["block", "quarantine"])
async def test_a_block_takes_effect_with_its_answer_and_ends(own_api: Api, kind: str) -> None:
    headers = await key_for(own_api, "blocks")
    assert PIGEON in await shown(own_api)
    body = {"domain": PIGEON.upper() + ".", "kind": kind, "reason": "it copies another site"}
    made = await ask(own_api, "POST", "/api/admin/blocks", headers, json=body)
    assert made.status_code == 201, made.text
    assert (made.json()["data"]["services"], made.json()["data"]["changed"]) == ([PIGEON], True)
    assert PIGEON not in await shown(own_api)
    assert (await own_api.get(f"/api/services/{PIGEON}")).status_code == 404
    found = await own_api.json("/api/discover", q="create a parcel", include_unverified="true")
    assert PIGEON not in [row["service"]["domain"] for row in found["data"]]
    again = await ask(own_api, "POST", "/api/admin/blocks", headers, json=body)
    assert (again.status_code, again.json()["data"]["changed"]) == (200, False)
    submitted = await own_api.post("/api/services?wait=0", json={"domain": PIGEON})
    assert (submitted.status_code == 403) == (kind == "block"), submitted.text

    ended = await ask(own_api, "DELETE", f"/api/admin/blocks/{PIGEON}?kind={kind}&reason=mended", headers)
    assert (ended.status_code, ended.json()["data"]["services"]) == (200, [PIGEON]), ended.text
    assert PIGEON in await shown(own_api)
    unchanged = await ask(own_api, "DELETE", f"/api/admin/blocks/{PIGEON}?kind={kind}", headers)
    assert (unchanged.status_code, unchanged.json()["data"]["changed"]) == (200, False)


@pytest.mark.parametrize(
    "body",
    [
        [], {}, {"domain": PIGEON}, {"domain": 1, "reason": "x"}, {"domain": PIGEON, "reason": " "},
        {"domain": PIGEON, "reason": "x" * 501}, {"domain": PIGEON, "reason": "x", "kind": "hidden"},
        {"domain": PIGEON, "reason": "x", "kind": []}, {"domain": "com", "reason": "x"},
        {"domain": "\0" * 10_000, "reason": "x"}, {"domain": PIGEON, "reason": ["x"]},
    ],
)  # fmt: skip
async def test_a_wrong_body_changes_nothing(own_api: Api, body: Any) -> None:
    answer = await ask(own_api, "POST", "/api/admin/blocks", await key_for(own_api, "blocks"), json=body)
    assert answer.status_code == 400, answer.text
    assert await rows(own_api.store, "SELECT 1 FROM listing_holds") == []


async def test_blocks_reports_and_the_audit_log_are_paged_without_gaps(own_api: Api) -> None:
    headers = await key_for(own_api, "blocks", "audit", "reports")
    for host, code in product((PIGEON, TOOLS), ("spam", "dead")):
        filed = await own_api.post("/api/reports", json={"domain": host, "reason": "It is gone.", "code": code})
        assert filed.status_code == 200, filed.text
    for number in range(5):
        body = {"domain": f"host-{number}.example", "reason": f"reason {number}"}
        answer = await ask(own_api, "POST", "/api/admin/blocks", headers, json=body)
        assert answer.status_code == 201, answer.text
    for path, member, count in (
        ("/api/admin/blocks", "blocks", 5),
        ("/api/admin/audit", "entries", 10),
        ("/api/admin/reports", "reports", 4),
    ):
        found, cursor = [], None
        for _ in range(10):
            params: dict[str, Any] = {"limit": 2} | ({"cursor": cursor} if cursor else {})
            data = (await ask(own_api, "GET", path, headers, params=params)).json()["data"]
            found += data[member]
            cursor = data["cursor"]
            if cursor is None:
                break
        assert len(found) == len({str(row) for row in found}) == count
    for path in ("/api/admin/blocks", "/api/admin/audit", "/api/admin/reports"):
        for wrong in ("x", "a/b", "\0/b/c", "0" * 31):
            answer = await ask(own_api, "GET", path, headers, params={"cursor": wrong})
            assert answer.status_code == 400, (path, wrong)


async def test_a_report_is_read_and_resolved_with_a_key(own_api: Api) -> None:
    headers = await key_for(own_api, "reports")
    text = "Every call answers 410."
    filed = await own_api.post("/api/reports", json={"domain": PIGEON, "reason": text, "code": "dead"})
    status_url = filed.json()["data"]["status_url"].removeprefix(PUBLIC_URL)
    (report,) = (await ask(own_api, "GET", "/api/admin/reports", headers)).json()["data"]["reports"]
    assert (report["domain"], report["code"], report["state"], report["filings"]) == (PIGEON, "dead", "open", 1)
    assert report["texts"] == [text]
    path, body = f"/api/admin/reports/{report['id']}", {"state": "rejected", "answer": " It answers. "}
    for changed in (True, False):
        resolved = await ask(own_api, "POST", path, headers, json=body)
        data = resolved.json()["data"]
        assert (resolved.status_code, data["state"], data["answer"]) == (200, "rejected", "It answers."), resolved.text
        assert data["changed"] == changed
    assert (await own_api.json(status_url))["data"]["answer"] == "It answers."
    assert (await ask(own_api, "GET", "/api/admin/reports", headers)).json()["data"]["reports"] == []
    decided = await ask(own_api, "GET", "/api/admin/reports", headers, params={"state": "accepted,rejected"})
    assert [one["id"] for one in decided.json()["data"]["reports"]] == [report["id"]]
    async with own_api.store.begin() as uow:
        entries = await uow.audit.latest(limit=10, host=PIGEON)
    assert [(entry.actor.partition(":")[0], entry.action, entry.reason) for entry in entries] == [
        ("key", "report.resolved", "It answers."),
        ("client", "report.filed", ""),
    ]


async def test_wrong_resolutions_change_nothing(own_api: Api) -> None:
    headers = await key_for(own_api, "reports")
    await own_api.post("/api/reports", json={"domain": PIGEON, "reason": "It is gone."})
    (report,) = await own_api.waypost.reports.of_host(PIGEON)
    path = f"/api/admin/reports/{report.id}"
    for body in (
        {}, [], {"state": "closed"}, {"state": []}, {"state": "accepted", "answer": 1},
        {"state": "accepted", "answer": "x" * 1_001},
    ):  # fmt: skip
        answer = await ask(own_api, "POST", path, headers, json=body)
        assert answer.status_code == 400, (body, answer.text)
    for unknown in (str(uuid4()), "x", "%00", "1" * 5_000):
        answer = await ask(own_api, "POST", f"/api/admin/reports/{unknown}", headers, json={"state": "accepted"})
        assert answer.status_code == 404, (unknown, answer.text)
    assert await own_api.waypost.reports.of_host(PIGEON) == [report]


async def test_everybody_reads_which_decisions_concern_a_host(own_api: Api) -> None:
    headers = await key_for(own_api, "blocks")
    body = {"domain": PIGEON, "reason": "it copies another site"}
    await ask(own_api, "POST", "/api/admin/blocks", headers, json=body)
    await own_api.waypost.opt_outs.forget(TOOLS, opt_out="operator", reason="Mr X wrote to us")
    async with own_api.store.begin() as uow:
        await uow.audit.add(AuditEvent("key:1", "report.resolved", PIGEON, PIGEON, "a reporter"), now=datetime.now(UTC))
    decisions = (await own_api.json(f"/api/services/{PIGEON}/audit"))["data"]["decisions"]
    assert [(one["by"], one["action"], one["reason"]) for one in decisions] == [
        ("key", "host.blocked", "it copies another site")
    ]
    below = await own_api.json(f"/api/services/x.{PIGEON}/audit")
    assert below["data"]["decisions"] == decisions
    other = (await own_api.json(f"/api/services/{TOOLS}/audit"))["data"]["decisions"]
    assert [(one["by"], one["action"], one["reason"]) for one in other] == [("operator", "host.opted_out", "")]
    assert "Mr X" not in str(other)


async def test_everybody_reads_the_decisions_about_all_hosts(own_api: Api) -> None:
    headers = await key_for(own_api, "blocks")
    await own_api.waypost.opt_outs.forget(TOOLS, opt_out="operator", reason="Mr X wrote to us")
    await own_api.post("/api/reports", json={"domain": PIGEON, "reason": "It is gone."})
    body = {"domain": PIGEON, "reason": "it copies another site"}
    await ask(own_api, "POST", "/api/admin/blocks", headers, json=body)
    found, cursor = [], None
    for _ in range(5):
        data = await own_api.json("/api/audit", limit=1, **({"cursor": cursor} if cursor else {}))
        found += data["data"]["decisions"]
        if (cursor := data["data"]["cursor"]) is None:
            break
    assert [(one["by"], one["action"], one["host"], one["reason"]) for one in found] == [
        ("key", "host.blocked", PIGEON, "it copies another site"),
        ("operator", "host.opted_out", TOOLS, ""),
    ]
    assert set(found[0]) == {"at", "by", "action", "host", "reason"}
    assert (await own_api.get("/api/audit", params={"cursor": "x"})).status_code == 400


async def test_the_queue_counts_what_waits(own_api: Api) -> None:
    headers = await key_for(own_api, "queue")
    before = (await ask(own_api, "GET", "/api/admin/queue", headers)).json()["data"]
    await own_api.waypost.frontier.submit("new-host-1.com", client="203.0.113.9")
    await own_api.waypost.frontier.submit("new-host-2.com", client="203.0.113.9")
    await own_api.post("/api/opt-outs", json={"domain": PIGEON})
    answer = await ask(own_api, "GET", "/api/admin/queue", headers)
    data = answer.json()["data"]
    assert data["submissions"] == before["submissions"] + 2
    assert data["by_client"] == [2]
    assert data["opt_out_requests"] == 1
    assert data["oldest_submission_at"] is not None
    assert "203.0.113" not in answer.text
    assert answer.headers["cache-control"] == "no-store"
