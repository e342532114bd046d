"""AWAS 1.0: its demands, heading by heading; the text numbers nothing."""

from typing import Final

from registry.core.findings import Reason
from registry.core.requirements.requirement import AUTHOR, Level, Requirement, seen, unseen

_M, _S, _R, _Q, _L = Level
_TYPE = Reason.AWAS_MEMBER_TYPE
_TOP, _ACTION = "Top-Level Properties", "Action Object Structure"
_PARAMETER, _RESULT = "Parameter Object Structure", "Result Object Structure"
_BRIDGE = "Manifest Requirements"


def _typed(section: str, prefix: str, kinds: dict[str, str]) -> tuple[Requirement, ...]:
    return tuple(
        seen(f"{prefix}-{key.replace('.', '-')}-type", section, _L, f"{key} is {kind}", _TYPE)
        for key, kind in kinds.items()
    )


def _required(section: str, prefix: str, what: str, reasons: dict[str, Reason]) -> tuple[Requirement, ...]:
    return tuple(seen(f"{prefix}-{key}", section, _Q, f"{what} has {key}", reason) for key, reason in reasons.items())


ROWS: Final = (
    seen("awas-path", "1. AI Manifest (JSON)", _L, "the manifest is served at /.well-known/ai-actions.json",
         Reason.AWAS_PATH),
    *_required(_TOP, "awas-top", "the manifest", {
        **dict.fromkeys(("version", "name", "description"), Reason.AWAS_REQUIRED), "actions": Reason.UNRECOGNISED}),
    seen("awas-top-current", _TOP, _L, "version is one of AWAS 1", Reason.AWAS_VERSION),
    seen("awas-top-base-url", _TOP, _L, "baseUrl is the root that paths start from", Reason.ENDPOINT_INVALID,
         Reason.ENDPOINT_NOT_PUBLIC),
    seen("awas-top-site", _TOP, _L, "baseUrl is on the site that serves the manifest", Reason.CLAIM_ELSEWHERE),
    *_typed(_TOP, "awas-top", {
        "baseUrl": "text", "contact": "an object", "authentication": "an object", "authentication.required":
        "true or false", "authentication.methods": "a list of texts", "rateLimit": "an object",
        "rateLimit.requests": "an integer", "rateLimit.scope": "text"}),
    seen("awas-top-email", _TOP, _L, "contact.email is a mail address", Reason.AWAS_ADDRESS),
    # --- actions
    seen("awas-action-object", _ACTION, _L, "each action is an object", Reason.AWAS_ACTION),
    *_required(_ACTION, "awas-action", "an action", {
        "id": Reason.AWAS_ACTION_REQUIRED, "name": Reason.AWAS_ACTION_TEXT, "description": Reason.AWAS_ACTION_TEXT,
        "path": Reason.AWAS_ACTION_REQUIRED, "method": Reason.AWAS_ACTION_REQUIRED}),
    seen("awas-action-methods", _ACTION, _L, "method is an HTTP method", Reason.AWAS_METHOD),
    seen("awas-action-url", _ACTION, _L, "path leads to an address that may be called", Reason.ENDPOINT_INVALID,
         Reason.ENDPOINT_NOT_PUBLIC),
    *_typed(_ACTION, "awas-action", {
        "parameters": "a list", "result": "an object", "rateLimit": "an object", "authentication": "an object"}),
    # --- parameters
    *_required(_PARAMETER, "awas-parameter", "a parameter",
               dict.fromkeys(("name", "type", "required", "description"), Reason.AWAS_PARAMETER)),
    seen("awas-parameter-types", _PARAMETER, _L, "type is a JSON Schema type", Reason.AWAS_VALUE_TYPE),
    *_typed(_PARAMETER, "awas-parameter", {
        "required": "true or false", "description": "text", "format": "text", "selector": "text",
        "validation": "an object"}),
    seen("awas-parameter-enum", _PARAMETER, _L, "enum is a list of allowed values", Reason.AWAS_ENUM),
    # --- results
    *_required(_RESULT, "awas-result", "a result", dict.fromkeys(("type", "selector"), Reason.AWAS_RESULT)),
    seen("awas-result-types", _RESULT, _L, "type is single, list, table or form", Reason.AWAS_WORD),
    *_typed(_RESULT, "awas-result", {"itemSelector": "text", "properties": "an object", "pagination": "an object"}),
    seen("awas-data-types", "Data Types", _L, "types are those of JSON Schema", Reason.AWAS_VALUE_TYPE),
    # --- validation rules
    seen("awas-rule-1", "Validation", _M, "1: required members are there at each level", Reason.AWAS_REQUIRED,
         Reason.AWAS_ACTION_REQUIRED, Reason.AWAS_ACTION_TEXT, Reason.AWAS_PARAMETER, Reason.AWAS_RESULT),
    seen("awas-rule-2", "Validation", _M, "2: ids of actions are unique", Reason.DUPLICATE_ID),
    seen("awas-rule-3", "Validation", _S, "3: selectors are CSS", Reason.AWAS_SELECTOR),
    seen("awas-rule-4", "Validation", _M, "4: absolute URLs are well formed", Reason.ENDPOINT_INVALID,
         Reason.AWAS_ADDRESS),
    seen("awas-rule-5", "Validation", _M, "5: windows of rate limits end with s, m, h or d", Reason.AWAS_WINDOW),
    seen("awas-rule-6", "Validation", _M, "6: enums have at least one value", Reason.AWAS_ENUM),
    seen("awas-rule-7", "Validation", _M, "7: types are valid JSON Schema types", Reason.AWAS_VALUE_TYPE),
    # --- how it is served
    seen("awas-serve-type", "Content Negotiation", _S, "it is answered as application/json", Reason.CONTENT_TYPE,
         Reason.HTML_TYPE),
    seen("awas-serve-utf8", "Content Negotiation", _S, "the encoding is UTF-8", Reason.NOT_UTF8),
    seen("awas-serve-cors", "Content Negotiation", _S, "every origin may read the answer", Reason.AWAS_CORS),
    seen("awas-serve-cache", "Content Negotiation", _S, "it may be kept for an hour", Reason.AWAS_CACHING),
    seen("awas-version-form", "Versioning", _L, "version is a semantic version", Reason.AWAS_VERSION),
    unseen("awas-version-many", "Versioning", _S, "clients read several versions",
           "Binds us: 1.0, the repository's 1.1 and five dialects are read (registry/core/formats/awas/dialects.py)."),
    # --- best practices
    seen("awas-best-1", "Best Practices", _L, "1: the manifest stays below 100 KB", Reason.AWAS_SIZE),
    unseen("awas-best-2", "Best Practices", _R, "2: names are clear",
           "A matter of taste; and points must not be won by what a text says."),
    seen("awas-best-3", "Best Practices", _R, "3: parameters have examples", Reason.AWAS_EXAMPLE),
    unseen("awas-best-4", "Best Practices", _R, "4: validation rules are written down", AUTHOR),
    unseen("awas-best-5", "Best Practices", _R, "5: selectors are stable", AUTHOR),
    unseen("awas-best-6", "Best Practices", _R, "6: breaking changes raise the version", AUTHOR),
    seen("awas-best-7", "Best Practices", _R, "7: the manifest may be kept for an hour", Reason.AWAS_CACHING),
    seen("awas-best-8", "Best Practices", _R, "8: ids are in kebab-case", Reason.AWAS_KEBAB),
    seen("awas-extension", "Extensions", _L, "custom members begin with x-", Reason.AWAS_EXTENSION),
    unseen("awas-extension-conflict", "Extensions", _S, "extensions do not conflict with standard members",
           "With the prefix they cannot; without it the prefix is what is missing."),
    unseen("awas-extension-ignore", "Extensions", _S, "clients ignore what they do not know",
           "Binds us: unknown members are kept with the document and lower no score."),
    # --- bridges
    unseen("awas-bridge-ask", "Discovery Endpoints", _M, "clients ask for both bridge manifests",
           "Binds us: both paths are on the list of every visit (registry/core/probes.py)."),
    seen("awas-bridge-json", "Discovery Endpoints", _S, "they are answered with 200 and JSON of their schema",
         Reason.NOT_JSON, Reason.AWAS_BRIDGE),
    seen("awas-bridge-catalogue", _BRIDGE, _M, "both refer to the catalogue of actions", Reason.UNRECOGNISED,
         Reason.AWAS_BRIDGE_LINK),
    seen("awas-bridge-mcp", _BRIDGE, _M, "that of MCP has capabilities and endpoints", Reason.AWAS_BRIDGE),
    seen("awas-bridge-mcp-links", _BRIDGE, _M, "its endpoints link actions and schema", Reason.AWAS_BRIDGE_SCHEMA),
    seen("awas-bridge-a2a", _BRIDGE, _M, "that of A2A has capabilities, endpoints and interoperability",
         Reason.AWAS_BRIDGE),
    seen("awas-bridge-shape", _BRIDGE, _L, "these sections are objects, capabilities perhaps a list", _TYPE),
    seen("awas-bridge-schema", _BRIDGE, _S, "the schema of the actions is exposed", Reason.AWAS_BRIDGE_SCHEMA),
    unseen("awas-client-cache", "Client Behavior", _S, "clients cache by the headers of HTTP",
           "Binds us: revisits wait for max-age and ask conditionally (registry/core/revisit.py)."),
    unseen("awas-client-validate", "Client Behavior", _M, "clients validate schemas before they execute actions",
           "Binds us in that no action is ever executed, and no schema that a document names is fetched."),
    unseen("awas-interop-ignore", "Interoperability and Forward Compatibility", _M, "clients ignore unknown members",
           "Binds us: they are kept with the document and lower no score."),
    unseen("awas-interop-minor", "Interoperability and Forward Compatibility", _S, "minor versions stay compatible",
           "A matter of future versions of the protocol."),
)  # fmt: skip
