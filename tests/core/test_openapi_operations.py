"""What an API description offers: every operation is a capability or has a finding, every parameter its place."""

import json
from typing import Any

import pytest

from registry.core.assessing.assess import assess_body
from registry.core.format_support.params import MAX_PARAMS
from registry.core.merging.listing import make_listing
from registry.core.model.listing import TrustLevel
from registry.core.model.services import Capability, Plan, Service, to_json
from registry.core.reading.json_pointer import at
from tests.core.calling.calls import made_call

AT = "https://kelpfarm.com/openapi.json"
OTHERS = "/paths/~1a/additionalOperations"
GET = {"operationId": "tanks", "responses": {"200": {"description": "All tanks."}}}


def assessed(paths: object, **members: Any) -> tuple[Service, list[tuple[str, str]]]:
    """Return the service of a description, and its findings: code and pointer."""
    description = {"openapi": "3.1.0", "info": {"title": "Kelp farm", "version": "1"}, "paths": paths, **members}
    assessment = assess_body(json.dumps(description).encode(), AT, "application/json")
    assert assessment.service is not None
    return assessment.service, [(finding.rule.code, finding.pointer) for finding in assessment.findings]


def one(operation: dict[str, Any], path: str = "/tanks", method: str = "get", **members: Any) -> Capability:
    service, _ = assessed({path: {method: {"operationId": "tanks", **operation}}}, **members)
    return service.capabilities[0]


def parameter(name: str, place: str, required: bool = True) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "required": required,
        "schema": {"type": "string", "enum": [f"{name} in {place}"]},
    }


def schema_of(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def body_of(schema: dict[str, Any], media_type: str = "application/json", **members: Any) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema, **members}}}}


# --- operations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "calls", "findings"),
    [
        ({"/a": {"trace": GET, "options": GET, "query": GET}}, ["QUERY /a", "OPTIONS /a", "TRACE /a"], []),
        ({"/a": {"additionalOperations": {"COPY": GET}}}, ["COPY /a"], []),
        ({"/a": {"additionalOperations": {"A B": GET}}}, [], [("document.unread", f"{OTHERS}/A B")]),
        ({"/a": {"additionalOperations": {"COPY": 1}}}, [], [("document.unread", f"{OTHERS}/COPY")]),
        ({"/a": {"GET": GET}}, ["GET /a"], [("openapi.path", "/paths/~1a/GET")]),
        ({"/a": {"GET": GET, "get": GET}}, ["GET /a"], [("document.unread", "/paths/~1a/GET")]),
        ({"a": {"get": GET}}, ["GET /a"], [("openapi.path", "/paths/a")]),
        ({"/a": {"fetch": GET}}, [], [("document.unread", "/paths/~1a/fetch")]),
        ({"/a": {"get": "tanks"}}, [], [("document.unread", "/paths/~1a/get")]),
        ({"/a": [GET]}, [], [("document.unread", "/paths/~1a")]),
        ({"https://other.org/a": {"get": GET}}, [], [("document.unread", "/paths/https:~1~1other.org~1a/get")]),
        ({"/a" * 2_000: {"get": GET}}, [], [("document.unread", at("", "paths", "/a" * 2_000, "get"))]),
        ({"/a": None, "x-notes": {"get": GET}, "/b": {"x-get": GET, "get": None}}, [], []),
    ],
)  # fmt: skip
def test_an_operation_is_a_capability_or_has_a_finding(
    paths: object, calls: list[str], findings: list[tuple[str, str]]
) -> None:
    service, found = assessed(paths)
    invocations = [capability.invocations[0] for capability in service.capabilities]
    assert [
        f"{call.method} {(call.endpoint or '').removeprefix('https://kelpfarm.com')}" for call in invocations
    ] == calls
    ignored = ("openapi.operation_id", "document.partly_read", "document.wrong_type")
    assert [finding for finding in found if finding[0] not in ignored] == findings


