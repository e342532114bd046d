"""Evidence, history, availability and earlier states of services over HTTP."""

import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest

from registry.store.records import OptOutRecord
from tests.api.sites import FAILING, NOTHING, PIGEON
from tests.support.api import Api, make_client
from tests.support.builders import ADP, DAY, Page, adp_manifest, adp_site, crawl

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOST = "pigeons.example"
ONLY = pytest.mark.asyncio(loop_scope="function")


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


async def evidence(api: Api, host: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.json(f"/api/services/{host}/evidence"))["data"]["documents"]
    return found


async def manifest(api: Api, host: str = PIGEON) -> dict[str, Any]:
    return next(document for document in await evidence(api, host) if document["url"] == f"https://{host}{ADP}")


async def execute(api: Api, statement: str, *values: Any) -> None:
    async with api.store.engine.begin() as connection:
        await connection.exec_driver_sql(statement, values)


async def test_evidence_says_how_each_document_was_fetched(api: Api) -> None:
    document = await manifest(api)
    assert document["status"] == 200 and document["outcome"] == "found" and document["format"] == "adp"
    assert document["headers"]["content-type"] == "application/json"
    assert document["tls"] == {"verified": True, "minimum_version": "1.2"}
    assert document["address"] == "192.0.2.1" and document["redirects"] == [] and document["fetched_at"]
    assert document["id"] == hashlib.sha256(document["url"].encode()).hexdigest()
    one = (await api.json(f"/api/services/{PIGEON}/evidence/{document['id']}"))["data"]["document"]
    assert one == document


async def test_the_bytes_are_a_download_with_their_digest(api: Api) -> None:
    document = await manifest(api)
    path = document["bytes_url"].partition("registry.example")[2]
    response = await api.get(path)
    assert response.status_code == 200
    assert (
        hashlib.sha256(response.content).hexdigest() == document["sha256"] and len(response.content) == document["size"]
    )
    assert response.headers["etag"] == f'"{document["sha256"]}"'
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["content-disposition"].startswith("attachment;")
    assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert response.headers["x-content-type-options"] == "nosniff"
    again = await api.get(path, headers={"If-None-Match": response.headers["etag"]})
    assert again.status_code == 304 and again.content == b""


@pytest.mark.parametrize("wrong", ["0" * 64, "zz", "0" * 63, "0" * 65, "%00", "A" * 64])
async def test_an_id_of_no_document_is_refused(api: Api, wrong: str) -> None:
    for path in (f"/api/services/{PIGEON}/evidence/{wrong}", f"/api/services/{PIGEON}/evidence/{wrong}/raw"):
        assert (await api.get(path)).status_code in (400, 404)


async def test_an_id_of_another_host_is_unknown(api: Api) -> None:
    document = await manifest(api)
    response = await api.get(f"/api/services/bikes.example/evidence/{document['id']}/raw")
    assert response.status_code == 404 and response.json()["type"] == "/api/problems/unknown-document"


@pytest.mark.parametrize("part", ["evidence", "history", "uptime"])
async def test_an_unknown_host_is_a_404(api: Api, part: str) -> None:
    for name in ("nobody-ever.example", "%00", "a" * 300, "127.0.0.1"):
        assert (await api.get(f"/api/services/{name}/{part}")).status_code == 404


async def test_a_host_without_documents_has_no_evidence(api: Api) -> None:
    assert await evidence(api, NOTHING) == []
    assert (await api.json(f"/api/services/{NOTHING}/history"))["data"]["versions"] == []


@ONLY
async def test_nothing_is_shown_of_a_site_that_opted_out_or_is_hidden(own_api: Api) -> None:
    document = await manifest(own_api)
    paths = [
        f"/api/services/{PIGEON}/{part}"
        for part in ("evidence", "history", f"evidence/{document['id']}", f"evidence/{document['id']}/raw")
    ]
    paths.append(f"/api/services/{PIGEON}?as_of={now().isoformat()[:19]}Z")
    await execute(own_api, "UPDATE services SET hidden = true WHERE host = %s", PIGEON)
    assert [(await own_api.get(path)).status_code for path in paths] == [404] * 5
    await execute(own_api, "UPDATE services SET hidden = false WHERE host = %s", PIGEON)
    assert [(await own_api.get(path)).status_code for path in paths] == [200] * 5
    async with own_api.store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("pigeonpost.example", "pigeonpost.example", "file", "", now())])
    assert [(await own_api.get(path)).status_code for path in paths] == [403] * 5


