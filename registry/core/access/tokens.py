"""Secret tokens of clients (owners, operators, reporters), and the API keys of operators with scopes and expiry.

A token is `wp_<kind>_<id>_<secret>`. The id finds the stored row; only the SHA-256 of the secret is stored. A secret
has 256 random bits, so that a hash without salt or iterations suffices.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final, Literal, get_args

SECRET_BYTES: Final = 32
ID_BYTES: Final = 8

_SHAPE: Final = re.compile(r"wp_([a-z]{1,20})_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Token:
    """`secret` is not part of the representation, so that no log can show it."""

    kind: str
    id: str
    secret: str = field(repr=False)

    @property
    def text(self) -> str:
        """The token as its holder keeps it."""
        return f"wp_{self.kind}_{self.id}_{self.secret}"

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the secret, 32 bytes. Only this is stored."""
        return hashlib.sha256(self.secret.encode()).digest()

    def matches(self, digest: bytes) -> bool:
        """Return whether this is the token with the stored digest, in constant time."""
        return hmac.compare_digest(self.digest, digest)


def parse_token(text: str, kind: str) -> Token | None:
    """Return the token that `text` is, or None when it is not a token of this kind."""
    found = _SHAPE.fullmatch(text)
    if found is None or found[1] != kind:
        return None
    return Token(*found.groups())


KEY: Final = "key"  # the kind of their tokens: `wp_key_<id>_<secret>`

Scope = Literal[
    "audit",  # read the audit log
    "blocks",  # block, quarantine, and end both
    "keys",  # make keys with at most its own scopes, and revoke keys
    "queue",  # look at the queue, the jobs and the seeded lists
    "read",  # look at everything that the other scopes show; change nothing
    "reports",  # read and resolve reports
    "visits",  # have known hosts visited next
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

    def may_read(self, scope: Scope) -> bool:
        """Return whether the key shows what a key with this scope shows."""
        return self.may(scope) or self.may("read")  # guard: key-reads
