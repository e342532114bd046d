"""Rules for ACP discovery documents."""

from registry.core.model.findings import CONFORMANCE, ERROR, WARNING, Rule

# fmt: off

REQUIRED = Rule(
    "acp.required", ERROR, points=8, section=CONFORMANCE, spec="ACP discovery document",
    says="api_base_url is missing, or no service is listed.",
    fix="Name api_base_url and the services that are offered.",
)
DECLARATION = Rule(
    "acp.declaration", WARNING, points=1, section=CONFORMANCE, spec="ACP discovery document",
    says="Version, supported_versions or transports are missing or unknown.",
    fix="Declare version, supported_versions and transports.",
)
SERVICE = Rule(
    "acp.service", WARNING, points=1, section=CONFORMANCE, spec="ACP capabilities.services",
    says="The protocol does not define this service, so its calls are unknown.",
    fix="List checkout, orders, delegate_payment or carts.",
)
SHAPE = Rule(
    "acp.shape", WARNING, points=4, section=CONFORMANCE, spec="ACP discovery, DiscoveryDocument",
    says="The file does not have the specified structure; what it names was read as far as it is clear.",
    fix="Write protocol, api_base_url, transports and capabilities.services as the specification defines them.",
)
