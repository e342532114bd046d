"""What happens to services and hosts is told by events: with the state, and with what changed."""

from registry.core.changes.versions import MAX_NAMED
from registry.core.model.documents import Outcome
from registry.core.names.domains import registrable_domain
from registry.core.scheduling.policy import STALE_AFTER
from registry.store.records import ChangeRecord
from registry.store.unit_of_work import Store
from tests.support.builders import ADP, DAY, NOW, Page, adp_manifest, adp_site, again, crawl, on
from tests.support.database import execute, rows

HOST = "a.com"


async def events(store: Store, host: str = HOST) -> list[ChangeRecord]:
    async with store.begin() as uow:
        return await uow.ledger.changes(registrable_domain(host), host)


async def test_nothing_is_told_when_only_dates_differ(store: Store) -> None:
    site = adp_site(HOST, "send", "track")
    await crawl(store, {HOST: site})
    for days in (2, 10, 20):
        await again(store, {HOST: site}, NOW + days * DAY)
    await on(store, NOW + 10 * DAY).maintenance.rescore()
    assert [change.kind for change in await events(store)] == ["service.listed"]


async def test_a_document_in_another_order_is_no_change(store: Store) -> None:
    manifest = adp_manifest(HOST, "send", "track")
    await crawl(store, {HOST: {ADP: Page(manifest)}})
    turned = {**dict(reversed(manifest.items())), "capabilities": manifest["capabilities"][::-1]}
    await again(store, {HOST: {ADP: Page(turned)}}, NOW + 2 * DAY)
    told = [change.data for change in await events(store) if change.kind == "service.changed"]
    assert [data["capabilities"] for data in told] in ([], [{"added": [], "removed": [], "changed": []}])


async def test_added_removed_and_changed_capabilities_are_told_apart(store: Store) -> None:
    await crawl(store, {HOST: {ADP: Page(adp_manifest(HOST, "send", "track"))}})
    after = adp_manifest(HOST, "send", "recall")
    after["capabilities"][0]["description"] = "Sends it faster."
    await again(store, {HOST: {ADP: Page(after)}}, NOW + 2 * DAY)
    listed, changed = await events(store)
    first = {entry["name"]: entry["fingerprint"] for entry in listed.data["capabilities"]["added"]}
    told = changed.data["capabilities"]
    assert [entry["name"] for entry in told["added"]] == ["recall"]
    assert told["removed"] == [{"name": "track", "fingerprint": first["track"]}]
    assert [(entry["name"], entry["before"]) for entry in told["changed"]] == [("send", first["send"])]
    assert changed.data["fingerprint"]["before"] == listed.data["fingerprint"]["after"]
    assert {"op": "replace", "path": "/capabilities/send/description", "value": "Sends it faster."}.items() <= next(
        one for one in changed.data["difference"] if one["path"] == "/capabilities/send/description"
    ).items()
    assert "capabilities" in changed.data["changed"]
    assert not changed.data["truncated"]


async def test_going_back_has_the_first_fingerprint_again(store: Store) -> None:
    for number, name in enumerate(("Pigeons", "Carriers", "Pigeons")):
        await again(store, {HOST: adp_site(HOST, name=name)}, NOW + 2 * number * DAY) if number else await crawl(
            store, {HOST: adp_site(HOST, name=name)}
        )
    prints = [change.data["fingerprint"]["after"] for change in await events(store)]
    assert prints[0] == prints[2] != prints[1]


async def test_a_rescore_that_changes_only_the_score_says_so(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    await execute(store, "UPDATE services SET score = 1, listing = jsonb_set(listing, '{score}', '1')")
    await on(store, NOW + DAY).maintenance.rescore()
    change = (await events(store))[-1].data
    assert (change["cause"], change["changed"]) == ("rescore", ["score"])
    (told,) = change["difference"]
    assert (told["path"], told["old"]) == ("/score", 1)


async def test_a_change_of_very_many_capabilities_is_cut_and_says_so(store: Store) -> None:
    await crawl(store, {HOST: {ADP: Page(adp_manifest(HOST, "send"))}})
    names = [f"send_{number}" for number in range(MAX_NAMED + 50)]
    await again(store, {HOST: {ADP: Page(adp_manifest(HOST, *names))}}, NOW + 2 * DAY)
    change = (await events(store))[-1].data
    told = change["capabilities"]
    assert change["truncated"]
    assert len(told["added"]) + len(told["removed"]) == MAX_NAMED
    assert await rows(store, "SELECT max(octet_length(data::text)) < 100000 FROM changes") == [(True,)]


async def test_failing_and_gone_are_told_apart(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST)})
    down = {HOST: Page(failure=Outcome.UNREACHABLE, reason="connect_timeout")}
    for days in (8, 20, 40):
        await again(store, down, NOW + days * DAY)
    assert (await events(store))[-1].data["state"] == "failing"
    await again(store, {HOST: {}}, NOW + 80 * DAY)
    await again(store, {HOST: {}}, NOW + 120 * DAY)
    last = (await events(store))[-1]
    assert (last.kind, last.data["state"]) == ("service.delisted", "gone")


async def test_an_opt_out_by_robots_hides_and_deletes_what_events_said(store: Store) -> None:
    site = adp_site(HOST)
    await crawl(store, {HOST: site})
    robots = {"/robots.txt": Page("User-agent: WaypostBot\nDisallow: /\n", media_type="text/plain")}
    await again(store, {HOST: {**site, **robots}}, NOW + 2 * DAY)
    told = [(change.kind, change.data) for change in await events(store)]
    assert told[0] == ("service.listed", {"redacted": True})
    assert [(kind, data["state"]) for kind, data in told[1:]] == [
        ("service.hidden", "opted_out"), ("host.opted_out", "opted_out"),
    ]  # fmt: skip


async def test_forgotten_and_blocked_are_told_apart(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST), "b.com": adp_site("b.com")})
    await on(store).opt_outs.forget(HOST, reason="a note")
    await on(store).opt_outs.forget("b.com", opt_out="operator")
    assert [(change.kind, change.data["state"]) for change in (await events(store))[1:]] == [
        ("service.delisted", "gone"), ("host.forgotten", "gone"),
    ]  # fmt: skip
    assert [(change.kind, change.data["state"]) for change in (await events(store, "b.com"))[1:]] == [
        ("service.delisted", "blocked"), ("host.blocked", "blocked"), ("host.forgotten", "blocked"),
    ]  # fmt: skip


async def test_a_service_that_nobody_sees_becomes_stale_once_and_fresh_again(store: Store) -> None:
    site = adp_site("a.com")
    await crawl(store, {"a.com": site})
    assert await on(store, NOW + STALE_AFTER).maintenance.tell_stale() == 0
    late = NOW + STALE_AFTER + DAY
    assert [await on(store, late).maintenance.tell_stale() for _ in range(2)] == [1, 0]
    await again(store, {"a.com": site}, late + DAY)
    assert await on(store, late + DAY).maintenance.tell_stale() == 0
    async with store.begin() as uow:
        states = [change.data["state"] for change in await uow.ledger.changes("a.com", "a.com")]
    assert states == ["fresh", "stale", "fresh"]
