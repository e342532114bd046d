"""API keys of the registry's operators, and the audit log: whole for operators, decisions about hosts for everyone.

The first key is made on the registry's own machine; a key with the scope `keys` makes others that can do and last no
more than it does. Pages of the log are ordered by id, the latest first; a cursor is the
id of the last row of a page.
"""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeVar
from uuid import UUID

from registry.actions import Clock, call_of
from registry.actions.maintenance.forget import HoldResult, hold_locked, release_locked
from registry.core.access.audit import (
    OPERATOR,
    PUBLIC_SUBJECTS,
    AuditEvent,
    concerns_below,
    key_actor,
    key_of_actor,
    shown_reason,
)
from registry.core.access.holds import BY_OPERATOR, Hold, HoldKind
from registry.core.access.tokens import ID_BYTES, KEY, MOST_NAME_CHARS, SCOPES, SECRET_BYTES, ApiKey, Scope, Token
from registry.core.names.domains import InvalidName, canonical_host, host_syntax, registrable_domain
from registry.core.names.opt_out import names_above
from registry.store.api_keys import AuditRecord as AuditRecord  # interfaces name it
from registry.store.unit_of_work import Store, UnitOfWork


class BadCursor(ValueError):
    """The text is not a cursor of this registry."""


class HasId(Protocol):
    @property
    def id(self) -> UUID: ...


Row = TypeVar("Row", bound=HasId)


def before(cursor: str | None) -> UUID | None:
    """Return the id before which the page begins, None for the first page. Raise BadCursor."""
    try:
        return None if cursor is None else UUID(hex=cursor)
    except ValueError:
        raise BadCursor("not a cursor of this registry") from None


def page_of(rows: Sequence[Row], limit: int) -> tuple[Sequence[Row], str | None]:
    """Return at most `limit` rows, and the cursor of the next page or None. `rows` has one row more if there is a next
    page."""
    shown = rows[:limit]
    return shown, shown[-1].id.hex if shown and len(rows) > limit else None


