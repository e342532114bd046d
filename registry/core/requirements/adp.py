"""Agent Discovery Protocol 1.0: its demands, section by section."""

from typing import Final

from registry.core.findings import Reason
from registry.core.requirements.requirement import CALLER, Level, Requirement, seen, unseen

_M, _S, _R, _Q, _L = Level
_TYPE, _MEMBER, _DETAIL_TYPE = Reason.ADP_MEMBER_TYPE, Reason.ADP_DETAIL_MEMBER, Reason.ADP_DETAIL_TYPE


def _members(section: str, prefix: str, what: str, reason: Reason, *keys: str) -> tuple[Requirement, ...]:
    return tuple(seen(f"{prefix}-{key.replace('_', '-')}", section, _L, f"{what} has {key}", reason) for key in keys)


ROWS: Final = (
    seen("adp-1-path", "1", _M, "the manifest is served at /.well-known/agent", Reason.ADP_PATH),
    seen("adp-1-type", "1", _L, "it is answered as application/json", Reason.CONTENT_TYPE, Reason.HTML_TYPE),
    seen("adp-1-cors", "1", _R, "a public API lets every origin read it", Reason.ADP_CORS),
    seen("adp-1-cache", "1", _R, "it may be kept for an hour", Reason.ADP_CACHING),
    # --- manifest
    seen("adp-2-spec-version", "2", _Q, "spec_version is there", Reason.ADP_VERSION),
    seen("adp-2-name", "2", _Q, "name is there, as text", Reason.ADP_REQUIRED),
    seen("adp-2-description", "2", _Q, "description is there, as text", Reason.ADP_REQUIRED),
    seen("adp-2-description-length", "2", _L, "description has 10 to 200 characters", Reason.ADP_DESCRIPTION_LENGTH,
         Reason.ADP_DESCRIPTION_LONG),
    seen("adp-2-base-url", "2", _Q, "base_url is there, as text", Reason.ADP_BASE_URL),
    seen("adp-2-base-site", "2", _L, "base_url is on the site that serves the manifest", Reason.CLAIM_ELSEWHERE),
    seen("adp-2-auth", "2", _Q, "auth is there, as an object", Reason.ADP_AUTH),
    seen("adp-2-pricing", "2", _L, "pricing is an object", _TYPE),
    seen("adp-2-capabilities", "2", _Q, "capabilities is there, as a list", Reason.ADP_CAPABILITIES),
    seen("adp-2-min", "2", _L, "capabilities has at least one", Reason.ADP_CAPABILITIES),
    seen("adp-2-entry", "2, Capability entry", _L, "a capability is an object", Reason.ADP_CAPABILITY),
    *_members("2, Capability entry", "adp-2-entry", "a capability", Reason.ADP_CAPABILITY_REQUIRED,
              "name", "description", "detail_url"),
    seen("adp-2-detail-join", "2, Capability entry", _L, "detail_url is a URL, alone or after base_url",
         Reason.ENDPOINT_INVALID, Reason.ENDPOINT_NOT_PUBLIC),
    # --- auth, pricing
    seen("adp-3-type", "3", _L, "type is none, api_key or oauth2", Reason.ADP_AUTH),
    seen("adp-3-header", "3", _L, "a key has a header, as text", Reason.ADP_HEADER, _TYPE),
    seen("adp-3-prefix", "3", _L, "prefix is text", _TYPE),
    seen("adp-3-setup-url", "3", _L, "setup_url is a URL", Reason.ADP_ADDRESS),
    seen("adp-3-authorization-url", "3", _L, "OAuth has an authorization_url", Reason.ADP_OAUTH),
    seen("adp-3-token-url", "3", _L, "OAuth has a token_url", Reason.ADP_OAUTH),
    seen("adp-3-scopes", "3", _L, "scopes is a list of texts", _TYPE),
    seen("adp-4-type", "4", _L, "type is free, freemium or paid", Reason.ADP_PRICING),
    seen("adp-4-plans", "4", _L, "plans is a list", _TYPE),
    *_members("4", "adp-4-plan", "a plan", Reason.ADP_PLAN, "name", "price", "limits"),
    seen("adp-4-plans-url", "4", _L, "plans_url is a URL", Reason.ADP_ADDRESS),
    # --- detail
    *_members("5", "adp-5", "a detail", Reason.ADP_DETAIL_REQUIRED, "endpoint", "method"),
    *_members("5", "adp-5", "a detail", _MEMBER,
              "name", "description", "parameters", "request_example", "response_example"),
    seen("adp-5-endpoint-url", "5", _L, "endpoint is a path, or a URL that may be called", Reason.ENDPOINT_NOT_PUBLIC),
    seen("adp-5-methods", "5", _L, "method is an HTTP method", Reason.ADP_DETAIL_METHOD),
    *_members("5", "adp-5-parameter", "a parameter", Reason.ADP_DETAIL_PARAMETER,
              "name", "type", "description", "required", "example"),
    seen("adp-5-request", "5", _L, "request_example is a whole request", Reason.ADP_DETAIL_EXAMPLE),
    seen("adp-5-response", "5", _L, "response_example has status and body", Reason.ADP_DETAIL_EXAMPLE),
    seen("adp-5-auth-scopes", "5", _L, "auth_scopes is a list of texts", _DETAIL_TYPE),
    seen("adp-5-rate-limits", "5", _L, "rate_limits is an object", _DETAIL_TYPE),
    seen("adp-5-per-minute", "5", _L, "requests_per_minute is a number", _DETAIL_TYPE),
    seen("adp-5-daily", "5", _L, "daily_limit is a number", _DETAIL_TYPE),
    # --- flow, requirements
    unseen("adp-6-registry", "6", _L, "a registry answers GET /api/discover with services and summaries",
           "Binds us: registry/api/discover.py is that answer."),
    unseen("adp-6-flow", "6", _L, "agents fetch what they need, when they need it", CALLER),
    seen("adp-7-path", "7", _M, "the manifest is served at /.well-known/agent", Reason.ADP_PATH),
    seen("adp-7-json", "7", _M, "the answer is JSON and says so", Reason.NOT_JSON, Reason.TRUNCATED,
         Reason.CONTENT_TYPE),
    seen("adp-7-version", "7", _M, 'spec_version is "1.0"', Reason.ADP_VERSION),
    seen("adp-7-description", "7", _M, "description has 10 to 200 characters", Reason.ADP_DESCRIPTION_LENGTH,
         Reason.ADP_DESCRIPTION_LONG),
    seen("adp-7-snake-case", "7", _M, "names of capabilities are snake_case", Reason.ADP_NAME),
    seen("adp-7-one", "7", _M, "there is at least one capability", Reason.ADP_CAPABILITIES),
    seen("adp-7-detail", "7", _M, "each capability has a detail_url", Reason.ADP_CAPABILITY_REQUIRED),
    seen("adp-7-detail-answers", "7", _M, "which answers valid JSON", Reason.ADP_DETAIL_UNANSWERED),
    seen("adp-7-unique", "7", _M, "names are unique within the manifest", Reason.DUPLICATE_ID),
    seen("adp-7-https", "7", _M, "base_url begins with https://", Reason.ADP_BASE_URL),
)  # fmt: skip
