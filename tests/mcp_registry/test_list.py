"""The list of the MCP registry's API: its order, pages, filters, and what a row says."""

from typing import Any

import pytest

from registry.core.calling.server_records.record import LEFT_OUT
from registry.core.calling.server_records.validation import issues
from registry.mcp_registry.params import write_cursor
from tests.mcp_registry import sites
from tests.mcp_registry.conftest import OFFICIAL, OWN, PUBLIC_URL, View, dump
from tests.mcp_registry.sites import HOSTILE, PARCELS, SOCKET, TEMPLATE, TRIPLE

NAMES = [
    "example.hostile/img-src-x-onerror-alert-1-",
    "example.local-tools/files",
    "example.parcels/parcels-of-the-town",
    "example.port/ported",
    "example.tenants/tenants",
    "example.triple/billing",
    "example.triple/shipping-post",
    "example.triple/stock",
    "example.undated/undated",
]


async def test_the_list_holds_every_mcp_server_in_the_order_of_names(view: View) -> None:
    names = await view.names()
    assert names == sorted(names)
    assert [name.rstrip("a") for name in names[:1]] + names[1:] == NAMES


@pytest.mark.parametrize("limit", [1, 2, 3, 8, 9, 100])
async def test_pages_of_any_size_hold_the_same_rows(view: View, limit: int) -> None:
    assert await view.all(limit=limit) == await view.all()


async def test_every_row_is_valid_by_the_rules_of_the_registry(view: View) -> None:
    rows = await view.all()
    assert [(row["server"]["name"], issues(row["server"])) for row in rows if issues(row["server"])] == []
    assert all("_meta" not in row["server"] for row in rows)


async def test_the_alias_answers_the_same(view: View) -> None:
    assert await view.json("/v0/servers") == await view.json("/v0.1/servers")
    name = NAMES[3].replace("/", "%2F")
    for path in (f"servers/{name}/versions", f"servers/{name}/versions/latest", "ping", "version", "health"):
        assert await view.json(f"/v0/{path}") == await view.json(f"/v0.1/{path}")


async def test_a_row_says_what_the_registry_knows(view: View) -> None:
    row = await view.one(PARCELS)
    assert row["server"]["version"] == "2.1.0"
    assert row["server"]["title"] == "Parcels of the town"
    own, official = row["_meta"][OWN], row["_meta"][OFFICIAL]
    assert own["url"] == f"{PUBLIC_URL}/api/services/{PARCELS}"
    assert own["score"] > 0 and own["trust_level"] == "verified" and own["injection_flags"] == []
    assert own["description"] == sites.LONG
    assert (official["status"], official["isLatest"]) == ("active", True)
    assert (own["owned"], own["canonical_host"], own["trust"]["reasons_since"]) == (False, None, {})
    assert own["trust"]["since"]
    service = await view.json(f"/api/services/{PARCELS}")
    assert own["score"] == service["data"]["score"]["value"]


async def test_hostile_texts_are_marked_and_do_not_break_the_row(view: View) -> None:
    row = await view.one(HOSTILE)
    assert issues(row["server"]) == ()
    own = row["_meta"][OWN]
    assert "server" in own["untrusted_text"]
    assert own["injection_flags"]
    assert "\u202e" not in dump(row) and "\x1b" not in dump(row) and "10.0.0.1" not in dump(row)
    assert not {"websiteUrl", "icons", "repository"} & set(row["server"])
    assert row["server"]["remotes"] == [
        {
            "type": "streamable-http",
            "url": f"https://{HOSTILE}/{{a}}/mcp",
            "headers": [{"name": "X-Good", "value": "1"}],
            "variables": {"a": {"description": "[31mred", "choices": ["x"]}},
        }
    ]
    assert own["left_out"] == ["address"]


async def test_what_is_left_out_is_counted_by_reason(view: View) -> None:
    content = await view.json("/v0.1/x/dev.waypost/left-out")
    assert content == {
        "versions": {"active": 9},
        "services": 1,
        "left_out": [{"reason": "transport", "says": LEFT_OUT["transport"], "services": 1}],
    }
    assert SOCKET not in dump(await view.all())


