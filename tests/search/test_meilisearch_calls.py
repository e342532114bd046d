"""The Meilisearch engine without a server: requests match the published API description, and responses recorded from a
real server are understood. These tests skip where the shared descriptions are absent."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from registry.core.model.listing import Filters, SearchAway, SearchUnavailable
from registry.core.ranking import ParsedQuery, parse_query
from registry.search.backend import IndexState, WriterBusy, make_document
from registry.search.meilisearch import layout
from registry.search.meilisearch.admin import INDEXER_ACTIONS, Admin, Keys, TaskFailure, make_keys
from registry.search.meilisearch.backend import MeiliBackend
from registry.search.meilisearch.query_client import EmbedderMissing, IndexMissing, QueryClient
from tests.search.capture import Answer, Call, Capture, captured
from tests.search.contract import MAIL, MAPS, SHOP, UPDATED
from tests.search.openapi import Judge
from tests.support.shared import shared

pytestmark = pytest.mark.usefixtures("recordings", "long_time_limits")

KEYS = Keys(search="the-search-key", indexer="the-indexer-key", tasks="the-tasks-key")
MODEL = "wp_0000example0"


def recorded(number: int) -> dict[str, Any]:
    """Return request and response of one recorded exchange."""
    (path,) = shared("contracts", "meilisearch-exchanges").glob(f"{number:02}-*.json")
    exchange: dict[str, Any] = json.loads(path.read_text())
    return exchange


def answer(number: int, **changes: Any) -> Answer:
    response = recorded(number)["response"]
    return Answer(response["status"], response["body"] | changes if changes else response["body"], response["headers"])


class Engine:
    """Answer each route as a real server did, and return what was stored where a call must find it."""

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {}
        self.indexes: list[str] = []

    def __call__(self, call: Call) -> Answer:
        match call.method, *call.path.strip("/").split("/"):
            case "GET", "version":
                return answer(2)
            case "GET", "keys", _:
                return Answer(404, recorded(26)["response"]["body"] | {"code": "api_key_not_found"})
            case "POST", "keys":
                return answer(6, **call.body, key=f"key-{call.body['uid']}")
            case "GET", "indexes":
                return Answer(
                    200, {"results": [index(uid) for uid in self.indexes], "offset": 0, "limit": 1, "total": 1}
                )
            case "POST", "indexes":
                self.indexes.append(call.body["uid"])
                return answer(8)
            case "PATCH", "indexes", _, "settings":
                return answer(10)
            case "POST", "indexes", _, "documents":
                self.documents |= {document["id"]: document for document in call.body}
                return answer(14)
            case "POST", "indexes", _, "documents", "fetch":
                return answer(22, results=self._fetched(call.body), total=1)
            case "POST", "indexes", _, "documents", "delete":
                return answer(23)
            case "GET", "indexes", _, "stats":
                return answer(24, numberOfDocuments=len(self.documents))
            case "POST", "swap-indexes":
                self.indexes = [call.body[0]["indexes"][1]]
                return answer(25)
            case "DELETE", "indexes", _:
                return answer(8, type="indexDeletion")
            case "GET", "tasks":
                return Answer(200, {"results": [], "total": 0, "limit": 1, "from": None, "next": None})
            case "GET", "tasks", _:
                return answer(15)
            case "POST", "multi-search":
                statistics = self._found({}) | {"hits": [self.documents[layout.STATISTICS_ID]]}
                is_first = call.body["queries"][0]["filter"] == f'kind = "{layout.DocumentKind.STATISTICS}"'
                found = [self._found(query) for query in call.body["queries"][is_first:]]
                return Answer(200, {"results": [statistics] * is_first + found})
        raise AssertionError(f"{call.method} {call.path}")

    def _found(self, query: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = recorded(29)["response"]["body"]["results"][0 if "vector" in query else 1]
        return result | {"hits": [], "estimatedTotalHits": 0}

    def _fetched(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        ids = body.get("ids") or [
            document["id"]
            for document in self.documents.values()
            if document["kind"] == "service"
            and ("copy IN" not in body["filter"] or str(document["copy"]) in body["filter"])
        ]
        return [self.documents[document_id] for document_id in ids if document_id in self.documents]


def index(uid: str) -> dict[str, Any]:
    return {"uid": uid, "primaryKey": "id", "createdAt": "2026-11-21T18:56:10Z", "updatedAt": "2026-11-21T18:56:10Z"}


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


@pytest.fixture
def capture() -> Iterator[Capture]:
    with captured(Engine()) as server:
        yield server


async def make_every_call(url: str) -> None:
    """Make every call of the engine at least once."""
    make_keys(url, "the-master-key", "services")
    backend = MeiliBackend(url, KEYS, "services", model=MODEL, dims=4)
    for services in ([MAIL, SHOP], [MAIL, SHOP]):  # the first index is renamed, the second swapped
        async with backend.build() as build:
            await build.add([make_document(service) for service in services])
            await build.swap()
    await backend.upsert([make_document(MAPS)])
    await backend.delete(["shop.example"])
    await backend.commit()
    question = ParsedQuery("send email", {"send": "send", "email": "email"}, np.full(4, 0.5, np.float32), None, MODEL)
    filters = Filters(
        formats=("adp", "awp"),
        auth_types=("none",),
        pricing_types=("free",),
        protocols=("mcp",),
        min_score=3,
        updated_after=UPDATED,
    )
    for query in (question, parse_query(" "), parse_query("see mail.example")):
        await backend.candidates(query, filters, 200)
    assert (await backend.health()).state is IndexState.READY
    assert [host async for host, _ in backend.hashes()]
    await backend.count()
    await backend.close()


async def test_every_call_matches_the_published_description(capture: Capture, judge: Judge) -> None:
    await make_every_call(capture.url)
    assert [(call.method, call.path, judge.faults(call)) for call in capture.calls if judge.faults(call)] == []
    assert {(call.method, judge.route(call)) for call in capture.calls} == {
        ("GET", "/version"),
        ("GET", "/keys/{key}"),
        ("POST", "/keys"),
        ("GET", "/indexes"),
        ("POST", "/indexes"),
        ("PATCH", "/indexes/{index_uid}/settings"),
        ("POST", "/indexes/{index_uid}/documents"),
        ("POST", "/indexes/{index_uid}/documents/fetch"),
        ("POST", "/indexes/{index_uid}/documents/delete"),
        ("GET", "/indexes/{index_uid}/stats"),
        ("DELETE", "/indexes/{index_uid}"),
        ("POST", "/swap-indexes"),
        ("GET", "/tasks"),
        ("GET", "/tasks/{task_id}"),
        ("POST", "/multi-search"),
    }


async def test_each_call_uses_the_key_with_the_fewest_rights(capture: Capture, judge: Judge) -> None:
    await make_every_call(capture.url)
    routes = {key: {judge.route(call).split("/")[1] for call in capture.calls if call.key == key} for key in
            {call.key for call in capture.calls}}  # fmt: skip
    assert routes == {
        "the-master-key": {"keys"},
        "the-search-key": {"multi-search"},
        "the-tasks-key": {"tasks", "version"},
        "the-indexer-key": {"indexes", "swap-indexes"},
    }


async def test_responses_are_requested_uncompressed(capture: Capture) -> None:
    """Compression would cost the server a third more time, and the client would wait for the last chunk."""
    await make_every_call(capture.url)
    encodings = [call.headers["accept-encoding"] for call in capture.calls if call.path == "/multi-search"]
    assert set(encodings) == {"identity"}


def test_the_judge_refuses_wrong_calls(judge: Judge) -> None:
    def call(body: Any, path: str = "/multi-search", **query: str) -> Call:
        return Call("POST", path, query, {"content-type": "application/json"}, body)

    assert judge.faults(call({"queries": [{"indexUid": "a", "limit": 3}]})) == []
    assert judge.faults(call({"queries": [{"indexUid": "a", "limits": 3}]}))
    assert judge.faults(call({"queries": [{"indexUid": "a", "limit": "3"}]}))
    assert judge.faults(call({"queries": [{"q": "a"}]}))
    assert judge.faults(call({"queries": []}, colour="red"))
    assert judge.faults(call(None))
    assert judge.faults(call({"uid": "a", "primarykey": "id"}, "/indexes"))
    with pytest.raises(AssertionError):
        judge.faults(call({}, "/nowhere"))


def test_the_corrections_of_the_description_are_still_needed(judge: Judge) -> None:
    schemas = judge.published["components"]["schemas"]
    assert schemas["AttributePatterns"]["type"] == "object"
    assert recorded(34)["request"]["body"]["facets"] == ["formats", "verified"]
    assert recorded(34)["response"]["status"] == 200
    assert "additionalProperties" not in schemas["Settings_Unchecked"]
    assert recorded(13)["response"]["status"] == 400  # the server does refuse an unknown field


def test_the_indexer_key_has_the_rights_that_were_recorded(judge: Judge) -> None:
    assert set(INDEXER_ACTIONS) == set(recorded(6)["request"]["body"]["actions"])
    assert recorded(5)["response"]["status"] == 400  # a key with the right `version` is refused


# responses of the server


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (30, EmbedderMissing),
        (33, IndexMissing),
        (32, SearchAway),
        (40, SearchUnavailable),
        (37, SearchAway),
    ],
)
async def test_refusals_are_told_apart(number: int, error: type[Exception]) -> None:
    with captured(lambda _: answer(number)) as server:
        client = QueryClient(server.url, "key")
        with pytest.raises(error) as caught:
            await client.multi_search([{"indexUid": "services"}])
        assert type(caught.value) is error
        await client.close()


async def test_results_come_in_the_order_of_the_queries() -> None:
    with captured(lambda _: answer(29)) as server:
        client = QueryClient(server.url, "key")
        near, worded = await client.multi_search(recorded(29)["request"]["body"]["queries"])
        assert [len(near.hits), len(worded.hits)] == [2, 1]
        assert [near.near, worded.near, near.total, near.hits[0].r] == [2, None, 2, bytes([0, 1, 2, 3])]
        await client.close()


@pytest.mark.parametrize(
    ("number", "code", "is_the_documents"),
    [
        (17, "invalid_document_id", True),
        (18, "invalid_vector_dimensions", True),
        (20, "vector_embedding_error", True),
        (21, "vector_embedding_error", True),
        (28, "index_not_found", False),
    ],
)
def test_failed_tasks_are_told_apart(number: int, code: str, is_the_documents: bool) -> None:
    with captured(lambda _: answer(number)) as server, pytest.raises(TaskFailure) as caught:
        Admin(server.url, KEYS).wait(1)
    assert (caught.value.code, caught.value.is_the_documents) == (code, is_the_documents)


def test_a_task_is_polled_until_it_is_done() -> None:
    states = iter(["enqueued", "processing", "processing", "succeeded"])
    with captured(lambda _: answer(15, status=next(states))) as server:
        Admin(server.url, KEYS).wait(7)
    assert [call.path for call in server.calls] == ["/tasks/7"] * 4


def test_waiting_for_a_task_times_out() -> None:
    unfinished = captured(lambda _: answer(15, status="enqueued"))
    with unfinished as server, pytest.raises(SearchUnavailable, match="behind"):
        Admin(server.url, KEYS).wait(7, seconds=0.05)


@pytest.mark.parametrize(
    ("version", "is_supported", "event"),
    [
        ("1.49.9", False, "meilisearch.unsupported"),
        ("1.50.0", True, None),
        ("1.53.2", True, None),
        ("1.99.0", True, "meilisearch.newer_than_tested"),
        ("2.0.0", False, "meilisearch.unsupported"),
    ],
)
async def test_the_version_is_checked_before_any_write(version: str, is_supported: bool, event: str | None) -> None:
    engine = Engine()

    def script(call: Call) -> Answer:
        return answer(2, pkgVersion=version) if call.path == "/version" else engine(call)

    with captured(script) as server:
        backend = MeiliBackend(server.url, KEYS, "services")
        with capture_logs() as logs:
            if is_supported:
                await build(backend)
            else:
                with pytest.raises(SearchUnavailable, match=rf"Meilisearch {version} is not supported: 1\.50 or later"):
                    await build(backend)
        events = {(entry["event"], entry["version"]) for entry in logs if "version" in entry}
        assert events == ({(event, version)} if event else set())
        assert any(call.method == "POST" for call in server.calls) is is_supported
        await backend.close()


async def build(backend: MeiliBackend) -> None:
    async with backend.build() as index_build:
        await index_build.add([make_document(MAIL)])
        await index_build.swap()


async def test_an_incomplete_index_is_not_swapped_in() -> None:
    engine = Engine()

    def script(call: Call) -> Answer:
        return answer(24, numberOfDocuments=1) if call.path.endswith("/stats") else engine(call)

    with captured(script) as server:
        backend = MeiliBackend(server.url, KEYS, "services")
        with pytest.raises(SearchUnavailable, match="does not hold"):
            await build(backend)
        assert not [call for call in server.calls if call.path == "/swap-indexes"]
        assert [call for call in server.calls if call.method == "DELETE"]
        await backend.close()


async def test_a_second_concurrent_build_is_refused(capture: Capture) -> None:
    backend = MeiliBackend(capture.url, KEYS, "services")
    async with backend.build():
        with pytest.raises(WriterBusy):
            async with backend.build():
                pass
    await backend.close()


async def test_a_commit_is_one_task_of_documents_tombstones_and_counts(capture: Capture) -> None:
    backend = MeiliBackend(capture.url, KEYS, "services", model=MODEL, dims=4)
    await build(backend)
    capture.calls.clear()
    await backend.upsert([make_document(SHOP)])
    await backend.delete(["mail.example"])
    await backend.commit()
    (sent,) = [call.body for call in capture.calls if call.path == "/indexes/services/documents"]
    kinds = {document["id"]: document["kind"] for document in sent}
    assert kinds == {"shop_example": "service", "mail_example": "gone", layout.STATISTICS_ID: "tally"}
    assert all(document["_vectors"] == {MODEL: None} for document in sent)
    await backend.close()
