"""Secrets and signatures (Standard Webhooks, "Signature scheme": symmetric, HMAC-SHA256)."""

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from standardwebhooks.webhooks import Webhook

SECRET_BYTES: Final = 32
"""Bytes of a secret; the specification asks for 24 to 64."""

PREFIX: Final = "whsec_"


def secret_of(random: bytes) -> str:
    """Return these random bytes as a secret. Raise ValueError unless there are 24 to 64."""
    if not 24 <= len(random) <= 64:
        raise ValueError(f"a secret has 24 to 64 bytes, not {len(random)}")
    return PREFIX + base64.b64encode(random).decode()


def signed_headers(secrets: Sequence[str], message_id: str, body: str, now: datetime) -> dict[str, str]:
    """Return the three header fields of a message. `now`: when this attempt is made, which receivers compare with their
    clock. With several secrets there are several signatures, of which one has to match: so a receiver may change its
    secret at any time during a rotation."""
    signatures = [Webhook(secret).sign(message_id, now, body) for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
