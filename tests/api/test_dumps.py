"""Dumps over HTTP: ranges, validators, names; and the records of single hosts."""

import hashlib
import json
from typing import Any

import pytest
import pytest_asyncio

from registry.store.dump_files import lines, read_manifest
from tests.api.sites import BIKES, PIGEON
from tests.support.api import Api, make_client

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def dumped(api: Api) -> tuple[str, str, bytes]:
    """Return path, hash and bytes of a part of a dump."""
    await api.waypost.dumps.export()
    (part,) = (await api.json("/dumps/manifest.json"))["parts"]
    found = await api.waypost.dumps.part(part["name"])
    assert found is not None
    return f"/dumps/{part['name']}", part["sha256"], found[1].read_bytes()


async def test_there_is_no_dump_at_first(own_api: Api) -> None:
    answer = await own_api.get("/dumps/manifest.json")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


async def test_the_manifest_names_the_parts_by_url(api: Api, dumped: tuple[str, str, bytes]) -> None:
    path, _, raw = dumped
    answer = await api.get("/dumps/manifest.json")
    (part,) = answer.json()["parts"]
    assert part["url"] == f"https://registry.example{path}"
    assert (part["sha256"], part["bytes"]) == (hashlib.sha256(raw).hexdigest(), len(raw))
    again = await api.get("/dumps/manifest.json", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_a_part_is_served_as_it_is(api: Api, dumped: tuple[str, str, bytes]) -> None:
    path, sha256, raw = dumped
    answer = await api.get(path, headers={"Accept-Encoding": "gzip, br, zstd"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zstd")
    assert answer.content == raw and "content-encoding" not in answer.headers
    assert answer.headers["etag"] == f'"{sha256}"'
    assert answer.headers["accept-ranges"] == "bytes"
    assert "immutable" in answer.headers["cache-control"]
    assert (await api.get(path, headers={"If-None-Match": f'"{sha256}"'})).status_code == 304


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [("bytes=0-9", 0, 10), ("bytes=10-", 10, None), ("bytes=-5", -5, None), ("bytes=3-99999999", 3, None),
     ("BYTES=1-1", 1, 2), ("bytes=-99999999", 0, None)],
)  # fmt: skip
async def test_one_range(api: Api, dumped: tuple[str, str, bytes], asked: str, start: int, end: int | None) -> None:
    path, sha256, raw = dumped
    answer = await api.get(path, headers={"Range": asked, "If-Range": f'"{sha256}"'})
    expected = raw[start:end]
    first = start if start >= 0 else len(raw) + start
    assert (answer.status_code, answer.content) == (206, expected)
    assert answer.headers["content-range"] == f"bytes {first}-{first + len(expected) - 1}/{len(raw)}"
    assert answer.headers["content-length"] == str(len(expected))


@pytest.mark.parametrize(
    "headers",
    [
        {"Range": "bytes=0-1,3-4"},
        {"Range": "bytes=" + ",".join(f"{number}-{number}" for number in range(1_000))},
        {"Range": "items=0-1"},
        {"Range": "bytes=5-1"},
        {"Range": "bytes=a-b"},
        {"Range": "bytes=-"},
        {"Range": "bytes=0-1", "If-Range": '"another"'},
        {"Range": "bytes=0-1", "If-Range": "Tue, 24 Nov 2026 19:40:00 GMT"},
    ],
)
async def test_other_ranges_are_ignored(api: Api, dumped: tuple[str, str, bytes], headers: dict[str, str]) -> None:
    path, _, raw = dumped
    answer = await api.get(path, headers=headers)
    assert (answer.status_code, answer.content) == (200, raw)


@pytest.mark.parametrize("asked", ["bytes=999999999-", "bytes=-0"])
async def test_a_range_behind_the_end(api: Api, dumped: tuple[str, str, bytes], asked: str) -> None:
    path, _, raw = dumped
    answer = await api.get(path, headers={"Range": asked})
    assert (answer.status_code, answer.headers["content-type"]) == (416, "application/problem+json")
    assert answer.headers["content-range"] == f"bytes */{len(raw)}"


async def test_head_has_the_length_and_costs_one_unit(api: Api, dumped: tuple[str, str, bytes]) -> None:
    path, _, raw = dumped
    answer = await api.client.head(path)
    assert (answer.status_code, answer.headers["content-length"], answer.content) == (200, str(len(raw)), b"")


@pytest.mark.parametrize(
    "name",
    [
        "..%2fmanifest.json",
        "%2e%2e/%2e%2e/etc/passwd",
        "%2e%2e",
        ".lock",
        "manifest-20261124T010000Z.json",
        "x" * 300,
        "%00",
    ],
)
async def test_only_parts_are_served(api: Api, dumped: tuple[str, str, bytes], name: str) -> None:
    answer = await api.get(f"/dumps/{name}")
    assert answer.status_code in (400, 404)
    assert answer.headers["content-type"] == "application/problem+json"


async def test_bytes_are_charged(api: Api, dumped: tuple[str, str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("registry.edge.limiter.UNIT_FILE_BYTES", 100)
    settings = api.waypost.settings.model_copy(update={"read_rate": 10})
    async with make_client(api.waypost, settings, "203.0.113.99") as client:
        path, _, raw = dumped
        assert len(raw) > 1_000
        headers = {"Range": "bytes=0-99"}
        assert (await client.get(path, headers=headers)).headers["ratelimit"].startswith('"work";r=8')
        assert (await client.get(path)).status_code == 200
        refused = await client.get(path)
        assert (refused.status_code, refused.json()["limit"]) == (429, "work")


async def test_the_lines_hold_what_answers_show(api: Api, dumped: tuple[str, str, bytes]) -> None:
    manifest = read_manifest((await api.get("/dumps/manifest.json")).content)
    found = await api.waypost.dumps.part(manifest.parts[0].name)
    assert found is not None
    records = {record["host"]: record for record in map(json.loads, lines(found[1], found[0]))}
    listed = await api.json("/api/services", limit=100, trust_level="verified,community,unverified")
    assert set(records) == {row["domain"] for row in listed["data"]}
    assert manifest.counts["services"] == listed["total"]
    shown = (await api.json(f"/api/services/{PIGEON}"))["data"]
    record = records[PIGEON]
    assert record["score"] == shown["score"]["value"]
    assert record["grade"]["breakdown"]["lines"] == shown["score"]["lines"]
    assert [document["url"] for document in record["documents"]] == sorted(
        document["url"] for document in shown["documents"]
    )
    assert record["untrusted_text"] is True
    assert record["injection_flags"] == shown["injection_flags"]


async def ask(api: Api, hosts: Any) -> Any:
    return await api.post("/api/records", json={"hosts": hosts})


async def test_records_of_some_hosts(api: Api, dumped: tuple[str, str, bytes]) -> None:
    answer = await ask(api, [PIGEON, "nobody.example", BIKES.upper()])
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    content = answer.json()
    assert [(record["kind"], record["host"]) for record in content["records"]] == [
        ("service", PIGEON),
        ("absent", "nobody.example"),
        ("service", BIKES),
    ]
    manifest = read_manifest((await api.get("/dumps/manifest.json")).content)
    assert (content["sequence"], content["cursor"]) == (manifest.sequence, manifest.cursor)


async def test_a_host_that_opted_out_is_a_name_and_no_more(own_api: Api) -> None:
    await own_api.waypost.opt_outs.forget(PIGEON, opt_out="operator", reason="on request")
    (record,) = (await ask(own_api, [PIGEON])).json()["records"]
    assert record == {"kind": "blocked", "host": PIGEON, "covering": [{"host": PIGEON, "kind": "blocked"}]}


async def test_hosts_without_room_are_left_for_another_question(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("registry.actions.dumps.ANSWER_BYTES", 10)
    content = (await ask(api, [PIGEON, BIKES])).json()
    assert ([record["host"] for record in content["records"]], content["left"]) == ([PIGEON], [BIKES])


@pytest.mark.parametrize(
    "body",
    [[], {}, {"hosts": []}, {"hosts": "a.example"}, {"hosts": [1]}, {"hosts": ["a.example"] * 51},
     {"hosts": ["a.example"], "more": 1}, {"hosts": ["not a host"]}, {"hosts": ["-"]}, None],
)  # fmt: skip
async def test_bad_questions_are_refused(api: Api, body: Any) -> None:
    answer = await api.post("/api/records", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert "a.example" not in answer.text
