"""Agent Web Protocol 0.2: its demands, section by section."""

from typing import Final

from registry.core.findings import Reason
from registry.core.requirements.requirement import CALLER, Level, Requirement, seen, unseen

_M, _S, _R, _Q, _L = Level
_TYPE = Reason.AWP_MEMBER_TYPE


def _typed(section: str, prefix: str, kinds: dict[str, str]) -> tuple[Requirement, ...]:
    return tuple(
        seen(f"{prefix}-{key.replace('_', '-')}-type", section, _L, f"{key} is {kind}", _TYPE)
        for key, kind in kinds.items()
    )


ROWS: Final = (
    seen("awp-3-path", "3", _M, "the file is served at /agent.json", Reason.AWP_PATH),
    unseen("awp-3-first", "3", _S, "agents ask a new domain for /agent.json first",
           "Binds us: /agent.json is on the list of every visit (registry/core/probes.py); requests come one by one."),
    seen("awp-3-type", "3", _M, "it is answered as application/json", Reason.CONTENT_TYPE, Reason.HTML_TYPE),
    seen("awp-4-form", "4", _L, "awp_version is MAJOR.MINOR", Reason.AWP_VERSION_FORM),
    seen("awp-4-current", "4", _L, "it is a version that was published", Reason.AWP_VERSION_UNKNOWN),
    unseen("awp-4-degrade", "4", _S, "an unknown major version is read as well as it can be",
           "Binds us: it is read as 0.2, with a warning (registry/core/formats/awp)."),
    # --- top level
    seen("awp-5-awp-version", "5", _Q, "awp_version is there, as text", Reason.AWP_VERSION, Reason.UNRECOGNISED),
    seen("awp-5-domain", "5", _Q, "domain is there, as text", Reason.AWP_DOMAIN),
    seen("awp-5-intent", "5", _Q, "intent is there, as text", Reason.AWP_INTENT),
    seen("awp-5-actions", "5", _Q, "actions is there, as a list", Reason.AWP_ACTIONS),
    seen("awp-5-canonical", "5", _L, "domain is the site that the file speaks for", Reason.CLAIM_ELSEWHERE),
    *_typed("5", "awp-5", dict.fromkeys(
        ("protocols", "capabilities", "auth", "entities", "errors", "dependencies", "agent_hints", "agent_status"),
        "an object")),
    # --- protocols
    seen("awp-5.5-id", "5.5, Field structure", _L, "identifiers are lower case, with hyphens", Reason.AWP_PROTOCOL_ID),
    seen("awp-5.5-object", "5.5, Field structure", _L, "each protocol is an object", _TYPE),
    seen("awp-5.5-version", "5.5, Field structure", _Q, "a protocol names its version", Reason.AWP_PROTOCOL_VERSION),
    seen("awp-5.5-endpoint", "5.5, Field structure", _Q, "a transport or tool protocol names its endpoint",
         Reason.AWP_PROTOCOL_ENDPOINT),
    seen("awp-5.5-url", "5.5, Field structure", _L, "endpoint is a URL that may be called",
         Reason.ENDPOINT_INVALID, Reason.ENDPOINT_NOT_PUBLIC),
    unseen("awp-5.5-unknown", "5.5, Field structure", _M, "unknown members of a protocol are ignored",
           "Binds us: readers take what they know and leave the rest (registry/core/formats/awp)."),
    unseen("awp-5.5-registered", "5.5, Registered protocol identifiers", _S, "known standards go by their identifier",
           "A name that is not on the list may be a custom protocol, which the same sentence allows."),
    seen("awp-5.5-via", "5.5, Linking actions to protocols", _M, "via names a protocol that is declared",
         Reason.AWP_VIA_UNKNOWN),
    unseen("awp-5.5-http", "5.5, Linking actions to protocols", _S, "without via an action is a plain HTTP call",
           "Binds us: such actions become HTTP invocations (registry/core/formats/awp/actions.py)."),
    # --- flags, auth, entities
    *_typed("6", "awp-6", dict.fromkeys(("streaming", "batch_actions", "webhooks", "idempotency"), "true or false")),
    seen("awp-6-pagination", "6", _L, "pagination is cursor, offset, page or none", Reason.AWP_WORD, _TYPE),
    *_typed("7", "awp-7", {"required_for": "a list of ids", "optional_for": "a list of ids", "token_expiry": "text",
                           "refresh_endpoint": "text"}),
    seen("awp-7-type", "7", _L, "type is oauth2, api_key, bearer or none", Reason.AWP_WORD, _TYPE),
    seen("awp-7-ids", "7", _L, "required_for and optional_for hold ids of actions", Reason.AWP_ACTION_UNKNOWN),
    seen("awp-8-fields", "8", _L, "an entity is an object with typed fields", _TYPE),
    seen("awp-8-reference", "8", _L, "object[x] and array[x] name an entity that is declared",
         Reason.AWP_ENTITY_UNKNOWN),
    seen("awp-8-types", "8, Supported primitive types", _L, "other types are the primitive ones",
         Reason.AWP_TYPE_UNKNOWN),
    seen("awp-8-enum", "8, Supported primitive types", _L, "enum[] lists its values", Reason.AWP_OPTIONS),
    # --- actions
    seen("awp-9-object", "9", _L, "each action is an object", Reason.AWP_ACTION),
    seen("awp-9-id", "9, Action fields", _Q, "an action has an id", Reason.AWP_ACTION_ID),
    seen("awp-9-unique", "9, Action fields", _L, "ids are unique", Reason.DUPLICATE_ID),
    seen("awp-9-description", "9, Action fields", _Q, "an action has a description", Reason.AWP_ACTION_DESCRIPTION),
    seen("awp-9-auth-required", "9, Action fields", _Q, "an action says whether it needs authentication",
         Reason.AWP_ACTION_AUTH),
    seen("awp-9-inputs", "9, Action fields", _Q, "an action declares its inputs", Reason.AWP_ACTION_INPUTS),
    seen("awp-9-outputs", "9, Action fields", _Q, "an action declares its outputs", Reason.AWP_ACTION_OUTPUTS),
    seen("awp-9-endpoint", "9, Action fields", _Q, "it has an endpoint, unless via gives one",
         Reason.AWP_ACTION_CALL, Reason.AWP_VIA_WITHOUT_ENDPOINT),
    seen("awp-9-endpoint-url", "9, Action fields", _L, "endpoint is a path or URL that may be called",
         Reason.ENDPOINT_INVALID, Reason.ENDPOINT_NOT_PUBLIC),
    seen("awp-9-method", "9, Action fields", _Q, "it has a method, unless via is set", Reason.AWP_ACTION_CALL),
    seen("awp-9-methods", "9, Action fields", _L, "method is GET, POST, PUT, DELETE or PATCH", Reason.AWP_METHOD),
    *_typed("9, Action fields", "awp-9", {
        "description": "text", "auth_required": "true or false", "inputs": "an object", "outputs": "an object",
        "operation": "text", "rate_limit": "text", "idempotency": "an object", "poll_endpoint": "text",
        "requires_human_confirmation": "true or false", "reversible": "true or false"}),
    seen("awp-9-execution-model", "9, Action fields", _L, "execution_model is sync or async", Reason.AWP_WORD, _TYPE),
    unseen("awp-9-prompt", "9, Action fields", _S, "agents ask the user where confirmation is required",
           f"{CALLER} The demand is passed on with every answer about the capability."),
    seen("awp-9-input-type", "9, Input parameter fields", _Q, "an input has a type", Reason.AWP_INPUT_TYPE),
    seen("awp-9-input-object", "9, Input parameter fields", _L, "an input is an object, or the name of its type",
         _TYPE),
    *_typed("9, Input parameter fields", "awp-9-input", {
        "required": "true or false", "options": "a list", "description": "text"}),
    seen("awp-9-options", "9, Input parameter fields", _L, "an enum has options", Reason.AWP_OPTIONS),
    seen("awp-9-sensitivity", "9, Sensitivity levels", _S, "actions with consequences declare their sensitivity",
         Reason.AWP_SENSITIVITY),
    seen("awp-9-sensitivities", "9, Sensitivity levels", _L, "it is standard, destructive or irreversible",
         Reason.AWP_WORD, _TYPE),
    unseen("awp-9-destructive", "9, Sensitivity levels", _S, "agents confirm destructive actions", CALLER),
    unseen("awp-9-irreversible", "9, Sensitivity levels", _M, "agents confirm irreversible actions with the user",
           f"{CALLER} Such capabilities are marked as needing confirmation in every answer."),
    # --- errors, dependencies, hints, status
    seen("awp-10-actionable", "10", _M, "every error has a recovery that a machine can act on", Reason.AWP_RECOVERY),
    unseen("awp-10-reference", "10", _S, "a recovery names endpoints or actions where there are any to name",
           "Whether one applies is the meaning of a sentence; waiting and retrying need none."),
    seen("awp-11-lists", "11", _L, "prerequisites are lists of ids", _TYPE),
    seen("awp-11-cycle", "11", _L, "prerequisites can be met: nothing waits for itself", Reason.AWP_DEPENDENCY_CYCLE),
    unseen("awp-11-order", "11", _M, "agents do what is required before what requires it",
           f"{CALLER} Dependencies are part of every answer about the service."),
    unseen("awp-12-planning", "12", _S, "agents plan with the hints", f"{CALLER} Hints are passed on as texts."),
    unseen("awp-12-hints", "12", _M, "hints are never taken for hard constraints",
           "Binds us: a hint changes no rank, no score and no call."),
    *_typed("13", "awp-13", {"operational": "true or false", "degraded_actions": "a list of ids",
                             "status_endpoint": "text"}),
    seen("awp-13-ids", "13", _L, "degraded_actions holds ids of actions", Reason.AWP_ACTION_UNKNOWN),
    # --- synthetic files, conformance
    seen("awp-14-origin", "14", _M, "a generated file says so in source", Reason.AWP_SYNTHETIC_ORIGIN),
    seen("awp-14-generated-by", "14", _M, "it names its generator", Reason.AWP_SYNTHETIC_ORIGIN),
    seen("awp-14-confidence", "14", _M, "it gives a confidence between 0 and 1", Reason.AWP_SYNTHETIC_ORIGIN),
    seen("awp-14-last-verified", "14", _M, "it gives the date of its last verification", Reason.AWP_SYNTHETIC_ORIGIN),
    unseen("awp-14-confidence-in", "14", _S, "generated files are trusted less",
           "Binds us: they lose points and are never listed as verified (registry/core/views.py)."),
    unseen("awp-14-native", "14", _S, "native files are preferred",
           "Binds us: a native document of the host always wins (registry/core/merging)."),
    seen("awp-15-json", "15", _M, "the file is valid JSON", Reason.NOT_JSON, Reason.TRUNCATED, Reason.COMMENT,
         Reason.TRAILING_COMMA),
    seen("awp-15-members", "15", _M, "it has awp_version, domain, intent and actions", Reason.UNRECOGNISED,
         Reason.AWP_DOMAIN, Reason.AWP_INTENT, Reason.AWP_ACTIONS),
    seen("awp-15-path", "15", _M, "it is published at /agent.json", Reason.AWP_PATH),
    seen("awp-15-type", "15", _M, "it is answered as application/json", Reason.CONTENT_TYPE),
    seen("awp-15-errors", "15", _S, "recovery is declared for the failures to be expected", Reason.AWP_NO_ERRORS),
    seen("awp-15-description", "15", _S, "every action has a description", Reason.AWP_ACTION_DESCRIPTION),
    seen("awp-15-sensitivity", "15", _S, "destructive actions declare their sensitivity", Reason.AWP_SENSITIVITY),
    unseen("awp-15-unknown", "15", _M, "unknown members are ignored",
           "Binds us: they are kept with the document and never a finding."),
)  # fmt: skip
