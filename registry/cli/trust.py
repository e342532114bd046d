"""What is known of a service, in lines for a person: the meaning of its trust level, and why that is not higher."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from registry.core.merging.trust import LEVELS, REASONS
from registry.core.model.listing import TrustLevel


def level_line(level: TrustLevel) -> str:
    """Return the meaning of a level."""
    return f"{level.value}: {LEVELS[level].means}"


def reason_lines(reasons: Sequence[str], resembles: Mapping[str, str] | None) -> Iterator[str]:
    """Yield a line for each reason why a level is not higher."""
    for code in reasons:
        says = REASONS[code].says if code in REASONS else code
        named = f" ({resembles['name']}, {resembles['domain']})" if code == "known_name" and resembles else ""
        yield f"not verified: {says}{named}"


def trust_lines(level: str, trust: Mapping[str, Any]) -> Iterator[str]:
    """Yield the meaning of the level, then its reasons. `trust`: `merging.trust.explained`."""
    yield level_line(TrustLevel(level))
    yield from reason_lines(trust["reasons"], trust["resembles"])
