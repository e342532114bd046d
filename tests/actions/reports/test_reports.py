"""Reports are signals: filed by anybody within bounds, decided by a person, and without any effect by themselves."""

from dataclasses import replace
from datetime import datetime

from registry.actions.access import new_token
from registry.actions.frontier.submit import REMEMBERED
from registry.actions.reports import KIND, MOST_OF_CLIENT, MOST_OF_REPORT, WINDOW, Filing
from registry.core.access.audit import ANONYMOUS, OPERATOR
from registry.core.model.reports import Code
from registry.store.records import OptOutRecord
from registry.store.unit_of_work import Store
from tests.support.builders import HOUR, NOW, adp_site, crawl, on
from tests.support.database import rows

HOST, CLIENT, OTHER = "shop.com", "198.51.100.1", "203.0.113.7"
TEXT = "It answers 410 for weeks."


async def listed(store: Store, *hosts: str) -> None:
    await crawl(store, {host: adp_site(host, "buy") for host in hosts}, NOW)


async def report(
    store: Store, host: str = HOST, code: Code = "dead", *, client: str = CLIENT, now: datetime = NOW, text: str = TEXT
) -> Filing:
    return await on(store, now).reports.file(host, code, text, client=client)


async def opened(store: Store, filing: Filing) -> tuple[str, str, str]:
    assert filing.token is not None
    found = await on(store).reports.filed(filing.token)
    assert found is not None
    return found.filing.reason, found.report.state, found.report.answer


async def test_who_filed_a_report_reads_the_answer(store: Store) -> None:
    await listed(store, HOST)
    filing = await report(store)
    assert await opened(store, filing) == (TEXT, "open", "")
    (about,) = await on(store).reports.of_host(HOST)
    resolved = await on(store, NOW + HOUR).reports.resolve(about.id, "accepted", "Thank you.", actor=OPERATOR)
    assert resolved is not None and resolved.is_changed
    assert await on(store).reports.of_host(HOST) == [resolved.report]
    assert (resolved.report.state, resolved.report.updated_at) == ("accepted", NOW + HOUR)
    assert await opened(store, filing) == (TEXT, "accepted", "Thank you.")
    assert (await on(store).reports.of_host(HOST))[0].answer == "Thank you."
    assert (await on(store).reports.page(["open"])).reports == [] and len(
        (await on(store).reports.page(["accepted"])).reports
    ) == 1


async def test_a_report_opens_with_its_secret_only(store: Store) -> None:
    await listed(store, HOST)
    token = (await report(store)).token
    assert token is not None
    for wrong in (replace(token, secret=token.secret[::-1]), replace(token, id="0" * 16), new_token(KIND)):
        assert await on(store).reports.filed(wrong) is None
    stored = await rows(store, "SELECT f::text FROM report_filings f")
    assert token.secret not in stored[0][0]


async def test_what_several_clients_report_is_decided_together(store: Store) -> None:
    await listed(store, HOST)
    filings = [await report(store, client=f"198.51.100.{number}", text=f"{number}: {TEXT}") for number in range(5)]
    await report(store, code="spam", now=NOW + HOUR)
    reports = await on(store).reports.of_host(HOST)
    assert [(one.code, one.filings) for one in reports] == [("spam", 1), ("dead", 5)]
    texts = (await on(store).reports.page(["open"])).texts
    assert sorted(texts[reports[1].id]) == [f"{number}: {TEXT}" for number in range(5)]
    assert texts[reports[0].id] == [TEXT]
    await on(store).reports.resolve(reports[1].id, "rejected", "It answers.", actor=OPERATOR)
    assert [await opened(store, filing) for filing in filings] == [
        (f"{number}: {TEXT}", "rejected", "It answers.") for number in range(5)
    ]
    await report(store, client=OTHER, now=NOW + 2 * HOUR)
    assert [one.state for one in await on(store).reports.of_host(HOST)] == ["open", "open", "rejected"]


async def test_a_client_reports_the_same_once(store: Store) -> None:
    await listed(store, HOST)
    assert [(await report(store)).state for _ in range(3)] == ["filed", "repeated", "repeated"]
    assert await rows(store, "SELECT count(*) FROM report_filings") == [(1,)]


async def test_a_client_files_a_few_reports_in_a_day(store: Store) -> None:
    names = [f"shop-{number}.com" for number in range(MOST_OF_CLIENT + 1)]
    await listed(store, *names)
    filings = [await report(store, name) for name in names]
    assert [filing.state for filing in filings] == ["filed"] * MOST_OF_CLIENT + ["client_budget"]
    assert filings[-1].retry_at == NOW + WINDOW
    assert (await report(store, names[-1], client=OTHER)).state == "filed"
    assert (await report(store, names[-1], now=NOW + WINDOW)).state == "filed"


