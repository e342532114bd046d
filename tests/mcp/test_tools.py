"""The tools as the official client calls them, in both eras of the protocol, over a real server."""

import itertools
import json
import re
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx2
import mcp_types as types
import pytest
import pytest_asyncio
from mcp.client.client import Client

from registry.mcp.server import SERVICE_TEMPLATE, STATUS_RESOURCE
from registry.mcp.tools import TOOLS_BY_PROFILE
from registry.store.mirroring import MirrorRecord
from tests.api.sites import AWKWARD, AWKWARD_NAME, BIKES, CARD, ELSEWHERE, NEW, NOTHING, PIGEON, SITES
from tests.api.sites import TOOLS as TOOL_HOST
from tests.api.test_ownership import pinned
from tests.mcp.serving import ERAS, MODERN, called, connected, posted, refused, served
from tests.support.api import Api
from tests.support.builders import adp_manifest, adp_site, crawl

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAX_LIST_BYTES = 5_200

ROW = re.compile(r'(\d+)\. (\S+) "([^"]*)": (confident|nearest|not confident), ([\w-]+)\. ')


def facts_of_lines(lines: Sequence[str]) -> dict[str, str]:
    """Return the facts of the first row, or of a capability, by the beginnings of their lines; repeated ones joined."""
    facts: dict[str, str] = {}
    for line in itertools.takewhile(lambda line: not ROW.match(line), lines):
        kind, _, said = line.strip().partition(": ")
        facts[kind] = f"{facts[kind]}\n{said}" if kind in facts else said
    return facts


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(api: Api) -> AsyncIterator[str]:
    async with served(api.waypost, api.waypost.settings) as address:
        yield address


@pytest.mark.parametrize(("query", "profile"), [("", "lean"), ("?profile=lean", "lean"), ("?profile=full&x=1", "full")])
@pytest.mark.parametrize("version", ERAS)
async def test_the_tools_are_those_that_are_documented(url: str, version: str, query: str, profile: str) -> None:
    async with connected(url, version, query) as client:
        tools = (await client.list_tools()).tools
        assert [tool.model_dump() for tool in tools] == [tool.model_dump() for tool in TOOLS_BY_PROFILE[profile]]
        writing = [tool.name for tool in tools if tool.annotations and not tool.annotations.read_only_hint]
        assert writing == ["submit_service"]
        found: Any = await client.call_tool("discover_services", {"q": "create a parcel", "max_bytes": 4_000})
        assert not found.is_error  # an argument that only one profile lists


@pytest.mark.parametrize("query", ["?profile=zebra", "?profile=", "?profile=lean&profile=full"])
async def test_an_unknown_profile_is_refused(url: str, query: str) -> None:
    async with httpx2.AsyncClient(base_url=url) as client:
        answer = await posted(client, "tools/list", query=query)
    assert (answer.status_code, answer.json()["detail"]) == (400, "profile: must be lean or full")


async def test_the_list_of_tools_is_affordable() -> None:
    """At most 2,000 tokens, counted in bytes: it has 4.3 bytes for a token of o200k_base, 2.6 for one of WordPiece."""
    lean, full = (
        types.ListToolsResult(tools=list(tools)).model_dump_json(by_alias=True, exclude_none=True)
        for tools in (TOOLS_BY_PROFILE["lean"], TOOLS_BY_PROFILE["full"])
    )
    assert len(lean) <= MAX_LIST_BYTES < len(full)
    for tool in json.loads(lean)["tools"]:
        assert tool["description"]
        assert all(schema["description"] for schema in tool["inputSchema"]["properties"].values())


async def test_the_short_list_names_every_argument_and_filter() -> None:
    for brief, tool in zip(TOOLS_BY_PROFILE["lean"], TOOLS_BY_PROFILE["full"], strict=True):
        assert tool.input_schema["properties"].keys() - brief.input_schema["properties"].keys() <= {"sort", "max_bytes"}
    arguments = TOOLS_BY_PROFILE["lean"][0].input_schema["properties"]
    filters = TOOLS_BY_PROFILE["full"][0].input_schema["properties"]["filters"]["properties"]
    assert all(name in arguments["filters"]["description"] for name in filters)


