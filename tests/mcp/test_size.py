"""Results keep to their bytes, whatever a service has, and say what was left out."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from registry.mcp.result_schemas import DEFAULT_BYTES, MIN_BYTES
from registry.mcp.within import first_within, lines_within, members_within, short, size
from registry.store.claims import OwnerSettingRecord
from tests.mcp.serving import OUTPUTS, called, connected, served
from tests.support.api import Api
from tests.support.builders import ADP, Page, adp_detail, adp_manifest, crawl

pytestmark = pytest.mark.slow

GIANTS = {f"giant{number}.example": number for number in range(6)}
"""Hosts of services with hundreds of capabilities and long texts, each in other characters."""

LETTERS = ('"', "\\", "ü", "語", "😀", "a")


def _giant(host: str, letter: str) -> dict[str, Page]:
    words = f"parcel {letter * 40} " * 200
    names = [f"do_{letter * 60}_{number}" for number in range(300)]
    manifest = adp_manifest(host, *names)
    manifest |= {"name": f"Parcel {letter * 500}", "description": words}
    for entry in manifest["capabilities"]:
        entry["description"] = words[:500]
    manifest["capabilities"][0]["detail_url"] = "/caps/first"
    manifest["pricing"] = {"type": "paid", "plans": [{"name": letter * 300, "price": letter * 300}] * 30}
    detail = adp_detail(names[0])
    detail["parameters"] = [
        {"name": f"p{number}", "type": "string", "description": words[:900], "required": True} for number in range(300)
    ]
    return {ADP: Page(manifest), "/caps/first": Page(detail)}


async def test_giant_services_fit_into_every_budget(own_api: Api) -> None:
    sites = {host: _giant(host, LETTERS[number]) for host, number in GIANTS.items()}
    await crawl(own_api.store, sites, datetime.now(UTC))
    async with own_api.store.begin() as uow:
        for host, number in GIANTS.items():
            words, canonical = LETTERS[number] * 500, f"{'a' * 60}.{'b' * 60}.{'c' * 60}.{host}"
            await uow.owner_settings.put(
                OwnerSettingRecord(host, host, "0" * 16, datetime.now(UTC), note=words, canonical=canonical)
            )
    await own_api.waypost.search.reindex()
    listed = [host for host in GIANTS if (await own_api.get(f"/api/services/{host}")).status_code == 200]
    assert len(listed) >= 4
    async with served(own_api.waypost, own_api.waypost.settings) as address, connected(address) as client:
        for most in (MIN_BYTES, DEFAULT_BYTES):
            calls: list[tuple[str, dict[str, Any]]] = [
                ("discover_services", {"q": "parcel", "limit": 20}),
                ("discover_services", {"q": "parcel", "limit": 20, "detail": "full"}),
                ("compare_services", {"domains": listed[:5]}),
            ]
            for host in listed:
                calls += [("get_service", {"domain": host, "detail": detail}) for detail in ("low", "full")]
                (first, *_), _ = await _capabilities(own_api, host)
                calls += [("get_capability", {"domain": host, "name": first})]
            for name, arguments in calls:
                result: Any = await client.call_tool(name, {**arguments, "max_bytes": most})
                assert not result.is_error, (name, arguments, result.content[0].text)
                content = result.structured_content
                assert [error.message for error in OUTPUTS[name].iter_errors(content)] == []
                used = size(content) + len(result.content[0].text.encode())
                assert used <= most, (name, arguments, used)
                assert content.get("services", True)
                if name in ("get_service", "get_capability"):
                    assert content["truncated"] is True


async def _capabilities(api: Api, host: str) -> tuple[list[str], int]:
    data = (await api.json(f"/api/services/{host}"))["data"]
    names = [one["name"] for one in data["manifest"]["capabilities"]]
    return names, len(names)


async def test_all_capabilities_of_a_giant_are_reached_by_cursors(own_api: Api) -> None:
    host = "giant2.example"
    await crawl(own_api.store, {host: _giant(host, LETTERS[2])}, datetime.now(UTC))
    expected, _ = await _capabilities(own_api, host)
    shown: list[str] = []
    async with served(own_api.waypost, own_api.waypost.settings) as address, connected(address) as client:
        arguments: dict[str, Any] = {"domain": host, "max_bytes": 60_000}
        while True:
            page = await called(client, "get_service", **arguments)
            shown += [one["name"] for one in page["capabilities"]]
            if page["next_cursor"] is None:
                break
            arguments["cursor"] = page["next_cursor"]
    assert shown == expected


def test_short_keeps_to_bytes_and_cuts_no_character() -> None:
    for text in ("a" * 50, "語" * 50, "😀" * 50, 'say "it"', ""):
        for most in (10, 20, 33, 200):
            cut = short(text, most)
            assert len(cut.encode()) <= most
            assert cut == text or cut.endswith("…")


def test_what_does_not_fit_is_left_out_whole() -> None:
    members = [("a", "x" * 10), ("b", "y" * 100), ("c", "z")]
    fitting, omitted, left = members_within(members, 60)
    assert (fitting, omitted) == ({"a": "x" * 10, "c": "z"}, ["b"])
    assert len(json.dumps(fitting, separators=(",", ":"))) <= 60 - left
    assert first_within(["aa", "bb", "cc"], 11) == ["aa", "bb"]
    assert lines_within(["one", "two", "x" * 500], 40).splitlines() == ["one", "two", "(more was left out)"]


@pytest.mark.parametrize("count", [0, 1])
def test_a_budget_of_nothing_holds_nothing(count: int) -> None:
    assert first_within(["a"] * count, 0) == []


def test_a_line_separator_of_a_text_begins_no_line() -> None:
    assert lines_within(["a\u2028b\x85c\rd\x0be", "f"], 1_000) == "a b c d e\nf"
