"""What an owner does with a host: hide and show it, leave a note, pin the canonical host, and give tokens back."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from registry.actions.feed import ownership_events
from registry.actions.maintenance.holds import Held, hold_locked, release_locked
from registry.actions.ownership.authorising import Owner, changing
from registry.actions.ownership.ending import end
from registry.core.access.holds import Hold
from registry.core.access.tokens import Token
from registry.core.names.domains import registrable_domain
from registry.core.reading.plain_text import plain
from registry.store.unit_of_work import Store

NOTE_CHARS: Final = 500


class BadSetting(ValueError):
    """The setting is not possible; the message says why."""


async def hide(store: Store, token: Token, host: str, *, now: datetime) -> Held:
    """Hide a host, and none below it: it leaves every answer, and is visited and judged as before. Repeating it
    changes nothing. Raise what `changing` raises."""
    async with changing(store, token, host, now=now) as owner:
        hold = Hold(owner.domain, host, "hidden", False, owner.actor, "hidden by its owner", now)
        return await hold_locked(owner.uow, hold, now=now)


async def show(store: Store, token: Token, host: str, *, now: datetime) -> Held:
    """Show a host that its owner hid. Raise what `changing` raises."""
    async with changing(store, token, host, now=now) as owner:
        return await release_locked(owner.uow, host, "hidden", actor=owner.actor, reason="shown by its owner", now=now)


async def set_note(store: Store, token: Token, host: str, note: str, *, now: datetime) -> str:
    """Store a public note, or delete it if it is empty; return it as it is shown. Raise what `changing` raises, and
    BadSetting."""
    if len(note) > NOTE_CHARS:  # guard: owner-note
        raise BadSetting(f"a note has at most {NOTE_CHARS} characters")
    text = plain(note, NOTE_CHARS)
    async with changing(store, token, host, now=now) as owner:
        setting = await owner.settings()
        if setting.note != text:
            await owner.uow.owner_settings.put(replace(setting, note=text))
            await owner.uow.ledger.add_changes([ownership_events.changed(owner.domain, host, "owner_note", now)])
            await owner.audit("host.note_set", chars=len(text))
    return text


async def pin(store: Store, token: Token, host: str, canonical: str | None, *, now: datetime) -> str | None:
    """Have another host of the domain stand for this one, or end that with None or the host itself; return the pinned
    host. Raise what `changing` raises, and BadSetting."""
    target = None if canonical == host else canonical
    async with changing(store, token, host, now=now) as owner:
        if target is not None:
            await _check_pin(owner, target)
        setting = await owner.settings()
        if setting.canonical != target:
            await owner.uow.owner_settings.put(replace(setting, canonical=target))
            await owner.uow.ledger.add_changes([ownership_events.changed(owner.domain, host, "canonical_host", now)])
            await owner.audit("host.canonical_set", canonical=target)
    return target


async def rotate(store: Store, token: Token, host: str, new: Token, *, now: datetime) -> None:
    """Replace the owner's token by `new`, which has the same id. Raise what `changing` raises."""
    async with changing(store, token, host, now=now) as owner:
        await owner.uow.claims.put(replace(owner.claim, owner_digest=new.digest))
        await owner.audit("ownership.token_replaced")


async def give_up(store: Store, token: Token, host: str, *, now: datetime) -> None:
    """End the ownership, with everything that its owner has set. Raise what `changing` raises."""
    async with changing(store, token, host, now=now) as owner:
        await end(owner.uow, owner.claim, "given_up", actor=owner.actor, now=now)


async def _check_pin(owner: Owner, target: str) -> None:
    if registrable_domain(target) != owner.domain:
        raise BadSetting("the canonical host is one of the same registrable domain")
    if not any(claim.is_owner and claim.covers(target) for claim in owner.claims):  # guard: owner-pin
        raise BadSetting("nobody has proven to own the canonical host")
    for setting in await owner.uow.owner_settings.of(owner.domain):
        if setting.host == target and setting.canonical is not None:
            raise BadSetting("the canonical host points to another one itself")
        if setting.canonical == owner.host:
            raise BadSetting("other hosts point to this one, so that it cannot point to another")
