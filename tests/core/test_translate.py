"""Translation, target by target: what is written, what is left out, and what is refused instead of invented."""

import json
from dataclasses import fields, replace
from pathlib import Path
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
from tests.core.translations import HOST, NOW, SITE, judge, translated

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


def test_confidence_falls_with_what_is_left_out_and_with_doubtful_sources() -> None:
    tool = Capability("t", "t", invocations=(Invocation("mcp_tool", f"{SITE}/mcp", name="t"),))
    assert document(replace(SERVICE, capabilities=(SEND, tool)), "atp")["x-synthetic"]["confidence"] == 0.4
    assert document(replace(SERVICE, synthetic=True, confidence=0.5), "awp")["confidence"] == 0.4


def test_an_unknown_target_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        translate(SERVICE, "openapi", host=HOST, seen_at=NOW, score=1)


# --- awp ------------------------------------------------------------------------------------------------------------


def test_awp_lists_protocols_alone_only_without_capabilities() -> None:
    protocols = (Protocol("mcp", "1", f"{SITE}/mcp"),)
    assert document(Service(protocols=protocols), "awp")["actions"] == []
    skill = Capability("read", "read", invocations=(Invocation("instructions"),))
    assert "instructions to read" in refused(Service(protocols=protocols, capabilities=(skill,)), "awp")


# --- adp ------------------------------------------------------------------------------------------------------------


def test_adp_does_not_promise_that_no_credentials_are_needed() -> None:
    assert "no document states how callers authenticate" in refused(replace(SERVICE, auth=Auth()), "adp")
    assert document(replace(SERVICE, auth=OPEN), "adp")["auth"] == {"type": "none"}


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


def test_woa_is_only_for_services_that_take_its_envelope() -> None:
    assert "no document of the host names a REST transport" in refused(SERVICE, "woa")


def card_of(version: str | None, auth: Auth = KEY) -> Service:
    skill = Capability("book", "Book a table", None, tags=("food",), examples=("A table for two",),
                       invocations=(Invocation("a2a_skill", f"{SITE}/a2a", "POST", "book"),))  # fmt: skip
    protocol = Protocol("a2a", version, f"{SITE}/a2a", "JSONRPC")
    return replace(SERVICE, capabilities=(skill, SEND), protocols=(protocol,), auth=auth)


def test_a2a_needs_an_address_and_the_version_of_the_agent() -> None:
    assert "names an address that answers A2A" in refused(SERVICE, "a2a")
    assert "the agent's own version" in refused(replace(card_of("1.0"), version=None), "a2a")


# --- whole documents ------------------------------------------------------------------------------------------------


def calling(capability: Capability, *auths: Auth | None, **call: Any) -> tuple[Capability, ...]:
    """Return a capability for each of the credentials that its call demands."""
    calls = (replace(capability.invocations[0], auth=auth, **call) for auth in auths)
    return tuple(
        replace(capability, id=f"c{number}", name=f"c{number}", invocations=(one,)) for number, one in enumerate(calls)
    )


def tool(name: str, path: str) -> Capability:
    return Capability(name, name, "x", invocations=(Invocation("mcp_tool", SITE + path, name=name),))


def secured(scheme: AuthScheme) -> Service:
    return replace(SERVICE, auth=Auth((scheme,), True), capabilities=(FIND,))


def with_modes(card: Service) -> Service:
    skill = replace(card.capabilities[0], input_modes=("text/plain",))
    return replace(card, capabilities=(skill, replace(skill, id="b", name="b", output_modes=("image/png",))))


