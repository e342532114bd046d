"""What existing clients of an ADP registry rely on, one test for each statement of the contract.

Longer than other modules because the whole contract is tested in one.
"""

from typing import Any
from urllib.parse import quote

import pytest

from tests.api.sites import (
    AWKWARD,
    AWKWARD_NAME,
    BIKES,
    CARD,
    ELSEWHERE,
    FAILING,
    NOTHING,
    PIGEON,
    PIGEON_BASE,
    SITES,
    SLOPPY,
    TOOLS,
)  # fmt: skip
from tests.support import shapes
from tests.support.api import PUBLIC_URL, Api
from tests.support.shapes import assert_shape

pytestmark = pytest.mark.asyncio(loop_scope="module")

LISTED = set(SITES) - {NOTHING}


def hosts(body: dict[str, Any]) -> list[str]:
    return [row.get("service", row)["domain"] for row in body["data"]]


# --- discover -------------------------------------------------------------------------------------------------------


async def test_a_sentence_finds_the_service_that_does_it(api: Api) -> None:
    results = await api.json("/api/discover", q="I need to send a parcel to my aunt")
    assert_shape(shapes.DISCOVER, results)
    first_row = results["data"][0]
    assert first_row["service"]["domain"] == PIGEON
    assert first_row["service"]["cap_count"] == 3
    assert {capability["name"] for capability in first_row["matching_capabilities"]} <= {
        "create_parcel",
        "track_parcel",
        "price_parcel",
    }
    assert results["query"] == "I need to send a parcel to my aunt"
    assert results["result_count"] == len(results["data"])


async def test_every_row_of_every_format_has_the_promised_shape(api: Api) -> None:
    seen = set()
    for question in ("parcels", "bicycles", "table tickets", "weather forecast", "shoes", "hats", "visitors", "song"):
        results = await api.json("/api/discover", q=question, include_unverified="true", limit=50)
        assert_shape(shapes.DISCOVER, results)
        for row in results["data"]:
            assert row["service"]["verified"] is (row["service"]["trust_level"] == "verified")
            seen.add(row["service"]["domain"])
    assert seen == LISTED


async def test_a_base_url_with_a_path_keeps_it_in_detail_urls(api: Api) -> None:
    results = await api.json("/api/discover", q="create parcel")
    urls = {
        capability["name"]: capability["detail_url"]
        for row in results["data"]
        if row["service"]["domain"] == PIGEON
        for capability in row["matching_capabilities"]
    }
    assert urls["create_parcel"] == f"{PIGEON_BASE}/caps/create_parcel"


async def test_a_capability_without_a_detail_document_links_to_this_registry(api: Api) -> None:
    results = await api.json("/api/discover", q="rent a bicycle")
    capability = results["data"][0]["matching_capabilities"][0]
    assert capability["detail_url"] == f"{PUBLIC_URL}/api/services/{BIKES}/capabilities/rent_bike"
    detail = await api.json(capability["detail_url"].removeprefix(PUBLIC_URL))
    assert_shape(shapes.DETAIL, detail)
    assert (detail["endpoint"], detail["method"]) == (f"https://{BIKES}/rent", "POST")


async def test_unverified_services_are_shown_only_on_request(api: Api) -> None:
    question = {"q": "sing a song"}
    assert FAILING not in hosts(await api.json("/api/discover", **question))
    for flag in ("1", "TRUE", "yes", ""):
        assert FAILING not in hosts(await api.json("/api/discover", **question, include_unverified=flag))
    results = await api.json("/api/discover", **question, include_unverified="true")
    row = next(row for row in results["data"] if row["service"]["domain"] == FAILING)
    assert row["service"]["trust_level"] == "unverified"
    assert row["service"]["freshness"]["stale"] is False


async def test_limits_are_read_strictly_and_cut_at_fifty(api: Api) -> None:
    assert (await api.json("/api/discover", q="parcel", limit="0"))["data"] == []
    assert (await api.json("/api/discover", q="parcel", limit="1"))["result_count"] == 1
    assert (await api.json("/api/discover", q="parcel", limit="999"))["result_count"] >= 1
    for limit in ("-1", "abc", "7abc", "1e3", "1_0", " 10", "", "１", "1.0", "99999999999"):
        response = await api.get("/api/discover", params={"q": "parcel", "limit": limit})
        assert response.status_code == 400, limit
        assert_shape(shapes.FAILED, response.json())


