"""ATP 0.1, Agent Transfer Protocol: `/.well-known/agent.json`."""

from typing import Final

from registry.core.format_support.account import Part
from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath
from registry.core.format_support.requirements import codes_in
from registry.core.format_support.shapes import LIST, TEXT
from registry.core.formats.atp import rules
from registry.core.formats.atp.read import REQUIRED, SLUG, dialect, lax_dialect, read
from registry.core.formats.atp.requirements import REQUIREMENTS
from registry.core.formats.atp.write import WRITER
from registry.core.model.documents import Observation
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect", "lax_dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="Agent Transfer Protocol",
    spec="Agent Transfer Protocol 0.1",
    cited_as="ATP ",
    mistakes={"/version": None, "/capabilities/0/parameters/0/type": None, "/capabilities/0/method": "FETCH"},
    about=(
        "A site offers its capabilities to agents as HTTP calls, with parameters, side effects and terms. "
        "Agents read it instead of the pages of the site."
    ),
    link="https://github.com/Shriram-Vasudevan/agent-transfer-protocol",
    example={
        "@context": "https://atp.dev/schema/v1",
        "@type": "AgentManifest",
        "name": "City weather",
        "description": "Tells the weather of any city.",
        "version": "1.0.0",
        "capabilities": [
            {
                "id": "get-weather",
                "name": "Get weather",
                "description": "Tell the weather of a city.",
                "endpoint": "/weather",
                "method": "GET",
                "sideEffects": False,
                "parameters": [
                    {"name": "city", "type": "string", "required": True, "description": "Name of the city."}
                ],
            },
        ],
    },
    paths=("/.well-known/agent.json",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/capabilities/[]", "capability", members=dict.fromkeys(REQUIRED, TEXT)),
        Part("/workflows/[]", "workflow", members=dict.fromkeys(("id", "name", "description"), TEXT)),
    ),
    types={
        **dict.fromkeys(("/name", "/description", "/version", "/provider/name", "/provider/url"), TEXT),
        **dict.fromkeys(("/capabilities/[]/parameters/[]/name", "/capabilities/[]/parameters/[]/type"), TEXT),
        "/workflows/[]/steps": LIST,
    },
    rules=rules_in(rules),
    requirements=REQUIREMENTS,
    asks=codes_in(REQUIREMENTS),
    observations={Observation.NOT_REVALIDATED: rules.REVALIDATION, Observation.NO_HOME_LINK: rules.HOME_LINK},
    probe_paths=(
        ProbePath("S2", 20, "/.well-known/agent.json"),
        ProbePath("S1", 20, "/.well-known/agent.json", sub_host="api"),
    ),
    precedence=30,
    writer=WRITER,
)