REFERENCES = {"type": "object", "properties": {"a": {"$ref": "https://evil.example/x.json"}, "b": {"type": "string"}}}
ELSEWHERE = replace(FIND, invocations=(Invocation("http", "https://elsewhere.dev/x", "GET", off_site=True),))
CASES: dict[str, tuple[str, Service]] = {
    "awp, all members that it defines": ("awp", SERVICE),
    "awp, unknown members are left out": ("awp", replace(SERVICE, auth=Auth(), capabilities=(FIND,))),
    "awp, no authentication where the calls differ": ("awp", replace(SERVICE, auth=Auth(), capabilities=calling(
        SEND, Auth((AuthScheme("api_key"),), True), Auth((AuthScheme("bearer"),), True)))),
    "awp, one address for each protocol": ("awp", Service(
        protocols=(Protocol("mcp", "2025-06-18", f"{SITE}/mcp"),),
        capabilities=(tool("a", "/mcp"), tool("b", "/other")))),
    "awp, a change behind a GET is marked": ("awp", with_only(FIND, side_effects=True)),
    "awp, accepting a key is not being idempotent": ("awp", replace(SERVICE, capabilities=(
        replace(FIND, idempotent=True), replace(SEND, idempotency_key=True)))),
    "atp, policies, workflows and effects": ("atp", SERVICE),
    "atp, no workflow without one of its steps": ("atp", replace(SERVICE, capabilities=(SEND,))),
    "atp, references lead nowhere": ("atp", with_only(SEND, result=REFERENCES)),
    "atp, oauth2 without an address for users": ("atp", secured(AuthScheme("oauth2", token_url=f"{SITE}/t"))),
    "atp, oauth2 of clients": ("atp", secured(AuthScheme("oauth2", token_url=f"{SITE}/t", note="clientCredentials"))),
    "atp, bearer": ("atp", secured(AuthScheme("bearer", "header", "Authorization", "Bearer"))),
    "atp, a key without a place": ("atp", secured(AuthScheme("api_key"))),
    "atp, no kind of its own": ("atp", secured(AuthScheme("mtls"))),
    "awas, names stand in for descriptions": ("awas", SERVICE),
    "awas, absolute paths elsewhere": ("awas", replace(
        SERVICE, base_url=f"{SITE}/v1", capabilities=(SEND, ELSEWHERE))),
    "adp, details of this registry or of the host": ("adp", replace(
        SERVICE, capabilities=(SEND, replace(FIND, detail_url=f"{SITE}/caps/find")))),
    "adp, no calls with other credentials": ("adp", replace(
        SERVICE, capabilities=(SEND, *calling(FIND, Auth((AuthScheme("oauth2"),), True))))),
    "woa, agents and operations come back": ("woa", AGENTS),
    "atp, the envelope of an agent": ("atp", replace(AGENTS, version="2.0.0")),
    "a2a 0.3": ("a2a", card_of("0.3.0")),
    "a2a 1.0": ("a2a", card_of("1.0")),
    "a2a without a version": ("a2a", card_of(None)),
    "a2a, modes that all skills share": ("a2a", with_modes(card_of("1.0"))),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_service_is_written_as_expected(case: str, request: pytest.FixtureRequest) -> None:
    """The documents and their losses are in `documents/translated.json`, written by `pytest --update-expected`."""
    target, service = CASES[case]
    file = Path(__file__).parent / "documents" / "translated.json"
    expected = json.loads(file.read_text())
    written = {"document": document(service, target), "losses": losses(service, target)}
    if request.config.getoption("--update-expected"):
        file.write_text(json.dumps({**expected, case: written}, indent=2, ensure_ascii=False) + "\n")
    assert written == expected[case]


def test_every_expected_document_has_a_case() -> None:
    assert list(json.loads((Path(__file__).parent / "documents" / "translated.json").read_text())) == list(CASES)


# --- completeness ---------------------------------------------------------------------------------------------------

OURS = {"pointers", "claims", "synthetic", "confidence", "provenance", "origin", "templated", "off_site",
        "injection_flags", "whole_server"}  # fmt: skip
"""Waypost's own notes about a service; `templated` is visible in the endpoint."""
APART = {"auth", "capabilities", "protocols", "relations/workflows", "params", "invocations", "identity/signed",
         "detail", "detail_url"}  # fmt: skip
"""Members with comparison rules of their own, or, for ADP, the sources of other members."""


@pytest.mark.parametrize(
    ("kind", "compared"), [(Service, compare._SERVICE), (Capability, compare._CAPABILITY), (Invocation, compare._CALL)]
)
def test_no_part_of_the_model_can_be_lost_unseen(kind: type, compared: tuple[str, ...]) -> None:
    parts: dict[str, type] = {"provider": Provider, "pricing": Pricing, "policies": Policies, "relations": Relations,
                              "identity": Identity}  # fmt: skip
    names = {field.name for field in fields(kind)} - {"auth"}
    paths = {f"{name}/{field.name}" for name in names & parts.keys() for field in fields(parts[name])}
    assert set(compared) == (names - parts.keys() | paths) - OURS - APART


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
