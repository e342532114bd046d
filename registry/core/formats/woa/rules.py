"""Rules for Web of Agents documents."""

from registry.core.model.findings import CONFORMANCE, ERROR, INFO, OPERABILITY, WARNING, Rule

# fmt: off

VERSION = Rule(
    "woa.version", ERROR, points=8, section=CONFORMANCE, spec="WoA draft-00 section 4",
    says="woa_version is missing or unknown; the document was read as version 1.",
    fix="Set woa_version to \"1\".",
)
AGENTS = Rule(
    "woa.agents", ERROR, points=12, section=CONFORMANCE, spec="WoA draft-00 section 4",
    says="agents is missing, or not a list.",
    fix="List the agents.",
)
AGENT = Rule(
    "woa.agent", ERROR, points=8, section=CONFORMANCE, spec="WoA draft-00 section 4.1",
    says="A member of agents is not an object; it was left out.",
    fix="Write every agent as an object.",
)
AGENT_ID = Rule(
    "woa.agent_id", ERROR, points=8, section=CONFORMANCE, spec="WoA draft-00 section 4.1",
    says="An agent's id is missing or contains characters that the draft does not allow.",
    fix="Use letters, digits, hyphens and underscores only.",
)
AGENT_REQUIRED = Rule(
    "woa.agent_required", ERROR, points=10, section=CONFORMANCE, spec="WoA draft-00 section 4.1",
    says="An agent lacks name, description, inputs, outputs or transports; it was left out.",
    fix="Add the missing member.",
)
TRANSPORT_UNKNOWN = Rule(
    "woa.transport_unknown", ERROR, points=8, section=CONFORMANCE, spec="WoA draft-00 section 4.1",
    says="An agent names a transport that the document does not configure.",
    fix="Add the transport to the top-level transports.",
)
REST = Rule(
    "woa.rest", ERROR, points=10, section=CONFORMANCE, spec="WoA draft-00 section 4.3.1",
    says="The rest transport lacks an https base, or an invoke_path that starts with a slash.",
    fix="Write both; base is an absolute https URL.",
)
MCP = Rule(
    "woa.mcp", ERROR, points=8, section=CONFORMANCE, spec="WoA draft-00 section 4.3.2",
    says="The mcp transport lacks server, tool_namespace or tool_field.",
    fix="Add the missing member.",
)
SCHEMA = Rule(
    "woa.schema", ERROR, points=6, section=CONFORMANCE, spec="WoA draft-00 section 4.2",
    says="inputs or outputs is not a valid JSON Schema 2020-12; it was left out.",
    fix="Check the schema against the 2020-12 meta-schema.",
)
VERSION_NUMBER = Rule(
    "woa.version_number", WARNING, points=1, section=CONFORMANCE, spec="WoA draft-00 section 4",
    says="woa_version is the number 1 instead of the text \"1\".",
    fix="Write \"1\".",
)
OBJECT_SCHEMA = Rule(
    "woa.object_schema", WARNING, points=3, section=CONFORMANCE, spec="WoA draft-00 section 4.2",
    says="inputs or outputs does not describe an object with properties.",
    fix="Write a schema of type object with properties.",
)
TRANSPORT_NAME = Rule(
    "woa.transport_name", WARNING, points=1, section=CONFORMANCE, spec="WoA draft-00 section 4.3.3",
    says="A private transport has no reverse-DNS name.",
    fix="Name it like com.example.mytransport.",
)
OPERATION = Rule(
    "woa.operation", WARNING, points=3, section=CONFORMANCE, spec="WoA draft-00 section 4.1",
    says="An operation has no name or no description.",
    fix="Add both.",
)
MEDIA_TYPE = Rule(
    "woa.media_type", INFO, points=0, section=OPERABILITY, spec="WoA draft-00 section 9.2",
    says="The document is served as application/json.",
    fix="Send Content-Type: application/woa+json.",
)
CACHING = Rule(
    "woa.caching", INFO, points=1, section=OPERABILITY, spec="WoA draft-00 section 7",
    says="The answer has neither ETag, Last-Modified nor Cache-Control.",
    fix="Send caching headers.",
)
TRANSPORTS = Rule(
    "woa.transports", ERROR, points=10, section=CONFORMANCE, spec="WoA draft-00 section 4",
    says="transports is missing at the top, or not an object: no agent can be called.",
    fix="Configure the transports that agents name.",
)
HTTP = Rule(
    "woa.http", ERROR, points=15, section=CONFORMANCE, spec="WoA draft-00 section 8.1",
    says="The document was served over plain http.",
    fix="Serve the document over https only.",
)
PATH = Rule(
    "woa.path", INFO, points=0, section=OPERABILITY, spec="WoA draft-00 section 9.1",
    says="The document is not served at /.well-known/woa.json.",
    fix="Serve it there, so that clients find it.",
    rationale="The draft registers the path, but only calls it typical.",
)
MEMBER_TYPE = Rule(
    "woa.member_type", WARNING, points=1, section=CONFORMANCE, spec="WoA draft-00 section 4.1 and 4.3",
    says="A member has a different type than the draft requires.",
    fix="Write the member as the draft describes it.",
)
SCHEMA_DRAFT = Rule(
    "woa.schema_draft", WARNING, points=1, section=CONFORMANCE, spec="WoA draft-00 section 4.2",
    says="A schema declares a draft other than 2020-12.",
    fix="Rewrite the schema for 2020-12 and name that draft in $schema.",
)
PLACEHOLDER = Rule(
    "woa.placeholder", WARNING, points=3, section=CONFORMANCE, spec="WoA draft-00 section 4.3.1",
    says="The placeholder for the agent's id is misspelt; clients do not replace it.",
    fix="Write {agent_id} in lower case with its underscore.",
)
