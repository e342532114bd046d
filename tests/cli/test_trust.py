"""Commands say what a trust level means, and why it is not higher."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from registry.actions.frontier.frontier import FrontierActions
from registry.actions.queries.discover import SearchActions
from registry.actions.queries.inspect import QueryActions
from registry.cli import app
from registry.cli.inspection import show_account
from registry.cli.show import show_search, show_submissions, show_visited
from registry.cli.terminal import CleanConsole
from registry.core.merging.trust import LEVELS, REASONS
from registry.core.model.listing import Query, TrustLevel
from registry.search.embedded import EmbeddedBackend
from registry.store.claims import OwnerSettingRecord
from registry.store.unit_of_work import Store
from registry.wiring import utc_now
from tests.actions.ownership.test_ownership import owner_of
from tests.support.builders import NOW, Page, awp_manifest, crawl

HOST = "claims-paypal.com"
VERIFIED = f"verified: {LEVELS[TrustLevel.VERIFIED].means}"
COMMUNITY = f"community: {LEVELS[TrustLevel.COMMUNITY].means}"
WHY = f"not verified: {REASONS['known_name'].says} (PayPal, paypal.com)"
ALSO = f"not verified: {REASONS['claims_other_site'].says}"


class Registry:
    """What the commands need of a registry."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.queries = QueryActions(store, utc_now)
        self.search = SearchActions(store, utc_now, EmbeddedBackend(folder / "index"))

    def index_is_fed(self) -> bool:
        return False


@pytest.fixture
async def registry(store: Store, tmp_path: Path) -> Any:
    """A registry with one impostor."""
    await crawl(store, {HOST: {"/agent.json": Page({**awp_manifest(HOST), "domain": "paypal.com"})}})
    return Registry(store, tmp_path)


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


async def test_search_says_it(registry: Any, capsys: pytest.CaptureFixture[str]) -> None:
    await show_search(registry, Query("paypal", limit=5), CleanConsole(width=500), as_json=False)
    lines = printed(capsys)
    assert lines[0].startswith(f"{HOST}  {HOST}, score") and ", community, " in lines[0]
    assert lines[1:3] == [WHY, ALSO] and lines[-1] == VERIFIED
    await show_search(registry, Query("paypal", limit=5), CleanConsole(), as_json=True)
    row = json.loads(capsys.readouterr().out)
    trust = row["trust"]
    assert trust["since"] and all(trust["reasons_since"].values())
    assert (row["owned"], row["canonical_host"]) == (False, None)
    assert (trust["checked"], trust["reasons"]) == ("part", ["known_name", "claims_other_site"])


async def test_search_and_inspect_say_who_owns_it(
    store: Store, registry: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    await owner_of(store, HOST)
    async with store.begin() as uow:
        await uow.owner_settings.put(OwnerSettingRecord(HOST, HOST, "0" * 16, NOW, canonical=f"www.{HOST}"))
    await show_search(registry, Query("paypal", limit=5), CleanConsole(width=500), as_json=False)
    lines = printed(capsys)
    assert ", owner proven" in lines[0] and lines[1] == f"its owner lets www.{HOST} stand for it"
    await show_search(registry, Query("paypal", limit=5), CleanConsole(), as_json=True)
    row = json.loads(capsys.readouterr().out)
    assert (row["owned"], row["canonical_host"]) == (True, f"www.{HOST}")
    await show_account(registry, HOST, 0, CleanConsole(width=500), as_json=False)
    lines = printed(capsys)
    assert any(line.startswith("owner:") and line.endswith(", by dns") for line in lines)
    assert any(line.startswith("stands for it:") and line.endswith(f"www.{HOST}") for line in lines)
    await show_account(registry, HOST, 0, CleanConsole(), as_json=True)
    shown = json.loads(capsys.readouterr().out)
    assert (shown["ownership"]["state"], shown["canonical_host"]) == ("proven", f"www.{HOST}")


async def test_inspect_and_crawl_say_it(registry: Any, capsys: pytest.CaptureFixture[str]) -> None:
    await show_account(registry, HOST, 0, CleanConsole(width=500), as_json=False)
    trust = [line.removeprefix("trust:").strip() for line in printed(capsys) if line.startswith("trust:")]
    assert trust == [COMMUNITY, WHY, ALSO]
    await show_account(registry, HOST, 0, CleanConsole(), as_json=True)
    assert json.loads(capsys.readouterr().out)["trust"]["resembles"]["name"] == "PayPal"
    await show_visited(registry, [HOST], CleanConsole(width=500), as_json=False)
    assert printed(capsys)[-3:] == [COMMUNITY, WHY, ALSO]


def test_check_says_it(tmp_path: Path) -> None:
    file = tmp_path / "agent.json"
    file.write_text(json.dumps({**awp_manifest(HOST), "domain": "paypal.com"}))
    place = ["--at", f"https://{HOST}/agent.json"]
    lines = [line.strip() for line in CliRunner().invoke(app, ["check", str(file), *place]).output.splitlines()]
    assert [f"if its host serves it: {words}" for words in (COMMUNITY, WHY, ALSO)] == lines[2:5]
    trust = json.loads(CliRunner().invoke(app, ["check", str(file), *place, "--json"]).output)["trust"]
    assert (trust["level"], trust["means"]) == ("community", LEVELS[TrustLevel.COMMUNITY].means)


async def test_a_submitted_look_alike_is_named(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    class Waypost:
        frontier = FrontierActions(store, utc_now)

    waypost: Any = Waypost()
    await show_submissions(waypost, ["раураl.com", "plain-new.com"], CleanConsole(width=200), as_json=False)
    assert [line.endswith("can be taken for another name") for line in printed(capsys)] == [True, False]
