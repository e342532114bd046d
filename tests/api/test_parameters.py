"""A bad parameter is named in the message, with what is allowed."""

from collections.abc import Iterator
from typing import Any

import pytest

from registry.core.formats import FORMAT_BY_SLUG
from tests.api.sites import BIKES, PIGEON, SLOPPY
from tests.api.test_openapi import operations
from tests.support.api import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")

DISCOVER, LIST = "/api/discover?q=parcel&", "/api/services?"
NUMBER_TO_50 = "must be a whole number of at most nine digits, 0 to 50; a larger one is reduced"
PERCENTAGE = "must be a whole number, 0 to 100"

FAULTS = [
    (DISCOVER, "limit", "abc", NUMBER_TO_50),
    (DISCOVER, "limit", "-1", NUMBER_TO_50),
    (LIST, "limit", "7.5", NUMBER_TO_50.replace("50", "100")),
    (LIST, "offset", "x", "must be a whole number, 0 to 100000"),
    (LIST, "offset", "100001", "must be a whole number, 0 to 100000"),
    (DISCOVER, "min_score", "101", PERCENTAGE),
    (DISCOVER, "max_score", "high", PERCENTAGE),
    (DISCOVER, "sort", "foo", "must be one of relevance, score, freshness"),
    (DISCOVER, "sort", "", "must be one of relevance, score, freshness"),
    (LIST, "sort", "foo", "must be one of newest, name, capabilities, score, updated"),
    (DISCOVER, "cursor", "x" * 501, "must have at most 500 characters"),
    (LIST, "search", "x" * 401, "must have at most 400 characters"),
    (DISCOVER, "highlights", "yes", "must be true or false"),
    (DISCOVER, "auth_type", "key", "must be one or more of none, api_key, oauth2, unknown, separated by commas"),
    (LIST, "pricing_type", "cheap", "must be one or more of free, freemium, paid, unknown, separated by commas"),
    (LIST, "side_effects", "maybe", "must be one or more of true, false, unknown, separated by commas"),
    (
        DISCOVER,
        "trust_level",
        "all",
        "must be one or more of verified, community, unverified, owner-proven, host-checked, partly-checked, "
        "not-checked, in-doubt, separated by commas",
    ),
    (DISCOVER, "format", "gopher", f"must be one or more of {', '.join(sorted(FORMAT_BY_SLUG))}, separated by commas"),
    (LIST, "updated_after", "x", "must be a date such as 2026-11-20, or a time such as 2026-11-20T00:00:00Z"),
    (DISCOVER, "seen_within_days", "soon", NUMBER_TO_50.replace("50", "36500")),
    (f"/api/services/{PIGEON}/crawl?", "visits", "all", NUMBER_TO_50),
    (f"/api/health/{PIGEON}?", "days", "week", NUMBER_TO_50.replace("50", "30")),
]


@pytest.mark.parametrize(("path", "name", "value", "allowed"), FAULTS)
async def test_a_bad_value_is_answered_with_what_is_allowed(
    api: Api, path: str, name: str, value: str, allowed: str
) -> None:
    base, _, rest = path.partition("?")
    sent = dict(pair.split("=") for pair in rest.split("&") if pair)
    response = await api.get(base, params={**sent, name: value})
    assert response.status_code == 400, response.text
    assert response.json()["error"] == f"{name}: {allowed}"
    assert response.json()["errors"] == [f"{name}: {allowed}"]


async def test_bad_values_of_submissions_and_drafts_say_what_is_allowed(api: Api) -> None:
    late = await api.post("/api/services?wait=long", json={"domain": "x.example"})
    assert late.json()["error"] == f"wait: {NUMBER_TO_50.replace('50', '20')}"
    adrift = await api.post("/api/validate?at=agent.json", content=b"{}")
    assert adrift.json()["error"] == "at: must match the pattern ^/[!-~]*$"
    shapeless = await api.post("/api/validate?format=gopher", content=b"{}")
    assert shapeless.json()["error"].startswith("format: must be one of awp, ")
    translated = await api.get(f"/api/services/{PIGEON}/manifest/gopher")
    assert translated.json()["error"].startswith("format: must be one of ")


