"""The benchmark of the cost of a search: its texts, its requests, its tables, and one small run of the engine."""

import asyncio

import pytest

from benchmarks.search import engine, load
from benchmarks.trees import HERE


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


@pytest.mark.long
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
