"""A2A agent cards 0.1 to 1.0 (a2a-protocol.org): an agent's skills and the addresses where it answers."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import CARD_CAP, ProbePath
from registry.core.formats.a2a import rules
from registry.core.formats.a2a.read import PATHS, SLUG, dialect, read, without_skills
from registry.core.formats.a2a.write import WRITER
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect", "without_skills"]

FORMAT: Final = Format(
    slug=SLUG,
    title="A2A agent card",
    spec="A2A 1.0, AgentCard",
    paths=PATHS,
    media_types=("application/json", "application/a2a+json", "application/a2a-agent-card+json"),
    role=Role.SERVICE,
    read=read,
    rules=rules_in(rules),
    asks=frozenset(
        {
            "service.unnamed",
            "service.undescribed",
            "service.unversioned",
            "capability.undescribed",
            "capability.unreachable",
        }
    ),
    promised_paths=("/.well-known/agent-card.json",),
    accept="application/a2a-agent-card+json",
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S3", 10, "/.well-known/agent-card.json"),
        ProbePath("S1", 30, "/.well-known/agent-card.json", sub_host="api"),
    ),
    absence_member="a2a",
    precedence=70,
    writer=WRITER,
)
