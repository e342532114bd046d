"""The requirements of Agent Transfer Protocol 0.1, section by section."""

from typing import Final

from registry.core.format_support.requirements import (
    AUTHOR,
    CALLER,
    LIMIT,
    MUST,
    RECOMMENDED,
    REQUIRED,
    RUNTIME,
    SHOULD,
    callers,
    not_graded,
    not_observable,
    ours,
    requirements_of,
    type_rows,
)
from registry.core.formats.atp import rules
from registry.core.formats.atp.read import CAPABILITY, CONFIRMATION, PARAMETER, POLICIES, RATE_LIMIT, TOP

# fmt: off
REQUIREMENTS: Final = requirements_of("atp", {
    "2.1": [
        ("path", MUST, "the manifest is served at /.well-known/agent.json", rules.PATH),
    ],
    "2.2": [
        ("type", MUST, "it is answered as application/json", "document.content_type", "document.html_type"),
        ("https", MUST, "it is served over https", rules.HTTP),
        ("redirect", MUST, "plain http redirects to https",
         not_observable("Port 80 is never asked: the crawler sends no requests over plain http.")),
        ("status", MUST, "the answer is 200 with a manifest, or 404",
         not_graded("A body with another status is not read as a manifest, and the status of the host shows the "
                    "outcome; it costs no points.")),
        ("valid", MUST, "the response is a manifest", "document.not_json", "document.truncated"),
        ("cors", MUST, "every origin may read the answer", rules.CORS),
        ("cors-methods", MUST, "the methods and headers of other origins are allowed",
         not_graded("A GET answer may carry them, but only that to a preflight request must; none is sent.")),
        ("cache", SHOULD, "Cache-Control is sent", rules.CACHING),
        ("max-age", RECOMMENDED, "it allows the manifest to be cached for an hour", rules.MAX_AGE),
        ("etag", SHOULD, "an ETag is sent", rules.ETAG),
        ("if-none-match", SHOULD, "If-None-Match is answered", rules.REVALIDATION),
        ("link", SHOULD, "the home page links the manifest in its header", rules.HOME_LINK),
    ],
    "3.1": [
        ("name", REQUIRED, "the manifest has a name", rules.REQUIRED, "service.unnamed"),
        ("description", REQUIRED, "it has a description", rules.REQUIRED, "service.undescribed"),
        ("version", REQUIRED, "it has a version", rules.REQUIRED, "service.unversioned", "document.version_number"),
        ("semver", LIMIT, "the version is a semantic one", rules.SEMVER),
        ("context", LIMIT, "@context names the schema of ATP", rules.CONTEXT),
        ("kind", LIMIT, "@type is AgentManifest", rules.CONTEXT),
        ("capabilities", LIMIT, "capabilities is a list", rules.CAPABILITIES, "document.required_type"),
        *type_rows(TOP, rules.MEMBER_TYPE),
    ],
    "3.2": [
        ("name", REQUIRED, "the provider has name", rules.PROVIDER),
        ("url", REQUIRED, "the provider has url", rules.PROVIDER),
        ("uri", LIMIT, "the provider's url is a URI", rules.ADDRESS),
        ("site", LIMIT, "the provider's url is on the site that serves the manifest", "manifest.provider_elsewhere"),
        ("contact", LIMIT, "contact is a mail address", rules.ADDRESS),
        ("logo", LIMIT, "logo is a URI", rules.ADDRESS),
    ],
    "3.3": [
        ("schemes", LIMIT, "schemes is a list of objects", rules.MEMBER_TYPE),
        ("scheme-type", LIMIT, "a scheme is oauth2, apiKey, bearer or delegated", rules.WORD),
        ("identity", LIMIT, "agentIdentity is an object", rules.MEMBER_TYPE),
        ("identity-required", LIMIT, "its required is true or false", rules.MEMBER_TYPE),
        ("identity-format", LIMIT, "its format is did:web, did:key or custom", rules.WORD),
    ],
    "3.3.1": [
        ("authorization-url", REQUIRED, "authorizationCode has the URI for authorization", rules.OAUTH),
        ("token-url", REQUIRED, "authorizationCode has the URI for tokens", rules.OAUTH),
        ("client-token-url", REQUIRED, "clientCredentials has the URI for tokens", rules.OAUTH),
        ("flows", LIMIT, "a scheme has at least one flow", rules.OAUTH),
        ("refresh-url", LIMIT, "refreshUrl is a URI", rules.ADDRESS),
        ("scopes", LIMIT, "scopes is a map from names to descriptions", rules.MEMBER_TYPE),
        ("oauth", RECOMMENDED, "OAuth 2.1 is the first choice", rules.NO_OAUTH),
        ("user", SHOULD, "authorizationCode is supported", rules.NO_USER_FLOW),
    ],
    "3.3.2": [
        ("in", LIMIT, "a key goes into header, query or cookie", rules.WORD, rules.API_KEY),
        ("name", LIMIT, "the header, query parameter or cookie of the key is named", rules.API_KEY),
        ("registration", LIMIT, "registration is a URI", rules.ADDRESS),
    ],
    "3.3.3": [
        ("identify", MUST, "agents identify themselves where it is required", CALLER),
        ("did-web", RECOMMENDED, "identities are did:web", rules.IDENTITY),
    ],
    "3.4": [
        *type_rows(RATE_LIMIT, rules.MEMBER_TYPE, without=("window",)),
        ("window", LIMIT, "window is a duration like 1h, 1m or 1d", rules.MEMBER_TYPE, rules.WINDOW),
        ("tier-url", LIMIT, "tierUrl is a URI", rules.ADDRESS),
        ("headers", SHOULD, "answers of the API carry rate limit headers", RUNTIME),
    ],
    "3.5": [
        ("object", LIMIT, "each capability is an object", rules.CAPABILITY),
        ("id", REQUIRED, "a capability has id", rules.CAPABILITY_REQUIRED),
        ("name", REQUIRED, "a capability has name", rules.CAPABILITY_REQUIRED),
        ("description", REQUIRED, "a capability has description", rules.CAPABILITY_REQUIRED),
        ("endpoint", REQUIRED, "a capability has endpoint", rules.CAPABILITY_REQUIRED),
        ("method", REQUIRED, "a capability has method", rules.CAPABILITY_REQUIRED),
        ("unique", LIMIT, "ids are unique within the manifest", "manifest.duplicate_id"),
        ("endpoint-uri", LIMIT, "endpoint is a URI that may be called",
         "endpoint.not_public", "endpoint.invalid", "capability.unreachable"),
        ("http-method", LIMIT, "method is an HTTP method", rules.METHOD),
        *type_rows(CAPABILITY, rules.MEMBER_TYPE),
        *type_rows(CONFIRMATION, rules.MEMBER_TYPE, of="confirmation"),
        ("response-schema", LIMIT, "response is a JSON Schema", rules.SCHEMA),
    ],
    "3.5.1": [
        ("name", REQUIRED, "a parameter has name", rules.PARAMETER),
        ("type", REQUIRED, "a parameter has type", rules.PARAMETER),
        ("types", LIMIT, "type is string, number, integer, boolean, array or object", rules.WORD),
        ("description", RECOMMENDED, "a parameter has a description", rules.PARAMETER_TEXT),
        *type_rows(PARAMETER, rules.MEMBER_TYPE, without=("enum",)),
        ("enum", LIMIT, "enum lists allowed values", rules.MEMBER_TYPE, rules.CONSTRAINT),
        ("range", LIMIT, "minimum is not above maximum", rules.CONSTRAINT),
    ],
    "3.5.2": [
        ("form", LIMIT, "a semantic type is namespace:type", rules.SEMANTIC_TYPE),
    ],
    "3.5.3": [
        ("side-effects", MUST, "calls that change state declare sideEffects", rules.SIDE_EFFECTS),
        ("confirmation", SHOULD, "irreversible calls ask for confirmation", "capability.unconfirmed"),
        ("message", SHOULD, "the confirmation has a message", rules.CONFIRMATION),
        ("present", SHOULD, "agents show the message before they act",
         callers("Every row and answer about the capability has the message.")),
    ],
    "3.6": [
        ("id", REQUIRED, "a workflow has id", rules.WORKFLOW),
        ("name", REQUIRED, "a workflow has name", rules.WORKFLOW),
        ("description", REQUIRED, "a workflow has description", rules.WORKFLOW),
        ("steps", LIMIT, "steps is a list of at least one", rules.WORKFLOW),
        ("step", LIMIT, "a step is the id of a capability", rules.WORKFLOW_STEP),
        ("conditional", LIMIT, "conditional is an object", rules.MEMBER_TYPE),
        ("key", LIMIT, "a conditional belongs to a step", rules.WORKFLOW_BRANCH),
        ("condition", LIMIT, "it has a condition", rules.WORKFLOW_BRANCH),
        ("on-true", LIMIT, "onTrue leads to a step", rules.WORKFLOW_BRANCH),
        ("on-false", LIMIT, "onFalse leads to a step", rules.WORKFLOW_BRANCH),
    ],
    "3.7": [
        ("schema", LIMIT, "a reusable schema is a JSON Schema", rules.SCHEMA),
        ("reference", LIMIT, "$ref points to a schema of the manifest", rules.REFERENCE),
    ],
    "3.8": [
        *type_rows(POLICIES, rules.MEMBER_TYPE, words=rules.WORD, without=("caching",)),
        ("caching", LIMIT, "caching is an object", rules.MEMBER_TYPE),
        ("allowed", LIMIT, "caching.allowed is true or false", rules.MEMBER_TYPE),
        ("max-age", LIMIT, "caching.maxAge is an integer", rules.MEMBER_TYPE),
        ("terms-url", LIMIT, "termsUrl is a URI", rules.ADDRESS),
        ("privacy-url", LIMIT, "privacyUrl is a URI", rules.ADDRESS),
        ("conditions", LIMIT, "conditional training links its conditions", rules.TERMS),
        ("deny", MUST, "nothing is trained on data of a site that denies it",
         ours("Nothing is fitted from documents, the weights in registry/core/ranking/signals.py are constants, the "
              "sentence vectors come from openly licensed texts (registry/search/model/MODEL_CARD.md), and "
              "/api/services/{domain} shows the policy. A dump, when there is one, must leave these services out, and "
              "anything that is fitted from documents must honour policies.training first.")),
        ("attribution-required", MUST, "users of the data cite its source",
         ours("Every answer names the host, and /api/services/{domain} each document and the origin of each field, "
              "beside the policy. A dump must carry the same names.")),
    ],
    "4.1": [
        ("headers", REQUIRED, "agents send User-Agent, X-ATP-Version and their credentials",
         callers("The crawler names itself honestly in its own User-Agent.")),
    ],
    "4.2": [
        ("errors", SHOULD, "errors have a status and a structured body", RUNTIME),
    ],
    "4.3": [
        ("semver", LIMIT, "version is MAJOR.MINOR.PATCH", rules.SEMVER),
        ("check", SHOULD, "agents check the version of the manifest",
         callers("Every row and answer about the service has its version.")),
    ],
    "5.1": [
        ("https", MUST, "all traffic is https", rules.HTTP, "endpoint.not_public"),
        ("reject", MUST, "a manifest served over http is rejected", rules.HTTP),
    ],
    "5.3": [
        ("scopes", MUST, "sites enforce the scopes of each capability", RUNTIME),
        ("example", MUST, "a scope for reading does not place orders", RUNTIME),
    ],
    "5.4": [
        ("limits", SHOULD, "sites enforce the rate limits that they declare", RUNTIME),
        ("429", SHOULD, "requests beyond them receive 429", RUNTIME),
    ],
    "5.5": [
        ("log", SHOULD, "sites log what agents do", not_observable("Logs stay with the site.")),
    ],
    "5.6": [
        ("untrusted", SHOULD, "responses of a site are untrusted",
         ours("Invisible characters are removed, texts are plain and marked untrusted in every answer "
              "(registry/core/reading/plain_text.py).")),
        ("instructions", SHOULD, "answers of the API hold no instructions to agents", RUNTIME),
    ],
    "6.1": [
        ("read-first", RECOMMENDED, "operators start with read-only capabilities", AUTHOR),
        ("auth-first", RECOMMENDED, "authentication comes before calls that write",
         not_graded("A call that writes may be public, for example a contact form.")),
        ("destructive", RECOMMENDED, "destructive calls declare side effects and confirmation",
         rules.SIDE_EFFECTS, "capability.unconfirmed"),
        ("semantic", RECOMMENDED, "semantic types are used where one fits",
         not_graded("Only the meaning of a capability shows whether a standard type fits.")),
        ("size", LIMIT, "the manifest stays below 50 KB", rules.SIZE),
        ("version", RECOMMENDED, "the manifest is versioned", rules.REQUIRED),
    ],
    "6.2": [
        ("agents", RECOMMENDED, "agents honour policies, confirmations, limits and Cache-Control",
         ours("Revisits wait for max-age and ask conditionally (registry/core/scheduling/policy.py); the rest binds "
              "agents that call the service.")),
    ],
})
