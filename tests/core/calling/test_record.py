"""The record of a capability says what its documents say, and tells what is known from what is inferred."""

from dataclasses import replace

from registry.core.model.services import (
    Auth,
    AuthScheme,
    Capability,
    Confirmation,
    Invocation,
    Origin,
    Pointer,
    RateLimit,
    Service,
)
from tests.core.calling.calls import made_record

GET = Invocation("http", "https://api.ferry.example/v1/trips/{id}", "GET", templated=True)
TRIP = Capability("trip_get", "trip_get", "Returns one trip.", title="Get a trip", invocations=(GET,))


def test_identity_title_schemas_and_behaviour_are_shown() -> None:
    params = {"type": "object", "properties": {"id": {"type": "integer", "minimum": 1}}, "required": ["id"]}
    capability = replace(
        TRIP,
        params=params,
        result={"type": "object"},
        idempotent=True,
        idempotency_key=False,
        reversible=False,
        sensitivity="high",
        polling_url="https://api.ferry.example/v1/jobs",
        errors={"404": "No such trip."},
        result_note="The trip.",
        deprecated=True,
        confirmation=Confirmation(True, "Sure?\u202e"),
        native={"awas": {"selector": "#trip"}},
        invocations=(replace(GET, rate_limit=RateLimit(30, "1m", burst=5)),),
    )
    record = made_record(Service(), capability)
    assert (record["id"], record["title"], record["name"]) == ("trip_get", "Get a trip", "trip_get")
    assert (record["input_schema"], record["output_schema"]) == (params, {"type": "object"})
    assert record["rate_limit"] == {"requests": 30, "window": "1m", "burst": 5}
    assert record["confirmation"] == {"required": True, "message": "Sure?"}
    assert record["errors"] == {"404": "No such trip."} and record["native"] == {"awas": {"selector": "#trip"}}
    said = ("idempotent", "idempotency_key", "reversible", "sensitivity", "deprecated", "result_note", "polling_url")
    assert [record[key] for key in said] == [
        True, False, False, "high", True, "The trip.", "https://api.ferry.example/v1/jobs",
    ]  # fmt: skip


def test_what_no_document_says_is_absent_or_unknown() -> None:
    record = made_record(Service(), replace(TRIP, invocations=()))
    assert record["side_effects"] is None
    assert not {"side_effects_inferred", "auth", "idempotent", "errors", "native", "input_schema"} & record.keys()


def test_side_effects_are_inferred_from_safe_methods_only_and_only_beside_unknown() -> None:
    inferred = made_record(Service(), TRIP)["side_effects_inferred"]
    assert inferred == {"value": False, "from": "GET is a safe method (RFC 9110 section 9.2.1)"}
    post = replace(GET, method="POST")
    for capability in (
        replace(TRIP, invocations=(post,)),
        replace(TRIP, invocations=(GET, post)),
        replace(TRIP, side_effects=True),
        replace(TRIP, invocations=(Invocation("mcp_tool", "https://api.ferry.example/mcp", "GET"),)),
    ):
        assert "side_effects_inferred" not in made_record(Service(), capability)


def test_the_credentials_of_a_call_are_completed_by_those_of_the_service() -> None:
    key = AuthScheme("api_key", "header", "X-Key")
    known = replace(key, setup_url="https://ferry.example/keys", note="Ask us.")
    other = AuthScheme("api_key", "query", "key")
    service = Service(auth=Auth((other, known), True))
    own = made_record(service, replace(TRIP, invocations=(replace(GET, auth=Auth((key,), True)),)))["auth"]
    assert own["schemes"] == [
        {"type": "api_key", "location": "header", "name": "X-Key", "setup_url": "https://ferry.example/keys",
         "note": "Ask us."}
    ]  # fmt: skip
    inherited = made_record(service, TRIP)["auth"]
    assert [scheme["name"] for scheme in inherited["schemes"]] == ["key", "X-Key"]


def test_the_credentials_of_a_call_name_who_issues_them() -> None:
    token = AuthScheme("oauth2", token_url="https://login.bank.example/t", authorization_url="https://bank.example/a")
    server = Pointer("https://id.example/.well-known/oauth-authorization-server", "authorization_server", "", None)
    key = AuthScheme("api_key", "header", "X-Key", setup_url="https://ferry.example/keys")
    service = Service(auth=Auth((token, key), True), pointers=(server,))
    by_service = made_record(service, TRIP)["call"]["credentials"]["alternatives"]
    assert [credential.get("issuers") for [credential] in by_service] == [
        ["login.bank.example", "bank.example", "id.example"], None,
    ]  # fmt: skip
    short = replace(GET, auth=Auth((AuthScheme("oauth2"),), True))
    by_call = made_record(service, replace(TRIP, invocations=(short,)))["call"]["credentials"]["alternatives"]
    assert by_call[0][0]["issuers"] == ["login.bank.example", "bank.example", "id.example"]


def test_every_way_to_call_names_its_source() -> None:
    origin = Origin("https://ferry.example/openapi.json", "/paths/~1trips/get", "openapi")
    record = made_record(Service(), replace(TRIP, invocations=(replace(GET, origin=origin),)))
    assert record["invocations"][0]["source"] == {
        "document": origin.document, "pointer": origin.pointer, "format": "openapi",
    }  # fmt: skip
