"""Rules about what a readable body turned out to be, and how it was served."""

from registry.core.model.findings import CONFORMANCE, INFO, OPERABILITY, WARNING, Rule

# fmt: off

BYTE_ORDER_MARK = Rule(
    "document.byte_order_mark", INFO, points=0, section=CONFORMANCE, spec="RFC 8259 section 8.1",
    says="The file starts with a byte order mark.",
    fix="Save the file as UTF-8 without a byte order mark.",
)
HTML = Rule(
    "document.html", INFO, points=0, section=OPERABILITY, spec="RFC 9110 section 15.5.5",
    says="A web page was served where a manifest was asked for.",
    fix="Answer 404 for paths that do not exist.",
)
TEXT = Rule(
    "document.text", INFO, points=0, section=OPERABILITY, spec="RFC 9110 section 15.5.5",
    says="Plain text was served where a manifest was asked for.",
    fix="Publish the manifest as JSON, or answer 404.",
)
NOT_AN_OBJECT = Rule(
    "document.not_an_object", INFO, points=0, section=CONFORMANCE, spec="RFC 8615 section 3",
    says="The JSON is not an object at its top level.",
    fix="Publish one object; lists of services belong in a catalogue.",
)
UNRECOGNISED = Rule(
    "document.unrecognised", INFO, points=0, section=CONFORMANCE, spec="RFC 8615 section 3",
    says="The JSON matches no known format; its keys are shown.",
    fix="Name the format as its specification asks, or answer 404 at this path.",
)
FOREIGN = Rule(
    "document.foreign", INFO, points=0, section=CONFORMANCE, spec="RFC 8615 section 3",
    says="The JSON belongs to another scheme that shares this path.",
    fix="No change is needed; a manifest of a registered format can be served at its own path.",
)
STATED_ABSENCE = Rule(
    "document.stated_absence", INFO, points=0, section=CONFORMANCE, spec="RFC 9110 section 15.5.5",
    says="The file says that the protocol is not offered.",
    fix="Answer 404 instead: absence needs no file.",
)
VERSION_NUMBER = Rule(
    "document.version_number", WARNING, points=1, section=CONFORMANCE,
    spec="OpenAPI 3.1 section 4.8.2; A2A 1.0 section 4.4.1; MCP server card v1 (SEP-2127); ANP 07; AWAS 1.0",
    says="The version is a number, not a text: readers take 1.10 for 1.1.",
    fix="Write the version in quotes.",
)
CONTENT_TYPE = Rule(
    "document.content_type", WARNING, points=1, section=OPERABILITY, spec="RFC 9110 section 8.3",
    says="The document is served with an unexpected media type.",
    fix="Send the Content-Type that the format names, usually application/json.",
)
HTML_TYPE = Rule(
    "document.html_type", WARNING, points=2, section=OPERABILITY, spec="RFC 9110 section 8.3",
    says="JSON is served as a web page.",
    fix="Send Content-Type: application/json.",
)