@pytest.mark.parametrize("q", [None, "", "   ", "\u3000\n"])
async def test_a_question_is_required(api: Api, q: str | None) -> None:
    response = await api.get("/api/discover", params={} if q is None else {"q": q})
    assert response.status_code == 400
    assert_shape(shapes.FAILED, response.json())


async def test_a_query_is_echoed_as_searched(api: Api) -> None:
    for query in ("a<b and c>d parcel", "100% _parcel_", "parcel \x00 \x1b[31m", "NOT (parcel OR *) AND host:x"):
        assert (await api.json("/api/discover", q=f"  {query} "))["query"] == query
    assert (await api.json("/api/discover", q="parcel " * 200))["query"] == ("parcel " * 200)[:400].strip()


async def test_pages_join_without_gaps_or_repeats(api: Api) -> None:
    params = {"q": "books parcels bicycles weather hats shoes visitors", "include_unverified": "true"}
    all_hosts = hosts(await api.json("/api/discover", **params, limit=50))
    assert len(all_hosts) >= 4
    paged_hosts: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = await api.json("/api/discover", **params, **cursor, limit=2)
        paged_hosts += hosts(page)
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert paged_hosts == all_hosts


async def test_a_cursor_is_valid_for_its_own_query_only(api: Api) -> None:
    page = await api.json("/api/discover", q="books parcels with couriers", limit=1)
    for cursor, q in ((page["next_cursor"], "bicycles"), ("x", "parcels"), ("é\x00", "parcels"), ("bnVsbA", "p")):
        response = await api.get("/api/discover", params={"q": q, "cursor": cursor})
        assert response.status_code == 400
        assert response.json()["type"] == "/api/problems/invalid-cursor"


