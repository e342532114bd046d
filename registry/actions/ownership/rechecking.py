"""A visit at once, asked for by the owner of a host."""

from datetime import datetime

from registry.actions.frontier.recheck import Recheck, recheck_in
from registry.actions.ownership.authorising import changing
from registry.core.access.tokens import Token
from registry.store.unit_of_work import Store


async def recheck(store: Store, token: Token, host: str, *, now: datetime) -> Recheck:
    """Queue a visit of the host with the whole plan, whatever strangers asked for. Raise NotAnOwner, OtherHost and
    TooMany. The daily budgets of the site apply, as to every visit."""
    async with changing(store, token, host, now=now) as owner:
        asked = await recheck_in(owner.uow, owner.domain, host, now=now, by_owner=True)
        if asked.state == "queued":
            await owner.audit("host.recheck_asked")
        return asked
