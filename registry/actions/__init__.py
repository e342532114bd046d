"""The use cases: each is a method of a class that holds the store, the clock and what else it needs."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias, TypeVar

from registry.store.unit_of_work import Store, UnitOfWork

Clock: TypeAlias = Callable[[], datetime]
"""Returns the current time in UTC. `registry.wiring` passes it in, so that tests choose the time."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


POLL_SECONDS: Final = 0.25


async def polled(look: Callable[[], Awaitable[_T]], is_done: Callable[[_T], bool], seconds: float) -> _T:
    """Return what `look` finds once it is done, or the last that it found within about `seconds`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while True:
        found = await look()
        if is_done(found) or loop.time() >= deadline:
            return found
        await asyncio.sleep(POLL_SECONDS)


def call_of(
    method: Callable[[UnitOfWork], Callable[_P, Awaitable[_T]]],
    open_: Callable[[Store], AbstractAsyncContextManager[UnitOfWork]] = Store.begin,
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """Return the action that is one call of a repository's method, in a transaction; with Store.read without one."""

    async def action(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        async with open_(self._store) as uow:
            return await method(uow)(*args, **kwargs)

    return action
