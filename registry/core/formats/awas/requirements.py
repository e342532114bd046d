"""The requirements of AWAS 1.0, section by section."""

from typing import Final

from registry.core.format_support.requirements import (
    LIMIT,
    MUST,
    RECOMMENDED,
    REQUIRED,
    SHOULD,
    not_graded,
    not_observable,
    ours,
    requirements_of,
    type_rows,
)
from registry.core.formats.awas import checks, rules

# fmt: off
REQUIREMENTS: Final = requirements_of("awas", {
    "1. AI Manifest (JSON)": [
        ("path", LIMIT, "the manifest is served at /.well-known/ai-actions.json", rules.PATH),
    ],
    "Top-Level Properties": [
        ("top-version", REQUIRED, "the manifest has version", rules.REQUIRED),
        ("top-name", REQUIRED, "the manifest has name", rules.REQUIRED, "service.unnamed"),
        ("top-description", REQUIRED, "the manifest has description", rules.REQUIRED, "service.undescribed"),
        ("top-actions", REQUIRED, "the manifest has actions", "document.unrecognised"),
        ("top-current", LIMIT, "version is one of AWAS 1", rules.VERSION),
        ("top-base-url", LIMIT, "baseUrl is the root that paths start from", "endpoint.not_public", "endpoint.invalid"),
        ("top-site", LIMIT, "baseUrl is on the site that serves the manifest", "manifest.claim_elsewhere"),
        *type_rows(checks.TOP, rules.MEMBER_TYPE, prefix="top-"),
        *type_rows(checks.AUTHENTICATION, rules.MEMBER_TYPE, prefix="top-", of="authentication"),
        *type_rows(checks.RATE_LIMIT, rules.MEMBER_TYPE, prefix="top-", of="rateLimit", without=("window",)),
        ("top-email", LIMIT, "contact.email is a mail address", rules.ADDRESS),
    ],
    "Action Object Structure": [
        ("action-object", LIMIT, "each action is an object", rules.ACTION),
        ("action-id", REQUIRED, "an action has id", rules.ACTION_REQUIRED),
        ("action-name", REQUIRED, "an action has name", rules.ACTION_TEXT),
        ("action-description", REQUIRED, "an action has description", rules.ACTION_TEXT, "capability.undescribed"),
        ("action-path", REQUIRED, "an action has path", rules.ACTION_REQUIRED),
        ("action-method", REQUIRED, "an action has method", rules.ACTION_REQUIRED),
        ("action-methods", LIMIT, "method is an HTTP method", rules.METHOD),
        ("action-url", LIMIT, "path leads to an address that may be called",
         "endpoint.not_public", "endpoint.invalid", "capability.unreachable"),
        *type_rows(checks.ACTION, rules.MEMBER_TYPE, prefix="action-"),
    ],
    "Parameter Object Structure": [
        ("parameter-name", REQUIRED, "a parameter has name", rules.PARAMETER),
        ("parameter-type", REQUIRED, "a parameter has type", rules.PARAMETER),
        ("parameter-required", REQUIRED, "a parameter has required", rules.PARAMETER),
        ("parameter-description", REQUIRED, "a parameter has description", rules.PARAMETER_TEXT),
        ("parameter-types", LIMIT, "type is a JSON Schema type", rules.VALUE_TYPE),
        *type_rows(checks.PARAMETER, rules.MEMBER_TYPE, prefix="parameter-"),
        ("parameter-enum", LIMIT, "enum is a list of allowed values", rules.ENUM),
    ],
    "Result Object Structure": [
        ("result-type", REQUIRED, "a result has type", rules.RESULT),
        ("result-selector", REQUIRED, "a result has selector", rules.RESULT),
        ("result-types", LIMIT, "type is single, list, table or form", rules.WORD),
        *type_rows(checks.RESULT, rules.MEMBER_TYPE, prefix="result-"),
    ],
    "Data Types": [
        ("data-types", LIMIT, "types are those of JSON Schema", rules.VALUE_TYPE),
    ],
    "Validation": [
        ("rule-1", MUST, "1: required members are there at each level",
         rules.REQUIRED, rules.ACTION_REQUIRED, rules.ACTION_TEXT, rules.PARAMETER, rules.PARAMETER_TEXT, rules.RESULT),
        ("rule-2", MUST, "2: ids of actions are unique", "manifest.duplicate_id"),
        ("rule-3", SHOULD, "3: selectors are CSS", rules.SELECTOR),
        ("rule-4", MUST, "4: absolute URLs are well formed", rules.ADDRESS, "endpoint.invalid"),
        ("rule-5", MUST, "5: windows of rate limits end with s, m, h or d", rules.WINDOW),
        ("rule-6", MUST, "6: enums have at least one value", rules.ENUM),
        ("rule-7", MUST, "7: types are valid JSON Schema types", rules.VALUE_TYPE),
    ],
    "Content Negotiation": [
        ("serve-type", SHOULD, "it is answered as application/json", "document.content_type", "document.html_type"),
        ("serve-utf8", SHOULD, "the encoding is UTF-8", "document.encoding"),
        ("serve-cors", SHOULD, "every origin may read the answer", rules.CORS),
        ("serve-cache", SHOULD, "it may be kept for an hour", rules.CACHING),
    ],
    "Versioning": [
        ("version-form", LIMIT, "version is a semantic version", rules.VERSION),
        ("version-many", SHOULD, "clients read several versions",
         ours("1.0, the repository's 1.1 and five dialects are read (registry/core/formats/awas/read.py).")),
    ],
    "Best Practices": [
        ("best-1", LIMIT, "1: the manifest stays below 100 KB", rules.SIZE),
        ("best-2", RECOMMENDED, "2: names are clear", not_graded("Subjective; and wording must not earn points.")),
        ("best-3", RECOMMENDED, "3: parameters have examples", rules.EXAMPLE),
        ("best-4", RECOMMENDED, "4: validation rules are written down",
         not_observable("A document does not show which rules its author left out.")),
        ("best-5", RECOMMENDED, "5: selectors are stable",
         not_graded("The pages of actions are not requested, so no selector is tried on them.")),
        ("best-6", RECOMMENDED, "6: breaking changes raise the version", rules.UNVERSIONED_CHANGE),
        ("best-7", RECOMMENDED, "7: the manifest may be kept for an hour", rules.CACHING),
        ("best-8", RECOMMENDED, "8: ids are in kebab-case", rules.KEBAB),
    ],
    "Extensions": [
        ("extension", LIMIT, "custom members begin with x-", rules.EXTENSION),
        ("extension-conflict", SHOULD, "extensions do not conflict with standard members",
         not_graded("Members with the prefix cannot conflict; a missing prefix is a finding (awas.extension).")),
        ("extension-ignore", SHOULD, "clients ignore what they do not know",
         ours("Unknown members are kept with the document and lower no score.")),
    ],
    "Discovery Endpoints": [
        ("bridge-ask", MUST, "clients request both bridge manifests",
         ours("Every visit requests both paths (registry/core/visiting/probes.py).")),
        ("bridge-json", SHOULD, "they are answered with 200 and JSON of their schema",
         rules.BRIDGE, "document.not_json"),
    ],
    "Manifest Requirements": [
        ("bridge-catalogue", MUST, "both refer to the catalogue of actions",
         rules.BRIDGE_LINK, "document.unrecognised"),
        ("bridge-mcp", MUST, "the MCP manifest has capabilities and endpoints", rules.BRIDGE),
        ("bridge-mcp-links", MUST, "its endpoints link actions and schema", rules.BRIDGE_SCHEMA),
        ("bridge-a2a", MUST, "the A2A manifest has capabilities, endpoints and interoperability", rules.BRIDGE),
        ("bridge-shape", LIMIT, "these sections are objects; capabilities may be a list", rules.MEMBER_TYPE),
        ("bridge-schema", SHOULD, "the schema of the actions is exposed", rules.BRIDGE_SCHEMA),
    ],
    "Client Behavior": [
        ("client-cache", SHOULD, "clients honour HTTP caching headers",
         ours("Revisits wait for max-age and ask conditionally (registry/core/scheduling/policy.py).")),
        ("client-validate", MUST, "clients validate schemas before they execute actions",
         ours("No action is ever executed, and no schema that a document names is fetched.")),
    ],
    "Interoperability and Forward Compatibility": [
        ("interop-ignore", MUST, "clients ignore unknown members",
         ours("They are kept with the document and lower no score.")),
        ("interop-minor", SHOULD, "minor versions stay compatible",
         not_observable("A matter of future versions of the protocol.")),
    ],
}, numbered=False)