@ONLY
async def test_a_site_can_forbid_copies_of_its_documents(own_api: Api) -> None:
    site = {ADP: Page(adp_manifest(HOST, "send"), headers={"x-robots-tag": "noindex, NOARCHIVE"})}
    await crawl(own_api.store, {HOST: site}, now())
    document = await manifest(own_api, HOST)
    assert document["bytes"] == "forbidden" and document["bytes_url"] is None
    response = await own_api.get(f"/api/services/{HOST}/evidence/{document['id']}/raw")
    assert response.status_code == 404 and response.json()["reason"] == "forbidden"


@ONLY
async def test_a_service_names_the_parts_of_its_documents_that_were_not_read(own_api: Api) -> None:
    call = {"summary": "Send a pigeon", "responses": {}}
    paths = {"/send": {"post": call}, "https://pigeon.org/return": {"post": call}}
    api = {"openapi": "3.1.0", "info": {"title": "Pigeons", "version": "1"}, "paths": paths}
    pages = {"/llms.txt": Page("# Pigeons\n\n- [API](/openapi.json)\n", media_type="text/plain")}
    site = pages | {"/openapi.json": Page(api | {"servers": [{"url": f"https://{HOST}"}]})}
    await crawl(own_api.store, {HOST: site}, now())
    service = (await own_api.json(f"/api/services/{HOST}"))["data"]
    unread = {one["url"].rpartition("/")[2]: one["unread"] for one in service["documents"]}
    part = {"pointer": "/paths/https:~1~1pigeon.org~1return/post", "name": "post"}
    assert unread == {"llms.txt": {"count": 0, "parts": []}, "openapi.json": {"count": 1, "parts": [part]}}
    assert "1 part not read" in (await own_api.get(f"/s/{HOST}", headers={"accept": "text/html"})).text


@ONLY
async def test_hostile_headers_and_bytes_are_only_data(own_api: Api) -> None:
    hostile = {"server": "evil\r\nSet-Cookie: a=b\x00" + "x" * 9_000, "set-cookie": "secret=1", "vary": "\u202egnp"}
    site = {ADP: Page(adp_manifest(HOST, "send"), headers=hostile)}
    await crawl(own_api.store, {HOST: site}, now())
    response = await own_api.get(f"/api/services/{HOST}/evidence")
    assert response.status_code == 200 and "set-cookie" not in response.headers and "secret" not in response.text
    document = await manifest(own_api, HOST)
    assert len(document["headers"]["server"]) <= 500
    await execute(own_api, "UPDATE bodies SET body = %s WHERE domain = %s", b"\xff" * 3_000_000, HOST)
    raw = await own_api.get(document["bytes_url"].partition("registry.example")[2])
    assert raw.status_code == 200 and len(raw.content) == 3_000_000
    assert raw.headers["content-type"] == "application/octet-stream"


async def changed(api: Api) -> tuple[datetime, datetime]:
    """Crawl a host twice, ten days apart; return both times."""
    first, second = now() - 20 * DAY, now() - 10 * DAY
    await crawl(api.store, {HOST: adp_site(HOST, "send")}, first)
    await crawl(api.store, {HOST: adp_site(HOST, "send", "track", name="Carrier pigeons")}, second)
    return first, second


@ONLY
@pytest.mark.asyncio(loop_scope="function")  # as its registry, which waits for its processes
async def test_history_has_the_difference_of_two_versions(own_api: Api) -> None:
    await changed(own_api)
    versions = (await own_api.json(f"/api/services/{HOST}/history"))["data"]["versions"]
    of_manifest = [version for version in versions if version["url"].endswith(ADP)]
    assert [version["what"] for version in of_manifest] == ["content", "first"]
    operations = of_manifest[0]["difference"]["operations"]
    assert {"op": "replace", "path": "/name", "value": "Carrier pigeons", "old": "Pigeon post of pigeons"} in operations
    assert "/capabilities/1" in {operation["path"] for operation in operations}
    assert of_manifest[1]["difference"] is None and of_manifest[1]["why_no_difference"] == "first"
    await execute(own_api, "DELETE FROM bodies WHERE sha256 = %s", bytes.fromhex(of_manifest[1]["sha256"]))
    versions = (await own_api.json(f"/api/services/{HOST}/history"))["data"]["versions"]
    latest = next(version for version in versions if version["url"].endswith(ADP))
    assert latest["why_no_difference"] == "not_kept"


