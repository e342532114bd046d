"""The interface of all sources of names, and the seeding of hosts that stored documents name.

Documents include catalogues (ARD) and their referrals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from registry.actions.frontier.frontier import SeedReport
from registry.core.names.seeds import Refusal

if TYPE_CHECKING:
    from registry.wiring import Waypost


@dataclass(frozen=True, slots=True)
class SeedSource:
    """A kind of source of names."""

    slug: str  # stored in hosts.source
    says: str  # description
    referrer: str  # stored in hosts.referrer


class BadSource(ValueError):
    """A source cannot be read, and nothing was taken from it. The message says what to fix."""


BROKEN_OFF = "source_"  # prefix of refusal codes that mean that a source, or a part of it, was not read to its end


LINKS: Final = SeedSource("document", "hosts that stored documents name", "the host whose document names it")


async def fold(
    waypost: "Waypost", on_refusal: Callable[[Refusal], None], progress: Callable[[SeedReport], None]
) -> SeedReport:
    """Take all candidate hosts into the frontier; a worker does the same in small portions."""
    report = SeedReport()
    while (folded := await waypost.frontier.fold_candidates(on_refusal)).names:
        report.add(folded)
        progress(report)
    return report
