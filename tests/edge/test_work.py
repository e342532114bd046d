"""What one client's requests may cost: units of work, bytes before they are read, reads at once, and where large
documents are worked on."""

import asyncio
import itertools
import json
import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from registry.api.app import create_app
from registry.core.model.listing import Filters
from registry.edge.limiter import HEALTH, UNIT_BYTES, of_discover, of_list
from registry.edge.middleware import AT_ONCE_EACH, RequestMiddleware, Rules
from registry.edge.requests import MAX_INLINE_DOCUMENT, MAX_INLINE_SERVICE
from registry.settings import Settings
from registry.store.migrate import revisions
from registry.store.unit_of_work import Store
from tests.api.sites import PIGEON
from tests.support import shapes
from tests.support.api import Api, make_client
from tests.support.builders import adp_manifest
from tests.support.shapes import assert_shape

pytestmark = pytest.mark.slow

LARGE = json.dumps(
    adp_manifest("paste.pigeonpost.dev", *(f"do_{number}" for number in range(MAX_INLINE_DOCUMENT // 50)))
).encode()
assert len(LARGE) > MAX_INLINE_DOCUMENT
HEAVY = LARGE + b" " * (5 * UNIT_BYTES)
"""Costs at least five units beside its first."""


@pytest.fixture
def frozen_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeze the clock of the limits, since a minute that ends between two requests would reset the allowance."""
    monkeypatch.setattr("registry.edge.middleware.time", SimpleNamespace(monotonic=lambda: 1_000.0))


def limited(api: Api, **changes: Any) -> Any:
    return make_client(api.waypost, api.waypost.settings.model_copy(update=changes))


async def process_of(api: Api) -> int:
    """Return the id of the one process that computes, which is idle."""
    assert (await api.post("/api/validate", content=LARGE)).status_code == 200
    (pid,) = api.waypost.compute.pids
    return pid


async def test_discover_answers_while_a_large_document_is_validated(own_api: Api) -> None:
    pid = await process_of(own_api)
    os.kill(pid, signal.SIGSTOP)  # the work is under way until this process goes on
    validating = asyncio.create_task(own_api.post("/api/validate", content=LARGE))
    pasting = asyncio.create_task(own_api.post("/api/services", content=b'{"manifest": %s}' % LARGE))
    small = await own_api.post("/api/validate", json=adp_manifest("paste.pigeonpost.dev", "a"))
    assert small.status_code == 200
    assert (await own_api.json("/api/discover", q="parcel"))["data"]
    assert not validating.done()
    assert not pasting.done()
    os.kill(pid, signal.SIGCONT)
    assert (await validating).json()["valid"] is True
    assert (await pasting).status_code == 200
    assert own_api.waypost.compute.pids == [pid]


async def test_a_large_service_is_shown_and_translated_elsewhere(own_api: Api) -> None:
    """The answers are those of this process, problems included."""
    paths = [
        f"/api/services/{PIGEON}",
        f"/api/services/{PIGEON}?include_details=true",
        f"/api/services/{PIGEON}/capabilities/create_parcel",
        f"/api/services/{PIGEON}/capabilities/price_parcel",
        f"/api/services/{PIGEON}/manifest/awp",
        f"/api/services/{PIGEON}/manifest/a2a",
        f"/api/services/{PIGEON}/manifest/adp?raw=true",
    ]
    here = [await own_api.get(path) for path in paths[:4]]
    assert own_api.waypost.compute.pids == [], "a small service is shown here"
    here += [await own_api.get(path) for path in paths[4:]]
    assert {200, 409} == {answer.status_code for answer in here}
    await _enlarge(own_api)
    for path, small in zip(paths, here, strict=True):
        large = await own_api.get(path)
        assert large.status_code == small.status_code, path
        assert large.headers["content-type"] == small.headers["content-type"]
        if small.status_code != 200:
            assert {**large.json(), "instance": None} == {**small.json(), "instance": None}
    assert len(own_api.waypost.compute.pids) == 1


async def test_a_large_document_does_not_hold_up_the_small_requests_of_its_client(own_api: Api) -> None:
    await _enlarge(own_api)
    pid = await process_of(own_api)
    os.kill(pid, signal.SIGSTOP)
    shown = [asyncio.create_task(own_api.get(f"/api/services/{PIGEON}")) for _ in range(AT_ONCE_EACH)]
    assert (await own_api.get("/api/rubric")).status_code == 200
    assert not any(answer.done() for answer in shown)
    os.kill(pid, signal.SIGCONT)
    assert [(await answer).status_code for answer in shown] == [200] * AT_ONCE_EACH


async def _enlarge(api: Api) -> None:
    """Give a stored service a description that is too large for it to be shown in this process."""
    async with api.store.begin() as uow:
        (record,) = (await uow.services.of([PIGEON.partition(".")[2]])).values()
        record.model["description"] = "x" * MAX_INLINE_SERVICE
        await uow.services.put([record])


async def test_a_process_that_dies_is_a_clean_problem_and_is_replaced(own_api: Api) -> None:
    pid = await process_of(own_api)
    os.kill(pid, signal.SIGSTOP)
    validating = asyncio.create_task(own_api.post("/api/validate", content=LARGE))
    while not own_api.waypost.compute._running:  # noqa: ASYNC110  (nothing tells when a job begins)
        await asyncio.sleep(0)
    os.kill(pid, signal.SIGKILL)
    response = await validating
    assert (response.status_code, response.json()["type"]) == (503, "/api/problems/busy")
    assert int(response.headers["retry-after"]) > 0
    assert_shape(shapes.FAILED, response.json())
    assert await process_of(own_api) != pid


async def test_one_client_cannot_fill_the_queue_of_large_documents(own_api: Api) -> None:
    pid = await process_of(own_api)
    os.kill(pid, signal.SIGSTOP)
    sent = [asyncio.create_task(own_api.post("/api/validate", content=LARGE)) for _ in range(4)]
    (done,), own = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
    refused = done.result()
    assert (refused.status_code, refused.json()["limit"], len(own)) == (429, "at-once", 3)
    async with make_client(own_api.waypost, own_api.waypost.settings, address="198.51.100.9") as other:
        waiting = asyncio.create_task(other.post("/api/validate", content=LARGE))
        assert (await other.get("/api/rubric")).status_code == 200
        assert not waiting.done()
        os.kill(pid, signal.SIGCONT)
        assert [(await answer).status_code for answer in (waiting, *own)] == [200] * 4


async def test_closing_the_registry_ends_the_processes(own_api: Api) -> None:
    pid = await process_of(own_api)
    await own_api.waypost.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.usefixtures("frozen_clock")
async def test_a_document_costs_by_its_bytes_and_is_refused_unread(own_api: Api) -> None:
    async with limited(own_api, read_rate=20) as client:
        first = await client.post("/api/validate", content=HEAVY)
        units = 1 + len(HEAVY) // UNIT_BYTES
        assert first.status_code == 200
        assert first.headers["ratelimit-policy"] == '"work";q=20;w=60'
        assert first.headers["ratelimit"] == f'"work";r={20 - units};t=20'
    app = create_app(own_api.waypost, own_api.waypost.settings.model_copy(update={"read_rate": 8}))
    reads = 0

    async def receive() -> Message:
        nonlocal reads
        reads += 1
        return {"type": "http.request", "body": HEAVY}

    declared = {"content-length": str(len(HEAVY))}
    assert (await sent(app, receive, declared))[0] == 200
    assert reads == 1
    status, headers = await sent(app, receive, declared)
    assert (status, headers["connection"], headers["retry-after"]) == (429, "close", "20")
    assert reads == 1, "the body was read although it was refused"


@pytest.mark.usefixtures("frozen_clock")
async def test_a_body_without_a_length_costs_as_it_arrives(own_api: Api) -> None:
    app = create_app(own_api.waypost, own_api.waypost.settings.model_copy(update={"read_rate": 10}))
    read = 0

    async def receive() -> Message:
        nonlocal read
        read += 10_000
        return {"type": "http.request", "body": b" " * 10_000, "more_body": True}

    status, headers = await sent(app, receive, {})
    assert (status, headers["connection"], headers["ratelimit"]) == (429, "close", '"work";r=0;t=20')
    assert 9 * UNIT_BYTES < read < 11 * UNIT_BYTES


async def sent(app: Any, receive: Receive, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
    """Return status and headers of the answer to a validation whose body `receive` produces."""
    starts: list[Message] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            starts.append(message)

    scope: Scope = {
        "type": "http", "method": "POST", "path": "/api/validate", "raw_path": b"/api/validate", "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()], "http_version": "1.1",
        "scheme": "http", "server": ("registry.example", 80), "client": ("203.0.113.7", 1), "root_path": "",
    }  # fmt: skip
    await app(scope, receive, send)
    (start,) = starts
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}


@pytest.mark.usefixtures("frozen_clock")
async def test_dear_reads_cost_more_and_the_answer_says_what_is_left(own_api: Api) -> None:
    async def remaining(client: Any, path: str) -> int:
        response = await client.get(path)
        assert response.status_code == 200, response.text
        return int(response.headers["ratelimit"].partition("r=")[2].partition(";")[0])

    async with limited(own_api, read_rate=1_000) as client:
        left = [1_000]
        for path in (
            "/api/rubric",
            "/api/discover?q=parcel",
            "/api/discover?q=parcel&limit=50&facets=tld,format",
            "/api/discover?q=parcel&limit=50&facets=tld,format",  # from the cache
            "/api/services",
            "/api/services?offset=100000&search=x",
            "/api/health",
            f"/api/services/{PIGEON}",
        ):
            left.append(await remaining(client, path))
    costs = [before - after for before, after in itertools.pairwise(left)]
    plain, deep = of_list(Filters(), "", 50, 0), of_list(Filters(), "x", 50, 100_000)
    assert costs == [1, 1, 1 + of_discover(50, 2), 1, 1 + plain, 1 + deep, 1 + HEALTH, 1]
    assert deep > 10 * plain


@pytest.mark.usefixtures("frozen_clock")
async def test_a_refusal_names_its_limit_and_takes_nothing(own_api: Api) -> None:
    async with limited(own_api, read_rate=2 * (1 + HEALTH), submit_rate=1) as client:
        assert (await client.get("/api/health")).status_code == 200
        assert (await client.get("/api/health")).status_code == 200
        assert (await client.get("/api/rubric")).status_code == 429
    async with limited(own_api, read_rate=HEALTH + 3, submit_rate=1) as client:
        for _ in range(HEALTH):
            assert (await client.get("/api/rubric")).status_code == 200
        refused = await client.get("/api/services?search=x&offset=9000")
        assert (refused.status_code, refused.json()["limit"]) == (429, "work")
        assert refused.json()["detail"].endswith("Try again in 20 seconds.")
        assert refused.headers["ratelimit"] == '"work";r=2;t=20'
        assert (await client.get("/api/rubric")).headers["ratelimit"] == '"work";r=1;t=20'
        codes = [(await client.post("/api/services", json={"domain": ""})) for _ in range(2)]
        assert [code.status_code for code in codes] == [400, 429]
        assert codes[1].json()["limit"] == "submissions"
        assert codes[1].headers["ratelimit-policy"] == '"submissions";q=1;w=3600'


@pytest.mark.usefixtures("frozen_clock")
async def test_a_large_service_takes_what_is_left_when_it_was_read(own_api: Api) -> None:
    await _enlarge(own_api)
    async with limited(own_api, read_rate=3) as client:
        shown = await client.get(f"/api/services/{PIGEON}")
        assert (shown.status_code, shown.headers["ratelimit"]) == (200, '"work";r=0;t=20')
        assert (await client.get(f"/api/services/{PIGEON}")).status_code == 429


@pytest.mark.usefixtures("frozen_clock")
async def test_a_request_that_costs_more_than_all_units_is_possible(own_api: Api) -> None:
    async with limited(own_api, read_rate=4) as client:
        assert (await client.get("/api/services?search=x&offset=100000")).status_code == 200


async def test_few_reads_of_one_client_are_worked_on_at_once(own_api: Api) -> None:
    other = {"X-Forwarded-For": "198.51.100.9"}
    async with limited(own_api, trusted_proxies=("203.0.113.7",)) as client:
        async with own_api.store.engine.begin() as connection:
            await connection.exec_driver_sql("LOCK TABLE services")
            lists = [asyncio.create_task(client.get(f"/api/services?offset={number}")) for number in (0, 1)]
            while await waiting_for_locks(own_api.store) < AT_ONCE_EACH:
                pass
            own = asyncio.create_task(client.get("/api/rubric"))
            asked = [asyncio.create_task(client.get(path, headers=other)) for path in ("/api/rubric", "/healthz")]
            assert [(await answer).status_code for answer in asked] == [200, 200]
            assert not own.done(), "it began before the others, and would have been answered before them"
        assert [(await answer).status_code for answer in (*lists, own)] == [200] * 3


async def waiting_for_locks(store: Store) -> int:
    async with store.engine.connect() as connection:
        rows = await connection.exec_driver_sql(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return int(rows.scalar_one())


async def test_checks_of_readiness_at_once_are_one(own_api: Api) -> None:
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("LOCK TABLE alembic_version")
        checks = [asyncio.create_task(own_api.get("/readyz")) for _ in range(3)]
        while not await waiting_for_locks(own_api.store):
            pass
        assert {await waiting_for_locks(own_api.store) for _ in range(20)} == {1}
    assert [(await check).status_code for check in checks] == [200] * 3
    assert (await own_api.get("/readyz")).status_code == 200


@pytest.mark.parametrize(("revision", "status"), [(revisions()[-2], 503), ("ffffffffffff", 200)])
async def test_a_process_is_ready_beside_a_newer_schema_only(own_api: Api, revision: str, status: int) -> None:
    """While an upgrade replaces processes one by one, the old ones answer with the new schema."""
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{revision}'")
    assert (await own_api.get("/readyz")).status_code == status


class Slow:
    """An application that begins its answers at once and ends none before `read`."""

    def __init__(self) -> None:
        self.begun = 0
        self.read = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun += 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.read.wait()
        await send({"type": "http.response.body", "body": b""})


async def test_a_client_that_reads_slowly_does_not_hold_up_its_next_request() -> None:
    slow = Slow()
    app = RequestMiddleware(slow, Rules(), Settings(read_rate=100, submit_rate=1), None, None)

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        pass

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "client": ("203.0.113.7", 1)}
    reading = [asyncio.create_task(app(scope, receive, send)) for _ in range(3 * AT_ONCE_EACH)]
    while slow.begun < len(reading):  # noqa: ASYNC110  (with the guard off, the last never begins)
        await asyncio.sleep(0)
    slow.read.set()
    await asyncio.gather(*reading)


async def test_too_many_waiting_reads_are_refused() -> None:
    release = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    limited_app = RequestMiddleware(app, Rules(), Settings(read_rate=10_000, submit_rate=1), None, None)
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "client": ("203.0.113.7", 1)}
    requests = [asyncio.create_task(limited_app(scope, receive, send)) for _ in range(200)]
    while not statuses:  # noqa: ASYNC110  (until the first is refused)
        await asyncio.sleep(0)
    release.set()
    await asyncio.gather(*requests)
    assert statuses.count(429) == 200 - 100 - AT_ONCE_EACH
    assert statuses.count(200) == 100 + AT_ONCE_EACH
