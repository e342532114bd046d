"""`waypost reports` on a real database: lists, decides and answers; foreign text cannot steer the terminal."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from registry.cli import app
from registry.cli.common import DONE, NO, USAGE
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.support.builders import on

runner = CliRunner()


@pytest.fixture
def filed(monkeypatch: pytest.MonkeyPatch, database_url: str) -> Iterator[None]:
    import asyncio

    async def file() -> None:
        store, now = Store(make_engine(database_url)), datetime.now(UTC)
        try:
            await on(store, now).frontier.submit("shop.com")
            text = "It is \x1b[31mgone\x1b[0m."
            filing = await on(store, now).reports.file("shop.com", "dead", text, client="198.51.100.1")
            assert filing.state == "filed"
        finally:
            await store.close()

    asyncio.run(file())
    monkeypatch.setenv("DATABASE_URL", database_url)
    yield


def test_a_report_is_listed_decided_and_answered(filed: None) -> None:
    listed = runner.invoke(app, ["admin", "reports", "list", "--json"])
    assert listed.exit_code == DONE, listed.output
    report = json.loads(listed.stdout)
    assert (report["domain"], report["code"], report["state"], report["filings"]) == ("shop.com", "dead", "open", 1)
    shown = runner.invoke(app, ["admin", "reports", "list"])
    assert "shop.com dead, open" in shown.stdout and "\x1b" not in shown.stdout
    decided = runner.invoke(app, ["admin", "reports", "resolve", report["id"], "accepted", "--answer", "Thank you."])
    assert (decided.exit_code, "answer: Thank you." in decided.stdout) == (DONE, True)
    assert runner.invoke(app, ["admin", "reports", "list", "--json"]).stdout == ""
    closed = runner.invoke(app, ["admin", "reports", "list", "--closed", "--json"])
    assert json.loads(closed.stdout)["answer"] == "Thank you."


def test_wrong_arguments_are_refused(filed: None) -> None:
    assert runner.invoke(app, ["admin", "reports", "resolve", str(uuid4()), "accepted"]).exit_code == NO
    assert runner.invoke(app, ["admin", "reports", "resolve", str(uuid4()), "ignored"]).exit_code == USAGE
    assert runner.invoke(app, ["admin", "reports", "resolve", "1", "accepted"]).exit_code == USAGE
