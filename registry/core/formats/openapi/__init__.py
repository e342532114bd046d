"""OpenAPI 2.0 to 3.2, in JSON or YAML: every operation is an HTTP capability."""

import re
from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.probing import CARD_CAP, HostFacts, ProbePath, Topic, never
from registry.core.formats.openapi import rules
from registry.core.formats.openapi.read import SLUG, dialect, read, yaml
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "dialect", "yaml"]

_LABELS: Final = ("api", "docs", "developer", "developers")


def _is_openapi_likely(facts: HostFacts) -> bool:
    return facts.label in _LABELS or "openapi" in facts.words


FORMAT: Final = Format(
    slug=SLUG,
    title="OpenAPI description",
    spec="OpenAPI 3.1; Swagger 2.0",
    paths=("/openapi.json", "/.well-known/openapi.json", "/openapi.yaml", "/swagger.json"),
    media_types=(
        "application/json",
        "application/openapi+json",
        "application/vnd.oai.openapi+json",
        "application/yaml",
        "application/openapi+yaml",
        "application/vnd.oai.openapi",
        "text/yaml",
    ),
    role=Role.SERVICE,
    read=read,
    rules=rules_in(rules),
    asks=frozenset({"service.unnamed", "service.unversioned"}),
    promised_paths=(),
    promised_pattern=re.compile(r"/(openapi|swagger)\.(json|ya?ml)$"),
    link_relations=("service-desc",),
    accept="application/vnd.oai.openapi+json",
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S4", 10, "/openapi.json", when=_is_openapi_likely),
        ProbePath("S4", 20, "/openapi.yaml", fallback_of="/openapi.json", when=_is_openapi_likely),
        ProbePath("S4", 130, "/.well-known/openapi.json", fallback_of="/openapi.json", when=never),
        ProbePath("S4", 140, "/swagger.json", fallback_of="/openapi.json", when=never),
        ProbePath("S1", 40, "/openapi.json", sub_host="api"),
    ),
    topics=(Topic("openapi", (b"openapi", b"service-desc"), re.compile(rb"openapi|service-desc")),),
    precedence=110,
)
