"""What an owner can do with a host, and see of it.

Owners hide and show hosts, set a note, pin the canonical host, request a visit, set a webhook, opt out and come back,
and give the token back. The token must belong to a proven ownership that has not ended and covers the host. An opt-out
by token needs no further check of the site; only an owner or an operator ends it.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from registry.actions import Clock, feed, polled, webhooks
from registry.actions.access import new_token
from registry.actions.feedback import FeedbackOverview, feedback_about
from registry.actions.frontier.recheck import Recheck, recheck_in
from registry.actions.maintenance import forget
from registry.actions.maintenance.opt_out import end_opt_out
from registry.actions.mirroring.apply import refuse_in_mirror
from registry.actions.ownership.claiming import HOUR, TooMany, counted, end, lock, used
from registry.core.access.audit import AuditEvent, owner_actor
from registry.core.access.claims import OWNER
from registry.core.access.holds import Hold, HoldKind
from registry.core.access.tokens import Token
from registry.core.changes.kinds import Types
from registry.core.names.domains import host_of, registrable_domain
from registry.core.names.opt_out import is_covered
from registry.core.reading.plain_text import plain
from registry.store.api_keys import AuditRecord
from registry.store.claims import ClaimRecord, OwnerSettingRecord
from registry.store.reports import ReportRecord
from registry.store.unit_of_work import Store, UnitOfWork
from registry.store.webhooks import DeliveryRecord, WebhookRecord

MAX_CHANGES: Final = 60
"""Changes per hour by one owner. Changes that protect an owner are never refused for it (`_changing`)."""

_NO_DIGEST: Final = bytes(32)


class NotAnOwner(Exception):
    """The token is unknown, was replaced, or its ownership has ended."""


class OtherHost(Exception):
    """The ownership does not cover this host."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner who makes a change, in the transaction `uow`, which has locked the domain and its `claims`."""

    uow: UnitOfWork
    claim: ClaimRecord
    claims: tuple[ClaimRecord, ...]
    domain: str
    host: str
    now: datetime

    @property
    def actor(self) -> str:
        return owner_actor(self.claim.id)

    async def settings(self) -> OwnerSettingRecord:
        """Return the settings of the host, marked as set by this owner."""
        known = await self.uow.owner_settings.get(self.domain, self.host)
        if known is None:
            return OwnerSettingRecord(self.domain, self.host, self.claim.id, self.now)
        return replace(known, claim=self.claim.id, changed_at=self.now)

    async def settle_pins(self) -> None:
        repinned = await self.uow.owner_settings.settle_pins(self.domain, now=self.now)
        await self.uow.ledger.add_changes(feed.repinned(self.domain, repinned, self.now))

    async def audit(self, action: str, **detail: object) -> None:
        await self.uow.audit.add(AuditEvent(self.actor, action, self.domain, self.host, "", detail), now=self.now)


async def reader(uow: UnitOfWork, token: Token, host: str) -> ClaimRecord:
    """Return the ownership of a token if it covers the host. Raise NotAnOwner and OtherHost."""
    claim = await uow.claims.get(token.id)
    digest = claim.owner_digest if claim is not None and claim.is_owner else None
    is_right = token.matches(digest or _NO_DIGEST)  # guard: owner-token
    if claim is None or digest is None or not is_right:
        raise NotAnOwner
    if not claim.covers(host):  # guard: owner-host
        raise OtherHost
    return claim


NOTE_CHARS: Final = 500


