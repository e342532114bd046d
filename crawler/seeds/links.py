"""Links found in manifests: hosts that stored documents name, catalogues (ARD) and their referrals among them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from crawler.seeds.source import Source
from registry.actions.frontier.seed import SeedReport
from registry.core.seeds import Refusal

if TYPE_CHECKING:
    from registry.wiring import Waypost

LINKS: Final = Source("document", "hosts that stored documents name", "the host whose document names it")


async def fold(
    waypost: "Waypost", on_refusal: Callable[[Refusal], None], progress: Callable[[SeedReport], None]
) -> SeedReport:
    """Looks at everything that was named and not looked at yet; a worker does the same, a little at a time."""
    report = SeedReport()
    while (folded := await waypost.fold_candidates(on_refusal)).names:
        report.add(folded)
        progress(report)
    return report
