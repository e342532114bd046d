"""The trust of a service follows what is listed, named and owned elsewhere, whenever that changes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from registry.core.visiting.visits import FinishedDomain
from registry.store.claims import ClaimRecord
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, NOW, Page, Site, adp_site, again, awp_manifest, crawl, leased, on, record
from tests.support.database import rows
from tests.support.web import Web, moved, page, visit

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

PLATFORM, HOST = "pigeons.com", "u1.pigeons.com"
VICTIM, ISSUER, SHOP = "doves.com", "login.doves.com", "shop.owls.com"


def speaking() -> dict[str, Page]:
    """The pages of a sub-host that says it is its platform."""
    return {"/agent.json": Page(awp_manifest(PLATFORM))}


def calling(host: str, **members: Any) -> dict[str, Page]:
    action = {**awp_manifest(HOST)["actions"][0], "endpoint": f"https://{host}/pay"}
    return {"/agent.json": Page({**awp_manifest(HOST), "actions": [action], **members})}


def with_tokens() -> Site:
    auth = {"type": "oauth2", "authorization_url": f"https://{ISSUER}/a", "token_url": f"https://{ISSUER}/t"}
    return adp_site(SHOP, auth=auth)


async def reasons(store: Store, host: str = HOST) -> tuple[str, ...]:
    """Return the reasons as everybody sees them, after a worker's next look."""
    await on(store, NOW + DAY).maintenance.rejudge()
    assert await rows(store, "SELECT FROM trust_causes") == []
    assert await on(store, NOW + DAY).maintenance.rejudge() == 0
    [(level, trust)] = await rows(store, f"SELECT trust_level, trust FROM services WHERE host = '{host}'")
    found = tuple((json.loads(trust or "{}")).get("reasons", ()))
    assert level == ("community" if found else "verified")
    return found


async def own(store: Store, host: str, scope: Any = "host") -> ClaimRecord:
    claim = ClaimRecord(
        PLATFORM, host, f"{host}-{scope}", "dns", scope, b"", None, NOW, NOW + DAY, proven_at=NOW, verified_at=NOW
    )
    async with store.begin() as uow:
        await uow.claims.put(claim)
    return claim


async def end(store: Store, claim: ClaimRecord) -> None:
    async with store.begin() as uow:
        await uow.claims.put(replace(claim, ended_at=NOW, end_reason="given_up"))


async def test_a_sub_host_is_its_platform_only_while_one_owner_has_proven_both(store: Store) -> None:
    await crawl(store, {HOST: speaking()})
    assert await rows(store, "SELECT trust_level, name FROM services") == [("community", HOST)], "from the first moment"
    assert await reasons(store) == ("speaks_for_site",)
    platform = await own(store, PLATFORM)
    assert await reasons(store) == ("speaks_for_site",), "of its own host only"
    await end(store, platform)
    domain = await own(store, PLATFORM, "domain")
    assert await reasons(store) == ()
    user = await own(store, HOST)
    assert await reasons(store) == ("speaks_for_site",), "two owners"
    await end(store, user)
    assert await reasons(store) == ()
    await end(store, domain)
    assert await reasons(store) == ("speaks_for_site",)


async def test_calls_to_the_platform_are_confirmed_while_it_names_the_host(store: Store) -> None:
    await crawl(store, {HOST: calling(PLATFORM)})
    assert await reasons(store) == ("speaks_for_site",)
    names_it = {"/agent.json": Page({**calling(HOST)["/agent.json"].body, "domain": PLATFORM})}
    await crawl(store, {PLATFORM: names_it, HOST: calling(PLATFORM)})
    assert await reasons(store) == ()
    await on(store, NOW + DAY).frontier.make_due([PLATFORM])
    await again(store, {PLATFORM: {"/agent.json": Page(awp_manifest(PLATFORM))}}, NOW + 2 * DAY)
    assert await reasons(store) == ("speaks_for_site",)


async def test_tokens_of_a_site_count_from_when_it_is_listed_until_it_is_not(store: Store) -> None:
    await crawl(store, {SHOP: with_tokens()})
    assert await reasons(store, SHOP) == (), "an identity provider that is not listed here"
    await crawl(store, {VICTIM: adp_site(VICTIM)}, NOW + DAY)
    assert await reasons(store, SHOP) == ("issuer_elsewhere",)
    await on(store, NOW + DAY).opt_outs.forget(VICTIM)
    assert await reasons(store, SHOP) == ()


async def test_a_listed_site_is_seen_at_the_first_visit(store: Store) -> None:
    await crawl(store, {VICTIM: adp_site(VICTIM)})
    await crawl(store, {SHOP: with_tokens()}, NOW + DAY)
    assert await rows(store, f"SELECT trust_level FROM services WHERE host = '{SHOP}'") == [("community",)]


async def test_a_document_of_another_host_behind_a_redirect_is_not_the_hosts(store: Store) -> None:
    """Neither its manifest, though the redirect leads back, nor a detail."""
    await crawl(store, {PLATFORM: {}})
    detail = next(path for path in adp_site(PLATFORM) if path.startswith("/caps/"))
    site = adp_site(PLATFORM)
    user = f"https://{HOST}"
    texts = {path: page(one.raw, "application/json") for path, one in site.items()}
    web = Web(
        {
            PLATFORM: {**texts, detail: moved(f"{user}{detail}"), "/agent.json": moved(f"{user}/agent.json")}
            | {"/users/agent.json": page(Page(awp_manifest(PLATFORM)).raw, "application/json")},
            HOST: {detail: texts[detail], "/agent.json": moved(f"https://{PLATFORM}/users/agent.json")},
        }
    )
    await on(store, NOW + DAY).frontier.make_due([PLATFORM])
    lease = await leased(store, now=NOW + 2 * DAY)
    [job] = lease.domains[0].hosts
    await record(store, lease.token, [FinishedDomain(PLATFORM, (visit(web, job=job),))], now=NOW + 2 * DAY)
    found = await rows(store, "SELECT url FROM documents WHERE outcome = 'found' ORDER BY url")
    assert found == [(f"https://{PLATFORM}/.well-known/agent",)]