@pytest.mark.parametrize(
    ("narrowed", "expected"),
    [
        ({"format": "awp"}, {BIKES, AWKWARD}),
        ({"format": "a2a,mcp-server-card"}, {CARD, TOOLS}),
        ({"protocol": "a2a"}, {CARD}),
        ({"auth_type": "api_key", "format": "adp"}, {PIGEON, ELSEWHERE}),
        ({"auth_type": "none", "format": "adp"}, set()),
        ({"auth_type": "unknown", "format": "adp"}, {SLOPPY}),
        ({"pricing_type": "freemium"}, {PIGEON, ELSEWHERE, SLOPPY}),
        ({"pricing_type": "free"}, set()),
        ({"pricing_type": "unknown,free"}, {BIKES, CARD, TOOLS, AWKWARD}),
        ({"pricing_type": "paid"}, set()),
        ({"min_score": "100"}, {CARD, TOOLS}),
        ({"min_score": "0"}, LISTED - {FAILING}),
        ({"min_score": "0", "max_score": "0"}, set()),
        ({"max_score": "100"}, LISTED - {FAILING}),
        ({"trust_level": "unverified"}, {FAILING}),
        ({"trust_level": "unverified,verified,community", "format": "adp"}, {PIGEON, ELSEWHERE, SLOPPY, FAILING}),
        ({"domain": f"www.{PIGEON}"}, {PIGEON}),
        ({"tld": "org"}, set()),
        ({"language": "en"}, set()),
        ({"seen_since": "2020-01-01"}, LISTED - {FAILING}),
        ({"seen_since": "2099-01-01"}, set()),
        ({"seen_within_days": "30"}, LISTED - {FAILING}),
        ({"updated_after": "2020-01-01"}, LISTED - {FAILING}),
        ({"updated_after": "2099-01-01T00:00:00Z"}, set()),
        ({"side_effects": "true", "format": "awp"}, {BIKES}),
        ({"side_effects": "false", "format": "awp,mcp-server-card"}, {TOOLS}),
        ({"side_effects": "unknown", "format": "a2a,mcp-server-card"}, {CARD}),
        ({"side_effects": "true,false", "format": "awp,a2a,mcp-server-card"}, {BIKES, TOOLS}),
        ({"semantic_type": "commerce:order"}, set()),
        ({"callable": "true"}, LISTED - {ELSEWHERE, FAILING}),
        ({"callable": "false"}, {PIGEON, ELSEWHERE}),
        ({"callable": "unknown"}, set()),
        ({"callable": "true", "side_effects": "true"}, {BIKES}),
        ({"category": "location,email"}, {TOOLS}),
        ({"category": "all"}, LISTED - {FAILING}),
    ],
)
async def test_filters_narrow_search_and_list_alike(api: Api, narrowed: dict[str, str], expected: set[str]) -> None:
    found: set[str] = set()
    for word in ("parcels", "bicycles", "tables", "weather", "shoes", "hats", "visitors", "books"):
        # one question each: of a question about everything, only the rows that answer most of it are shown
        found |= set(hosts(await api.json("/api/discover", q=word, limit=50, **narrowed)))
    assert found == expected
    assert set(hosts(await api.json("/api/services", **narrowed))) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "adp,"}, {"format": "gopher"}, {"format": ""}, {"auth_type": "API_KEY"}, {"pricing_type": "cheap"},
        {"protocol": 'a"b'}, {"protocol": "a b"}, {"min_score": "101"}, {"min_score": "nan"}, {"min_score": "-1"},
        {"protocol": ",".join("abcdefghijklmnopqrstu")}, {"max_score": "1e1"}, {"trust_level": "all"},
        {"side_effects": "maybe"}, {"semantic_type": "order"}, {"domain": "a b"}, {"domain": "10.0.0.1"}, {"tld": "."},
        {"callable": "yes"},
        {"tld": ""}, {"language": "e"}, {"language": "en_US"}, {"seen_since": "20261120"}, {"seen_since": "2026-02-30"},
        {"seen_within_days": "-1"}, {"updated_after": "20261120"}, {"updated_after": "2026-02-30"},
        {"updated_after": "2026-11-20T00:00:00"}, {"updated_after": "2026-11-20T25:00:00Z"},
    ],
)  # fmt: skip
async def test_invalid_filters_are_refused(api: Api, wrong: dict[str, str]) -> None:
    for path in ("/api/discover", "/api/services"):
        question = {"q": "x"} if path == "/api/discover" else {}
        response = await api.get(path, params={**question, **wrong})
        assert response.status_code == 400, response.text
        assert next(iter(wrong)) in response.json()["error"]


async def test_unknown_and_repeated_parameters_are_refused_by_name(api: Api) -> None:
    unknown = await api.get("/api/discover?q=parcel&ofset=3")
    assert unknown.status_code == 400
    assert "limit" in unknown.json()["accepted"]
    repeated = await api.get("/api/discover?q=parcel&q=bicycle")
    assert repeated.status_code == 400
    assert (await api.get("/api/rubric?x=1")).status_code == 400


async def test_a_trailing_slash_in_the_configured_address_does_no_harm(api: Api) -> None:
    plain = await api.json("/api/discover", q="parcel")
    doubled = await api.client.get("http://testserver//api/discover?q=parcel")
    assert doubled.status_code == 200
    assert doubled.json() == plain


async def test_a_hit_has_its_matched_terms_and_score(api: Api) -> None:
    row = (await api.json("/api/discover", q="rent a bicycle"))["data"][0]
    assert set(row["matched_terms"]) == {"rent", "bicycle"}
    assert row["matching_capabilities"][0]["side_effects"] is True
    assert "rent" in row["matching_capabilities"][0]["why"]["matched_terms"]
    service = row["service"]
    assert (service["format"], service["formats"], service["auth"]["required"]) == ("awp", ["awp"], False)
    assert 0 < service["score"] <= 100
    assert {"name", "description", "version"} <= set(service["untrusted_text"])


# --- list -----------------------------------------------------------------------------------------------------------


