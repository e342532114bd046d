"""Rules for ERC-8004 registrations."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, WARNING, Rule

# fmt: off

TEXT = Rule(
    "erc_8004.text", WARNING, points=1, section=COMPLETENESS, spec="ERC-8004, Agent Registration File",
    says="The registration has no name or no description.",
    fix="Add a name, and a description of what the agent does.",
)
SERVICE = Rule(
    "erc_8004.service", ERROR, points=5, section=CONFORMANCE, spec="ERC-8004, Agent Registration File, services",
    says="A service has no name or no endpoint; it was left out.",
    fix="Give every service its name and its endpoint.",
)
REGISTRATION = Rule(
    "erc_8004.registration", WARNING, points=1, section=CONFORMANCE,
    spec="ERC-8004, Agent Registration File, registrations",
    says="A registration lacks agentId or agentRegistry.",
    fix="Give every registration its agentId and the agentRegistry as namespace:chainId:identityRegistry.",
)
