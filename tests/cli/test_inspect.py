"""`waypost inspect` is readable at 80 columns: nothing is cut, long paths are folded in their own column."""

import json
from typing import Any

import pytest

from registry.actions.queries.inspect import QueryActions
from registry.cli.inspection import show_account
from registry.cli.terminal import CleanConsole
from registry.store.unit_of_work import Store
from registry.wiring import utc_now
from tests.support.builders import ADP, Page, adp_detail, adp_manifest, crawl

HOST = "pigeons.example"
LONG_PATH = "/" + "/".join(f"section-{number}" for number in range(30)) + "/create_parcel"


class Registry:
    """What `show_account` needs of a registry."""

    def __init__(self, store: Store) -> None:
        self.queries = QueryActions(store, utc_now)


async def printed(store: Store, columns: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    registry: Any = Registry(store)
    capsys.readouterr()
    assert await show_account(registry, HOST, 3, CleanConsole(width=columns), as_json=False) == 0
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
async def crawled(store: Store) -> Store:
    """Return a registry with a host that was asked for a very long path, and another host of its domain."""
    manifest = adp_manifest(HOST, "create_parcel")
    manifest["capabilities"][0]["detail_url"] = LONG_PATH
    site = {ADP: Page(manifest), LONG_PATH: Page(adp_detail("create_parcel"))}
    await crawl(store, {HOST: site, f"{'long-label-' * 5}x.{HOST}": {"/agent.json": Page("{")}})
    return store


async def test_it_is_readable_at_80_columns(crawled: Store, capsys: pytest.CaptureFixture[str]) -> None:
    lines = await printed(crawled, 80, capsys)
    assert [line for line in lines if len(line) > 80 or "…" in line] == []
    head = next(number for number, line in enumerate(lines) if line.split() == ["answer", "bytes", "ms", "asked"])
    rows = lines[head + 1 : lines.index("", head)]
    column = lines[head].index("asked")
    assert [row for row in rows if row[column - 2 : column].strip()] == [], "paths stand in a column of their own"
    assert LONG_PATH in "".join(row[column:] for row in rows), "a long path is folded, and whole"
    assert any(row.startswith("  200 found adp/1.0") and row.endswith(ADP) for row in rows)
    assert any(row.startswith("  404 absent  ") for row in rows), "the status is not said twice"
    assert column <= 45, "most paths fit a line"
    assert f"{'long-label-' * 5}x.{HOST}" in "".join(line[2:].split("  ")[0] for line in lines[lines.index("", head) :])


async def test_a_wide_terminal_shows_media_types_too(crawled: Store, capsys: pytest.CaptureFixture[str]) -> None:
    lines = await printed(crawled, 160, capsys)
    assert any(line.split() == ["answer", "type", "bytes", "ms", "asked"] for line in lines)
    assert any(line.endswith(ADP) and "application/json" in line for line in lines)


async def test_json_has_answers_instead_of_packed_bytes(crawled: Store, capsys: pytest.CaptureFixture[str]) -> None:
    registry: Any = Registry(crawled)
    capsys.readouterr()
    assert await show_account(registry, HOST, 3, CleanConsole(), as_json=True) == 0
    visit = json.loads(capsys.readouterr().out)["visits"][0]
    assert "packed" not in visit
    assert {answer["url"] for answer in visit["answers"]} >= {f"https://{HOST}{ADP}", f"https://{HOST}{LONG_PATH}"}
