"""Rules for OpenAPI descriptions."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, INFO, OPERABILITY, SAFETY, WARNING, Rule

# fmt: off

TITLE = Rule(
    "openapi.title", ERROR, points=5, section=CONFORMANCE, spec="OpenAPI 3.1 section 4.8.2",
    says="The API description has no title.",
    fix="Add info.title.",
)
EMPTY = Rule(
    "openapi.empty", ERROR, points=8, section=CONFORMANCE, spec="OpenAPI 3.1 section 4.8.1",
    says="The description has neither paths nor webhooks nor components.",
    fix="Describe at least one path.",
)
VERSION = Rule(
    "openapi.version", WARNING, points=1, section=CONFORMANCE, spec="OpenAPI 3.1 section 4.8.2",
    says="The API has no version.",
    fix="Add info.version.",
)
SPECIFICATION = Rule(
    "openapi.specification", WARNING, points=1, section=CONFORMANCE, spec="OpenAPI 3.1 section 4.8.1; OpenAPI 2.0",
    says="The version of the specification is not a text like 3.1.0.",
    fix="Write the version of OpenAPI as a text in quotes, for example 3.1.0, or 2.0 for Swagger.",
)
SERVER = Rule(
    "openapi.server", WARNING, points=2, section=OPERABILITY, spec="OpenAPI 3.1 section 4.8.5",
    says="The server's address is not written as the specification asks; it was read as it is meant.",
    fix="Give each server a url and each of its variables a default; write host without scheme and path, and basePath "
    "with a leading slash.",
)
PLAIN_HTTP = Rule(
    "openapi.plain_http", WARNING, points=8, section=SAFETY, spec="RFC 9110 section 4.2.2",
    says="The server is public, but only by plain http, which others can read and change: no call is shown.",
    fix="Offer the API by https, and name that address.",
)
PATH = Rule(
    "openapi.path", WARNING, points=1, section=CONFORMANCE, spec="OpenAPI 3.1 sections 4.8.8, 4.8.9",
    says="A path has no leading slash, or a method is not in lower case; the operation was read as it is meant.",
    fix="Begin each path with a slash, and write methods in lower case.",
)
PARAMETER = Rule(
    "openapi.parameter", WARNING, points=1, section=COMPLETENESS, spec="OpenAPI 3.1 sections 4.8.12, 4.8.13",
    says="A parameter or a body is not an object with a name and a known place; it was left out.",
    fix="Give each parameter a name, and path, query, header or cookie as its place.",
)
TOO_MANY_PARAMETERS = Rule(
    "openapi.too_many_parameters", INFO, points=0, section=OPERABILITY, spec="OpenAPI 3.1 section 4.8.12",
    says="An operation has more parameters than are shown (500).",
    fix="No change is needed; send many values in the body.",
)
INCOMING = Rule(
    "openapi.incoming", INFO, points=0, section=COMPLETENESS, spec="OpenAPI 3.1 sections 4.8.1, 4.8.18",
    says="Webhooks and callbacks are requests that the API sends; they are not listed as capabilities.",
    fix="No change is needed.",
)
OPERATION_ID = Rule(
    "openapi.operation_id", WARNING, points=2, section=CONFORMANCE, spec="OpenAPI 3.1 section 4.8.10",
    says="An operationId is used twice; the second operation was renamed.",
    fix="Give every operation its own operationId.",
)
REFERENCE = Rule(
    "openapi.reference", WARNING, points=1, section=COMPLETENESS, spec="OpenAPI 3.1 section 4.8.23",
    says="A $ref points outside the document or to nothing; what it names is missing.",
    fix="Bundle the description into one document.",
)
CUT = Rule(
    "openapi.cut", INFO, points=0, section=OPERABILITY, spec="OpenAPI 3.1 section 4.8.23",
    says="So many operations share large schemas that some schemas are not shown.",
    fix="No change is needed; clients resolve the references themselves.",
)