@ONLY
@pytest.mark.asyncio(loop_scope="function")  # as its registry, which waits for its processes
async def test_a_huge_history_is_paged_without_gaps(own_api: Api) -> None:
    await changed(own_api)
    await execute(
        own_api,
        "INSERT INTO document_history SELECT domain, host, url_hash, changed_at - n * interval '1 minute', url,"
        " outcome, reason, format, dialect, status, size, sha256 FROM document_history, generate_series(1, 5000) n"
        " WHERE host = %s AND url LIKE '%%/agent'",
        HOST,
    )
    async with own_api.store.engine.begin() as connection:
        total = (
            await connection.exec_driver_sql("SELECT count(*) FROM document_history WHERE host = %s", (HOST,))
        ).scalar()
    seen: list[tuple[str, str]] = []
    cursor: str | None = None
    for _ in range(25):
        page = await own_api.json(f"/api/services/{HOST}/history", limit=50, **({"cursor": cursor} if cursor else {}))
        seen += [(version["changed_at"], version["url"]) for version in page["data"]["versions"]]
        cursor = page["next_cursor"]
    assert total is not None and total > 10_000 and cursor is not None
    assert len(seen) == 25 * 50 == len(set(seen)) and [at for at, _ in seen] == sorted(
        (at for at, _ in seen), reverse=True
    )


@ONLY
async def test_a_cursor_is_of_one_host(own_api: Api) -> None:
    await changed(own_api)
    cursor = (await own_api.json(f"/api/services/{HOST}/history", limit=1))["next_cursor"]
    assert (await own_api.get(f"/api/services/{HOST}/history?cursor={cursor}")).status_code == 200
    refused = await own_api.get(f"/api/services/{PIGEON}/history?cursor={cursor}")
    assert refused.status_code == 400 and refused.json()["type"] == "/api/problems/invalid-cursor"


@pytest.mark.parametrize("cursor", ["", "x", "%00", "A" * 65, "A" * 66, "AQ" + "_" * 64, "%F0%9F%90%A6", "A" * 101])
async def test_bad_cursors_are_refused(api: Api, cursor: str) -> None:
    assert (await api.get(f"/api/services/{PIGEON}/history?cursor={cursor}")).status_code == 400


@ONLY
@pytest.mark.asyncio(loop_scope="function")  # as its registry, which waits for its processes
async def test_a_service_as_of_an_earlier_time(own_api: Api) -> None:
    first, second = await changed(own_api)
    before = (await own_api.json(f"/api/services/{HOST}", as_of=iso(second - DAY)))["data"]
    assert before["manifest"]["name"] == "Pigeon post of pigeons"
    assert [entry["name"] for entry in before["manifest"]["capabilities"]] == ["send"]
    assert before["as_of"]["score"] == "stored" and before["as_of"]["at"].startswith(iso(second - DAY)[:19])
    after = (await own_api.json(f"/api/services/{HOST}", as_of=iso(second + DAY)))["data"]
    assert after["manifest"]["name"] == "Carrier pigeons" and len(after["manifest"]["capabilities"]) == 2
    await execute(own_api, "DELETE FROM scores WHERE host = %s", HOST)
    assert (await own_api.json(f"/api/services/{HOST}", as_of=iso(second)))["data"]["as_of"]["score"] == "recomputed"
    early = await own_api.get(f"/api/services/{HOST}?as_of={iso(first - DAY)}")
    assert early.status_code == 404 and early.json()["reason"] == "before_first_version"
    assert early.json()["first_version_at"].startswith(iso(first)[:19])
    await execute(own_api, "DELETE FROM bodies WHERE domain = %s", HOST)
    lost = await own_api.get(f"/api/services/{HOST}?as_of={iso(second - DAY)}")
    assert lost.status_code == 404 and lost.json()["reason"] == "bytes_not_kept"