class BadSetting(ValueError):
    """The setting is not possible; the message says why."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """`wanted`: canonical host that the owner wants. `canonical`: the one in effect, or None while the pin has no
    effect."""

    wanted: str | None
    canonical: str | None


async def _consent(owner: Owner, target: str, token: Token | None) -> str | None:
    """Return the id of the ownership of `target` that agrees, or None. Raise BadSetting."""
    if registrable_domain(target) != owner.domain:
        raise BadSetting("the canonical host is one of the same registrable domain")
    if not any(claim.covers(target) for claim in owner.claims):  # guard: owner-pin
        raise BadSetting("the canonical host has no proven owner")
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


_NAMED: Final = 3


ENTRIES: Final = 50  # latest entries of the audit log that are shown
DELIVERIES: Final = 20  # latest attempts to send to the webhook that are shown


@dataclass(frozen=True, slots=True)
class OwnershipOverview:
    """`holds`: the holds that cover the host. `setting`: None if the owner has set nothing. `reports`: the latest about
    the host, without their authors. `feedback`: of clients, without them. `deliveries`: the latest attempts to send to
    the webhook."""

    host: str
    claim: ClaimRecord
    holds: frozenset[HoldKind]
    setting: OwnerSettingRecord | None
    webhook: WebhookRecord | None
    audit: Sequence[AuditRecord]
    reports: Sequence[ReportRecord]
    feedback: FeedbackOverview
    deliveries: Sequence[DeliveryRecord]


@dataclass(eq=False)
class OwnershipActions:
    """What an owner can do with a host. `_exempt`: names that may be special-use names."""

    _store: Store
    _clock: Clock
    _exempt: Collection[str] = ()

    async def overview(self, token: Token, host: str) -> OwnershipOverview:
        """Return the ownership and everything the owner may see. Raise NotAnOwner, OtherHost and DecidedAtOrigin."""
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            await refuse_in_mirror(uow, host)
            claim = await reader(uow, token, host)
            setting = await uow.owner_settings.get(domain, host)
            webhook: WebhookRecord | None = None
            deliveries: Sequence[DeliveryRecord] = ()
            if setting is not None and setting.webhook is not None:
                webhook = await uow.webhooks.locked(setting.webhook)
                deliveries = await uow.webhooks.deliveries(setting.webhook, limit=DELIVERIES)
            limits = (await uow.holds.limits([domain]))[domain]
            entries = await uow.audit.latest(limit=ENTRIES, host=host)
            reports = await uow.reports.of_host(domain, host, limit=ENTRIES)
            feedback = await feedback_about(uow, domain, host)
        return OwnershipOverview(
            host, claim, limits.kinds(host), setting, webhook, entries, reports, feedback, deliveries
        )

    async def ownership_of(self, token: Token) -> ClaimRecord:
        """Return the ownership of a token, with the host that was proven. Raise NotAnOwner."""
        async with self._store.begin() as uow:
            claim = await uow.claims.get(token.id)
            return await reader(uow, token, "" if claim is None else claim.host)

    @asynccontextmanager
    async def _changing(self, token: Token, host: str, *, is_bounded: bool = True) -> AsyncIterator[Owner]:
        """Yield the owner for one change of a host in canonical spelling. With `is_bounded` False the change is never
        refused for a limit: hiding, leaving, and replacing or giving back the token. Raise NotAnOwner, OtherHost,
        TooMany and DecidedAtOrigin."""
        domain, now = registrable_domain(host), self._clock()
        async with self._store.begin() as uow:
            await refuse_in_mirror(uow, host)
            await lock(uow, domain)
            claims = await uow.claims.owners(domain, lock=True)
            claim = await reader(uow, token, host)
            # guard: owner-protection-unbounded
            if is_bounded and used(claim, now) >= MAX_CHANGES:  # guard: owner-changes
                raise TooMany("Too many changes by this owner within an hour.", HOUR)
            claim = counted(claim, now)
            await uow.claims.put(claim)
            yield Owner(uow, claim, tuple(claims), domain, host, now)

    async def hide(self, token: Token, host: str) -> forget.HoldResult:
        """Hide exactly this host in every answer; it is still visited and judged. Safe to repeat. Raise what
        `_changing` raises."""
        async with self._changing(token, host, is_bounded=False) as owner:
            hold = Hold(owner.domain, host, "hidden", False, owner.actor, "hidden by its owner", owner.now)
            return await forget.hold_locked(owner.uow, hold, now=owner.now)

    async def show(self, token: Token, host: str) -> forget.HoldResult:
        """Show a host that its owner hid. Raise what `_changing` raises."""
        async with self._changing(token, host) as owner:
            return await forget.release_locked(
                owner.uow, host, "hidden", actor=owner.actor, reason="shown by its owner", now=owner.now
            )

    async def set_note(self, token: Token, host: str, note: str) -> str:
        """Store a public note, or delete it if empty; return the note as shown. Raise BadSetting and what `_changing`
        raises."""
        if len(note) > NOTE_CHARS:  # guard: owner-note
            raise BadSetting(f"a note has at most {NOTE_CHARS} characters")
        text = plain(note, NOTE_CHARS)
        async with self._changing(token, host) as owner:
            setting = await owner.settings()
            if setting.note != text:
                await owner.uow.owner_settings.put(replace(setting, note=text))
                await owner.uow.ledger.add_changes([feed.changed(owner.domain, host, "owner_note", owner.now)])
                await owner.audit("host.note_set", chars=len(text))
        return text

    async def set_call_checks(self, token: Token, host: str, *, enabled: bool) -> bool:
        """Switch the checks of addresses for calls on or off for exactly this host; return whether that changed
        anything. Raise what `_changing` raises."""
        async with self._changing(token, host) as owner:
            setting = await owner.settings()
            if setting.checks_calls == enabled:
                return False
            await owner.uow.owner_settings.put(replace(setting, checks_calls=enabled))
            await owner.audit("host.call_checks_set", enabled=enabled)
        return True

    async def pin(self, token: Token, host: str, canonical: str | None, consent: Token | None = None) -> Pinned:
        """Make another host of the domain canonical for this one; None or the host itself ends that. It takes effect
        once an owner of the other host agrees: with the same ownership, or with its token as `consent`
        (core/access/claims.py). Raise what `_changing` raises, and BadSetting."""
        target = None if canonical == host else canonical
        async with self._changing(token, host) as owner:
            uow, setting = owner.uow, await owner.settings()
            agreed = None if target is None else await _consent(owner, target, consent)
            if target == setting.pinned:
                agreed = agreed or setting.consent
            if (setting.pinned, setting.consent) != (target, agreed):
                await uow.owner_settings.put(replace(setting, pinned=target, consent=agreed))
                await owner.settle_pins()
                await owner.audit("host.canonical_set", canonical=target)
            now_set = await uow.owner_settings.get(owner.domain, host)
            return Pinned(target, None if now_set is None else now_set.canonical)

    async def rotate(self, token: Token, host: str) -> Token:
        """Return the new token of the owner, which has the same id. Consents given with the old token end. Raise what
        `_changing` raises."""
        new = replace(new_token(OWNER), id=token.id)
        async with self._changing(token, host, is_bounded=False) as owner:
            await owner.uow.claims.put(replace(owner.claim, owner_digest=new.digest))
            await owner.uow.owner_settings.end_consents(owner.claim)  # guard: pin-consent-ends
            await owner.settle_pins()
            await owner.audit("ownership.token_replaced")
        return new

    async def give_up(self, token: Token, host: str) -> None:
        """End the ownership, with everything that its owner has set. Raise what `_changing` raises."""
        async with self._changing(token, host, is_bounded=False) as owner:
            await end(owner.uow, owner.claim, "given_up", actor=owner.actor, now=owner.now)

    async def opt_out(self, token: Token, host: str) -> forget.ForgetResult:
        """Delete everything stored about the host and all below it, also the ownership, and never visit it again. Raise
        NotAnOwner, OtherHost, and BadSetting if a host below has an owner that the token does not cover."""
        async with self._changing(token, host, is_bounded=False) as owner:
            # The proof of a host does not cover the hosts below it, which may belong to customers of a platform.
            others = {
                claim.host
                for claim in owner.claims
                if is_covered(claim.host, [host]) and not owner.claim.covers(claim.host)
            }
            if others:  # guard: owner-opt-out-below
                named = ", ".join(sorted(others)[:_NAMED]) + (" and others" if len(others) > _NAMED else "")
                raise BadSetting(
                    f"hosts below this one have other owners ({named}). Hide this host, or opt out with a proof of the"
                    " whole domain by DNS, or with a TXT record, a file or robots.txt of the site itself"
                )
            forgotten = await forget.forget_locked(
                owner.uow, host, now=owner.now, opt_out="owner", evidence=f"claim {owner.claim.id}",
                reason="its owner asked for it", actor=owner.actor,
            )  # fmt: skip
        return await forget.forget_candidates(self._store, forgotten)

    async def come_back(self, token: Token, host: str) -> None:
        """End the opt-out of exactly this host, made by an owner. Raise NotAnOwner, OtherHost, TooMany and
        BadSetting."""
        async with self._changing(token, host) as owner:
            row = next((row for row in await owner.uow.opt_outs.rows(owner.domain) if row.host == host), None)
            if row is None or row.how != "owner":
                raise BadSetting("no owner has opted out exactly this host; /api/opt-outs ends opt-outs of other kinds")
            await end_opt_out(owner.uow, row, actor=owner.actor, now=owner.now)

    async def set_webhook(
        self, token: Token, host: str, url: str, types: Types, receiver_token: Token | None = None
    ) -> WebhookRecord:
        """Subscribe a receiver, replacing an earlier one; return the subscription with a new secret.

        The receiver is on the owned host or below it, or `receiver_token` is the owner's token of its host. No event is
        sent before it has answered a challenge, at an address that a visit could use. Setting the same address again
        sends no challenge unless the webhook was disabled; messages are then signed with the earlier secret too, for
        `OVERLAP`.

        Raise NotAnOwner, OtherHost, TooMany, InvalidName and BadReceiver.
        """
        canonical = webhooks.receiver_url(url, exempt=self._exempt)
        seq = await feed.pulse(self._store)
        async with self._changing(token, host) as owner:
            claim = owner.claim
            if receiver_token is not None:
                try:
                    claim = await reader(owner.uow, receiver_token, host_of(canonical) or "")
                except (NotAnOwner, OtherHost):
                    raise webhooks.ForeignReceiver from None
            await webhooks.refuse_receiver(owner.uow, canonical, claim)
            setting = await owner.settings()
            known = None if setting.webhook is None else await owner.uow.webhooks.locked(setting.webhook)
            if known is None or known.url != canonical or known.disabled_at is not None:
                at = await webhooks.next_challenge_at(owner.uow, canonical, owner.now)
                if at > owner.now:  # guard: webhook-set-again
                    raise TooMany("Too many challenges were sent to the receiver within a day.", at - owner.now)
            if known is None or known.url != canonical:
                webhook = webhooks.new_webhook(canonical, types, (host,), seq=seq, now=owner.now, claim=claim.id)
            else:
                webhook = replace(known, types=types.patterns, claim=claim.id)
                webhook = webhooks.with_new_secret(webhook, webhooks.OVERLAP, owner.now)
                if webhook.disabled_at is not None:
                    webhook = webhooks.enabled(webhook, owner.now)
            if known is not None and known.id != webhook.id:
                await owner.uow.webhooks.remove(known.id)
            await owner.uow.webhooks.put(webhook)
            await owner.uow.owner_settings.put(replace(setting, webhook=webhook.id))
            await owner.audit("host.webhook_set", webhook=webhook.id)
        return webhook

    async def remove_webhook(self, token: Token, host: str) -> bool:
        """Delete the subscription; return whether there was one. Raise NotAnOwner, OtherHost and TooMany."""
        async with self._changing(token, host) as owner:
            setting = await owner.settings()
            if setting.webhook is None:
                return False
            await owner.uow.webhooks.remove(setting.webhook)
            await owner.uow.owner_settings.put(replace(setting, webhook=None))
            await owner.audit("host.webhook_removed", webhook=setting.webhook)
        return True

    async def test_webhook(self, token: Token, host: str, *, seconds: float) -> DeliveryRecord | None:
        """Request a test message to the webhook and wait at most `seconds` for the attempt; return it, or None if no
        worker has made it yet. A receiver that has not answered its challenge gets a challenge instead. Raise
        NotAnOwner, OtherHost, TooMany, and BadSetting without a webhook that gets messages."""
        async with self._changing(token, host) as owner:
            asked_at, setting = owner.now, await owner.settings()
            row = None if setting.webhook is None else await owner.uow.webhooks.locked(setting.webhook)
            if row is None:
                raise BadSetting("there is no webhook")
            if row.disabled_at is not None:
                raise BadSetting("the webhook is disabled; set its address again to enable it")
            if row.verified_at is not None:
                row = replace(row, test_at=asked_at)
            else:
                at = await webhooks.next_challenge_at(owner.uow, row.url, asked_at)
                if at > asked_at:
                    raise TooMany("Too many challenges were sent to the receiver within a day.", at - asked_at)
                row = replace(row, due_at=min(row.due_at, asked_at))
            await owner.uow.webhooks.put(row)
        purpose = "challenge" if row.verified_at is None else "test"

        async def attempt() -> DeliveryRecord | None:
            async with self._store.begin() as uow:
                attempts = await uow.webhooks.deliveries(row.id, limit=DELIVERIES)
            return next((one for one in attempts if one.purpose == purpose and one.at >= asked_at), None)

        return await polled(attempt, lambda made: made is not None, seconds)

    async def recheck(self, token: Token, host: str) -> Recheck:
        """Queue a visit of the host with the whole plan, within the site's daily budgets but not those of strangers.
        Raise NotAnOwner, OtherHost and TooMany."""
        async with self._changing(token, host) as owner:
            asked = await recheck_in(owner.uow, owner.domain, host, now=owner.now, by_owner=True)
            if asked.state == "queued":
                await owner.audit("host.recheck_asked")
            return asked
