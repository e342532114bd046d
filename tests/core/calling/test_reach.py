"""Whether and where a capability can be called: exactly what its call says, for every capability."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.assessing.assess import assess_body
from registry.core.calling.call import call_of
from registry.core.calling.reach import ADDRESS_CHARS, WHY_NOT_CALLABLE, Reach, detail_answers, reach_of, with_reach
from registry.core.formats.adp.detail_view import adp_detail
from registry.core.merging.details import detail_reference
from registry.core.model.documents import Outcome, Via
from registry.core.model.listing import ListedCapability
from registry.core.model.services import Capability, Invocation, Origin, Package, Protocol, Service
from tests.search.listings import listing
from tests.support.shared import shared

HOST = "api.ferry.example"
URL = f"https://{HOST}/trips"
DETAIL = f"https://{HOST}/caps/sail"
MCP = Service(protocols=(Protocol("mcp", endpoint=URL),))
PACKAGED = Service(packages=(Package("npm", "ferry-server"),))


def assert_agrees(host: str, service: Service, capability: Capability) -> Reach:
    """The reach is exactly what the call says; without one it has a reason."""
    call = call_of(service, capability, None)
    reach = reach_of(host, capability, call)
    shown = reach.to_json()
    assert shown["callable"] == reach.callability
    if call is None:
        assert (reach.kind, reach.method, reach.address) == (None, None, None)
        assert reach.reason in WHY_NOT_CALLABLE
        has_detail = adp_detail(host, service, capability) is not None  # of an address that speaks an unknown protocol
        assert not has_detail or reach.reason == "unknown_request" or reach.reason.startswith("detail_")
        assert (reach.callability == "unknown") is (reach.reason == "detail_not_fetched")
        return reach
    request = call.get("request", {})
    assert (reach.callability, reach.reason) == ("true", None)
    address = request.get("url", call.get("open"))
    assert (reach.kind, reach.method) == (call["kind"], request.get("method"))
    assert reach.address == (address if address is None or len(address) <= ADDRESS_CHARS else None)
    return reach


def called(*invocations: Invocation, **changes: Any) -> Capability:
    return Capability("sail", "sail", invocations=invocations, **changes)


@pytest.mark.parametrize(
    ("service", "capability", "expected"),
    [
        (Service(), called(Invocation("http", f"{URL}/{{id}}", "get")), ("http", "GET", f"{URL}/{{id}}")),
        (Service(), called(Invocation("http", URL)), "no_method"),
        (Service(), called(Invocation("http", "wss://api.ferry.example/x", "GET")), "not_http"),
        (Service(), called(), "no_endpoint"),
        (Service(), called(Invocation("instructions")), "no_endpoint"),
        (Service(), called(Invocation("navigation", None, name="mailto:a@ferry.example")),
         ("navigation", None, "mailto:a@ferry.example")),
        (Service(), called(Invocation("navigation", URL)), ("navigation", None, URL)),
        (Service(), called(Invocation("rpc", URL)), "unknown_request"),
        (MCP, called(Invocation("rpc", URL)), ("mcp_server", "POST", URL)),
        (MCP, called(Invocation("mcp_tool", URL, name="sail")), ("mcp_tool", "POST", URL)),
        (PACKAGED, called(Invocation("mcp_tool", name="sail")), ("mcp_tool", None, None)),
        (PACKAGED, called(Invocation("rpc"), whole_server=True), ("mcp_server", None, None)),
        (Service(), called(Invocation("http", f"{URL}/{'x' * ADDRESS_CHARS}", "GET")), ("http", "GET", None)),
        (Service(), called(detail_url=DETAIL), "detail_not_fetched"),
        (Service(), called(detail_url="https://docs.other.dev/sail"), "detail_elsewhere"),
    ],
)  # fmt: skip
def test_the_reach_is_what_the_call_says(service: Service, capability: Capability, expected: Any) -> None:
    reach = assert_agrees(HOST, service, capability)
    assert (reach.reason or (reach.kind, reach.method, reach.address)) == expected


@settings(max_examples=200)
@given(
    st.lists(
        st.builds(
            Invocation,
            st.sampled_from(["http", "rpc", "mcp_tool", "a2a_skill", "instructions", "navigation", "pointer"]),
            st.sampled_from(
                [None, URL, f"{URL}/{{id}}{{?to,from}}", "http://ferry.example/x", "https://", "x" * 3_000]
            ),
            st.sampled_from([None, "GET", "post", "BREW COFFEE", ""]),
            st.sampled_from([None, "sail", "mailto:a@ferry.example"]),
        ),
        max_size=3,
    ),
    st.sampled_from([Service(), MCP, PACKAGED, Service(protocols=(Protocol("a2a", "1.0", URL, "GRPC"),))]),
    st.booleans(),
    st.sampled_from([None, DETAIL, "not a URL"]),
)
def test_reach_and_call_agree_for_any_capability(
    invocations: list[Invocation], service: Service, whole_server: bool, detail_url: str | None
) -> None:
    assert_agrees(HOST, service, called(*invocations, whole_server=whole_server, detail_url=detail_url))


def test_reach_and_call_agree_for_recorded_documents() -> None:
    folder = shared("corpus")
    seen: Counter[str] = Counter()
    with Path(folder, "INDEX.tsv").open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            path = row["served_path"] if row["served_path"].startswith("/") else "/.well-known/agent.json"
            service = assess_body(Path(folder, row["file"]).read_bytes(), f"https://{HOST}{path}").service
            for capability in () if service is None else service.capabilities:
                seen[assert_agrees(HOST, service, capability).callability] += 1
    assert seen["true"] > 400 and seen["false"] > 300


def test_the_address_is_the_same_when_the_order_of_the_schema_is_lost() -> None:
    """jsonb sorts the members of an object: a row is made before that, and the record after it."""
    names = ["place", "day", "to"]
    call = Invocation("http", URL, "GET", names=(("place", "at"), ("to", "until")))
    told = {
        reach_of(HOST, one, call_of(Service(), one, None)).address
        for order in (names, sorted(names), sorted(names, key=len))
        for properties in [{name: {"type": "string"} for name in order}]
        for one in [called(call, params={"type": "object", "properties": properties})]
    }
    assert told == {f"{URL}?at={{place}}&until={{to}}{{&day}}"}


def test_a_detail_is_found_by_the_place_that_names_it_else_by_its_address() -> None:
    """Mirrors know no places, and of two capabilities with one document one place is stored."""
    origin = Origin(f"https://{HOST}/.well-known/agent", "/capabilities/0", "adp")
    sail = called(Invocation("pointer", origin=origin), detail_url=DETAIL)
    other = Via(origin.document, "/capabilities/1/detail_url", "detail_url")
    for asked, answered in (
        ([(None, "https://x.example/", Outcome.FOUND)], None),
        ([(None, DETAIL, Outcome.ABSENT)], Outcome.ABSENT),
        ([(other, DETAIL, Outcome.ABSENT)], Outcome.ABSENT),
        ([(None, DETAIL, Outcome.ABSENT), (detail_reference(sail), f"{DETAIL}#x", Outcome.MALFORMED)],
         Outcome.MALFORMED),
    ):  # fmt: skip
        assert detail_answers(asked)(sail) is answered
    assert reach_of(HOST, sail, None, Outcome.ABSENT).reason == "detail_missing_at_site"
    assert reach_of(HOST, sail, None, Outcome.UNREACHABLE).reason == "detail_not_readable"


def test_a_listing_gets_what_is_known() -> None:
    given_listing = listing("a.example", "x", capabilities=(ListedCapability("a"), ListedCapability("b")))
    reach = {"a": Reach("http", "GET", URL).to_json(), "c": Reach(reason="no_endpoint").to_json()}
    assert [one.callability for one in with_reach(given_listing, reach).capabilities] == ["true", "unknown"]