@pytest.mark.parametrize("name", ["search", "q"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("parcels", [NAMES[2]]),
        ("PARCELS", [NAMES[2]]),
        ("triple/", NAMES[5:8]),
        ("nowhere", []),
        ("%_%", []),
        ("___", []),
    ],
)
async def test_search_is_a_part_of_the_name(view: View, name: str, text: str, found: list[str]) -> None:
    assert await view.names(**{name: text, "limit": 1}) == found


async def test_latest_and_exact_versions(view: View) -> None:
    assert await view.names(version="latest") == await view.names()
    assert await view.names(version="2.1.0") == [NAMES[2]]
    assert await view.names(version="9") == []


async def test_requests_of_clients_are_answered(view: View) -> None:
    """As VS Code and ToolHive send them."""
    assert await view.names(limit=50, cursor="", q="") == await view.names()
    (row,) = (await view.json("/v0.1/servers", limit=1))["servers"]
    assert row["server"]["name"].startswith("example.hostile/")
    assert len(await view.names(cursor="", version="latest", include_deleted="false", fields="all")) == 9


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"limit": "0"}, 422), ({"limit": "101"}, 422), ({"limit": "-1"}, 422), ({"limit": "x"}, 422),
        ({"limit": "1e1"}, 422), ({"limit": "9" * 400}, 422), ({"search": "ab"}, 422), ({"q": "a"}, 422),
        ({"search": "   "}, 422), ({"search": "a" * 300}, 422), ({"version": "1" * 300}, 422),
        ({"search": "abc", "q": "abd"}, 400), ({"include_deleted": "maybe"}, 422),
        ({"updated_since": "yesterday"}, 400), ({"updated_since": "2026-11-20"}, 400),
        ({"updated_since": "2026-11-20T03:00:11"}, 400), ({"updated_since": "2026-13-20T03:00:11Z"}, 400),
        ({"updated_since": "0001-01-01T00:00:00+23:59"}, 400), ({"updated_since": "9999-12-31T23:59:59-23:59"}, 400),
        ({"updated_since": "2026-11-20T03:00:11Z", "include_deleted": "false"}, 400),
        ({"cursor": "!"}, 400), ({"cursor": "a"}, 400), ({"cursor": "bnVsbA"}, 400), ({"cursor": "W10"}, 400),
        ({"cursor": "a" * 2_000}, 400), ({"cursor": "WzEsMl0"}, 400), ({"cursor": "W" * 999}, 400),
    ],
)  # fmt: skip
async def test_what_cannot_be_is_refused_with_the_status_of_the_official_server(
    view: View, params: dict[str, str], status: int
) -> None:
    response = await view.get("/v0.1/servers", **params)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert all(text not in response.text for text in params.values() if len(text) > 6)


@pytest.mark.parametrize(
    "params",
    [
        {"search": "\0\0\0"}, {"version": "\0"}, {"search": "\ud7ff\U0010ffff%"},
        {"cursor": write_cursor("\0", "\ud800")},
        {"updated_since": "0001-01-01T00:00:00Z"}, {"updated_since": "9999-12-31T23:59:59Z"},
        {"updated_since": "2026-11-20t03:00:11.123456789+01:00"}, {"limit": "", "search": "", "version": ""},
        {"include_deleted": "TRUE"}, {"unknown": "1"},
    ],
)  # fmt: skip
async def test_odd_values_are_answered(view: View, params: dict[str, str]) -> None:
    assert (await view.get("/v0.1/servers", **params)).status_code == 200


async def test_the_first_of_repeated_parameters_counts(view: View) -> None:
    response = await view.client.get("/v0.1/servers?limit=2&limit=900")
    assert len(response.json()["servers"]) == 2


async def test_one_server_and_its_versions(view: View) -> None:
    expected = await view.one(PARCELS)
    for name in (NAMES[2], NAMES[2].replace("/", "%2F"), NAMES[2].replace("/", "%252F")):
        assert await view.json(f"/v0.1/servers/{name}/versions/latest") == expected
        assert await view.json(f"/v0.1/servers/{name}/versions/2.1.0") == expected
        content = await view.json(f"/v0.1/servers/{name}/versions")
        assert content == {"servers": [expected], "metadata": {"count": 1}}


