"""The use cases: each is a method of a class that holds the store, the clock and what else it needs."""

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from registry.store.unit_of_work import Store, UnitOfWork

Clock: TypeAlias = Callable[[], datetime]
"""Returns the current time in UTC. `registry.wiring` passes it in, so that tests choose the time."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def call_of(
    method: Callable[[UnitOfWork], Callable[_P, Awaitable[_T]]],
    open_: Callable[[Store], AbstractAsyncContextManager[UnitOfWork]] = Store.begin,
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]:
    """Return the action that is one call of a repository's method, in a transaction; with Store.read without one."""

    async def action(self: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        async with open_(self._store) as uow:
            return await method(uow)(*args, **kwargs)

    return action
