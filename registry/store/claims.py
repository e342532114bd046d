"""Repositories of claims of ownership, and of what owners have set for their hosts."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Final

from sqlalchemy import delete, func, or_, select, text, update

from registry.core.access import claims as rules
from registry.core.merging.trust import DOUBTS
from registry.core.names.opt_out import is_covered
from registry.store.repository import Key, Repository, selected
from registry.store.tables import ClaimRow, MirrorRow, OwnerSettingRow, WebhookDeliveryRow, WebhookRow
from registry.store.values import clean

# Networks of clients take turns: the first due claim of each network goes before the second of any. Ownerships have no
# client, and each counts as a separate network. Conditions are checked again when a row is locked, because another
# worker may have taken it.
# guard: claim-turns
_TAKE = text("""
WITH queued AS (
    SELECT domain, host, id, due_at, row_number() OVER (
        PARTITION BY coalesce(network, client, id) ORDER BY coalesce(claimed_until > :now, false) DESC, due_at) AS place
    FROM claims
    WHERE due_at <= :now AND ended_at IS NULL AND (proven_at IS NOT NULL OR expires_at > :now)),
picked AS (
    SELECT c.domain, c.host, c.id FROM claims c JOIN queued q ON (c.domain, c.host, c.id) = (q.domain, q.host, q.id)
    WHERE q.place <= :per_network AND c.due_at <= :now AND coalesce(c.claimed_until, '-infinity') <= :now
    ORDER BY q.place, q.due_at LIMIT :limit
    FOR UPDATE OF c SKIP LOCKED)
