"""Translation, target by target: what is written, what is left out, and what is refused instead of invented.

Longer than other modules because all targets are tested with the same service.
"""

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from registry.core.format_support.manifest import MAX_CAPABILITIES
from registry.core.model.services import (
    Auth,
    AuthScheme,
    Capability,
    Confirmation,
    Identity,
    Invocation,
    Origin,
    Policies,
    Pricing,
    Protocol,
    Provider,
    RateLimit,
    Relations,
    Service,
    Workflow,
)
from registry.core.translating import TARGETS, Translation, Untranslatable, compare, translate
from tests.core.translations import HOST, NOW, REGISTRY, SITE, judge, translated

KEY = Auth((AuthScheme("api_key", "header", "X-Key"),), True)
OPEN = Auth((AuthScheme("none"),), False)
PARAMS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "description": "Where to."},
        "weight": {"type": "number", "minimum": 1},
        "speed": {"type": "string", "enum": ["slow", "fast"], "default": "slow"},
        "day": {"type": "string", "format": "date"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "box": {"type": "object", "properties": {"width": {"type": "integer"}}},
    },
    "required": ["to"],
}
SEND = Capability(
    "send_parcel",
    "Send a parcel",
    "Sends a parcel.",
    params=PARAMS,
    result={"type": "object", "properties": {"id": {"type": "string"}}},
    side_effects=True,
    confirmation=Confirmation(True, "Really send it?"),
    invocations=(Invocation("http", f"{SITE}/parcels", "POST", scopes=("write",), rate_limit=RateLimit(30, "1m")),),
)
FIND = Capability(
    "findParcel",
    "Find a parcel",
    "Finds a parcel.",
    side_effects=False,
    invocations=(Invocation("http", f"{SITE}/parcels/{{id}}", "GET", templated=True),),
)
SERVICE = Service(
    name="Pigeonpost",
    description="Books, prices and tracks parcels.",
    provider=Provider("Pigeon Ltd", f"{SITE}/", "help@pigeonpost.dev"),
    version="1.4.0",
    capabilities=(SEND, FIND),
    auth=KEY,
    pricing=Pricing("freemium"),
    policies=Policies(training="deny", caching="allow, 60 s", rate_limit=RateLimit(100, "1h")),
    relations=Relations(
        workflows=(Workflow("ship", "Ship", "Finds, then sends.", ("findParcel", "send_parcel")),),
        dependencies={"send_parcel": ("findParcel",)},
        errors={"NO_STAMP": "buy a stamp, then retry"},
    ),
)


def document(service: Service, target: str) -> dict[str, Any]:
    translation = translated(service, target)
    assert isinstance(translation, Translation), translation
    judge(translation, target)
    return translation.document


def refused(service: Service, target: str) -> str:
    translation = translated(service, target)
    assert isinstance(translation, Untranslatable), json.dumps(translation.document)
    return " | ".join(translation.reasons)


def losses(service: Service, target: str) -> dict[str, str]:
    translation = translated(service, target)
    assert isinstance(translation, Translation)
    return {loss.pointer: loss.why for loss in translation.losses}


def with_only(capability: Capability, **members: Any) -> Service:
    return replace(SERVICE, capabilities=(replace(capability, **members),))


# --- marks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["awp", "atp", "awas", "adp"])
def test_every_document_names_its_generator_and_confidence(target: str) -> None:
    manifest = document(SERVICE, target)
    marks = manifest if target == "awp" else manifest["x-synthetic"]
    assert marks["source"] == "synthetic"
    assert marks["generated_by"] == "waypost"
    assert marks["confidence"] == 0.8
    assert marks["last_verified"] == "2026-11-20T03:00:11Z"


def test_confidence_falls_with_what_is_left_out_and_with_doubtful_sources() -> None:
    tool = Capability("t", "t", invocations=(Invocation("mcp_tool", f"{SITE}/mcp", name="t"),))
    assert document(replace(SERVICE, capabilities=(SEND, tool)), "atp")["x-synthetic"]["confidence"] == 0.4
    assert document(replace(SERVICE, synthetic=True, confidence=0.5), "awp")["confidence"] == 0.4


def test_an_unknown_target_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        translate(SERVICE, "openapi", host=HOST, seen_at=NOW, score=1)


# --- awp ------------------------------------------------------------------------------------------------------------


