"""Translation, target by target: what is written, what is left out, and what is refused instead of invented.

Longer than other modules because all targets are held against the same service.
"""

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from registry.core.manifest import MAX_CAPABILITIES
from registry.core.services import (
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
from registry.core.translate import TARGETS, Translation, Untranslatable, compare, translate
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
    made = translated(service, target)
    assert isinstance(made, Translation), made
    judge(made, target)
    return made.document


def refused(service: Service, target: str) -> str:
    made = translated(service, target)
    assert isinstance(made, Untranslatable), json.dumps(made.document)
    return " | ".join(made.reasons)


def losses(service: Service, target: str) -> dict[str, str]:
    made = translated(service, target)
    assert isinstance(made, Translation)
    return {one.pointer: one.why for one in made.losses}


def only(capability: Capability, **members: Any) -> Service:
    return replace(SERVICE, capabilities=(replace(capability, **members),))


# --- marks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["awp", "atp", "awas", "adp"])
def test_every_document_says_who_made_it_and_how_sure_that_is(target: str) -> None:
    made = document(SERVICE, target)
    marks = made if target == "awp" else made["x-synthetic"]
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


def test_awp_actions_say_all_that_awp_has_words_for() -> None:
    made = document(SERVICE, "awp")
    send = made["actions"][0]
    assert made["auth"] == {"type": "api_key"}
    assert send["auth_required"] is True
    assert (send["endpoint"], send["method"], send["rate_limit"]) == (f"{SITE}/parcels", "POST", "30/minute")
    assert send["inputs"]["to"] == {"type": "string", "required": True, "description": "Where to."}
    assert send["inputs"]["speed"] == {"type": "enum", "options": ["slow", "fast"], "default": "slow"}
    kinds = {name: one["type"] for name, one in send["inputs"].items()}
    assert kinds | {"to": 0, "speed": 0} == {
        "to": 0, "speed": 0, "weight": "float", "day": "ISO8601", "labels": "array[string]", "box": "object[box]"
    }  # fmt: skip
    assert made["entities"] == {"box": {"fields": {"width": "integer"}}}
    assert send["outputs"] == {"id": "string"}
    assert send["requires_human_confirmation"] is True
    assert made["dependencies"] == {"send_parcel": ["findParcel"]}
    assert made["errors"] == {"NO_STAMP": {"recovery": "buy a stamp, then retry"}}
    lost = losses(SERVICE, "awp")
    assert lost["/capabilities/0/confirmation"] == "AWP cannot say it exactly"  # it has no place for the message
    assert lost["/pricing/model"] == "AWP has no place for it"


def test_awp_leaves_out_what_nobody_says() -> None:
    action = document(replace(SERVICE, auth=Auth(), capabilities=(FIND,)), "awp")["actions"][0]
    assert action.keys() == {"id", "description", "endpoint", "method"}


def test_awp_declares_no_authentication_where_the_calls_differ() -> None:
    calls = [
        replace(SEND.invocations[0], auth=Auth((scheme,), True))
        for scheme in (AuthScheme("api_key"), AuthScheme("bearer"))
    ]
    pair = tuple(replace(SEND, id=str(n), name=str(n), invocations=(call,)) for n, call in enumerate(calls))
    made = document(replace(SERVICE, auth=Auth(), capabilities=pair), "awp")
    assert "auth" not in made
    assert [one["auth_required"] for one in made["actions"]] == [True, True]


def test_awp_routes_tools_through_their_protocol_and_declares_one_address() -> None:
    def tool(name: str, path: str) -> Capability:
        return Capability(name, name, "x", invocations=(Invocation("mcp_tool", SITE + path, name=name),))

    service = Service(
        capabilities=(tool("a", "/mcp"), tool("b", "/other")), protocols=(Protocol("mcp", "2025-06-18", f"{SITE}/mcp"),)
    )
    made = document(service, "awp")
    assert made["protocols"] == {"mcp": {"version": "2025-06-18", "endpoint": f"{SITE}/mcp"}}
    assert [(one["via"], one["operation"]) for one in made["actions"]] == [("mcp", "a")]
    assert "another mcp address" in losses(service, "awp")["/capabilities/1"]


def test_awp_tells_protocols_alone_but_never_hides_capabilities_behind_them() -> None:
    protocols = (Protocol("mcp", "1", f"{SITE}/mcp"),)
    assert document(Service(protocols=protocols), "awp")["actions"] == []
    skill = Capability("read", "read", invocations=(Invocation("instructions"),))
    assert "instructions to read" in refused(Service(protocols=protocols, capabilities=(skill,)), "awp")


def test_a_call_that_changes_data_behind_a_get_is_marked() -> None:
    action = document(only(FIND, side_effects=True), "awp")["actions"][0]
    assert action["sensitivity"] == "destructive"


# --- atp ------------------------------------------------------------------------------------------------------------


def test_atp_keeps_policies_workflows_and_effects() -> None:
    made = document(SERVICE, "atp")
    assert [one["id"] for one in made["capabilities"]] == ["send-parcel", "find-parcel"]
    assert made["workflows"][0]["steps"] == ["find-parcel", "send-parcel"]
    assert made["policies"] == {"training": "deny", "caching": {"allowed": True, "maxAge": 60}}
    assert made["rateLimit"] == {"requests": 100, "window": "1h"}
    assert made["provider"]["contact"] == "help@pigeonpost.dev"
    assert made["version"] == "1.4.0"
    send = made["capabilities"][0]
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
def test_atp_never_guesses_how_credentials_are_had(scheme: AuthScheme, written: dict[str, Any] | None) -> None:
    service = replace(SERVICE, auth=Auth((scheme,), True))
    assert document(service, "atp").get("auth") == (None if written is None else {"schemes": [written]})


def test_references_lead_nowhere_from_a_translation() -> None:
    result = {"type": "object", "properties": {"a": {"$ref": "https://evil.example/x.json"}, "b": {"type": "string"}}}
    service = only(SEND, result=result)
    made = document(service, "atp")
    assert made["capabilities"][0]["response"]["properties"] == {"a": {}, "b": {"type": "string"}}
    assert "/capabilities/0/result" in losses(service, "atp")


# --- awas -----------------------------------------------------------------------------------------------------------


def test_awas_writes_paths_below_its_base_and_absolute_ones_elsewhere() -> None:
    there = replace(FIND, invocations=(Invocation("http", "https://elsewhere.dev/x", "GET", off_site=True),))
    made = document(replace(SERVICE, base_url=f"{SITE}/v1", capabilities=(SEND, there)), "awas")
    assert made["baseUrl"] == f"{SITE}/v1"
    assert [one["path"] for one in made["actions"]] == ["/parcels", "https://elsewhere.dev/x"]


def test_awas_names_stand_in_for_descriptions_and_are_told_apart() -> None:
    parameters = document(SERVICE, "awas")["actions"][0]["parameters"]
    assert [one["description"] for one in parameters][:2] == ["Where to.", "weight"]
    whats = [one.what for one in translated(SERVICE, "awas").losses]
    assert "descriptions of weight, speed, day, labels, box" in whats


def test_awas_shows_confirmation_as_an_extension() -> None:
    action = document(SERVICE, "awas")["actions"][0]
    assert action["x-confirmation"] == {"required": True, "message": "Really send it?"}
    assert "/capabilities/0/confirmation" in losses(SERVICE, "awas")


# --- adp ------------------------------------------------------------------------------------------------------------


def test_adp_leads_to_details_of_this_registry_or_of_the_host() -> None:
    own = replace(FIND, detail_url=f"{SITE}/caps/find")
    made = document(replace(SERVICE, capabilities=(SEND, own)), "adp")
    first, second = made["capabilities"]
    assert first["detail_url"].startswith(REGISTRY)
    assert second == {"name": "find_a_parcel", "description": "Finds a parcel.", "detail_url": f"{SITE}/caps/find"}
    assert made["auth"]["type"] == "api_key"
    assert made["pricing"] == {"type": "freemium"}


def test_adp_does_not_promise_that_no_credentials_are_needed() -> None:
    assert "nobody says how callers authenticate" in refused(replace(SERVICE, auth=Auth()), "adp")
    assert document(replace(SERVICE, auth=OPEN), "adp")["auth"] == {"type": "none"}


def test_adp_leaves_out_calls_that_take_other_credentials() -> None:
    call = replace(FIND.invocations[0], auth=Auth((AuthScheme("oauth2"),), True))
    service = replace(SERVICE, capabilities=(SEND, replace(FIND, invocations=(call,))))
    assert [one["name"] for one in document(service, "adp")["capabilities"]] == ["send_a_parcel"]
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
    found = document(service, "adp")["description"]
    assert found == written
    assert 20 <= len(found) <= 200
    assert "/description" in losses(service, "adp")


def test_adp_without_a_registry_has_only_details_of_the_host() -> None:
    made = translate(SERVICE, "adp", host=HOST, seen_at=NOW, score=80)
    assert isinstance(made, Untranslatable)
    assert "no registry serves one" in made.reasons[0]


# --- woa and a2a ----------------------------------------------------------------------------------------------------


def agent(name: str, operation: str | None = None) -> Capability:
    call = Invocation(
        "rpc", f"{SITE}/agents/{name}", "POST", operation or name, origin=Origin(f"{SITE}/x", "/agents/0", "woa")
    )
    full = f"{name}.{operation}" if operation else name
    label = f"Agent {name}: {operation}" if operation else f"Agent {name}"
    return Capability(full, label, "Works.", params=PARAMS, result=SEND.result, side_effects=True, invocations=(call,))


AGENTS = Service(
    capabilities=(agent("sort", "up"), agent("find"), agent("sort", "down")),
    protocols=(Protocol("woa-rest", "1", f"{SITE}/agents/{{agent_id}}"),),
)


def test_woa_agents_and_operations_come_back_as_they_were() -> None:
    made = document(AGENTS, "woa")
    assert made["transports"] == {"rest": {"base": SITE, "invoke_path": "/agents/{agent_id}"}}
    sort, find = made["agents"]
    assert (sort["id"], sort["name"], [one["name"] for one in sort["operations"]]) == (
        "sort", "Agent sort", ["up", "down"]
    )  # fmt: skip
    assert "operations" not in find
    assert translated(AGENTS, "woa").losses == ()


def test_woa_is_only_for_what_takes_its_envelope() -> None:
    assert "no document of the host names a REST transport" in refused(SERVICE, "woa")


def test_a_woa_agent_is_a_plain_call_with_the_envelope_as_its_parameters() -> None:
    capability = document(AGENTS, "atp")["capabilities"][0]
    named = {one["name"]: one for one in capability["parameters"]}
    assert list(named) == ["agent", "operation", "input"]
    assert (named["agent"]["enum"], named["operation"]["enum"]) == (["sort"], ["up"])
    assert named["input"]["description"].startswith("The input of the agent, with to (string, required), weight")


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
    both = (skill, replace(skill, id="b", name="b", output_modes=("image/png",)))
    made = document(replace(card_of("1.0"), capabilities=both), "a2a")
    assert (made["defaultInputModes"], made["defaultOutputModes"]) == (["text/plain"], [])
    assert [one.get("outputModes") for one in made["skills"]] == [None, ["image/png"]]


# --- completeness ---------------------------------------------------------------------------------------------------

OURS = {"pointers", "claims", "synthetic", "confidence", "provenance", "origin", "templated", "off_site"}
"""What waypost notes about a service; `templated` shows in the endpoint."""
APART = {"auth", "capabilities", "protocols", "relations/workflows", "params", "invocations", "identity/signed",
         "detail", "detail_url"}  # fmt: skip
"""Compared by rules of their own, or, of ADP, what the other members were read from."""


@pytest.mark.parametrize(
    ("kind", "compared"), [(Service, compare._SERVICE), (Capability, compare._CAPABILITY), (Invocation, compare._CALL)]
)
def test_no_part_of_the_model_can_be_lost_unseen(kind: type, compared: tuple[tuple[str, str], ...]) -> None:
    parts: dict[str, type] = {"provider": Provider, "pricing": Pricing, "policies": Policies, "relations": Relations,
                              "identity": Identity}  # fmt: skip
    names = {one.name for one in fields(kind)} - {"auth"}
    paths = {f"{name}/{one.name}" for name in names & parts.keys() for one in fields(parts[name])}
    assert {path for path, _ in compared} == (names - parts.keys() | paths) - OURS - APART


# --- hostile and large ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("endpoint", ["https://localhost/x", f"{SITE}/{{{{id}}}}", f"{SITE}/a#b", "http://a.dev/x", ""])
@pytest.mark.parametrize("target", TARGETS)
def test_addresses_that_no_reader_would_call_are_never_written(target: str, endpoint: str) -> None:
    service = only(FIND, invocations=(Invocation("http", endpoint, "GET"),))
    made = translated(service, target)
    if isinstance(made, Translation):
        assert endpoint not in json.dumps(made.document) or not endpoint
    else:
        assert made.reasons


def test_more_capabilities_than_readers_take_are_listed_as_lost() -> None:
    many = tuple(replace(FIND, id=f"f{n}", name=f"f{n}", params=PARAMS) for n in range(MAX_CAPABILITIES + 3))
    made = translated(replace(SERVICE, capabilities=many), "atp")
    assert isinstance(made, Translation)
    assert len(made.document["capabilities"]) == MAX_CAPABILITIES
    assert [one.pointer for one in made.losses if "readers take" in one.why] == [
        f"/capabilities/{MAX_CAPABILITIES + n}" for n in range(3)
    ]


def test_a_document_beyond_every_reader_is_refused() -> None:
    long = tuple(replace(FIND, id=f"f{n}", name=f"f{n}", description="x" * 3_900) for n in range(1_200))
    assert "larger than readers take" in refused(replace(SERVICE, capabilities=long), "awas")


def test_odd_parameters_by_the_thousand_are_one_loss_behind_the_first_hundred() -> None:
    odd = {"type": "object", "properties": {f"p{n}": {"type": ["null", "string"]} for n in range(450)}}
    made = translated(only(SEND, params=odd), "atp")
    about = [one for one in made.losses if one.pointer.startswith("/capabilities/0/params")]
    assert len(about) <= 102
    assert about[100].what == "350 more parameters or types"
