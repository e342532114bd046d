"""Rules for Agent Discovery Protocol manifests."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, IDENTITY, INFO, OPERABILITY, WARNING, Rule

# fmt: off

VERSION = Rule(
    "adp.version", ERROR, points=8, section=CONFORMANCE, spec="ADP 1.0 section 7",
    says="spec_version is not \"1.0\".",
    fix="Set spec_version to \"1.0\".",
)
REQUIRED = Rule(
    "adp.required", ERROR, points=6, section=CONFORMANCE, spec="ADP 1.0 section 2",
    says="name or description is missing, or not a text.",
    fix="Add the missing member.",
)
BASE_URL = Rule(
    "adp.base_url", ERROR, points=10, section=CONFORMANCE, spec="ADP 1.0 section 7",
    says="base_url is missing, or does not start with https://.",
    fix="Set base_url to the https URL to which relative detail_urls are appended.",
)
AUTH = Rule(
    "adp.auth", ERROR, points=8, section=CONFORMANCE, spec="ADP 1.0 section 3",
    says="auth is missing, or its type is not \"none\", \"api_key\" or \"oauth2\".",
    fix="Describe how callers authenticate; use \"none\" where no credential is needed.",
)
CAPABILITIES = Rule(
    "adp.capabilities", ERROR, points=12, section=CONFORMANCE, spec="ADP 1.0 section 7",
    says="capabilities is missing, not a list, or empty.",
    fix="List at least one capability.",
)
CAPABILITY = Rule(
    "adp.capability", ERROR, points=8, section=CONFORMANCE, spec="ADP 1.0 section 2",
    says="A member of capabilities is not an object; it was left out.",
    fix="Write every capability as an object.",
)
CAPABILITY_REQUIRED = Rule(
    "adp.capability_required", ERROR, points=10, section=CONFORMANCE, spec="ADP 1.0 section 2 and 7",
    says="A capability lacks name, description or detail_url; it was left out.",
    fix="Add the missing member.",
)
DESCRIPTION_LENGTH = Rule(
    "adp.description_length", ERROR, points=4, section=CONFORMANCE, spec="ADP 1.0 section 7",
    says="description is shorter than 10 or longer than 500 characters.",
    fix="Describe the service in 20 to 200 characters.",
)
DESCRIPTION_LONG = Rule(
    "adp.description_long", WARNING, points=1, section=CONFORMANCE, spec="ADP 1.0 section 7",
    says="description is longer than 200 characters.",
    fix="Shorten it to 200 characters.",
)
DESCRIPTION_SHORT = Rule(
    "adp.description_short", INFO, points=0, section=CONFORMANCE, spec="ADP 1.0 section 7",
    says="description is shorter than the reference validator accepts (20).",
    fix="Use at least 20 characters.",
    rationale="The reference validator asks for 20 characters, the text for 10.",
)
NAME = Rule(
    "adp.name", WARNING, points=2, section=CONFORMANCE, spec="ADP 1.0 section 7",
    says="A capability's name is not snake_case.",
    fix="Use lower case letters, digits and underscores.",
)
BASE_SLASH = Rule(
    "adp.base_slash", WARNING, points=0, section=CONFORMANCE, spec="ADP 1.0 section 2",
    says="base_url ends with a slash, so joined URLs contain two.",
    fix="Remove the slash.",
    rationale="The reference client appends detail_url as it is written.",
)
HEADER = Rule(
    "adp.header", INFO, points=0, section=COMPLETENESS, spec="ADP 1.0 section 3",
    says="auth of type api_key does not name its header.",
    fix="Add header, for example Authorization.",
)
OAUTH = Rule(
    "adp.oauth", WARNING, points=3, section=COMPLETENESS, spec="ADP 1.0 section 3",
    says="auth of type oauth2 lacks authorization_url or token_url.",
    fix="Add both.",
)
PRICING = Rule(
    "adp.pricing", WARNING, points=1, section=CONFORMANCE, spec="ADP 1.0 section 4",
    says="pricing.type is not free, freemium or paid.",
    fix="Use one of these.",
)
DETAIL_ELSEWHERE = Rule(
    "adp.detail_elsewhere", WARNING, points=3, section=IDENTITY, spec="ADP 1.0 section 2",
    says="A detail_url is on another site than base_url; it is not fetched.",
    fix="Serve the details below base_url.",
    rationale="The reference validator refuses it.",
)
PATH = Rule(
    "adp.path", WARNING, points=1, section=OPERABILITY, spec="ADP 1.0 section 1 and 7",
    says="The manifest is not served at /.well-known/agent.",
    fix="Serve it at this path as well.",
)
CORS = Rule(
    "adp.cors", INFO, points=0, section=OPERABILITY, spec="ADP 1.0 section 1",
    says="The response does not allow other origins to read it.",
    fix="Send Access-Control-Allow-Origin: * where the API is public.",
)
CACHING = Rule(
    "adp.caching", INFO, points=0, section=OPERABILITY, spec="ADP 1.0 section 1",
    says="The response does not declare the recommended cache lifetime of one hour.",
    fix="Send Cache-Control: max-age=3600.",
)
MEMBER_TYPE = Rule(
    "adp.member_type", WARNING, points=1, section=CONFORMANCE, spec="ADP 1.0 section 2 to 4",
    says="A member has a different type than the specification requires.",
    fix="Write the member as the specification describes it.",
)
ADDRESS = Rule(
    "adp.address", WARNING, points=1, section=CONFORMANCE, spec="ADP 1.0 section 3 and 4",
    says="A member that must be a URL is not a valid one.",
    fix="Write an absolute URL.",
)
PLAN = Rule(
    "adp.plan", WARNING, points=0.5, section=COMPLETENESS, spec="ADP 1.0 section 4",
    says="A plan lacks its name, price or limits.",
    fix="Give every plan all three.",
)
DETAIL_UNANSWERED = Rule(
    "adp.detail_unanswered", WARNING, points=6, section=CONFORMANCE, spec="ADP 1.0 section 7",
    says="The detail_url of a capability did not return a capability detail.",
    fix="Serve valid JSON with endpoint and method at each detail_url.",
)
