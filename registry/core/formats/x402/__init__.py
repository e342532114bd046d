"""x402 discovery: resources that answer 402, with their prices. These are claims; nothing is ever paid."""

import re
from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import ProbePath, Topic, never
from registry.core.formats.x402 import rules
from registry.core.formats.x402.read import SLUG, at_own_path, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "at_own_path", "dialect"]

FORMAT: Final = Format(
    slug=SLUG,
    title="x402 discovery",
    spec="x402 specification, discovery",
    paths=("/.well-known/x402", "/.well-known/x402.json"),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    rules=rules_in(rules),
    probe_paths=(
        ProbePath("S4", 70, "/.well-known/x402", when=lambda facts: "x402" in facts.words),
        ProbePath("S4", 160, "/.well-known/x402.json", fallback_of="/.well-known/x402", when=never),
    ),
    topics=(Topic("x402", (b"402", b"usdc"), re.compile(rb"\bx402\b|\busdc\b|\b402\b"), in_home=True),),
    absence_member="x402",
    precedence=150,
)