REFERENCES = {
    "another path": "#/paths/~1tanks~1{id}",
    "percent-encoded": "#/paths/~1tanks~1%7Bid%7D",
    "a component": "#/components/pathItems/Tank",
    "its own address": "https://kelpfarm.com/openapi.json#/components/pathItems/Tank",
    "its own file": "openapi.json#/components/pathItems/Tank",
}


@pytest.mark.parametrize("reference", REFERENCES.values(), ids=REFERENCES.keys())
def test_a_path_may_refer_to_another_path_item(reference: str) -> None:
    item = {"parameters": [parameter("id", "path")], "get": GET}
    paths = {"/tanks/{id}": item, "/old/{id}": {"$ref": reference}}
    real = {**item, "get": {**GET, "operationId": "old"}}
    items = {"Tank": {"$ref": "#/components/pathItems/Real"}, "Real": real}
    service, findings = assessed(paths, components={"pathItems": items})
    assert findings == []
    first, second = service.capabilities
    assert second.invocations[0].endpoint == "https://kelpfarm.com/old/{id}"
    assert second.params == first.params
    origin = second.invocations[0].origin
    assert origin is not None
    assert origin.pointer in ("/paths/~1tanks~1{id}/get", "/components/pathItems/Real/get")


@pytest.mark.parametrize(
    "reference", ["other.json#/paths/~1a", "#/paths/~1nowhere", "#/paths/~1a", "https://kelpfarm.com/other.json"]
)
def test_a_path_item_that_is_not_in_the_document_has_a_finding(reference: str) -> None:
    service, findings = assessed({"/a": {"$ref": reference}})
    assert service.capabilities == ()
    assert findings == [("openapi.reference", "/paths/~1a")]


def test_one_path_item_of_many_paths_is_not_multiplied() -> None:
    listed = [parameter(f"p{number}", "query", required=False) for number in range(200)]
    paths = {f"/b{number}": {"$ref": "#/paths/~1a"} for number in range(1_000)}
    service, findings = assessed({"/a": {"parameters": listed, "get": GET, "put": GET}, **paths})
    assert len(service.capabilities) > 50
    assert len(json.dumps(to_json(service))) < 5_000_000
    assert "manifest.too_many_capabilities" in dict(findings)


def test_webhooks_and_callbacks_are_counted() -> None:
    operation = {**GET, "callbacks": {"grown": {"{$request.body#/url}": {"post": GET}}}}
    service, findings = assessed({"/a": {"get": operation}}, webhooks={"harvest": {"post": GET}})
    assert len(service.capabilities) == 1
    assert findings == [
        ("openapi.incoming", "/webhooks/harvest/post"),
        ("openapi.incoming", "/paths/~1a/get/callbacks"),
    ]


def test_a_summary_is_searched_as_a_description_is() -> None:
    own = {"operationId": "tanks", "summary": "Sargassum", "description": "Lists every tank."}
    item = {"summary": "Wakame", "description": "Tanks of the north bay.", "get": own, "put": {"operationId": "fill"}}
    info = {"title": "Kelp farm", "version": "1", "summary": "Dulse", "description": "Kelp by the tonne."}
    service, _ = assessed({"/a": item}, info=info)
    assert service.description == "Kelp by the tonne."
    assert [one.description for one in service.capabilities] == [
        "Lists every tank. Wakame Tanks of the north bay.",
        "Wakame Tanks of the north bay.",
    ]
    listing = make_listing("kelpfarm.com", "kelpfarm.com", service, 90, TrustLevel.VERIFIED, ["openapi"], None)
    assert listing.keywords == ("Dulse",)
    assert listing.capabilities[0].keywords == ("Sargassum",)


# --- parameters -----------------------------------------------------------------------------------------------------


