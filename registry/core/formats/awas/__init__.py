"""AWAS, AI-readable Web Action Standard: `/.well-known/ai-actions.json` and bridges."""

from typing import Final

from registry.core.format_support.account import Part
from registry.core.format_support.format import Format, PageHint, Role
from registry.core.format_support.probing import ProbePath, never
from registry.core.format_support.requirements import codes_in
from registry.core.format_support.shapes import TEXT
from registry.core.formats.awas import rules
from registry.core.formats.awas.checks import is_unversioned_break
from registry.core.formats.awas.read import OWN_PATHS, PUBLISHED, SLUG, has_page_hint, read, weak_dialect
from registry.core.formats.awas.requirements import REQUIREMENTS
from registry.core.formats.awas.write import WRITER
from registry.core.model.documents import Observation
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "OWN_PATHS", "PUBLISHED", "weak_dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="AI-readable Web Action Standard",
    spec="AWAS 1.0",
    cited_as="AWAS ",
    mistakes={"/description": None, "/actions/0/description": None, "/actions/0/method": "FETCH"},
    about=(
        "A site names the actions that agents may take, with addresses, parameters and results. Agents and "
        "AI browsers read it instead of guessing from pages."
    ),
    link="https://github.com/TamTunnel/AWAS",
    example={
        "version": "1.0",
        "name": "City weather",
        "description": "Tells the weather of any city.",
        "actions": [
            {
                "id": "get-weather",
                "name": "Get weather",
                "description": "Tell the weather of a city.",
                "path": "/weather",
                "method": "GET",
                "parameters": [
                    {
                        "name": "city",
                        "type": "string",
                        "required": True,
                        "description": "Name of the city.",
                        "example": "Oslo",
                    },
                ],
            },
        ],
    },
    paths=(
        "/.well-known/ai-actions.json",
        "/.well-known/awas.json",
        "/.well-known/mcp-manifest.json",
        "/.well-known/a2a-manifest.json",
        "/ai-actions.json",
    ),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/actions/[]", "action", members=dict.fromkeys(("id", "name", "description", "path", "method"), TEXT)),
        Part("/customer_actions/{}", "action"),
        Part("/workflows/[]", "workflow"),
    ),
    types={
        **dict.fromkeys(("/name", "/description", "/version"), TEXT),
        **dict.fromkeys(("/actions/[]/parameters/[]/name", "/actions/[]/parameters/[]/type"), TEXT),
    },
    rules=rules_in(rules),
    requirements=REQUIREMENTS,
    asks=codes_in(REQUIREMENTS),
    observations={Observation.UNVERSIONED_CHANGE: rules.UNVERSIONED_CHANGE},
    is_unversioned_break=is_unversioned_break,
    link_relations=("ai-actions",),
    probe_paths=(
        ProbePath("S2", 50, "/.well-known/ai-actions.json"),
        ProbePath("S2", 60, "/.well-known/mcp-manifest.json"),
        ProbePath("S2", 70, "/.well-known/a2a-manifest.json"),
        ProbePath("S2", 80, "/.well-known/awas.json"),
        ProbePath("S4", 210, "/ai-actions.json", fallback_of="/.well-known/ai-actions.json", when=never),
    ),
    precedence=40,
    writer=WRITER,
    marks=frozenset({"version", "specVersion", "schemaVersion", "schema_version"}),
    page_hint=PageHint(has_page_hint, rules.HINT),
)