@pytest.mark.parametrize("version", ERAS)
async def test_discover_answers_as_the_api_does(api: Api, url: str, version: str) -> None:
    async with connected(url, version) as client:
        found = await called(client, "discover_services", q="create a parcel")
        full = await called(client, "discover_services", q="create a parcel", detail="full")
    rows = (await api.json("/api/discover", q="create a parcel", limit=5))["data"]
    for services in (found["services"], full["services"]):
        assert [row["domain"] for row in services] == [row["service"]["domain"] for row in rows]
        assert [row["confident"] for row in services] == [row["confident"] for row in rows]
        assert [row["trust"] for row in services] == [row["service"]["trust_level"] for row in rows]
        for shown, row in zip(services, rows, strict=True):
            names = [one["name"] for one in row["matching_capabilities"]]
            assert ([shown["capability"]["name"]] if shown["capability"] else []) == names[:1]
            assert shown.get("also", []) == names[1:3]
    assert [row["score"] for row in full["services"]] == [row["service"]["score"] for row in rows]
    assert found["services"][0]["domain"] == PIGEON
    assert full["services"][0]["match"]["matched_terms"]
    assert (found["confident"], found["nearest"]) == (True, False)


async def test_the_nearest_are_shown_when_nothing_answers(url: str) -> None:
    async with connected(url) as client:
        none = await called(client, "discover_services", q="xylophone quokka brouhaha")  # as the API has none
        assert (none["confident"], none["nearest"], none["services"]) == (False, False, [])
        result: Any = await client.call_tool("discover_services", {"q": "ship a crate"})
        found, said = result.structured_content, result.content[0].text
        assert (found["confident"], found["nearest"], found["next_cursor"]) == (False, True, None)
        assert 1 <= len(found["services"]) <= 3
        assert "only the nearest" in said.splitlines()[0]
        assert not any("call" in (row["capability"] or {}) for row in found["services"])
        narrowed = await called(
            client, "discover_services", q="create a parcel", filters={"format": ["a2a"], "min_score": 1}
        )
        assert not narrowed["confident"]
        assert "format" in narrowed["suggestions"]["without_filters"]
        for time, is_passed in (("2026-01-01", True), ("2099-01-01T00:00:00Z", False)):
            changed = await called(client, "discover_services", q="create a parcel", filters={"updated_after": time})
            assert bool(changed["services"]) is is_passed


@pytest.mark.parametrize("question", ["create a parcel", "book a table", "a", "ship a crate"])
async def test_the_text_of_the_rows_can_be_read_by_a_program(url: str, question: str) -> None:
    """It has what the structured content has: some hosts hand their model the text only."""
    async with connected(url) as client:
        result: Any = await client.call_tool("discover_services", {"q": question})
    content, lines = result.structured_content, result.content[0].text.splitlines()
    starts = [number for number, line in enumerate(lines) if ROW.match(line)]
    assert len(starts) == len(content["services"]) > 0
    for place, (start, row) in enumerate(zip(starts, content["services"], strict=True), 1):
        match = ROW.match(lines[start])
        assert match is not None
        state = "confident" if row["confident"] else "nearest" if content["nearest"] else "not confident"
        assert match.groups() == (str(place), row["domain"], row["name"], state, row["identity"])
        facts = facts_of_lines(lines[start + 1 :])
        if (capability := row["capability"]) is not None:
            name, _ = json.JSONDecoder().raw_decode(facts["capability"])
            assert (name, facts["record"]) == (capability["name"], capability["record_url"])
            assert facts["call"]
    cursor = [line for line in lines if line.startswith("cursor: ")]
    assert cursor == [f"cursor: {content['next_cursor']}"] * bool(content["next_cursor"])


@pytest.mark.parametrize(
    "question", ["create a parcel", "book a restaurant table", "weather forecast", "rent one bicycle"]
)
async def test_the_first_confident_row_has_its_ready_call(url: str, question: str) -> None:
    async with connected(url) as client:
        result: Any = await client.call_tool("discover_services", {"q": question})
        first, *others = result.structured_content["services"]
        name = first["capability"]["name"]
        shown = await called(client, "get_capability", domain=first["domain"], name=name)
    assert first["capability"]["call"] == shown["call"]
    assert f"request: {json.dumps(shown['call']['example'], separators=(',', ':'), ensure_ascii=False)}" in [
        line.strip() for line in result.content[0].text.splitlines()
    ]
    assert not any("call" in (row["capability"] or {}) for row in others)


