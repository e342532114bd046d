"""The requirements of Agent Discovery Protocol 1.0, section by section. Each rule names the ones that it checks."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from registry.core.format_support.requirements import (
    CALLER,
    LIMIT,
    MUST,
    RECOMMENDED,
    REQUIRED,
    Requirement,
)

# fmt: off
REQUIREMENTS: Final = (
    Requirement("adp-1-path", "1", MUST, "the manifest is served at /.well-known/agent"),
    Requirement("adp-1-type", "1", LIMIT, "it is answered as application/json"),
    Requirement("adp-1-cors", "1", RECOMMENDED, "a public API allows every origin to read it"),
    Requirement("adp-1-cache", "1", RECOMMENDED, "it may be cached for an hour"),
    Requirement("adp-2-spec-version", "2", REQUIRED, "spec_version is there"),
    Requirement("adp-2-name", "2", REQUIRED, "name is there, as text"),
    Requirement("adp-2-description", "2", REQUIRED, "description is there, as text"),
    Requirement("adp-2-description-length", "2", LIMIT, "description has 10 to 200 characters"),
    Requirement("adp-2-base-url", "2", REQUIRED, "base_url is there, as text"),
    Requirement("adp-2-base-site", "2", LIMIT, "base_url is on the site that serves the manifest"),
    Requirement("adp-2-auth", "2", REQUIRED, "auth is there, as an object"),
    Requirement("adp-2-pricing", "2", LIMIT, "pricing is an object"),
    Requirement("adp-2-capabilities", "2", REQUIRED, "capabilities is there, as a list"),
    Requirement("adp-2-min", "2", LIMIT, "capabilities has at least one entry"),
    Requirement("adp-2-entry", "2, Capability entry", LIMIT, "a capability is an object"),
    Requirement("adp-2-entry-name", "2, Capability entry", LIMIT, "a capability has name"),
    Requirement("adp-2-entry-description", "2, Capability entry", LIMIT, "a capability has description"),
    Requirement("adp-2-entry-detail-url", "2, Capability entry", LIMIT, "a capability has detail_url"),
    Requirement("adp-2-detail-join", "2, Capability entry", LIMIT, "detail_url is a URL, alone or joined to base_url"),
    Requirement("adp-3-type", "3", LIMIT, "type is none, api_key or oauth2"),
    Requirement("adp-3-header", "3", LIMIT, "a key has a header, as text"),
    Requirement("adp-3-prefix", "3", LIMIT, "prefix is text"),
    Requirement("adp-3-setup-url", "3", LIMIT, "setup_url is a URL"),
    Requirement("adp-3-authorization-url", "3", LIMIT, "OAuth has an authorization_url"),
    Requirement("adp-3-token-url", "3", LIMIT, "OAuth has a token_url"),
    Requirement("adp-3-scopes", "3", LIMIT, "scopes is a list of texts"),
    Requirement("adp-4-type", "4", LIMIT, "type is free, freemium or paid"),
    Requirement("adp-4-plans", "4", LIMIT, "plans is a list"),
    Requirement("adp-4-plan-name", "4", LIMIT, "a plan has name"),
    Requirement("adp-4-plan-price", "4", LIMIT, "a plan has price"),
    Requirement("adp-4-plan-limits", "4", LIMIT, "a plan has limits"),
    Requirement("adp-4-plans-url", "4", LIMIT, "plans_url is a URL"),
    Requirement("adp-5-endpoint", "5", LIMIT, "a detail has endpoint"),
    Requirement("adp-5-method", "5", LIMIT, "a detail has method"),
    Requirement("adp-5-name", "5", LIMIT, "a detail has name"),
    Requirement("adp-5-description", "5", LIMIT, "a detail has description"),
    Requirement("adp-5-parameters", "5", LIMIT, "a detail has parameters"),
    Requirement("adp-5-request-example", "5", LIMIT, "a detail has request_example"),
    Requirement("adp-5-response-example", "5", LIMIT, "a detail has response_example"),
    Requirement("adp-5-endpoint-url", "5", LIMIT, "endpoint is a path, or a URL that may be called"),
    Requirement("adp-5-methods", "5", LIMIT, "method is an HTTP method"),
    Requirement("adp-5-parameter-name", "5", LIMIT, "a parameter has name"),
    Requirement("adp-5-parameter-type", "5", LIMIT, "a parameter has type"),
    Requirement("adp-5-parameter-description", "5", LIMIT, "a parameter has description"),
    Requirement("adp-5-parameter-required", "5", LIMIT, "a parameter has required"),
    Requirement("adp-5-parameter-example", "5", LIMIT, "a parameter has example"),
    Requirement("adp-5-request", "5", LIMIT, "request_example is a whole request"),
    Requirement("adp-5-response", "5", LIMIT, "response_example has status and body"),
    Requirement("adp-5-auth-scopes", "5", LIMIT, "auth_scopes is a list of texts"),
    Requirement("adp-5-rate-limits", "5", LIMIT, "rate_limits is an object"),
    Requirement("adp-5-per-minute", "5", LIMIT, "requests_per_minute is a number"),
    Requirement("adp-5-daily", "5", LIMIT, "daily_limit is a number"),
    Requirement("adp-6-registry", "6", LIMIT, "a registry answers GET /api/discover with services and summaries",
                "Applies here: registry/api/discover.py implements it."),
    Requirement("adp-6-flow", "6", LIMIT, "agents fetch what they need, when they need it", CALLER),
    Requirement("adp-7-path", "7", MUST, "the manifest is served at /.well-known/agent"),
    Requirement("adp-7-json", "7", MUST, "the answer is JSON and says so"),
    Requirement("adp-7-version", "7", MUST, "spec_version is \"1.0\""),
    Requirement("adp-7-description", "7", MUST, "description has 10 to 200 characters"),
    Requirement("adp-7-snake-case", "7", MUST, "names of capabilities are snake_case"),
    Requirement("adp-7-one", "7", MUST, "there is at least one capability"),
    Requirement("adp-7-detail", "7", MUST, "each capability has a detail_url"),
    Requirement("adp-7-detail-answers", "7", MUST, "each detail_url returns valid JSON"),
    Requirement("adp-7-unique", "7", MUST, "names are unique within the manifest"),
    Requirement("adp-7-https", "7", MUST, "base_url begins with https://"),
)
# fmt: on

CHECKED_BY_GENERAL_RULES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "document.not_json": ("adp-7-json",),
        "document.truncated": ("adp-7-json",),
        "document.content_type": ("adp-1-type", "adp-7-json"),
        "document.html_type": ("adp-1-type",),
        "manifest.duplicate_id": ("adp-7-unique",),
        "manifest.claim_elsewhere": ("adp-2-base-site",),
        "endpoint.not_public": ("adp-2-detail-join", "adp-5-endpoint-url"),
        "endpoint.invalid": ("adp-2-detail-join",),
    }
)
"""Requirements that the rules common to all formats check, by rule code."""
