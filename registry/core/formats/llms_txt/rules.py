"""Rules for llms.txt."""

from registry.core.model.findings import CONFORMANCE, ERROR, Rule

# fmt: off

TITLE = Rule(
    "llms.title", ERROR, points=3, section=CONFORMANCE, spec="llmstxt.org, Format",
    says="The text does not begin with a title.",
    fix="Begin the text with a title line, for example \"# Example\".",
)
