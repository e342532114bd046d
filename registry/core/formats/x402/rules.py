"""Rules for x402 discovery files."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, WARNING, Rule

# fmt: off

NO_RESOURCE = Rule(
    "x402.no_resource", ERROR, points=6, section=CONFORMANCE, spec="x402 specification, Bazaar discovery",
    says="No resource with a usable URL is listed.",
    fix="List the resources with absolute https URLs.",
)
SHAPE = Rule(
    "x402.shape", WARNING, points=2, section=CONFORMANCE, spec="x402 specification, Bazaar discovery",
    says="The file does not have the specified structure.",
    fix="List the resources as items with accepts.",
)
ACCEPTS = Rule(
    "x402.accepts", WARNING, points=2, section=COMPLETENESS, spec="x402 specification, PaymentRequirements",
    says="A resource does not say what payment it accepts.",
    fix="Give every resource accepts with scheme, network, asset, amount and payTo.",
)
RESOURCE = Rule(
    "x402.resource", WARNING, points=2, section=CONFORMANCE, spec="x402 specification 2 section 5.1.2, ResourceInfo",
    says="A resource has no usable URL; it was left out.",
    fix="Give every resource its absolute https URL.",
)
