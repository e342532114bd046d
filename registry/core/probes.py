"""The probe plan as data: what is asked of a host, in which order, under which condition (probe-plan.md).

The paths are ours; a request URL is never anything else than a canonical host and one of these, or a pointer that
passed `parse_https`. `plan.py` walks through this table.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from registry.core.documents import Outcome, Probe, Purpose, Via
from registry.core.robots import CAP as ROBOTS_CAP

BUDGET: Final = 40  # requests of one visit, robots.txt and redirects included, capability details apart
DETAIL_BUDGET: Final = 25
MAX_POINTERS: Final = 10  # followed in one visit
MAX_DEPTH: Final = 4  # documents between a path of this table and the last pointer followed

JSON_CAP: Final = 1024 * 1024
CARD_CAP: Final = 4 * 1024 * 1024
TEXT_CAP: Final = 512 * 1024

ABSENT: Final = frozenset({Outcome.ABSENT, Outcome.GONE, Outcome.NOT_A_MANIFEST})
"""Answers after which the fallback path of a document is asked."""

_ANY_JSON = "application/json, */*;q=0.1"
_OWN_TYPE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "woa": "application/woa+json",
        "a2a": "application/a2a-agent-card+json",
        "mcp-server-card": "application/mcp-server-card+json",
        "ai-catalog": "application/ai-catalog+json",
        "api-catalog": "application/linkset+json",
        "openapi": "application/vnd.oai.openapi+json",
    }
)
_CARDS = frozenset({"a2a", "mcp-server-card", "mcp-json", "ai-catalog", "api-catalog", "openapi"})
_TEXTS = frozenset({"llms-txt", "auth-md", "pricing-md"})
_TEXT_ACCEPT = "text/markdown, text/plain, */*;q=0.1"


@dataclass(frozen=True, slots=True)
class Step:
    """One path of the plan. `format` is what is hoped for there; it sets `Accept` and the cap, never the verdict."""

    stage: str
    path: str
    format: str | None = None
    fallback_of: str | None = None  # asked only when that path of this table is absent


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a host once its paths were asked: the ground of the conditional probes."""

    label: str  # first label of the host
    formats: frozenset[str]  # FOUND here
    outcomes: Mapping[str, Outcome]  # by path of this host
    words: frozenset[str]  # topics named by the documents found and by the front page, see `words_in`
    rpc_here: bool  # an MCP or A2A endpoint on this very host

    def absent(self, *paths: str) -> bool:
        return all(self.outcomes.get(path) in ABSENT for path in paths)


STEPS: Final = (
    Step("S1", "/.well-known/ard.json", "ai-catalog"),
    Step("S1", "/.well-known/ai-catalog.json", "ai-catalog", fallback_of="/.well-known/ard.json"),
    Step("S1", "/.well-known/api-catalog", "api-catalog"),
    Step("S1", "/llms.txt", "llms-txt"),
    Step("S2", "/agent.json", "awp"),
    Step("S2", "/.well-known/agent.json", "atp"),
    Step("S2", "/.well-known/agent", "adp"),
    Step("S2", "/.well-known/woa.json", "woa"),
    Step("S2", "/.well-known/ai-actions.json", "awas"),
    Step("S2", "/.well-known/mcp-manifest.json", "awas"),
    Step("S2", "/.well-known/a2a-manifest.json", "awas"),
    Step("S2", "/.well-known/awas.json", "awas"),
    Step("S3", "/.well-known/agent-card.json", "a2a"),
    Step("S3", "/.well-known/mcp/server-card.json", "mcp-server-card"),
    Step("S3", "/.well-known/mcp.json", "mcp-json", fallback_of="/.well-known/mcp/server-card.json"),
    Step("S3", "/.well-known/agent-skills/index.json", "agent-skills-index"),
    Step("S3", "/.well-known/ucp", "ucp"),
)

SHORT: Final[Mapping[str, tuple[Step, ...]]] = MappingProxyType(
    {
        "mcp": (
            Step("S1", "/.well-known/mcp/server-card.json", "mcp-server-card"),
            Step("S1", "/.well-known/mcp.json", "mcp-json", fallback_of="/.well-known/mcp/server-card.json"),
            Step("S1", "/.well-known/oauth-protected-resource"),
            Step("S1", "/.well-known/ard.json", "ai-catalog"),
        ),
        "api": (
            Step("S1", "/.well-known/agent", "adp"),
            Step("S1", "/.well-known/agent.json", "atp"),
            Step("S1", "/.well-known/agent-card.json", "a2a"),
            Step("S1", "/openapi.json", "openapi"),
            Step("S1", "/.well-known/api-catalog", "api-catalog"),
        ),
        "docs": (
            Step("S1", "/llms.txt", "llms-txt"),
            Step("S1", "/.well-known/ard.json", "ai-catalog"),
            Step("S1", "/.well-known/api-catalog", "api-catalog"),
            Step("S1", "/.well-known/mcp/server-card.json", "mcp-server-card"),
            Step("S1", "/.well-known/agent-skills/index.json", "agent-skills-index"),
        ),
    }
)
"""Sub-hosts that are looked at because their domain had a hit, by first label."""

