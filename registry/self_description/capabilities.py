"""What the registry offers to agents: the one list behind every document about the registry.

A capability is an operation of the API, or the same operation in the envelope of the Web of Agents where formats cannot
describe its request. Results are described by the OpenAPI document, which is generated from the code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from registry.core.formats import FORMATS
from registry.core.model.listing import Filters
from registry.core.model.services import Confirmation
from registry.core.translating import TARGETS
from registry.edge.limiter import of_list

Limit = Literal["work", "submissions"]

OWN_HOST: Final = "{own host}"
"""Stands in examples for the host of this registry, which it knows if its crawler visited it."""


@dataclass(frozen=True, slots=True)
class CapabilityParameter:
    """`kind`: a JSON Schema type. `rules`: further keywords of its schema. `example` is valid in every registry."""

    name: str
    kind: str
    place: Literal["path", "query", "body", "whole_body"]
    description: str
    example: Any
    required: bool = False
    rules: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OwnCapability:
    """`path` and `method` name an operation of the OpenAPI document. `units`: the cost of a call. `enveloped`: the
    request is not a flat list of parameters, so only the Web of Agents offers it."""

    name: str
    description: str
    method: Literal["GET", "POST"]
    path: str
    parameters: Sequence[CapabilityParameter]
    semantic_type: str
    side_effects: bool = False
    confirmation: Confirmation | None = None
    reversible: bool | None = None
    limit: Limit = "work"
    units: int = 1
    enveloped: bool = False

    @property
    def id(self) -> str:
        return self.name.replace("_", "-")

    @property
    def title(self) -> str:
        """Return the name for people. It becomes `name` again in formats that require snake_case."""
        return self.name.replace("_", " ").capitalize()

    @property
    def woa_path(self) -> str:
        return f"/woa/{self.id}"

    def schema(self, own_host: str) -> dict[str, Any]:
        """Return the JSON Schema 2020-12 of the parameters as one object."""
        return {
            "type": "object",
            "properties": {
                one.name: {
                    "type": one.kind,
                    "description": one.description,
                    **one.rules,
                    "examples": [own_host if one.example == OWN_HOST else one.example],
                }
                for one in self.parameters
            },
            "required": [one.name for one in self.parameters if one.required],
            "additionalProperties": False,
        }


def _flag(name: str, description: str) -> CapabilityParameter:
    return CapabilityParameter(name, "boolean", "query", description, True)


def _count(name: str, description: str, example: int, **rules: int) -> CapabilityParameter:
    return CapabilityParameter(name, "integer", "query", description, example, rules=rules)


def _text(name: str, description: str, example: str, *, required: bool = False, **rules: Any) -> CapabilityParameter:
    return CapabilityParameter(name, "string", "query", description, example, required, {"minLength": 1, **rules})


def _host(place: Literal["path", "body"], example: str = OWN_HOST) -> CapabilityParameter:
    rules = {"pattern": r"^[^/?#\s]+$", "maxLength": 253}
    return CapabilityParameter("domain", "string", place, "The host name.", example, True, rules)


_UNVERIFIED: Final = _flag("include_unverified", "Include services that are not checked.")
_LIST_UNITS: Final = 1 + of_list(Filters(), "text", 100, 0)

CAPABILITIES: Final = (
    OwnCapability(
        "discover_services",
        "Find the services that can do what a sentence describes, best first.",
        "GET",
        "/api/discover",
        (
            _text("q", "What you need, in plain words.", "send a parcel", required=True, maxLength=2_000),
            _count("limit", "Rows, at most 50.", 10, minimum=1, maximum=50),
            _UNVERIFIED,
            _text("format", "Only hosts that serve one of these formats, comma separated.", "adp,atp"),
            _text("auth_type", "none, api_key, oauth2 or unknown, comma separated.", "none"),
            _text("pricing_type", "free, freemium, paid or unknown, comma separated.", "free"),
            _text("protocol", "Only services with one of these protocols, comma separated.", "woa-rest"),
            _text("callable", "true, false or unknown, comma separated: whether the call is known.", "true"),
            _text("include", "call: each capability has its call, ready to be sent; at most ten rows.", "call"),
            _count("min_score", "Minimum score, 0 to 100.", 60, minimum=0, maximum=100)
        ),
        "data:query",
        units=5
    ),
    OwnCapability(
        "list_services",
        "Page through all listed services, filtered and sorted.",
        "GET",
        "/api/services",
        (
            _text("search", "Text in the name or description.", "registry", maxLength=400),
            _text("category", "A category, as in the rows; all does not filter.", "all"),
            CapabilityParameter(
                "sort", "string", "query", "The order of the rows.", "newest",
                rules={"enum": ["newest", "name", "capabilities", "score", "updated"]}
            ),
            _count("limit", "Rows, at most 100.", 50, minimum=1, maximum=100),
            _count("offset", "Rows to skip.", 0, minimum=0, maximum=100_000),
            _UNVERIFIED
        ),
        "data:query",
        units=_LIST_UNITS
    ),
    OwnCapability(
        "get_service",
        "Get everything about one service: its capabilities, score with every lost point, trust, documents and health.",
        "GET",
        "/api/services/{domain}",
        (_host("path"), _flag("include_details", "Include the details of every capability.")),
        "data:query"
    ),
    OwnCapability(
        "get_capability",
        "Get how one capability of a service is called: parameters, credentials, and a call that is ready to be sent.",
        "GET",
        "/api/services/{domain}/capabilities/{name}",
        (
            _host("path"),
            CapabilityParameter(
                "name", "string", "path", "The name or id of the capability.", "discover_services", True,
                {"minLength": 1, "maxLength": 200}
            )
        ),
        "data:query"
    ),
    OwnCapability(
        "translate_service",
        "Get one service as a manifest of another format, with a list of what that format cannot express.",
        "GET",
        "/api/services/{domain}/manifest/{format}",
        (
            _host("path"),
            CapabilityParameter("format", "string", "path", "The format.", "awp", True, {"enum": list(TARGETS)})
        ),
        "data:export"
    ),
    OwnCapability(
        "verify_service",
        "Get the status of a host: listed or why not, and when it is visited next.",
        "GET",
        "/api/services/{domain}/status",
        (_host("path"),),
        "data:query"
    ),
    OwnCapability(
        "submit_service",
        "Submit a host: the registry visits it and lists what it serves.",
        "POST",
        "/api/services",
        (_host("body", "example.org"),),
        "waypost:submit",
        side_effects=True,
        confirmation=Confirmation(False),
        reversible=True,
        limit="submissions"
    ),
    OwnCapability(
        "request_opt_out",
        "Announce that a host publishes an opt-out. The registry checks it and then deletes everything stored about "
        "the host; with undo it visits the host again.",
        "POST",
        "/api/opt-outs",
        (
            _host("body"),
            CapabilityParameter("undo", "boolean", "body", "The host wants to be listed again.", False)
        ),
        "waypost:opt-out",
        side_effects=True,
        confirmation=Confirmation(True, "Have everything that the registry stores about this host deleted?"),
        reversible=True,
        limit="submissions"
    ),
    OwnCapability(
        "check_manifest",
        "Check a document of any known format without publishing it: findings with their places and fixes, and its "
        "score.",
        "POST",
        "/api/validate",
        (
            CapabilityParameter(
                "manifest", "string", "whole_body", "The document, as text.",
                '{"awp_version": "0.2", "domain": "pigeonpost.example", "intent": "Parcels by pigeon.", "actions": []}',
                True, {"maxLength": 100_000}
            ),
            _text(
                "at", "The path at which the document would be served.", "/.well-known/agent",
                pattern=r"^/[!-~]*$", maxLength=500
            ),
            CapabilityParameter(
                "format", "string", "query", "The format that is expected.", "adp",
                rules={"enum": [form.slug for form in FORMATS]}
            )
        ),
        "data:query",
        enveloped=True
    ),
)  # fmt: skip
"""In the order in which documents list them."""
