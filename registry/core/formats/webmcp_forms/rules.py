"""Rules for forms of declarative WebMCP."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, INFO, OPERABILITY, WARNING, Rule

# fmt: off

NAME = Rule(
    "webmcp.name", ERROR, points=5, section=CONFORMANCE, spec="WebMCP declarative API, toolname",
    says="A form has a blank toolname; it was left out.",
    fix="Name the tool in toolname.",
)
DESCRIPTION = Rule(
    "webmcp.description", WARNING, points=3, section=CONFORMANCE, spec="WebMCP declarative API, tooldescription",
    says="A form has toolname without tooldescription: browsers do not register it as a tool.",
    fix="Say in tooldescription what the tool does.",
)
CONTROL = Rule(
    "webmcp.control", WARNING, points=1, section=COMPLETENESS, spec="WebMCP declarative API, input schema",
    says="A control of a tool's form has no name, so agents cannot fill it.",
    fix="Name every control that agents should fill.",
)
ACTION = Rule(
    "webmcp.action", INFO, points=0, section=OPERABILITY, spec="HTML, form submission",
    says="The form cannot be sent by HTTP alone: it names no action of this site, or the page adds a token to it.",
    fix="No change is needed; agents open the page and use the form there.",
)
