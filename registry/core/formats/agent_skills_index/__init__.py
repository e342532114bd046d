"""Agent Skills discovery 0.1 and 0.2: files of instructions that agents read. Nothing in it can be called."""

import re
from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import HostFacts, ProbePath, Topic
from registry.core.formats.agent_skills_index import rules
from registry.core.formats.agent_skills_index.read import SLUG, at_own_path, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "at_own_path", "dialect"]


def _are_skills_named(facts: HostFacts) -> bool:
    return facts.absent("/.well-known/agent-skills/index.json") and "skills" in facts.words


FORMAT: Final = Format(
    slug=SLUG,
    title="Agent Skills index",
    spec="Agent Skills discovery 0.2.0",
    paths=("/.well-known/agent-skills/index.json", "/.well-known/skills/index.json"),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    rules=rules_in(rules),
    asks=frozenset({"capability.undescribed", "capability.unreachable"}),
    probe_paths=(
        ProbePath("S3", 40, "/.well-known/agent-skills/index.json"),
        ProbePath("S1", 50, "/.well-known/agent-skills/index.json", sub_host="docs"),
        ProbePath("S4", 120, "/.well-known/skills/index.json", when=_are_skills_named),
    ),
    topics=(Topic("skills", (b"skill",), re.compile(rb"\bskills?\b"), in_home=True),),
    precedence=160,
)
