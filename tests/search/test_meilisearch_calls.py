"""The Meilisearch engine without a server: what we send is what its published description allows, and what it says
(recorded answers of a real one) is understood. Skips, saying so, where the shared descriptions are absent."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from registry.core.listing import Filters, SearchUnavailable
from registry.core.ranking import Question, ask
from registry.search.backend import IndexState, WriterBusy, make_document
from registry.search.meilisearch import layout
from registry.search.meilisearch.admin import Admin, Keys, TaskFailure
from registry.search.meilisearch.asking import Asker, EmbedderMissing, IndexMissing
from registry.search.meilisearch.backend import MeiliBackend
from registry.search.meilisearch.keys import INDEXER_ACTIONS, make_keys
from tests.search.capture import Answer, Call, Capture, captured
from tests.search.contract import MAIL, MAPS, SHOP
from tests.search.openapi import Judge
from tests.support.shared import shared

pytestmark = pytest.mark.usefixtures("recordings", "patient")

KEYS = Keys(search="the-search-key", indexer="the-indexer-key", tasks="the-tasks-key")
MODEL = "wp_0000example0"


def recorded(number: int) -> dict[str, Any]:
    """Request and answer of one recorded exchange."""
    (path,) = shared("contracts", "meilisearch-exchanges").glob(f"{number:02}-*.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def answer(number: int, **changes: Any) -> Answer:
    said = recorded(number)["response"]
    return Answer(said["status"], said["body"] | changes if changes else said["body"], said["headers"])


class Engine:
    """Answers each route as a real server did, and gives back what was put in where a call must find it."""

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
                    200, {"results": [index(one) for one in self.indexes], "offset": 0, "limit": 1, "total": 1}
                )
            case "POST", "indexes":
                self.indexes.append(call.body["uid"])
                return answer(8)
            case "PATCH", "indexes", _, "settings":
                return answer(10)
            case "POST", "indexes", _, "documents":
                self.documents |= {one["id"]: one for one in call.body}
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
                said = recorded(29)["response"]["body"]["results"]
                probed = said[1] | {"hits": [self.documents[layout.TALLY]]}
                empty = [one | {"hits": []} for one in (said[0], said[1], said[1], said[1])]
                return Answer(200, {"results": [probed, *empty[: len(call.body["queries"]) - 1]]})
        raise AssertionError(f"{call.method} {call.path}")

    def _fetched(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        chosen = asked.get("ids") or [one["id"] for one in self.documents.values() if one["kind"] == "service"]
        return [self.documents[one] for one in chosen if one in self.documents]


def index(uid: str) -> dict[str, Any]:
    return {"uid": uid, "primaryKey": "id", "createdAt": "2026-11-21T18:56:10Z", "updatedAt": "2026-11-21T18:56:10Z"}


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


@pytest.fixture
def capture() -> Iterator[Capture]:
    with captured(Engine()) as server:
        yield server


async def everything(url: str) -> None:
    """Every call that the engine has, at least once."""
    make_keys(url, "the-master-key", "services")
    backend = MeiliBackend(url, KEYS, "services", model=MODEL, dims=4)
    for services in ([MAIL, SHOP], [MAIL, SHOP]):  # the first index is renamed, the second one swapped
        async with backend.build() as build:
            await build.add([make_document(one) for one in services])
            await build.swap()
    await backend.upsert([make_document(MAPS)])
    await backend.delete(["shop.example"])
    await backend.commit()
    question = Question("send email", {"send": "send", "email": "email"}, np.full(4, 0.5, np.float32), None, MODEL)
    filters = Filters(
        formats=("adp", "awp"), auth_types=("none",), pricing_types=("free",), protocols=("mcp",), min_score=3
    )
    for asked in (question, ask(" ")):
        await backend.candidates(asked, filters, 200)
    assert (await backend.health()).state is IndexState.READY
    assert [host async for host, _ in backend.hashes()]
    await backend.count()
    await backend.close()


async def test_every_call_is_what_the_published_description_allows(capture: Capture, judge: Judge) -> None:
    await everything(capture.url)
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


async def test_each_call_goes_with_the_key_of_least_rights(capture: Capture, judge: Judge) -> None:
    await everything(capture.url)
    used = {key: {judge.route(one).split("/")[1] for one in capture.calls if one.key == key} for key in
            {one.key for one in capture.calls}}  # fmt: skip
    assert used == {
        "the-master-key": {"keys"},
        "the-search-key": {"multi-search"},
        "the-tasks-key": {"tasks", "version"},
        "the-indexer-key": {"indexes", "swap-indexes"},
    }


async def test_answers_are_asked_for_as_they_are(capture: Capture) -> None:
    """The server would compress them, which costs it a third more and waits for the last chunk."""
    await everything(capture.url)
    asked = [call.headers["accept-encoding"] for call in capture.calls if call.path == "/multi-search"]
    assert set(asked) == {"identity"}


def test_the_judge_refuses_what_is_wrong(judge: Judge) -> None:
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


def test_what_is_mended_in_the_description_is_still_wrong_in_it(judge: Judge) -> None:
    schemas = judge.published["components"]["schemas"]
    assert schemas["AttributePatterns"]["type"] == "object"
    assert recorded(34)["request"]["body"]["facets"] == ["formats", "verified"]
    assert recorded(34)["response"]["status"] == 200
    assert "additionalProperties" not in schemas["Settings_Unchecked"]
    assert recorded(13)["response"]["status"] == 400  # the server does refuse an unknown field


def test_the_indexers_rights_are_those_that_were_tried(judge: Judge) -> None:
    assert set(INDEXER_ACTIONS) == set(recorded(6)["request"]["body"]["actions"])
    assert recorded(5)["response"]["status"] == 400  # with `version` among them the key is refused


# what the server says


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (30, EmbedderMissing),
        (33, IndexMissing),
        (32, SearchUnavailable),
        (40, SearchUnavailable),
        (37, SearchUnavailable),
    ],
)
async def test_refusals_are_told_apart(number: int, error: type[Exception]) -> None:
    with captured(lambda _: answer(number)) as server:
        asker = Asker(server.url, "key")
        with pytest.raises(error) as caught:
            await asker.ask([{"indexUid": "services"}])
        assert type(caught.value) is error
        await asker.close()


async def test_results_come_in_the_order_of_the_queries() -> None:
    with captured(lambda _: answer(29)) as server:
        asker = Asker(server.url, "key")
        near, worded = await asker.ask(recorded(29)["request"]["body"]["queries"])
        assert [len(near.hits), len(worded.hits)] == [2, 1]
        assert [near.near, worded.near, near.total, near.hits[0].r] == [2, None, 2, bytes([0, 1, 2, 3])]
        await asker.close()


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


def test_a_task_is_looked_at_until_it_is_done() -> None:
    states = iter(["enqueued", "processing", "processing", "succeeded"])
    with captured(lambda _: answer(15, status=next(states))) as server:
        Admin(server.url, KEYS).wait(7)
    assert [call.path for call in server.calls] == ["/tasks/7"] * 4


def test_a_task_that_is_never_done_is_given_up() -> None:
    still = captured(lambda _: answer(15, status="enqueued"))
    with still as server, pytest.raises(SearchUnavailable, match="behind"):
        Admin(server.url, KEYS).wait(7, seconds=0.05)


@pytest.mark.parametrize(
    ("version", "is_taken", "says"),
    [
        ("1.49.9", False, "meilisearch.unsupported"),
        ("1.50.0", True, None),
        ("1.53.2", True, None),
        ("1.99.0", True, "meilisearch.newer_than_tested"),
        ("2.0.0", False, "meilisearch.unsupported"),
    ],
)
async def test_the_version_is_asked_for_before_anything_is_written(
    version: str, is_taken: bool, says: str | None
) -> None:
    engine = Engine()

    def script(call: Call) -> Answer:
        return answer(2, pkgVersion=version) if call.path == "/version" else engine(call)

    with captured(script) as server:
        backend = MeiliBackend(server.url, KEYS, "services")
        with capture_logs() as logs:
            if is_taken:
                await build(backend)
            else:
                with pytest.raises(SearchUnavailable, match=rf"Meilisearch {version} is not supported: 1\.50 or later"):
                    await build(backend)
        told = {(one["event"], one["version"]) for one in logs if "version" in one}
        assert told == ({(says, version)} if says else set())
        assert any(call.method == "POST" for call in server.calls) is is_taken
        await backend.close()


async def build(backend: MeiliBackend) -> None:
    async with backend.build() as made:
        await made.add([make_document(MAIL)])
        await made.swap()


async def test_an_index_that_did_not_take_all_is_not_swapped_in() -> None:
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


async def test_two_builds_at_once_are_one_too_many(capture: Capture) -> None:
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
    kinds = {one["id"]: one["kind"] for one in sent}
    assert kinds == {"shop_example": "service", "mail_example": "gone", layout.TALLY: "tally"}
    assert all(one["_vectors"] == {MODEL: None} for one in sent)
    await backend.close()
