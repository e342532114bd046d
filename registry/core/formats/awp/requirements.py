"""The requirements of Agent Web Protocol 0.2, section by section."""

from typing import Final

from registry.core.format_support.requirements import (
    CALLER,
    LIMIT,
    MUST,
    REQUIRED,
    SHOULD,
    callers,
    not_graded,
    ours,
    requirements_of,
    type_rows,
)
from registry.core.formats.awp import rules
from registry.core.formats.awp.read import ACTION, AUTH, CAPABILITIES, INPUT, STATUS, TOP

# fmt: off
REQUIREMENTS: Final = requirements_of("awp", {
    "3": [
        ("path", MUST, "the file is served at /agent.json", rules.PATH),
        ("first", SHOULD, "agents ask a new domain for /agent.json first",
         ours("/agent.json is on the list of every visit (registry/core/visiting/probes.py); requests come one by "
              "one.")),
        ("type", MUST, "it is answered as application/json", "document.content_type", "document.html_type"),
    ],
    "4": [
        ("form", LIMIT, "awp_version is MAJOR.MINOR", rules.VERSION_FORM),
        ("current", LIMIT, "it is a version that was published", rules.VERSION_UNKNOWN),
        ("degrade", SHOULD, "an unknown major version is read as well as it can be",
         ours("It is read as 0.2, with a warning (registry/core/formats/awp).")),
    ],
    "5": [
        ("awp-version", REQUIRED, "awp_version is there, as text", rules.VERSION, "document.unrecognised"),
        ("domain", REQUIRED, "domain is there, as text", rules.DOMAIN, "document.required_type"),
        ("intent", REQUIRED, "intent is there, as text", rules.INTENT, "service.undescribed"),
        ("actions", REQUIRED, "actions is there, as a list", rules.ACTIONS, "document.required_type"),
        ("canonical", LIMIT, "domain is the site that the file speaks for", "manifest.claim_elsewhere"),
        *type_rows(TOP, rules.MEMBER_TYPE),
    ],
    "5.5, Field structure": [
        ("id", LIMIT, "identifiers are lower case, with hyphens", rules.PROTOCOL_ID),
        ("object", LIMIT, "each protocol is an object", rules.MEMBER_TYPE),
        ("version", REQUIRED, "a protocol names its version", rules.PROTOCOL_VERSION, rules.PAYMENT_VERSION),
        ("endpoint", REQUIRED, "a transport or tool protocol names its endpoint", rules.PROTOCOL_ENDPOINT),
        ("url", LIMIT, "endpoint is a URL that may be called", "endpoint.not_public", "endpoint.invalid"),
        ("unknown", MUST, "unknown members of a protocol are ignored",
         ours("Readers ignore unknown members (registry/core/formats/awp).")),
    ],
    "5.5, Registered protocol identifiers": [
        ("registered", SHOULD, "known standards use their registered identifier",
         not_graded("A name that is not on the list may be a custom protocol, which the same sentence allows.")),
    ],
    "5.5, Linking actions to protocols": [
        ("via", MUST, "via names a protocol that is declared", rules.VIA_UNKNOWN),
        ("http", SHOULD, "without via an action is a plain HTTP call",
         ours("Such actions become HTTP invocations (registry/core/formats/awp/read.py).")),
    ],
    "6": [
        *type_rows(CAPABILITIES, rules.MEMBER_TYPE, words=rules.WORD),
    ],
    "7": [
        *type_rows(AUTH, rules.MEMBER_TYPE, words=rules.WORD),
        ("ids", LIMIT, "required_for and optional_for hold ids of actions", rules.ACTION_UNKNOWN),
    ],
    "8": [
        ("fields", LIMIT, "an entity is an object with typed fields", rules.MEMBER_TYPE),
        ("reference", LIMIT, "object[x] and array[x] name an entity that is declared", rules.ENTITY_UNKNOWN),
    ],
    "8, Supported primitive types": [
        ("types", LIMIT, "other types are the primitive ones", rules.TYPE_UNKNOWN),
        ("enum", LIMIT, "enum[] lists its values", rules.OPTIONS),
    ],
    "9": [
        ("object", LIMIT, "each action is an object", rules.ACTION),
    ],
    "9, Action fields": [
        ("id", REQUIRED, "an action has an id", rules.ACTION_ID),
        ("unique", LIMIT, "ids are unique", "manifest.duplicate_id"),
        ("description", REQUIRED, "an action has a description", rules.ACTION_DESCRIPTION, "capability.undescribed"),
        ("auth-required", REQUIRED, "an action says whether it needs authentication",
         rules.ACTION_AUTH, "service.auth_unknown"),
        ("inputs", REQUIRED, "an action declares its inputs", rules.ACTION_INPUTS, "capability.without_params"),
        ("outputs", REQUIRED, "an action declares its outputs", rules.ACTION_OUTPUTS, "capability.without_result"),
        ("endpoint", REQUIRED, "it has an endpoint, unless via gives one",
         rules.ACTION_CALL, rules.VIA_WITHOUT_ENDPOINT, "capability.unreachable"),
        ("endpoint-url", LIMIT, "endpoint is a path or URL that may be called",
         "endpoint.not_public", "endpoint.invalid", "capability.unreachable"),
        ("method", REQUIRED, "it has a method, unless via is set", rules.ACTION_CALL),
        ("methods", LIMIT, "method is GET, POST, PUT, DELETE or PATCH", rules.METHOD),
        *type_rows(ACTION, rules.MEMBER_TYPE, words=rules.WORD, without=("method", "sensitivity")),
        ("prompt", SHOULD, "agents ask the user where confirmation is required",
         callers("Every row and answer about the capability passes the demand on.")),
    ],
    "9, Input parameter fields": [
        ("input-type", REQUIRED, "an input has a type", rules.INPUT_TYPE),
        ("input-object", LIMIT, "an input is an object, or the name of its type", rules.MEMBER_TYPE),
        *type_rows(INPUT, rules.MEMBER_TYPE, prefix="input-"),
        ("options", LIMIT, "an enum has options", rules.OPTIONS),
    ],
    "9, Sensitivity levels": [
        ("sensitivity", SHOULD, "actions with consequences declare their sensitivity", rules.SENSITIVITY),
        ("sensitivities", LIMIT, "it is standard, destructive or irreversible", rules.MEMBER_TYPE, rules.WORD),
        ("destructive", SHOULD, "agents confirm destructive actions", CALLER),
        ("irreversible", MUST, "agents confirm irreversible actions with the user",
         callers("Every row and answer marks such capabilities as needing confirmation.")),
    ],
    "10": [
        ("actionable", MUST, "every error has a recovery that a machine can act on", rules.RECOVERY),
        ("reference", SHOULD, "a recovery names endpoints or actions where there are any to name",
         not_graded("Only the meaning of the text shows whether one applies; waiting and retrying need none.")),
    ],
    "11": [
        ("lists", LIMIT, "prerequisites are lists of ids", rules.MEMBER_TYPE),
        ("cycle", LIMIT, "prerequisites have no cycle", rules.DEPENDENCY_CYCLE),
        ("order", MUST, "agents call prerequisites first", callers("/api/services/{domain} shows the dependencies.")),
    ],
    "12": [
        ("planning", SHOULD, "agents plan with the hints", callers("Hints are passed on as texts.")),
        ("hints", MUST, "hints are never taken for hard constraints",
         ours("A hint changes no rank, no score and no call.")),
    ],
    "13": [
        *type_rows(STATUS, rules.MEMBER_TYPE),
        ("ids", LIMIT, "degraded_actions holds ids of actions", rules.ACTION_UNKNOWN),
    ],
    "14": [
        ("origin", MUST, "a generated file says so in source", rules.SYNTHETIC_ORIGIN),
        ("generated-by", MUST, "it names its generator", rules.SYNTHETIC_ORIGIN),
        ("confidence", MUST, "it gives a confidence between 0 and 1", rules.SYNTHETIC_ORIGIN),
        ("last-verified", MUST, "it gives the date of its last verification", rules.SYNTHETIC_ORIGIN),
        ("confidence-in", SHOULD, "generated files are trusted less",
         ours("They lose points and are never listed as verified (registry/core/merging/trust.py).")),
        ("native", SHOULD, "native files are preferred",
         ours("A native document of the host always wins (registry/core/merging).")),
    ],
    "15": [
        ("json", MUST, "the file is valid JSON",
         "document.not_json", "document.truncated", "document.comment", "document.trailing_comma"),
        ("members", MUST, "it has awp_version, domain, intent and actions",
         rules.DOMAIN, rules.INTENT, rules.ACTIONS, "document.unrecognised"),
        ("path", MUST, "it is published at /agent.json", rules.PATH),
        ("type", MUST, "it is answered as application/json", "document.content_type"),
        ("errors", SHOULD, "recovery is declared for the failures to be expected", rules.NO_ERRORS),
        ("description", SHOULD, "every action has a description", rules.ACTION_DESCRIPTION, "capability.undescribed"),
        ("sensitivity", SHOULD, "destructive actions declare their sensitivity", rules.SENSITIVITY),
        ("unknown", MUST, "unknown members are ignored", ours("They are kept with the document and never a finding.")),
    ],
})