UPDATE claims c SET claimed_until = :until FROM picked p
WHERE (c.domain, c.host, c.id) = (p.domain, p.host, p.id) RETURNING c.id
""")

_SERIALIZE = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")

OWNED_SINCE: Final = """(
    SELECT c.proven_at FROM claims c
    WHERE c.domain = {services}.domain AND (c.host = {services}.host OR c.host = c.domain AND c.scope = 'domain')
      AND c.proven_at IS NOT NULL AND c.ended_at IS NULL
    ORDER BY c.host = {services}.host DESC, c.proven_at DESC LIMIT 1)"""
"""SQL: the time of the proof that covers the host of a row of `{services}`, or NULL. It chooses the proof as
`Claims.ownership` does. It does not check that the domain is still a registrable one, as `covers` does: when the public
suffix list changes, rehoming moves services and claims alike."""

IDENTITY: Final = f"""(CASE
    WHEN {{services}}.trust->'reasons' ?| ARRAY[{", ".join(f"'{code}'" for code in DOUBTS)}] THEN 'in-doubt'
    WHEN {{services}}.trust->>'claims_site' = 'true' THEN 'in-doubt'
    WHEN {{services}}.trust_level = 'verified' AND {OWNED_SINCE} IS NOT NULL THEN 'owner-proven'
    WHEN {{services}}.trust_level = 'verified' THEN 'host-checked'
    WHEN {{services}}.trust_level = 'community' THEN 'partly-checked' ELSE 'not-checked' END)"""
"""SQL: what `merging.trust.identity_of` returns for a row of `{services}`."""

CANONICAL: Final = """(
    SELECT o.canonical FROM owner_settings o WHERE o.domain = {services}.domain AND o.host = {services}.host)"""
"""SQL: the host that its owner lets stand for the host of a row of `{services}`, or NULL."""


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """A row of `claims`. `client` and `network` are personal data: they are erased with the proof, or after a day."""

    domain: str
    host: str
    id: str
    method: rules.Method
    scope: rules.Scope
    digest: bytes
    client: str | None
    created_at: datetime
    expires_at: datetime
    network: str | None = None
    due_at: datetime | None = None
    claimed_until: datetime | None = None
    checked_at: datetime | None = None
    answer: rules.Answer | None = None
    failures: int = 0
    unanswered_since: datetime | None = None
    proven_at: datetime | None = None
    verified_at: datetime | None = None
    owner_digest: bytes | None = None
    ended_at: datetime | None = None
    end_reason: rules.EndReason | None = None
    hour_at: datetime | None = None
    used: int = 0
    reason: str = ""

    @property
    def is_owner(self) -> bool:
        """Return whether it is proven and has not ended."""
        return self.proven_at is not None and self.ended_at is None

    @property
    def standing(self) -> rules.ProofStanding:
        return rules.ProofStanding(self.failures, self.unanswered_since)

    def covers(self, host: str) -> bool:
        return rules.covers(self.host, self.domain, self.scope, host)


@dataclass(frozen=True, slots=True)
class OwnerSettingRecord:
    """A row of `owner_settings`."""

    domain: str
    host: str
    claim: str
    changed_at: datetime
    note: str = ""
    canonical: str | None = None
    webhook: str | None = None
    pinned: str | None = None
    consent: str | None = None
    checks_calls: bool = True

    @property
    def is_empty(self) -> bool:
        has_hosts = self.canonical is not None or self.pinned is not None or self.webhook is not None
        return not self.note and not has_hosts and self.checks_calls


@dataclass(frozen=True, slots=True)
class RequestedChecks:
    """Checks of one network. `hour_at`: when the latest of the hours began in which they are counted."""

    number: int
    hour_at: datetime


class Claims(Repository):
    async def get(self, claim: str, *, lock: bool = False) -> ClaimRecord | None:
        """Return a claim by the id in its tokens. `lock`: until the transaction ends."""
        statement = select(*_COLUMNS).where(ClaimRow.id == claim).limit(1)
        return await self._first(ClaimRecord, statement.with_for_update() if lock else statement)

    async def owners(self, domain: str, *, lock: bool = False) -> list[ClaimRecord]:
        """Return the ownerships of a domain that have not ended, the oldest first. `lock`: as in `get`."""
        row = ClaimRow
        statement = select(*_COLUMNS).where(row.domain == domain, row.proven_at.is_not(None), row.ended_at.is_(None))
        statement = statement.order_by(row.host, row.id)
        rows = await self._execute(statement.with_for_update() if lock else statement)
        return sorted((ClaimRecord(*found) for found in rows), key=lambda claim: claim.created_at)

    async def owned(self, keys: Collection[Key]) -> set[Key]:
        """Return the hosts of these whose ownership is proven."""
        row = ClaimRow
        is_owner = (row.proven_at.is_not(None), row.ended_at.is_(None))
        statement = select(*_COLUMNS).where(row.domain.in_({domain for domain, _ in keys}), *is_owner)
        claims = await self._list(ClaimRecord, statement)
        return {key for key in keys if any(claim.domain == key[0] and claim.covers(key[1]) for claim in claims)}

    async def serialize(self, name: str) -> None:
        """Wait until no other transaction holds this name: a domain, or a network of clients."""
        await self._execute(_SERIALIZE, {"name": f"claims {name}"})

    async def put(self, claim: ClaimRecord) -> None:
        """Insert a claim, or replace the locked claim with its key."""
        await self._replace(ClaimRow, asdict(claim))

    async def remove(self, claim: ClaimRecord) -> None:
        row = ClaimRow
        key = (row.domain == claim.domain, row.host == claim.host, row.id == claim.id)
        await self._execute(delete(row).where(*key))

    async def open_of(self, network: str, *, now: datetime) -> list[ClaimRecord]:
        """Return the claims of a network's clients that can still be proven, the oldest first."""
        row = ClaimRow
        is_open = (row.network == network, row.proven_at.is_(None), row.expires_at > now)
        return await self._list(ClaimRecord, select(*_COLUMNS).where(*is_open).order_by(row.created_at, row.id))

    async def checks_by_file(self, domain: str, *, since: datetime) -> dict[str, RequestedChecks]:
        """Return by network the checks by file that were requested for open claims of a domain, in hours that began
        after `since`. A claim whose client was erased counts as a separate network."""
        row = ClaimRow
        network = func.coalesce(row.network, row.client, row.id)
        is_counted = (row.domain == domain, row.method == "file", row.proven_at.is_(None), row.hour_at > since)
        statement = select(network, func.sum(row.used), func.max(row.hour_at)).where(*is_counted).group_by(network)
        return {name: RequestedChecks(int(used), at or since) for name, used, at in await self._execute(statement)}

    async def remove_expired(self, network: str, *, now: datetime, since: datetime) -> None:
        """Delete the expired claims of a network, except those whose checks still count."""
        row = ClaimRow
        is_over = (row.network == network, row.proven_at.is_(None), row.expires_at <= now)
        counts_no_more = or_(row.hour_at.is_(None), row.hour_at <= since)
        await self._execute(delete(row).where(*is_over, counts_no_more))

    async def take(self, *, limit: int, per_network: int, now: datetime, until: datetime) -> list[ClaimRecord]:
        """Take at most `limit` due claims for the caller until then; return them in no particular order. At most
        `per_network` claims of a network are taken at once, over all workers."""
        bound = {"limit": limit, "per_network": per_network, "now": now, "until": until}
        ids = await self._scalars(_TAKE, bound)
        return await self._list(ClaimRecord, select(*_COLUMNS).where(ClaimRow.id.in_(ids))) if ids else []

    async def ownership(self, domain: str, host: str) -> rules.Ownership:
        """Return the public owner of a host: its own proof, else its domain's, the latest of several."""
        row = ClaimRow
        is_near = or_(row.host == host, row.host == domain)
        statement = select(*_COLUMNS).where(row.domain == domain, is_near, row.proven_at.is_not(None))
        claims = await self._list(ClaimRecord, statement)
        claims = [claim for claim in claims if claim.covers(host)]
        if not claims:
            is_mirror = (await self._execute(select(MirrorRow.id))).first() is not None
            return rules.Ownership("at_origin" if is_mirror else "none")
        shown = max(claims, key=lambda claim: (claim.is_owner, claim.host == host, claim.proven_at))
        return rules.Ownership(
            "proven" if shown.is_owner else "ended", shown.method, shown.scope, since=shown.proven_at,
            checked_at=shown.checked_at, ended_at=shown.ended_at, end_reason=shown.end_reason,
        )  # fmt: skip

    async def erase_clients(self, *, before: datetime) -> int:
        """Erase the clients of claims made before then; return the number of claims."""
        old = (ClaimRow.client.is_not(None), ClaimRow.created_at < before)
        return await self._touched(update(ClaimRow).where(*old).values(client=None, network=None))

    async def prune(self, *, expired: datetime, ended: datetime, most: int) -> int:
        """Delete unproven claims and ownerships that ended before these times; return their number."""
        row = ClaimRow
        is_old = or_((row.proven_at.is_(None)) & (row.expires_at < expired), row.ended_at < ended)
        old = select(row.domain, row.host, row.id).where(is_old).limit(most).subquery()
        same = (row.domain == old.c.domain, row.host == old.c.host, row.id == old.c.id)
        return await self._touched(delete(row).where(*same))