def test_awp_actions_have_all_members_that_awp_defines() -> None:
    manifest = document(SERVICE, "awp")
    send = manifest["actions"][0]
    assert manifest["auth"] == {"type": "api_key"}
    assert send["auth_required"] is True
    assert (send["endpoint"], send["method"], send["rate_limit"]) == (f"{SITE}/parcels", "POST", "30/minute")
    assert send["inputs"]["to"] == {"type": "string", "required": True, "description": "Where to."}
    assert send["inputs"]["speed"] == {"type": "enum", "options": ["slow", "fast"], "default": "slow"}
    kinds = {name: parameter["type"] for name, parameter in send["inputs"].items()}
    assert kinds | {"to": 0, "speed": 0} == {
        "to": 0, "speed": 0, "weight": "float", "day": "ISO8601", "labels": "array[string]", "box": "object[box]"
    }  # fmt: skip
    assert manifest["entities"] == {"box": {"fields": {"width": "integer"}}}
    assert send["outputs"] == {"id": "string"}
    assert send["requires_human_confirmation"] is True
    assert manifest["dependencies"] == {"send_parcel": ["findParcel"]}
    assert manifest["errors"] == {"NO_STAMP": {"recovery": "buy a stamp, then retry"}}
    lost = losses(SERVICE, "awp")
    assert lost["/capabilities/0/confirmation"] == "AWP cannot express it exactly"  # it has no place for the message
    assert lost["/pricing/model"] == "AWP has no place for it"


def test_awp_leaves_out_unknown_members() -> None:
    action = document(replace(SERVICE, auth=Auth(), capabilities=(FIND,)), "awp")["actions"][0]
    assert action.keys() == {"id", "description", "endpoint", "method"}


def test_awp_declares_no_authentication_where_the_calls_differ() -> None:
    calls = [
        replace(SEND.invocations[0], auth=Auth((scheme,), True))
        for scheme in (AuthScheme("api_key"), AuthScheme("bearer"))
    ]
    pair = tuple(replace(SEND, id=str(n), name=str(n), invocations=(call,)) for n, call in enumerate(calls))
    manifest = document(replace(SERVICE, auth=Auth(), capabilities=pair), "awp")
    assert "auth" not in manifest
    assert [action["auth_required"] for action in manifest["actions"]] == [True, True]


def test_awp_routes_tools_through_their_protocol_and_declares_one_address() -> None:
    def tool(name: str, path: str) -> Capability:
        return Capability(name, name, "x", invocations=(Invocation("mcp_tool", SITE + path, name=name),))

    service = Service(
        capabilities=(tool("a", "/mcp"), tool("b", "/other")), protocols=(Protocol("mcp", "2025-06-18", f"{SITE}/mcp"),)
    )
    manifest = document(service, "awp")
    assert manifest["protocols"] == {"mcp": {"version": "2025-06-18", "endpoint": f"{SITE}/mcp"}}
    assert [(action["via"], action["operation"]) for action in manifest["actions"]] == [("mcp", "a")]
    assert "another mcp address" in losses(service, "awp")["/capabilities/1"]


def test_awp_lists_protocols_alone_only_without_capabilities() -> None:
    protocols = (Protocol("mcp", "1", f"{SITE}/mcp"),)
    assert document(Service(protocols=protocols), "awp")["actions"] == []
    skill = Capability("read", "read", invocations=(Invocation("instructions"),))
    assert "instructions to read" in refused(Service(protocols=protocols, capabilities=(skill,)), "awp")


def test_a_call_that_changes_data_behind_a_get_is_marked() -> None:
    action = document(with_only(FIND, side_effects=True), "awp")["actions"][0]
    assert action["sensitivity"] == "destructive"


# --- atp ------------------------------------------------------------------------------------------------------------


def test_atp_keeps_policies_workflows_and_effects() -> None:
    manifest = document(SERVICE, "atp")
    assert [capability["id"] for capability in manifest["capabilities"]] == ["send-parcel", "find-parcel"]
    assert manifest["workflows"][0]["steps"] == ["find-parcel", "send-parcel"]
    assert manifest["policies"] == {"training": "deny", "caching": {"allowed": True, "maxAge": 60}}
    assert manifest["rateLimit"] == {"requests": 100, "window": "1h"}
    assert manifest["provider"]["contact"] == "help@pigeonpost.dev"
    assert manifest["version"] == "1.4.0"
    send = manifest["capabilities"][0]
    assert send["confirmation"] == {"required": True, "message": "Really send it?"}
    assert send["sideEffects"] is True
    assert send["requiredScopes"] == ["write"]
    assert send["response"] == SEND.result
    assert losses(SERVICE, "atp").keys() >= {"/capabilities/0/id", "/relations/errors", "/relations/dependencies"}