@pytest.mark.parametrize(
    "path",
    [
        "servers/none%2Fsuch/versions", "servers/none%2Fsuch/versions/latest", "servers/x/versions",
        "servers/example.parcels%2Fparcels-of-the-town/versions/9", "servers/example.parcels%2Fparcels-of-the-town",
        "servers/%00%2F%00/versions", "servers/a%2Fb/versions/%00", "servers/%FF%2Fb/versions", "servers//versions/",
        "publish", "x/dev.waypost", "servers/a%2Fb/versions/1%2F2",
    ],
)  # fmt: skip
async def test_what_there_is_not_is_not_found(view: View, path: str) -> None:
    response = await view.get(f"/v0.1/{path}")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"


async def test_the_description_is_where_clients_look_for_it(view: View) -> None:
    documents = [await view.get(path) for path in ("/openapi.yaml", "/v0.1/openapi.yaml", "/v0/openapi.yaml")]
    assert len({document.text for document in documents}) == 1
    assert "  version: 1.0.0\n" in documents[0].text
    assert "https://github.com/modelcontextprotocol/registry" in documents[0].text


async def test_answers_can_be_read_from_anywhere_and_revalidated(view: View) -> None:
    for path in ("/v0.1/servers", "/v0/ping", "/openapi.yaml"):
        first = await view.get(path)
        assert first.headers["access-control-allow-origin"] == "*"
        again = await view.client.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert again.status_code == 304
        head = await view.client.head(path)
        assert (head.status_code, head.content) == (200, b"")
        preflight = await view.client.options(path, headers={"Access-Control-Request-Method": "GET"})
        assert preflight.status_code == 204
    refused = await view.client.put("/v0.1/servers/a%2Fb/versions/1")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


VALID: dict[str, Any] = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "name": "com.example/x1", "description": "x", "version": "1.0.0",
    "remotes": [{"type": "sse", "url": "https://example.com/{a}", "variables": {"a": {}}}],
}  # fmt: skip


async def test_a_document_can_be_checked(view: View) -> None:
    response = await view.client.post("/v0.1/validate", json=VALID)
    assert response.json() == {"valid": True, "issues": []}
    secret = "sk-do-not-repeat"
    broken = {
        **VALID,
        "name": secret,
        secret: 1,
        "remotes": [{"type": "sse", "url": "x", "variables": {secret: {"value": 1}}}],
    }
    content = (await view.client.post("/v0/validate", json=broken)).json()
    assert content["valid"] is False
    assert {issue["path"] for issue in content["issues"]} == {
        "",
        "name",
        "remotes[0].url",
        "remotes[0].variables.*.value",
    }
    assert secret not in dump(content)
    lacking = (await view.client.post("/v0/validate", json={"name": "com.example/x1"})).json()["issues"]
    assert {issue["message"] for issue in lacking} == {
        f"lacks the member `{member}`" for member in ("$schema", "description", "version")
    }


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"NaN", 400),
        (b'{"a": 1, "a": 2}', 400),
        (b"[" * 9_999, 400),
        (b"[]", 422),
        (b"null", 422),
        (b"{}", 200),
    ],
)
async def test_a_body_that_is_no_document(view: View, body: bytes, status: int) -> None:
    response = await view.client.post("/v0.1/validate", content=body)
    assert response.status_code == status
    assert status != 200 or response.json()["valid"] is False


async def test_a_template_keeps_its_variables(view: View) -> None:
    row = await view.one(TEMPLATE)
    assert row["server"]["remotes"][0]["variables"].keys() == {"region"}, (
        "the default of the tenant stands in the address"
    )
    assert row["_meta"][OWN]["adjusted"] == ["variables_declared"]


async def test_three_servers_of_one_host(view: View) -> None:
    rows = [row["server"] for row in await view.all() if row["_meta"][OWN]["host"] == TRIPLE]
    assert [(row["name"], row["remotes"][0]["type"]) for row in rows] == [
        ("example.triple/billing", "streamable-http"), ("example.triple/shipping-post", "sse"),
        ("example.triple/stock", "streamable-http"),
    ]  # fmt: skip