_TOPICS: Final[Mapping[str, tuple[tuple[bytes, ...], re.Pattern[bytes]]]] = MappingProxyType(
    {
        "openapi": ((b"openapi", b"service-desc"), re.compile(rb"openapi|service-desc")),
        "mcp": ((b"mcp", b"model context protocol"), re.compile(rb"\bmcp\b|model context protocol")),
        "x402": ((b"402", b"usdc"), re.compile(rb"\bx402\b|\busdc\b|\b402\b")),
        "shop": ((b"cdn.shopify.com", b"woocommerce"), re.compile(rb"cdn\.shopify\.com|woocommerce")),
        "skills": ((b"skill",), re.compile(rb"\bskills?\b")),
        "auth.md": ((b"/auth.md",), re.compile(rb"/auth\.md\b")),
        "pricing.md": ((b"/pricing.md",), re.compile(rb"/pricing\.md\b")),
    }
)
"""What a text can name that is worth a request: plain words without which the pattern need not be tried, and it."""

HOME_TOPICS: Final = ("mcp", "x402", "shop", "skills")
"""What is looked for in a front page. The others are named by documents, and by links that are followed anyway."""

_SEARCHED: Final = 64 * 1024  # bytes of a document that are searched for words
_SEARCHED_HOME: Final = 16 * 1024  # bytes of a front page: every host has one, few have use for what it says


NO_WORDS: Final = frozenset[str]()


def words_in(text: bytes) -> frozenset[str]:
    """The topics that a document names."""
    return _words(text[:_SEARCHED], _TOPICS)


def words_in_home(text: bytes) -> frozenset[str]:
    """The topics that a front page names."""
    return _words(text[:_SEARCHED_HOME], HOME_TOPICS)


def _words(text: bytes, topics: Iterable[str]) -> frozenset[str]:
    text = text.lower()
    named = [
        topic for topic in topics if any(word in text for word in _TOPICS[topic][0]) and _TOPICS[topic][1].search(text)
    ]
    return frozenset(named) if named else NO_WORDS  # nearly all front pages name none, and visits last


def _wants_openapi(seen: Seen) -> bool:
    return seen.label in ("api", "docs", "developer", "developers") or "openapi" in seen.words


CONDITIONAL: Final[tuple[tuple[Step, Callable[[Seen], bool]], ...]] = (
    (Step("S4", "/openapi.json", "openapi"), _wants_openapi),
    (Step("S4", "/openapi.yaml", "openapi", fallback_of="/openapi.json"), _wants_openapi),
    (Step("S4", "/.well-known/ai-plugin.json", "ai-plugin"), lambda seen: True),
    (Step("S4", "/.well-known/agents.json", "agents-json"), lambda seen: True),
    (
        Step("S4", "/.well-known/mcp", "mcp-json"),
        lambda seen: seen.absent("/.well-known/mcp/server-card.json", "/.well-known/mcp.json") and "mcp" in seen.words,
    ),
    (Step("S4", "/.well-known/oauth-protected-resource"), lambda seen: seen.rpc_here),
    (Step("S4", "/.well-known/x402", "x402"), lambda seen: "x402" in seen.words),
    (Step("S4", "/.well-known/acp.json", "acp"), lambda seen: "ucp" in seen.formats or "shop" in seen.words),
    (Step("S4", "/.well-known/agent-permissions.json", "agent-permissions"), lambda seen: True),
    (Step("S4", "/auth.md", "auth-md"), lambda seen: "auth.md" in seen.words),
    (Step("S4", "/pricing.md", "pricing-md"), lambda seen: "pricing.md" in seen.words),
    (
        Step("S4", "/.well-known/skills/index.json", "agent-skills-index"),
        lambda seen: seen.absent("/.well-known/agent-skills/index.json") and "skills" in seen.words,
    ),
)
"""Asked only of hosts where something was found, each under its own condition (probe-plan.md section 3)."""

MAX_CONDITIONAL: Final = 9


def robots_probe(host: str) -> Probe:
    return Probe(f"https://{host}/robots.txt", Purpose.ROBOTS, "S0", "text/plain, */*;q=0.1", ROBOTS_CAP)


def home_probe(host: str) -> Probe:
    return Probe(f"https://{host}/", Purpose.HOME, "S0", "text/html, */*;q=0.1", TEXT_CAP)


def control_probe(host: str, path: str) -> Probe:
    return Probe(f"https://{host}{path}", Purpose.CONTROL, "S0", _ANY_JSON, TEXT_CAP)


def manifest_probe(host: str, step: Step) -> Probe:
    return Probe(f"https://{host}{step.path}", Purpose.MANIFEST, step.stage, *_asked_as(step.format))


def pointer_probe(url: str, via: Via | None, expected: str | None) -> Probe:
    """`url` is canonical (`parse_https`)."""
    return Probe(url, Purpose.POINTER, "S5", *_asked_as(expected), via)


def detail_probe(url: str, via: Via | None) -> Probe:
    return Probe(url, Purpose.DETAIL, "S5", _ANY_JSON, JSON_CAP, via)


def keeps_head(probe: Probe) -> bool:
    """Whether a body over the cap is cut and marked `truncated`; of all others it is TOO_LARGE: cut JSON is no JSON."""
    if probe.purpose in (Purpose.ROBOTS, Purpose.HOME, Purpose.CONTROL):
        return True
    return probe.accept == _TEXT_ACCEPT


@lru_cache(maxsize=64)
def _asked_as(format_slug: str | None) -> tuple[str, int]:
    """`Accept` and the cap for a path where this format is hoped for."""
    return _accept(format_slug), _cap(format_slug)


def _accept(format_slug: str | None) -> str:
    if format_slug in _TEXTS:
        return _TEXT_ACCEPT
    own = _OWN_TYPE.get(format_slug or "")
    return f"{own}, {_ANY_JSON}" if own else _ANY_JSON


def _cap(format_slug: str | None) -> int:
    if format_slug in _TEXTS:
        return TEXT_CAP
    return CARD_CAP if format_slug in _CARDS else JSON_CAP
