"""What is done at once is bounded in all and for each client, and clients that wait take turns."""

import asyncio

import pytest

from registry.wiring.turns import QueueFull, Turn, Turns


class Line:
    """Clients that ask for turns, in the order in which they got them."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.called: list[str] = []
        self._held: dict[str, list[Turn]] = {}

    async def ask(self, client: str) -> asyncio.Task[None]:
        """Return when the client has its turn or waits for it."""
        task = asyncio.create_task(self._take(client))
        await self.settle()
        return task

    async def end(self, client: str) -> None:
        self._held[client].pop(0).close()
        await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    async def _take(self, client: str) -> None:
        turn = await self._turns.take(client)
        self.called.append(client)
        self._held.setdefault(client, []).append(turn)


async def test_one_client_has_so_many_at_once_and_others_begin_at_once() -> None:
    line = Line(Turns(at_once=10, at_once_each=2, waiting=10, waiting_each=10))
    for client in "aaaab":
        await line.ask(client)
    assert line.called == ["a", "a", "b"]
    await line.end("b")
    assert line.called == ["a", "a", "b"]
    await line.end("a")
    assert line.called == ["a", "a", "b", "a"]


async def test_clients_that_wait_take_turns() -> None:
    line = Line(Turns(at_once=1, at_once_each=1, waiting=10, waiting_each=10))
    for client in "xaaabbc":
        await line.ask(client)
    for client in "xabcab":
        await line.end(client)
    assert line.called == list("xabcaba")


async def test_so_many_may_wait_and_no_more() -> None:
    line = Line(Turns(at_once=1, at_once_each=1, waiting=3, waiting_each=2))
    await line.ask("x")
    waiting = [await line.ask(client) for client in "aaab"]
    refused = waiting[2].exception()
    assert isinstance(refused, QueueFull) and refused.by_client
    too_much = (await line.ask("c")).exception()
    assert isinstance(too_much, QueueFull) and not too_much.by_client
    await line.end("x")
    assert not (await line.ask("c")).done()


async def test_who_waits_for_the_same_client_waits_although_a_turn_is_free() -> None:
    line = Line(Turns(at_once=3, at_once_each=1, waiting=9, waiting_each=9))
    await line.ask("a")
    second = await line.ask("a")
    assert not second.done()
    await line.ask("b")
    assert line.called == ["a", "b"]


async def test_a_cancelled_wait_is_forgotten() -> None:
    line = Line(Turns(at_once=1, at_once_each=1, waiting=1, waiting_each=1))
    await line.ask("x")
    given_up = await line.ask("a")
    given_up.cancel()
    await line.settle()
    await line.ask("b")
    await line.end("x")
    assert line.called == ["x", "b"]


async def test_a_turn_that_comes_with_the_cancellation_goes_to_the_next() -> None:
    line = Line(Turns(at_once=1, at_once_each=1, waiting=9, waiting_each=9))
    await line.ask("x")
    given_up = await line.ask("a")
    await line.ask("b")
    line._held["x"][0].close()  # calls "a", which has not run since
    given_up.cancel()
    await line.settle()
    assert line.called == ["x", "b"]


async def test_a_turn_ends_once() -> None:
    turns = Turns(at_once=1, at_once_each=1, waiting=9, waiting_each=0)
    turn = await turns.take("a")
    turn.close()
    turn.close()
    await turns.take("a")
    with pytest.raises(QueueFull):
        await turns.take("a")


async def test_one_turn_at_a_time_is_about_a_host_and_one_is_left_to_others() -> None:
    turns = Turns(at_once=3, at_once_each=1, waiting=9, waiting_each=9)
    first = await turns.take("a", "slow.example")
    same = asyncio.create_task(turns.take("b", "slow.example"))
    await asyncio.sleep(0)
    assert not same.done()
    other = await turns.take("c", "other.example")
    third = asyncio.create_task(turns.take("d", "third.example"))
    honest = await turns.take("e")
    await asyncio.sleep(0)
    assert not third.done()
    first.close()
    (await same).close()
    (await third).close()
    other.close()
    honest.close()
    assert (turns.taken, turns.waits, +turns._hosts) == (0, 0, {})


async def test_the_only_turn_may_be_about_a_host() -> None:
    turns = Turns(at_once=1, at_once_each=1, waiting=9, waiting_each=9)
    (await turns.take("a", "slow.example")).close()
    (await turns.take("a")).close()
