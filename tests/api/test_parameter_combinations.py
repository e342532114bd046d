"""All query parameters of all GET operations together: no combination causes a 5xx, and neither order nor repeats of
names and listed values change an answer. Operations and parameters come from the OpenAPI document."""

from collections.abc import Iterator
from datetime import date
from typing import Any, Final

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.core.search_filters import COUNTED
from registry.wiring import utc_now
from tests.api.sites import AWKWARD_NAME, BIKES, PIGEON
from tests.api.test_openapi import is_stream, operations
from tests.support.api import Api

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

PATH_VALUES: Final = {"domain": PIGEON, "name": "create_parcel", "format": "awp", "slug": "not-found"}
TEXTS: Final = ("parcel", "send a parcel", "a parcle bicycle", "mail", "%", " x ", "\u202e0", AWKWARD_NAME, "x" * 400)
NAMES: Final = ("example", "EXAMPLE", PIGEON, BIKES, "com", "xn--p1ai")
VARYING: Final = {"instance": None, "freshness": None}
"""Members that say when, or to which request, an answer was made."""
ODD: Final = ("", " ", "adp, awp", "\x00", "-1", "NaN", "all", "true", "[]", "1e3")


def parameterised() -> Iterator[Any]:
    for path, method, operation in operations():
        parameters = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
        if operation.get("security") or "{id}" in path:
            continue  # of owners, operators and secret addresses: their own tests ask them
        if method == "get" and parameters and not is_stream(operation):
            yield pytest.param(path.format_map(PATH_VALUES), parameters, id=path)


def listed(schema: dict[str, Any]) -> st.SearchStrategy[list[str]]:
    item = schema["items"]
    one = value_of(item) if item.keys() & {"enum", "pattern"} else st.sampled_from(NAMES)
    return st.lists(one, min_size=1, max_size=min(len(item.get("enum", "x" * 6)), schema.get("maxItems", 6)))


def value_of(schema: dict[str, Any]) -> st.SearchStrategy[str]:
    """Return texts that the schema of one value allows."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True).filter(lambda text: "," not in text)
    if schema.get("type") == "integer":
        return st.integers(0, schema.get("maximum", 10**9 - 1)).map(str)
    if schema.get("format") == "date":
        return st.dates(date(2000, 1, 1), date(2100, 1, 1)).map(str)
    return st.sampled_from(TEXTS)


def odd(schema: dict[str, Any]) -> st.SearchStrategy[list[str]]:
    """Return valid values followed by others."""
    valid = listed(schema) if schema.get("type") == "array" else value_of(schema).map(lambda text: [text])
    return st.tuples(valid, st.lists(st.sampled_from(ODD), max_size=2)).map(lambda both: both[0] + both[1])


@st.composite
def sent(draw: st.DrawFn, parameters: list[dict[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    """Return valid parameters of a request, and the same with names and listed values in another order, the values
    also repeated."""
    required = [parameter for parameter in parameters if parameter["required"]]
    optional = [parameter for parameter in parameters if not parameter["required"]]
    chosen = required + draw(st.lists(st.sampled_from(optional), unique_by=lambda one: one["name"], max_size=6))
    plain, varied = {}, {}
    for parameter in chosen:
        name, schema = parameter["name"], parameter["schema"]
        if schema.get("type") == "array":
            values = draw(listed(schema))
            plain[name] = ",".join(dict.fromkeys(values))
            varied[name] = ",".join(draw(st.permutations(values + draw(st.lists(st.sampled_from(values))))))
        else:
            plain[name] = varied[name] = draw(value_of(schema))
    return plain, {name: varied[name] for name in draw(st.permutations(list(varied)))}


@pytest.fixture(autouse=True)
def one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """An overdue visit is shown at the next full minute, which may begin between two answers."""
    now = utc_now()
    monkeypatch.setattr("registry.api.crawl.utc_now", lambda: now)


BOUNDED: Final = settings(
    max_examples=60, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


@BOUNDED
@given(data=st.data())
@pytest.mark.parametrize(("path", "parameters"), list(parameterised()))
async def test_order_and_repeats_change_no_answer(
    api: Api, path: str, parameters: list[dict[str, Any]], data: st.DataObject
) -> None:
    pair = data.draw(sent(parameters))
    answers = [await api.get(path, params=params) for params in pair]
    assert {answer.status_code for answer in answers} <= {200, 400, 409}, answers[0].text
    plain, varied = map(_content, answers)
    assert plain == varied


def _content(answer: httpx2.Response) -> Any:
    return {**answer.json(), **VARYING} if "json" in answer.headers["content-type"] else answer.text


@BOUNDED
@given(data=st.data())
@pytest.mark.parametrize(("path", "parameters"), list(parameterised()))
async def test_no_combination_causes_a_fault(
    api: Api, path: str, parameters: list[dict[str, Any]], data: st.DataObject
) -> None:
    query = [
        (parameter["name"], ",".join(data.draw(odd(parameter["schema"]))))
        for parameter in data.draw(st.lists(st.sampled_from(parameters), max_size=8))
    ]
    answer = await api.client.get(path, params=query)
    assert answer.status_code in (200, 400, 409), answer.text


@pytest.mark.parametrize("name", COUNTED)
async def test_a_facet_that_is_named_twice_is_counted_once(api: Api, name: str) -> None:
    once = await api.json("/api/discover", q="parcel", facets=name)
    twice = await api.json("/api/discover", q="parcel", facets=f"{name},{name}")
    assert twice == once


async def test_a_cursor_holds_for_the_same_filters_in_another_order(api: Api) -> None:
    page = await api.json("/api/discover", q="parcels bicycles weather tables", limit=1, format="adp,awp,a2a")
    more = await api.json(
        "/api/discover",
        q="parcels bicycles weather tables",
        limit=1,
        format="a2a,adp,awp,adp",
        cursor=page["next_cursor"],
    )
    assert more["data"][0]["service"]["domain"] != page["data"][0]["service"]["domain"]


@pytest.mark.parametrize("value", ["adp,", ",adp", "adp,,awp", "adp, awp", " adp", ""])
async def test_blanks_and_empty_values_are_refused(api: Api, value: str) -> None:
    for params in ({"format": value}, {"domain": value.replace("adp", PIGEON).replace("awp", BIKES)}):
        response = await api.get("/api/discover", params={"q": "parcel", **params})
        assert response.status_code == 400, params


async def test_only_different_values_count_to_the_maximum(api: Api) -> None:
    assert (await api.get("/api/discover?q=parcel&tld=" + ",".join(["example"] * 50))).status_code == 200
    many = ",".join(f"{letter}x" for letter in "abcdefghijklmnopqrstu")
    assert (await api.get(f"/api/discover?q=parcel&tld={many}")).status_code == 400
