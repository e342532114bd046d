"""Claims, proofs, verifications, transfers, and what an owner may do, on a real database."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from registry.actions.frontier.submit import REMEMBERED
from registry.actions.maintenance.opt_out import Proof
from registry.actions.ownership import claiming, owning
from registry.actions.ownership.claiming import (
    CHECKS_OF_NETWORK,
    LOOK_AGAIN,
    MAX_OPEN,
    BadClaim,
    NotTheClaimant,
    TooMany,
)
from registry.actions.ownership.owning import MAX_CHANGES, NotAnOwner, OtherHost
from registry.actions.webhooks import BadReceiver
from registry.core.access.claims import CLAIM, OPEN_FOR, Answer, Method, Scope
from registry.core.access.tokens import Token
from registry.core.changes.kinds import ALL, payload_of
from registry.core.model.listing import Filters
from registry.core.scheduling.jobs import INDEX_FORGOTTEN_AFTER
from registry.store.unit_of_work import Store
from tests.actions.test_prune import KEEP
from tests.support.builders import DAY, HOUR, NOW, adp_site, again, crawl, on, service_of
from tests.support.database import rows

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

HOST, API, OTHER = "pigeons.com", "api.pigeons.com", "doves.com"
SITES = {HOST: adp_site(HOST), API: adp_site(API, "track_parcel"), OTHER: adp_site(OTHER, "send_letter")}
EVERY = timedelta(hours=24)
MINUTE = timedelta(minutes=1)
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
    return await on(store, now, exempt={host}).claims.claim(host, method, scope, client=client)


async def checked(store: Store, token: Token, answer: Answer, now: datetime = NOW) -> None:
    await on(store, now).claims.ask(token)
    for check in await on(store, now).claims.take(limit=100):
        await on(store, now).claims.settle(check.claim, answer)


async def owner_of(
    store: Store, host: str = HOST, scope: Scope = "host", *, client: str = "203.0.113.7", now: datetime = NOW
) -> Token:
    _, token = await claimed(store, host, "dns", scope, client=client, now=now)
    await checked(store, token, "published", now)
    owner = await on(store, now).claims.hand_out(token)
    assert owner is not None
    return owner


async def verified(store: Store, answer: Answer, now: datetime) -> None:
    for check in await on(store, now).claims.take(limit=100):
        await on(store, now).claims.settle(check.claim, answer)


async def listed(store: Store) -> list[str]:
    found = await on(store).queries.list_services(Filters(include_unverified=True))
    return sorted(card.host for card in found.items)


async def audit(store: Store) -> list[str]:
    return [action for (action,) in await rows(store, "SELECT action FROM audit ORDER BY id")]


async def test_a_proof_makes_an_owner_whose_token_is_handed_out_once(store: Store) -> None:
    await crawl(store, SITES)
    _, token = await claimed(store)
    assert await on(store).claims.hand_out(token) is None, "not proven"
    await checked(store, token, "published")
    assert (await on(store).claims.claim_status(token)).state == "proven"
    owner = await on(store).claims.hand_out(token)
    assert owner is not None and await on(store).claims.hand_out(token) is None
    assert (await on(store).ownership.overview(owner, HOST)).claim.verified_at == NOW
    service = await service_of(store, HOST)
    assert (service.ownership.state, service.ownership.since) == ("proven", NOW)
    assert sorted(await audit(store)) == ["ownership.proven", "ownership.token_issued"]
    assert owner.secret not in str(await rows(store, "SELECT * FROM claims"))


@pytest.mark.parametrize("answer", ["missing", "unanswered"])
async def test_without_the_value_nothing_is_proven(store: Store, answer: Answer) -> None:
    _, token = await claimed(store)
    await checked(store, token, answer)
    found = await on(store).claims.claim_status(token)
    assert (found.state, found.record.answer) == ("open", answer)


async def test_only_the_claimant_can_finish_a_claim(store: Store) -> None:
    mine, token = await claimed(store)
    others, other_token = await claimed(store, client="203.0.113.8")
    assert mine.publish != others.publish
    with pytest.raises(NotTheClaimant):
        await on(store).claims.ask(Token(CLAIM, token.id, other_token.secret))
    await checked(store, token, "published")
    with pytest.raises(NotTheClaimant):
        await on(store).claims.hand_out(Token(CLAIM, token.id, secret()))


async def test_a_claim_expires(store: Store) -> None:
    _, token = await claimed(store)
    await on(store).claims.ask(token)
    late = NOW + 7 * DAY
    assert await on(store, late).claims.take(limit=10) == []
    await on(store, late).claims.settle(token.id, "published")
    assert (await on(store, late).claims.claim_status(token)).state == "expired"


@pytest.mark.parametrize(("host", "method"), [(API, "dns"), (HOST, "file")])
async def test_a_domain_is_claimed_by_dns_at_its_apex(store: Store, host: str, method: Method) -> None:
    with pytest.raises(BadClaim):
        await claimed(store, host, method, "domain")


async def test_a_host_that_opted_out_gets_no_request_by_a_claim(store: Store) -> None:
    await on(store).opt_outs.forget(HOST, opt_out="dns")
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
        await on(store, NOW + timedelta(minutes=30)).claims.ask(token)
    _, other = await claimed(store, HOST, "file", client="203.0.113.8", now=NOW + timedelta(minutes=30))
    await on(store, NOW + timedelta(minutes=30)).claims.ask(other)


async def test_a_claimant_learns_when_the_next_check_is_possible(store: Store) -> None:
    _, token = await claimed(store, HOST, "file")
    for number in range(CHECKS_OF_NETWORK):
        await checked(store, token, "missing", NOW + number * MINUTE)
    late = NOW + CHECKS_OF_NETWORK * MINUTE
    await claimed(store, HOST, "file", client="203.0.113.8", now=late)
    found = await on(store, late).claims.claim_status(token)
    assert found.check_after == NOW + HOUR, "the first of the hour's checks counts no more"
    with pytest.raises(TooMany) as refused:
        await on(store, late).claims.ask(token)
    assert refused.value.retry_after == NOW + HOUR - late
    await on(store, NOW + HOUR).claims.ask(token)


async def test_an_open_claim_by_dns_is_looked_up_again_until_it_is_proven(store: Store) -> None:
    _, token = await claimed(store)
    await checked(store, token, "missing")
    found = await on(store, NOW + MINUTE).claims.claim_status(token)
    assert (found.waiting, found.record.due_at) == (False, NOW + LOOK_AGAIN)
    assert await on(store, NOW + MINUTE).claims.take(limit=10) == []
    await on(store, NOW + MINUTE).claims.ask(token)
    assert len(await on(store, NOW + MINUTE).claims.take(limit=10)) == 1, "the claimant need not wait"
    await on(store, NOW + MINUTE).claims.settle(token.id, "unanswered")
    await verified(store, "published", NOW + MINUTE + LOOK_AGAIN)
    assert (await on(store, NOW + HOUR).claims.claim_status(token)).state == "proven"


async def test_three_failures_end_an_ownership_and_what_was_set(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store)
    await on(store).ownership.hide(owner, HOST)
    await on(store).ownership.set_note(owner, HOST, "Closed.")
    await verified(store, "missing", NOW + DAY)
    await verified(store, "missing", NOW + 2 * DAY)
    assert HOST not in await listed(store)
    await verified(store, "missing", NOW + 3 * DAY)
    with pytest.raises(NotAnOwner):
        await on(store).ownership.overview(owner, HOST)
    service = await on(store).queries.service(HOST)
    assert service is not None, "it is shown again"
    assert (service.ownership.state, service.ownership.end_reason) == ("ended", "no_longer_published")
    assert service.setting is None


async def test_an_outage_does_not_end_an_ownership_at_once(store: Store) -> None:
    owner = await owner_of(store)
    for day in range(1, 4):
        await verified(store, "unanswered", NOW + day * DAY)
    await verified(store, "published", NOW + 4 * DAY)
    assert (await on(store).ownership.overview(owner, HOST)).claim.failures == 0


async def test_a_later_proof_transfers_the_host(store: Store) -> None:
    old = await owner_of(store)
    new = await owner_of(store, client="203.0.113.8", now=NOW + HOUR)
    with pytest.raises(NotAnOwner):
        await on(store, NOW + HOUR).ownership.hide(old, HOST)
    assert (await on(store).ownership.overview(new, HOST)).claim.proven_at == NOW + HOUR
    assert (await rows(store, "SELECT end_reason FROM claims WHERE ended_at IS NOT NULL")) == [("transferred",)]


async def test_a_proof_of_the_domain_has_its_hosts_verified(store: Store) -> None:
    await owner_of(store, API)
    await owner_of(store, HOST, "domain", now=NOW + HOUR)
    assert [check.host for check in await on(store, NOW + HOUR).claims.take(limit=10)] == [API]


async def test_a_hidden_host_is_visited_and_not_listed_until_shown(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store)
    assert (await on(store).ownership.hide(owner, HOST)).changed
    assert not (await on(store).ownership.hide(owner, HOST)).changed
    assert await listed(store) == sorted((API, OTHER))
    await again(store, {**SITES, HOST: adp_site(HOST, "quite_another")}, NOW + 2 * DAY)
    await on(store, NOW + 2 * DAY).maintenance.rescore()
    assert await listed(store) == sorted((API, OTHER))
    assert (await on(store, NOW + 2 * DAY).ownership.show(owner, HOST)).services == (HOST,)
    assert await listed(store) == sorted(SITES)


Action = Callable[[Store, Token], object]


async def test_a_token_is_valid_for_its_host_only(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store, API)
    for host in (HOST, OTHER):
        with pytest.raises(OtherHost):
            await on(store).ownership.hide(owner, host)
        with pytest.raises(OtherHost):
            await on(store).ownership.opt_out(owner, host)
        with pytest.raises(OtherHost):
            await on(store).ownership.overview(owner, host)
    with pytest.raises(NotAnOwner):
        await on(store).ownership.hide(replace(owner, secret=secret()), API)
    assert await listed(store) == sorted(SITES)


async def test_an_owner_of_the_domain_acts_for_its_hosts(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store, HOST, "domain")
    await on(store).ownership.hide(owner, API)
    assert await listed(store) == sorted((HOST, OTHER))


async def test_a_canonical_host_is_proven_too(store: Store) -> None:
    owner = await owner_of(store, API)
    with pytest.raises(owning.BadSetting):
        await on(store).ownership.pin(owner, API, HOST)
    apex = await owner_of(store, HOST)
    assert await on(store).ownership.pin(owner, API, HOST, apex) == owning.Pinned(HOST, HOST)
    with pytest.raises(owning.BadSetting):
        await on(store).ownership.pin(owner, API, OTHER)
    await on(store).ownership.give_up(apex, HOST)
    assert (await on(store).ownership.overview(owner, API)).setting is None, (
        "the pin ends with the proof of the other host"
    )


async def test_a_host_that_opted_out_stands_for_no_other(store: Store) -> None:
    other = "www.pigeons.com"
    owner = await owner_of(store, other)
    api = await owner_of(store, API)
    await on(store).ownership.set_note(owner, other, "Closed.")
    await on(store).ownership.pin(owner, other, API, api)
    await on(store).opt_outs.forget(API, opt_out="dns")
    setting = (await on(store).ownership.overview(owner, other)).setting
    assert setting is not None and (setting.note, setting.canonical) == ("Closed.", None)
    told = [(event.host, event.kind) for event in (await on(store).feed.page()).events]
    assert (other, "ownership.changed") in told[told.index((API, "ownership.ended")) :]


async def test_a_note_is_cleaned_and_bounded(store: Store) -> None:
    owner = await owner_of(store)
    assert await on(store).ownership.set_note(owner, HOST, " Closed\u202e on Sundays. ") == "Closed on Sundays."
    with pytest.raises(owning.BadSetting):
        await on(store).ownership.set_note(owner, HOST, "x" * 501)
    await on(store).ownership.set_note(owner, HOST, "")
    assert (await on(store).ownership.overview(owner, HOST)).setting is None


async def test_changes_are_bounded_per_owner(store: Store) -> None:
    owner, other = await owner_of(store), await owner_of(store, API)
    for _ in range(MAX_CHANGES):
        await on(store).ownership.show(owner, HOST)
    with pytest.raises(TooMany):
        await on(store).ownership.show(owner, HOST)
    await on(store).ownership.show(other, API)
    await on(store, NOW + HOUR).ownership.show(owner, HOST)


async def test_a_replaced_token_is_no_longer_valid(store: Store) -> None:
    owner = await owner_of(store)
    new = await on(store).ownership.rotate(owner, HOST)
    with pytest.raises(NotAnOwner):
        await on(store).ownership.overview(owner, HOST)
    await on(store).ownership.overview(new, HOST)


async def test_an_owner_opts_out_and_only_an_owner_returns(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store)
    await on(store).ownership.opt_out(owner, HOST)
    assert await listed(store) == [OTHER], "the apex covers all hosts below it"
    with pytest.raises(NotAnOwner):
        await on(store).ownership.overview(owner, HOST)
    request = await on(store).opt_outs.request_as_operator(HOST, "in")
    assert await on(store).opt_outs.settle(request, Proof()) == "by_owner"
    back = await owner_of(store, now=NOW + HOUR)
    await on(store, NOW + HOUR).ownership.come_back(back, HOST)
    await again(store, SITES, NOW + HOUR)
    assert HOST in await listed(store)


async def test_the_change_feed_tells_the_life_of_an_ownership(store: Store) -> None:
    owner, apex = await owner_of(store, API), await owner_of(store, HOST, "domain")
    for note in ("Closed.", "Closed.", ""):
        await on(store).ownership.set_note(owner, API, note)
    for target in (HOST, HOST, None, HOST):
        await on(store).ownership.pin(owner, API, target, apex)
    await on(store).ownership.give_up(apex, HOST)
    await owner_of(store, API, client="203.0.113.8", now=NOW + HOUR)
    for day in range(1, 4):
        await verified(store, "missing", NOW + HOUR + day * DAY)
    await owner_of(store, API, now=NOW + 4 * DAY)
    await on(store, NOW + 4 * DAY).opt_outs.forget(HOST, opt_out="dns")
    said = [
        (event.host, event.kind, payload_of(event.kind, event.data))
        for event in (await on(store).feed.page()).events
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
    assert (await on(store, NOW + HOUR).ownership.recheck(owner, HOST)).state == "queued"
    due = await rows(store, f"SELECT next_visit_why FROM hosts WHERE host = '{HOST}'")
    assert due == [("asked",)]
    await on(store).opt_outs.forget(HOST, opt_out="operator")
    back = await owner_of(store, now=NOW + HOUR)
    assert (await on(store, NOW + HOUR).ownership.recheck(back, HOST)).state == "opted_out"


async def test_a_webhook_is_replaced_removed_and_ends_with_the_ownership(store: Store) -> None:
    owner = await owner_of(store)

    async def webhook(url: str) -> str:
        record = await on(store, exempt=()).ownership.set_webhook(owner, HOST, url, ALL)
        assert record.verified_at is None, "nothing is told before a challenge was answered"
        return record.id

    with pytest.raises(BadReceiver):
        await webhook("http://169.254.169.254/")
    await webhook("https://hooks.pigeons.com/a")
    second = await webhook("https://hooks.pigeons.com/b")
    assert await rows(store, "SELECT id, hosts FROM webhooks") == [(second, [HOST])]
    assert await on(store).ownership.remove_webhook(owner, HOST)
    assert not await on(store).ownership.remove_webhook(owner, HOST)
    await webhook("https://hooks.pigeons.com/c")
    await on(store).ownership.give_up(owner, HOST)
    assert await rows(store, "SELECT id FROM webhooks") == []


async def test_who_made_a_claim_is_erased_after_a_day(store: Store) -> None:
    await claimed(store)
    assert await on(store, NOW + REMEMBERED).frontier.erase_clients() == 0
    assert await on(store, NOW + REMEMBERED + timedelta(seconds=1)).frontier.erase_clients() == 1
    assert await rows(store, "SELECT client FROM claims") == [(None,)]


async def test_claims_that_expired_and_ownerships_that_ended_are_pruned(store: Store) -> None:
    await claimed(store)
    assert "claims" not in await on(store, NOW + OPEN_FOR).maintenance.prune(KEEP)
    pruned = await on(store, NOW + OPEN_FOR + INDEX_FORGOTTEN_AFTER + timedelta(days=1)).maintenance.prune(KEEP)
    assert pruned["claims"] == 1
