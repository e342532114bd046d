"""Copies in Meilisearch without a server: questions are answered by recorded responses of a real one.

If a query changes, record anew (tests/search/folding_exchanges.py)."""

import json

import pytest

from registry.core.model.listing import TrustLevel
from registry.core.ranking import parse_query
from registry.search.meilisearch import layout, queries
from registry.search.meilisearch.admin import Keys
from registry.search.meilisearch.backend import MeiliBackend
from tests.search.capture import Answer, Call, captured
from tests.search.folding_exchanges import INDEX, QUESTIONS, RECORDED
from tests.search.openapi import Judge

pytestmark = pytest.mark.usefixtures("long_time_limits")

EXCHANGES = json.loads(RECORDED.read_text())


@pytest.mark.parametrize(
    ("name", "calls", "expected"),
    [
        ("no copies", 1, {"mail.example": 0}),
        ("words of the copies", 3, {"pigeons.example": 130, "tariffs.example": 0}),
        ("blank", 2, {"mail.example": 0, "pigeons.example": 130, "tariffs.example": 0}),
        ("filtered", 3, {"copy001.example": 1}),
        ("named", 1, {"copy002.example": 0}),
        ("all copies", 1, {"copy001.example": 0, "copy002.example": 0}),
    ],
)
async def test_copies_are_folded_however_many_there_are(
    name: str, calls: int, expected: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`expected`: number of hosts behind each host."""
    exchanges = [exchange for recorded in EXCHANGES.values() for exchange in recorded]
    monkeypatch.setattr(layout, "LAYOUT", exchanges[0]["response"]["results"][0]["hits"][0]["h"])  # when recorded
    monkeypatch.setattr(queries, "LEVELS", tuple(TrustLevel))  # when recorded
    monkeypatch.setattr(queries, "_LISTED_COPIES", queries._LISTED_COPIES - 1)
    asked: list[Call] = []

    def answer(call: Call) -> Answer:
        asked.append(call)
        responses = [exchange["response"] for exchange in exchanges if exchange["request"] == call.body]
        return Answer(200, responses[0]) if responses else Answer(501, {"code": "not_recorded"})

    text, filters = QUESTIONS[name]
    with captured(answer) as server:
        backend = MeiliBackend(server.url, Keys(search="key"), INDEX)
        candidates = (await backend.candidates(parse_query(text), filters, 100)).candidates
        await backend.close()
    behind = [copies.total for copies in map(candidates.copies, range(len(candidates)))]
    assert dict(zip(candidates.hosts, behind, strict=True)) == expected
    assert len(asked) == calls + 1  # and the statistics


def test_recorded_requests_match_the_published_description() -> None:
    judge = Judge()
    for recorded in EXCHANGES.values():
        for exchange in recorded:
            call = Call("POST", "/multi-search", {}, {"content-type": "application/json"}, exchange["request"])
            assert judge.faults(call) == []