async def test_the_text_of_a_capability_suffices(url: str) -> None:
    async with connected(url) as client:
        for host, name in ((PIGEON, "create_parcel"), (CARD, "book_table"), (TOOL_HOST, "get_forecast")):
            result: Any = await client.call_tool("get_capability", {"domain": host, "name": name, "detail": "full"})
            content, facts = result.structured_content, facts_of_lines(result.content[0].text.splitlines())
            call = content["call"]
            assert json.loads(facts["request"]) == call["example"]
            assert facts["call"] == f'{call["kind"]} POST "{call["request"]["url"]}"'
            assert facts["record"] == content["record_url"]
            assert facts.keys() >= {"capability", "about", "side effects", "credentials"}
            named = {line.partition(" (")[0] for line in facts.get("parameter", "").splitlines()}
            assert named == {json.dumps(one) for one in content.get("input_schema", {}).get("properties", {})}
        assert facts["side effects"] == "none"
        assert facts["parameter"] == '"place" (string, required, in params.arguments): "Name of a town."'
        assert facts["made up"].startswith('"place"')
        assert (
            json.loads(facts["before"].split(" to the same address")[0].removeprefix("send "))["method"] == "initialize"
        )


async def test_pages_show_every_service_once(api: Api, url: str) -> None:
    """Also when the size of the answer ends a page before the limit does."""
    question = "a"
    rows = (await api.json("/api/discover", q=question, limit=50))["data"]
    expected = [row["service"]["domain"] for row in rows]
    assert len(expected) > 2
    async with connected(url) as client:
        for asked in ({"limit": 1}, {"limit": 20, "max_bytes": 4_000, "detail": "full"}):
            shown, arguments = list[str](), dict[str, Any](asked)
            while True:
                page = await called(client, "discover_services", q=question, **arguments)
                shown += [row["domain"] for row in page["services"]]
                if page["next_cursor"] is None:
                    break
                arguments["cursor"] = page["next_cursor"]
            assert shown == expected


@pytest.mark.parametrize(
    "filters", [{"callable": True}, {"callable": "true"}, {"callable": ["true"], "protocol": "adp"}]
)
async def test_a_single_value_of_a_filter_needs_no_list(url: str, filters: dict[str, Any]) -> None:
    async with connected(url) as client:
        plain = await called(client, "discover_services", q="price or track a parcel", filters={"callable": ["true"]})
        found = await called(client, "discover_services", q="price or track a parcel", filters=filters)
    assert found["services"] == plain["services"]
    assert found["services"][0]["capability"]["callable"] is True


async def test_a_cursor_of_another_question_is_refused(url: str) -> None:
    async with connected(url) as client:
        said = await refused(client, "discover_services", q="create a parcel", cursor="bm9uc2Vuc2U")
    assert "cursor" in said


@pytest.mark.parametrize("version", ERAS)
async def test_a_service_with_its_capabilities(url: str, version: str) -> None:
    async with connected(url, version) as client:
        shown = await called(client, "get_service", domain=PIGEON.upper())
        assert shown["domain"] == PIGEON
        assert [one["name"] for one in shown["capabilities"]] == ["create_parcel", "price_parcel", "track_parcel"]
        assert shown["trust_means"]
        full = await called(client, "get_service", domain=PIGEON, detail="full")
        assert full["pricing"]["plans"]
        assert full["score_sections"]
        said = await refused(client, "get_service", domain=NOTHING)
        assert "submit_service" in said


