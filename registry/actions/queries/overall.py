"""The health of the listed services, the worst first, with what is known of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from registry.actions.queries.inspect import HEALTH_LINES
from registry.core.changes.states import State, state_of
from registry.core.model.listing import TrustLevel
from registry.core.names.domains import registrable_domain
from registry.store.catalogue import Health, HealthLine
from registry.store.unit_of_work import Store

UPTIME_OF: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class OverallLine:
    """`uptime`: the percentage of the checks of UPTIME_OF in which it was not down; None if there were none."""

    health: HealthLine
    trust_level: TrustLevel
    seen_at: datetime
    state: State
    uptime: float | None


@dataclass(frozen=True, slots=True)
class Overall:
    """`health`: the numbers, of all listed services; `lines`: the worst ones."""

    health: Health
    lines: Sequence[OverallLine]


async def overall(store: Store, *, now: datetime) -> Overall:
    async with store.begin() as uow:
        health = await uow.catalogue.health(limit=HEALTH_LINES)
        keys = [(registrable_domain(line.host), line.host) for line in health.services]
        checks = await uow.ledger.checks(keys, since=now - UPTIME_OF)
    cards = await store.cards.of(keys)
    lines = []
    for line in health.services:
        if (card := cards.get(line.host)) is None:  # removed since
            continue
        made, down = checks.get(line.host, (0, 0))
        uptime = round(100 * (made - down) / made, 2) if made else None
        state = state_of(card.trust_level, card.seen_at, now)
        lines.append(OverallLine(line, card.trust_level, card.seen_at, state, uptime))
    return Overall(health, lines)
