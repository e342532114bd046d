"""What only several answers show of a document is stored with it, graded, and kept until a visit shows the opposite."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from registry.store.unit_of_work import Store
from tests.support.builders import DAY, HOUR, NOW, Page, again, crawl, on, service_of

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

HOST = "paper.com"
ATP = "/.well-known/agent.json"
AWAS = "/.well-known/ai-actions.json"
LINK = {"link": f'<{ATP}>; rel="agent-manifest"'}
WATCHED = {"atp.revalidation", "atp.home_link", "awas.unversioned_change"}


def atp_manifest() -> dict[str, Any]:
    find = {"id": "find", "name": "Find", "description": "Finds paper.", "endpoint": "/find", "method": "GET"}
    return {
        "@context": "https://atp.dev/schema/v1",
        "@type": "AgentManifest",
        "name": "Papirhuset",
        "description": "Sells paper.",
        "version": "1.0.0",
        "capabilities": [find],
    }


def actions(*names: str, version: str = "1.0") -> dict[str, Any]:
    return {
        "version": version,
        "name": "Kiosk",
        "description": "Sells newspapers.",
        "actions": [
            {"id": name, "name": name, "description": f"Does {name}.", "path": f"/{name}", "method": "GET"}
            for name in names
        ],
    }


async def watched(store: Store) -> set[str]:
    """Return which of the findings in question the service has, as its score shows them."""
    view = await service_of(store, HOST)
    return {line["reason"] for line in view.breakdown["lines"]} & WATCHED


async def visits(store: Store, *sites: Mapping[str, Page]) -> list[set[str]]:
    """Visit the host once with each of the pages, a week apart; return the findings after each visit."""
    await crawl(store, {HOST: sites[0]})
    seen = [await watched(store)]
    for number, site in enumerate(sites[1:], 1):
        await again(store, {HOST: site}, NOW + number * 8 * DAY)
        seen.append(await watched(store))
    return seen


async def test_a_front_page_without_the_link_is_noted(store: Store) -> None:
    home = Page("<html><p>Paper</p></html>", media_type="text/html")
    assert await visits(store, {ATP: Page(atp_manifest()), "/": home}) == [{"atp.home_link"}]


async def test_a_front_page_with_the_link_or_no_front_page_is_not(store: Store) -> None:
    home = Page("<html><p>Paper</p></html>", headers=LINK, media_type="text/html")
    assert await visits(store, {ATP: Page(atp_manifest()), "/": home}) == [set()]
    other = {ATP: Page({**atp_manifest(), "name": "Papier"})}
    await crawl(store, {"papier.com": other})
    view = await service_of(store, "papier.com")
    assert "atp.home_link" not in {line["reason"] for line in view.breakdown["lines"]}


async def test_an_ignored_validator_is_noted_until_it_is_honoured(store: Store) -> None:
    ignoring = {ATP: Page(atp_manifest(), headers={"etag": '"1"'})}
    honouring = {ATP: Page(atp_manifest(), etag='"1"')}
    none, noted = set[str](), {"atp.revalidation"}
    assert await visits(store, ignoring, ignoring, ignoring, honouring, honouring) == [none, noted, noted, none, none]


async def test_rescoring_keeps_what_was_observed(store: Store) -> None:
    ignoring = {ATP: Page(atp_manifest(), headers={"etag": '"1"'})}
    assert await visits(store, ignoring, ignoring) == [set(), {"atp.revalidation"}]
    rescored = await on(store, NOW + 9 * DAY).maintenance.rescore()
    assert (rescored.changed, rescored.failed) == (0, [])
    assert await watched(store) == {"atp.revalidation"}


async def test_a_visit_that_shows_nothing_new_is_no_news(store: Store) -> None:
    ignoring = {ATP: Page(atp_manifest(), headers={"etag": '"1"'})}
    await visits(store, ignoring, ignoring)
    before = await on(store).queries.service(HOST)
    await again(store, {HOST: ignoring}, NOW + 20 * DAY)
    after = await on(store).queries.service(HOST)
    assert before is not None and after is not None
    assert replace(after.record, seen_at=before.record.seen_at, listing=before.record.listing) == before.record


async def test_a_breaking_change_under_the_same_version_is_noted(store: Store) -> None:
    found = await visits(
        store,
        {AWAS: Page(actions("find", "buy"))},
        {AWAS: Page(actions("find", "buy", "return"))},
        {AWAS: Page(actions("find", "return"))},
        {AWAS: Page(actions("find", "return", "pay"))},
        {AWAS: Page(actions("pay", version="1.1"))},
    )
    noted = {"awas.unversioned_change"}
    assert found == [set(), set(), noted, noted, set()]


async def test_a_site_cannot_send_an_observation(store: Store) -> None:
    page = Page(atp_manifest(), headers={":observed": "not_revalidated", "x-observed": "not_revalidated"})
    assert await visits(store, {ATP: page}) == [set()]
    await again(store, {HOST: {ATP: page}}, NOW + 8 * DAY + HOUR)
    assert await watched(store) == set()