@pytest.mark.asyncio(loop_scope="function")
async def test_the_ownership_of_a_host_is_shown(own_api: Api) -> None:
    note, headers = {"note": "Closed on Sundays."}, await pinned(own_api)
    assert (await own_api.client.put(f"/api/owner/{PIGEON}/note", headers=headers, json=note)).status_code == 200
    data = (await own_api.json(f"/api/services/{PIGEON}"))["data"]
    async with served(own_api.waypost, own_api.waypost.settings) as address, connected(address) as client:
        result: Any = await client.call_tool("get_service", {"domain": PIGEON})
        other = await called(client, "get_service", domain=BIKES)
        found = await called(client, "discover_services", q="create a parcel", detail="full")
        compared = await called(client, "compare_services", domains=[BIKES, PIGEON])
    shown, lines = result.structured_content, result.content[0].text.splitlines()
    assert shown["ownership"] == {name: data["ownership"][name] for name in ("state", "since", "checked_at")}
    assert (shown["ownership"]["state"], shown["owner_note"]) == ("proven", "Closed on Sundays.")
    assert "owner_note" in shown["untrusted_text"]
    assert f"Ownership of this host is proven, since {data['ownership']['since']}." in lines
    assert f"Its owner lets {NEW} stand for it." in lines
    assert 'Its owner says: "Closed on Sundays."' in lines
    assert (other["ownership"]["state"], "owner_note" in other) == ("none", False)
    for rows in ([other, shown], compared["services"]):
        assert [(row["owned"], row["canonical_host"]) for row in rows] == [(False, None), (True, NEW)]
    assert {row["domain"] for row in found["services"] if row["owned"]} == {PIGEON}


@pytest.mark.asyncio(loop_scope="function")
async def test_a_mirror_says_that_its_origin_knows_the_owner(own_api: Api) -> None:
    async with own_api.store.begin() as uow:
        await uow.mirroring.put(MirrorRecord("https://origin.example", "following"))
    async with served(own_api.waypost, own_api.waypost.settings) as address, connected(address) as client:
        assert (await called(client, "get_service", domain=PIGEON))["ownership"]["state"] == "at_origin"


async def test_capabilities_and_trust_have_dates(api: Api, url: str) -> None:
    data = (await api.json(f"/api/services/{ELSEWHERE}"))["data"]
    names = ("fingerprint", "first_seen_at", "changed_at")
    async with connected(url) as client:
        shown = await called(client, "get_service", domain=ELSEWHERE)
        full = (await called(client, "discover_services", q=data["manifest"]["name"], detail="full"))["services"]
        for row in (shown, *(row for row in full if row["domain"] == ELSEWHERE)):
            assert row["trust_since"] == data["trust"]["since"] is not None
            assert row["trust_reasons_since"] == {one["reason"]: one["since"] for one in data["trust"]["explained"]}
        for host, capability in ((PIGEON, "create_parcel"), (PIGEON, "price_parcel")):  # the second has no ready call
            entries = (await api.json(f"/api/services/{host}"))["data"]["manifest"]["capabilities"]
            [entry] = [one for one in entries if one["name"] == capability]
            expected = {name: entry[name] for name in names}
            assert all(expected.values())
            one = await called(client, "get_capability", domain=host, name=capability)
            assert {name: one[name] for name in names} == expected
            listed = (await called(client, "get_service", domain=host))["capabilities"]
            assert expected.items() <= next(row for row in listed if row["name"] == capability).items()


async def test_capabilities_of_a_service_come_in_pages(url: str) -> None:
    async with connected(url) as client:
        page = await called(client, "get_service", domain=PIGEON, cursor="1")
        assert [one["name"] for one in page["capabilities"]] == ["price_parcel", "track_parcel"]
        beyond = await called(client, "get_service", domain=PIGEON, cursor="999999")
        assert (beyond["capabilities"], beyond["next_cursor"]) == ([], None)


@pytest.mark.parametrize("version", ERAS)
async def test_a_capability_comes_with_its_ready_call(url: str, version: str) -> None:
    async with connected(url, version) as client:
        shown = await called(client, "get_capability", domain=PIGEON, name="create_parcel")
        assert shown["call"]["kind"] == "http"
        assert shown["call"]["example"]["url"].startswith(f"https://{PIGEON}/")
        assert "curl" not in shown["call"]
        full = await called(client, "get_capability", domain=PIGEON, name="create_parcel", detail="full")
        assert full["call"]["curl"].startswith("curl ")
        assert full["invocations"]
        skill = await called(client, "get_capability", domain=CARD, name="book_table")
        assert skill["call"]["kind"] == "a2a_skill"
        awkward = await called(client, "get_capability", domain=AWKWARD, name=AWKWARD_NAME)
        assert awkward["name"] == AWKWARD_NAME


