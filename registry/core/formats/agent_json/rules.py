"""Rules for agent.json 1.x."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, IDENTITY, INFO, WARNING, Rule

# fmt: off

VERSION = Rule(
    "agent_json.version", WARNING, points=2, section=CONFORMANCE, spec="agent.json 1.3 section 4.1",
    says="version is missing, or not one of 1.0 to 1.4.",
    fix="Write the version of the specification as a text, such as 1.3.",
)
ORIGIN = Rule(
    "agent_json.origin", WARNING, points=4, section=IDENTITY, spec="agent.json 1.3 section 5.2",
    says="origin is not the host that serves the document; agent runtimes reject it.",
    fix="Write the host that serves the document as origin, or serve the document from the host that it names.",
)
PAYOUT_ADDRESS = Rule(
    "agent_json.payout_address", WARNING, points=2, section=CONFORMANCE, spec="agent.json 1.3 section 4.1",
    says="payout_address is missing.",
    fix="Add the address that receives payments.",
)
NO_INTENTS = Rule(
    "agent_json.no_intents", INFO, points=0, section=COMPLETENESS, spec="agent.json 1.3 section 3",
    says="No intents are declared: the document only claims its origin.",
    fix="Declare what agents can do as intents.",
)
INTENT = Rule(
    "agent_json.intent", ERROR, points=5, section=CONFORMANCE, spec="agent.json 1.3 section 4.2",
    says="An intent has no name or no description; it was left out.",
    fix="Give every intent a name and a description.",
)
INTENT_NAME = Rule(
    "agent_json.intent_name", WARNING, points=1, section=CONFORMANCE, spec="agent.json 1.3 section 4.2",
    says="The name of an intent is not in snake_case.",
    fix="Write the name in lower case with underscores.",
)
METHOD = Rule(
    "agent_json.method", WARNING, points=2, section=COMPLETENESS, spec="agent.json 1.3 section 4.2",
    says="An intent with an endpoint has no method, or another than GET, POST, PUT and DELETE.",
    fix="Declare the HTTP method of the endpoint.",
)
PARAMETER = Rule(
    "agent_json.parameter", WARNING, points=1, section=CONFORMANCE, spec="agent.json 1.3 section 4.3",
    says="A parameter's type is missing or unknown.",
    fix="Write the type as string, integer, number, boolean, array or object.",
)
PRICE = Rule(
    "agent_json.price", WARNING, points=2, section=CONFORMANCE, spec="agent.json 1.3 section 4.5",
    says="A price has no amount or no currency.",
    fix="Write the amount as a number and name the currency.",
)
REWARD = Rule(
    "agent_json.reward", WARNING, points=1, section=CONFORMANCE, spec="agent.json 1.3 sections 4.4 and 4.6",
    says="A bounty or an incentive has no type, rate or currency.",
    fix="Add the member that is missing: type is cpa, rate a number.",
)
SPLITS = Rule(
    "agent_json.splits", WARNING, points=1, section=CONFORMANCE, spec="agent.json 1.3 section 4.4.1",
    says="The splits of a bounty are not shares between 0 and 1 that add up to 1.",
    fix="Give orchestrator, platform and referrer shares that add up to 1.0.",
)
COMMITMENT = Rule(
    "agent_json.commitment", WARNING, points=1, section=CONFORMANCE, spec="agent.json 1.4 section 4.10.1",
    says="A commitment has no type or no constraint; it was left out.",
    fix="Give every entry of commitments a type and a constraint in words.",
)
X402 = Rule(
    "agent_json.x402", WARNING, points=1, section=CONFORMANCE, spec="agent.json 1.3 section 4.8.1",
    says="The x402 object does not say whether it is supported, or one of its networks lacks network or asset.",
    fix="Add supported to x402, and network and asset to each of its networks.",
)
AD_HOC = Rule(
    "agent_json.adhoc", WARNING, points=6, section=CONFORMANCE, spec="agent.json 1.3; A2A 1.0 AgentCard",
    says="The card follows no specification; what it names was read as far as it is clear.",
    fix="Publish a card of a specification that clients know, such as an A2A agent card.",
)
