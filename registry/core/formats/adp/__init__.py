"""ADP 1.0, Agent Discovery Protocol of agent-dns.dev: `/.well-known/agent`."""

from typing import Final

from registry.core.format_support.account import Part
from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath
from registry.core.format_support.requirements import codes_in
from registry.core.format_support.shapes import OBJECT, TEXT
from registry.core.formats.adp import rules
from registry.core.formats.adp.read import DETAIL, SLUG, VERSION, dialect, endpoint, read
from registry.core.formats.adp.requirements import REQUIREMENTS
from registry.core.formats.adp.write import WRITER
from registry.core.model.findings import rules_in

__all__ = ["DETAIL", "FORMAT", "VERSION", "dialect", "endpoint"]

FORMAT: Final = Format(
    slug=SLUG,
    title="Agent Discovery Protocol",
    spec="Agent Discovery Protocol 1.0",
    cited_as="ADP ",
    mistakes={"/base_url": "http://example.com/", "/auth/type": "token", "/capabilities/0/description": None},
    about=(
        "A service lists its capabilities, one line each, and links to the details of each call. Agents read "
        "the short list first and only the details that they need."
    ),
    link="https://agent-dns.dev/",
    example={
        "spec_version": "1.0",
        "name": "City weather",
        "description": "Tells the weather of any city in the world.",
        "base_url": "https://example.com",
        "auth": {"type": "none"},
        "pricing": {"type": "free"},
        "capabilities": [
            {
                "name": "get_weather",
                "description": "Tell the weather of a city.",
                "detail_url": "/capabilities/get_weather",
            },
        ],
    },
    paths=("/.well-known/agent",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    parts=(Part("/capabilities/[]", "capability", members=dict.fromkeys(("name", "description", "detail_url"), TEXT)),),
    types={
        **dict.fromkeys(("/name", "/description", "/base_url", "/auth/type"), TEXT),
        **dict.fromkeys(("/auth/authorization_url", "/auth/token_url", "/pricing/plans/[]/name"), TEXT),
        "/auth": OBJECT,
    },
    rules=rules_in(rules),
    requirements=REQUIREMENTS,
    asks=codes_in(REQUIREMENTS),
    probe_paths=(
        ProbePath("S2", 30, "/.well-known/agent"),
        ProbePath("S1", 10, "/.well-known/agent", sub_host="api"),
    ),
    precedence=10,
    writer=WRITER,
)