async def test_a_tool_of_a_server_is_found_by_its_exact_name(api: Api, url: str) -> None:
    listed = (await api.json(f"/api/services/{TOOL_HOST}"))["data"]["manifest"]["capabilities"]
    async with connected(url) as client:
        for capability in listed:
            shown = await called(client, "get_capability", domain=TOOL_HOST, name=capability["id"])
            assert shown["call"]["kind"].startswith("mcp_")
        found = await called(client, "get_capability", name="create_parcel")
        assert (found["found"], found["domain"]) == (True, PIGEON)
        said = await refused(client, "get_capability", name="no such tool anywhere")
        assert "exactly this name" in said


@pytest.mark.asyncio(loop_scope="function")
async def test_several_services_with_a_capability_of_the_name_are_candidates(own_api: Api) -> None:
    pages = {host: adp_site(host, "fold_napkins") for host in ("linen.example", "cloth.example")}
    await crawl(own_api.store, pages, datetime.now(UTC))
    await own_api.waypost.search.reindex()
    async with served(own_api.waypost, own_api.waypost.settings) as address, connected(address) as client:
        found = await called(client, "get_capability", name="fold_napkins")
        assert found["found"] is False
        assert {one["domain"] for one in found["candidates"]} == set(pages)


async def test_a_capability_that_cannot_be_called_says_why(api: Api, url: str) -> None:
    async with connected(url) as client:
        shown = await called(client, "get_capability", domain=PIGEON, name="price_parcel")
        assert "call" not in shown
        assert shown["not_callable"]
        said = await refused(client, "get_capability", domain=PIGEON, name="fold_parcel")
        assert "get_service" in said


async def test_a_manifest_is_checked(url: str) -> None:
    async with connected(url) as client:
        good = await called(client, "check_manifest", text=json.dumps(adp_manifest("draft.pigeonpost.dev", "a")))
        assert (good["checked"], good["readable"], good["format"]) == ("text", True, "adp")
        bad = await called(client, "check_manifest", text='{"a": 1,}')
        assert (bad["readable"], bad["valid"], bad["findings"][0]["line"]) == (False, False, 1)
        other = await called(client, "check_manifest", text="{}", path="/.well-known/agent", format="adp")
        assert other["valid"] is False
        assert "either text or url" in await refused(client, "check_manifest")
        assert "either text or url" in await refused(client, "check_manifest", text="{}", url="https://a.example/x")


async def test_a_url_is_never_fetched(api: Api, url: str) -> None:
    documents = (await api.json(f"/api/services/{PIGEON}"))["data"]["documents"]
    document = next(one for one in documents if one["format"] == "adp")
    async with connected(url) as client:
        seen = await called(client, "check_manifest", url=document["url"])
        assert (seen["checked"], seen["format"], seen["seen_at"]) == ("stored", "adp", document["seen_at"])
        for target in (f"https://{PIGEON}/elsewhere", "https://169.254.169.254/latest", "https://[::1", "https://"):
            assert "fetches nothing" in await refused(client, "check_manifest", url=target)


async def test_services_are_compared_in_the_order_asked_for(url: str) -> None:
    async with connected(url) as client:
        shown = await called(client, "compare_services", domains=[BIKES, NOTHING, PIGEON])
        assert [column["domain"] for column in shown["services"]] == [BIKES, PIGEON]
        assert shown["missing"] == [NOTHING]
        for domains in ([BIKES], [BIKES] * 2, [f"h{number}.example" for number in range(6)]):
            assert "2 to 5 different" in await refused(client, "compare_services", domains=domains)


async def test_the_state_of_the_registry(api: Api, url: str) -> None:
    async with connected(url) as client:
        state = await called(client, "registry_status")
        health = (await api.json("/api/health"))["data"]
        assert state["services"]["listed"] == health["total_monitored"]
        assert state["ready"] is True


@pytest.mark.asyncio(loop_scope="function")
async def test_in_maintenance_no_host_is_submitted(own_api: Api) -> None:
    own_api.waypost.mode.message = "Back at noon."
    async with served(own_api.waypost, own_api.waypost.settings) as address, connected(address, MODERN) as client:
        assert "Back at noon." in await refused(client, "submit_service", domain=NEW)
        assert not (await client.call_tool("discover_services", {"q": "create a parcel"})).is_error