def test_parameters_of_one_name_are_each_sent_to_their_place() -> None:
    places = ("header", "query", "cookie", "path")
    form = body_of(schema_of({"id": {"enum": ["id in body"]}}, "id"), "application/x-www-form-urlencoded")
    operation = {"parameters": [parameter("id", place) for place in places], **form}
    capability = one(operation, "/tanks/{id}", "post")
    call = made_call(Service(), capability)
    assert call is not None
    assert call["example"] == {
        "method": "POST",
        "url": "https://kelpfarm.com/tanks/id%20in%20path?id=id%20in%20query",
        "headers": {
            "id": "id in header",
            "Cookie": "id=id_in_cookie",
            "Content-Type": "application/x-www-form-urlencoded",
        },
        "body": {"id": "id in body"},
    }
    assert call["request"]["url"] == "https://kelpfarm.com/tanks/{id}?id={id__query}"
    assert call["request"]["body_schema"]["required"] == ["id"]
    assert {row["name"]: row.get("sent_as") for row in call["request"]["parameters"]} == {
        "id": None, "id__header": "id", "id__query": "id", "id__cookie": "id", "id__body": "id",
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/{proxy+}", "/{+proxy}", "/{proxy*}", "/{proxy}"])
def test_the_operator_of_a_variable_is_not_part_of_its_name(path: str) -> None:
    declared, undeclared = one({"parameters": [parameter("proxy", "path")]}, path), one({}, path)
    assert dict(declared.invocations[0].places) == dict(undeclared.invocations[0].places) == {"proxy": "path"}


def test_a_range_of_media_types_is_sent_as_json() -> None:
    capability = one(body_of(schema_of({"bay": {"type": "string"}}), "*/*"), method="put")
    assert capability.invocations[0].media_type == "application/json"


def test_a_security_scheme_may_be_a_reference() -> None:
    key = {"type": "apiKey", "in": "header", "name": "X-Kelp"}
    components = {"securitySchemes": {"key": {"$ref": "#/components/securitySchemes/real"}, "real": key}}
    service, _ = assessed({"/a": {"get": GET}}, components=components, security=[{"key": []}])
    assert [(scheme.location, scheme.name) for scheme in service.auth.schemes] == [("header", "X-Kelp")]


def test_the_parameter_that_a_template_can_name_keeps_its_name() -> None:
    capability = one({"parameters": [parameter("lang", "header", required=False), parameter("lang", "query")]})
    assert dict(capability.invocations[0].places) == {"lang__header": "header", "lang": "query"}
    assert (capability.params or {})["required"] == ["lang"]


@pytest.mark.parametrize(
    ("listed", "pointer"),
    [
        (["id"], "/0"),
        ([{"in": "query"}], "/0"),
        ([parameter("a", "query"), {"name": "b", "in": "somewhere"}], "/1"),
        ([{"name": "b"}], "/0"),
        ({"id": parameter("id", "query")}, ""),
    ],
)
def test_a_parameter_that_cannot_be_read_has_a_finding(listed: object, pointer: str) -> None:
    _, findings = assessed({"/a": {"get": GET, "parameters": listed}})
    assert findings == [("openapi.parameter", f"/paths/~1a/parameters{pointer}")]
    _, findings = assessed({"/a": {"get": {**GET, "parameters": listed}}})
    assert findings == [("openapi.parameter", f"/paths/~1a/get/parameters{pointer}")]


def test_a_parameter_by_reference_is_read_or_has_a_finding() -> None:
    listed = [{"$ref": "#/paths/~1b/get/parameters/0"}, {"$ref": "elsewhere.yaml#/id"}]
    paths = {"/a": {"get": {**GET, "parameters": listed}}, "/b": {"get": {"parameters": [parameter("bay", "query")]}}}
    service, findings = assessed(paths)
    assert service.capabilities[0].params == service.capabilities[1].params
    assert findings == [("openapi.reference", "/paths/~1a/get/parameters/1")]


def test_too_many_parameters_are_cut_with_a_finding() -> None:
    listed = [parameter(f"p{number}", "query", required=False) for number in range(MAX_PARAMS + 5)]
    service, findings = assessed({"/a": {"get": {**GET, "parameters": listed}}})
    assert len((service.capabilities[0].params or {})["properties"]) == MAX_PARAMS
    assert findings == [("openapi.too_many_parameters", f"/paths/~1a/get/parameters/{MAX_PARAMS}")]


def test_a_body_of_more_members_than_there_is_room_for_is_kept_whole() -> None:
    members = {f"p{number}": {"type": "string"} for number in range(MAX_PARAMS + 5)}
    capability = one(body_of(schema_of(members)), method="post")
    assert capability.invocations[0].places == (("body", "whole_body"),)


@pytest.mark.parametrize(
    ("members", "styles"),
    [
        (
            {"style": "deepObject", "explode": True, "schema": {"type": "object"}},
            {"style": "deepObject", "explode": True},
        ),
        ({"content": {"application/json": {"schema": {"type": "object"}}}}, {"content": "application/json"}),
        ({"schema": {"type": "string"}}, None),
    ],
)
def test_how_a_value_is_written_is_kept(members: dict[str, Any], styles: dict[str, Any] | None) -> None:
    capability = one({"parameters": [{"name": "at", "in": "query", **members}]})
    assert capability.native.get("openapi", {}).get("styles", {}).get("at") == styles


def test_a_value_that_azure_does_not_encode_keeps_its_reserved_characters() -> None:
    capability = one({"parameters": [{**parameter("scope", "path"), "x-ms-skip-url-encoding": True}]}, "/{scope}/tanks")
    assert capability.native["openapi"]["styles"] == {"scope": {"allowReserved": True}}


def test_a_parameter_beyond_the_budget_keeps_its_type() -> None:
    number = {"name": "bay", "in": "query", "schema": {"type": "integer", "format": "int64", "minimum": 1}}
    texts = {f"p{i}": {"name": f"p{i}", "in": "query", "description": "d" * 500} for i in range(100)}
    listed = [*({"$ref": f"#/components/parameters/{name}"} for name in texts), number]
    paths = {f"/a{i}": {"get": {**GET, "operationId": f"a{i}", "parameters": listed}} for i in range(300)}
    service, findings = assessed(paths, components={"parameters": texts})
    assert findings == [("openapi.cut", "")]
    properties = [(capability.params or {})["properties"] for capability in service.capabilities]
    assert [one["bay"] for one in properties] == [number["schema"]] * 300


def test_a_body_beyond_the_budget_keeps_what_it_needs() -> None:
    texts = {f"p{i}": {"type": "string", "description": "d" * 500} for i in range(400)}
    marked = {"id": {"type": "integer", "readOnly": True}, "bay": {"type": "integer", "minimum": 1}}
    held = schema_of({**texts, **marked}, "id", "bay")
    body = body_of({"$ref": "#/components/schemas/Tank"})
    paths = {f"/a{i}": {"post": {**GET, "operationId": f"a{i}", **body}} for i in range(300)}
    service, _ = assessed(paths, components={"schemas": {"Tank": held}})
    params = [capability.params or {} for capability in service.capabilities]
    assert all("bay" in one["required"] and one["properties"]["bay"]["type"] == "integer" for one in params)
    assert "id" not in params[-1]["properties"] and "p0" not in params[-1]["properties"]


def test_a_member_that_is_required_but_not_described_is_sent() -> None:
    described = {"bay": {"type": "integer"}, "id": {"readOnly": True}}
    capability = one(body_of(schema_of(described, "bay", "depth", "id")), method="post")
    assert (capability.params or {})["required"] == ["bay", "depth"]


def test_how_members_of_a_form_are_written_is_kept() -> None:
    form = body_of(schema_of({"bays": {"type": "array"}}), "multipart/form-data", encoding={"bays": {"explode": False}})
    capability = one(form, method="post")
    assert capability.native["openapi"]["styles"] == {"bays": {"explode": False}}


# --- bodies ---------------------------------------------------------------------------------------------------------

ID = {"type": "integer", "readOnly": True}
KEY = {"type": "string", "writeOnly": True}
TANK = schema_of({"id": ID, "key": KEY, "bay": {"type": "string"}}, "id", "key", "bay")
SENT = schema_of({"key": KEY, "bay": {"type": "string"}}, "key", "bay")
RECEIVED = schema_of({"id": ID, "bay": {"type": "string"}}, "id", "bay")
SHAPES: dict[str, tuple[Any, Any]] = {
    "in a list": ({"type": "array", "items": TANK}, {"type": "array", "items": SENT}),
    "below a member": (
        {**schema_of({"tank": TANK}), "minProperties": 1},
        {**schema_of({"tank": SENT}), "minProperties": 1},
    ),
    "in a choice": ({"oneOf": [TANK, {"type": "string"}]}, {"oneOf": [SENT, {"type": "string"}]}),
    "by reference": (
        {"type": "array", "items": {"$ref": "#/components/schemas/Tank"}},
        {"type": "array", "items": SENT},
    ),
    "in a whole of parts": (
        {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/Tank"}, {"required": ["id", "bay"]}]}},
        {"type": "array", "items": {**SENT, "required": ["key", "bay"]}},
    ),
    "and in examples": (
        {"type": "array", "items": TANK, "example": [{"id": 7, "key": "k", "bay": "north"}]},
        {"type": "array", "items": SENT, "examples": [[{"key": "k", "bay": "north"}]]},
    ),
}


@pytest.mark.parametrize(("schema", "sent"), SHAPES.values(), ids=SHAPES.keys())
def test_what_only_answers_have_is_never_sent(schema: Any, sent: Any) -> None:
    components = {"schemas": {"Tank": TANK}}
    capability = one(body_of(schema), method="put", components=components)
    assert (capability.params or {})["properties"] == {"body": sent}
    spread = one(body_of(TANK, example={"id": 7, "key": "k", "bay": "north"}), method="put", components=components)
    assert [*(spread.params or {})["properties"]] == ["key", "bay"]
    assert "id" not in (made_call(Service(), spread) or {})["example"]["body"]


def test_what_only_requests_have_is_not_in_the_result() -> None:
    content = {"application/json": {"schema": TANK, "example": {"id": 7, "key": "k", "bay": "north"}}}
    capability = one({"responses": {"200": {"description": "A tank.", "content": content}}})
    assert capability.result == {**RECEIVED, "examples": [{"id": 7, "bay": "north"}]}


def test_members_described_twice_keep_what_both_say() -> None:
    parts = [schema_of({"id": ID}), schema_of({"id": {"description": "The number."}, "bay": {"type": "string"}})]
    capability = one(body_of({"allOf": parts}), method="put")
    assert [*(capability.params or {})["properties"]] == ["bay"]


def test_media_types_and_examples_may_be_references() -> None:
    components = {
        "mediaTypes": {"Tank": {"schema": TANK, "examples": {"one": {"$ref": "#/components/examples/One"}}}},
        "examples": {"One": {"dataValue": {"key": "k", "bay": "north"}}},
    }
    body = {"requestBody": {"content": {"application/json": {"$ref": "#/components/mediaTypes/Tank"}}}}
    capability = one(body, method="put", openapi="3.2.0", components=components)
    assert (capability.params or {})["properties"]["bay"]["examples"] == ["north"]


# --- prices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("info", "plans"),
    [
        ({"price": {"mode": "fixed", "amount": "0.05", "currency": "USD"}}, [Plan(price="0.05 USD", limits="fixed")]),
        ({"price": {"min": "0.02", "max": "0.25", "currency": "USD"}}, [Plan(price="0.02 USD to 0.25 USD")]),
        ({"pricingMode": "range", "minPrice": "1", "maxPrice": "2"}, [Plan(price="1 to 2", limits="range")]),
        (
            {"offers": [{"amount": "0.5", "currency": "eur"}, {"amount": None, "description": "By weight."}]},
            [Plan(price="0.5 eur"), Plan(limits="By weight.")],
        ),
    ],
)
def test_every_offer_of_a_payment_is_a_plan(info: dict[str, Any], plans: list[Plan]) -> None:
    pricing = one({"x-payment-info": info}).pricing
    assert pricing is not None
    assert list(pricing.plans) == plans
