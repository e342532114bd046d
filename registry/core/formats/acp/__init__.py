"""ACP discovery (Agentic Commerce Protocol): a shop's base address and which services of the protocol it offers."""

import re
from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import HostFacts, ProbePath, Topic
from registry.core.formats.acp import rules
from registry.core.formats.acp.read import SLUG, at_own_path, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "at_own_path", "dialect"]


def _is_shop(facts: HostFacts) -> bool:
    return "ucp" in facts.formats or "shop" in facts.words


FORMAT: Final = Format(
    slug=SLUG,
    title="ACP discovery document",
    spec="Agentic Commerce Protocol, discovery",
    paths=("/.well-known/acp.json",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    rules=rules_in(rules),
    probe_paths=(ProbePath("S4", 80, "/.well-known/acp.json", when=_is_shop),),
    topics=(
        Topic(
            "shop", (b"cdn.shopify.com", b"woocommerce"), re.compile(rb"cdn\.shopify\.com|woocommerce"), in_home=True
        ),
    ),
    absence_member="acp",
    precedence=140,
)