@pytest.mark.asyncio(loop_scope="function")
async def test_a_host_is_submitted(own_api: Api) -> None:
    settings = own_api.waypost.settings.model_copy(update={"submit_wait": 0})
    own_api.waypost.settings = settings
    async with served(own_api.waypost, settings) as address, connected(address) as client:
        queued = await called(client, "submit_service", domain=f"https://{NEW}/x")
        assert (queued["domain"], queued["state"]) == (NEW, "queued")
        assert (await called(client, "submit_service", domain=PIGEON))["state"] == "queued", "known hosts too"
        await crawl(own_api.store, SITES, datetime.now(UTC))
        known = await called(client, "submit_service", domain=PIGEON)
        assert known["state"] == "known" and "less than 60 seconds ago" in known["message"]
        assert "Not a host" in await refused(client, "submit_service", domain="localhost")


@pytest.mark.parametrize("version", ERAS)
async def test_resources_hold_the_records(url: str, version: str) -> None:
    async with connected(url, version) as client:
        assert [str(one.uri) for one in (await client.list_resources()).resources] == [STATUS_RESOURCE]
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == [SERVICE_TEMPLATE]
        read: Any = await client.read_resource(SERVICE_TEMPLATE.replace("{host}", PIGEON))
        assert json.loads(read.contents[0].text)["domain"] == PIGEON
        state: Any = await client.read_resource(STATUS_RESOURCE)
        assert json.loads(state.contents[0].text)["ready"] is True
        for uri in (SERVICE_TEMPLATE.replace("{host}", NOTHING), "waypost://other", "file:///etc/passwd"):
            with pytest.raises(Exception, match="No such resource"):
                await client.read_resource(uri)


@pytest.mark.parametrize("version", ERAS)
async def test_the_prompt_names_the_need(url: str, version: str) -> None:
    async with connected(url, version) as client:
        (prompt,) = (await client.list_prompts()).prompts
        got: Any = await client.get_prompt(prompt.name, {"need": "send a {parcel}"})
        assert "send a {parcel}" in got.messages[0].content.text
        with pytest.raises(Exception, match="need: text of 1 to"):
            await client.get_prompt(prompt.name, {"need": " "})
        with pytest.raises(Exception, match="Unknown prompt"):
            await client.get_prompt("other", {"need": "x"})


async def test_bad_arguments_are_explained_without_repeating_them(url: str) -> None:
    async with connected(url, MODERN) as client:
        await _check_bad_arguments(client)


async def _check_bad_arguments(client: Client) -> None:
    for name, arguments, expected in (
        ("discover_services", {}, "q is required"),
        ("discover_services", {"q": ["zebra"]}, "q must be text of 1 to 400 characters"),
        ("discover_services", {"q": "x", "zebra": 1}, "unknown member; accepted: q, filters"),
        ("discover_services", {"q": "x", "limit": 10**12}, "limit must be a whole number from 1 to 20"),
        ("discover_services", {"q": "x", "filters": {"zebra": 1}}, "filters: unknown member; accepted: format"),
        ("discover_services", {"q": "x", "filters": {"protocol": ["zebra" * 30]}}, "filters.protocol.(each) must be"),
        ("discover_services", {"q": "x", "filters": {"trust_level": ["zebra"]}}, "one of verified, community"),
        (
            "discover_services",
            {"q": "x", "filters": {"callable": []}},
            "1 to 20 values, each one of true, false, unknown",
        ),
        ("discover_services", {"q": "x", "filters": {"callable": {"zebra": 1}}}, "callable.(each) must be one of true"),
        ("discover_services", {"q": "x", "filters": "zebra"}, "filters must be an object"),
        ("discover_services", {"q": "x", "filters": {"domain": ["ze bra"]}}, "filters.domain: must be domain names"),
        ("discover_services", {"q": "   "}, "q: must not be blank"),
        ("get_service", {"domain": "zebra..example", "detail": "most"}, "detail must be one of low, full"),
        ("get_service", {"domain": "zebra.example", "cursor": "zebra"}, "cursor must be text of at most 6 characters"),
        ("get_service", {"domain": "zebra\u202e.example"}, "no public name"),
        ("registry_status", {"zebra": True}, "accepted: no member"),
    ):
        said = await refused(client, name, **arguments)
        assert expected in said
        assert "zebra" not in said
