"""Opt-outs by an owner's token: no further check of the site is needed. Only an owner, or an operator, ends one."""

from datetime import datetime
from typing import Final

from registry.actions.maintenance.forget import Forgotten, forget_candidates, forget_locked
from registry.actions.maintenance.opt_out import end_opt_out
from registry.actions.ownership.authorising import Owner, changing
from registry.actions.ownership.owning import BadSetting
from registry.core.access.tokens import Token
from registry.core.names.opt_out import is_covered
from registry.store.unit_of_work import Store

_NAMED: Final = 3


async def opt_out(store: Store, token: Token, host: str, *, now: datetime) -> Forgotten:
    """Delete everything stored about the host and all below it, the ownership included, and never visit it again.

    Raise NotAnOwner, OtherHost, and BadSetting if a host below has an owner that the token does not cover.
    """
    async with changing(store, token, host, now=now, is_bounded=False) as owner:
        _refuse_for_others(owner)
        forgotten = await forget_locked(
            owner.uow, host, now=now, opt_out="owner", evidence=f"claim {owner.claim.id}",
            reason="its owner asked for it", actor=owner.actor,
        )  # fmt: skip
    return await forget_candidates(store, forgotten)


async def come_back(store: Store, token: Token, host: str, *, now: datetime) -> None:
    """End the opt-out of exactly this host that an owner made. Raise NotAnOwner, OtherHost, TooMany and BadSetting."""
    async with changing(store, token, host, now=now) as owner:
        row = next((row for row in await owner.uow.opt_outs.rows(owner.domain) if row.host == host), None)
        if row is None or row.how != "owner":
            raise BadSetting("no owner has opted out exactly this host; /api/opt-outs ends opt-outs of other kinds")
        await end_opt_out(owner.uow, row, actor=owner.actor, now=now)


def _refuse_for_others(owner: Owner) -> None:
    """Raise BadSetting if the opt-out would delete hosts of other owners. A proof of one host says nothing about the
    hosts below it, which may belong to customers of a platform."""
    others = {
        claim.host
        for claim in owner.claims
        if is_covered(claim.host, [owner.host]) and not owner.claim.covers(claim.host)
    }
    if others:  # guard: owner-opt-out-below
        named = ", ".join(sorted(others)[:_NAMED]) + (" and others" if len(others) > _NAMED else "")
        raise BadSetting(
            f"hosts below this one have other owners ({named}). Hide this host, or opt out with a proof of the whole "
            "domain by DNS, or with a TXT record, a file or robots.txt of the site itself"
        )
