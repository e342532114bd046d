"""Opt-outs by an owner's token: no further check of the site is needed. Only an owner, or an operator, ends one."""

from datetime import datetime

from registry.actions.maintenance.forget import Forgotten, forget
from registry.actions.maintenance.opt_out import end_opt_out
from registry.actions.ownership.authorising import changing
from registry.actions.ownership.owning import BadSetting
from registry.core.access.tokens import Token
from registry.store.unit_of_work import Store


async def opt_out(store: Store, token: Token, host: str, *, now: datetime) -> Forgotten:
    """Delete everything stored about the host and all below it, the ownership included, and never visit it again.

    Raise NotAnOwner, OtherHost and TooMany.
    """
    async with changing(store, token, host, now=now) as owner:
        actor, evidence = owner.actor, f"claim {owner.claim.id}"
    return await forget(
        store, host, now=now, opt_out="owner", evidence=evidence, reason="its owner asked for it", actor=actor
    )


async def come_back(store: Store, token: Token, host: str, *, now: datetime) -> None:
    """End the opt-out of exactly this host that an owner made. Raise NotAnOwner, OtherHost, TooMany and BadSetting."""
    async with changing(store, token, host, now=now) as owner:
        row = next((row for row in await owner.uow.opt_outs.rows(owner.domain) if row.host == host), None)
        if row is None or row.how != "owner":
            raise BadSetting("no owner has opted out exactly this host; /api/opt-outs ends opt-outs of other kinds")
        await end_opt_out(owner.uow, row, actor=owner.actor, now=now)
