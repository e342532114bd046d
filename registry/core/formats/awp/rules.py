"""Rules for Agent Web Protocol files."""

from registry.core.model.findings import (
    COMPLETENESS,
    CONFORMANCE,
    ERROR,
    IDENTITY,
    INFO,
    OPERABILITY,
    SAFETY,
    WARNING,
    Rule,
)

# fmt: off

VERSION = Rule(
    "awp.version", ERROR, points=8, section=CONFORMANCE, spec="AWP 0.2 section 4",
    says="awp_version is not a text.",
    fix="Write the version as text, for example \"0.2\".",
)
DOMAIN = Rule(
    "awp.domain", ERROR, points=6, section=CONFORMANCE, spec="AWP 0.2 section 5",
    says="domain is missing, or not a text.",
    fix="Name the domain that the file applies to.",
)
INTENT = Rule(
    "awp.intent", ERROR, points=8, section=CONFORMANCE, spec="AWP 0.2 section 5",
    says="intent is missing, or not a text.",
    fix="Say in plain language what the site offers.",
)
ACTIONS = Rule(
    "awp.actions", ERROR, points=12, section=CONFORMANCE, spec="AWP 0.2 section 5",
    says="actions is missing, or not a list.",
    fix="List the actions.",
)
ACTION = Rule(
    "awp.action", ERROR, points=8, section=CONFORMANCE, spec="AWP 0.2 section 9",
    says="A member of actions is not an object; it was left out.",
    fix="Write every action as an object.",
)
ACTION_ID = Rule(
    "awp.action_id", ERROR, points=8, section=CONFORMANCE, spec="AWP 0.2 section 9",
    says="An action has no id; it was left out.",
    fix="Give every action an id that is unique in the file.",
)
ACTION_CALL = Rule(
    "awp.action_call", ERROR, points=10, section=CONFORMANCE, spec="AWP 0.2 section 9",
    says="An action has neither endpoint and method nor via; it was left out.",
    fix="Add endpoint and method, or via with the name of a declared protocol.",
)
VIA_UNKNOWN = Rule(
    "awp.via_unknown", ERROR, points=10, section=CONFORMANCE, spec="AWP 0.2 section 5.5",
    says="via names a protocol that protocols does not declare; the action was left out.",
    fix="Declare the protocol, or correct via.",
)
VIA_WITHOUT_ENDPOINT = Rule(
    "awp.via_without_endpoint", WARNING, points=4, section=OPERABILITY, spec="AWP 0.2 section 9",
    says="An action goes through a protocol that has no endpoint.",
    fix="Add the endpoint to the protocol's declaration.",
)
VERSION_UNKNOWN = Rule(
    "awp.version_unknown", WARNING, points=2, section=CONFORMANCE, spec="AWP 0.2 section 4",
    says="The declared version is neither 0.1 nor 0.2; it was read as 0.2.",
    fix="Declare the version that the file follows.",
)
PATH = Rule(
    "awp.path", WARNING, points=2, section=OPERABILITY, spec="AWP 0.2 section 3",
    says="The file is not served at /agent.json.",
    fix="Serve it at /agent.json too.",
)
LEGACY = Rule(
    "awp.legacy", WARNING, points=6, section=CONFORMANCE, spec="AWP 0.2 section 5",
    says="The file is written in the dialect from before version 0.1.",
    fix="Rewrite it for version 0.2: awp_version, domain, intent, actions.",
    rationale="A dialect from before version 0.1, which is still served.",
)
NO_ACTIONS = Rule(
    "awp.no_actions", WARNING, points=0, section=COMPLETENESS, spec="AWP 0.2 section 9",
    says="The list of actions is empty.",
    fix="Declare at least one action.",
    rationale="The specification allows an empty list, but clients cannot use it.",
)
ACTION_DESCRIPTION = Rule(
    "awp.action_description", WARNING, points=2, section=CONFORMANCE, spec="AWP 0.2 section 9 and 15",
    says="An action has no description.",
    fix="Describe every action for an agent's planning.",
)
ACTION_INPUTS = Rule(
    "awp.action_inputs", WARNING, points=2, section=CONFORMANCE, spec="AWP 0.2 section 9",
    says="An action does not declare its inputs.",
    fix="Declare inputs, {} where there are none.",
)
ACTION_OUTPUTS = Rule(
    "awp.action_outputs", WARNING, points=1, section=CONFORMANCE, spec="AWP 0.2 section 9",
    says="An action does not declare its outputs.",
    fix="Declare outputs.",
)
ACTION_AUTH = Rule(
    "awp.action_auth", WARNING, points=2, section=CONFORMANCE, spec="AWP 0.2 section 9",
    says="An action does not say whether it needs authentication.",
    fix="Declare auth_required.",
)
METHOD = Rule(
    "awp.method", WARNING, points=3, section=CONFORMANCE, spec="AWP 0.2 section 9",
    says="A method is not GET, POST, PUT, DELETE or PATCH.",
    fix="Use one of these methods.",
)
PROTOCOL_VERSION = Rule(
    "awp.protocol_version", WARNING, points=1, section=CONFORMANCE, spec="AWP 0.2 section 5.5",
    says="A protocol is declared without its version.",
    fix="Add the version that the site implements.",
)
PAYMENT_VERSION = Rule(  # without price: the generic hand-off names no standard, and the text's own example has none
    "awp.payment_version", INFO, points=0, section=CONFORMANCE, spec="AWP 0.2 section 5.5",
    says="The generic payment hand-off is declared without a version.",
    fix="Add a version if the hand-off has one.",
)
DEPENDENCY_UNKNOWN = Rule(
    "awp.dependency_unknown", WARNING, points=0, section=CONFORMANCE, spec="AWP 0.2 section 11",
    says="dependencies names an action that is not declared.",
    fix="Declare the action, or remove the dependency.",
    rationale="A prerequisite that does not exist can never be met.",
)
ALIAS = Rule(
    "awp.alias", INFO, points=0, section=CONFORMANCE, spec="AWP 0.2 section 9",
    says="An action uses another name for a member: intent, parameters or payment.",
    fix="Use description and inputs.",
    rationale="One generator writes these members instead of the specified ones.",
)
VERSION_FORM = Rule(
    "awp.version_form", WARNING, points=2, section=CONFORMANCE, spec="AWP 0.2 section 4",
    says="awp_version is not of the form MAJOR.MINOR.",
    fix="Write the version with one dot, for example \"0.2\".",
)
MEMBER_TYPE = Rule(
    "awp.member_type", WARNING, points=1, section=CONFORMANCE, spec="AWP 0.2 section 5 to 13",
    says="A member has a different type than the specification requires.",
    fix="Write the member as the specification describes it.",
)
WORD = Rule(
    "awp.word", WARNING, points=1, section=CONFORMANCE, spec="AWP 0.2 section 6, 7 and 9",
    says="A member has a value that the specification does not list.",
    fix="Use one of the values that the specification lists.",
)
PROTOCOL_ID = Rule(
    "awp.protocol_id", WARNING, points=1, section=CONFORMANCE, spec="AWP 0.2 section 5.5",
    says="A protocol's identifier is not lower case words joined by hyphens.",
    fix="Write the identifier in lower case, for example agent-payments.",
)
PROTOCOL_ENDPOINT = Rule(
    "awp.protocol_endpoint", WARNING, points=2, section=OPERABILITY, spec="AWP 0.2 section 5.5",
    says="A transport or tool protocol is declared without its endpoint.",
    fix="Add the URL of the protocol's endpoint.",
)
ACTION_UNKNOWN = Rule(
    "awp.action_unknown", WARNING, points=0, section=CONFORMANCE, spec="AWP 0.2 section 7 and 13",
    says="auth or agent_status names an action that is not declared.",
    fix="Declare the action, or remove its name.",
)
ENTITY_UNKNOWN = Rule(
    "awp.entity_unknown", WARNING, points=2, section=CONFORMANCE, spec="AWP 0.2 section 8",
    says="A type refers to an entity that entities does not declare.",
    fix="Declare the entity, or correct its name.",
)
TYPE_UNKNOWN = Rule(
    "awp.type_unknown", INFO, points=0, section=COMPLETENESS, spec="AWP 0.2 section 8",
    says="A type is not a primitive type; it is read as a string.",
    fix="No change is needed if the type is self-explanatory; otherwise use a primitive type.",
)
INPUT_TYPE = Rule(
    "awp.input_type", WARNING, points=1, section=CONFORMANCE, spec="AWP 0.2 section 9",
    says="An input has no type.",
    fix="Give every input its type.",
)
OPTIONS = Rule(
    "awp.options", WARNING, points=1, section=COMPLETENESS, spec="AWP 0.2 section 8 and 9",
    says="An enum does not list its values.",
    fix="List the values in options, or in the brackets of enum[].",
)
SENSITIVITY = Rule(
    "awp.sensitivity", WARNING, points=2, section=SAFETY, spec="AWP 0.2 section 9 and 15",
    says="An action that changes or deletes data does not declare its sensitivity.",
    fix="Set sensitivity to standard, destructive or irreversible.",
)
NO_ERRORS = Rule(
    "awp.no_errors", WARNING, points=2, section=COMPLETENESS, spec="AWP 0.2 section 10 and 15",
    says="No errors are declared, so agents cannot learn how to recover.",
    fix="Declare the errors that may occur, each with its recovery.",
)
RECOVERY = Rule(
    "awp.recovery", WARNING, points=2, section=COMPLETENESS, spec="AWP 0.2 section 10",
    says="An error has no recovery, or one that is not a text.",
    fix="Say in recovery what to call, wait for or change, as a text.",
)
DEPENDENCY_CYCLE = Rule(
    "awp.dependency_cycle", WARNING, points=3, section=CONFORMANCE, spec="AWP 0.2 section 11",
    says="Actions depend on each other in a cycle, so none can be called first.",
    fix="Remove one of the dependencies.",
)
SYNTHETIC_ORIGIN = Rule(
    "awp.synthetic_origin", WARNING, points=3, section=IDENTITY, spec="AWP 0.2 section 14",
    says="A generated file does not declare its origin in full.",
    fix="Give source, generated_by, a confidence between 0 and 1, and the date in last_verified.",
)
