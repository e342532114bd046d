"""Rules for AWAS (AI-readable Web Action Standard) documents."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, INFO, OPERABILITY, WARNING, Rule

# fmt: off

REQUIRED = Rule(
    "awas.required", ERROR, points=6, section=CONFORMANCE, spec="AWAS 1.0, Top-Level Properties",
    says="version, name or description is missing, or not a text.",
    fix="Add the missing member.",
)
ACTION = Rule(
    "awas.action", ERROR, points=8, section=CONFORMANCE, spec="AWAS 1.0, Action Object Structure",
    says="A member of actions is not an object; it was left out.",
    fix="Write every action as an object.",
)
ACTION_REQUIRED = Rule(
    "awas.action_required", ERROR, points=10, section=CONFORMANCE, spec="AWAS 1.0, Action Object Structure",
    says="An action lacks id, path or method; it was left out.",
    fix="Add the missing member.",
)
DIALECT = Rule(
    "awas.dialect", WARNING, points=6, section=CONFORMANCE, spec="AWAS 1.0, JSON Manifest Structure",
    says="The file follows no published version of AWAS.",
    fix="Follow version 1.0: version, name, description, actions with id, path and method.",
    rationale="Shapes that no published version describes.",
)
ACTION_TEXT = Rule(
    "awas.action_text", WARNING, points=3, section=CONFORMANCE, spec="AWAS 1.0, Action Object Structure",
    says="An action has no name or no description.",
    fix="Add both.",
)
PARAMETER = Rule(
    "awas.parameter", WARNING, points=3, section=CONFORMANCE, spec="AWAS 1.0, Parameter Object Structure",
    says="A parameter lacks name, type or required.",
    fix="Add the missing member.",
)
PARAMETER_TEXT = Rule(  # without price: the complete example of the specification has such a parameter itself
    "awas.parameter_text", INFO, points=0, section=CONFORMANCE, spec="AWAS 1.0, Parameter Object Structure",
    says="A parameter has no description.",
    fix="Describe every parameter.",
)
METHOD = Rule(
    "awas.method", WARNING, points=3, section=CONFORMANCE, spec="AWAS 1.0, Action Object Structure",
    says="A method is not an HTTP method.",
    fix="Use GET, POST, PUT, PATCH or DELETE.",
)
ENUM = Rule(
    "awas.enum", WARNING, points=1, section=CONFORMANCE, spec="AWAS 1.0, Validation",
    says="enum is not a list with at least one value.",
    fix="List the allowed values, or leave enum out.",
)
WINDOW = Rule(
    "awas.window", WARNING, points=1, section=CONFORMANCE, spec="AWAS 1.0, Validation",
    says="The window of a rate limit is not a number followed by s, m, h or d.",
    fix="Write it like 30s, 1m, 1h or 1d.",
)
SIZE = Rule(
    "awas.size", WARNING, points=2, section=OPERABILITY, spec="AWAS 1.0, Best Practices",
    says="The manifest is larger than 100 KB.",
    fix="Shorten it.",
)
ID = Rule(
    "awas.id", INFO, points=0, section=CONFORMANCE, spec="AWAS 1.0, Best Practices",
    says="An id does not have the form that version 1.1 requires.",
    fix="No change is needed: version 1.0 recommends kebab-case, version 1.1 requires snake_case.",
    rationale="Version 1.1 of the project's repository asks for it.",
)
BRIDGE = Rule(
    "awas.bridge", WARNING, points=3, section=CONFORMANCE,
    spec="AWAS 1.0, MCP and A2A Integration, Manifest Requirements",
    says="The bridge manifest lacks a section that its protocol must have.",
    fix="Add capabilities and endpoints, and for A2A interoperability.",
)
BRIDGE_LINK = Rule(
    "awas.bridge_link", WARNING, points=3, section=CONFORMANCE,
    spec="AWAS 1.0, MCP and A2A Integration, Manifest Requirements",
    says="The bridge does not link the catalogue of actions.",
    fix="Name the catalogue's path in endpoints.",
)
BRIDGE_SCHEMA = Rule(
    "awas.bridge_schema", WARNING, points=1, section=COMPLETENESS,
    spec="AWAS 1.0, MCP and A2A Integration, Manifest Requirements",
    says="The bridge does not link the schema of the actions.",
    fix="Add the schema's address to endpoints.",
)
HINT = Rule(
    "awas.hint", INFO, points=0, section=CONFORMANCE, spec="AWAS 1.0, HTML Attributes",
    says="The front page marks actions up for agents, with data-awas or data-ai attributes.",
    fix="Describe the same actions in /.well-known/ai-actions.json: attributes alone are not read as a manifest.",
    rationale="Attributes of a page are a hint to its operator, never a manifest.",
)
PATH = Rule(
    "awas.path", WARNING, points=1, section=OPERABILITY, spec="AWAS 1.0, File Formats",
    says="The manifest is not served at /.well-known/ai-actions.json.",
    fix="Serve it at this path as well.",
)
VERSION = Rule(
    "awas.version", WARNING, points=1, section=CONFORMANCE, spec="AWAS 1.0, Top-Level Properties and Versioning",
    says="version is not a 1.x version of AWAS.",
    fix="Set version to \"1.0\".",
)
NO_ACTIONS = Rule(
    "awas.no_actions", WARNING, points=0, section=COMPLETENESS, spec="AWAS 1.0, Top-Level Properties",
    says="The list of actions is empty.",
    fix="Declare at least one action.",
    rationale="The specification's first example has an empty list, but clients cannot use it.",
)
MEMBER_TYPE = Rule(
    "awas.member_type", WARNING, points=1, section=CONFORMANCE, spec="AWAS 1.0, JSON Manifest Structure",
    says="A member has a different type than the specification requires.",
    fix="Write the member as the specification shows it.",
)
WORD = Rule(
    "awas.word", WARNING, points=1, section=CONFORMANCE, spec="AWAS 1.0, Result Object Structure",
    says="A result's type is not single, list, table or form.",
    fix="Use one of these.",
)
VALUE_TYPE = Rule(
    "awas.value_type", WARNING, points=1, section=CONFORMANCE, spec="AWAS 1.0, Validation",
    says="A parameter's type is not a JSON Schema type.",
    fix="Use string, number, boolean, object, array or null, and format for the rest.",
)
ADDRESS = Rule(
    "awas.address", WARNING, points=1, section=CONFORMANCE, spec="AWAS 1.0, Validation",
    says="A contact's url or email is not valid.",
    fix="Write an absolute URL, or for email an email address.",
)
RESULT = Rule(
    "awas.result", WARNING, points=2, section=CONFORMANCE, spec="AWAS 1.0, Result Object Structure",
    says="A result has no type or no selector.",
    fix="Add both.",
)
UNVERSIONED_CHANGE = Rule(
    "awas.unversioned_change", INFO, points=0, section=CONFORMANCE, spec="AWAS 1.0, Best Practices",
    says="Since an earlier visit, an action went or demands more of its callers, under the same version.",
    fix="Raise the version with changes that break callers.",
)
SELECTOR = Rule(
    "awas.selector", WARNING, points=1, section=CONFORMANCE, spec="AWAS 1.0, Validation",
    says="A selector is not a CSS selector.",
    fix="Write a CSS selector, for example input[name='q'].",
)
EXAMPLE = Rule(
    "awas.example", INFO, points=0, section=COMPLETENESS, spec="AWAS 1.0, Best Practices",
    says="A parameter has no example.",
    fix="Add an example value.",
)
KEBAB = Rule(
    "awas.kebab", INFO, points=0, section=CONFORMANCE, spec="AWAS 1.0, Best Practices",
    says="An action's id is not lower case words joined by hyphens.",
    fix="Write ids like search-products; keep those that clients already use.",
)
EXTENSION = Rule(
    "awas.extension", INFO, points=0, section=CONFORMANCE, spec="AWAS 1.0, Extensions",
    says="A custom member does not begin with x-.",
    fix="Name custom members with the prefix x-.",
)
CORS = Rule(
    "awas.cors", WARNING, points=0.5, section=OPERABILITY, spec="AWAS 1.0, Content Negotiation",
    says="The response does not allow other origins to read it.",
    fix="Send Access-Control-Allow-Origin: *.",
)
CACHING = Rule(
    "awas.caching", INFO, points=0, section=OPERABILITY, spec="AWAS 1.0, Best Practices and Content Negotiation",
    says="The response does not declare the recommended cache lifetime of one hour.",
    fix="Send Cache-Control: public, max-age=3600.",
)