async def test_the_list_pages_and_counts_as_adp_registries_do(api: Api) -> None:
    first = await api.json("/api/services", limit=3)
    assert_shape(shapes.LIST, first)
    listed_count = len(LISTED) - 1
    assert (first["total"], first["page"], first["totalPages"]) == (listed_count, 1, -(-listed_count // 3))
    second = await api.json("/api/services", limit=3, offset=first["next_offset"])
    assert second["page"] == 2
    assert not set(hosts(first)) & set(hosts(second))
    empty = await api.json("/api/services", limit=0)
    assert (empty["data"], empty["totalPages"], empty["next_offset"]) == ([], 1, None)
    beyond = await api.json("/api/services", offset=5_000)
    assert (beyond["data"], beyond["next_offset"], beyond["total"]) == ([], None, listed_count)


async def test_the_list_sorts_and_searches(api: Api) -> None:
    names = [row["name"] for row in (await api.json("/api/services", sort="name"))["data"]]
    assert names == sorted(names, key=str.lower)
    sizes = [row["capability_count"] for row in (await api.json("/api/services", sort="capabilities"))["data"]]
    assert sizes == sorted(sizes, reverse=True)
    assert hosts(await api.json("/api/services", search="CONCIERGE")) == [CARD]
    assert hosts(await api.json("/api/services", search="%")) == []
    assert hosts(await api.json("/api/services", search="_ikes")) == []
    assert hosts(await api.json("/api/services", search="a\x00b")) == []


async def test_categories_filter_the_list_and_are_in_its_rows(api: Api) -> None:
    everything = await api.json("/api/services")
    assert await api.json("/api/services", category="all") == everything
    categories = {row["domain"]: row["category"] for row in everything["data"]}
    assert (categories[PIGEON], categories[TOOLS], categories[BIKES]) == ("e-commerce", "location", "other")
    for category in ("e-commerce", "location", "email", "other"):
        expected = {host for host, value in categories.items() if value == category}
        assert set(hosts(await api.json("/api/services", category=category))) == expected
    found = await api.json("/api/discover", q="send a parcel", category="e-commerce")
    assert found["data"][0]["service"]["category"] == "e-commerce"
    assert (await api.get("/api/services?category=soup")).status_code == 400


# --- one service ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", sorted(LISTED))
async def test_every_service_can_be_read_as_an_adp_manifest(api: Api, host: str) -> None:
    service = await api.json(f"/api/services/{host}", include_details="true")
    assert_shape(shapes.SERVICE, service)
    manifest = service["data"]["manifest"]
    assert manifest["capabilities"] == sorted(manifest["capabilities"], key=lambda entry: entry["name"])
    for entry in manifest["capabilities"]:
        url = entry["detail_url"]
        url = url if url.startswith("http") else manifest["base_url"] + url
        assert url.startswith(("https://", PUBLIC_URL))
        if "detail" in entry:
            assert_shape(shapes.DETAIL, entry["detail"])
    without = (await api.json(f"/api/services/{host}"))["data"]["manifest"]["capabilities"]
    assert not any("detail" in entry for entry in without)


async def test_the_manifest_of_an_adp_host_matches_its_document(api: Api) -> None:
    data = (await api.json(f"/api/services/{PIGEON}"))["data"]
    assert data["manifest"]["auth"]["header"] == "X-Key"
    assert data["manifest"]["pricing"]["plans"] == [{"name": "Free", "price": "0", "limits": "100 a day"}]
    assert [capability["detail_url"] for capability in data["manifest"]["capabilities"]] == [
        "/caps/create_parcel", "/caps/price_parcel", "/caps/track_parcel",
    ]  # fmt: skip
    assert data["well_known_url"] == f"https://{PIGEON}/.well-known/agent"
    assert data["score"]["lines"][0]["fix"]
    assert f"https://{PIGEON}/.well-known/agent" in [document["url"] for document in data["documents"]]


async def test_resource_groups_of_manifest_and_details_are_shown(api: Api) -> None:
    """In the manifest with and without details, and in the detail, wherever the host names them."""
    groups = {"create_parcel": "parcels", "price_parcel": "parcels", "track_parcel": "tracking"}
    for parameters in ({}, {"include_details": "true"}):
        manifest = (await api.json(f"/api/services/{PIGEON}", **parameters))["data"]["manifest"]
        assert {entry["name"]: entry.get("resource_group") for entry in manifest["capabilities"]} == groups
    for name in ("create_parcel", "track_parcel"):
        detail = await api.json(f"/api/services/{PIGEON}/capabilities/{name}")
        assert detail["resource_group"] == groups[name]
    card = (await api.json(f"/api/services/{CARD}"))["data"]["manifest"]["capabilities"]
    assert not any("resource_group" in entry for entry in card)  # tags of an A2A skill are no groups


@pytest.mark.parametrize(
    "spelling", [PIGEON.upper(), PIGEON + ".", "API.pigeonpost.EXAMPLE.", "api%2Epigeonpost.example"]
)
async def test_a_host_is_found_in_any_spelling(api: Api, spelling: str) -> None:
    assert (await api.json(f"/api/services/{spelling}"))["data"]["domain"] == PIGEON


@pytest.mark.parametrize(
    "unknown", ["unknown.example", "api.pigeonpost.example%3A8443", "%00", "...", "é" * 300, "1.2.3.4"]
)
async def test_unknown_hosts_are_a_404_that_clients_can_read(api: Api, unknown: str) -> None:
    for path in (f"/api/services/{unknown}", f"/api/services/{unknown}/status", f"/api/health/{unknown}"):
        response = await api.get(path)
        assert response.status_code == 404, path
        assert_shape(shapes.FAILED, response.json())


async def test_trust_levels_follow_from_the_base_url_and_failures(api: Api) -> None:
    levels = {
        host: (await api.json(f"/api/services/{host}"))["data"]["trust_level"]
        for host in (PIGEON, BIKES, ELSEWHERE, SLOPPY, FAILING)
    }
    assert levels == {
        PIGEON: "verified", BIKES: "verified", ELSEWHERE: "community", SLOPPY: "community", FAILING: "unverified",
    }  # fmt: skip


# --- capabilities ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "name", "endpoint"),
    [
        (PIGEON, "create_parcel", "/v1/create_parcel"),
        (BIKES, "rent_bike", f"https://{BIKES}/rent"),
        (CARD, "Book a table", f"https://{CARD}/a2a"),
        (TOOLS, "get_forecast", f"https://{TOOLS}/mcp"),
        (AWKWARD, AWKWARD_NAME, f"https://{AWKWARD}/rent"),
    ],
)
async def test_capabilities_of_every_format_are_bare_details(api: Api, host: str, name: str, endpoint: str) -> None:
    detail = await api.json(f"/api/services/{host}/capabilities/{quote(name, safe='')}")
    assert_shape(shapes.DETAIL, detail)
    assert "success" not in detail
    assert (detail["name"], detail["endpoint"], detail["method"]) == (name, endpoint, "POST")


async def test_a_capability_is_found_by_its_id_too(api: Api) -> None:
    by_id = await api.json(f"/api/services/{CARD}/capabilities/book_table")
    assert (by_id["id"], by_id["name"]) == ("book_table", "Book a table")
    assert by_id == await api.json(f"/api/services/{CARD}/capabilities/{quote('Book a table')}")


async def test_a_capability_says_how_it_is_called(api: Api) -> None:
    detail = await api.json(f"/api/services/{CARD}/capabilities/book_table")
    body = detail["call"]["example"]["body"]
    assert (body["method"], detail["call"]["example"]["headers"]["Authorization"]) == (
        "message/send",
        "Bearer YOUR_ACCESS_TOKEN",
    )
    assert detail["request_example"] == detail["call"]["example"]


async def test_a_capability_without_a_call_says_what_is_missing(api: Api) -> None:
    record = await api.json(f"/api/services/{PIGEON}/capabilities/price_parcel")
    assert (record["name"], record["call"], record["untrusted_text"]) == ("price_parcel", None, True)
    missing = record["missing"]
    assert missing["reason"] == "detail_missing_at_site" and "endpoint" not in record
    answer = missing["detail_answer"]
    assert (answer["outcome"], answer["status"]) == ("absent", 404) and answer["seen_at"]
    page = (await api.get(f"/s/{PIGEON}/c/price_parcel", headers={"accept": "text/html"})).text
    assert "The last answer had status 404 and came" in page and "not been read" not in page
    assert missing["message"] in page.replace("&#39;", "'")
    assert missing["detail_url"] == f"{PIGEON_BASE}/caps/price_parcel"
    for unknown in (f"/api/services/{PIGEON}/capabilities/fly", "/api/services/unknown.example/capabilities/fly"):
        assert (await api.get(unknown)).json()["type"] == "/api/problems/unknown-capability"


# --- status, health, about ------------------------------------------------------------------------------------------


async def test_status_also_covers_hosts_that_are_not_listed(api: Api) -> None:
    listed = (await api.json(f"/api/services/{PIGEON}/status"))["data"]
    assert (listed["state"], listed["reasons"]) == ("listed", [])
    empty = (await api.json(f"/api/services/{NOTHING}/status"))["data"]
    assert empty["state"] == "not_listed"
    assert empty["reasons"]
    assert empty["next_visit_at"]


async def test_health_counts_every_listed_service(api: Api) -> None:
    health = await api.json("/api/health")
    assert_shape(shapes.HEALTH, health)
    data = health["data"]
    assert data["total_monitored"] == len(LISTED)
    assert (data["healthy"], data["degraded"], data["down"]) == (len(LISTED) - 1, 0, 1)
    assert (data["status"], data["services"][0]["domain"]) == ("degraded", FAILING)


async def test_the_health_of_a_host_comes_from_its_visits(api: Api) -> None:
    healthy = await api.json(f"/api/health/{PIGEON}", days=30)
    assert_shape(shapes.HOST_HEALTH, healthy)
    assert (healthy["data"]["current_status"], healthy["data"]["uptime_percentage"]) == ("up", 100.0)
    failing = (await api.json(f"/api/health/{FAILING}", days=30))["data"]
    assert failing["current_status"] == "down"
    assert [check["status"] for check in failing["history"]] == ["down", "down", "down", "up"]
    assert failing["uptime_percentage"] == 25.0
    no_days = (await api.json(f"/api/health/{PIGEON}", days=0))["data"]
    assert (no_days["uptime_percentage"], no_days["history"]) == (None, [])


async def test_the_registry_describes_itself_as_a_client_expects(api: Api) -> None:
    manifest = await api.json("/.well-known/agent")
    assert_shape(shapes.MANIFEST, manifest)
    assert 10 <= len(manifest["description"]) <= 200
    assert [entry["name"] for entry in manifest["capabilities"]] == [
        "discover_services", "list_services", "get_service", "get_capability", "translate_service", "verify_service",
        "submit_service", "request_opt_out", "check_manifest",
    ]  # fmt: skip
    for capability in manifest["capabilities"]:
        detail = await api.json(capability["detail_url"])
        assert_shape(shapes.DETAIL, detail)
        assert detail["name"] == capability["name"]
    assert (await api.get("/api/capabilities/fly")).status_code == 404


async def test_the_registrys_own_manifest_is_valid(api: Api) -> None:
    manifest = (await api.get("/.well-known/agent")).content
    validation = (await api.post("/api/validate", content=manifest)).json()
    assert (validation["valid"], validation["errors"], validation["format"]) == (True, [], "adp")


async def test_the_rubric_names_every_rule(api: Api) -> None:
    rubric = await api.json("/api/rubric")
    assert rubric["version"]
    assert sum(rubric["sections"].values()) == 100
    assert all(rule["fix"] and rule["spec"] and rule["says"] for rule in rubric["data"])
    assert {"adp", "awp", "atp", "woa", "awas"} <= {form["slug"] for form in rubric["formats"]}


async def test_the_process_is_up_and_ready(api: Api) -> None:
    assert (await api.json("/healthz")) == {"status": "ok"}
    assert (await api.json("/readyz")) == {"status": "ok", "parts": {"database": "ok", "index": "ok"}}