MAX_PUBLIC: Final = 100  # decisions about a host that are shown; older ones are in the log


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries, the latest first. `cursor`: of the next page, or None."""

    entries: Sequence[AuditRecord]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class KeyPage:
    """Keys, the latest first. `cursor`: of the next page, or None."""

    keys: Sequence[ApiKey]
    cursor: str | None


async def _public(
    uow: UnitOfWork, *, limit: int, before: UUID | None = None, hosts: Collection[str] | None = None
) -> Sequence[AuditRecord]:
    # guard: audit-public
    return await uow.audit.latest(limit=limit, before=before, hosts=hosts, subjects=PUBLIC_SUBJECTS)


def _redact(entry: AuditRecord) -> AuditRecord:
    """Return the public part of an entry: the kind of actor, no details, and a reason for some actions only."""
    return AuditRecord(
        entry.id, entry.at, entry.actor.partition(":")[0], entry.action, entry.domain, entry.host,
        shown_reason(entry.action, entry.reason), {},
    )  # fmt: skip


MAX_DAYS: Final = 3_650


def new_token(kind: str) -> Token:
    """Return a random token. Only its digest is stored, so it cannot be shown again."""
    return Token(kind, secrets.token_hex(ID_BYTES), secrets.token_urlsafe(SECRET_BYTES))


class BadKey(ValueError):
    """The name, scopes or lifetime of a new key are invalid; the message says why."""


class UnknownKey(Exception):
    """The key is unknown, wrong, revoked or expired; the caller must not learn which."""


class KeyExceeded(BadKey):
    """A key was to make one that can do, or lasts, more than itself."""


class MissingScope(Exception):
    """The key is valid but lacks the scope."""


def _author(by: ApiKey | None) -> str:
    return OPERATOR if by is None else key_actor(by.id)


def _facts(key: ApiKey) -> dict[str, object]:
    return {"key": key.id, "name": key.name, "scopes": list(key.scopes)}


# An unknown id is compared with this key, so that it takes as long as a wrong secret.
_NO_KEY: Final = ApiKey("", "", (), bytes(32), datetime.min)


@dataclass(eq=False)
class AccessActions:
    """The decisions of this registry's operators: API keys, holds, and the audit log."""

    _store: Store
    _clock: Clock

    keys = call_of(lambda uow: uow.api_keys.all)

    async def make_key(
        self, name: str, scopes: Collection[str], *, days: int | None, by: ApiKey | None = None, reason: str = ""
    ) -> tuple[ApiKey, Token]:
        """Store a new key and return it with its token. Only the digest of the secret is stored. `days`: until it
        expires, None for never. `by`: the key that makes it; None: a command on this machine. Raise BadKey."""
        now = self._clock()
        if not name.strip() or len(name) > MOST_NAME_CHARS or not name.isprintable():
            raise BadKey(f"a name has 1 to {MOST_NAME_CHARS} printable characters")
        if not scopes or not set(scopes) <= set(SCOPES):
            raise BadKey(f"scopes are one or more of {', '.join(SCOPES)}")
        if days is not None and not 0 < days <= MAX_DAYS:
            raise BadKey(f"a key expires after 1 to {MAX_DAYS} days")
        token = new_token(KEY)
        expires_at = None if days is None else now + timedelta(days=days)
        made = ApiKey(token.id, name.strip(), tuple(sorted(set(scopes))), token.digest, now, expires_at)
        if by is not None and not set(made.scopes) <= set(by.scopes):  # guard: key-made-scopes
            raise KeyExceeded(f"this key can give only its own scopes: {', '.join(by.scopes)}")
        if (
            by is not None and by.expires_at and (expires_at is None or expires_at > by.expires_at)
        ):  # guard: key-made-expiry
            raise KeyExceeded(f"this key expires on {by.expires_at:%Y-%m-%d}, and no key that it makes may last longer")
        event = AuditEvent(_author(by), "key.made", reason=reason, detail=_facts(made))
        async with self._store.begin() as uow:
            await uow.api_keys.add(made)
            await uow.audit.add(event, now=now)
        return made, token

    async def revoke_key(self, key: str, *, by: ApiKey | None = None, reason: str = "") -> ApiKey | None:
        """Revoke a key at once; return None if it is unknown or already revoked. `by`: as in `make_key`."""
        now = self._clock()
        async with self._store.begin() as uow:
            revoked = await uow.api_keys.revoke(key, now=now)
            if revoked is not None:
                event = AuditEvent(_author(by), "key.revoked", reason=reason, detail=_facts(revoked))
                await uow.audit.add(event, now=now)
            return revoked

    async def has_keys(self) -> bool:
        """Return whether any key is valid."""
        async with self._store.begin() as uow:
            return await uow.api_keys.has_valid(now=self._clock())

    async def key_page(self, *, limit: int, cursor: str | None = None) -> KeyPage:
        """Return at most `limit` keys. Raise BadCursor."""
        try:
            at, _, key = (cursor or "").partition("/")
            after = None if cursor is None else (datetime.fromisoformat(at), key)
        except ValueError:
            after = None
        # The id is compared in the database, which takes no NUL.
        if cursor is not None and (after is None or after[0].tzinfo is None or not after[1].isalnum()):
            raise BadCursor("not a cursor of this registry")
        async with self._store.begin() as uow:
            found = await uow.api_keys.page(after, limit=limit + 1)
        last = found[limit - 1] if len(found) > limit else None
        return KeyPage(found[:limit], None if last is None else f"{last.created_at.isoformat()}/{last.id}")

    async def check_key(self, token: Token, scope: Scope | None, *, reads: bool = False) -> ApiKey:
        """Return the key of the token if it has the scope; None: any key. `reads`: it only wants to see what the scope
        shows. Raise UnknownKey and MissingScope."""
        now = self._clock()
        async with self._store.begin() as uow:
            key = await uow.api_keys.get(token.id)
            if not (key or _NO_KEY).admits(token, now) or key is None:  # guard: key-valid
                raise UnknownKey
            if scope is not None and not (key.may_read(scope) if reads else key.may(scope)):
                raise MissingScope
            await uow.api_keys.used(key.id, today=now.date())
            return key

    async def audit(
        self, *, limit: int, cursor: str | None = None, host: str | None = None, subject: str | None = None,
        actor: str | None = None,
    ) -> AuditPage:  # fmt: skip
        """Return at most `limit` entries, optionally only of a host and the hosts above it in its domain, of actions
        with this first word, and of an actor or a kind of actors. Raise BadCursor."""
        hosts = None if host is None else names_above(host, registrable_domain(host))
        subjects = None if subject is None else (subject,)
        async with self._store.begin() as uow:
            entries = await uow.audit.latest(
                limit=limit + 1, before=before(cursor), hosts=hosts, subjects=subjects, actor=actor
            )
        return AuditPage(*page_of(entries, limit))

    async def key_names(self, actors: Iterable[str]) -> Mapping[str, str]:
        """Return the names of the API keys among these actors, by actor."""
        keys = {actor: key for actor in actors if (key := key_of_actor(actor)) is not None}
        async with self._store.begin() as uow:
            names = await uow.api_keys.names(set(keys.values()))
        return {actor: names[key] for actor, key in keys.items() if key in names}

    async def public_audit(self, *, limit: int, cursor: str | None = None) -> AuditPage:
        """Return at most `limit` public entries, redacted by `_redact`. Raise BadCursor."""
        async with self._store.begin() as uow:
            entries, following = page_of(await _public(uow, limit=limit + 1, before=before(cursor)), limit)
        return AuditPage([_redact(entry) for entry in entries], following)

    async def decisions(self, host: str) -> Sequence[AuditRecord]:
        """Return the latest public decisions about a host, redacted by `_redact`; at most MAX_PUBLIC. Include decisions
        about hosts above it that also cover the hosts below."""
        async with self._store.begin() as uow:
            found = await _public(uow, limit=2 * MAX_PUBLIC, hosts=names_above(host, registrable_domain(host)))
        concerning = [entry for entry in found if entry.host == host or concerns_below(entry.action, entry.detail)]
        return [_redact(entry) for entry in concerning[:MAX_PUBLIC]]

    async def hold(
        self, name: str, kind: HoldKind, *, actor: str, reason: str, covers_below: bool = True
    ) -> HoldResult:
        """Set a hold on a host; with `covers_below` also on all hosts below it, which a block always covers. An
        existing hold stays unchanged. Special-use names may be held: a registry may have stored some under other
        settings. Raise InvalidName, also for public suffixes, and StoreUnavailable."""
        try:
            host = canonical_host(name)
        except InvalidName as refusal:
            if refusal.code != "special_use":
                raise
            host = canonical_host(name, exempt={host_syntax(name)})
        now = self._clock()
        new = Hold(host.domain, host.host, kind, covers_below or kind == "blocked", actor, reason, now)
        async with self._store.begin() as uow:
            return await hold_locked(uow, new, now=now)

    async def release(self, name: str, kind: HoldKind, *, actor: str, reason: str) -> HoldResult:
        """End the hold of exactly this host. Services not covered by another hold or an opt-out reappear at once, as
        judged from their stored documents; the hosts of an ended block are visited next. Raise InvalidName and
        StoreUnavailable."""
        host = host_syntax(name)
        async with self._store.begin() as uow:
            return await release_locked(uow, host, kind, actor=actor, reason=reason, now=self._clock())

    async def holds_over(self, host: str) -> Sequence[Hold]:
        """Return the holds of operators that cover a host in canonical spelling, those of hosts above it too."""
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            found = (await uow.holds.limits([domain]))[domain].holds
        return [one for one in found if one.kind in BY_OPERATOR and one.covers(host)]

    async def holds(self, after: tuple[str, str, str], *, limit: int) -> Sequence[Hold]:
        """Return the holds of operators after this domain, host and kind, in this order."""
        async with self._store.begin() as uow:
            return await uow.holds.page(after, BY_OPERATOR, limit=limit)