class OwnerSettings(Repository):
    async def get(self, domain: str, host: str) -> OwnerSettingRecord | None:
        row = OwnerSettingRow
        statement = select(*_SETTING_COLUMNS).where(row.domain == domain, row.host == host)
        return await self._first(OwnerSettingRecord, statement)

    async def of(self, domain: str) -> Sequence[OwnerSettingRecord]:
        statement = select(*_SETTING_COLUMNS).where(OwnerSettingRow.domain == domain).order_by(OwnerSettingRow.host)
        return await self._list(OwnerSettingRecord, statement)

    async def without_call_checks(self, domains: Collection[str]) -> set[Key]:
        """Return the hosts of these domains whose owners switched the checks of addresses for calls off."""
        row = OwnerSettingRow
        return set(await self._keys(select(row.domain, row.host).where(row.domain.in_(domains), ~row.checks_calls)))

    async def put(self, setting: OwnerSettingRecord) -> None:
        """Store an owner's settings in place of the old ones; delete them if empty."""
        if setting.is_empty:
            row = OwnerSettingRow
            await self._execute(delete(row).where(row.domain == setting.domain, row.host == setting.host))
        else:
            await self._replace(OwnerSettingRow, asdict(setting) | {"note": clean(setting.note)})

    async def settle_pins(self, domain: str, *, now: datetime, gone: str | None = None) -> list[str]:
        """Enable or disable the pins of a domain according to its ownerships; return the hosts that changed. A pin to a
        host without an owner, or to `gone` or below it, is deleted; a pin without consent waits. The caller has locked
        the domain."""
        owners, known = await Claims(self._connection).owners(domain), await self.of(domain)

        def is_over(host: str) -> bool:
            return (gone is not None and is_covered(host, [gone])) or not any(owner.covers(host) for owner in owners)

        def has_consent(one: OwnerSettingRecord, host: str) -> bool:
            return any(owner.id == one.consent and owner.covers(host) for owner in owners)

        wanted = {one.host: one.pinned for one in known if one.pinned is not None and not is_over(one.pinned)}
        wishes = [
            rules.CanonicalWish(one.host, host, has_consent(one, host))
            for one in known
            if (host := wanted.get(one.host))
        ]
        effective = rules.in_effect(wishes)
        changed = []
        for one in known:
            pinned, canonical = wanted.get(one.host), effective.get(one.host)
            if (one.pinned, one.canonical) != (pinned, canonical):
                await self.put(replace(one, pinned=pinned, canonical=canonical, changed_at=now))
            if one.canonical != canonical:
                changed.append(one.host)
        return changed

    async def end_consents(self, claim: ClaimRecord) -> None:
        """End the consents to pins of other owners that were given with the token of an ownership."""
        row = OwnerSettingRow
        given = (row.domain == claim.domain, row.consent == claim.id, row.claim != claim.id)
        await self._execute(update(row).where(*given).values(consent=None))

    async def remove_of(self, claim: str, domain: str) -> None:
        """Delete all settings of the owner of a claim, with the webhooks."""
        row = OwnerSettingRow
        own = select(row.webhook).where(row.domain == domain, row.claim == claim, row.webhook.is_not(None))
        ids = await self._scalars(own)
        await self._execute(delete(WebhookDeliveryRow).where(WebhookDeliveryRow.webhook.in_(ids)))
        await self._execute(delete(WebhookRow).where(WebhookRow.id.in_(ids)))
        await self._execute(delete(row).where(row.domain == domain, row.claim == claim))


_COLUMNS: Final = selected(ClaimRow, ClaimRecord)
_SETTING_COLUMNS: Final = selected(OwnerSettingRow, OwnerSettingRecord)