def iso(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026", "2026-11-01", "2026-13-01T00:00:00Z", "2026-11-01T00:00:00", "2026-11-01T25:00:00Z", "%00",
     "0001-01-01T00:00:00%2B23:00", "9999-12-31T23:59:59-23:00", "2999-01-01T00:00:00Z", "1e9", "2026-11-01t00:00:00z",
     "2026-11-01T00:00:00.1234567Z", "%D9%A2026-11-01T00:00:00Z", "2026-11-01T00:00:00%2B99:99"],
)  # fmt: skip
async def test_bad_times_are_refused(api: Api, text: str) -> None:
    response = await api.get(f"/api/services/{PIGEON}?as_of={text}")
    assert response.status_code == 400 and "must" in response.json()["detail"]


@pytest.mark.parametrize("text", ["1969-01-01T00:00:00Z", "0001-01-02T00:00:00Z", "2020-01-01T00:00:00+02:00"])
async def test_times_before_the_first_visit_are_a_404(api: Api, text: str) -> None:
    response = await api.get(f"/api/services/{PIGEON}?as_of={text}")
    assert response.status_code == 404 and response.json()["reason"] == "before_first_version"


async def test_uptime_of_ninety_days_counts_only_what_was_measured(api: Api) -> None:
    data = (await api.json(f"/api/services/{FAILING}/uptime"))["data"]
    assert len(data["days"]) == 90 and data["days"][-1]["day"] == datetime.now(UTC).date().isoformat()
    assert data["checks"] == 4 and data["measured_days"] == 4
    assert data["uptime_percentage"] == 25.0
    unmeasured = [day for day in data["days"] if day["checks"] == 0]
    assert len(unmeasured) == 86 and {day["uptime_percentage"] for day in unmeasured} == {None}
    assert len((await api.json(f"/api/services/{PIGEON}/uptime", days=7))["data"]["days"]) == 7
    for days in ("0", "-1", "many", "1.5"):
        assert (await api.get(f"/api/services/{PIGEON}/uptime?days={days}")).status_code == 400


async def test_the_record_has_fingerprints_dates_and_claims(api: Api) -> None:
    data = (await api.json(f"/api/services/{PIGEON}"))["data"]
    for entry in data["manifest"]["capabilities"]:
        assert len(entry["fingerprint"]) == 64 and entry["first_seen_at"] <= entry["changed_at"]
    detail = await api.json(f"/api/services/{PIGEON}/capabilities/create_parcel")
    entry = next(item for item in data["manifest"]["capabilities"] if item["name"] == "create_parcel")
    assert (detail["fingerprint"], detail["changed_at"]) == (entry["fingerprint"], entry["changed_at"])
    assert data["trust"]["since"] is not None
    assert [reason["reason"] for reason in data["trust"]["explained"]] == list(data["trust"]["reasons"])
    assert all(reason["since"] for reason in data["trust"]["explained"])
    assert set(data["trust"]["claimed"]) <= data.keys()


@ONLY
@pytest.mark.asyncio(loop_scope="function")  # as its registry, which waits for its processes
async def test_versions_that_are_too_large_are_not_compared(own_api: Api) -> None:
    await changed(own_api)
    await execute(own_api, "UPDATE document_history SET size = 3000000 WHERE host = %s", HOST)
    versions = (await own_api.json(f"/api/services/{HOST}/history"))["data"]["versions"]
    latest = next(version for version in versions if version["url"].endswith(ADP))
    assert latest["difference"] is None and latest["why_no_difference"] == "too_large"


@ONLY
async def test_the_bytes_of_a_large_document_cost_units(own_api: Api) -> None:
    document = await manifest(own_api)
    await execute(own_api, "UPDATE documents SET size = 1600000 WHERE url = %s", document["url"])
    path = document["bytes_url"].partition("registry.example")[2]
    async with make_client(own_api.waypost, own_api.waypost.settings.model_copy(update={"read_rate": 20})) as client:
        assert (await client.get("/api/rubric")).status_code == 200
        for _ in range(11):
            assert (await client.get("/api/rubric")).status_code == 200
        refused = await client.get(path)
        assert refused.status_code == 429 and refused.json()["limit"] == "work"


async def test_texts_of_sites_are_marked(api: Api) -> None:
    marked = (await api.json(f"/api/services/{PIGEON}/evidence"))["data"]["untrusted_text"]
    assert {"documents.url", "documents.final_url", "documents.headers", "documents.redirects"} <= set(marked)
    marked = (await api.json(f"/api/services/{PIGEON}/history"))["data"]["untrusted_text"]
    assert {"versions.url", "versions.difference"} <= set(marked)
