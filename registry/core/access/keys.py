"""API keys of this registry's operators: what each may do, and until when."""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final, Literal, get_args

from registry.core.access.tokens import Token

KEY: Final = "key"
"""The kind of their tokens: `wp_key_<id>_<secret>`."""

Scope = Literal[
    "audit",  # read the audit log
    "blocks",  # block, quarantine, and end both
    "queue",  # look into the queue
    "reports",  # read and resolve reports
]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)

MOST_NAME_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class ApiKey:
    """`digest`: SHA-256 of the secret, which itself is not stored. `last_used_on`: a day, no finer."""

    id: str
    name: str
    scopes: tuple[str, ...]
    digest: bytes = field(repr=False)
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_on: date | None = None

    def admits(self, token: Token, now: datetime) -> bool:
        """Return whether the token is this key, and the key is still valid."""
        is_genuine = token.matches(self.digest)  # guard: key-secret
        has_expired = self.expires_at is not None and now >= self.expires_at  # guard: key-expired
        return is_genuine and not has_expired and self.revoked_at is None  # guard: key-revoked

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes  # guard: key-scope
