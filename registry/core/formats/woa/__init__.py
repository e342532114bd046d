"""WoA draft-00, Web of Agents: `/.well-known/woa.json`."""

from typing import Final

from registry.core.format_support.account import Part
from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath
from registry.core.format_support.requirements import codes_in
from registry.core.format_support.shapes import LIST, OBJECT, TEXT
from registry.core.formats.woa import rules
from registry.core.formats.woa.read import SLUG, dialect, read
from registry.core.formats.woa.requirements import REQUIREMENTS
from registry.core.formats.woa.write import WRITER
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect"]

_AGENT: Final = {
    **dict.fromkeys(("id", "name", "description"), TEXT), "inputs": OBJECT, "outputs": OBJECT, "transports": LIST,
}  # fmt: skip

FORMAT: Final = Format(
    slug=SLUG,
    title="Web of Agents",
    spec="draft-gaikwad-woa-00",
    cited_as="WoA ",
    about=(
        "A host names its agents, the JSON Schemas of their inputs and outputs, and how they are called. It "
        "is an Internet-Draft for hosts that run several agents."
    ),
    link="https://datatracker.ietf.org/doc/draft-gaikwad-woa/",
    example={
        "woa_version": "1",
        "agents": [
            {
                "id": "weather",
                "name": "City weather",
                "description": "Tells the weather of any city.",
                "version": "1.0.0",
                "inputs": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
                "outputs": {"type": "object", "properties": {"temperature": {"type": "number"}}},
                "transports": ["rest"],
            },
        ],
        "transports": {"rest": {"base": "https://example.com", "invoke_path": "/agents/{agent_id}"}},
    },
    paths=("/.well-known/woa.json",),
    media_types=("application/woa+json", "application/json"),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/agents/[]", "agent", members=_AGENT),
        Part("/agents/[]/operations/[]", "operation", members={"name": TEXT, "description": TEXT}),
        Part("/transports/{}", "transport", is_offered=False),
    ),
    rules=rules_in(rules),
    requirements=REQUIREMENTS,
    asks=codes_in(REQUIREMENTS),
    accept="application/woa+json",
    probe_paths=(ProbePath("S2", 40, "/.well-known/woa.json"),),
    marks=frozenset({"woa_version"}),
    precedence=50,
    writer=WRITER,
)
