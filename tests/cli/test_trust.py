"""Commands say what is known of who serves a listing, and why not more."""

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
from registry.core.merging.trust import IDENTITIES
from registry.core.model.listing import IdentityState, Query
from registry.search.embedded import EmbeddedBackend
from registry.store.claims import OwnerSettingRecord
from registry.store.unit_of_work import Store
from registry.wiring import utc_now
from tests.actions.ownership.test_ownership import owner_of
from tests.support.builders import NOW, Page, awp_manifest, crawl

HOST = "claims-paypal.com"
IN_DOUBT = f"in-doubt: {IDENTITIES[IdentityState.IN_DOUBT].means}"
WHY = (
    "identity in doubt: It uses the name of PayPal; this host is not on paypal.com. A document says that it is another "
    "site."
)


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
    assert lines[0].startswith(f"{HOST}  {HOST}, score") and ", in-doubt, " in lines[0]
    assert lines[1] == WHY and lines[-1] == IN_DOUBT
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
    lines = [line.removeprefix("identity:").strip() for line in printed(capsys) if line.startswith("identity:")]
    assert lines == [IN_DOUBT, WHY]
    await show_account(registry, HOST, 0, CleanConsole(), as_json=True)
    assert json.loads(capsys.readouterr().out)["trust"]["resembles"]["name"] == "PayPal"
    await show_visited(registry, [HOST], CleanConsole(width=500), as_json=False)
    assert printed(capsys)[-2:] == [IN_DOUBT, WHY]


def test_check_says_it(tmp_path: Path) -> None:
    file = tmp_path / "agent.json"
    file.write_text(json.dumps({**awp_manifest(HOST), "domain": "paypal.com"}))
    place = ["--at", f"https://{HOST}/agent.json"]
    lines = [line.strip() for line in CliRunner().invoke(app, ["check", str(file), *place]).output.splitlines()]
    assert [f"if its host serves it: {words}" for words in (IN_DOUBT, WHY)] == lines[2:4]
    trust = json.loads(CliRunner().invoke(app, ["check", str(file), *place, "--json"]).output)["trust"]
    assert (trust["level"], trust["identity"]) == ("community", "in-doubt")
    assert trust["means"] == IDENTITIES[IdentityState.IN_DOUBT].means


async def test_a_submitted_look_alike_is_named(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    class Waypost:
        frontier = FrontierActions(store, utc_now)

    waypost: Any = Waypost()
    await show_submissions(waypost, ["раураl.com", "plain-new.com"], CleanConsole(width=200), as_json=False)
    assert [line.endswith("can be taken for another name") for line in printed(capsys)] == [True, False]
