"""Checking claims over real TLS: what proves a host, what does not, and what no definite answer is."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest

from crawler.checks import OptOutChecks, read_claim, running_checks
from crawler.guards import AddressGuard, ResolutionError
from registry.actions.ownership.claiming import ClaimCheck
from registry.actions.ownership.owning import NotAnOwner
from registry.core.access.claims import FILE_PATH, MAX_FAILURES, PATIENCE, challenge
from registry.store.unit_of_work import Store
from registry.wiring import open_waypost
from tests.crawler.support import Web, settings, silent, silent_txt
from tests.support.builders import adp_site, crawl
from tests.support.database import rows, until_true
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Answer, Reply, Site, moved

pytestmark = pytest.mark.slow

HOST = "shop.example"
OTHER, BOUNCE, WWW = f"u1.{HOST}", f"bounce.{HOST}", f"www.{HOST}"
VALUE = challenge("0123456789abcdef", HOST, "host", bytes(32))
CHECK = ClaimCheck("0123456789abcdef", HOST, "file", VALUE, may_fetch=True)


class Names(AddressGuard):
    records: tuple[bytes, ...] | None = ()

    async def txt_records(self, name: str) -> tuple[bytes, ...]:
        assert name == f"_waypost-claim.{HOST}"
        if self.records is None:
            raise ResolutionError("dns_timeout")
        return self.records


Asking: TypeAlias = Callable[..., Awaitable[tuple[str, list[str]]]]


@pytest.fixture
def answer_of(web: Web, monkeypatch: pytest.MonkeyPatch) -> Asking:
    """Return a function that returns the answer of a check, and the paths that it requested."""
    monkeypatch.setattr("crawler.checks.CHECK_SECONDS", HANG_SECONDS)
    published = {FILE_PATH: Reply(VALUE, type="text/plain")}
    bounce = {FILE_PATH: moved(f"https://{HOST}/users/claim")}

    async def ask(site: Site, check: ClaimCheck, records: tuple[bytes, ...] | None = ()) -> tuple[str, list[str]]:
        sites: dict[str, Site] = {HOST: site, OTHER: published, WWW: published, BOUNCE: bounce}
        async with web(sites) as (served, config), OptOutChecks(config) as checks:
            checks.guard = names = Names(checks.guard.connect_to, None)
            names.records = records
            if site is silent:
                checks.seconds = 0.1
            return ":".join(filter(None, await read_claim(checks, check))), served.paths(HOST)

    return ask


@pytest.mark.parametrize(
    ("site", "answer"),
    [
        ({FILE_PATH: Reply(VALUE, type="text/plain")}, "published"),
        ({FILE_PATH: Reply(f"waypost-claim=another\r\n {VALUE}\n", type="text/plain")}, "published"),
        ({FILE_PATH: Reply(VALUE[:-1], type="text/plain")}, "missing:other_text"),
        ({FILE_PATH: Reply("<!doctype html><title>Shop</title>", type="text/html")}, "missing:web_page"),
        ({FILE_PATH: Reply(VALUE, 404)}, "missing:http_404"),
        ({FILE_PATH: Reply(VALUE, 403)}, "missing:http_403"),
        ({FILE_PATH: moved(f"https://{OTHER}{FILE_PATH}")}, "missing:redirect"),
        ({FILE_PATH: moved(f"https://{BOUNCE}{FILE_PATH}"), "/users/claim": Reply(VALUE)}, "missing:redirect"),
        ({FILE_PATH: moved(f"https://{WWW}{FILE_PATH}")}, "published"),
        ({}, "missing:http_404"),
        (Reply("oops", 503), "unanswered:http_503"),
        (Reply("slow down", 429), "unanswered:http_429"),
        (silent, "unanswered:check_timeout"),
    ],
)
async def test_a_file_proves_the_host_that_serves_it(answer_of: Asking, site: Site, answer: str) -> None:
    assert (await answer_of(site, CHECK))[0] == answer


@pytest.mark.parametrize(
    ("records", "answer"),
    [
        ((b"v=spf1 -all", VALUE.encode()), "published"),
        ((b"v=spf1 -all",), "missing:other_record"),
        ((), "missing:no_record"),
        (None, "unanswered:dns_timeout"),
    ],
)
async def test_a_record_proves_a_host_without_a_request(
    answer_of: Asking, records: tuple[bytes, ...] | None, answer: str
) -> None:
    check = replace(CHECK, method="dns")
    assert await answer_of({}, check, records) == (answer, [])


async def test_a_host_that_may_not_be_visited_gets_no_request(answer_of: Asking) -> None:
    site = {FILE_PATH: Reply(VALUE, type="text/plain")}
    assert await answer_of(site, replace(CHECK, may_fetch=False)) == ("unanswered:not_visited", [])


async def test_a_check_ends_though_the_name_server_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async with OptOutChecks(settings()) as checks:
        monkeypatch.setattr(checks.guard, "txt_records", silent_txt)
        checks.seconds = 0.1
        assert (await read_claim(checks, replace(CHECK, method="dns"))).reason == "check_timeout"


async def test_a_worker_verifies_an_ownership_every_day_until_three_failures_end_it(
    web: Web, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Store, database_url: str
) -> None:
    monkeypatch.setattr("crawler.checks.CHECK_SECONDS", HANG_SECONDS)
    monkeypatch.setattr("crawler.checks.POLL_SECONDS", 0.02)
    await crawl(store, {HOST: adp_site(HOST)})
    site: dict[str, Answer] = {}
    async with (
        web({HOST: site}, database_url=database_url, data=tmp_path) as (served, config),
        open_waypost(config) as waypost,
        running_checks(waypost, config),
    ):

        async def is_checked() -> bool:
            return await rows(store, "SELECT FROM claims WHERE due_at <= now()") == []

        async def a_day_later(since: timedelta = timedelta()) -> tuple[int, str]:
            """Let the next verification be due; return the failures in a row and the answer."""
            async with store.engine.begin() as connection:
                moved_back = f"due_at = now(), unanswered_since = unanswered_since - interval '{since.days} days'"
                await connection.exec_driver_sql(f"UPDATE claims SET {moved_back}")
            await until_true(is_checked)
            [(failures, answer)] = await rows(store, "SELECT failures, answer FROM claims")
            return failures, answer

        claimed, token = await waypost.claims.claim(HOST, "file", "host", client="203.0.113.7")
        site[FILE_PATH] = published = Reply(claimed.publish, type="text/plain")
        proven, owner = await waypost.claims.check_claim(token, seconds=HANG_SECONDS)
        assert proven.state == "proven" and owner is not None
        [(hours,)] = await rows(store, "SELECT extract(epoch FROM due_at - verified_at) / 3600 FROM claims")
        assert hours == config.claim_recheck_hours == 24
        await waypost.ownership.set_note(owner, HOST, "Closed on Sundays.")

        del site[FILE_PATH]
        assert await a_day_later() == (1, "missing")
        site[FILE_PATH] = published
        assert await a_day_later() == (0, "published"), "failures count in a row"
        site[FILE_PATH] = Reply("oops", 503)
        assert await a_day_later() == (0, "unanswered")
        assert await a_day_later(PATIENCE) == (1, "unanswered"), "an outage counts after three days"
        del site[FILE_PATH]
        assert [await a_day_later() for _ in range(2)] == [(2, "missing"), (MAX_FAILURES, "missing")]

        service = await waypost.queries.stored_service(HOST)
        assert service is not None and service.setting is None
        assert (service.ownership.state, service.ownership.end_reason) == ("ended", "no_longer_published")
        with pytest.raises(NotAnOwner):
            await waypost.ownership.overview(owner, HOST)
        told = "SELECT kind, data ->> 'reason' FROM changes WHERE kind LIKE 'ownership.%%' ORDER BY arrival"
        assert await rows(store, told) == [
            ("ownership.proven", None), ("ownership.changed", None), ("ownership.ended", "no_longer_published"),
        ]  # fmt: skip
        assert await rows(store, "SELECT FROM claims WHERE due_at IS NOT NULL") == [], "never checked again"
    assert served.paths(HOST) == [FILE_PATH] * 7, "one request a check"
