"""Rules for UCP profiles."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, WARNING, Rule

# fmt: off

NOT_AN_OBJECT = Rule(
    "ucp.not_an_object", ERROR, points=8, section=CONFORMANCE, spec="UCP 2026-04-08 Discovery",
    says="The profile's ucp member is not an object.",
    fix="Write ucp as an object with version, services and capabilities.",
)
NO_SERVICES = Rule(
    "ucp.no_services", ERROR, points=8, section=CONFORMANCE, spec="UCP 2026-04-08 Services",
    says="The profile has no services.",
    fix="List the services with their transports.",
)
VERSION = Rule(
    "ucp.version", WARNING, points=1, section=CONFORMANCE, spec="UCP 2026-04-08 Versioning",
    says="The version is not a date.",
    fix="Write the version as YYYY-MM-DD.",
)
NO_CAPABILITIES = Rule(
    "ucp.no_capabilities", WARNING, points=3, section=COMPLETENESS, spec="UCP 2026-01-11 Discovery Profile",
    says="The profile has no capabilities, which its release demands.",
    fix="List the capabilities that are offered.",
)
TRANSPORT = Rule(
    "ucp.transport", WARNING, points=2, section=CONFORMANCE, spec="UCP 2026-04-08 Services",
    says="A service has no transport or no endpoint.",
    fix="Give every service its transport and endpoint.",
)
SHAPE = Rule(
    "ucp.shape", WARNING, points=3, section=CONFORMANCE, spec="UCP 2026-04-08 Discovery",
    says="The file does not have the specified structure.",
    fix="Write the profile as the protocol describes it.",
)
CAPABILITY = Rule(
    "ucp.capability", WARNING, points=1, section=CONFORMANCE, spec="UCP 2026-04-08 Capabilities",
    says="A capability has no name; it was left out.",
    fix="Name every capability as a reversed domain, for example dev.ucp.shopping.checkout.",
)
