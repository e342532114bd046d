"""Seed the hosts that stored documents name, including those of catalogues (ARD) and their referrals."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from crawler.seeds.source import Source
from registry.actions.frontier.seed import SeedReport
from registry.core.names.seeds import Refusal

if TYPE_CHECKING:
    from registry.wiring import Waypost

LINKS: Final = Source("document", "hosts that stored documents name", "the host whose document names it")


async def fold(
    waypost: "Waypost", on_refusal: Callable[[Refusal], None], progress: Callable[[SeedReport], None]
) -> SeedReport:
    """Take all candidate hosts into the frontier; a worker does the same in small portions."""
    report = SeedReport()
    while (folded := await waypost.frontier.fold_candidates(on_refusal)).names:
        report.add(folded)
        progress(report)
    return report
