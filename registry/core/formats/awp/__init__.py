"""AWP, Agent Web Protocol 0.1 and 0.2: `agent.json`."""

from typing import Final

from registry.core.format_support.account import Part
from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath
from registry.core.format_support.requirements import codes_in
from registry.core.format_support.shapes import TEXT
from registry.core.formats.awp import rules
from registry.core.formats.awp.read import PATHS, SLUG, dialect, legacy_dialect, read
from registry.core.formats.awp.requirements import REQUIREMENTS
from registry.core.formats.awp.write import WRITER
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect", "legacy_dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="Agent Web Protocol",
    spec="Agent Web Protocol 0.2",
    cited_as="AWP ",
    mistakes={"/domain": None, "/actions/0/description": None, "/actions/0/auth_required": "no"},
    about=(
        "A site says what agents may do there: actions with their addresses, inputs and errors. Agents that "
        "know the protocol read the file before they open pages."
    ),
    link="https://agentwebprotocol.org/spec",
    example={
        "awp_version": "0.2",
        "domain": "example.com",
        "intent": "Tells the weather of any city.",
        "auth": {"type": "none"},
        "actions": [
            {
                "id": "get_weather",
                "description": "Tell the weather of a city.",
                "endpoint": "/weather",
                "method": "GET",
                "auth_required": False,
                "inputs": {"city": {"type": "string", "required": True}},
                "outputs": {"temperature": {"type": "number"}},
            },
        ],
        "errors": {
            "UNKNOWN_CITY": {"description": "No city has this name.", "recovery": "Ask for the nearest larger city."},
        },
    },
    paths=PATHS,
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/actions/[]", "action", members=dict.fromkeys(("id", "description", "endpoint", "method", "via"), TEXT)),
        Part("/capabilities/actions/[]", "action", members={"name": TEXT}),
    ),
    types={"/domain": TEXT, "/intent": TEXT},
    rules=rules_in(rules),
    requirements=REQUIREMENTS,
    asks=codes_in(REQUIREMENTS),
    promised_paths=("/agent.json",),
    probe_paths=(ProbePath("S2", 10, "/agent.json"),),
    precedence=20,
    writer=WRITER,
)