async def test_texts_of_a_report_are_bounded_and_nobody_is_refused(store: Store) -> None:
    await listed(store, HOST, f"www.{HOST}")
    clients = [f"198.51.100.{number}" for number in range(MOST_OF_REPORT + 3)]
    filings = [await report(store, client=client) for client in clients]
    assert [filing.state for filing in filings] == ["filed"] * MOST_OF_REPORT + ["counted"] * 3
    assert (await report(store, client=clients[0])).state == "repeated"
    assert (await on(store).reports.of_host(HOST))[0].filings == MOST_OF_REPORT + 3
    assert await rows(store, "SELECT count(*) FROM report_filings") == [(MOST_OF_REPORT,)]
    assert await rows(store, "SELECT count(*) FROM audit WHERE action = 'report.filed'") == [(MOST_OF_REPORT,)]

    assert (await report(store, code="malware", client=OTHER)).state == "filed"
    assert (await report(store, f"www.{HOST}", client=OTHER)).state == "filed"
    (about,) = [one for one in await on(store).reports.of_host(HOST) if one.code == "dead"]
    await on(store, NOW + HOUR).reports.resolve(about.id, "rejected", "It answers.", actor=OPERATOR)
    assert (await report(store, client=OTHER, now=NOW + 2 * HOUR)).state == "filed"


async def test_no_number_of_reports_changes_what_is_shown(store: Store) -> None:
    await listed(store, HOST)
    tables = ("services", "hosts", "findings", "scores", "changes", "search_dirty", "domains")
    shown = "SELECT " + ", ".join(f"(SELECT coalesce(jsonb_agg(t), '[]') FROM {table} t)::text" for table in tables)
    before = await rows(store, shown)
    for number in range(MOST_OF_REPORT + 1):
        await report(store, code="malware", client=f"198.51.100.{number}")
    (about,) = await on(store).reports.of_host(HOST)
    await on(store).reports.resolve(about.id, "accepted", "", actor=OPERATOR)
    assert await rows(store, shown) == before


async def test_unknown_hosts_and_those_that_opted_out_are_not_reported(store: Store) -> None:
    await listed(store, HOST)
    assert (await report(store, "unknown.com")).state == "unknown"
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord(HOST, HOST, "file", "", NOW)])
    assert (await report(store)).state == "unknown"
    assert await rows(store, "SELECT count(*) FROM reports") == [(0,)]


async def test_filing_and_deciding_are_in_the_audit_log(store: Store) -> None:
    await listed(store, HOST)
    await report(store)
    (about,) = await on(store).reports.of_host(HOST)
    await on(store, NOW + HOUR).reports.resolve(about.id, "in_review", "Looking.", actor=OPERATOR)
    async with store.begin() as uow:
        entries = await uow.audit.latest(limit=10, host=HOST)
    assert [(entry.actor, entry.action, entry.reason) for entry in entries] == [
        (OPERATOR, "report.resolved", "Looking."),
        (ANONYMOUS, "report.filed", ""),
    ]
    assert entries[0].detail == {"report": str(about.id), "code": "dead", "from": "open", "to": "in_review"}
    assert TEXT not in str(entries) and CLIENT not in str(entries)


async def test_the_same_decision_again_changes_nothing(store: Store) -> None:
    await listed(store, HOST)
    await report(store)
    (about,) = await on(store).reports.of_host(HOST)
    for hours in (1, 2):
        now = NOW + hours * HOUR
        resolved = await on(store, now).reports.resolve(about.id, "accepted", "Thank you.\0", actor=OPERATOR)
        assert resolved is not None and resolved.is_changed == (hours == 1)
    assert (await on(store).reports.of_host(HOST))[0].updated_at == NOW + HOUR
    async with store.begin() as uow:
        entries = await uow.audit.latest(limit=10, host=HOST)
    assert [entry.action for entry in entries] == ["report.resolved", "report.filed"]


async def test_who_filed_is_erased_after_a_day_and_everything_with_the_host(store: Store) -> None:
    await listed(store, HOST)
    filing = await report(store)
    await on(store, NOW + REMEMBERED).frontier.erase_clients()
    assert await rows(store, "SELECT client FROM report_filings") == [(None,)]
    await on(store, NOW + REMEMBERED).opt_outs.forget(HOST, opt_out="file", evidence="", reason="")
    assert filing.token is not None and await on(store).reports.filed(filing.token) is None
    assert await rows(store, "SELECT count(*) FROM reports") == [(0,)]
