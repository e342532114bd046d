"""Rules for A2A agent cards."""

from registry.core.model.findings import CONFORMANCE, ERROR, IDENTITY, INFO, OPERABILITY, WARNING, Rule

# fmt: off

UNNAMED = Rule(
    "a2a.name", ERROR, points=8, section=CONFORMANCE, spec="A2A 1.0 AgentCard.name",
    says="The agent card has no name.",
    fix="Add a name.",
)
NO_SKILL = Rule(
    "a2a.no_skill", ERROR, points=12, section=CONFORMANCE, spec="A2A 1.0 AgentCard.skills",
    says="The agent card has no skill with an id and a name.",
    fix="Describe at least one skill.",
)
SKILL = Rule(
    "a2a.skill", ERROR, points=5, section=CONFORMANCE, spec="A2A 1.0 AgentSkill",
    says="A skill has neither an id nor a name; it was left out.",
    fix="Give every skill an id and a name.",
)
NO_ENDPOINT = Rule(
    "a2a.no_endpoint", ERROR, points=12, section=CONFORMANCE,
    spec="A2A 1.0 AgentCard.supportedInterfaces; A2A 0.3 AgentCard.url",
    says="The agent card names no address at which the agent can be called.",
    fix="Add supportedInterfaces (1.0) or url (0.3 and older).",
)
REQUIRED = Rule(
    "a2a.required", WARNING, points=2, section=CONFORMANCE, spec="A2A 1.0 AgentCard, AgentSkill",
    says="A member that the card's own version requires is missing.",
    fix="Add the missing member.",
)
MISDECLARED = Rule(
    "a2a.misdeclared", WARNING, points=3, section=CONFORMANCE, spec="A2A 1.0 AgentCard.supportedInterfaces",
    says="The card declares version 1.0 in the shape of 0.3.",
    fix="List the agent's addresses in supportedInterfaces, or declare 0.3.0.",
)
HYBRID = Rule(
    "a2a.hybrid", INFO, points=0, section=CONFORMANCE, spec="A2A 1.0 AgentCard; A2A 0.3 AgentCard.url",
    says="The card is written for 1.0 and for older clients at once.",
    fix="No change is needed while older clients are served.",
)
PROVIDER_NAME = Rule(
    "a2a.provider_name", WARNING, points=1, section=CONFORMANCE, spec="A2A 1.0 AgentProvider.organization",
    says="The provider has name instead of organization.",
    fix="Rename provider.name to provider.organization.",
)
CAPABILITIES = Rule(
    "a2a.capabilities", WARNING, points=1, section=CONFORMANCE, spec="A2A 1.0 AgentCapabilities",
    says="capabilities is not an object.",
    fix="Make capabilities an object; describe what the agent can do in skills.",
)
SKILL_TEXT = Rule(
    "a2a.skill_text", WARNING, points=3, section=CONFORMANCE, spec="A2A 1.0 AgentSkill",
    says="Skills are texts instead of objects.",
    fix="Write each skill as an object with id, name, description and tags.",
)
SNAKE_CASE = Rule(
    "a2a.snake_case", WARNING, points=2, section=CONFORMANCE, spec="A2A 1.0 section 5.5",
    says="Members are written in snake_case.",
    fix="Write the card's members in camelCase.",
)
INTERFACE = Rule(
    "a2a.interface", WARNING, points=2, section=CONFORMANCE, spec="A2A 1.0 AgentInterface; A2A 0.3 AgentInterface",
    says="An interface lacks its url, its binding or its version.",
    fix="Give every interface url, protocolBinding and protocolVersion (0.3: url and transport).",
)
ENDPOINT_DOUBTFUL = Rule(
    "a2a.endpoint_doubtful", WARNING, points=3, section=OPERABILITY,
    spec="A2A 1.0 AgentInterface.url; A2A 0.3 section 5.6.1",
    says="The address of the agent is a page, the card itself, a bare site, or one operation, or has no scheme.",
    fix="Name the address that answers the protocol's calls.",
)
SIGNATURE = Rule(
    "a2a.signature", WARNING, points=1, section=IDENTITY, spec="A2A 1.0 AgentCardSignature",
    says="A signature is not an object with the texts protected and signature.",
    fix="Write each signature as JWS with detached payload, or remove it.",
)