async def test_a_missing_question_and_a_stale_cursor_name_the_parameter(api: Api) -> None:
    assert (await api.get("/api/discover")).json()["error"] == "q: is required"
    assert (await api.get("/api/discover?q=x&cursor=y")).json()["error"].startswith("cursor: ")


def described_parameters() -> Iterator[Any]:
    for path, method, operation in operations():
        for parameter in operation.get("parameters", ()):
            schema = {"type": "string", **parameter["schema"]}
            has_rule = schema["type"] == "array" or schema.keys() & {"enum", "pattern", "minimum", "format"}
            if parameter["in"] == "query" and has_rule:
                yield pytest.param(path, method, parameter["name"], id=f"{method} {path} {parameter['name']}")


@pytest.mark.parametrize(("path", "method", "name"), list(described_parameters()))
async def test_every_parameter_with_a_rule_refuses_by_name(api: Api, path: str, method: str, name: str) -> None:
    """Parameters that anything fits (texts, `include_unverified`) have no rule in the description."""
    url = path.replace("{domain}", PIGEON).replace("{format}", "awp")
    params = {name: "!?", **({"q": "x"} if (path, method) == ("/api/discover", "get") else {})}
    response = await api.client.request(method.upper(), url, params=params, json={} if method == "post" else None)
    assert response.status_code == 400
    assert response.json()["error"].startswith(f"{name}: must "), response.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("q=x&limt=3", "Unknown query parameter limt (did you mean limit?)."),
        ("q=x&Limit=3", "Unknown query parameter Limit (did you mean limit?)."),
        ("q=x&offset=3", "Unknown query parameter offset (did you mean cursor?)."),
        ("query=x", "Unknown query parameter query (did you mean q?)."),
        ("q=x&zzz=1", "Unknown query parameter zzz."),
        ("q=x&limt=3&zzz=1", "Unknown query parameters limt (did you mean limit?), zzz."),
        ("q=x&%3Cb%3E=1", "Unknown query parameter (not a plain name)."),
        ("q=x&" + "z" * 41 + "=1", "Unknown query parameter (not a plain name)."),
    ],
)
async def test_an_unknown_parameter_is_named_with_the_likely_one(api: Api, query: str, said: str) -> None:
    response = await api.get(f"/api/discover?{query}")
    assert response.status_code == 400
    assert response.json()["error"].startswith(f"{said} Accepted: auth_type, callable, category, ")
    assert "limit" in response.json()["accepted"]


async def test_an_operation_without_parameters_says_so(api: Api) -> None:
    assert (await api.get("/api/rubric?x=1")).json()["error"] == "Unknown query parameter x. Accepted: none."


async def test_the_sort_orders_of_adp_registries_are_accepted(api: Api) -> None:
    for order in ("newest", "name", "capabilities"):
        assert (await api.get(f"/api/services?sort={order}")).status_code == 200


async def test_no_rows_have_no_cursor(api: Api) -> None:
    page = await api.json("/api/discover", q="parcels bicycles weather", limit=0)
    assert (page["data"], page["next_cursor"]) == ([], None)
    assert page["total"] > 0


async def test_rows_say_unknown_beside_the_defaults_of_adp(api: Api) -> None:
    rows = {row["domain"]: row for row in (await api.json("/api/services"))["data"]}
    sloppy, bikes, pigeon = rows[SLOPPY], rows[BIKES], rows[PIGEON]
    assert (sloppy["auth_type"], sloppy["auth"]["type"]) == ("none", "unknown")
    assert (bikes["pricing_type"], bikes["pricing"]["type"], bikes["pricing"]["model"]) == (
        "free",
        "unknown",
        "unknown",
    )
    assert (pigeon["auth_type"], pigeon["auth"]["type"]) == ("api_key", "api_key")
    assert (pigeon["pricing_type"], pigeon["pricing"]["type"]) == ("freemium", "freemium")
