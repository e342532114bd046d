"""Agent Transfer Protocol 0.1: its demands, section by section."""

from typing import Final

from registry.core.findings import Reason
from registry.core.requirements.requirement import AUTHOR, CALLER, RUNTIME, Level, Requirement, seen, unseen

_M, _S, _R, _Q, _L = Level
_TYPE = Reason.ATP_MEMBER_TYPE


def _typed(section: str, prefix: str, kinds: dict[str, str]) -> tuple[Requirement, ...]:
    return tuple(seen(f"{prefix}-{key}-type", section, _L, f"{key} is {kind}", _TYPE) for key, kind in kinds.items())


def _required(section: str, prefix: str, what: str, reason: Reason, *keys: str) -> tuple[Requirement, ...]:
    return tuple(seen(f"{prefix}-{key}", section, _Q, f"{what} has {key}", reason) for key in keys)


ROWS: Final = (
    seen("atp-2.1-path", "2.1", _M, "the manifest is served at /.well-known/agent.json", Reason.ATP_PATH),
    seen("atp-2.2-type", "2.2", _M, "it is answered as application/json", Reason.CONTENT_TYPE, Reason.HTML_TYPE),
    seen("atp-2.2-https", "2.2", _M, "it is served over https", Reason.ATP_HTTP),
    unseen("atp-2.2-redirect", "2.2", _M, "plain http redirects to https", "Nothing is ever asked over plain http."),
    unseen("atp-2.2-status", "2.2", _M, "the answer is 200 with a manifest, or 404",
           "What another status carries is not read as a manifest; the status of the host shows it."),
    seen("atp-2.2-valid", "2.2", _M, "what is answered is a manifest", Reason.NOT_JSON, Reason.TRUNCATED),
    seen("atp-2.2-cors", "2.2", _M, "every origin may read the answer", Reason.ATP_CORS),
    unseen("atp-2.2-cors-methods", "2.2", _M, "the methods and headers of other origins are allowed",
           "Only the answer to a preflight shows them; documents are asked for by GET alone."),
    seen("atp-2.2-cache", "2.2", _S, "Cache-Control is sent", Reason.ATP_CACHING),
    seen("atp-2.2-max-age", "2.2", _R, "it lets the manifest be kept for an hour", Reason.ATP_MAX_AGE),
    seen("atp-2.2-etag", "2.2", _S, "an ETag is sent", Reason.ATP_ETAG),
    unseen("atp-2.2-if-none-match", "2.2", _S, "If-None-Match is answered",
           "A later visit asks with it, but one answer alone cannot show it."),
    unseen("atp-2.2-link", "2.2", _S, "the home page links the manifest in its header",
           "A visit follows such a link; the page itself is no document of the host, so that its silence is not graded "
           "and rescoring needs no visit."),
    # --- top level
    seen("atp-3.1-name", "3.1", _Q, "the manifest has a name", Reason.ATP_REQUIRED),
    seen("atp-3.1-description", "3.1", _Q, "it has a description", Reason.ATP_REQUIRED),
    seen("atp-3.1-version", "3.1", _Q, "it has a version", Reason.ATP_REQUIRED),
    seen("atp-3.1-semver", "3.1", _L, "the version is a semantic one", Reason.ATP_SEMVER),
    seen("atp-3.1-context", "3.1", _L, "@context names the schema of ATP", Reason.ATP_CONTEXT),
    seen("atp-3.1-kind", "3.1", _L, "@type is AgentManifest", Reason.ATP_CONTEXT),
    seen("atp-3.1-capabilities", "3.1", _L, "capabilities is a list", Reason.ATP_CAPABILITIES),
    *_typed("3.1", "atp-3.1", {
        **dict.fromkeys(("provider", "auth", "rateLimit", "schemas", "policies"), "an object"),
        "workflows": "a list"}),
    *_required("3.2", "atp-3.2", "the provider", Reason.ATP_PROVIDER, "name", "url"),
    seen("atp-3.2-uri", "3.2", _L, "the provider's url is a URI", Reason.ATP_ADDRESS),
    seen("atp-3.2-site", "3.2", _L, "the provider's url is on the site that serves the manifest",
         Reason.CLAIM_ELSEWHERE),
    seen("atp-3.2-contact", "3.2", _L, "contact is a mail address", Reason.ATP_ADDRESS),
    seen("atp-3.2-logo", "3.2", _L, "logo is a URI", Reason.ATP_ADDRESS),
    # --- authentication
    seen("atp-3.3-schemes", "3.3", _L, "schemes is a list of objects", _TYPE),
    seen("atp-3.3-scheme-type", "3.3", _L, "a scheme is oauth2, apiKey, bearer or delegated", Reason.ATP_WORD),
    seen("atp-3.3-identity", "3.3", _L, "agentIdentity is an object", _TYPE),
    seen("atp-3.3-identity-required", "3.3", _L, "its required is true or false", _TYPE),
    seen("atp-3.3-identity-format", "3.3", _L, "its format is did:web, did:key or custom", Reason.ATP_WORD),
    seen("atp-3.3.1-authorization-url", "3.3.1", _Q, "authorizationCode has the URI for authorization",
         Reason.ATP_OAUTH),
    seen("atp-3.3.1-token-url", "3.3.1", _Q, "authorizationCode has the URI for tokens", Reason.ATP_OAUTH),
    seen("atp-3.3.1-client-token-url", "3.3.1", _Q, "clientCredentials has the URI for tokens", Reason.ATP_OAUTH),
    seen("atp-3.3.1-flows", "3.3.1", _L, "a scheme has at least one flow", Reason.ATP_OAUTH),
    seen("atp-3.3.1-refresh-url", "3.3.1", _L, "refreshUrl is a URI", Reason.ATP_ADDRESS),
    seen("atp-3.3.1-scopes", "3.3.1", _L, "scopes is a map from names to descriptions", _TYPE),
    seen("atp-3.3.1-oauth", "3.3.1", _R, "OAuth 2.1 is the first choice", Reason.ATP_NO_OAUTH),
    seen("atp-3.3.1-user", "3.3.1", _S, "authorizationCode is supported", Reason.ATP_NO_USER_FLOW),
    seen("atp-3.3.2-in", "3.3.2", _L, "a key goes into header, query or cookie", Reason.ATP_WORD, Reason.ATP_API_KEY),
    seen("atp-3.3.2-name", "3.3.2", _L, "the place of the key has a name", Reason.ATP_API_KEY),
    seen("atp-3.3.2-registration", "3.3.2", _L, "registration is a URI", Reason.ATP_ADDRESS),
    unseen("atp-3.3.3-identify", "3.3.3", _M, "agents identify themselves where it is required", CALLER),
    seen("atp-3.3.3-did-web", "3.3.3", _R, "identities are did:web", Reason.ATP_IDENTITY),
    # --- rate limit
    *_typed("3.4", "atp-3.4", {"requests": "an integer", "burstLimit": "an integer"}),
    seen("atp-3.4-window", "3.4", _L, "window is a duration like 1h, 1m or 1d", Reason.ATP_WINDOW, _TYPE),
    seen("atp-3.4-tier-url", "3.4", _L, "tierUrl is a URI", Reason.ATP_ADDRESS),
    unseen("atp-3.4-headers", "3.4", _S, "answers of the API carry rate limit headers", RUNTIME),
    # --- capabilities
    seen("atp-3.5-object", "3.5", _L, "each capability is an object", Reason.ATP_CAPABILITY),
    *_required("3.5", "atp-3.5", "a capability", Reason.ATP_CAPABILITY_REQUIRED,
               "id", "name", "description", "endpoint", "method"),
    seen("atp-3.5-unique", "3.5", _L, "ids are unique within the manifest", Reason.DUPLICATE_ID),
    seen("atp-3.5-endpoint-uri", "3.5", _L, "endpoint is a URI that may be called",
         Reason.ENDPOINT_INVALID, Reason.ENDPOINT_NOT_PUBLIC),
    seen("atp-3.5-http-method", "3.5", _L, "method is an HTTP method", Reason.ATP_METHOD),
    *_typed("3.5", "atp-3.5", {
        "parameters": "a list", "response": "an object", "requiredScopes": "a list of texts",
        "sideEffects": "true or false", "confirmation": "an object", "deprecated": "true or false",
        "deprecationMessage": "text"}),
    seen("atp-3.5-confirmation-required-type", "3.5", _L, "confirmation.required is true or false", _TYPE),
    seen("atp-3.5-confirmation-message-type", "3.5", _L, "confirmation.message is text", _TYPE),
    seen("atp-3.5-response-schema", "3.5", _L, "response is a JSON Schema", Reason.ATP_SCHEMA),
    *_required("3.5.1", "atp-3.5.1", "a parameter", Reason.ATP_PARAMETER, "name", "type"),
    seen("atp-3.5.1-types", "3.5.1", _L, "type is string, number, integer, boolean, array or object", Reason.ATP_WORD),
    seen("atp-3.5.1-description", "3.5.1", _R, "a parameter has a description", Reason.ATP_PARAMETER_TEXT),
    *_typed("3.5.1", "atp-3.5.1", {
        "required": "true or false", "description": "text", "format": "text", "minimum": "a number",
        "maximum": "a number", "pattern": "text"}),
    seen("atp-3.5.1-enum", "3.5.1", _L, "enum lists allowed values", Reason.ATP_CONSTRAINT, _TYPE),
    seen("atp-3.5.1-range", "3.5.1", _L, "minimum is not above maximum", Reason.ATP_CONSTRAINT),
    seen("atp-3.5.2-form", "3.5.2", _L, "a semantic type is namespace:type", Reason.ATP_SEMANTIC_TYPE),
    seen("atp-3.5.3-side-effects", "3.5.3", _M, "what changes state declares sideEffects", Reason.ATP_SIDE_EFFECTS),
    seen("atp-3.5.3-confirmation", "3.5.3", _S, "what cannot be undone asks for confirmation",
         Reason.CAPABILITY_UNCONFIRMED),
    seen("atp-3.5.3-message", "3.5.3", _S, "the confirmation has a message", Reason.ATP_CONFIRMATION),
    unseen("atp-3.5.3-present", "3.5.3", _S, "agents show the message before they act",
           f"{CALLER} The message is part of every answer about the capability."),
    # --- workflows, schemas, policies
    *_required("3.6", "atp-3.6", "a workflow", Reason.ATP_WORKFLOW, "id", "name", "description"),
    seen("atp-3.6-steps", "3.6", _L, "steps is a list of at least one", Reason.ATP_WORKFLOW),
    seen("atp-3.6-step", "3.6", _L, "a step is the id of a capability", Reason.ATP_WORKFLOW_STEP),
    seen("atp-3.6-conditional", "3.6", _L, "conditional is an object", _TYPE),
    seen("atp-3.6-key", "3.6", _L, "a conditional belongs to a step", Reason.ATP_WORKFLOW_BRANCH),
    seen("atp-3.6-condition", "3.6", _L, "it has a condition", Reason.ATP_WORKFLOW_BRANCH),
    seen("atp-3.6-on-true", "3.6", _L, "onTrue leads to a step", Reason.ATP_WORKFLOW_BRANCH),
    seen("atp-3.6-on-false", "3.6", _L, "onFalse leads to a step", Reason.ATP_WORKFLOW_BRANCH),
    seen("atp-3.7-schema", "3.7", _L, "a reusable schema is a JSON Schema", Reason.ATP_SCHEMA),
    seen("atp-3.7-reference", "3.7", _L, "$ref points to a schema of the manifest", Reason.ATP_REFERENCE),
    seen("atp-3.8-training", "3.8", _L, "training is allow, deny or conditional", Reason.ATP_WORD, _TYPE),
    seen("atp-3.8-inference", "3.8", _L, "inference is allow, deny or conditional", Reason.ATP_WORD, _TYPE),
    seen("atp-3.8-attribution", "3.8", _L, "attribution is required, preferred or none", Reason.ATP_WORD, _TYPE),
    seen("atp-3.8-caching", "3.8", _L, "caching is an object", _TYPE),
    seen("atp-3.8-allowed", "3.8", _L, "caching.allowed is true or false", _TYPE),
    seen("atp-3.8-max-age", "3.8", _L, "caching.maxAge is an integer", _TYPE),
    seen("atp-3.8-terms-url", "3.8", _L, "termsUrl is a URI", Reason.ATP_ADDRESS),
    seen("atp-3.8-privacy-url", "3.8", _L, "privacyUrl is a URI", Reason.ATP_ADDRESS),
    seen("atp-3.8-conditions", "3.8", _L, "conditional training links its conditions", Reason.ATP_TERMS),
    unseen("atp-3.8-deny", "3.8", _M, "nothing is trained on data of a site that denies it",
           "Binds us: nothing is fitted from documents, the weights in registry/core/ranking/signals/ are constants, "
           "the sentence vectors come from openly licensed texts (registry/search/model/MODEL_CARD.md), and "
           "/api/services/{domain} shows the policy. A dump, when there is one, must leave these services out, and "
           "whoever fits anything from documents must honour policies.training first."),
    unseen("atp-3.8-attribution-required", "3.8", _M, "who uses the data cites its source",
           "Binds us: every answer names the host, and /api/services/{domain} each document and the origin of each "
           "field, beside the policy. A dump must carry the same names."),
    # --- behaviour, security
    unseen("atp-4.1-headers", "4.1", _Q, "agents send User-Agent, X-ATP-Version and what they authenticate with",
           f"{CALLER} The crawler names itself honestly in its own User-Agent."),
    unseen("atp-4.2-errors", "4.2", _S, "errors have a status and a structured body", RUNTIME),
    seen("atp-4.3-semver", "4.3", _L, "version is MAJOR.MINOR.PATCH", Reason.ATP_SEMVER),
    unseen("atp-4.3-check", "4.3", _S, "agents check the version of the manifest",
           f"{CALLER} The version is part of every answer."),
    seen("atp-5.1-https", "5.1", _M, "all traffic is https", Reason.ATP_HTTP, Reason.ENDPOINT_NOT_PUBLIC),
    seen("atp-5.1-reject", "5.1", _M, "a manifest served over http is rejected", Reason.ATP_HTTP),
    unseen("atp-5.3-scopes", "5.3", _M, "sites enforce the scopes of each capability", RUNTIME),
    unseen("atp-5.3-example", "5.3", _M, "a scope for reading does not place orders", RUNTIME),
    unseen("atp-5.4-limits", "5.4", _S, "sites enforce the rate limits that they declare", RUNTIME),
    unseen("atp-5.4-429", "5.4", _S, "who exceeds them gets 429", RUNTIME),
    unseen("atp-5.5-log", "5.5", _S, "sites log what agents do", "Logs stay with the site."),
    unseen("atp-5.6-untrusted", "5.6", _S, "what a site answers is untrusted",
           "Binds us: texts are stripped of what is invisible, shown as plain text and marked untrusted in every "
           "answer (registry/core/plain_text.py)."),
    unseen("atp-5.6-instructions", "5.6", _S, "answers of the API hold no instructions to agents", RUNTIME),
    # --- guidelines for operators
    unseen("atp-6.1-read-first", "6.1", _R, "operators start with what only reads", AUTHOR),
    unseen("atp-6.1-auth-first", "6.1", _R, "authentication comes before calls that write",
           "A call that writes may be meant for everybody, as a contact form is."),
    seen("atp-6.1-destructive", "6.1", _R, "destructive calls declare side effects and confirmation",
         Reason.ATP_SIDE_EFFECTS, Reason.CAPABILITY_UNCONFIRMED),
    unseen("atp-6.1-semantic", "6.1", _R, "semantic types are used where one fits", AUTHOR),
    seen("atp-6.1-size", "6.1", _L, "the manifest stays below 50 KB", Reason.ATP_SIZE),
    seen("atp-6.1-version", "6.1", _R, "the manifest is versioned", Reason.ATP_REQUIRED),
    unseen("atp-6.2-agents", "6.2", _R, "agents honour policies, confirmations, limits and Cache-Control",
           "Binds us where we ask: revisits wait for max-age and ask conditionally (registry/core/revisit.py); the "
           "rest binds agents that call the service."),
)  # fmt: skip
