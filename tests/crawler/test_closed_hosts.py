"""Hosts that opted out, wherever something leads to them: nobody is asked for their address."""

from pathlib import Path

import pytest

from crawler.guards import Pin
from crawler.visit import Session
from registry.core.documents import Outcome
from registry.core.redirects import redirect
from tests.crawler.support import far, probe, visiting
from tests.support.sites import Reply, moved

SHOP, BLOG = "shop.example", "blog.shop.example"


async def test_who_opted_out_is_not_even_looked_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sites = {SHOP: moved(f"https://{BLOG}/x"), BLOG: Reply(b"{}")}
    async with visiting(monkeypatch, tmp_path, sites) as (served, visitor):
        looked_up: list[str] = []
        look_up = visitor.guard.pin

        async def noted(host: str) -> Pin:
            looked_up.append(host)
            return await look_up(host)

        monkeypatch.setattr(visitor.guard, "pin", noted)
        async with Session(visitor, visitor.pace(), far(), closed=(BLOG,)) as session:
            fetched = await session.fetch(
                probe(f"https://{SHOP}/a"), lambda p, at, location, hops: redirect(at, location, hops, p.purpose)
            )
    assert (fetched.failure, fetched.reason) == (Outcome.DISALLOWED, "opt_out")
    assert looked_up == [SHOP]
    assert served.paths(BLOG) == []
