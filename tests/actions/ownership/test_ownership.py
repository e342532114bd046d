"""Claims, proofs, verifications, transfers, and what an owner may do, on a real database."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from registry.actions.feed import page
from registry.actions.frontier.submit import REMEMBERED, erase_clients
from registry.actions.maintenance.forget import forget
from registry.actions.maintenance.opt_out import Proof, ask_at_once
from registry.actions.maintenance.opt_out import settle as settle_opt_out
from registry.actions.maintenance.prune import prune
from registry.actions.ownership import claiming, owning
from registry.actions.ownership.claiming import (
    CHECKS_OF_NETWORK,
    MAX_OPEN,
    BadClaim,
    NotTheClaimant,
    TooMany,
)
from registry.actions.ownership.owning import MAX_CHANGES, NotAnOwner, OtherHost, overview
from registry.actions.queries import inspect
from registry.actions.recording.rescore import rescore
from registry.actions.webhooks import BadReceiver
from registry.core.access.claims import CLAIM, OPEN_FOR, OWNER, Answer, Method, Scope
from registry.core.access.tokens import Token
from registry.core.changes.kinds import ALL, payload_of
from registry.core.model.listing import Filters
from registry.core.scheduling.jobs import INDEX_FORGOTTEN_AFTER
from registry.store.unit_of_work import Store
from tests.actions.test_prune import KEEP
from tests.support.builders import DAY, HOUR, NOW, adp_site, again, crawl
from tests.support.database import rows

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

HOST, API, OTHER = "pigeons.com", "api.pigeons.com", "doves.com"
SITES = {HOST: adp_site(HOST), API: adp_site(API, "track_parcel"), OTHER: adp_site(OTHER, "send_letter")}
EVERY = timedelta(hours=24)
_numbers = iter(range(1, 1_000_000))


def secret() -> str:
    return f"{next(_numbers):043d}"


async def claimed(
    store: Store,
    host: str = HOST,
    method: Method = "dns",
    scope: Scope = "host",
    *,
    client: str = "203.0.113.7",
    now: datetime = NOW,
) -> tuple[claiming.ClaimView, Token]:
    token = Token(CLAIM, f"{next(_numbers):016x}", secret())
    claim = await claiming.claim(store, host, method, scope, token=token, client=client, now=now, exempt={host})
    return claim, token


async def checked(store: Store, token: Token, answer: Answer, now: datetime = NOW) -> None:
    await claiming.ask(store, token, now=now)
    for check in await claiming.take(store, limit=100, now=now):
        await claiming.settle(store, check.claim, answer, every=EVERY, now=now)


async def owner_of(
    store: Store, host: str = HOST, scope: Scope = "host", *, client: str = "203.0.113.7", now: datetime = NOW
) -> Token:
    _, token = await claimed(store, host, "dns", scope, client=client, now=now)
    await checked(store, token, "published", now)
    owner = Token(OWNER, token.id, secret())
    assert await claiming.hand_out(store, token, owner, now=now)
    return owner


async def verified(store: Store, answer: Answer, now: datetime) -> None:
    for check in await claiming.take(store, limit=100, now=now):
        await claiming.settle(store, check.claim, answer, every=EVERY, now=now)


async def listed(store: Store) -> list[str]:
    found = await inspect.list_services(store, Filters(include_unverified=True))
    return sorted(card.host for card in found.items)


async def audit(store: Store) -> list[str]:
    return [action for (action,) in await rows(store, "SELECT action FROM audit ORDER BY id")]


async def test_a_proof_makes_an_owner_whose_token_is_handed_out_once(store: Store) -> None:
    await crawl(store, SITES)
    _, token = await claimed(store)
    owner = Token(OWNER, token.id, secret())
    assert not await claiming.hand_out(store, token, owner, now=NOW), "not proven"
    await checked(store, token, "published")
    assert (await claiming.status(store, token, now=NOW)).state == "proven"
    assert await claiming.hand_out(store, token, owner, now=NOW)
    assert not await claiming.hand_out(store, token, Token(OWNER, token.id, secret()), now=NOW)
    assert (await overview(store, owner, HOST)).claim.verified_at == NOW
    service = await inspect.service(store, HOST)
    assert service is not None
    assert (service.ownership.state, service.ownership.since) == ("proven", NOW)
    assert sorted(await audit(store)) == ["ownership.proven", "ownership.token_issued"]
    assert owner.secret not in str(await rows(store, "SELECT * FROM claims"))


@pytest.mark.parametrize("answer", ["missing", "unanswered"])
async def test_without_the_value_nothing_is_proven(store: Store, answer: Answer) -> None:
    _, token = await claimed(store)
    await checked(store, token, answer)
    found = await claiming.status(store, token, now=NOW)
    assert (found.state, found.record.answer) == ("open", answer)


async def test_only_the_claimant_can_finish_a_claim(store: Store) -> None:
    mine, token = await claimed(store)
    others, other_token = await claimed(store, client="203.0.113.8")
    assert mine.publish != others.publish
    with pytest.raises(NotTheClaimant):
        await claiming.ask(store, Token(CLAIM, token.id, other_token.secret), now=NOW)
    await checked(store, token, "published")
    with pytest.raises(NotTheClaimant):
        await claiming.hand_out(store, Token(CLAIM, token.id, secret()), Token(OWNER, token.id, secret()), now=NOW)


async def test_a_claim_expires(store: Store) -> None:
    _, token = await claimed(store)
    await claiming.ask(store, token, now=NOW)
    late = NOW + 7 * DAY
    assert await claiming.take(store, limit=10, now=late) == []
    await claiming.settle(store, token.id, "published", every=EVERY, now=late)
    assert (await claiming.status(store, token, now=late)).state == "expired"


@pytest.mark.parametrize(("host", "method"), [(API, "dns"), (HOST, "file")])
async def test_a_domain_is_claimed_by_dns_at_its_apex(store: Store, host: str, method: Method) -> None:
    with pytest.raises(BadClaim):
        await claimed(store, host, method, "domain")


async def test_a_host_that_opted_out_gets_no_request_by_a_claim(store: Store) -> None:
    await forget(store, HOST, now=NOW, opt_out="dns")
    with pytest.raises(BadClaim):
        await claimed(store, HOST, "file")
    await claimed(store, HOST, "dns")


async def test_open_claims_of_a_client_are_bounded(store: Store) -> None:
    for number in range(MAX_OPEN):
        await claimed(store, f"a{number}.com")
    with pytest.raises(TooMany):
        await claimed(store, "one-more.com")
    await claimed(store, "one-more.com", client="203.0.113.8")


async def test_checks_by_file_are_bounded(store: Store) -> None:
    _, token = await claimed(store, HOST, "file")
    for number in range(CHECKS_OF_NETWORK):
        await checked(store, token, "missing", NOW + number * timedelta(minutes=1))
    with pytest.raises(TooMany):
        await claiming.ask(store, token, now=NOW + timedelta(minutes=30))
    _, other = await claimed(store, HOST, "file", client="203.0.113.8", now=NOW + timedelta(minutes=30))
    await claiming.ask(store, other, now=NOW + timedelta(minutes=30))


async def test_three_failures_end_an_ownership_and_what_was_set(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store)
    await owning.hide(store, owner, HOST, now=NOW)
    await owning.set_note(store, owner, HOST, "Closed.", now=NOW)
    await verified(store, "missing", NOW + DAY)
    await verified(store, "missing", NOW + 2 * DAY)
    assert HOST not in await listed(store)
    await verified(store, "missing", NOW + 3 * DAY)
    with pytest.raises(NotAnOwner):
        await overview(store, owner, HOST)
    service = await inspect.service(store, HOST)
    assert service is not None, "it is shown again"
    assert (service.ownership.state, service.ownership.end_reason) == ("ended", "no_longer_published")
    assert service.setting is None


async def test_an_outage_does_not_end_an_ownership_at_once(store: Store) -> None:
    owner = await owner_of(store)
    for day in range(1, 4):
        await verified(store, "unanswered", NOW + day * DAY)
    await verified(store, "published", NOW + 4 * DAY)
    assert (await overview(store, owner, HOST)).claim.failures == 0


async def test_a_later_proof_transfers_the_host(store: Store) -> None:
    old = await owner_of(store)
    new = await owner_of(store, client="203.0.113.8", now=NOW + HOUR)
    with pytest.raises(NotAnOwner):
        await owning.hide(store, old, HOST, now=NOW + HOUR)
    assert (await overview(store, new, HOST)).claim.proven_at == NOW + HOUR
    assert (await rows(store, "SELECT end_reason FROM claims WHERE ended_at IS NOT NULL")) == [("transferred",)]


async def test_a_proof_of_the_domain_has_its_hosts_verified(store: Store) -> None:
    await owner_of(store, API)
    await owner_of(store, HOST, "domain", now=NOW + HOUR)
    assert [check.host for check in await claiming.take(store, limit=10, now=NOW + HOUR)] == [API]


async def test_a_hidden_host_is_visited_and_not_listed_until_shown(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store)
    assert (await owning.hide(store, owner, HOST, now=NOW)).changed
    assert not (await owning.hide(store, owner, HOST, now=NOW)).changed
    assert await listed(store) == sorted((API, OTHER))
    await again(store, {**SITES, HOST: adp_site(HOST, "quite_another")}, NOW + 2 * DAY)
    await rescore(store, now=NOW + 2 * DAY)
    assert await listed(store) == sorted((API, OTHER))
    assert (await owning.show(store, owner, HOST, now=NOW + 2 * DAY)).services == (HOST,)
    assert await listed(store) == sorted(SITES)


Action = Callable[[Store, Token], object]


async def test_a_token_is_valid_for_its_host_only(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store, API)
    for host in (HOST, OTHER):
        with pytest.raises(OtherHost):
            await owning.hide(store, owner, host, now=NOW)
        with pytest.raises(OtherHost):
            await owning.opt_out(store, owner, host, now=NOW)
        with pytest.raises(OtherHost):
            await overview(store, owner, host)
    with pytest.raises(NotAnOwner):
        await owning.hide(store, replace(owner, secret=secret()), API, now=NOW)
    assert await listed(store) == sorted(SITES)


async def test_an_owner_of_the_domain_acts_for_its_hosts(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store, HOST, "domain")
    await owning.hide(store, owner, API, now=NOW)
    assert await listed(store) == sorted((HOST, OTHER))


async def test_a_canonical_host_is_proven_too(store: Store) -> None:
    owner = await owner_of(store, API)
    with pytest.raises(owning.BadSetting):
        await owning.pin(store, owner, API, HOST, now=NOW)
    apex = await owner_of(store, HOST)
    assert await owning.pin(store, owner, API, HOST, apex, now=NOW) == owning.Pinned(HOST, HOST)
    with pytest.raises(owning.BadSetting):
        await owning.pin(store, owner, API, OTHER, now=NOW)
    await owning.give_up(store, apex, HOST, now=NOW)
    assert (await overview(store, owner, API)).setting is None, "the pin ends with the proof of the other host"


async def test_a_host_that_opted_out_stands_for_no_other(store: Store) -> None:
    other = "www.pigeons.com"
    owner = await owner_of(store, other)
    api = await owner_of(store, API)
    await owning.set_note(store, owner, other, "Closed.", now=NOW)
    await owning.pin(store, owner, other, API, api, now=NOW)
    await forget(store, API, now=NOW, opt_out="dns")
    setting = (await overview(store, owner, other)).setting
    assert setting is not None and (setting.note, setting.canonical) == ("Closed.", None)
    told = [(event.host, event.kind) for event in (await page(store)).events]
    assert (other, "ownership.changed") in told[told.index((API, "ownership.ended")) :]


async def test_a_note_is_cleaned_and_bounded(store: Store) -> None:
    owner = await owner_of(store)
    assert await owning.set_note(store, owner, HOST, " Closed\u202e on Sundays. ", now=NOW) == "Closed on Sundays."
    with pytest.raises(owning.BadSetting):
        await owning.set_note(store, owner, HOST, "x" * 501, now=NOW)
    await owning.set_note(store, owner, HOST, "", now=NOW)
    assert (await overview(store, owner, HOST)).setting is None


async def test_changes_are_bounded_per_owner(store: Store) -> None:
    owner, other = await owner_of(store), await owner_of(store, API)
    for _ in range(MAX_CHANGES):
        await owning.show(store, owner, HOST, now=NOW)
    with pytest.raises(TooMany):
        await owning.show(store, owner, HOST, now=NOW)
    await owning.show(store, other, API, now=NOW)
    await owning.show(store, owner, HOST, now=NOW + HOUR)


async def test_a_replaced_token_is_no_longer_valid(store: Store) -> None:
    owner = await owner_of(store)
    new = Token(OWNER, owner.id, secret())
    await owning.rotate(store, owner, HOST, new, now=NOW)
    with pytest.raises(NotAnOwner):
        await overview(store, owner, HOST)
    await overview(store, new, HOST)


async def test_an_owner_opts_out_and_only_an_owner_returns(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store)
    await owning.opt_out(store, owner, HOST, now=NOW)
    assert await listed(store) == [OTHER], "the apex covers all hosts below it"
    with pytest.raises(NotAnOwner):
        await overview(store, owner, HOST)
    request = await ask_at_once(store, HOST, "in", now=NOW)
    assert await settle_opt_out(store, request, Proof(), now=NOW) == "by_owner"
    back = await owner_of(store, now=NOW + HOUR)
    await owning.come_back(store, back, HOST, now=NOW + HOUR)
    await again(store, SITES, NOW + HOUR)
    assert HOST in await listed(store)


async def test_the_change_feed_tells_the_life_of_an_ownership(store: Store) -> None:
    owner, apex = await owner_of(store, API), await owner_of(store, HOST, "domain")
    for note in ("Closed.", "Closed.", ""):
        await owning.set_note(store, owner, API, note, now=NOW)
    for target in (HOST, HOST, None, HOST):
        await owning.pin(store, owner, API, target, apex, now=NOW)
    await owning.give_up(store, apex, HOST, now=NOW)
    await owner_of(store, API, client="203.0.113.8", now=NOW + HOUR)
    for day in range(1, 4):
        await verified(store, "missing", NOW + HOUR + day * DAY)
    await owner_of(store, API, now=NOW + 4 * DAY)
    await forget(store, HOST, now=NOW + 4 * DAY, opt_out="dns")
    said = [
        (event.host, event.kind, payload_of(event.kind, event.data))
        for event in (await page(store)).events
        if event.kind.startswith("ownership.")
    ]
    proven = {"state": "proven", "method": "dns", "scope": "host"}
    note = (API, "ownership.changed", {"state": "proven", "changed": ["owner_note"]})
    pin = (API, "ownership.changed", {"state": "proven", "changed": ["canonical_host"]})

    def ended(reason: str, host: str = API, scope: str = "host") -> tuple[str, str, dict[str, str]]:
        return host, "ownership.ended", {"state": "ended", "scope": scope, "reason": reason}

    assert said == [
        (API, "ownership.proven", proven),
        (HOST, "ownership.proven", {**proven, "scope": "domain"}),
        note, note, pin, pin, pin,
        ended("given_up", HOST, "domain"), pin,
        ended("transferred"), (API, "ownership.proven", proven),
        ended("no_longer_published"), (API, "ownership.proven", proven),
        ended("forgotten"),
    ]  # fmt: skip


async def test_an_owner_has_a_host_visited_at_once_unless_it_is_closed(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store)
    assert (await owning.recheck(store, owner, HOST, now=NOW + HOUR)).state == "queued"
    due = await rows(store, f"SELECT next_visit_why FROM hosts WHERE host = '{HOST}'")
    assert due == [("asked",)]
    await forget(store, HOST, now=NOW, opt_out="operator")
    back = await owner_of(store, now=NOW + HOUR)
    assert (await owning.recheck(store, back, HOST, now=NOW + HOUR)).state == "opted_out"


async def test_a_webhook_is_replaced_removed_and_ends_with_the_ownership(store: Store) -> None:
    owner = await owner_of(store)

    async def webhook(url: str) -> str:
        record = await owning.set_webhook(store, owner, HOST, url, ALL, now=NOW, exempt=())
        assert record.verified_at is None, "nothing is told before a challenge was answered"
        return record.id

    with pytest.raises(BadReceiver):
        await webhook("http://169.254.169.254/")
    await webhook("https://hooks.pigeons.com/a")
    second = await webhook("https://hooks.pigeons.com/b")
    assert await rows(store, "SELECT id, hosts FROM webhooks") == [(second, [HOST])]
    assert await owning.remove_webhook(store, owner, HOST, now=NOW)
    assert not await owning.remove_webhook(store, owner, HOST, now=NOW)
    await webhook("https://hooks.pigeons.com/c")
    await owning.give_up(store, owner, HOST, now=NOW)
    assert await rows(store, "SELECT id FROM webhooks") == []


async def test_who_made_a_claim_is_erased_after_a_day(store: Store) -> None:
    await claimed(store)
    assert await erase_clients(store, now=NOW + REMEMBERED) == 0
    assert await erase_clients(store, now=NOW + REMEMBERED + timedelta(seconds=1)) == 1
    assert await rows(store, "SELECT client FROM claims") == [(None,)]


async def test_claims_that_expired_and_ownerships_that_ended_are_pruned(store: Store) -> None:
    await claimed(store)
    assert "claims" not in await prune(store, KEEP, now=NOW + OPEN_FOR)
    pruned = await prune(store, KEEP, now=NOW + OPEN_FOR + INDEX_FORGOTTEN_AFTER + timedelta(days=1))
    assert pruned["claims"] == 1