def test_atp_drops_a_workflow_of_which_a_step_is_missing() -> None:
    service = replace(SERVICE, capabilities=(SEND,))
    assert "workflows" not in document(service, "atp")
    assert "/relations/workflows/0" in losses(service, "atp")


@pytest.mark.parametrize(
    ("scheme", "written"),
    [
        (AuthScheme("oauth2", token_url=f"{SITE}/t"), {"type": "oauth2"}),
        (
            AuthScheme("oauth2", token_url=f"{SITE}/t", note="clientCredentials"),
            {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": f"{SITE}/t", "scopes": {}}}},
        ),
        (AuthScheme("bearer", "header", "Authorization", "Bearer"), {"type": "bearer"}),
        (AuthScheme("api_key"), {"type": "apiKey"}),
        (AuthScheme("mtls"), None),
    ],
)
def test_atp_never_guesses_how_to_get_credentials(scheme: AuthScheme, written: dict[str, Any] | None) -> None:
    service = replace(SERVICE, auth=Auth((scheme,), True))
    assert document(service, "atp").get("auth") == (None if written is None else {"schemes": [written]})


def test_references_lead_nowhere_from_a_translation() -> None:
    result = {"type": "object", "properties": {"a": {"$ref": "https://evil.example/x.json"}, "b": {"type": "string"}}}
    service = with_only(SEND, result=result)
    manifest = document(service, "atp")
    assert manifest["capabilities"][0]["response"]["properties"] == {"a": {}, "b": {"type": "string"}}
    assert "/capabilities/0/result" in losses(service, "atp")


# --- awas -----------------------------------------------------------------------------------------------------------


def test_awas_writes_paths_below_its_base_and_absolute_ones_elsewhere() -> None:
    off_site = replace(FIND, invocations=(Invocation("http", "https://elsewhere.dev/x", "GET", off_site=True),))
    manifest = document(replace(SERVICE, base_url=f"{SITE}/v1", capabilities=(SEND, off_site)), "awas")
    assert manifest["baseUrl"] == f"{SITE}/v1"
    assert [action["path"] for action in manifest["actions"]] == ["/parcels", "https://elsewhere.dev/x"]


def test_awas_names_stand_in_for_descriptions_and_are_told_apart() -> None:
    parameters = document(SERVICE, "awas")["actions"][0]["parameters"]
    assert [parameter["description"] for parameter in parameters][:2] == ["Where to.", "weight"]
    lost_parts = [loss.what for loss in translated(SERVICE, "awas").losses]
    assert "descriptions of weight, speed, day, labels, box" in lost_parts


def test_awas_shows_confirmation_as_an_extension() -> None:
    action = document(SERVICE, "awas")["actions"][0]
    assert action["x-confirmation"] == {"required": True, "message": "Really send it?"}
    assert "/capabilities/0/confirmation" in losses(SERVICE, "awas")


# --- adp ------------------------------------------------------------------------------------------------------------


def test_adp_leads_to_details_of_this_registry_or_of_the_host() -> None:
    hosted = replace(FIND, detail_url=f"{SITE}/caps/find")
    manifest = document(replace(SERVICE, capabilities=(SEND, hosted)), "adp")
    first, second = manifest["capabilities"]
    assert first["detail_url"].startswith(REGISTRY)
    assert second == {"name": "find_a_parcel", "description": "Finds a parcel.", "detail_url": f"{SITE}/caps/find"}
    assert manifest["auth"]["type"] == "api_key"
    assert manifest["pricing"] == {"type": "freemium"}


def test_adp_does_not_promise_that_no_credentials_are_needed() -> None:
    assert "no document states how callers authenticate" in refused(replace(SERVICE, auth=Auth()), "adp")
    assert document(replace(SERVICE, auth=OPEN), "adp")["auth"] == {"type": "none"}


def test_adp_leaves_out_calls_that_take_other_credentials() -> None:
    call = replace(FIND.invocations[0], auth=Auth((AuthScheme("oauth2"),), True))
    service = replace(SERVICE, capabilities=(SEND, replace(FIND, invocations=(call,))))
    assert [capability["name"] for capability in document(service, "adp")["capabilities"]] == ["send_a_parcel"]
    assert "other credentials" in losses(service, "adp")["/capabilities/1"]


@pytest.mark.parametrize(
    ("name", "description", "written"),
    [
        ("Pigeonpost", "Parcels.", "Pigeonpost: Parcels."),
        ("P", "Sends.", f"P: Sends. ({HOST}: Send a parcel, Find a parcel)"),
        (None, None, f"Capabilities of {HOST}: Send a parcel, Find a parcel"),
        ("P", "word " * 60, ("word " * 40).rstrip() + "…"),
        ("P", "wordy " * 60, ("wordy " * 33).rstrip() + "…"),
    ],
)
def test_adp_descriptions_fit_their_bounds_with_nothing_made_up(
    name: str | None, description: str | None, written: str
) -> None:
    service = replace(SERVICE, name=name, description=description)
    shown = document(service, "adp")["description"]
    assert shown == written
    assert 20 <= len(shown) <= 200
    assert "/description" in losses(service, "adp")


def test_adp_without_a_registry_has_only_details_of_the_host() -> None:
    translation = translate(SERVICE, "adp", host=HOST, seen_at=NOW, score=80)
    assert isinstance(translation, Untranslatable)
    assert "a file cannot serve one" in translation.reasons[0]


# --- woa and a2a ----------------------------------------------------------------------------------------------------


def agent(name: str, operation: str | None = None) -> Capability:
    call = Invocation(
        "rpc", f"{SITE}/agents/{name}", "POST", operation or name, origin=Origin(f"{SITE}/x", "/agents/0", "woa")
    )
    capability_id = f"{name}.{operation}" if operation else name
    label = f"Agent {name}: {operation}" if operation else f"Agent {name}"
    return Capability(capability_id, label, "Works.", params=PARAMS, result=SEND.result, invocations=(call,))


AGENTS = Service(
    capabilities=(agent("sort", "up"), agent("find"), agent("sort", "down")),
    protocols=(Protocol("woa-rest", "1", f"{SITE}/agents/{{agent_id}}"),),
)


def test_woa_agents_and_operations_come_back_as_they_were() -> None:
    manifest = document(AGENTS, "woa")
    assert manifest["transports"] == {"rest": {"base": SITE, "invoke_path": "/agents/{agent_id}"}}
    sort, find = manifest["agents"]
    assert (sort["id"], sort["name"], [operation["name"] for operation in sort["operations"]]) == (
        "sort", "Agent sort", ["up", "down"]
    )  # fmt: skip
    assert "operations" not in find
    assert translated(AGENTS, "woa").losses == ()


def test_woa_is_only_for_services_that_take_its_envelope() -> None:
    assert "no document of the host names a REST transport" in refused(SERVICE, "woa")


def test_a_woa_agent_is_a_plain_call_with_the_envelope_as_its_parameters() -> None:
    capability = document(replace(AGENTS, version="2.0.0"), "atp")["capabilities"][0]
    parameters = {parameter["name"]: parameter for parameter in capability["parameters"]}
    assert list(parameters) == ["agent", "operation", "input"]
    assert (parameters["agent"]["enum"], parameters["operation"]["enum"]) == (["sort"], ["up"])
    assert parameters["input"]["description"].startswith("The input of the agent, with to (string, required), weight")


def card_of(version: str | None, auth: Auth = KEY) -> Service:
    skill = Capability("book", "Book a table", None, tags=("food",), examples=("A table for two",),
                       invocations=(Invocation("a2a_skill", f"{SITE}/a2a", "POST", "book"),))  # fmt: skip
    protocol = Protocol("a2a", version, f"{SITE}/a2a", "JSONRPC")
    return replace(SERVICE, capabilities=(skill, SEND), protocols=(protocol,), auth=auth)


def test_a2a_cards_follow_the_version_of_their_interface() -> None:
    old, new = document(card_of("0.3.0"), "a2a"), document(card_of("1.0"), "a2a")
    assert (old["protocolVersion"], old["url"], old["preferredTransport"]) == ("0.3.0", f"{SITE}/a2a", "JSONRPC")
    assert old["security"] == [{"api_key": []}]
    assert new["supportedInterfaces"] == [
        {"url": f"{SITE}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ]
    assert new["securitySchemes"] == {"api_key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}}
    assert "protocolVersion" not in document(card_of(None), "a2a")
    (skill,) = new["skills"]
    assert skill == {"id": "book", "name": "Book a table", "description": "Book a table", "tags": ["food"],
                     "examples": ["A table for two"]}  # fmt: skip
    assert losses(card_of("1.0"), "a2a")["/capabilities/1"] == "no skill that answers at the agent's address"


def test_a2a_needs_an_address_and_the_version_of_the_agent() -> None:
    assert "names an address that answers A2A" in refused(SERVICE, "a2a")
    assert "the agent's own version" in refused(replace(card_of("1.0"), version=None), "a2a")


def test_a2a_modes_that_all_skills_share_are_the_default() -> None:
    skill = replace(card_of("1.0").capabilities[0], input_modes=("text/plain",))
    skills = (skill, replace(skill, id="b", name="b", output_modes=("image/png",)))
    manifest = document(replace(card_of("1.0"), capabilities=skills), "a2a")
    assert (manifest["defaultInputModes"], manifest["defaultOutputModes"]) == (["text/plain"], [])
    assert [written_skill.get("outputModes") for written_skill in manifest["skills"]] == [None, ["image/png"]]


# --- completeness ---------------------------------------------------------------------------------------------------

OURS = {"pointers", "claims", "synthetic", "confidence", "provenance", "origin", "templated", "off_site",
        "injection_flags"}  # fmt: skip
"""Waypost's own notes about a service; `templated` is visible in the endpoint."""
APART = {"auth", "capabilities", "protocols", "relations/workflows", "params", "invocations", "identity/signed",
         "detail", "detail_url"}  # fmt: skip
"""Members with comparison rules of their own, or, for ADP, the sources of other members."""


@pytest.mark.parametrize(
    ("kind", "compared"), [(Service, compare._SERVICE), (Capability, compare._CAPABILITY), (Invocation, compare._CALL)]
)
def test_no_part_of_the_model_can_be_lost_unseen(kind: type, compared: tuple[tuple[str, str], ...]) -> None:
    parts: dict[str, type] = {"provider": Provider, "pricing": Pricing, "policies": Policies, "relations": Relations,
                              "identity": Identity}  # fmt: skip
    names = {field.name for field in fields(kind)} - {"auth"}
    paths = {f"{name}/{field.name}" for name in names & parts.keys() for field in fields(parts[name])}
    assert {path for path, _ in compared} == (names - parts.keys() | paths) - OURS - APART


# --- hostile and large ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("endpoint", ["https://localhost/x", f"{SITE}/{{{{id}}}}", f"{SITE}/a#b", "http://a.dev/x", ""])
@pytest.mark.parametrize("target", TARGETS)
def test_addresses_that_no_reader_would_call_are_never_written(target: str, endpoint: str) -> None:
    service = with_only(FIND, invocations=(Invocation("http", endpoint, "GET"),))
    translation = translated(service, target)
    if isinstance(translation, Translation):
        assert endpoint not in json.dumps(translation.document) or not endpoint
    else:
        assert translation.reasons


def test_more_capabilities_than_readers_take_are_listed_as_lost() -> None:
    many = tuple(replace(FIND, id=f"f{n}", name=f"f{n}", params=PARAMS) for n in range(MAX_CAPABILITIES + 3))
    translation = translated(replace(SERVICE, capabilities=many), "atp")
    assert isinstance(translation, Translation)
    assert len(translation.document["capabilities"]) == MAX_CAPABILITIES
    assert [loss.pointer for loss in translation.losses if "readers take" in loss.why] == [
        f"/capabilities/{MAX_CAPABILITIES + n}" for n in range(3)
    ]


def test_a_document_beyond_every_reader_is_refused() -> None:
    many = tuple(replace(FIND, id=f"f{n}", name=f"f{n}", description="x" * 3_900) for n in range(1_200))
    assert "larger than readers take" in refused(replace(SERVICE, capabilities=many), "awas")


def test_odd_parameters_by_the_thousand_are_one_loss_behind_the_first_hundred() -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": ["null", "string"]} for n in range(450)}}
    translation = translated(with_only(SEND, params=schema), "atp")
    parameter_losses = [loss for loss in translation.losses if loss.pointer.startswith("/capabilities/0/params")]
    assert len(parameter_losses) <= 102
    assert parameter_losses[100].what == "350 more parameters or types"
