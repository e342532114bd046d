"""What a source of names yields."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

from crawler.seeds.online import Reader
from registry.core.names.seeds import Refusal, Seed, Seeds
from tests.support.sites import Sites

Sources: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[Sites, str, Reader]]]


async def gathered(seeds: Seeds) -> tuple[list[tuple[str, str | None]], list[tuple[str, str]]]:
    """Return names with their referrers, and refused names with their codes."""
    accepted, refused = [], []
    assert hasattr(seeds, "__aiter__")
    async for item in seeds:
        if isinstance(item, Refusal):
            refused.append((item.name, item.code))
        elif isinstance(item, Seed):
            accepted.append((item.name, item.referrer))
    return accepted, refused
