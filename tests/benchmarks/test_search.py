"""The benchmark of the cost of a search: its texts, its requests, its tables, and one small run of the engine."""

import asyncio
import json
from collections import Counter

import pytest

from benchmarks.search import engine, load, served
from benchmarks.search.texts import TRADES, Texts
from benchmarks.trees import HERE
from registry.core.names.domains import registrable_domain
from registry.core.wording.text import query_terms, stems


def test_texts_are_the_same_for_the_same_seed_and_have_a_long_tail() -> None:
    services = list(Texts(seed=1).services(2_000))
    assert services == list(Texts(seed=1).services(2_000))
    assert services[:10] != list(Texts(seed=2).services(10))
    assert len({service.host for service in services}) == 2_000
    assert all(registrable_domain(service.host) == service.domain for service in services)
    frequencies = Counter(stem for service in services for stem in set(stems(f"{service.name} {service.description}")))
    assert max(frequencies.values()) > 400
    assert sum(times == 1 for times in frequencies.values()) > 400
    assert 1.5 < sum(len(service.capabilities) for service in services) / len(services) < 4


def test_requests_are_distinct_and_contain_known_words() -> None:
    requests = Texts(seed=7).requests(500)
    assert len(set(requests)) == 500
    words = {stem for things, deeds in TRADES.values() for stem in stems(f"{things} {deeds}")}
    assert all(words & set(query_terms(text)) for text in requests)


def test_a_request_is_one_line_of_http() -> None:
    assert load.target("a b&c=d\r\nX: y").startswith(
        b"GET /api/discover?q=a+b%26c%3Dd%0D%0AX%3A+y&limit=10 HTTP/1.1\r\n"
    )
    assert load.cycled(["a", "b"], 5) == [load.target(question) for question in "ababa"]


async def test_a_load_counts_every_response_and_reports_a_refusal() -> None:
    received: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            received.append(line)
            await reader.readuntil(b"\r\n\r\n")
            status = b"503 Service Unavailable" if b"q=bad" in line else b"200 OK"
            writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        await load.closed_loop(port, [load.target(str(number)) for number in range(20)], at_once=3)
        assert len(received) == 20
        milliseconds = await load.open_loop(port, [load.target(str(number)) for number in range(20)], 1_000, at_most=4)
        assert len(milliseconds) == 20
        with pytest.raises(load.Refused, match="503"):
            await load.closed_loop(port, [load.target("bad")], at_once=1)


def test_the_table_of_the_server_names_its_sides() -> None:
    turns = [
        served.Turn(HERE, "distinct", 100, 0.5, 0.1), served.Turn("abc", "distinct", 100, 1.0, 0.2),
        served.Turn(HERE, "half load", 100, 0.5, 0.1, tuple(float(ms) for ms in range(100))),
    ]  # fmt: skip
    head, *rows = served.rows(turns, {HERE: 90.0, "abc": 80.0})
    assert head[2] == "× abc"
    assert rows[0] == (f"{HERE}: distinct", "200", "2.00", "1.00", "", "", "90")
    assert rows[1][:3] == ("abc: distinct", "100", "")
    assert rows[2][4:6] == ("49.5", "99.0")
    assert json.loads(json.dumps(served.as_json(turns[0])))["per_cpu_second"] == 200


@pytest.mark.slow
def test_a_small_run_of_the_engine_has_every_figure() -> None:
    sides = engine.measure(services=300, requests=30, rounds=1)
    assert list(sides) == [HERE, engine.WORDS]
    for build_cost, search_cost in sides.values():
        assert len(search_cost.milliseconds) == 30
        assert build_cost.size > 10_000
        assert search_cost.resident > search_cost.own > 0
    assert sides[HERE][1].recall == 1.0  # so few rows are searched exhaustively
    assert sides[engine.WORDS][1].recall is None
    head, *rows = engine.rows(300, sides)
    assert all(len(row) == len(head) for row in rows)
