"""What an owner does with a host: hide and show it, leave a note, pin the canonical host, and give tokens back."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from registry.actions.feed import ownership_events
from registry.actions.maintenance.holds import Held, hold_locked, release_locked
from registry.actions.ownership.authorising import NotAnOwner, OtherHost, Owner, changing, reader
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
    async with changing(store, token, host, now=now, is_bounded=False) as owner:
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


@dataclass(frozen=True, slots=True)
class Pinned:
    """What an owner wants to stand for its host, and what does: `canonical` is None while the pin has no effect."""

    wanted: str | None
    canonical: str | None


async def pin(
    store: Store, token: Token, host: str, canonical: str | None, consent: Token | None = None, *, now: datetime
) -> Pinned:
    """Have another host of the domain stand for this one, or end that with None or the host itself.

    It takes effect once an owner of the other host agrees: with the same ownership, or with its token as `consent`
    (core/access/canonical_hosts.py). Raise what `changing` raises, and BadSetting.
    """
    target = None if canonical == host else canonical
    async with changing(store, token, host, now=now) as owner:
        uow, setting = owner.uow, await owner.settings()
        agreed = None if target is None else await _consent(owner, target, consent)
        if target == setting.pinned:
            agreed = agreed or setting.consent
        if (setting.pinned, setting.consent) != (target, agreed):
            await uow.owner_settings.put(replace(setting, pinned=target, consent=agreed))
            await _settle_pins(owner)
            await owner.audit("host.canonical_set", canonical=target)
        now_set = await uow.owner_settings.get(owner.domain, host)
        return Pinned(target, None if now_set is None else now_set.canonical)


async def rotate(store: Store, token: Token, host: str, new: Token, *, now: datetime) -> None:
    """Replace the owner's token by `new`, which has the same id. What the old one agreed to for other owners ends with
    it. Raise what `changing` raises."""
    async with changing(store, token, host, now=now, is_bounded=False) as owner:
        await owner.uow.claims.put(replace(owner.claim, owner_digest=new.digest))
        await owner.uow.owner_settings.end_consents(owner.claim)  # guard: pin-consent-ends
        await _settle_pins(owner)
        await owner.audit("ownership.token_replaced")


async def give_up(store: Store, token: Token, host: str, *, now: datetime) -> None:
    """End the ownership, with everything that its owner has set. Raise what `changing` raises."""
    async with changing(store, token, host, now=now, is_bounded=False) as owner:
        await end(owner.uow, owner.claim, "given_up", actor=owner.actor, now=now)


async def _settle_pins(owner: Owner) -> None:
    repinned = await owner.uow.owner_settings.settle_pins(owner.domain, now=owner.now)
    await owner.uow.ledger.add_changes(ownership_events.repinned(owner.domain, repinned, owner.now))


async def _consent(owner: Owner, target: str, token: Token | None) -> str | None:
    """Return the id of the ownership of `target` that agrees, or None. Raise BadSetting."""
    if registrable_domain(target) != owner.domain:
        raise BadSetting("the canonical host is one of the same registrable domain")
    if not any(claim.covers(target) for claim in owner.claims):  # guard: owner-pin
        raise BadSetting("nobody has proven to own the canonical host")
    if (await owner.uow.holds.limits([owner.domain]))[owner.domain].has_opted_out(target):
        raise BadSetting("the canonical host opted out")
    if owner.claim.covers(target):
        return owner.claim.id
    if token is None:
        return None
    try:
        return (await reader(owner.uow, token, target)).id  # guard: pin-consent-token
    except (NotAnOwner, OtherHost):
        raise BadSetting("the consent is not the token of an owner of the canonical host") from None
