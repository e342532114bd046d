"""Rules for Agent Transfer Protocol manifests."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, INFO, OPERABILITY, SAFETY, WARNING, Rule

# fmt: off

HTTP = Rule(
    "atp.http", ERROR, points=30, section=CONFORMANCE, spec="ATP 0.1 section 5.1",
    says="The manifest was served over plain http and is rejected.",
    fix="Serve the manifest over https.",
)
REQUIRED = Rule(
    "atp.required", ERROR, points=6, section=CONFORMANCE, spec="ATP 0.1 section 3.1",
    says="name, description or version is missing, or not a text.",
    fix="Add the missing member.",
)
CAPABILITIES = Rule(
    "atp.capabilities", ERROR, points=12, section=CONFORMANCE, spec="ATP 0.1 section 3.5",
    says="capabilities is missing, or not a list.",
    fix="List the capabilities.",
)
CAPABILITY = Rule(
    "atp.capability", ERROR, points=8, section=CONFORMANCE, spec="ATP 0.1 section 3.5",
    says="A member of capabilities is not an object; it was left out.",
    fix="Write every capability as an object.",
)
CAPABILITY_REQUIRED = Rule(
    "atp.capability_required", ERROR, points=10, section=CONFORMANCE, spec="ATP 0.1 section 3.5",
    says="A capability lacks id, name, description, endpoint or method; it was left out.",
    fix="Add the missing member.",
)
CONTEXT = Rule(
    "atp.context", WARNING, points=2, section=CONFORMANCE, spec="ATP 0.1 section 3.1",
    says="@context or @type does not name an ATP manifest.",
    fix="Set @context to https://atp.dev/schema/v1 and @type to AgentManifest.",
)
SEMVER = Rule(
    "atp.semver", WARNING, points=2, section=CONFORMANCE, spec="ATP 0.1 section 4.3",
    says="version is not a semantic version.",
    fix="Write MAJOR.MINOR.PATCH.",
)
ID = Rule(
    "atp.id", INFO, points=0, section=CONFORMANCE, spec="ATP 0.1 section 3.5",
    says="An id contains characters other than a-z, 0-9 and hyphens.",
    fix="Use lower case letters, digits and hyphens.",
    rationale="The published JSON Schema requires it; the text does not.",
)
SEMANTIC_TYPE = Rule(
    "atp.semantic_type", WARNING, points=1, section=CONFORMANCE, spec="ATP 0.1 section 3.5.2",
    says="semanticType is not of the form namespace:type.",
    fix="Use a standard namespace, or one of your own, with lower case words.",
)
PROVIDER = Rule(
    "atp.provider", WARNING, points=2, section=CONFORMANCE, spec="ATP 0.1 section 3.2",
    says="provider has no name or no url.",
    fix="Add both, or leave provider out.",
)
PARAMETER = Rule(
    "atp.parameter", WARNING, points=3, section=CONFORMANCE, spec="ATP 0.1 section 3.5.1",
    says="A parameter has no name or no type.",
    fix="Add both.",
)
METHOD = Rule(
    "atp.method", WARNING, points=3, section=CONFORMANCE, spec="ATP 0.1 section 3.5",
    says="A method is not GET, POST, PUT, PATCH or DELETE.",
    fix="Use one of these methods.",
)
SIDE_EFFECTS = Rule(
    "atp.side_effects", WARNING, points=5, section=SAFETY, spec="ATP 0.1 section 3.5.3",
    says="A call that is neither GET nor HEAD does not declare side effects, or denies those of its method.",
    fix="Set sideEffects to true where the call changes anything, and to false for a POST that only reads.",
)
CONFIRMATION = Rule(
    "atp.confirmation", WARNING, points=2, section=SAFETY, spec="ATP 0.1 section 3.5.3",
    says="A capability asks for confirmation without a message.",
    fix="Add confirmation.message with the question for the user.",
)
WORKFLOW_STEP = Rule(
    "atp.workflow_step", WARNING, points=2, section=CONFORMANCE, spec="ATP 0.1 section 3.6",
    says="A workflow step is not the id of a capability of the manifest.",
    fix="Use ids of capabilities as steps.",
)
REFERENCE = Rule(
    "atp.reference", WARNING, points=3, section=CONFORMANCE, spec="ATP 0.1 section 3.7",
    says="A $ref does not resolve inside the document; it was removed.",
    fix="Refer to the manifest's own schemas: #/schemas/Name.",
)
SIZE = Rule(
    "atp.size", WARNING, points=2, section=OPERABILITY, spec="ATP 0.1 section 6.1",
    says="The manifest is larger than 50 KB.",
    fix="Shorten it: link to the documentation instead of including it.",
)
CORS = Rule(
    "atp.cors", WARNING, points=1, section=OPERABILITY, spec="ATP 0.1 section 2.2",
    says="The response does not allow other origins to read it.",
    fix="Send Access-Control-Allow-Origin: *.",
)
LAX = Rule(
    "atp.lax", WARNING, points=3, section=CONFORMANCE, spec="ATP 0.1 section 3.1",
    says="The document has the shape of an ATP manifest, but declares neither @context nor @type.",
    fix="Add @context and @type.",
    rationale="A document in this shape that does not name the format.",
)
PATH = Rule(
    "atp.path", WARNING, points=1, section=OPERABILITY, spec="ATP 0.1 section 2.1",
    says="The manifest is not served at /.well-known/agent.json.",
    fix="Serve it at /.well-known/agent.json too.",
)
MEMBER_TYPE = Rule(
    "atp.member_type", WARNING, points=1, section=CONFORMANCE, spec="ATP 0.1 section 3.1 to 3.8",
    says="A member has a different type than the specification requires.",
    fix="Write the member as the specification describes it.",
)
WORD = Rule(
    "atp.word", WARNING, points=1, section=CONFORMANCE, spec="ATP 0.1 section 3.3, 3.5.1 and 3.8",
    says="A member has a value that the specification does not list.",
    fix="Use one of the values that the specification lists.",
)
ADDRESS = Rule(
    "atp.address", WARNING, points=1, section=CONFORMANCE, spec="ATP 0.1 section 3.2, 3.3, 3.4 and 3.8",
    says="A member that must be a URI or an email address is not a valid one.",
    fix="Write a URI, or for contact an email address.",
)
CACHING = Rule(
    "atp.caching", WARNING, points=0.5, section=OPERABILITY, spec="ATP 0.1 section 2.2",
    says="The response does not declare how long it may be cached.",
    fix="Send Cache-Control: max-age=3600.",
)
MAX_AGE = Rule(
    "atp.max_age", INFO, points=0, section=OPERABILITY, spec="ATP 0.1 section 2.2",
    says="The declared cache lifetime is not the recommended hour.",
    fix="Send Cache-Control: max-age=3600, unless the manifest changes more often.",
)
ETAG = Rule(
    "atp.etag", WARNING, points=0.5, section=OPERABILITY, spec="ATP 0.1 section 2.2",
    says="The response has no ETag, so clients cannot revalidate it.",
    fix="Send an ETag and answer If-None-Match.",
)
REVALIDATION = Rule(
    "atp.revalidation", WARNING, points=0.5, section=OPERABILITY, spec="ATP 0.1 section 2.2",
    says="If-None-Match with the current ETag was answered with the whole manifest instead of 304.",
    fix="Answer If-None-Match with 304 while the ETag is the same.",
)
HOME_LINK = Rule(
    "atp.home_link", WARNING, points=0.5, section=OPERABILITY, spec="ATP 0.1 section 2.2",
    says="The front page has no Link field with the relation agent-manifest that names the manifest.",
    fix="Name /.well-known/agent.json with the relation agent-manifest in a Link field of the front page.",
)
OAUTH = Rule(
    "atp.oauth", WARNING, points=3, section=CONFORMANCE, spec="ATP 0.1 section 3.3.1",
    says="An OAuth flow lacks a required URL.",
    fix="Add authorizationUrl and tokenUrl to authorizationCode, and tokenUrl to clientCredentials.",
)
NO_OAUTH = Rule(
    "atp.no_oauth", INFO, points=0, section=COMPLETENESS, spec="ATP 0.1 section 3.3.1",
    says="Authentication is declared without OAuth 2.1.",
    fix="Offer OAuth 2.1 where agents act for a user.",
)
NO_USER_FLOW = Rule(
    "atp.no_user_flow", WARNING, points=0.5, section=COMPLETENESS, spec="ATP 0.1 section 3.3.1",
    says="OAuth is declared without the authorizationCode flow.",
    fix="Add the authorizationCode flow, with which users delegate access.",
)
API_KEY = Rule(
    "atp.api_key", WARNING, points=2, section=CONFORMANCE, spec="ATP 0.1 section 3.3.2",
    says="An API key is required, but its location or name is not declared.",
    fix="Add in and name.",
)
IDENTITY = Rule(
    "atp.identity", INFO, points=0, section=COMPLETENESS, spec="ATP 0.1 section 3.3.3",
    says="Agents must identify themselves in a format other than did:web.",
    fix="Accept did:web, which ties an agent to a domain.",
)
WINDOW = Rule(
    "atp.window", WARNING, points=1, section=CONFORMANCE, spec="ATP 0.1 section 3.4",
    says="The window of the rate limit is not a duration.",
    fix="Write it like 1m, 1h or 1d.",
)
PARAMETER_TEXT = Rule(
    "atp.parameter_text", INFO, points=0, section=COMPLETENESS, spec="ATP 0.1 section 3.5.1",
    says="A parameter has no description.",
    fix="Describe every parameter.",
)
CONSTRAINT = Rule(
    "atp.constraint", WARNING, points=1, section=CONFORMANCE, spec="ATP 0.1 section 3.5.1",
    says="A parameter allows no value: enum is empty, or minimum is above maximum.",
    fix="Correct the limits, or leave them out.",
)
SCHEMA = Rule(
    "atp.schema", WARNING, points=2, section=CONFORMANCE, spec="ATP 0.1 section 3.5 and 3.7",
    says="A response or a reusable schema is not a valid JSON Schema 2020-12.",
    fix="Check the schema against the 2020-12 meta-schema.",
)
WORKFLOW = Rule(
    "atp.workflow", WARNING, points=2, section=CONFORMANCE, spec="ATP 0.1 section 3.6",
    says="A workflow lacks id, name, description or steps.",
    fix="Add the missing member.",
)
WORKFLOW_BRANCH = Rule(
    "atp.workflow_branch", WARNING, points=1, section=CONFORMANCE, spec="ATP 0.1 section 3.6",
    says="A conditional has no condition, or names an id that is not a capability.",
    fix="Give it a condition, and ids of capabilities in onTrue and onFalse.",
)
TERMS = Rule(
    "atp.terms", WARNING, points=1, section=COMPLETENESS, spec="ATP 0.1 section 3.8",
    says="Training is allowed under conditions that are not linked.",
    fix="Add termsUrl.",
)
