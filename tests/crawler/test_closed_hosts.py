"""Hosts that opted out are never resolved, whatever leads to them."""

import pytest

from crawler.guards import Pin
from registry.core.model.documents import Outcome
from tests.crawler.support import Visiting, far, probe
from tests.support.sites import Reply, moved

SHOP, BLOG = "shop.example", "blog.shop.example"


async def test_a_redirect_to_a_host_that_opted_out_resolves_nothing(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = {SHOP: moved(f"https://{BLOG}/x"), BLOG: Reply(b"{}")}
    async with visiting(sites) as (served, visitor):
        looked_up: list[str] = []
        original_pin = visitor.guard.pin

        async def recording_pin(host: str) -> Pin:
            looked_up.append(host)
            return await original_pin(host)

        monkeypatch.setattr(visitor.guard, "pin", recording_pin)
        async with visitor.session(far(), opted_out=(BLOG,)) as session:
            fetched = await session.fetch(probe(f"https://{SHOP}/a"))
    assert (fetched.failure, fetched.reason) == (Outcome.DISALLOWED, "opt_out")
    assert looked_up == [SHOP]
    assert served.paths(BLOG) == []
